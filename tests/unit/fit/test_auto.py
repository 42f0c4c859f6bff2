"""Parameters that the data chooses: the dimension, the fuzzifier that fits it, and gamma."""

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.metrics import adjusted_rand_score

from sfumato import L21, REFCMFS, RSFKM, Capped, Hard, Power, Simplex, SimREFCMFS, Squared
from sfumato._fit.auto import MAX_HARDENING, tune
from sfumato._init.base import GivenCenters, KMeansPlusPlus, pilot_rows
from sfumato._init.dimension import MAX_DIMENSION, Intrinsic
from sfumato._problem import Problem
from tests.catalogue import (
    DTYPES,
    blobs,
    csr,
    each,
    every_engine,
    make_engine,
    row_weights,
)

DIMENSIONS = [2, 5, 10, 30, 60, 200, 800]


def separated(n_clusters, dimension, separation, n_rows=100, seed=0):
    """Gaussian clusters of width 1 whose middles are about ``separation`` apart, and the truth."""
    rng = np.random.default_rng(seed)
    middles = separation / np.sqrt(2 * dimension) * rng.normal(size=(n_clusters, dimension))
    truth = np.repeat(np.arange(n_clusters), n_rows)
    return middles[truth] + rng.normal(size=(len(truth), dimension)), truth


def embedded(X, n_features):
    """The same rows, isometrically, in a space of more dimensions."""
    rotation = ortho_group.rvs(n_features, random_state=0)
    return X @ rotation[: X.shape[1]]


# The dimension; see also tests/unit/init/test_dimension.py.


@pytest.mark.parametrize("dimension", DIMENSIONS[:5])
def test_dimension_is_that_of_the_clusters_not_of_the_space(dimension):
    X, _ = separated(4, dimension, 60, n_rows=300)
    model = REFCMFS(4, random_state=0).fit(embedded(X, dimension + 40))
    assert model.intrinsic_dimension_ == pytest.approx(dimension, rel=0.15)


@pytest.mark.parametrize("preset", [REFCMFS, SimREFCMFS])
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_fuzzifier_matches_the_dimension(preset, dimension):
    X, _ = separated(4, dimension, 60, n_rows=200)
    model = preset(4, random_state=0).fit(X)
    assert model.intrinsic_dimension_ == pytest.approx(dimension, rel=0.15)
    degree = 2 if preset is SimREFCMFS else 1
    assert model.fuzzifier_ == 1 + degree / model.intrinsic_dimension_


def test_scale_offset_and_rotation_do_not_change_the_dimension():
    X, _ = separated(4, 10, 60)
    rotation = ortho_group.rvs(10, random_state=1)
    dimensions = [
        REFCMFS(4, random_state=0).fit(other).intrinsic_dimension_
        for other in (X, 1e-3 * X, 1e6 * X, X + 1e3, X @ rotation, X[:, ::-1])
    ]
    np.testing.assert_allclose(dimensions, dimensions[0], rtol=1e-6)


def test_weights_count_like_copies():
    X, _ = separated(3, 4, 60, n_rows=30)
    copies = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = REFCMFS(3, random_state=0).fit(X, sample_weight=copies)
    repeated = REFCMFS(3, random_state=0).fit(np.repeat(X, copies, axis=0))
    assert weighted.intrinsic_dimension_ == repeated.intrinsic_dimension_
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)


# The fuzzifier.


@pytest.mark.filterwarnings("ignore::sfumato.exceptions.ClusteringWarning")
@pytest.mark.parametrize("dimension", [200, 1000])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_six_clusters_in_high_dimension_are_found_only_with_the_matched_fuzzifier(dimension, dtype):
    X, truth = separated(6, dimension, separation=10)
    X = X.astype(dtype)
    matched = REFCMFS(6, random_state=0).fit(X)
    assert adjusted_rand_score(truth, matched.labels_) >= 0.94
    usual = REFCMFS(6, fuzzifier=1.1, random_state=0).fit(X)
    assert adjusted_rand_score(truth, usual.labels_) < 0.7


def test_the_matched_fuzzifier_gives_the_gaussian_posterior():
    """Between two clusters, memberships grow with h^2 as the posterior's logarithm does."""
    dimension = 50
    X, truth = separated(2, dimension, separation=4, n_rows=4000)
    middles = np.array([X[truth == k].mean(axis=0) for k in range(2)])
    sq_dist = ((X[:, None] - middles) ** 2).sum(axis=2)
    posterior = 1 / (1 + np.exp((sq_dist[:, 0] - sq_dist[:, 1]) / 2))
    for loss in (L21(), Squared()):
        rule = Power(2, "auto").tuned_to_dimension(dimension, loss.degree)
        terms = Problem(loss, rule).terms(sq_dist)
        first = np.where(terms.indices[:, 0] == 0, terms.memberships[:, 0], terms.memberships[:, 1])
        assert np.abs(first - posterior).mean() < 0.02


def test_only_what_waits_is_tuned():
    rng = np.random.RandomState(0)
    for rule in (Hard(), Power(2, 1.5), Simplex(gamma=1.0), Simplex(n_active=2)):
        engine = make_engine("reference", blobs(), L21(), rule)
        tuned = tune(engine, 5, KMeansPlusPlus(), rng)
        assert tuned.problem is engine.problem
        assert tuned.dimension is None
    for rule in (Power(2, "auto"), Simplex(gamma="auto")):
        engine = make_engine("reference", blobs(), L21(), rule)
        assert tune(engine, 5, KMeansPlusPlus(), rng).problem.membership.is_resolved


