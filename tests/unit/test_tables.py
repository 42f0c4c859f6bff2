"""Tables as people have them become rows of numbers, and every decision is stated."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import sfumato
from sfumato import CappedREFCMFS, TablePreparer, select_n_clusters
from sfumato._tables.decide import chosen_rows, row_keys
from sfumato.datasets import make_customers
from sfumato.exceptions import ParameterError

N = 600


def table(seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Three segments in columns of every kind."""
    rng = np.random.default_rng(seed)
    segment = rng.integers(3, size=N)
    age = np.round(np.array([25, 45, 65])[segment] + 3 * rng.normal(size=N))
    income = np.exp(np.array([9.5, 11.0, 10.2])[segment] + 0.15 * rng.normal(size=N)).round(2)
    frame = pd.DataFrame(
        {
            "customer": [f"K{number:05}" for number in rng.permutation(N)],
            "number": rng.permutation(N) + 1,
            "age": age,
            "income": income,
            "city": np.array(["Rome", "Bari", "Pisa"])[
                np.where(rng.random(N) < 0.8, segment, rng.integers(3, size=N))
            ],
            "member": np.where(rng.random(N) < 0.5, "yes", "no"),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(900, size=N), "D"),
            "country": "IT",
            "remark": "",
        }
    )
    return frame, segment


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.map(lambda value: f"{value:%Y-%m-%d}" if hasattr(value, "year") else str(value))


KINDS = {
    "customer": "identifier",
    "number": "identifier",
    "age": "number",
    "income": "number",
    "city": "category",
    "member": "boolean",
    "since": "date",
    "country": "constant",
    "remark": "empty",
}


def kinds(preparer: TablePreparer) -> dict[str, str]:
    return {each.column: each.kind for each in preparer.decisions_}


@pytest.mark.parametrize("written", ["typed", "text", "polars"])
def test_every_column_is_what_it_is(written: str) -> None:
    frame, _ = table()
    given = {"typed": frame, "text": as_text(frame), "polars": pl.from_pandas(frame)}[written]
    preparer = TablePreparer().fit(given)
    assert kinds(preparer) == KINDS
    assert preparer.scale_ == "robust"
    names = ["age", "income", "member", "since", "city_Rome", "city_Pisa", "city_Bari"]
    assert set(preparer.get_feature_names_out()) == set(names)
    rows = preparer.transform(given)
    assert rows.shape == (N, len(names))
    assert np.isfinite(rows).all()
    assert_allclose(rows, TablePreparer().fit_transform(frame))


def test_a_column_is_read_the_same_as_text_and_as_numbers() -> None:
    text = pd.Series(["1", " 2.5 ", "$1,200.50", "12 %", "n/a", "12O", "", "1e3", "inf"])
    frame = pd.DataFrame({"a": text, "b": np.arange(9.0)})
    found = TablePreparer(scale="none", absurd="keep", numbers=["a"]).fit(frame)
    assert found.decisions_.of("a").missing == pytest.approx(4 / 9)
    read = found._read(frame)[:, 0]
    assert_array_equal(read, [1, 2.5, 1200.5, 12, np.nan, np.nan, np.nan, 1000, np.nan])


def test_misspelled_categories_do_not_hide_clusters() -> None:
    made = make_customers(3000, random_state=1)
    rng = np.random.default_rng(0)
    frame = made.frame
    for name in ("channel", "region"):
        rows = rng.choice(3000, 40, replace=False)
        frame.loc[rows, name] = frame.loc[rows, name].map(
            lambda text: str(text)[: rng.integers(1, 4)] + rng.choice([*"xyz"])
        )
    rows = TablePreparer().fit_transform(frame)
    assert select_n_clusters(rows, random_state=0).n_clusters == 5


def test_numbers_of_one_unit_stay_as_they_are() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3)) + 8 * np.eye(3)[np.arange(200) % 3]
    preparer = TablePreparer().fit(X)
    assert preparer.scale_ == "none"
    assert preparer.changes_nothing_
    assert_array_equal(preparer.transform(X), X)
    assert not TablePreparer("robust").fit(X).changes_nothing_
    assert not TablePreparer().fit(X * [1, 1000, 1]).changes_nothing_


