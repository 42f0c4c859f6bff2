"""Radii of clusters: medians by hand, quantiles of Gaussian clusters, and what moves neither."""

import numpy as np
import pytest
from scipy.stats import chi

from sfumato import L21, Hard
from sfumato import _outliers as radii
from sfumato._engines.outputs import Scores
from sfumato._outliers import (
    FALSE_ALARMS,
    MIN_CLUSTER_ROWS,
    RADIUS_DEVIATIONS,
    cluster_radii,
    grouped_median,
    skewness,
    tail_factors,
    trimmed_radii,
)
from tests.catalogue import blobs, every_dtype, every_engine, make_engine

DIMENSIONS = (1, 2, 10, 200)
every_dimension = pytest.mark.parametrize("dimension", DIMENSIONS)


def quantiles(dimension, n_rows=4001):
    """Distances of the rows of a perfect Gaussian cluster from its center."""
    return chi.ppf((np.arange(n_rows) + 0.5) / n_rows, dimension)


def alone(distances, weights=None, limit=np.inf):
    """Radius of one cluster with rows at these distances."""
    distances = np.asarray(distances, dtype=float)
    weights = np.ones(len(distances)) if weights is None else np.asarray(weights, dtype=float)
    labels = np.zeros(len(distances), dtype=int)
    return trimmed_radii(distances, labels, weights, 1, limit)(RADIUS_DEVIATIONS)[0]


def on_a_line(*groups):
    """Rows of one feature: groups of offsets, 1000 apart, and the centers between the offsets."""
    X = np.concatenate([1000.0 * k + np.asarray(group) for k, group in enumerate(groups)])
    return X[:, None], 1000.0 * np.arange(len(groups))[:, None]


def radii_of(X, centers, weights=None, engine_name="reference", loss=None):
    return cluster_radii(make_engine(engine_name, X, loss or L21(), Hard(), weights), centers)


