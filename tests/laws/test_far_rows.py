"""Rows at any distance that the precision holds take no digits from the others."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

import sfumato
from sfumato import (
    L21,
    REFCMFS,
    CappedREFCMFS,
    FuzzyClustering,
    Hard,
    KMedoids,
    LandmarkSpectralEmbedding,
)
from sfumato._origin import origin_of, origin_of_sample, sample_for_origin
from tests.catalogue import each, every_dtype, make_engine, whatever_results

pytestmark = whatever_results
MIDDLES = np.array([[0.0, 0], [10, 0], [0, 10], [10, 10]])
CLASSES = np.random.default_rng(0).integers(4, size=1000)
ROWS = MIDDLES[CLASSES] + 0.5 * np.random.default_rng(1).normal(size=(1000, 2))
DISTANCES = [(np.float32, d) for d in (1e6, 1e7, 1e9, 1e12, 4e18)] + [
    (np.float64, d) for d in (1e6, 1e7, 1e12, 1e20, 1e150)
]
"""4e18 and 1e150 are near the largest distances whose squares are finite."""
every_distance = each("case", DISTANCES, ids=lambda case: f"{np.dtype(case[0])}-{case[1]:g}")
SHARES = {"one row": 1, "a tenth": 111, "30 %": 428}


def scattered(count, distance, n_features=2):
    """Rows in all directions, at most that far away."""
    rng = np.random.default_rng(2)
    away = rng.normal(size=(count, n_features))
    lengths = np.linalg.norm(away, axis=1, keepdims=True)
    return away / lengths * distance * rng.uniform(0.1, 1, size=(count, 1))


def with_far_rows(count, distance, dtype, first=False):
    parts = [ROWS, scattered(count, distance)]
    return np.vstack(parts[::-1] if first else parts).astype(dtype)


def agrees(found, expected):
    """Whether clusters are the same, whatever their numbers."""
    assert adjusted_rand_score(found, expected) == 1.0


@every_distance
@pytest.mark.parametrize("share", SHARES)
def test_capped_fits_do_not_notice_them(case, share):
    dtype, distance = case
    X = with_far_rows(SHARES[share], distance, dtype)
    alone = CappedREFCMFS(4, random_state=0).fit(ROWS.astype(dtype))
    found = CappedREFCMFS(4, random_state=0).fit(X)
    agrees(found.labels_[:1000], alone.labels_)
    agrees(found.labels_[:1000], CLASSES)
    assert found.outliers_[1000:].all()
    assert found.memberships_[1000:].nnz == 0
    assert np.isfinite(found.score(X))
    assert_array_equal(found.predict(X), found.labels_)


@every_distance
def test_they_may_come_first_and_weigh(case):
    dtype, distance = case
    X = with_far_rows(20, distance, dtype, first=True)
    weights = np.where(np.arange(len(X)) < 20, 3.0, 1.0)
    found = CappedREFCMFS(4, random_state=0).fit(X, sample_weight=weights)
    agrees(found.labels_[20:], CLASSES)


@every_distance
def test_other_losses_keep_the_digits_of_the_others(case):
    """One far row takes a center for itself; the others are fitted as without it."""
    dtype, distance = case
    X = with_far_rows(1, distance, dtype)
    found = REFCMFS(5, random_state=0, fuzzifier=1.1, n_active=2).fit(X)
    alone = REFCMFS(4, random_state=0, fuzzifier=1.1, n_active=2).fit(ROWS.astype(dtype))
    agrees(found.labels_[:1000], alone.labels_)
    assert found.objective_ == pytest.approx(alone.objective_, rel=1e-4)
    assert np.isfinite(found.score(X))


@every_distance
def test_distances_to_near_centers_are_those_without_them(case):
    dtype, distance = case
    X = with_far_rows(428, distance, dtype)
    near = make_engine("native", X[:1000], L21(), Hard()).distances(MIDDLES + 0.25)
    found = make_engine("native", X, L21(), Hard()).distances(MIDDLES + 0.25)[:1000]
    assert_allclose(found, near, rtol=1e-4 if dtype == np.float32 else 1e-12)


@every_distance
@pytest.mark.parametrize("sizes", [(1428,), (7, 1000, 421), (400,) * 3 + (228,)])
def test_streams(case, sizes):
    dtype, distance = case
    X = with_far_rows(428, distance, dtype, first=True)
    chunks = np.split(X, np.cumsum(sizes)[:-1])
    found = CappedREFCMFS(4, random_state=0).fit(sfumato.stream(chunks))
    agrees(np.asarray(found.labels_)[428:], CLASSES)


@pytest.mark.slow
@every_distance
def test_dask(case):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    dtype, distance = case
    X = with_far_rows(428, distance, dtype, first=True)
    with dask.config.set(scheduler="synchronous"):
        found = CappedREFCMFS(4, random_state=0).fit(da.from_array(X, chunks=(300, 2)))
        agrees(np.asarray(found.labels_)[428:], CLASSES)


@every_distance
def test_sparse_rows(case):
    dtype, distance = case
    X = sp.csr_array(with_far_rows(100, distance, dtype, first=True))
    agrees(CappedREFCMFS(4, random_state=0).fit(X).labels_[100:], CLASSES)


@every_distance
def test_batches(case):
    dtype, distance = case
    X = with_far_rows(100, distance, dtype)
    model = CappedREFCMFS(4, random_state=0).partial_fit(X[:300])
    for begin in range(300, 1100, 100):  # The last batch has far rows only.
        model.partial_fit(X[begin : begin + 100])
    agrees(model.predict(X[:1000]), CLASSES)


@every_distance
def test_wide_rows_that_are_projected(case):
    dtype, distance = case
    rng = np.random.default_rng(3)
    y = np.arange(40) % 4
    near = 8 * rng.normal(size=(4, 300))[y] + rng.normal(size=(40, 300))
    X = np.vstack([scattered(1, distance / 20, 300), near]).astype(dtype)
    found = REFCMFS(5, random_state=0).fit(X)
    agrees(found.labels_[1:], y)


@every_distance
@pytest.mark.parametrize(
    "estimator",
    [KMedoids(5, random_state=0), LandmarkSpectralEmbedding(4, random_state=0)],
    ids=repr,
)
def test_methods_to_compare_with(case, estimator):
    dtype, distance = case
    X = with_far_rows(1, min(distance, 1e140), dtype)
    assert np.isfinite(np.asarray(estimator.fit(X).transform(X))).all()


@every_dtype
def test_what_the_precision_cannot_hold_is_refused(dtype):
    limit = np.finfo(dtype).max
    X = np.vstack([ROWS, [[0.9 * limit, 0]]]).astype(dtype)
    with pytest.raises(ValueError, match="squared distances overflow float"):
        CappedREFCMFS(4).fit(X)


def test_the_origin_is_a_row_of_most():
    """One of two values, not the mean of them; rows of zero weight do not count."""
    X = np.array([[0.0], [1e20]])
    assert origin_of(X, None) == 0
    assert origin_of(X, np.array([1.0, 3.0])) == 1e20
    assert origin_of(np.array([[1e20], [5.0], [6.0]]), np.array([0.0, 1.0, 1.0])) == 5
    many = np.vstack([np.full((5000, 1), 1e9), np.full((9, 1), 7.0)])
    assert origin_of(many, np.repeat([0.0, 1.0], [5000, 9])) == 7


def test_the_origin_of_chunks_is_one_of_most_rows():
    rows = np.vstack(
        [np.full((30_000, 3), 1e12), np.random.default_rng(0).normal(size=(70_000, 3))]
    )
    chunks = np.split(rows, [10, 20_000, 29_000, 99_999])
    samples = [sample_for_origin(chunk, None, i) for i, chunk in enumerate(chunks)]
    total = samples[0]
    for sample in samples[1:]:
        total = total + sample
    assert np.abs(origin_of_sample(total)).max() < 2
    assert len(total.priorities) <= 1025


def test_shifted_rows_have_a_shifted_origin():
    assert_array_equal(origin_of(ROWS.round(3) + 4096, None), origin_of(ROWS.round(3), None) + 4096)


def test_scores_with_a_center_on_a_far_row():
    """The component of outliers lies in the middle of the clusters, not halfway to the far row."""
    X = with_far_rows(1, 1e20, np.float64)
    model = FuzzyClustering(5, loss="l21", membership="hard", random_state=0).fit(X)
    alone = FuzzyClustering(4, loss="l21", membership="hard", random_state=0).fit(ROWS)
    assert_allclose(model.score(ROWS), alone.score(ROWS), atol=0.05)
