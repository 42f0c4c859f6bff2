"""What the columns of a table are: dates, codes, identifiers, lengths of time, rare categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from sfumato import TablePreparer


def kinds(preparer: TablePreparer) -> dict[str, str]:
    return {each.column: each.kind for each in preparer.decisions_}


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("%Y-%m-%d", "2020-01-31"),
        ("%d.%m.%Y", "31.01.2020"),
        ("%m/%d/%Y", "01/31/2020"),
        ("%d/%m/%Y", "31/01/2020"),
        ("%d %b %Y", "31 Jan 2020"),
        ("%B %d, %Y", "January 31, 2020"),
        ("%d.%m.%y", "31.01.20"),
        ("%d.%m.%Y %H:%M", "31.01.2020 00:00"),
        ("%m/%d/%Y %I:%M %p", "01/31/2020 12:00 AM"),
        ("%Y%m%d", "20200131"),
    ],
)
def test_dates_are_read_in_usual_formats(written: str, first: str) -> None:
    days = pd.Series(pd.date_range("2020-01-31", periods=50))
    frame = pd.DataFrame({"d": days.dt.strftime(written), "x": np.arange(50.0) ** 2})
    assert frame["d"][0] == first
    preparer = TablePreparer(scale="none").fit(frame)
    assert kinds(preparer)["d"] == "date"
    assert_array_equal(preparer.transform(frame)[:, 0], (days - pd.Timestamp(0)).dt.days)


def test_dates_that_are_whole_numbers() -> None:
    days = pd.Series(pd.date_range("2020-01-31", periods=50))
    numbers = days.dt.strftime("%Y%m%d").astype(float).where(np.arange(50) != 7)
    frame = pd.DataFrame({"d": numbers, "x": 20_000_101 + np.arange(50) ** 2})
    preparer = TablePreparer(scale="none").fit(frame)
    assert kinds(preparer) == {"d": "date", "x": "number"}
    read = preparer._read(frame)[:, 0]
    assert_array_equal(read, (days - pd.Timestamp(0)).dt.days.where(np.arange(50) != 7))


@pytest.mark.parametrize(
    ("name", "kind"), [("customerId", "identifier"), ("order id", "identifier"), ("paid", "number")]
)
def test_names_of_identifiers(name: str, kind: str) -> None:
    numbers = np.random.default_rng(0).choice(10**6, 300, replace=False)
    frame = pd.DataFrame({name: numbers, "x": numbers % 71})
    assert kinds(TablePreparer().fit(frame))[name] == kind


def test_lengths_of_time_are_seconds() -> None:
    seconds = pd.Series(np.arange(50.0) ** 2).where(np.arange(50) != 3)
    frame = pd.DataFrame({"session": pd.to_timedelta(seconds, unit="s"), "x": np.arange(50) % 7})
    preparer = TablePreparer(scale="none").fit(frame)
    assert kinds(preparer)["session"] == "number"
    assert_array_equal(preparer._read(frame)[:, 0], seconds)


def test_codes_are_categories() -> None:
    rng = np.random.default_rng(0)
    codes = rng.choice([10115, 10117, 80331], size=200)
    frame = pd.DataFrame(
        {
            "zip": codes,
            "shop": [f"{code % 100:04d}" for code in codes],
            "code": codes / 3,
            "barcode": codes + rng.integers(5, size=200),
        }
    )
    found = TablePreparer().fit(frame).decisions_
    assert [each.kind for each in found] == ["category", "category", "number", "number"]
    assert found.of("zip").levels == tuple(map(str, pd.Series(codes).value_counts().index))
    assert kinds(TablePreparer(numbers=["zip", "shop"]).fit(frame))["shop"] == "number"


def test_rare_categories_have_no_column() -> None:
    names = np.array(["web"] * 500 + ["shop"] * 495 + ["wbe", "Shop", "sohp", "we b", "WEB"])
    many = np.array([f"street {number % 300}" for number in range(1000)])
    frame = pd.DataFrame({"channel": names, "street": many, "x": np.arange(1000.0) % 37})
    found = TablePreparer().fit(frame)
    assert found.decisions_.of("channel").levels == ("web", "shop")
    assert "the 2 commonest of 7 categories" in found.decisions_.of("channel").action
    assert found.decisions_.of("street").kind == "left out"
    assert_array_equal(found.transform(frame)[-5:, 1:], 0)
    said = TablePreparer(categories=["street"]).fit(frame).decisions_.of("street")
    assert len(said.levels) == 20


@pytest.mark.parametrize("unit", ["text", "s", "us"])
def test_dates_too_far_away_to_be_believed_are_missing(unit: str) -> None:
    days = pd.Series(pd.date_range("2020-01-31", periods=50)).dt.strftime("%Y-%m-%d")
    days[:5] = ["9999-12-31", "0001-01-01", "2300-01-01", "1500-06-30", "9999-12-31"]
    column = days if unit == "text" else days.to_numpy().astype(f"datetime64[{unit}]")
    preparer = TablePreparer().fit(pd.DataFrame({"end": column, "x": np.sqrt(range(50))}))
    decision = preparer.decisions_.of("end")
    assert decision.kind == "date"
    assert decision.missing == pytest.approx(0.1)


def test_codes_that_look_like_dates_of_antiquity_are_identifiers() -> None:
    rng = np.random.default_rng(0)
    codes = [f"{number:08x}" for number in rng.integers(2**24, size=200)]
    codes[0] = "00630407"  # The year 63, after ISO 8601.
    preparer = TablePreparer().fit(pd.DataFrame({"id": codes, "x": rng.normal(size=200)}))
    assert kinds(preparer)["id"] == "identifier"