def bell(n_rows, width=1.0):
    """Offsets of a perfect Gaussian cluster in one dimension."""
    return width * np.concatenate([-quantiles(1, n_rows // 2), quantiles(1, n_rows // 2)])


# Medians.


@pytest.mark.parametrize(
    ("values", "weights", "expected"),
    [
        ([3], [1], 3),
        ([3, 1, 2], [1, 1, 1], 2),
        ([4, 1, 2, 3], [1, 1, 1, 1], 2),  # Half of the weight is at or below 2.
        ([1, 2, 3], [1, 1, 10], 3),
        ([1, 2, 3], [5, 1, 1], 1),
        ([1, 2, 3], [1, 1, 2], 2),
        ([1, 2, 3], [1, 0, 1], 1),
        ([7, 7, 7, 1], [1, 1, 1, 1], 7),
        ([1, 2, 2, 2, 9], [0.5, 0.5, 0.5, 0.5, 0.5], 2),
        ([5, 1], [0, 2], 1),
    ],
)
def test_a_median_by_hand(values, weights, expected):
    median = grouped_median(
        np.array(values, dtype=float), np.zeros(len(values), int), np.array(weights, float), 1
    )
    np.testing.assert_array_equal(median, [expected])


def test_skewness_by_hand():
    """Of 15 rows, octiles are the second, the eighth and the fourteenth."""
    powers = np.array([*range(1, 9), *range(10, 24, 2), 4, 4, 4], dtype=float)
    labels = np.array([0] * 15 + [1] * 3)
    found = skewness(powers**1.5, labels, np.ones(18), 3)
    np.testing.assert_allclose(found, [(20 - 8) / (8 - 2), 1, 1])


def test_heavy_tails_are_those_above_chance():
    found = tail_factors(np.array([1.0, 1.5, 1.5, 9.0]), np.array([1e6, 1e6, 16, 1e6]))
    np.testing.assert_allclose(found, [1, (1.5 / 1.15) ** 2, 1, 2], rtol=0.01)


def test_groups_do_not_mix():
    values = np.array([9.0, 1.0, 50.0, 2.0, 60.0, 3.0, 70.0])
    labels = np.array([3, 0, 1, 0, 1, 0, 1])
    medians = grouped_median(values, labels, np.ones(7), 5)
    np.testing.assert_array_equal(medians, [2, 60, np.nan, 9, np.nan])


def test_a_group_without_weight_is_empty():
    medians = grouped_median(
        np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2]), np.array([1.0, 0.0, 1.0]), 3
    )
    np.testing.assert_array_equal(medians, [1, np.nan, 3])


def test_no_rows_no_medians():
    medians = grouped_median(np.empty(0), np.empty(0, dtype=int), np.empty(0), 2)
    np.testing.assert_array_equal(medians, [np.nan, np.nan])


def test_a_weight_of_three_counts_like_three_copies():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, labels = rng.integers(0, 9, size=40).astype(float), rng.integers(0, 6, size=40)
        weights = rng.integers(0, 4, size=40)
        np.testing.assert_array_equal(
            grouped_median(values, labels, weights.astype(float), 6),
            grouped_median(
                np.repeat(values, weights),
                np.repeat(labels, weights),
                np.ones(weights.sum()),
                6,
            ),
        )


# Reaches.


def test_a_reach_by_hand():
    """Two thirds powers 1, 4, 9, 16, 25: the median is 9, and of 8, 5, 0, 7, 16 it is 7."""
    distances = np.array([1.0, 8.0, 27.0, 64.0, 125.0])
    found = trimmed_radii(distances, np.zeros(5, int), np.ones(5), 1, np.inf)
    for deviations in (0.0, 1.0, 3.0):
        np.testing.assert_allclose(found(deviations), [(9 + deviations * 1.4826 * 7) ** 1.5])


@every_dimension
def test_the_reach_of_a_gaussian_cluster_is_its_quantile(dimension):
    """3 % in one dimension, where the power of the distance is least normal; 1 % above."""
    expected = chi.ppf(1 - FALSE_ALARMS, dimension)
    assert alone(quantiles(dimension)) == pytest.approx(expected, rel=0.04)


@every_dimension
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_outliers_do_not_move_the_reach(dimension, share):
    clean = quantiles(dimension, 3000)
    n_far = round(share / (1 - share) * len(clean))
    far = np.concatenate([clean, 100 * clean[np.linspace(0, 2999, n_far).astype(int)]])
    # In one dimension the nearest rows times 100 are still inside.
    assert alone(far) == pytest.approx(alone(clean), rel=0.05 if dimension == 1 else 0.01)


def test_rows_beyond_the_limit_do_not_count():
    clean = quantiles(2, 1000)
    with_more = np.concatenate([clean, np.linspace(10, 20, 3000)])
    assert alone(with_more, limit=10.0) == alone(clean, limit=10.0)
    assert alone(with_more) > 15


def test_rows_of_weight_zero_have_no_reach():
    clean = quantiles(3, 1000)
    both = np.concatenate([clean, 1.5 * clean])
    assert alone(both, np.repeat([1.0, 0.0], 1000)) == alone(clean)


def test_a_weight_is_copies():
    distances = quantiles(2, 300)
    weights = np.random.default_rng(0).integers(1, 4, size=300)
    assert alone(distances, weights) == alone(np.repeat(distances, weights))


# Clusters.


@every_engine
@every_dtype
def test_each_cluster_has_its_own_reach(engine_name, dtype):
    X, centers = on_a_line(bell(400), bell(600, width=5.0), bell(1000, width=0.5))
    found = radii_of(X.astype(dtype), centers, engine_name=engine_name)
    expected = chi.ppf(1 - FALSE_ALARMS, 1) * np.array([1.0, 5.0, 0.5])
    np.testing.assert_allclose(found, expected, rtol=0.04)


def test_a_few_rows_have_no_reach_and_shelter_nobody():
    X, centers = on_a_line(bell(100), np.zeros(MIN_CLUSTER_ROWS - 1), bell(100))
    engine = make_engine("reference", X, L21(), Hard())
    found = cluster_radii(engine, centers)
    np.testing.assert_array_equal(np.isnan(found), [False, True, False])
    scores = engine.map(Scores(centers, found))
    np.testing.assert_allclose(scores[100:104], 1000 / np.nanmax(found), rtol=1e-6)
    assert (np.delete(scores, np.arange(100, 104)) < 2).all()


def test_rows_in_one_place_take_the_median_of_the_others():
    X, centers = on_a_line(bell(2000), np.zeros(MIN_CLUSTER_ROWS), bell(2000, 3.0), bell(2000, 9.0))
    found = radii_of(X, centers)
    assert found[1] == pytest.approx(np.median(found[[0, 2, 3]]), rel=1e-3)


@pytest.mark.parametrize("n_rows", [MIN_CLUSTER_ROWS, 100])
def test_a_cluster_in_one_place_keeps_its_rows(n_rows):
    """Also a large one, and where the center is beside it by rounding."""
    X, centers = on_a_line(bell(100), np.zeros(n_rows), np.full(n_rows, 1e-9))
    engine = make_engine("reference", X, L21(), Hard())
    scores = engine.map(Scores(centers, cluster_radii(engine, centers)))
    assert (scores[100:] <= 1).all()


def test_rows_equally_far_are_inside():
    """As corners of a cube are: no deviation is no reason to leave rows out."""
    X, centers = on_a_line(bell(100), np.tile([-0.7, 0.7], 50), bell(100))
    engine = make_engine("reference", X, L21(), Hard())
    found = cluster_radii(engine, centers)
    assert found[1] == pytest.approx(0.7, rel=0.05)
    assert (engine.map(Scores(centers, found))[100:200] <= 1).all()


def test_small_clusters_borrow_and_large_ones_hardly():
    X, centers = on_a_line(bell(2000), bell(2000), bell(8, 4.0), bell(2000), bell(2000, 4.0))
    found = radii_of(X, centers)
    own = chi.ppf(1 - FALSE_ALARMS, 1)
    assert 1.2 * own < found[2] < 3.5 * own
    np.testing.assert_allclose(found[[0, 1, 3, 4]], own * np.array([1, 1, 1, 4]), rtol=0.05)


@pytest.mark.parametrize("width", [0.0, 1.0])
def test_where_all_have_few_rows_all_have_a_reach(width):
    offsets = width * np.array([-1.0, 0.0, 1.0])
    X, centers = on_a_line(offsets, 2 * offsets, offsets)
    found = radii_of(X, centers)
    np.testing.assert_array_equal(found, np.full(3, 2 * width or 1.0))


def test_the_cap_is_a_limit():
    X, centers = on_a_line(np.concatenate([bell(200), np.full(600, 20.0)]), bell(200))
    engine = make_engine("native", X, L21(), Hard())
    capped = radii.cluster_radii(engine, centers, limit=10.0)
    np.testing.assert_allclose(capped, radii_of(*on_a_line(bell(200), bell(200))), rtol=0.02)


def test_a_reach_has_the_units_of_the_data():
    """Not to the last bit: the cube root of a power of two is none."""
    X = blobs(600)
    centers = X[:5]
    expected = radii_of(X, centers)
    for scale in (2.0**-40, 0.5, 2.0, 8.0, 2.0**40):
        np.testing.assert_allclose(
            radii_of(scale * X, scale * centers), scale * expected, rtol=1e-13
        )


@pytest.mark.parametrize("place", [0.0, 500.0], ids=["in a cluster", "between"])
def test_a_weight_of_zero_is_absence(place):
    """Rows that do not count change no radius, wherever they are."""
    X, centers = on_a_line(bell(100), bell(12, 4.0), bell(100))
    padded = np.vstack([X, 1000 + place + np.linspace(-3, 3, 50)[:, None]])
    weights = np.repeat([1.0, 0.0], [len(X), 50])
    np.testing.assert_array_equal(radii_of(padded, centers, weights), radii_of(X, centers))


def test_a_weight_of_three_is_three_copies():
    """In clusters of any size: the number of rows is counted by weight."""
    X, centers = on_a_line(bell(100), bell(12, 4.0), bell(3), bell(2))
    weights = np.random.default_rng(0).integers(0, 4, size=len(X)).astype(float)
    weights[-5:] = [1, 2, 1, 2, 3]
    copies = np.repeat(X, weights.astype(int), axis=0)
    found = radii_of(X, centers, weights)
    np.testing.assert_allclose(found, radii_of(copies, centers), rtol=1e-12)
    assert np.isnan(found[2])
    assert not np.isnan(found[3]), "two rows of weights 2 and 3 are five"
    light = radii_of(X, centers, 1e-6 * weights)
    np.testing.assert_allclose(radii_of(X, centers, 1e-9 * weights), light, rtol=1e-9)
    assert not np.isnan(light[:2]).any(), "the unit of small weights does not matter"


def test_a_weight_of_zero_is_absence_where_all_have_few_rows():
    X, centers = on_a_line([-1.0, 1.0], [-2.0, 2.0])
    padded = np.vstack([X, [[1e6]]])
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(radii_of(padded, centers, weights), radii_of(X, centers))


@pytest.mark.parametrize("n_rows", [99, 100, 101, 1000, 12_345])
def test_so_many_rows_are_looked_at_and_no_more(n_rows, monkeypatch):
    monkeypatch.setattr(radii, "sample_rows", lambda n_clusters: 100)
    seen = []
    X = blobs(n_rows)
    engine = make_engine("native", X, L21(), Hard())

    class Spy(type(engine)):
        def assign(self, *args, **options):
            seen.append(self.n_rows)
            return super().assign(*args, **options)

    found = cluster_radii(Spy(engine.data, engine.problem, 1), X[:2])
    assert len(seen) == 1
    assert min(n_rows, 50) <= seen[0] <= 100
    assert found.shape == (2,)


def test_a_sample_says_what_all_rows_say(monkeypatch):
    X, centers = on_a_line(bell(20_000), bell(20_000, 7.0))
    expected = radii_of(X, centers)
    monkeypatch.setattr(radii, "sample_rows", lambda n_clusters: 2000)
    np.testing.assert_allclose(radii_of(X, centers), expected, rtol=0.1)


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_rows_in_turn_are_sampled_from_every_cluster(n_clusters, monkeypatch):
    """One row of each cluster after the other: every second row would be of every second one."""
    monkeypatch.setattr(radii, "sample_rows", lambda n_clusters: 1000 * n_clusters // 2)
    X, centers = on_a_line(*[bell(1000)] * n_clusters)
    in_turn = X.reshape(n_clusters, 1000).T.reshape(-1, 1)
    found = radii_of(in_turn, centers)
    np.testing.assert_allclose(found, chi.ppf(1 - FALSE_ALARMS, 1), rtol=0.25)


def test_the_order_of_many_rows_hardly_matters(monkeypatch):
    """Another order is another sample of the same rows."""
    monkeypatch.setattr(radii, "sample_rows", lambda n_clusters: 1500)
    X, centers = blobs(2000), blobs(5, seed=1)
    shuffled = np.random.default_rng(0).permutation(2000)
    found = radii_of(X[shuffled], centers)
    np.testing.assert_allclose(found, radii_of(X, centers), rtol=0.15)
    np.testing.assert_array_equal(radii_of(X[shuffled], centers), found)


def test_the_sample_grows_with_the_clusters_alone():
    assert radii.sample_rows(1000) - radii.sample_rows(10) == 64 * 990


# Scores.


@every_engine
def test_scores_by_brute_force(engine_name):
    X, centers = blobs(), blobs(5, seed=1)
    units = np.array([1.0, np.nan, 0.5, 7.0, 2.0])
    distances = np.linalg.norm(X[:, None] - centers, axis=2)
    engine = make_engine(engine_name, X, L21(), Hard())
    np.testing.assert_allclose(
        engine.map(Scores(centers, units)), np.nanmin(distances / units, axis=1), rtol=1e-12
    )


def sorted_median(values, labels, weights, n_groups):
    """By sorting each group: the specification of the compiled function."""
    found = np.full(n_groups, np.nan)
    for k in range(n_groups):
        chosen = (labels == k) & (weights > 0)
        if chosen.any():
            order = np.argsort(values[chosen], kind="stable")
            mass = np.cumsum(weights[chosen][order])
            found[k] = values[chosen][order][np.searchsorted(mass, mass[-1] / 2)]
    return found


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("n_groups", [1, 3, 200])
def test_medians_are_those_of_sorted_groups(n_groups, weighted):
    rng = np.random.default_rng(0)
    for n_rows in (1, 2, 7, 500):
        values, labels = rng.normal(size=n_rows), rng.integers(n_groups, size=n_rows)
        weights = rng.integers(0, 4, size=n_rows) / 4 if weighted else np.full(n_rows, 0.25)
        np.testing.assert_array_equal(
            grouped_median(values, labels, weights, n_groups),
            sorted_median(values, labels, weights, n_groups),
        )


@pytest.mark.parametrize("label", [-1, 3, 2**31 - 1])
def test_the_core_refuses_labels_out_of_range(label):
    with pytest.raises(ValueError, match="label"):
        grouped_median(np.ones(2), np.array([0, label]), np.ones(2), 3)
