"""Robust seeds out of several draws: those that agree are enough."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

import sfumato
from sfumato import REFCMFS, Capped, CappedREFCMFS, Hard, Power
from sfumato._fit.auto import tune
from sfumato._init import auto_cap, robust, short_fits
from sfumato._init.auto_cap import FIRST_FITS
from sfumato._init.robust import RobustSeeds, automatic_cutoff
from sfumato._solvers.descent import IterationRecord, Solution, StopReason
from tests.catalogue import csr, each, every_dtype, every_loss, make_engine, row_weights
from tests.robustness.test_robust import contaminated, every_kind, every_seed


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
    engine = engine.with_problem(initializer.prepare(engine, n_clusters, rng))
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


def test_fits_at_other_caps_count_too():
    engine = make_engine("native", contaminated(n_features=10, n_rows=1200).data, Capped(), Hard())
    assert auto_cap.automatic_cap(engine, 6, np.random.RandomState(0)).fits.repeats > 1


@pytest.fixture
def given_fits(monkeypatch):
    """Let short fits have the given objectives, and centers at that place."""

    def make(*objectives):
        left = list(objectives)

        def fit(*_):
            objective = left.pop(0)
            record = IterationRecord(objective, 0.0, 0.0, (), 1)
            return Solution(np.full((2, 1), objective), (record,), StopReason.CONVERGED)

        for module in (robust, short_fits):
            monkeypatch.setattr(module, "capped_fit", fit)
        return left

    return make


def firsts(centers):
    return [float(proposal[0, 0]) for proposal in centers]


def test_the_first_proposal_is_the_best_of_four_fits(given_fits):
    left = given_fits(12.0, 11.0, 10.0, 10.04, 9.0)
    found, _ = proposals(np.arange(9.0)[:, None], 2, calls=3, loss=Capped(4.0))
    assert firsts(found) == [10.0, 10.0, 10.04]
    assert left == [9.0]


def test_a_fit_that_is_clearly_worse_gives_way_to_the_best(given_fits):
    given_fits(12.0, 10.0, 10.04, 10.06, 9.0, 9.04, 9.06)
    found, _ = proposals(np.arange(9.0)[:, None], 2, calls=6, loss=Capped(4.0))
    assert firsts(found) == [10.0, 10.04, 10.0, 9.0, 9.04, 9.0]


def test_a_generator_is_drawn_from_once_for_each_proposal(given_fits):
    """So that another fit with the same generator draws others."""
    X = contaminated().data
    rng = np.random.RandomState(0)
    first, second = (CappedREFCMFS(6, n_init=1, random_state=rng).fit(X) for _ in range(2))
    assert not np.array_equal(first.cluster_centers_, second.cluster_centers_)


@pytest.mark.filterwarnings("error")
def test_any_generator_will_do():
    rng = np.random.RandomState(np.random.PCG64(0))
    assert CappedREFCMFS(6, random_state=rng).fit(contaminated().data).outliers_.any()


def test_pilots_begin_with_the_best_fit(monkeypatch):
    engine = make_engine("native", contaminated().data, Capped(), Power(3))
    initializer, rng = RobustSeeds(), np.random.RandomState(0)
    monkeypatch.setattr(initializer, "centers", None)
    problem, dimension = tune(engine, 6, initializer, rng)
    assert problem.loss.cap == automatic_cutoff(engine, 6, np.random.RandomState(0))
    assert dimension == 3


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
def test_robust_seeds_remain_robust_where_they_were_asked_for(loss):
    """Only the cap that a loss leaves to the data may turn out to be needless."""
    part = Capped(0.9) if isinstance(loss, Capped) else loss
    _, initializer = proposals(shapeless(), 12, calls=3, loss=part)
    assert initializer.refined


def test_clusters_that_stand_out_have_robust_seeds_though_there_are_no_outliers():
    made = contaminated(n_rows=1000)
    _, initializer = proposals(made.data[made.target >= 0], 6, calls=2)
    assert initializer.refined


@every_seed
def test_many_clusters_have_robust_seeds_where_ordinary_ones_miss_some(seed):
    rng = np.random.default_rng(seed)
    target = rng.integers(100, size=4000)
    X = rng.uniform(0, 10, size=(100, 8))[target] + 0.7 * rng.normal(size=(4000, 8))
    model = CappedREFCMFS(100, random_state=seed).fit(X)
    assert adjusted_rand_score(target, model.labels_) > 0.97


def test_a_search_for_nothing_has_drawn_nothing():
    """Nor is the generator set back: others may be drawing from it at the same time."""
    engine = make_engine("native", shapeless(), Capped(), Hard())
    rng = np.random.RandomState(0)
    initializer = RobustSeeds()
    assert np.isfinite(initializer.prepare(engine, 12, rng).loss.cap)
    assert not initializer.refined
    assert rng.uniform() == np.random.RandomState(0).uniform()


def test_a_pilot_that_decided_is_the_pilot_of_the_fit():
    """It is drawn from the caller's generator then, once."""
    engine = make_engine("native", shapeless(), Capped(), Power(3))
    initializer, rng = RobustSeeds(), np.random.RandomState(0)
    engine = engine.with_problem(initializer.prepare(engine, 12, rng))
    state = rng.get_state()[2]
    assert state > 0
    pilot = initializer.pilot(engine, 12, rng)
    assert initializer.pilot(engine, 12, rng) is pilot
    assert rng.get_state()[2] == state


def test_ordinary_seeds_that_end_higher_will_not_do(monkeypatch):
    monkeypatch.setattr(robust, "MAX_ORDINARY_EXCESS", -0.5)
    engine = make_engine("native", shapeless(), Capped(), Hard())
    initializer = RobustSeeds()
    initializer.prepare(engine, 12, np.random.RandomState(0))
    assert initializer.refined


@every_seed
def test_seeds_that_are_rows_of_many_features_are_moved_without_the_cap_first(seed):
    """Two rows of a cluster are farther apart there than any row is from its center."""
    made = contaminated("between", 200, n_rows=1000, seed=seed + 1, box=1.0)
    model = CappedREFCMFS(6, random_state=seed + 1).fit(made.data)
    inliers = made.target >= 0
    assert adjusted_rand_score(made.target[inliers], model.labels_[inliers]) > 0.99
