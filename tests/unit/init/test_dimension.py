"""Intrinsic dimension of clusters: modes of the density, and the distances around them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi, ortho_group

from sfumato import L21, Hard
from sfumato._init.dimension import (
    Intrinsic,
    RadialSpread,
    find_modes,
    intrinsic_dimension,
    radial_spreads,
    spreads,
)
from sfumato.datasets import make_blobs_with_outliers
from tests.catalogue import (
    csr,
    each,
    every_dtype,
    every_engine,
    make_engine,
    row_weights,
    sparse_rows,
)

FIVE_DIMENSIONS = (1, 2, 5, 50, 500)


def found(X, n_clusters, weights=None, engine_name="native"):
    return intrinsic_dimension(make_engine(engine_name, X, L21(), Hard(), weights), n_clusters)


def made(n_features=3, n_rows=2000, n_clusters=4, seed=0, **options):
    return make_blobs_with_outliers(
        n_rows,
        n_features,
        n_clusters=n_clusters,
        random_state=seed,
        **({"contamination": 0.0, "separation": 10.0} | options),
    )


def radial_spread(distances, radius):
    """Spread of one cluster."""
    one = np.zeros(len(distances), dtype=np.int32)
    (found,) = radial_spreads(distances, one, np.ones(len(distances)), np.array([radius]))
    return found


# From distances to a dimension.


@pytest.mark.parametrize("dimension", FIVE_DIMENSIONS)
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_the_dimension_inverts_the_moments_of_wilson_and_hilferty(dimension, scale):
    """A chi-squared variable over D, to the power of 1/3, has mean 1 - u and variance u."""
    u = 2 / (9 * dimension)
    spread = RadialSpread(scale * (1 - u), scale * np.sqrt(u))
    assert spread.dimension == pytest.approx(dimension, rel=1e-9)


@pytest.mark.parametrize("dimension", FIVE_DIMENSIONS)
def test_the_dimension_of_gaussian_distances(dimension):
    """In one dimension, the transformed distances are less normal."""
    distances = 3 * chi.rvs(dimension, size=20_000, random_state=0)
    spread = radial_spread(distances, 3 * chi.ppf(0.25, dimension))
    assert spread.dimension == pytest.approx(dimension, rel=0.2 if dimension == 1 else 0.05)
    if dimension > 1:
        assert spread.radius == pytest.approx(3 * chi.ppf(0.99865, dimension), rel=0.03)


@pytest.mark.parametrize("dimension", [2, 5, 50])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_rows_far_from_a_cluster_do_not_count(dimension, share):
    distances = chi.rvs(dimension, size=5000, random_state=0)
    edge = chi.ppf(0.99999, dimension)
    far = np.random.default_rng(0).uniform(2 * edge, 50 * edge, size=int(5000 * share))
    start = chi.ppf(0.25, dimension)
    clean = radial_spread(distances, start)
    both = np.concatenate([distances, far])
    assert_allclose(radial_spread(both, start), clean, rtol=0.005)


@pytest.mark.parametrize(
    "distances",
    [np.full(100, 2.0), np.zeros(100), np.arange(7.0), np.empty(0)],
    ids=["at one distance", "in one place", "few", "none"],
)
def test_rows_that_tell_nothing(distances):
    assert np.isnan(radial_spread(distances, 2.0).dimension)


@each("weighted", (False, True), ids=str)
def test_spreads_of_groups_are_those_of_each_alone(weighted):
    """Mixed rows, in any order, and weights that are copies."""
    rng = np.random.default_rng(0)
    distances, labels = chi.rvs(4, size=3000, random_state=0), rng.integers(0, 5, 3000)
    distances *= 1 + labels
    copies = rng.integers(0, 4, 3000) if weighted else np.ones(3000, dtype=int)
    radii = (1 + np.arange(5)) * chi.ppf(0.25, 4)
    found = radial_spreads(distances, labels, copies.astype(float), radii)
    for k in range(5):
        alone = np.repeat(distances[labels == k], copies[labels == k])
        assert_allclose(found[k], radial_spread(alone, radii[k]), rtol=1e-9)


def test_a_spread_by_hand():
    """Nine rows whose distances to the power of 2/3 are 1, 4, 9, ..., 81, and a far one.

    The median is 25, and the median deviation from it 21, so that no row is beyond 2.5 * 1.4826 *
    21: mean and deviation are those of all nine.
    """
    powers = np.arange(1.0, 10.0) ** 2
    found = radial_spread(np.append(powers**1.5, 1e9), 600.0)
    assert_allclose(found, [powers.mean(), powers.std() / 0.9546], rtol=1e-12)


# Neighbors.


@every_engine
@every_dtype
@each("storage", (np.asarray, csr), ids=["dense", "csr"])
def test_neighbors_have_the_given_weight(engine_name, dtype, storage):
    line = np.arange(1.0, 11.0, dtype=dtype)[:, None]
    engine = make_engine(engine_name, storage(line), L21(), Hard())
    means, radii = engine.mean_shift(np.array([[1.0], [6.1]]), 3.0)
    assert_allclose(radii, [2.0, 1.1], rtol=1e-6)
    assert_allclose(means, [[2.0], [6.0]], rtol=1e-6)  # Of the rows 1, 2, 3 and 5, 6, 7.


@every_engine
def test_mean_shift_weighs_rows_and_leaves_out_those_of_weight_zero(engine_name):
    line, weights = np.arange(6.0)[:, None], np.array([1.0, 0.0, 3.0, 1.0, 0.0, 5.0])
    engine = make_engine(engine_name, line, L21(), Hard(), weights)
    means, radii = engine.mean_shift(np.array([[0.0]]), 4.0)
    assert_allclose(radii, [2.0])
    assert_allclose(means, [[6 / 4]])


@every_engine
@pytest.mark.parametrize("order", ["rising", "falling", "shuffled", "nearest where it is sampled"])
@pytest.mark.parametrize("mass", [1, 40, 97, 2500, 5000])
def test_neighbors_among_many_rows_are_the_nearest_in_any_order(engine_name, order, mass):
    """A sample of the distances bounds those that are ordered; it may be misleading."""
    line = np.arange(5000.0)
    if order == "falling":
        line = line[::-1]
    elif order == "shuffled":
        line = np.random.default_rng(0).permutation(line)
    elif order != "rising":  # Every 19th of 5,000 // 256 is near, and all between are far.
        near = np.zeros(5000, dtype=bool)
        near[::19] = True
        line = np.where(near, np.cumsum(near) - 1.0, near.sum() + np.cumsum(~near) - 1.0)
    engine = make_engine(engine_name, line[:, None], L21(), Hard())
    means, radii = engine.mean_shift(np.array([[0.0]]), mass)
    assert_allclose(radii, [mass - 1.0])
    assert_allclose(means, [[(mass - 1) / 2]])


@every_engine
@pytest.mark.parametrize("mass", [0.5, 1, 7, 12, 1000])
def test_weights_are_copies(engine_name, mass):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(30, 4)), rng.integers(1, 4, size=30)
    weighted = make_engine(engine_name, X, L21(), Hard(), weights.astype(float))
    copied = make_engine(engine_name, np.repeat(X, weights, axis=0), L21(), Hard())
    for found, expected in zip(
        *(e.mean_shift(X[:5], mass) for e in (weighted, copied)), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-12)


@each("n_features", (3, 16, 300), ids=str)
@each("weighted", (False, True), ids=str)
@every_dtype
def test_engines_shift_alike(n_features, weighted, dtype):
    X = made(n_features, 3000).data.astype(dtype)
    weights = row_weights(len(X)) if weighted else None
    points = X[:40].astype(np.float64)
    native, reference = (
        make_engine(name, X, L21(), Hard(), weights).mean_shift(points, 60.0)
        for name in ("native", "reference")
    )
    for found, expected in zip(native, reference, strict=True):
        assert_allclose(found, expected, rtol=1e-9 if dtype == np.float64 else 1e-4, atol=1e-4)


@every_engine
@every_dtype
@each("unit", (2.0**400, 2.0**-400), ids=["huge", "tiny"])
def test_the_unit_of_weights_changes_nothing(engine_name, dtype, unit):
    X, weights = made(3, 300).data.astype(dtype), row_weights(300)
    points = X[:5].astype(np.float64)
    expected = make_engine(engine_name, X, L21(), Hard(), weights).mean_shift(points, 20.0)
    weights = unit * weights
    found = make_engine(engine_name, X, L21(), Hard(), weights).mean_shift(points, 20.0 * unit)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-12)


# Modes.


@each("n_clusters", (2, 3, 4), ids=str)
def test_modes_are_the_clusters_whatever_number_is_asked_for(n_clusters):
    sample = made(3)
    engine = make_engine("native", sample.data, L21(), Hard())
    modes = find_modes(engine, n_clusters, np.random.RandomState(0))
    assert len(modes.centers) == 4
    distances = np.linalg.norm(sample.centers[:, None] - modes.centers, axis=2)
    assert (distances.min(axis=1) < 0.5).all()
    assert (np.diff(modes.radii) >= 0).all(), "densest first"


def test_one_cluster_has_one_mode():
    X = np.random.default_rng(0).normal(size=(1000, 5))
    engine = make_engine("native", X, L21(), Hard())
    assert len(find_modes(engine, 2, np.random.RandomState(0)).centers) == 1


def test_places_without_a_valley_between_them_are_one_mode():
    """Along a ridge of even density, mean shift stops almost everywhere."""
    counts = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(4000, 3)) + rng.uniform(-10, 10, size=(4000, 1)) * [1, 0, 0]
        engine = make_engine("native", X, L21(), Hard())
        counts.append(len(find_modes(engine, 6, np.random.RandomState(0)).centers))
    assert np.median(counts) <= 4


def test_sizes_and_gaps_of_clusters():
    """Two Gaussians of width 1 in 3 dimensions, 40 apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) + np.repeat([[0.0], [40.0]], 2000, axis=0) * [1, 0, 0]
    intrinsic = found(X, 2)
    assert intrinsic.distance == pytest.approx(chi.median(3), rel=0.02)
    assert intrinsic.gap == pytest.approx(40, rel=0.02)
    assert not intrinsic.limited


