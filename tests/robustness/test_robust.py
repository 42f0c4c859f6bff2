"""A cap that goes with the data and not with outliers, and seeds that they do not attract."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import chi

from sfumato import (
    L21,
    REFCMFS,
    RSFKM,
    Capped,
    CappedREFCMFS,
    FuzzyClustering,
    FuzzyCMeans,
    Hard,
    SimREFCMFS,
    Squared,
)
from sfumato._init import robust, short_fits
from sfumato._init.first_cap import first_cap
from sfumato._init.robust import RobustSeeds, automatic_cutoff, search_rows
from sfumato._outliers import FALSE_ALARMS
from sfumato.datasets import make_blobs_with_outliers
from tests.catalogue import (
    N_CLUSTERS,
    blobs,
    checked,
    csr,
    each,
    every_distinct_loss,
    every_dtype,
    every_engine,
    every_membership,
    make_engine,
    row_weights,
)

KINDS = ("uniform", "cauchy", "clumps")
every_kind = pytest.mark.parametrize("kind", KINDS)
every_dimension = pytest.mark.parametrize("n_features", [2, 10, 50])
every_seed = pytest.mark.parametrize("seed", range(3))


def contaminated(kind="uniform", n_features=3, n_rows=600, seed=0, **options):
    """Six clusters, and outliers that are 30 % of all rows."""
    return make_blobs_with_outliers(
        n_rows, n_features, outliers=kind, contamination=0.3, random_state=seed, **options
    )


def cap_of(X, weights=None, n_clusters=6, engine_name="native", seed=0):
    engine = make_engine(engine_name, X, Capped(), Hard(), weights)
    return automatic_cutoff(engine, n_clusters, np.random.RandomState(seed))


def seeds_of(X, loss, n_clusters=6, seed=0, engine_name="native"):
    engine = make_engine(engine_name, X, loss, Hard())
    return RobustSeeds().centers(engine, n_clusters, np.random.RandomState(seed))


def total(X, centers, cap, weights=1.0):
    """Weighted capped cost, by brute force."""
    return (weights * np.minimum(cdist(X, centers).min(axis=1), cap)).sum()


# The cap.


@every_kind
@every_dimension
@every_seed
def test_the_cap_is_between_the_reach_and_the_neighbors(kind, n_features, seed):
    """The clusters have width 1 and are at least 6 apart; outliers are many and far."""
    cap = cap_of(contaminated(kind, n_features, n_rows=1000, seed=seed).data)
    reach = chi.ppf(1 - FALSE_ALARMS, n_features)
    assert reach < cap < 1.8 * reach


@every_seed
def test_the_cap_does_not_depend_on_the_draws(seed):
    """Where a small cap describes the rows as well as a large one, it is not a matter of luck."""
    X = contaminated("cauchy", 2, n_rows=1000, seed=seed).data
    caps = [cap_of(X, seed=draw) for draw in range(8)]
    assert max(caps) < 1.1 * min(caps)


@every_kind
def test_outliers_do_not_move_the_cap(kind):
    sample = contaminated(kind, n_rows=1500)
    clean = cap_of(sample.data[sample.target >= 0])
    assert cap_of(sample.data) == pytest.approx(clean, rel=0.05)
    assert cap_of(sample.data * np.where(sample.target < 0, 1e6, 1)[:, None]) == pytest.approx(
        clean, rel=0.05
    )


@every_engine
@every_kind
@pytest.mark.parametrize("scale", [2.0**-30, 0.5, 2.0, 2.0**30])
def test_the_cap_has_the_units_of_the_data(engine_name, kind, scale):
    """To the last bits, not the last bit: the cube root of a power of two is none."""
    X = contaminated(kind).data
    cap = cap_of(X, engine_name=engine_name)
    assert cap_of(scale * X, engine_name=engine_name) == pytest.approx(scale * cap, rel=1e-13)


@every_kind
@every_dimension
def test_neither_place_nor_order_nor_storage_matters(kind, n_features):
    X = contaminated(kind, n_features).data
    shuffled = np.random.default_rng(1).permutation(len(X))
    cap = cap_of(X)
    for other in (X + 12.3, X[shuffled], csr(X), np.asfortranarray(X)):
        assert cap_of(other) == pytest.approx(cap, rel=1e-6)
    assert cap_of(X, engine_name="reference") == pytest.approx(cap, rel=1e-6)
    # Rounding may end the search a round earlier or later.
    assert cap_of(X.astype(np.float32)) == pytest.approx(cap, rel=1e-3)


@every_kind
def test_integer_weights_are_copies(kind):
    """Where clusters are large: at least four rows are looked for, however heavy they are."""
    X = contaminated(kind, n_rows=900).data
    weights = np.random.default_rng(1).integers(1, 3, size=len(X))
    repeated = np.repeat(X, weights, axis=0)
    assert len(repeated) < search_rows(6)
    assert cap_of(X, weights) == pytest.approx(cap_of(repeated), rel=1e-6)


def test_scaling_all_weights_changes_nothing():
    X, weights = contaminated().data, row_weights(600)
    assert cap_of(X, 8 * weights) == cap_of(X, weights)


def test_a_weight_of_zero_is_absence():
    X, weights = contaminated().data, row_weights(600)
    padded = np.vstack([np.full((50, 3), 5.0), X])
    found = cap_of(padded, np.concatenate([np.zeros(50), weights]))
    assert found == pytest.approx(cap_of(X, weights), rel=1e-6)


def test_seeds_hardly_matter():
    X = contaminated("cauchy", n_rows=1200).data
    caps = [cap_of(X, seed=seed) for seed in range(5)]
    assert np.ptp(caps) < 0.1 * np.mean(caps)


IN_PLACES = {
    "all alike but a few": np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]], [100, 1, 1], axis=0),
    "all in three places": np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], 40, axis=0),
}
NO_SCALE = {
    "three rows": np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]]),
    "fewer than the clusters need": blobs(3 * 4, 2),
}


@each("X", NO_SCALE, ids=str)
def test_rows_without_a_scale_have_no_cap(X):
    """The fit is then that of the distance itself."""
    X = NO_SCALE[X]
    assert cap_of(X, n_clusters=3) == np.inf
    found = CappedREFCMFS(3, fuzzifier=1.5, init=X[[0, -2, -1]], random_state=0).fit(X)
    expected = REFCMFS(3, fuzzifier=1.5, init=X[[0, -2, -1]], random_state=0).fit(X)
    assert found.cap_ == np.inf
    assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    assert_array_equal(found.outlier_scores_, expected.outlier_scores_)


@each("X", IN_PLACES, ids=str)
def test_rows_in_places_have_a_cap(X):
    assert 0 < cap_of(IN_PLACES[X], n_clusters=3) < 50


@each("X", NO_SCALE | IN_PLACES, ids=str)
def test_robust_seeds_of_rows_without_a_scale(X):
    X = (NO_SCALE | IN_PLACES)[X]
    for loss in (L21(), Capped()):
        model = FuzzyClustering(3, loss=loss, init="robust", random_state=0).fit(X)
        assert np.isfinite(model.cluster_centers_).all()


# The sample.


@every_dtype
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_sample_is_bounded(dtype, weighted, monkeypatch):
    seen = []

    def spy(sample, n_clusters, rng):
        seen.append(sample.n_rows)
        return first_cap(sample, n_clusters, rng)

    monkeypatch.setattr(robust, "first_cap", spy)
    sample = contaminated(n_rows=20_000)
    cap = cap_of(sample.data.astype(dtype), row_weights(20_000) if weighted else None)
    assert set(seen) == {search_rows(6)}
    assert cap == pytest.approx(cap_of(sample.data), rel=0.1)


def test_seeding_looks_at_the_sample_alone(monkeypatch):
    seen = []
    greedy_seeds = short_fits.greedy_seeds

    def spy(sample, *others):
        seen.append(sample.n_rows)
        return greedy_seeds(sample, *others)

    monkeypatch.setattr(short_fits, "greedy_seeds", spy)
    FuzzyCMeans(6, init="robust", random_state=0).fit(contaminated(n_rows=20_000).data)
    assert max(seen) == search_rows(6)


def test_the_sample_grows_with_the_clusters_alone():
    assert search_rows(1000) - search_rows(10) == 32 * 990


# Seeds.


@every_kind
@every_dimension
@pytest.mark.parametrize("loss", [Squared(), L21(), Capped(9.0)], ids=repr)
def test_every_cluster_has_a_seed(kind, n_features, loss):
    """Whether the loss has a cap, which seeding then takes, or none."""
    sample = contaminated(kind, n_features)
    reach = chi.ppf(1 - FALSE_ALARMS, n_features)
    for seed in range(3):
        seeds = seeds_of(sample.data, loss, seed=seed)
        assert (cdist(sample.centers, seeds).min(axis=1) < reach).all()


def test_seeds_are_a_property_of_the_data():
    """The same for every generator."""
    X = contaminated().data
    for loss in (L21(), Capped()):
        assert_array_equal(seeds_of(X, loss, seed=0), seeds_of(X, loss, seed=1))
    assert RobustSeeds().random
    assert RobustSeeds().refined


@every_engine
def test_seeds_do_not_depend_on_the_order(engine_name):
    X = contaminated("cauchy").data
    shuffled = np.random.default_rng(1).permutation(len(X))
    found, expected = (seeds_of(rows, L21(), engine_name=engine_name) for rows in (X[shuffled], X))
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_seeds_clearly_worse_than_the_best_are_not_used():
    sample = contaminated("cauchy")
    engine = make_engine("native", sample.data, Capped(cap_of(sample.data)), Hard())
    initializer, rng = RobustSeeds(), np.random.RandomState(0)
    cap = engine.problem.loss.cap
    totals = [total(sample.data, initializer.centers(engine, 6, rng), cap) for _ in range(8)]
    assert max(totals) <= 1.01 * min(totals)


# In estimators.


@each(
    "model",
    [
        REFCMFS(6),
        SimREFCMFS(6),
        RSFKM(6),
        RSFKM(6, loss="capped"),
        FuzzyCMeans(6, max_iter=1000),
        CappedREFCMFS(6),
        CappedREFCMFS(6, cap=5.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_init", ["auto", 3])
@pytest.mark.filterwarnings("ignore:.*Stopped at `max_iter`")
def test_every_estimator_takes_robust_seeds(model, n_init):
    X = contaminated("uniform", n_rows=300).data
    parameters = {"init": "robust", "n_init": n_init, "random_state": 0}
    fits = [
        type(model)(**(model.get_params(deep=False) | parameters)).fit(X).cluster_centers_
        for _ in range(2)
    ]
    assert np.isfinite(fits[0]).all()
    assert_array_equal(*fits)


@every_distinct_loss
@every_membership
@pytest.mark.filterwarnings("ignore:.*Stopped at `max_iter`")
@pytest.mark.filterwarnings("ignore::sfumato.exceptions.EmptyClusterWarning")
def test_robust_seeds_with_every_loss_and_membership(loss, membership):
    X = blobs(150)
    model = FuzzyClustering(
        N_CLUSTERS, loss=loss, membership=membership, init="robust", max_iter=5, tol=0.5
    )
    assert np.isfinite(model.set_params(random_state=0).fit(X).cluster_centers_).all()


@every_membership
def test_an_automatic_cap_with_every_membership(membership):
    X = blobs(300)
    model = FuzzyClustering(
        N_CLUSTERS, loss=Capped("auto"), membership=membership, tol=0.5, random_state=0
    ).fit(X)
    assert 2 < model.cap_ < 12
    assert model.loss_.cap == model.cap_
    assert model.loss.cap == "auto", "parameters are the user's"
    assert type(model.cap_) is float


@pytest.mark.parametrize("loss", ["capped", Capped()], ids=repr)
def test_the_name_and_the_class_mean_an_automatic_cap(loss):
    X = contaminated("cauchy").data
    found = FuzzyClustering(6, loss=loss, random_state=0).fit(X)
    assert found.cap_ == CappedREFCMFS(6, random_state=0).fit(X).cap_


@pytest.mark.parametrize(
    ("cap", "error", "words"),
    [
        ("autp", TypeError, "cap='autp' is not a number"),
        (None, TypeError, "cap=None is not a number"),
        (-1, ValueError, "cap=-1 .*larger than 0.*or 'auto'"),
        (0.0, ValueError, "cap=0.0 .*larger than 0"),
        (np.nan, ValueError, "cap=nan"),
        (np.array(["auto"]), TypeError, "not a number"),
    ],
    ids=str,
)
def test_bad_caps_are_named(cap, error, words):
    for model in (CappedREFCMFS(2, cap=cap), FuzzyClustering(2, loss=Capped(cap))):
        with pytest.raises(error, match=words):
            model.fit(blobs(20))


def test_an_unknown_init_names_the_known_ones():
    with pytest.raises(ValueError, match="Did you mean 'robust'"):
        REFCMFS(2, init="robus").fit(blobs(20))


def test_data_are_not_changed():
    X = contaminated().data
    before = X.copy()
    X.setflags(write=False)
    cap_of(X)
    seeds_of(X, L21())
    assert_array_equal(X, before)
    assert checked(X).rows is X
