"""Independent searches for robust seeds: two that agree are enough."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

import sfumato
from sfumato import REFCMFS, Capped, CappedREFCMFS, Hard, Power, Simplex
from sfumato._fit.auto import tune
from sfumato._init import robust, search
from sfumato._init.robust import MAX_SEARCHES, SEED_LIMIT, RobustSeeds, automatic_cutoff
from tests.catalogue import csr, each, every_dtype, every_loss, make_engine, row_weights
from tests.robustness.test_robust import contaminated, every_kind, every_seed


@pytest.fixture
def searches(monkeypatch):
    """Results of the searches that are made."""
    made, real = [], robust.search

    def spy(*given):
        made.append(real(*given))
        return made[-1]

    monkeypatch.setattr(robust, "search", spy)
    return made


@pytest.fixture
def no_look(monkeypatch):
    """Search even where clusters are alike and no row is far from them."""
    monkeypatch.setattr(robust, "clean_fits", lambda *_: [])


def proposals(X, n_clusters, calls, loss=None):
    """Proposed centers, call after call, and the initializer."""
    engine = make_engine("native", X, loss or Capped(), Hard())
    initializer, rng = RobustSeeds(), np.random.RandomState(0)
    engine = engine.with_problem(initializer.prepare(engine, n_clusters, rng))
    return [initializer.centers(engine, n_clusters, rng) for _ in range(calls)], initializer


@every_kind
def test_after_two_searches_that_agree_there_are_no_more(kind, searches):
    found, initializer = proposals(contaminated(kind).data, 6, calls=8)
    assert not initializer.random
    assert initializer.stability(found[0]) > 0.98
    assert len(searches) == 2
    assert (cdist(*(each.centers for each in searches)).min(axis=1) < 0.5).all()
    for centers in found[1:]:
        assert_array_equal(centers, found[0])


def test_searches_that_differ_are_repeated(searches):
    X = np.random.default_rng(0).uniform(size=(600, 5))
    found, initializer = proposals(X, 12, calls=8, loss=Capped(1.0))
    assert initializer.random
    assert initializer.stability(found[0]) < 0.9
    assert len(searches) >= MAX_SEARCHES
    assert len({centers.tobytes() for centers in found}) > 1


def test_where_two_searches_find_no_outliers_there_are_no_more(searches, no_look):
    found, initializer = proposals(np.random.default_rng(0).uniform(size=(600, 5)), 12, calls=2)
    assert len(searches) == 2
    assert initializer.random
    assert not np.array_equal(*found)


def test_one_cluster_needs_one_search(searches, no_look):
    X = np.random.default_rng(0).normal(size=(200, 3))
    found, initializer = proposals(X, 1, calls=2)
    assert len(searches) == 1
    assert not initializer.random
    assert initializer.stability(found[0]) == 1
    assert np.abs(found[0]).max() < 0.3


@pytest.fixture
def improvements(monkeypatch):
    """Numbers of clusters of the candidates that are improved."""
    made, real = [], search.improved

    def spy(found, *rest, **options):
        made.append(len(found.centers))
        return real(found, *rest, **options)

    monkeypatch.setattr(search, "improved", spy)
    return made


@each("n_clusters", (robust.MANY_CLUSTERS - 1, robust.MANY_CLUSTERS), ids=str)
def test_many_clusters_with_nothing_in_common_are_not_improved(n_clusters, improvements, no_look):
    """Exchanges would change few of them."""
    X = np.random.default_rng(0).normal(size=(2500, 20))
    proposals(X, n_clusters, calls=1)
    assert improvements == ([] if n_clusters == robust.MANY_CLUSTERS else [n_clusters] * 2)


def test_many_clusters_that_stand_out_are_improved(improvements):
    made = sfumato.datasets.make_blobs_with_outliers(3000, 10, n_clusters=40, random_state=0)
    proposals(made.data, 40, calls=1)
    assert improvements


@pytest.fixture
def given_searches(monkeypatch):
    """Let searches end at the given mean scores, with centers at that place.

    Scores scatter with a deviation of 1, independently, over 100 rows; labels are random.
    """

    def make(*levels):
        left, rng = list(levels), np.random.default_rng(0)
        half = np.repeat([-1.0, 1.0], 50)

        def search(*_):
            level = left.pop(0)
            labels = np.where(rng.uniform(size=100) < 0.1, 1, half > 0)  # Not unlike, not the same.
            scores = level + rng.permutation(half)
            classified = SimpleNamespace(outlying=np.zeros(100, dtype=bool))
            return SimpleNamespace(
                centers=np.full((2, 1), level),
                cap=4.0,
                labels=labels,
                classified=classified,
                scores=scores,
            )

        monkeypatch.setattr(robust, "search", search)
        return left

    return make


def places(centers):
    return [float(proposal[0, 0]) for proposal in centers]


LINE = np.arange(100.0)[:, None]


def test_the_first_proposal_is_the_likeliest_of_four(given_searches):
    left = given_searches(1.0, 4.0, 2.0, 3.99)
    found, _ = proposals(LINE, 2, calls=2, loss=Capped(4.0))
    assert places(found) == [4.0, 3.99]
    assert not left


def test_a_search_that_is_clearly_less_likely_is_not_proposed(given_searches, monkeypatch):
    """The difference of two means has a standard error of about 0.14."""
    given_searches(1.0, 4.0, 2.0, 3.9)
    short = SimpleNamespace(centers=np.full((2, 1), 7.0))
    monkeypatch.setattr(robust, "capped_fit", lambda *_: short)
    found, _ = proposals(LINE, 2, calls=4, loss=Capped(4.0))
    assert places(found) == [4.0, 3.9, 7.0, 7.0], "then those of short fits"


def test_a_generator_is_drawn_from_once_for_each_proposal():
    """So that another fit with the same generator draws other seeds."""
    engine = make_engine("native", contaminated().data, Capped(5.0), Hard())
    initializer, rng = RobustSeeds(), np.random.RandomState(0)
    expected = np.random.RandomState(0)
    for _ in range(3):
        initializer.centers(engine, 6, rng)
        expected.randint(SEED_LIMIT)
        assert rng.get_state()[2] == expected.get_state()[2]


@pytest.mark.filterwarnings("error")
def test_any_generator_will_do():
    rng = np.random.RandomState(np.random.PCG64(0))
    assert CappedREFCMFS(6, random_state=rng).fit(contaminated().data).outliers_.any()


@each("rule", (Power(3), Simplex("auto")))
def test_parameters_are_tuned_by_the_search_of_the_fit(rule, monkeypatch):
    """Seeds are not proposed for it."""
    engine = make_engine("native", contaminated().data, Capped(), rule)
    initializer, rng = RobustSeeds(), np.random.RandomState(0)
    monkeypatch.setattr(initializer, "centers", None)
    tuned = tune(engine, 6, initializer, rng)
    assert tuned.problem.loss.cap == automatic_cutoff(engine, 6, np.random.RandomState(0))
    assert tuned.problem.membership.is_resolved
    if isinstance(rule, Power):
        assert tuned.dimension == initializer.intrinsic.dimension == pytest.approx(3, rel=0.1)


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
        model(12, n_init=n_init, fuzzifier=1.05, tol=1e-7, random_state=3).fit(
            X, sample_weight=weights
        )
        for model in (CappedREFCMFS, REFCMFS)
    )
    assert np.isfinite(capped.cap_)
    assert_array_equal(capped.labels_, plain.labels_)
    rtol = 5e-4 if dtype == np.float64 else 1e-3  # Float32 fits stop a little earlier or later.
    assert_allclose(capped.cluster_centers_, plain.cluster_centers_, rtol=rtol)


@every_seed
def test_the_same_fuzzifier_and_nearly_the_same_centers(seed):
    X = shapeless()
    capped, plain = (model(12, random_state=seed).fit(X) for model in (CappedREFCMFS, REFCMFS))
    assert capped.fuzzifier_ == plain.fuzzifier_
    assert (cdist(capped.cluster_centers_, plain.cluster_centers_).min(axis=1) < 0.02).all()


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


def test_a_pilot_that_decided_is_the_pilot_of_the_fit(no_look):
    """It is drawn from the caller's generator then, once."""
    engine = make_engine("native", shapeless(), Capped(), Power(3))
    initializer, rng = RobustSeeds(), np.random.RandomState(0)
    engine = engine.with_problem(initializer.prepare(engine, 12, rng))
    state = rng.get_state()[2]
    assert state > 0
    pilot = initializer.pilot(engine, 12, rng)
    assert initializer.pilot(engine, 12, rng) is pilot
    assert rng.get_state()[2] == state


def test_ordinary_seeds_that_end_higher_will_not_do(monkeypatch, no_look):
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