def test_a_wide_cluster_counts_like_its_rows():
    """The masses are those within the radii, and a narrow cluster tells the same dimension."""
    sample = made(4, width_ratio=4.0, size_ratio=3.0, n_rows=4000)
    engine = make_engine("native", sample.data, L21(), Hard())
    each_spread, masses, _ = spreads(engine, find_modes(engine, 4, np.random.RandomState(0)))
    assert len(masses) == 4
    assert sorted(masses) == pytest.approx(sorted(np.bincount(sample.target)), rel=0.05)
    assert [spread.dimension for spread in each_spread] == pytest.approx([4] * 4, rel=0.2)


# The estimate.


@every_engine
@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_the_dimension_of_gaussian_clusters(engine_name, dimension):
    X = made(dimension, 4000).data
    X = np.hstack([X, np.zeros_like(X)])  # So that the number of features is no limit.
    assert found(X, 4, engine_name=engine_name).dimension == pytest.approx(dimension, rel=0.1)


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_the_dimension_of_a_subspace(dimension):
    rotation = ortho_group.rvs(60, random_state=0)[:dimension]
    X = made(dimension, 4000).data @ rotation
    assert found(X, 4).dimension == pytest.approx(dimension, rel=0.1)
    assert found(X + 1e-4, 4).dimension == pytest.approx(found(X, 4).dimension, rel=1e-6)