def test_the_fuzzifier_does_not_depend_on_the_centers_or_the_generator():
    """Two clusters in the data, and the given centers both in one of them."""
    X, _ = separated(2, 3, 60)
    engine = make_engine("reference", X, L21(), Power(1, "auto"))
    found = set()
    for initializer in (GivenCenters(X[:2]), GivenCenters(X[[0, -1]]), KMeansPlusPlus()):
        for seed in range(2):
            rng = np.random.RandomState(seed)
            state = rng.get_state()[1].copy()
            tuned = tune(engine, 2, initializer, rng)
            np.testing.assert_array_equal(rng.get_state()[1], state)
            found.add((tuned.problem.membership.fuzzifier, tuned.dimension, tuned.clipped))
    assert len(found) == 1
    fuzzifier, dimension, clipped = found.pop()
    assert fuzzifier == 1 + 1 / dimension
    assert clipped is None


class Fussy(KMeansPlusPlus):
    """Clusters of a given dimension, lost where the fuzzifier is above a limit."""

    def __init__(self, found, limit):
        self.found = found
        self.limit = limit

    @property
    def intrinsic(self):
        return self.found

    def keeps_clusters(self, problem):
        return problem.membership.fuzzifier <= self.limit


@pytest.mark.parametrize(
    ("limit", "factor"),
    [(2.0, 1), (1.25, 1), (1.2, 2), (1.125, 2), (1.07, 4), (1.0625, 4), (1.05, 1)],
)
def test_the_fuzzifier_is_lowered_until_the_clusters_are_kept(limit, factor):
    """In 4 dimensions: 1 + 1/4, 1 + 1/8, 1 + 1/16. If none keeps them, it is the first."""
    engine = make_engine("reference", blobs(), L21(), Power(2, "auto"))
    tuned = tune(engine, 5, Fussy(Intrinsic(4.0), limit), np.random.RandomState(0))
    assert tuned.problem.membership.fuzzifier == 1 + 1 / (4 * factor)
    assert tuned.dimension == 4
    assert factor <= MAX_HARDENING


@pytest.mark.parametrize(
    ("found", "clipped"),
    [
        (Intrinsic(1.0), None),
        (Intrinsic(1.0, limited=True), "upper"),
        (Intrinsic(MAX_DIMENSION), "lower"),
        (Intrinsic(7.3), None),
    ],
    ids=["one", "below one", "largest", "within"],
)
def test_a_clipped_fuzzifier_is_named(found, clipped):
    engine = make_engine("reference", blobs(), L21(), Power(2, "auto"))
    assert tune(engine, 5, Fussy(found, 2.0), np.random.RandomState(0)).clipped == clipped


@every_engine
def test_the_pilot_reads_a_sample(engine_name):
    n_rows = pilot_rows(2) + 500
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    engine = make_engine(engine_name, X, L21(), Hard(), row_weights(n_rows))
    sample = engine.subsample(pilot_rows(2), np.random.RandomState(0))
    assert sample.n_rows == pilot_rows(2)
    chosen = {row.tobytes() for row in sample.data.dense(slice(None))}
    assert len(chosen) > sample.n_rows / 2
    assert chosen <= {row.tobytes() for row in X}
    assert engine.subsample(n_rows, np.random.RandomState(0)) is engine


def test_a_weight_is_sampled_like_copies():
    n_rows = pilot_rows(2) + 500
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    weights = np.random.default_rng(1).integers(0, 4, size=n_rows)
    samples = [
        make_engine("native", rows, L21(), Hard(), given).subsample(3000, np.random.RandomState(0))
        for rows, given in ((X, weights), (np.repeat(X, weights, axis=0), None))
    ]
    np.testing.assert_array_equal(*(sample.data.dense(slice(None)) for sample in samples))
    assert all(sample.data.weights is None for sample in samples)


def test_samples_leave_out_rows_of_weight_zero():
    X, weights = blobs(), np.tile([0.0, 2.0], 30)
    for stored in (X, csr(X)):
        sample = make_engine("reference", stored, L21(), Hard(), weights).subsample(
            50, np.random.RandomState(0)
        )
        np.testing.assert_array_equal(sample.data.dense(slice(None)), X[1::2])
        np.testing.assert_array_equal(sample.data.weights, 2.0)


# Gamma.


# Some of 20 clusters in a plane overlap, and their centers end in one place.
@pytest.mark.filterwarnings("ignore::sfumato.exceptions.CoincidentCentersWarning")
@each("loss", [L21(), Capped(1000.0)])
@pytest.mark.parametrize("n_features", [2, 20])
def test_automatic_gamma_leaves_two_or_three_memberships(loss, n_features):
    X = blobs(1000, n_features, n_clusters=20)
    model = RSFKM(20, loss=loss, random_state=0).fit(X)
    assert 1.5 <= model.memberships_.nnz / len(X) <= 3.5


def test_automatic_gamma_grows_with_the_units_of_the_data():
    X = blobs(200, 3)
    gammas = [RSFKM(5, random_state=0).fit(scale * X).gamma_ for scale in (1.0, 1000.0)]
    assert gammas[1] == pytest.approx(1000 * gammas[0], rel=1e-6)


def test_automatic_gamma_of_degenerate_data_is_usable():
    X = np.repeat(np.eye(3), 4, axis=0)
    model = RSFKM(3, random_state=0).fit(X)
    assert model.gamma_ > 0
    assert np.isfinite(model.objective_)
