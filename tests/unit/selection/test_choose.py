"""Numbers of clusters that the rule finds, and the record of the choice."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal

import sfumato
from sfumato import (
    CappedREFCMFS,
    KMedoids,
    Selection,
    select_n_clusters,
)
from sfumato._selection.path import reported_to
from sfumato._selection.record import Alternative
from sfumato.datasets import make_blobs_with_outliers
from sfumato.exceptions import ParameterError, ParameterTypeError

EMPTY = np.empty((0, 2))


@pytest.mark.parametrize("outliers", ["uniform", "cauchy"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
@pytest.mark.parametrize(("count", "n_features"), [(1, 2), (3, 2), (6, 10), (4, 40)])
def test_gaussian_clusters_with_outliers(
    count: int, n_features: int, share: float, outliers: str
) -> None:
    blobs = make_blobs_with_outliers(
        1000,
        n_features,
        n_clusters=count,
        contamination=share,
        outliers=outliers,
        size_ratio=3,
        width_ratio=2,
        random_state=1,
    )
    found = select_n_clusters(blobs.data)
    assert found.n_clusters == count, found


def box(rng: np.random.RandomState) -> np.ndarray:
    return rng.uniform(size=(800, 2))


def heavy(rng: np.random.RandomState) -> np.ndarray:
    return rng.normal(size=(800, 3)) / np.sqrt(rng.chisquare(3, size=800) / 3)[:, None]


def gaussian(rng: np.random.RandomState) -> np.ndarray:
    return rng.normal(size=(800, 20))


@pytest.mark.parametrize("make", [box, heavy, gaussian])
def test_one_cluster_is_one(make: Callable[[np.random.RandomState], np.ndarray]) -> None:
    found = select_n_clusters(make(np.random.RandomState(0)))
    assert found.n_clusters == 1
    assert found.reason.startswith("1: no clusters were found")


def test_long_clusters_are_not_divided() -> None:
    rng = np.random.RandomState(0)
    centers = np.array([[0.0, 0], [0, 12], [0, 24]])
    X = rng.normal(size=(900, 2)) * [5, 1] + centers[np.arange(900) % 3]
    found = select_n_clusters(X)
    assert found.n_clusters == 3
    assert "as many long components" in found.reason


@pytest.mark.parametrize("seed", range(3))
def test_clusters_of_correlated_columns_are_not_divided(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mixing = np.eye(8) + 0.9 * rng.normal(size=(8, 8)) / np.sqrt(8)
    labels = rng.integers(5, size=3000)
    centers = rng.uniform(-5, 5, size=(5, 8))
    X = centers[labels] + rng.normal(size=(3000, 8)) @ mixing.T
    selection = select_n_clusters(X, random_state=0)
    assert selection.n_clusters == 5
    assert "rows were whitened" in selection.reason


def test_a_dozen_of_4000_rows_are_outliers() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=4000)
    X = 10 * np.eye(4)[labels] + rng.normal(size=(4000, 4))
    X[:12] = 5 + 0.5 * rng.normal(size=(12, 4))
    assert select_n_clusters(X, random_state=0).n_clusters == 4


def test_many_zeros_are_no_clusters() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=3000)
    fees = np.where(rng.random(3000) < 0.5, rng.lognormal(1, 0.2, size=3000), 0.0)
    X = np.column_stack([10 * np.eye(4)[labels] + rng.normal(size=(3000, 4)), fees])
    assert select_n_clusters(X, random_state=0).n_clusters == 4


def test_categories_filled_by_means_of_ones_are_no_clusters() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=3000)
    plans = np.eye(2)[rng.integers(2, size=3000)]
    plans[:5] = np.nextafter(plans[:5], 0.5 + 2 * (plans[:5] - 0.5))
    plans[5:80] = rng.random(75)[:, None]
    X = np.column_stack([10 * np.eye(4)[labels] + rng.normal(size=(3000, 4)), plans])
    assert select_n_clusters(X, random_state=0).n_clusters == 4


@pytest.mark.parametrize("copies", [60, 100])
def test_there_are_no_more_clusters_than_different_rows(copies: int) -> None:
    places = np.random.default_rng(7).normal(size=(10, 2))
    found = select_n_clusters(np.repeat(places, copies, axis=0))
    assert found.n_clusters <= 10, found


def test_two_different_rows_are_two_clusters() -> None:
    X = np.repeat(np.array([[0.0, 1], [2, 5]]), [100, 50], axis=0)
    assert select_n_clusters(X).n_clusters == 2
    assert select_n_clusters(X[[0, -1]], sample_weight=[100, 50]).n_clusters == 2


def test_uniform_clusters_are_not_divided() -> None:
    rng = np.random.RandomState(0)
    X = 2 * rng.uniform(-1, 1, size=(900, 2)) + 6 * np.eye(3, 2)[np.arange(900) % 3]
    found = select_n_clusters(X)
    assert found.n_clusters == 3
    assert "light tails" in found.reason


@pytest.mark.parametrize("X", [[[1.0, 2.0]] * 7, [[3.0]]], ids=["equal rows", "one row"])
def test_equal_rows_are_one_cluster(X: list[list[float]]) -> None:
    found = select_n_clusters(X)
    assert found.n_clusters == 1
    assert found.reason == "1: all rows are the same."
    assert "all rows are the same" in found._repr_html_()


def test_few_rows_are_no_clusters() -> None:
    assert select_n_clusters([[0.0], [1.0], [5.0]]).n_clusters == 1


@pytest.fixture(scope="module", name="X")
def blobs() -> np.ndarray:
    return make_blobs_with_outliers(600, 3, n_clusters=4, random_state=0).data


@pytest.fixture(scope="module")
def selection(X: np.ndarray) -> Selection:
    return select_n_clusters(X)


def test_the_same_in_every_call(X: np.ndarray, selection: Selection) -> None:
    again = select_n_clusters(X)
    assert_array_equal(again.scores["bic"], selection.scores["bic"])
    assert str(again) == str(selection)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_same_bits_for_any_number_of_threads(
    X: np.ndarray, selection: Selection, n_threads: int
) -> None:
    found = select_n_clusters(X, CappedREFCMFS(n_threads=n_threads))
    for name, values in selection.scores.items():
        assert_array_equal(found.scores[name], values, err_msg=name)
    assert str(found) == str(selection)


def test_the_same_for_a_stream_and_for_dask(X: np.ndarray, selection: Selection) -> None:
    da = pytest.importorskip("dask.array")
    for rows in (sfumato.stream(X, chunk_rows=100), da.from_array(X, chunks=(150, 3))):
        found = select_n_clusters(rows)
        assert found.n_clusters == selection.n_clusters
        for name, values in selection.scores.items():
            np.testing.assert_allclose(found.scores[name], values, rtol=1e-6, err_msg=name)


def test_the_same_bits_for_any_number_of_workers(X: np.ndarray) -> None:
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    found = []
    for n_workers in (1, 2):
        with (
            distributed.LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster),
        ):
            found.append(select_n_clusters(da.from_array(X, chunks=(150, 3))))
    for name, values in found[0].scores.items():
        assert_array_equal(found[1].scores[name], values, err_msg=name)


def test_a_stream_is_read_once_more_than_to_inspect_it(X: np.ndarray) -> None:
    passes = []

    class Observer:
        def begin(self, description: str, n_rows: int | None) -> None:
            passes.append(description)

        def advance(self, rows: int) -> None: ...

        def end(self, rows: int) -> None: ...

        def found(self, result: object) -> None: ...

    rows = sfumato.stream(X, chunk_rows=100)
    rows.observer = Observer()
    select_n_clusters(rows)
    assert len(passes) == 2


def test_rows_of_weight_zero_do_not_count(X: np.ndarray) -> None:
    far = np.vstack([X, X[:300] + 500])
    weights = np.repeat([1.0, 0.0], [600, 300])
    assert select_n_clusters(far, sample_weight=weights).n_clusters == 4


def test_the_order_of_rows_hardly_matters(X: np.ndarray) -> None:
    order = np.random.default_rng(0).permutation(len(X))
    assert select_n_clusters(X[order]).n_clusters == 4


def test_candidates_limit_the_choice(X: np.ndarray) -> None:
    found = select_n_clusters(X, candidates=[9, 2, 6, 6])
    assert found.candidates == (2, 6, 9)
    assert found.n_clusters in (2, 6)
    assert "nearest to 4" in found.reason
    assert 4 in [each.n_clusters for each in found.alternatives]
    assert all(len(values) == 3 for values in found.scores.values())


def test_progress_names_the_number(X: np.ndarray) -> None:
    seen: list[tuple[int, int]] = []
    with reported_to(lambda count, most: seen.append((count, most))):
        select_n_clusters(X)
    assert max(seen)[0] >= 4
    assert all(count <= most for count, most in seen)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"candidates": []}, "candidates"),
        ({"candidates": [0, 1]}, "candidates"),
        ({"candidates": [1.5]}, "candidates"),
        ({"candidates": 3}, "candidates"),
        ({"estimator": KMedoids()}, "estimator"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_errors_name_the_parameter(X: np.ndarray, arguments: dict, name: str) -> None:
    with pytest.raises((ParameterError, ParameterTypeError), match=name) as caught:
        select_n_clusters(X, **arguments)
    assert caught.value.name == name
    assert "\n" not in str(caught.value)


def test_candidates_beyond_the_rows_are_an_error() -> None:
    with pytest.raises(ValueError, match="candidates has 6, and X has 5 rows"):
        select_n_clusters(np.arange(5.0)[:, None], candidates=[6])


@pytest.mark.parametrize("X", [EMPTY, [[np.nan]], [[1.0], [np.inf]]], ids=["none", "nan", "inf"])
def test_bad_rows_are_an_error(X: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 # The messages are those of fit.
        select_n_clusters(X)


def test_record(selection: Selection) -> None:
    frame = selection.to_frame()
    assert list(frame.index) == list(selection.candidates)
    assert frame["bic"].idxmax() == selection.n_clusters == 4
    assert np.isnan(frame["silhouette"].iloc[0])
    json.dumps(selection.to_dict(), allow_nan=False)
    assert repr(selection).startswith("Selection(n_clusters=4, candidates=1..")
    assert isinstance(selection.plot(), Figure)
    preferred = selection.preferred
    assert set(preferred) == set(frame.columns)
    assert preferred["davies_bouldin"] == frame["davies_bouldin"].idxmin()
    assert preferred["gap"] == frame["gap"].idxmax() == 4
    strong = frame.index[frame["prediction_strength"] >= 0.8]
    assert preferred["prediction_strength"] == strong.max() == 4
    assert not frame[["bic", "bic_common_width", "gap", "prediction_strength"]].isna().any().any()


def test_html_has_a_curve_and_is_escaped(selection: Selection) -> None:
    html = selection._repr_html_()
    assert html.count("<circle") == len(selection.candidates)
    odd = Selection(2, (1, 2), {}, "<b>", (Alternative(3, "a & b"),))
    assert "&lt;b&gt;" in odd._repr_html_()
    assert "a &amp; b" in odd._repr_html_()
    assert str(odd) == "<b>\nOr 3: a & b"


def test_the_reason_says_where_criteria_disagree() -> None:
    rng = np.random.RandomState(0)
    centers = np.array([[0.0, 0], [6, 0], [60, 0], [66, 0]])
    found = select_n_clusters(rng.normal(size=(600, 2)) + centers[np.arange(600) % 4])
    assert found.n_clusters == 4
    assert "Other criteria disagree: " in found.reason
    assert "the silhouette 2" in found.reason
    assert Alternative(2, "coarser: the silhouette is highest.") in found.alternatives