@every_dtype
def test_neither_units_nor_order_nor_storage_matter(dtype):
    X = made(5, contamination=0.1).data.astype(dtype)
    shuffled = np.random.default_rng(1).permutation(len(X))
    expected = found(X, 4).dimension
    for other in (np.float32(1e3) * X, X + np.float32(8), X[shuffled], csr(X), X[:, ::-1].copy()):
        tolerance = 1e-6 if dtype == np.float64 else 1e-3
        assert found(other, 4).dimension == pytest.approx(expected, rel=tolerance)


def test_sparse_rows_are_dense_rows():
    values = sparse_rows((500, 40), density=0.2).toarray()
    X = values + 5 * np.repeat(np.eye(4, 40), 125, axis=0)
    assert_allclose(found(csr(X), 4), found(X, 4), rtol=1e-9)


def test_a_weight_of_three_is_three_copies():
    X = made(3, 900).data
    assert_allclose(found(X, 4, np.full(900, 3.0)), found(np.repeat(X, 3, axis=0), 4), rtol=1e-6)
    weights = np.random.default_rng(0).integers(1, 4, size=900)
    assert_allclose(found(X, 4, weights), found(np.repeat(X, weights, axis=0), 4), rtol=1e-6)


def test_scaling_all_weights_changes_nothing():
    X, weights = made(3, 900).data, row_weights(900)
    assert_allclose(found(X, 4, 8 * weights), found(X, 4, weights), rtol=1e-9)


def test_a_weight_of_zero_is_absence():
    X, weights = made(3, 900).data, row_weights(900)
    padded = np.vstack([np.full((300, 3), 7.0), X])
    assert_allclose(
        found(padded, 4, np.concatenate([np.zeros(300), weights])), found(X, 4, weights), rtol=1e-9
    )


@every_engine
def test_clusters_that_tell_nothing_leave_the_number_of_features(engine_name):
    """A few rows; rows in three places; rows that all coincide."""
    few = np.random.default_rng(0).normal(size=(7, 3))
    places = np.repeat(10 * np.eye(3), 40, axis=0)
    for X in (few, places, np.ones((50, 3))):
        assert found(X, 3, engine_name=engine_name).dimension == 3


def test_the_number_of_features_is_that_of_the_users_data():
    engine = make_engine("native", np.ones((50, 3)), L21(), Hard())
    assert intrinsic_dimension(engine, 2, n_features=700) == Intrinsic(700.0)
    assert intrinsic_dimension(engine, 2, n_features=7000) == Intrinsic(1000.0)


def test_the_dimension_is_at_least_one():
    """Most rows in one place and the others far from it: below one dimension."""
    heavy = np.random.default_rng(0).standard_normal((2000, 1)) ** 5
    intrinsic = found(heavy @ np.ones((1, 3)), 1)
    assert intrinsic.dimension == 1
    assert intrinsic.limited
