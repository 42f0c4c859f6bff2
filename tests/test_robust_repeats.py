"""Robust seeds out of several draws: those that agree are enough."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

import sfumato
from sfumato import REFCMFS, Capped, CappedREFCMFS, Hard
from sfumato.solve import robust, short_fits
from sfumato.solve.caps import FIRST_FITS
from sfumato.solve.robust import RobustSeeds
from tests.catalogue import csr, each, every_dtype, every_loss, make_engine, row_weights
from tests.test_robust import contaminated, every_kind, every_seed


@pytest.fixture
def fits(monkeypatch):
    """Seeds of the short fits that are made."""
    made, greedy_seeds = [], short_fits.greedy_seeds

    def spy(*given):
        made.append(greedy_seeds(*given))
        return made[-1]

    monkeypatch.setattr(short_fits, "greedy_seeds", spy)
    return made


def proposals(X, n_clusters, calls, loss=None):
    """Proposed centers, call after call, and the initializer."""
    engine = make_engine("native", X, loss or Capped(), Hard())
    initializer, rng = RobustSeeds(), np.random.RandomState(0)
    return [initializer.centers(engine, n_clusters, rng) for _ in range(calls)], initializer


@every_kind
def test_seeds_that_agree_are_not_sought_again(kind, fits):
    found, initializer = proposals(contaminated(kind).data, 6, calls=8)
    assert not initializer.random
    assert len(fits) <= 6
    for centers in found[1:]:
        assert (cdist(found[0], centers).min(axis=1) < 0.5).all()
    assert_array_equal(found[-1], found[-2])


def test_seeds_that_differ_are_sought_on(fits):
    X = np.random.default_rng(0).uniform(size=(400, 5))
    found, initializer = proposals(X, 12, calls=8, loss=Capped(1.0))
    assert initializer.random
    assert len(fits) == FIRST_FITS + 7
    assert len({centers.tobytes() for centers in found}) > 1


def test_starts_that_would_be_the_same_are_left_out():
    X = contaminated(n_rows=1200).data
    one, many = (CappedREFCMFS(6, n_init=n, random_state=0).fit(X) for n in (1, 9))
    assert_array_equal(one.cluster_centers_, many.cluster_centers_)
    starts = []

    def spy(X, n_clusters, random_state):
        starts.append(0)
        return X[random_state.choice(len(X), n_clusters, replace=False)]

    CappedREFCMFS(6, init=spy, n_init=9, cap=5.0, fuzzifier=1.1, random_state=0).fit(X)
    assert len(starts) == 9


# Data without outliers and without clusters that stand out.


def shapeless(n_rows=500, seed=0):
    return np.random.default_rng(seed).uniform(size=(n_rows, 5))


@every_dtype
@each("storage", (np.asarray, csr), ids=["dense", "csr"])
@each("weights", (None, row_weights(500)), ids=["plain", "weighted"])
@each("n_init", ("auto", 2), ids=str)
def test_where_there_is_nothing_to_be_robust_against_the_fit_is_the_plain_one(
    dtype, storage, weights, n_init
):
    """But for what memberships in clusters beyond the cap cost, which is little."""
    X = storage(shapeless().astype(dtype))
    capped, plain = (
        model(12, n_init=n_init, fuzzifier=1.05, random_state=3).fit(X, sample_weight=weights)
        for model in (CappedREFCMFS, REFCMFS)
    )
    assert np.isfinite(capped.cap_)
    assert_array_equal(capped.labels_, plain.labels_)
    assert_allclose(capped.cluster_centers_, plain.cluster_centers_, rtol=1e-4)


@every_seed
def test_the_same_fuzzifier_and_nearly_the_same_centers(seed):
    X = shapeless()
    capped, plain = (model(12, random_state=seed).fit(X) for model in (CappedREFCMFS, REFCMFS))
    assert capped.fuzzifier_ == plain.fuzzifier_
    assert_allclose(capped.cluster_centers_, plain.cluster_centers_, atol=0.02)


def test_data_in_pieces_with_nothing_to_be_robust_against():
    """Seeds are drawn from rows that stand for all, so that they are others; as good ones."""
    stream = sfumato.stream(shapeless(3000), chunk_rows=700)
    capped, plain = (
        model(12, fuzzifier=1.05, random_state=0).fit(stream) for model in (CappedREFCMFS, REFCMFS)
    )
    assert np.isfinite(capped.cap_)
    assert capped.objective_ == pytest.approx(plain.objective_, rel=0.01)
    assert capped.outliers_.compute().mean() < 0.005


@every_seed
@each("n_rows", (500, 20_000), ids=str)
def test_a_single_outlier_is_seen_though_no_sample_has_it(n_rows, seed):
    X = np.append(shapeless(n_rows), np.full((1, 5), 1e6), axis=0)
    model = CappedREFCMFS(12, random_state=seed).fit(X)
    assert model.outliers_[-1]
    assert np.abs(model.cluster_centers_).max() < 2


@every_loss
def test_robust_seeds_remain_robust_where_they_were_asked_for(loss, fits):
    """Only the cap that a loss leaves to the data may turn out to be needless."""
    part = Capped(0.9) if isinstance(loss, Capped) else loss
    proposals(shapeless(), 12, calls=3, loss=part)
    assert len(fits) >= 3


def test_a_needless_search_has_drawn_nothing():
    engine = make_engine("native", shapeless(), Capped(), Hard())
    rng = np.random.RandomState(0)
    found = robust.search(engine, 12, rng)
    assert found.needless
    assert rng.uniform() == np.random.RandomState(0).uniform()


@every_seed
def test_seeds_that_are_rows_of_many_features_are_moved_without_the_cap_first(seed):
    """Two rows of a cluster are farther apart there than any row is from its center."""
    made = contaminated("between", 200, n_rows=1000, seed=seed + 1, box=1.0)
    model = CappedREFCMFS(6, random_state=seed + 1).fit(made.data)
    inliers = made.target >= 0
    assert adjusted_rand_score(made.target[inliers], model.labels_[inliers]) > 0.99
