"""Search for clusters and a cap by the likelihood of clusters and outliers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import chi, norm, ortho_group

from sfumato import Capped, Hard
from sfumato._init.dimension import Intrinsic, intrinsic_dimension
from sfumato._init.first_cap import first_cap
from sfumato._init.likelihood import OutlierDensity, classify
from sfumato._init.robust import Search
from sfumato._init.search import Candidate, Setting, improved, search
from sfumato._mixture import Background, chi_median
from sfumato.datasets import make_blobs_with_outliers
from tests.catalogue import each, every_engine, make_engine, row_weights


def setting_of(X, n_clusters, weights=None, engine_name="native"):
    engine = make_engine(engine_name, X, Capped(10.0), Hard(), weights)
    return Setting.of(engine, intrinsic_dimension(engine, n_clusters), Background.of(engine))


def searched(X, n_clusters, seed=0, cap=None, **options):
    setting, rng = setting_of(X, n_clusters, **options), np.random.RandomState(seed)
    return search(setting, n_clusters, rng, first_cap(setting.sample, n_clusters, rng), cap)


def clusters(middles, sizes, n_features=3, seed=0):
    """Gaussian clusters of width 1 at places on the first two axes."""
    rng = np.random.default_rng(seed)
    centers = np.zeros((len(middles), n_features))
    centers[:, :2] = middles
    X = np.repeat(centers, sizes, axis=0) + rng.normal(size=(sum(sizes), n_features))
    return X, centers


SQUARE = [(0, 0), (12, 0), (0, 12), (12, 12)]


# The density of outliers.


def flat_density(near=1.0, gap=4.0, dimension=1.0, n_rows=5):
    """Without the limit from the width of the data, and without a penalty."""
    return OutlierDensity(dimension, near, gap, np.full(n_rows, -np.inf), 0.0)


@pytest.mark.parametrize("dimension", [1.0, 2.0, 7.5])
def test_the_density_of_outliers_falls_as_a_power_between_two_distances(dimension):
    """It is that of rows spread over the logarithm of the distance, half of the weight."""
    density = flat_density(dimension=dimension)
    found = density.at(np.array([0.0, 1.0, 2.0, 4.0, 100.0]), 1)
    assert found[0] == found[1]
    assert found[3] == found[4]
    assert_allclose(np.diff(found[1:4]), -dimension * np.log(2))
    assert_allclose(density.at(np.ones(5), 3), found[1] - np.log(3))


def test_in_one_dimension_the_density_of_outliers_is_that_of_a_sphere_of_two_points():
    assert flat_density().at(np.array([2.0] * 5), 1) == pytest.approx(np.log(1 / (2 * 2) / 2))


def test_outliers_are_at_least_as_likely_as_in_a_gaussian_as_wide_as_the_data():
    X = np.random.default_rng(0).normal(size=(500, 4))
    engine = make_engine("native", X, Capped(10.0), Hard())
    background = Background.of(engine)
    density = OutlierDensity.of(engine, Intrinsic(4.0, distance=1e-3, gap=1e3), background)
    wide = norm.logpdf(X - background.center, scale=background.scale / chi_median(4)).sum(axis=1)
    assert_allclose(density.least, wide)
    found = density.at(np.full(500, 1e3), 1)
    assert (found >= wide - np.log(2) - density.penalty - 1e-12).all()


# Classification.


def test_rows_are_classified_by_hand():
    """Ten rows at a center of width 1 and two far away, in one dimension."""
    distances = np.array([0.0] * 10 + [50.0] * 2)
    density = flat_density(n_rows=12)
    found = classify(distances, np.zeros(12, dtype=int), np.ones(12), np.array([1.0]), density)
    assert_array_equal(found.outlying, distances > 0)
    assert_allclose(found.shares, [10 / 12])
    assert_allclose(found.scores[:10], np.log(10 / 12) + norm.logpdf(0))
    assert_allclose(found.scores[10:], np.log(2 / 12) + np.log(1 / (2 * 4) / 2))
    assert_array_equal(found.scores, np.maximum(found.scores, found.as_outlier))


def test_weights_count_like_copies_in_a_classification():
    rng = np.random.default_rng(0)
    distances, labels = 4 * rng.random(40), rng.integers(2, size=40)
    copies = rng.integers(1, 4, size=40)
    widths = np.array([1.0, 0.5])
    weighted = classify(distances, labels, copies.astype(float), widths, flat_density(n_rows=40))
    repeated = classify(
        np.repeat(distances, copies),
        np.repeat(labels, copies),
        np.ones(copies.sum()),
        widths,
        flat_density(n_rows=copies.sum()),
    )
    assert weighted.outlying.any()
    assert_allclose(np.repeat(weighted.scores, copies), repeated.scores)
    assert_allclose(weighted.shares, repeated.shares)


def test_a_cluster_without_a_width_holds_no_row():
    density = flat_density(n_rows=6)
    widths = np.array([1.0, np.inf])
    labels = np.array([0, 0, 0, 0, 1, 1])
    found = classify(np.full(6, 0.1), labels, np.ones(6), widths, density)
    assert_array_equal(found.outlying, labels == 1)
    assert np.isfinite(found.scores).all()


# Candidates.


def test_the_true_centers_are_likelier_than_others():
    X, centers = clusters(SQUARE, [300] * 4)
    setting = setting_of(X, 4)
    true = Candidate(setting, centers, 6.0)
    assert not true.classified.outlying.mean() > 0.01
    assert_allclose(true.widths, 1, atol=0.2)
    assert_allclose(true.masses, 300, atol=5)
    two_in_one = np.vstack([centers[:3], centers[0] + 0.5])
    moved = centers + np.array([0.0, 1.0, 0.0])
    among_none = np.vstack([centers[:3], [[60.0, 60.0, 0.0]]])
    for worse in (two_in_one, moved, among_none):
        assert Candidate(setting, worse, 6.0).log_likelihood < true.log_likelihood - 0.05


def test_a_cluster_is_at_least_of_the_typical_width():
    """So that a few rows in one place are not worth more than a cluster."""
    X, centers = clusters(SQUARE, [300] * 4)
    X = np.vstack([X, 40 + 0.01 * np.random.default_rng(0).normal(size=(20, 3))])
    setting = setting_of(X, 5)
    found = Candidate(setting, np.vstack([centers, [[40.0, 40, 40]]]), 6.0)
    typical = setting.intrinsic.distance / chi_median(setting.intrinsic.dimension)
    assert found.widths[-1] == pytest.approx(typical)
    assert found.widths.min() == found.widths[-1] > 0.8


def test_the_cap_settles_at_the_radius_of_the_clusters():
    """Four robust deviations, of which one in 30,000 rows of a Gaussian lies beyond."""
    X, centers = clusters(SQUARE, [1000] * 4)
    found = Candidate(setting_of(X, 4), centers, 60.0).settled_below(60.0)
    expected = chi.isf(3.2e-5, 3)
    assert found.cap == pytest.approx(expected, rel=0.1)
    assert found.cap_of_inliers() == pytest.approx(expected, rel=0.1)
    found = [Candidate(setting_of(X, 4), centers, cap) for cap in (3.0, 4.0, 6.0, 20.0)]
    caps = [candidate.settled(Candidate.cap_of_inliers).cap for candidate in found]
    assert caps == pytest.approx([expected] * 4, rel=0.1)
    assert np.ptp(caps) <= 0.02 * expected
    assert Candidate(setting_of(X, 4), centers, 60.0).settled_below(2.5).cap <= 2.5


@every_engine
def test_two_centers_in_one_cluster_and_a_cluster_without_one_are_repaired(engine_name):
    X, centers = clusters([*SQUARE, (40, 40)], [300] * 4 + [60])
    poor = np.vstack([centers[:4], centers[1] + [0.5, 0, 0]])
    setting = setting_of(X, 5, engine_name=engine_name)
    candidate = Candidate(setting, poor, 6.0)
    found = improved(candidate, np.random.RandomState(0), settle=True)
    assert (cdist(centers, found.centers).min(axis=1) < 0.6).all()
    assert found.log_likelihood > candidate.log_likelihood


def test_two_clusters_that_share_a_center_are_parted():
    X, centers = clusters([*SQUARE, (6, 40), (14, 40)], [300] * 6)
    poor = np.vstack([centers[:4], [[10, 40, 0]], centers[0] + [0.5, 0, 0]])
    found = improved(Candidate(setting_of(X, 6), poor, 8.0), np.random.RandomState(0), settle=True)
    assert (cdist(centers, found.centers).min(axis=1) < 0.6).all()


def test_a_small_cluster_among_many_outliers_gets_the_center_of_an_outlier():
    """It is a twentieth of the rows without a cluster."""
    rng = np.random.default_rng(0)
    centers = 2 * rng.normal(size=(21, 100))
    X = np.repeat(centers, [60] * 20 + [20], axis=0) + rng.normal(size=(1220, 100))
    far = 2 * rng.normal(size=(380, 100))
    setting = setting_of(np.concatenate([X, far]), 21)
    poor = Candidate(setting, np.vstack([centers[:20], far[:1]]), 11.5)
    for seed in range(8):
        found = improved(poor, np.random.RandomState(seed), settle=True)
        assert cdist(centers, found.centers).min(axis=1).max() < 5


def test_nothing_is_improved_where_nothing_is_wrong():
    candidate = searched(clusters(SQUARE, [300] * 4)[0], 4)
    assert improved(candidate, np.random.RandomState(0), settle=True) is candidate


def test_a_given_cap_is_kept():
    X, centers = clusters([*SQUARE, (40, 40)], [300] * 4 + [60])
    found = searched(X, 5, cap=4.5)
    assert found.cap == 4.5
    assert (cdist(centers, found.centers).min(axis=1) < 0.6).all()


def test_rows_that_nothing_explains_are_no_outliers():
    """Their density is zero either way, and nothing is warned of."""
    rows, ones = np.zeros(5, dtype=int), np.ones(5)
    found = classify(np.full(5, np.inf), rows, ones, np.ones(1), flat_density(gap=np.inf))
    assert not found.outlying.any()
    assert_array_equal(found.scores, -np.inf)


def unit_vectors(n_off, n_topics=6, per_topic=150, n_features=64, seed=0):
    """Directions around some topics, then directions of any kind."""
    rng = np.random.default_rng(seed)
    middles = np.repeat(rng.normal(size=(n_topics, n_features)), per_topic, axis=0)
    X = np.vstack(
        [middles + 0.8 * rng.normal(size=middles.shape), rng.normal(size=(n_off, n_features))]
    )
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_a_cluster_of_scattered_rows_is_one_of_outliers():
    """Directions of any kind have their middle at the origin, with all topics around it."""
    X = unit_vectors(n_off=400)
    topics = X[:900].reshape(6, 150, -1).mean(axis=1)
    candidate = Candidate(setting_of(X, 6), np.vstack([topics[:5], np.zeros((1, 64))]), np.inf)
    assert_array_equal(np.isinf(candidate.widths), [False] * 5 + [True])
    assert candidate.classified.outlying[900:].all()
    assert Candidate(setting_of(X, 6), topics, 1.0).log_likelihood > candidate.log_likelihood
    assert (cdist(topics, searched(X, 6).centers).min(axis=1) < 0.2).all()


@each("n_features", (2, 20), ids=str)
def test_clusters_without_gaps_are_not_scattered(n_features):
    """Each is nearly as wide as the data, and around most other centers."""
    X = np.random.default_rng(0).normal(size=(600, n_features))
    candidate = searched(X, 12)
    assert np.isfinite(candidate.widths[candidate.masses > 0]).all()
    assert candidate.classified.outlying.mean() < 0.2


def test_a_large_cluster_beside_a_far_small_one_is_not_scattered():
    """It is as wide as the data, but the other one is not inside."""
    X, _ = clusters([(0, 0), (60, 0), (0, 60)], [900, 60, 60])
    found = searched(X, 3)
    assert np.isfinite(found.widths).all()


# Searches.


@each("seed", range(4), ids=str)
def test_a_far_segment_of_four_percent_is_no_outliers(seed):
    X, centers = clusters([*SQUARE, (60, -30)], [480] * 4 + [80], seed=seed)
    found = searched(X, 5, seed)
    assert (cdist(centers, found.centers).min(axis=1) < 0.6).all()
    assert not found.classified.outlying[-80:].mean() > 0.05


@each("seed", range(4), ids=str)
@each("n_features", (2, 5, 20), ids=str)
def test_tight_clumps_of_one_percent_have_no_centers(seed, n_features):
    sample = make_blobs_with_outliers(
        1500, n_features, outliers="clumps", contamination=0.1, random_state=seed
    )
    found = searched(sample.data, 6, seed)
    reach = chi.median(n_features)
    assert (cdist(sample.centers, found.centers).min(axis=1) < reach).all()
    outlying = found.classified.outlying
    assert outlying[sample.target < 0].mean() > 0.95
    assert outlying[sample.target >= 0].mean() < 0.02


@each("kind", ("uniform", "cauchy", "clumps"), ids=str)
def test_neither_place_nor_units_nor_rotation_matter(kind):
    X = make_blobs_with_outliers(900, 4, outliers=kind, contamination=0.2, random_state=0).data
    rotation = ortho_group.rvs(4, random_state=0)
    expected = searched(X, 6)
    for other, scale in ((X + 7.5, 1.0), (X @ rotation, 1.0), (1024.0 * X, 1024.0)):
        found = searched(other, 6)
        assert_array_equal(found.labels, expected.labels)
        assert_array_equal(found.classified.outlying, expected.classified.outlying)
        assert found.cap == pytest.approx(scale * expected.cap, rel=1e-6)
        # The density of a row has the units of 1 / distance to the power of the dimension.
        shift = found.setting.intrinsic.dimension * np.log(scale)
        assert found.log_likelihood + shift == pytest.approx(expected.log_likelihood, abs=1e-4)


def test_weights_scale_out():
    X, _ = clusters(SQUARE, [300] * 4)
    weights = row_weights(1200)
    found, expected = (searched(X, 4, weights=w) for w in (8 * weights, weights))
    assert_allclose(found.centers, expected.centers)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood)


@each("X", (np.ones((50, 3)), np.eye(12)), ids=lambda X: str(X.shape))
def test_rows_without_a_scale_are_not_searched(X):
    """All rows coincide, or clusters have too few: short fits at the given cap are compared."""
    engine = make_engine("native", X, Capped(), Hard())
    found = Search(engine, 4, np.random.RandomState(0))
    assert found.cap == np.inf
    assert found.best.inside.all()
    assert_allclose(found.best.scores, -cdist(X, found.best.centers).min(axis=1), atol=1e-6)