def test_typos_are_missing_and_filled_by_similar_rows() -> None:
    frame, segment = table()
    clean = TablePreparer().fit(frame)
    spoilt = frame.astype({"age": object, "income": object})
    spoilt.loc[0, "age"], spoilt.loc[1, "income"], spoilt.loc[2, "city"] = 999, 1e9, None
    spoilt.loc[3, "age"] = "4O"
    preparer = TablePreparer().fit(spoilt)
    assert preparer.decisions_.of("age").absurd == 1 / N
    assert preparer.decisions_.of("age").unreadable == pytest.approx(1 / N)
    assert preparer.decisions_.of("income").missing == 1 / N
    rows, expected = preparer.transform(spoilt), clean.transform(frame)
    numbers = [list(preparer.get_feature_names_out()).index(name) for name in ("age", "income")]
    # Within a few spreads of what was there; the segments are more than 10 apart.
    assert np.abs(rows - expected)[:4, numbers].max() < 4
    kept = TablePreparer(absurd="keep").fit(spoilt)
    assert kept.transform(spoilt)[0].max() > 100
    medians = TablePreparer(missing="median").fit(spoilt).transform(spoilt)
    assert medians[0, 0] == pytest.approx(0, abs=0.2)  # The median of all ages.
    del segment


def test_a_category_weighs_no_more_than_a_number() -> None:
    frame, segment = table()
    rows = TablePreparer().fit(frame)
    prepared = rows.transform(frame)
    names = list(rows.get_feature_names_out())
    coded = [place for place, name in enumerate(names) if name.startswith("city_")]
    assert prepared[:, coded].var(axis=0).sum() < 1
    # The near rows are the nearer ones of a cluster: of all its rows, the spread is larger.
    age = prepared[segment == 0, names.index("age")]
    assert 1 < age.std() < 2
    heavier = TablePreparer(category_weight=3.0).fit(frame).transform(frame)
    assert_allclose(heavier[:, coded], 3 * prepared[:, coded])


def test_new_categories_and_columns_in_another_order() -> None:
    frame, _ = table()
    preparer = TablePreparer().fit(frame)
    new = frame.iloc[:5][["city", "since", "income", "age", "member"]].assign(more=1)
    assert_allclose(preparer.transform(new), preparer.transform(frame)[:5])
    new = new.assign(city="Oslo")
    coded = [name.startswith("city_") for name in preparer.get_feature_names_out()]
    assert not preparer.transform(new)[:, coded].any()
    with pytest.raises(ValueError, match=r"X has no column 'age', which .* in any order"):
        preparer.transform(new.drop(columns="age"))


def test_centers_go_back_to_the_units_of_the_table() -> None:
    frame, _ = table()
    preparer = TablePreparer().fit(frame)
    rows = preparer.transform(frame)
    back = preparer.inverse_transform(rows)
    assert list(back.columns) == ["age", "income", "city", "member", "since"]
    assert_allclose(back["age"], frame["age"])
    assert_allclose(back["income"], frame["income"])
    assert_array_equal(back["city"], frame["city"])
    assert_array_equal(back["since"], frame["since"])
    assert_allclose(back["member"], frame["member"] == "yes")


