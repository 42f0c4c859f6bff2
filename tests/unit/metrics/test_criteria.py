"""Criteria of a number of clusters: BIC, gap, stability; in memory, over streams and with dask."""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV

import sfumato
from sfumato import CappedREFCMFS, metrics
from sfumato.datasets import make_blobs_with_outliers
from sfumato.metrics import (
    bic_scorer,
    gap_statistic,
    prediction_strength,
    robust_bic,
    simplified_fuzzy_silhouette,
    simplified_silhouette,
)

TOP = Path(__file__).parents[3]
CENTERS = np.array([[0.0, 0, 0], [8, 0, 0], [0, 8, 0]])


def blobs(n_rows: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(n_rows) % 3
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 3)) * (1 + labels[:, None] / 2) + CENTERS[labels], labels


def outlying(X: np.ndarray) -> np.ndarray:
    return np.vstack([X, np.random.default_rng(1).uniform(-90, 90, size=(40, 3)) + 200])


def means(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.array([X[labels == k].mean(axis=0) for k in range(3)])


EVERY: dict[str, Callable[[Any], float]] = {
    "silhouette": lambda X: simplified_silhouette(X, CENTERS),
    "fuzzy silhouette": lambda X: simplified_fuzzy_silhouette(X, CENTERS, [6, 6, 6]),
    "Calinski-Harabasz": lambda X: metrics.calinski_harabasz(X, CENTERS, [6, 6, 6]),
    "Davies-Bouldin": lambda X: metrics.davies_bouldin(X, CENTERS, [6, 6, 6]),
    "PBM": lambda X: metrics.pbm(X, CENTERS, [6, 6, 6]),
    "Xie-Beni": lambda X: metrics.xie_beni(X, None, CENTERS, 1.5),
    "BIC": lambda X: robust_bic(X, CENTERS, [6, 6, 6]),
    "BIC, common width": lambda X: robust_bic(X, CENTERS, [6, 6, 6], common_width=True),
    "gap": lambda X: gap_statistic(X, CENTERS, [6, 6, 6], n_references=2).value,
    "prediction strength": lambda X: prediction_strength(X, CENTERS, CENTERS[:2] + 1),
}
every_criterion = pytest.mark.parametrize("criterion", EVERY.values(), ids=EVERY)


@every_criterion
def test_a_stream_and_dask_give_the_same(criterion: Callable[[Any], float]) -> None:
    da = pytest.importorskip("dask.array")
    X = outlying(blobs()[0])
    expected = criterion(X)
    assert criterion(sfumato.stream(X, chunk_rows=37)) == pytest.approx(expected, rel=1e-9)
    assert criterion(da.from_array(X, chunks=(90, 3))) == pytest.approx(expected, rel=1e-9)
    assert criterion(sp.csr_array(X)) == pytest.approx(expected, rel=1e-9)


@every_criterion
def test_the_order_of_rows_does_not_matter(criterion: Callable[[Any], float]) -> None:
    X = outlying(blobs()[0])
    assert criterion(X[::-1]) == pytest.approx(criterion(X), rel=1e-9)


@every_criterion
def test_bad_rows_are_an_error(criterion: Callable[[Any], float]) -> None:
    with pytest.raises(ValueError, match="X"):
        criterion(np.empty((0, 3)))
    with pytest.raises(ValueError, match="NaN"):
        criterion([[0.0, 1, np.nan]])
    with pytest.raises(ValueError, match="columns"):
        criterion([[0.0, 1]])


@pytest.mark.parametrize("radii", [[1.0], [1, 1, -1], [[1, 1, 1]]])
def test_bad_radii_are_an_error(radii: Any) -> None:
    with pytest.raises(ValueError, match="radii"):
        robust_bic(blobs()[0], CENTERS, radii)


def test_radii_that_leave_no_rows_are_an_error() -> None:
    with pytest.raises(ValueError, match="radii leaves no row"):
        robust_bic([[0.0], [1.0]], [[9.0]], [1.0])


def test_bic_is_that_of_scikit_learn_for_clusters_far_apart() -> None:
    X, labels = blobs(3000)
    X = X + 20 * CENTERS[labels]
    oracle = GaussianMixture(
        3, covariance_type="spherical", means_init=means(X, labels), reg_covar=0, tol=1e-9
    ).fit(X)
    found = robust_bic(X, means(X, labels))
    assert found == pytest.approx(-oracle.bic(X) / 2, rel=1e-5)


def test_bic_with_outliers_by_hand() -> None:
    X, labels = blobs()
    points = means(X, labels)
    labels = cdist(X, points).argmin(axis=1)
    both = outlying(X)
    n, out, d = len(both), 40, 3
    variance = ((X - points[labels]) ** 2).sum() / len(X) / d
    logs = sum(
        np.log((labels == k).sum() / n) * (labels == k).sum()
        + multivariate_normal(points[k], variance * np.eye(d)).logpdf(X[labels == k]).sum()
        for k in range(3)
    )
    volume = np.prod(np.ptp(both, axis=0))
    logs += out * (np.log(out / n) - np.log(volume))
    parameters = 3 * d + 1 + 3
    found = robust_bic(both, points, [9.0] * 3, common_width=True)
    assert found == pytest.approx(logs - parameters / 2 * np.log(n))


def test_bic_finds_the_number_with_outliers() -> None:
    X = make_blobs_with_outliers(600, 3, n_clusters=4, contamination=0.2, random_state=0).data
    fits = [CappedREFCMFS(k, random_state=0).fit(X) for k in range(1, 7)]
    for common in (False, True):
        values = [
            robust_bic(X, fit.cluster_centers_, fit.cluster_radii_, common_width=common)
            for fit in fits
        ]
        assert 1 + int(np.argmax(values)) == 4


def test_rows_on_centers_have_no_width() -> None:
    assert robust_bic([[0.0], [1.0]], [[0.0], [1.0]]) == np.inf


def test_outliers_do_not_move_the_gap() -> None:
    X, labels = blobs()
    points = means(X, labels)
    radii = [9.0] * 3
    alone = gap_statistic(X, points, radii)
    assert gap_statistic(outlying(X), points, radii) == alone
    assert abs(gap_statistic(outlying(X), points).value - alone.value) > 1


def test_gap_of_uniform_rows_is_zero() -> None:
    X = np.random.default_rng(0).uniform(size=(1000, 2))
    for count in (1, 4):
        points = KMeans(count, n_init=5, random_state=0).fit(X).cluster_centers_
        found = gap_statistic(X, points, n_references=20)
        assert abs(found.value) < 0.05
        assert 0 < found.error < 0.1


def test_gap_is_largest_at_the_number() -> None:
    X, _ = blobs()
    fits = [KMeans(k, n_init=5, random_state=0).fit(X).cluster_centers_ for k in range(1, 7)]
    assert 1 + int(np.argmax([gap_statistic(X, each).value for each in fits])) == 3


def test_prediction_strength_by_pairs() -> None:
    X, _ = blobs(60)
    others = CENTERS[:2] + np.array([[0, 0, 0], [-6, 5, 0]])
    mine, its = cdist(X, CENTERS).argmin(axis=1), cdist(X, others).argmin(axis=1)
    shares = []
    for k in range(3):
        rows = np.flatnonzero(mine == k)
        pairs = [(i, j) for i in rows for j in rows if i != j]
        shares.append(np.mean([its[i] == its[j] for i, j in pairs]))
    assert 0 < min(shares) < 1
    assert prediction_strength(X, CENTERS, others) == pytest.approx(min(shares))
    assert prediction_strength(X, CENTERS[:1], others[:1]) == 1


def test_fuzzy_silhouette_by_definition() -> None:
    X, _ = blobs(60)
    distances = cdist(X, CENTERS)
    shares = distances ** (-2 / (1.5 - 1))
    shares = np.sort(shares / shares.sum(axis=1, keepdims=True), axis=1)
    nearest, second = np.sort(distances, axis=1)[:, :2].T
    weights = (shares[:, -1] - shares[:, -2]) ** 2
    by_hand = np.average(1 - nearest / second, weights=weights)
    found = simplified_fuzzy_silhouette(X, CENTERS, fuzzifier=1.5, alpha=2)
    assert found == pytest.approx(by_hand)
    plain = simplified_fuzzy_silhouette(X, CENTERS, alpha=0)
    assert plain == pytest.approx(simplified_silhouette(X, CENTERS))


@pytest.mark.parametrize("fuzzifier", [1.3, 2.0])
def test_xie_beni_has_the_memberships_of_fuzzy_c_means(fuzzifier: float) -> None:
    X, _ = blobs(60)
    shares = cdist(X, CENTERS) ** (-2 / (fuzzifier - 1))
    given = metrics.xie_beni(X, shares / shares.sum(axis=1, keepdims=True), CENTERS, fuzzifier)
    assert metrics.xie_beni(X, None, CENTERS, fuzzifier) == pytest.approx(given)
    with pytest.raises(ValueError, match="memberships must be None"):
        metrics.xie_beni(sfumato.stream(X), shares, CENTERS)


@pytest.mark.parametrize("wrong", [{"fuzzifier": 1.0}, {"alpha": -1}, {"alpha": "a"}])
def test_bad_exponents_are_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
        simplified_fuzzy_silhouette(blobs()[0], CENTERS, **wrong)


def test_a_stream_is_read_once() -> None:
    passes = []

    class Observer:
        def begin(self, description: str, n_rows: int | None) -> None:
            passes.append(description)

        def advance(self, rows: int) -> None: ...

        def end(self, rows: int) -> None: ...

        def found(self, result: object) -> None: ...

    rows = sfumato.stream(blobs()[0], chunk_rows=100)
    rows.observer = Observer()
    robust_bic(rows, CENTERS)
    assert len(passes) == 1


@pytest.mark.parametrize("search", [GridSearchCV, HalvingGridSearchCV])
def test_the_scorer_of_a_search_finds_the_number(search: Callable[..., Any]) -> None:
    X = make_blobs_with_outliers(400, n_clusters=4, contamination=0.1, random_state=0).data
    model = CappedREFCMFS(random_state=0)
    found = search(model, {"n_clusters": [2, 4, 6]}, scoring=bic_scorer, cv=2).fit(X)
    assert found.best_params_ == {"n_clusters": 4}


def test_the_scorer_is_the_criterion_per_row() -> None:
    X = make_blobs_with_outliers(200, n_clusters=3, random_state=0).data
    model = CappedREFCMFS(3, random_state=0).fit(X)
    whole = robust_bic(X, model.cluster_centers_, model.cluster_radii_)
    assert bic_scorer(model, X) == pytest.approx(whole / 200)
    assert bic_scorer(model, sfumato.stream(X, chunk_rows=60)) == pytest.approx(whole / 200)


def test_the_example_of_tuning_runs() -> None:
    script = runpy.run_path(str(TOP / "examples" / "tune_without_labels.py"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = script["tune"](n_samples=400)
    assert found["n_clusters"] == 5
    assert found["ari"] > 0.95
