"""The score is the mean log-density of a mixture, by which fits with any parameters compare."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import REFCMFS, Capped, CappedREFCMFS, FuzzyClustering, SimREFCMFS, stream
from sfumato.datasets import make_blobs_with_outliers
from tests.catalogue import blobs, row_weights, start_near, whatever_results
from tests.contract.estimators import every_estimator

pytestmark = whatever_results  # Also of other numbers of clusters than there are.


# Values.


@every_estimator
def test_score_is_the_mean_of_the_samples(estimator: BaseEstimator, X: np.ndarray) -> None:
    model = clone(estimator).fit(X)
    new, weights = blobs(60, 3, 4, seed=1), row_weights(60)
    samples = model.score_samples(new)
    assert samples.shape == (60,)
    assert np.isfinite(samples).all()
    assert model.score(new) == pytest.approx(samples.mean(), rel=1e-12)
    weighted = model.score(new, sample_weight=weights)
    assert weighted == pytest.approx(np.average(samples, weights=weights), rel=1e-12)
    assert model.score(new, sample_weight=2 * weights) == pytest.approx(weighted, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@every_estimator
def test_streams_and_dask_have_the_same_score(estimator: BaseEstimator, dtype: type) -> None:
    X, new = (blobs(90, 3, 4, seed=seed).astype(dtype) for seed in (0, 1))
    weights = row_weights(90)
    fixed = clone(estimator).set_params(init=start_near(X, 4))
    model = clone(fixed).fit(X)
    for place in (
        lambda rows: stream(rows, chunk_rows=20),
        lambda rows: da.from_array(rows, chunks=(20, -1)),
    ):
        assert_allclose(np.asarray(model.score_samples(place(new))), model.score_samples(new))
        for given in (None, weights):
            expected = model.score(new, sample_weight=given)
            assert model.score(place(new), sample_weight=given) == pytest.approx(expected, rel=1e-6)
        there = clone(fixed).fit(place(X))
        # Centers of a fit in float32 differ by rounding.
        close = 1e-6 if dtype is np.float64 else 1e-4
        assert there.score(new) == pytest.approx(model.score(new), rel=close)


@every_estimator
def test_probabilities_of_outliers_are_the_same_everywhere(
    estimator: BaseEstimator, X: np.ndarray
) -> None:
    model = clone(estimator).fit(X)
    new = np.vstack([blobs(60, 3, 4, seed=1), np.full((1, 3), 1e9)])
    found = model.outlier_probability(new)
    assert found.shape == (61,)
    assert ((found >= 0) & (found <= 1)).all()
    assert found[-1] == 1
    streamed = np.asarray(model.outlier_probability(stream(new, chunk_rows=20)))
    assert_allclose(streamed, found, rtol=1e-9)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("n_features", [2, 10])
def test_probabilities_of_outliers_are_calibrated(n_features: int, share: float) -> None:
    """Outliers as the mixture has them, which lie among the clusters as well as far away."""
    rng = np.random.default_rng(0)
    n_rows, centers = 20_000, rng.normal(scale=8, size=(4, n_features))
    X = centers[rng.integers(4, size=n_rows)] + rng.normal(size=(n_rows, n_features))
    outlying = rng.random(n_rows) < share
    count = int(outlying.sum())
    tails = np.where(rng.random(count) < 0.5, 1, np.abs(rng.standard_cauchy(count)))
    X[outlying] = 8 * tails[:, None] * rng.normal(size=(count, n_features))
    model = CappedREFCMFS(4, random_state=0).fit(X)
    found = model.outlier_probability(X)
    # Where outliers are many, those within clusters count as rows of these: 0.26 instead of 0.30.
    few = outlying.mean() < 0.2
    assert found.mean() == pytest.approx(outlying.mean(), rel=0.1 if few else 0.15)
    for low, high in [(0, 0.1), (0.1, 0.9), (0.9, 1)]:
        inside = (found >= low) & (found <= high)
        if few and inside.sum() > 100:
            assert found[inside].mean() == pytest.approx(outlying[inside].mean(), abs=0.05)


@pytest.mark.parametrize("contamination", [0.0, 0.1])
@pytest.mark.parametrize("estimator", [REFCMFS, CappedREFCMFS])
def test_the_density_integrates_to_one(estimator: Any, contamination: float) -> None:
    made = make_blobs_with_outliers(
        400, 2, n_clusters=4, contamination=contamination, width_ratio=2.0, random_state=0
    )
    model = estimator(4, random_state=0).fit(made.data)
    side = np.arange(-400.0, 400.0, 0.5)  # Two steps are the width of the narrowest cluster.
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    mass = np.exp(model.score_samples(grid)).sum() * 0.5**2
    # A share of the outliers is beyond the grid.
    assert 0.98 < mass < 1.001


@every_estimator
def test_units_shift_the_score(estimator: BaseEstimator, X: np.ndarray) -> None:
    """In units eight times smaller, densities are lower by a factor of eight per column."""
    fixed = clone(estimator)
    parameters = fixed.get_params()
    larger = {n: 8 * v for n, v in parameters.items() if n in ("gamma", "loss__cap")}
    fixed.set_params(init=start_near(X, 4))
    small = clone(fixed).fit(X)
    large = clone(fixed).set_params(init=8 * start_near(X, 4), **larger).fit(8 * X)
    shifted = small.score_samples(X) - X.shape[1] * np.log(8)
    assert_allclose(large.score_samples(8 * X), shifted, rtol=1e-9)


def test_far_rows_and_equal_rows_have_a_density() -> None:
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0)
    model = REFCMFS(2, random_state=0).fit(X)
    samples = model.score_samples([[0.0, 0.0], [2.0, 2.0], [1e100, -1e100]])
    assert np.isfinite(samples).all()
    assert (np.diff(samples) < 0).all()


def test_pipeline(X: np.ndarray) -> None:
    pipeline = make_pipeline(StandardScaler(), REFCMFS(4, random_state=0)).fit(X)
    scaled = StandardScaler().fit_transform(X)
    assert_array_equal(pipeline.score_samples(X), pipeline[-1].score_samples(scaled))
    assert pipeline.score(X) == pytest.approx(pipeline.score_samples(X).mean(), rel=1e-12)


def test_batches_move_the_density() -> None:
    """After batches from elsewhere, rows there are likely."""
    X = blobs(200, 3, 4)
    model = REFCMFS(4, decay=0.5, random_state=0).partial_fit(X)
    before = model.score(X + 3)
    for _ in range(10):
        model.partial_fit(X + 3)
    assert model.score(X + 3) > before


# Searches over parameters.


def chosen(estimator: BaseEstimator, X: np.ndarray, **grid: Any) -> Any:
    """Value of the only parameter of a grid that cross-validation chooses."""
    search = GridSearchCV(estimator, grid, cv=2, error_score="raise").fit(X)
    (value,) = search.best_params_.values()
    return value


def ten_sets(contamination: float) -> list[tuple[int, np.ndarray]]:
    """Number of clusters and rows of sets in 2 to 10 dimensions."""
    sets = []
    for seed in range(10):
        k = 3 + seed % 5
        made = make_blobs_with_outliers(
            500,
            2 + 8 * seed // 9,
            n_clusters=k,
            contamination=contamination,
            random_state=seed,
        )
        sets.append((k, made.data))
    return sets


@pytest.mark.parametrize(
    ("estimator", "contamination"),
    [
        (REFCMFS, 0.0),
        (SimREFCMFS, 0.0),
        pytest.param(CappedREFCMFS, 0.0, marks=pytest.mark.slow),
        pytest.param(CappedREFCMFS, 0.1, marks=pytest.mark.slow),
    ],
)
def test_grid_search_finds_the_number_of_clusters(estimator: Any, contamination: float) -> None:
    off = [
        chosen(estimator(random_state=0), X, n_clusters=[k - 2, k - 1, k, k + 1, k + 4]) - k
        for k, X in ten_sets(contamination)
    ]
    assert np.sum(np.abs(off) <= 1) >= 9, off


def test_grid_search_does_not_run_to_the_largest_parameters() -> None:
    """As it did when the score was the objective, which falls with each of them."""
    made = make_blobs_with_outliers(500, 4, n_clusters=4, contamination=0.1, random_state=0)
    model = FuzzyClustering(4, loss=Capped(), membership="hard", random_state=0)
    assert chosen(model, made.data, loss__cap=[0.2, 6.0, 1e4]) == 6
    clean = make_blobs_with_outliers(500, 4, n_clusters=4, contamination=0.0, random_state=0)
    assert chosen(REFCMFS(4, random_state=0), clean.data, fuzzifier=[1.2, 8.0]) == 1.2
