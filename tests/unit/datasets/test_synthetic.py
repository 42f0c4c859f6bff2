"""Made-up data: what was asked for is what comes out, for every kind of outlier."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.utils import Bunch

from sfumato.datasets import OUTLIERS, make_blobs_with_outliers

KINDS = ["uniform", "cauchy", "clump", "clumps", "between"]
DIMENSIONS = [1, 2, 10, 200]

every_kind = pytest.mark.parametrize("kind", KINDS)
every_dimension = pytest.mark.parametrize("n_features", DIMENSIONS)


def outlying(blobs: Bunch) -> np.ndarray:
    return blobs.data[blobs.target == -1]


def extent(blobs: Bunch) -> float:
    return np.abs(blobs.centers).max()


def gaps(blobs: Bunch) -> np.ndarray:
    """Distances of outliers from centers, as shares of the distance that makes an outlier."""
    reach = 1.5 * (np.sqrt(blobs.data.shape[1]) + 3) * blobs.widths
    return cdist(outlying(blobs), blobs.centers) / reach


def test_every_kind_is_tested() -> None:
    assert tuple(KINDS) == OUTLIERS


# Shapes and counts.


@every_kind
@every_dimension
def test_shapes_types_and_labels(kind: str, n_features: int) -> None:
    blobs = make_blobs_with_outliers(
        403, n_features, n_clusters=4, outliers=kind, width_ratio=2.0, random_state=0
    )
    assert blobs.data.shape == (403, n_features)
    assert blobs.data.dtype == np.float64
    assert np.isfinite(blobs.data).all()
    assert blobs.target.shape == (403,)
    assert np.issubdtype(blobs.target.dtype, np.integer)
    assert set(blobs.target.tolist()) == {-1, 0, 1, 2, 3}
    assert (blobs.target == -1).sum() == 40
    assert blobs.centers.shape == (4, n_features)
    assert blobs.widths.shape == (4,)


@every_kind
@pytest.mark.parametrize("contamination", [0, 0.004, 0.006, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("n_samples", [3, 50, 101])
def test_the_share_of_outliers_is_exact(kind: str, contamination: float, n_samples: int) -> None:
    blobs = make_blobs_with_outliers(
        n_samples, n_clusters=3, outliers=kind, contamination=contamination, random_state=0
    )
    assert len(blobs.data) == n_samples
    assert (blobs.target == -1).sum() == round(contamination * n_samples)


@every_kind
def test_a_seed_repeats_to_the_bit(kind: str) -> None:
    options: dict[str, Any] = {"outliers": kind, "size_ratio": 3.0, "width_ratio": 2.0}
    first, again, other = (
        make_blobs_with_outliers(**options, random_state=seed)
        for seed in (7, np.random.RandomState(7), 8)
    )
    for name in ("data", "target", "centers", "widths"):
        assert_array_equal(first[name], again[name])
    assert not np.isin(first.data, other.data).any()


def test_rows_are_shuffled() -> None:
    target = make_blobs_with_outliers(6000, contamination=0.5, random_state=0).target
    for part in np.split(target, 3):
        assert (part == -1).mean() == pytest.approx(0.5, abs=0.05)
        assert len(set(part.tolist())) == 7


# Clusters.


@every_dimension
def test_clusters_have_their_centers_and_widths(n_features: int) -> None:
    blobs = make_blobs_with_outliers(
        20_000 // n_features, n_features, n_clusters=3, width_ratio=4.0, random_state=0
    )
    for k, width in enumerate(blobs.widths):
        offsets = blobs.data[blobs.target == k] - blobs.centers[k]
        assert offsets.std() == pytest.approx(width, rel=0.05)
        assert abs(offsets.mean()) < 0.05 * width
        per_column = offsets.std(axis=0)
        # A deviation from m rows is off by its share 1 / sqrt(2 m), here by up to five times that.
        assert_allclose(per_column, width, rtol=5 / np.sqrt(2 * len(offsets)))


def test_clusters_are_round() -> None:
    blobs = make_blobs_with_outliers(20_000, 3, n_clusters=2, random_state=0)
    correlation = np.corrcoef(blobs.data[blobs.target == 0], rowvar=False)
    assert_allclose(correlation, np.eye(3), atol=0.05)


def test_widths_and_sizes_are_evenly_spaced() -> None:
    blobs = make_blobs_with_outliers(
        55_000, n_clusters=4, size_ratio=7.0, width_ratio=4.0, contamination=0.2, random_state=0
    )
    assert_array_equal(np.sort(blobs.widths), [1, 2, 3, 4])
    sizes = np.sort(np.bincount(blobs.target[blobs.target >= 0]))
    assert sizes.sum() == 44_000
    assert_allclose(sizes, 44_000 * np.array([1, 3, 5, 7]) / 16, rtol=0.05)


def test_equal_sizes_and_widths_unless_asked_otherwise() -> None:
    blobs = make_blobs_with_outliers(60_000, contamination=0.0, random_state=0)
    assert_array_equal(blobs.widths, 1)
    assert_allclose(np.bincount(blobs.target), 10_000, rtol=0.05)


def test_width_and_size_are_unrelated_and_in_any_order() -> None:
    widest, largest = [], []
    for seed in range(200):
        blobs = make_blobs_with_outliers(
            300, n_clusters=2, size_ratio=3.0, width_ratio=2.0, random_state=seed
        )
        widest.append(blobs.widths.argmax())
        largest.append(np.bincount(blobs.target[blobs.target >= 0], minlength=2).argmax())
    # Three and a half standard deviations of a share of 200 fair coins.
    assert np.mean(widest) == pytest.approx(0.5, abs=0.125)
    assert np.mean(largest) == pytest.approx(0.5, abs=0.125)
    assert np.mean(np.equal(widest, largest)) == pytest.approx(0.5, abs=0.125)


@every_dimension
@pytest.mark.parametrize("width_ratio", [1.0, 3.0])
@pytest.mark.parametrize("n_clusters", [2, 6, 40])
def test_centers_are_separated(n_features: int, width_ratio: float, n_clusters: int) -> None:
    blobs = make_blobs_with_outliers(
        100, n_features, n_clusters=n_clusters, width_ratio=width_ratio, random_state=0
    )
    wider = np.maximum.outer(blobs.widths, blobs.widths)[np.triu_indices(n_clusters, 1)]
    assert (pdist(blobs.centers) >= 6 * wider).all()


def test_the_box_is_as_asked_where_there_is_room_and_grows_where_not() -> None:
    roomy = make_blobs_with_outliers(n_clusters=6, width_ratio=2.0, separation=0, random_state=0)
    assert extent(roomy) <= 20
    crowded = make_blobs_with_outliers(100, 1, n_clusters=50, random_state=0)
    assert 49 * 6 / 2 <= extent(crowded) <= 2 * 49 * 6  # Not much larger than the tightest.
    apart = make_blobs_with_outliers(n_clusters=2, separation=1000.0, random_state=0)
    assert 1000 <= pdist(apart.centers).item() < 3000


def test_neighbors_hardly_overlap() -> None:
    for seed in range(10):
        blobs = make_blobs_with_outliers(5000, contamination=0.0, random_state=seed)
        nearest = cdist(blobs.data, blobs.centers).argmin(axis=1)
        assert (nearest != blobs.target).mean() < 0.005


# Outliers.


@every_dimension
@pytest.mark.parametrize("kind", ["uniform", "cauchy"])
@pytest.mark.parametrize("width_ratio", [1.0, 5.0])
def test_no_cluster_reaches_an_outlier(kind: str, n_features: int, width_ratio: float) -> None:
    blobs = make_blobs_with_outliers(
        2000, n_features, outliers=kind, width_ratio=width_ratio, contamination=0.5, random_state=0
    )
    assert gaps(blobs).min() >= 1


@every_dimension
@pytest.mark.parametrize("kind", ["clump", "clumps"])
def test_no_cluster_reaches_a_clump(kind: str, n_features: int) -> None:
    blobs = make_blobs_with_outliers(
        2000, n_features, outliers=kind, contamination=0.5, width_ratio=2.0, random_state=0
    )
    assert gaps(blobs).min() > 0.85  # Of the middle; rows stray by a few of their 0.1 widths.


@pytest.mark.parametrize(
    ("kind", "least"),
    # A clump's rows stray from its middle: by a few units, or by a few tenths for the tight ones.
    [("uniform", 1.0), ("cauchy", 1.0), ("clump", 0.4), ("clumps", 0.9)],
)
def test_outliers_are_far_from_a_single_cluster_near_the_origin(kind: str, least: float) -> None:
    extents = []
    for seed in range(60):
        blobs = make_blobs_with_outliers(50, 1, n_clusters=1, outliers=kind, random_state=seed)
        extents.append(extent(blobs))
        assert gaps(blobs).min() >= least
    assert 5 * min(extents) < 5, "this test must draw a box that the cluster fills"


@every_dimension
def test_uniform_fills_its_box(n_features: int) -> None:
    blobs = make_blobs_with_outliers(4000, n_features, contamination=0.5, random_state=0)
    scaled = outlying(blobs) / (5 * extent(blobs))
    assert 0.99 < np.abs(scaled).max() <= 1
    quarters = np.histogram(scaled, bins=4, range=(-1, 1))[0] / scaled.size
    assert_allclose(quarters, 0.25, atol=0.1)  # The clusters take a bite from the middle.


def test_cauchy_has_heavy_tails() -> None:
    blobs = make_blobs_with_outliers(
        40_000, 10, outliers="cauchy", contamination=0.5, random_state=0
    )
    scaled = np.abs(outlying(blobs)) / extent(blobs)
    # In ten dimensions hardly a row is drawn again, so that the quantiles are those of the law.
    shares = np.array([0.25, 0.5, 0.75, 0.99])
    assert_allclose(np.quantile(scaled, shares), np.tan(np.pi / 2 * shares), rtol=0.1)


@every_dimension
def test_a_clump_is_one_far_gaussian(n_features: int) -> None:
    places = []
    for seed in range(8):
        blobs = make_blobs_with_outliers(
            2000, n_features, outliers="clump", contamination=0.25, random_state=seed
        )
        rows, distance = outlying(blobs), 5 * extent(blobs) * np.sqrt(n_features)
        place = rows.mean(axis=0)
        assert np.linalg.norm(place) == pytest.approx(distance, rel=0.01)
        assert (rows - place).std() == pytest.approx(1, rel=0.1)
        places.append(place / np.linalg.norm(place))
    assert np.min(places @ np.transpose(places)) < 0.1, "directions differ between seeds"


@every_dimension
@pytest.mark.parametrize(
    ("n_samples", "contamination", "n_clumps"),
    [(1000, 0.1, 10), (1099, 0.1, 11), (250, 0.05, 6), (50, 0.1, 5)],
)
def test_clumps_are_small_and_tight(
    n_features: int, n_samples: int, contamination: float, n_clumps: int
) -> None:
    blobs = make_blobs_with_outliers(
        n_samples, n_features, outliers="clumps", contamination=contamination, random_state=0
    )
    rows = outlying(blobs)
    close = cdist(rows, rows) < 0.1 * np.sqrt(2) * (np.sqrt(n_features) + 4)
    clumps = np.unique(close, axis=0)
    assert len(clumps) == n_clumps
    sizes = clumps.sum(axis=1)
    assert sizes.sum() == len(rows), "each row is in one clump"
    assert sizes.max() <= max(1, 0.01 * n_samples)
    deviations = np.concatenate([rows[clump] - rows[clump].mean(axis=0) for clump in clumps])
    if len(rows) > n_clumps:
        # The mean of a clump takes one degree of freedom from its rows; four standard errors.
        freedom = (len(rows) - n_clumps) * n_features
        deviation = np.sqrt((deviations**2).sum() / freedom)
        assert deviation == pytest.approx(0.1, rel=4 / np.sqrt(2 * freedom))
    assert np.abs(rows).max() <= 5 * extent(blobs) + 1


@every_dimension
def test_between_is_in_the_middle_of_the_line(n_features: int) -> None:
    blobs = make_blobs_with_outliers(
        4000,
        n_features,
        n_clusters=2,
        outliers="between",
        contamination=0.5,
        separation=1000.0,
        random_state=0,
    )
    start, end = blobs.centers
    length = np.linalg.norm(end - start)
    along = (outlying(blobs) - start) @ (end - start) / length
    assert 0.3 * length - 5 < along.min() < 0.31 * length
    assert 0.69 * length < along.max() < 0.7 * length + 5
    assert along.mean() == pytest.approx(0.5 * length, rel=0.02)
    across = outlying(blobs) - start - np.outer(along, (end - start) / length)
    assert (across**2).sum() / len(across) == pytest.approx(n_features - 1, rel=0.1, abs=1e-9)


def test_between_uses_every_pair_of_centers() -> None:
    blobs = make_blobs_with_outliers(
        2000, 200, n_clusters=4, outliers="between", contamination=0.5, random_state=0
    )
    # In many dimensions the two nearest centers are the ends of the line.
    ends = np.sort(cdist(outlying(blobs), blobs.centers).argsort(axis=1)[:, :2], axis=1)
    pairs, counts = np.unique(ends, axis=0, return_counts=True)
    assert len(pairs) == 6
    assert_allclose(counts, 1000 / 6, rtol=0.3)


# Errors.


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_samples": 5}, "n_samples=5 must be at least 6; use at least n_clusters"),
        ({"n_samples": 100.0}, "n_samples=100.0 is not an integer"),
        ({"n_samples": "many"}, "n_samples='many' is not an integer"),
        ({"n_features": 0}, "n_features=0 must be at least 1; use at least one col"),
        ({"n_features": True}, "n_features=True is not an integer"),
        ({"n_clusters": 0}, "n_clusters=0 must be at least 1; use at least one clu"),
        ({"n_clusters": None}, "n_clusters=None is not an integer"),
        ({"contamination": 1.0}, "contamination=1.0 is not a finite number of at least 0 and less"),
        ({"contamination": -0.1}, "contamination=-0.1 is not a finite number of at least 0"),
        ({"contamination": np.nan}, "contamination=nan is not a finite number"),
        ({"contamination": "auto"}, "contamination='auto' is not a finite number"),
        ({"contamination": False}, "contamination=False is not a finite number"),
        ({"size_ratio": 0.5}, "size_ratio=0.5 is not a finite number of at least 1; use 1 for"),
        ({"size_ratio": np.inf}, "size_ratio=inf is not a finite number of at least 1; use 1 for"),
        ({"width_ratio": 0.9}, "width_ratio=0.9 is not a finite number of at least 1; use 1 for"),
        ({"separation": -1}, "separation=-1 is not a finite number of at least 0; use 6 for"),
        ({"separation": np.inf}, "separation=inf is not a finite number"),
        (
            {"outliers": "far"},
            "outliers='far' is not a known kind; use one of 'uniform', 'cauchy', 'clump', "
            "'clumps', 'between'.",
        ),
        ({"outliers": ["clump"]}, "outliers=['clump'] is not a known kind"),
        (
            {"outliers": "between", "n_clusters": 1},
            "outliers='between' needs two clusters, and n_clusters=1; use n_clusters=2 or more",
        ),
        ({"random_state": "seed"}, "random_state='seed' is not a seed"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        make_blobs_with_outliers(**given)


def test_numbers_of_numpy_are_welcome() -> None:
    blobs = make_blobs_with_outliers(
        np.int64(60), np.int32(3), contamination=np.float32(0.25), size_ratio=2, random_state=0
    )
    assert blobs.data.shape == (60, 3)
    assert (blobs.target == -1).sum() == 15