def test_decisions_can_be_overridden() -> None:
    frame, _ = table()
    preparer = TablePreparer(
        "standard", numbers=["number"], categories=["age"], drop=["city", "since"]
    ).fit(frame)
    assert kinds(preparer) == KINDS | {
        "number": "number",
        "age": "category",
        "city": "left out",
        "since": "left out",
    }
    numbers = preparer.transform(frame)[:, 0]
    assert_allclose([numbers.mean(), numbers.std()], [0, 1], atol=1e-9)
    assert "as you said" in str(preparer.decisions_.of("age"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scale": "minmax"}, "scale='minmax' is not one of 'auto', 'robust'"),
        ({"drop": ["agee"]}, "drop has 'agee', which is no column of X"),
        ({"drop": ["age"], "numbers": ["age"]}, "which is named twice"),
        ({"category_weight": -1}, "category_weight=-1 is not 0"),
        ({"max_categories": 0}, "max_categories=0 is not 1 or more"),
    ],
)
def test_wrong_parameters(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TablePreparer(**given).fit(table()[0])


def test_tables_without_a_use() -> None:
    with pytest.raises(ValueError, match="no column left to use: a: constant"):
        TablePreparer().fit(pd.DataFrame({"a": ["x"] * 30}))
    with pytest.raises(ValueError, match="several columns 'a'"):
        TablePreparer().fit(pd.DataFrame(np.eye(3), columns=list("aab")))
    with pytest.raises(ValueError, match="X holds no rows"):
        TablePreparer().fit(table()[0].iloc[:0])
    with pytest.raises(ValueError, match="column 'city' holds no number"):
        TablePreparer(numbers=["city"]).fit(table()[0])


def test_many_categories_are_few_columns() -> None:
    words = [f"w{number % 47}" for number in range(940)] + ["often"] * 500
    frame = pd.DataFrame({"w": words, "x": np.random.default_rng(0).normal(size=1440)})
    preparer = TablePreparer(max_categories=5).fit(frame)
    assert preparer.get_feature_names_out()[1] == "w_often"
    assert len(preparer.get_feature_names_out()) == 6
    assert "the 5 commonest of 48 categories" in preparer.decisions_.of("w").action


@pytest.mark.parametrize("name", ["\0", "a\0", "", " ", "0", "\ud7ff"])
def test_odd_names_of_columns(name: str) -> None:
    frame = table()[0][["age", "city"]].set_axis([name, "0x"], axis=1)
    rows = TablePreparer().fit_transform(frame)
    assert_array_equal(rows, TablePreparer().fit_transform(frame.set_axis(["u", "v"], axis=1)))


def test_records_and_scikit_learn() -> None:
    frame, segment = table()
    preparer = TablePreparer().fit(frame)
    records = preparer.decisions_.to_list()
    assert json.loads(json.dumps(records)) == records
    assert list(preparer.decisions_.to_frame()["column"]) == list(frame.columns)
    assert "age: number, divided by" in repr(preparer.decisions_)
    assert clone(preparer).get_params() == preparer.get_params()
    model = make_pipeline(TablePreparer(), CappedREFCMFS("auto", random_state=0)).fit(frame)
    found = pd.crosstab(model.predict(frame), segment).to_numpy()
    assert found.shape == (3, 3)
    assert found.max(axis=1).sum() > 0.99 * N


def test_a_sample_is_the_same_in_chunks() -> None:
    chosen = chosen_rows(10_000, 100)
    keys = np.concatenate([row_keys(begin, begin + 1000) for begin in range(0, 10_000, 1000)])
    assert_array_equal(np.sort(np.argsort(keys)[:100]), chosen)
    assert_array_equal(chosen_rows(50, 100), np.arange(50))


def test_typical_rows_are_no_rows_of_the_table() -> None:
    frame, _ = table()
    preparer = TablePreparer().fit(frame)
    rows = {row.tobytes() for row in preparer.transform(frame)}
    assert not rows & {row.tobytes() for row in preparer.typical_rows_}
    assert sfumato.TablePreparer is TablePreparer


def test_shares_of_typical_rows_are_at_most_one() -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(5, size=3000)
    frame = pd.DataFrame({f"x{i}": 9.0 * (place == i) + rng.normal(size=3000) for i in range(5)})
    frame["plan"] = np.where(place < 2, "basic", "plus")
    preparer = TablePreparer().fit(frame.mask(rng.random(frame.shape) < 0.03))
    shares = preparer.to_units(preparer.typical_rows_)[:, -2:]
    assert shares.min() == 0
    assert shares.max() == 1
