"""Synthetic data with known clusters and known outliers."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, sqrt
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import Bunch

from sfumato._checks import check_random_state, is_number, number_of, require_integer
from sfumato.exceptions import shown

Floats = NDArray[np.float64]

LARGEST = 1e100
"""Sizes of clusters and boxes are smaller, so that squared distances do not overflow."""
MAX_FAILURES = 100
"""Draws that may fail in a row before the scale of the draws grows; chosen by hand. In a box with
room left, few fail."""
GROWTH = 1.1
"""Factor by which the scale grows then; chosen by hand, small so that clusters stay dense."""
FAR = 5.0
"""Half-width of the box of outliers, in extents of the centers; chosen by hand so that most of the
box is empty."""


class _Clusters(NamedTuple):
    """Centers and widths of the clusters, and the number of rows, outliers included."""

    n_samples: int
    centers: Floats
    widths: Floats

    @property
    def n_features(self) -> int:
        return self.centers.shape[1]

    @property
    def extent(self) -> float:
        """Largest absolute coordinate of a center."""
        return float(np.abs(self.centers).max())

    @property
    def radii(self) -> Floats:
        """Distance from each center beyond which a row is an outlier.

        Rows of a Gaussian are about sqrt(n_features) widths from its center, and hardly ever three
        widths farther. A factor of 1.5 leaves a gap.
        """
        return 1.5 * (sqrt(self.n_features) + 3) * self.widths


def make_blobs_with_outliers(
    n_samples: int = 1000,
    n_features: int = 2,
    *,
    n_clusters: int = 6,
    outliers: str = "uniform",
    contamination: float = 0.1,
    size_ratio: float = 1.0,
    width_ratio: float = 1.0,
    separation: float = 6.0,
    box: float = 10.0,
    random_state: Any = None,
) -> Bunch:
    r"""Gaussian clusters of unlike sizes and widths, and outliers of a chosen kind.

    Centers are uniform in a box of half-width ``box * width_ratio``, drawn again until they are far
    enough apart; the box grows by a tenth whenever 100 draws in a row fail. Below, the *extent* is
    the largest absolute coordinate of a center.

    Parameters
    ----------
    n_samples : int, default=1000
        Rows, outliers included.
    n_features : int, default=2
        Columns.
    n_clusters : int, default=6
        Gaussian clusters.
    outliers : {"uniform", "cauchy", "clump", "clumps", "between"}, default="uniform"
        Where the outliers are.

        - "uniform": in the box of half-width 5 extents.
        - "cauchy": independent Cauchy coordinates, with the extent as their scale.
        - "clump": in one Gaussian clump of unit width, ``5 * sqrt(n_features)`` extents from the
          origin.
        - "clumps": in clumps of width 0.1, each of at most 1 % of all rows (or of one row), in the
          box of half-width 5 extents.
        - "between": near the middle of the line between two centers, at a share of it uniform in
          0.3 to 0.7, with Gaussian noise of unit width. Such a row may lie in a third cluster, or
          at the edge of the two where they are wide or close together.

        Rows of the first two kinds, and the middles of clumps, are drawn again where their distance
        from a center is below ``1.5 * (sqrt(n_features) + 3)`` times the width of its cluster. If
        100 draws in a row fail, as around a single cluster near the origin, their scale grows by a
        tenth.
    contamination : float, default=0.1
        Share of outliers, at least 0 and below 1; exactly ``round(contamination * n_samples)`` rows
        are outliers.
    size_ratio : float, default=1.0
        Expected rows of the largest cluster over those of the smallest. The expected sizes are
        evenly spaced, in random order; the sizes themselves are multinomial, so that a cluster with
        an expectation of few rows may have none.
    width_ratio : float, default=1.0
        Width of the widest cluster over that of the narrowest, which is 1. The widths are evenly
        spaced, in a random order that is independent of the sizes.
    separation : float, default=6.0
        Least distance between two centers, in widths of the wider of the two clusters. Along the
        line between the centers both are Gaussians of one dimension, whatever ``n_features`` is: at
        6, at most 0.13 % of the rows of either are beyond the middle between the two.
    box : float, default=10.0
        Half-width of the box of the centers. In many dimensions centers in a box of 10 are far
        apart, some ``8 * sqrt(n_features)``; in a small one they are as close as they may.
    random_state : int, RandomState or None, default=None
        Seed; an int makes the result repeatable.

    Returns
    -------
    blobs : Bunch
        With these attributes:

        data : ndarray of shape (n_samples, n_features)
            Rows, in random order.
        target : ndarray of shape (n_samples,)
            Cluster of each row; -1 for outliers.
        centers : ndarray of shape (n_clusters, n_features)
            Means of the Gaussians.
        widths : ndarray of shape (n_clusters,)
            Standard deviation of every coordinate within each cluster.

    Examples
    --------
    >>> from sfumato.datasets import make_blobs_with_outliers
    >>> blobs = make_blobs_with_outliers(200, n_clusters=3, outliers="clump", random_state=0)
    >>> blobs.data.shape
    (200, 2)
    >>> int((blobs.target == -1).sum())
    20
    """
    require_integer("n_features", n_features, least=1, advice="use at least one column")
    require_integer("n_clusters", n_clusters, least=1, advice="use at least one cluster")
    advice = "use at least n_clusters rows"
    require_integer("n_samples", n_samples, least=n_clusters, advice=advice)
    _require_number("contamination", contamination, 0, 1, "use 0.1 for one outlier in ten rows")
    _require_number("size_ratio", size_ratio, 1, LARGEST, "use 1 for clusters of equal size")
    _require_number("width_ratio", width_ratio, 1, LARGEST, "use 1 for clusters of equal width")
    _require_number("separation", separation, 0, LARGEST, "use 6 for clusters that hardly overlap")
    _require_number("box", box, 1e-3, LARGEST, "use 10, or 1 for clusters that are close")
    _require_kind(outliers, n_clusters)
    rng = check_random_state(random_state)
    widths = rng.permutation(np.linspace(1, float(width_ratio), n_clusters))
    sizes = rng.permutation(np.linspace(1, float(size_ratio), n_clusters))
    half_width = float(box) * float(width_ratio)
    centers = _draw_centers(n_features, widths, half_width, float(separation), rng)
    n_outliers = round(contamination * n_samples)
    target = np.full(n_samples, -1)
    members = rng.choice(n_clusters, size=n_samples - n_outliers, p=sizes / sizes.sum())
    target[n_outliers:] = members
    noise = widths[members, None] * rng.standard_normal((len(members), n_features))
    clusters = _Clusters(n_samples, centers, widths)
    outlying = _DRAW_OUTLIERS[outliers](clusters, n_outliers, rng)
    data = np.concatenate([outlying, centers[members] + noise])
    order = rng.permutation(n_samples)
    return Bunch(data=data[order], target=target[order], centers=centers, widths=widths)


# Clusters.


def _draw_centers(
    n_features: int,
    widths: Floats,
    half_width: float,
    separation: float,
    rng: np.random.RandomState,
) -> Floats:
    """Centers in a box, one after the other, each far enough from those before it."""
    centers = np.empty((len(widths), n_features))
    for k, width in enumerate(widths):
        apart = separation * np.maximum(widths[:k], width)
        centers[k : k + 1], half_width = _draw_far(_in_box(rng), half_width, 1, centers[:k], apart)
    return centers


# Outliers.


def _uniform(clusters: _Clusters, n_rows: int, rng: np.random.RandomState) -> Floats:
    half_width = FAR * clusters.extent
    return _draw_far(_in_box(rng), half_width, n_rows, clusters.centers, clusters.radii)[0]


def _cauchy(clusters: _Clusters, n_rows: int, rng: np.random.RandomState) -> Floats:
    def draw(scale: float, shape: tuple[int, int]) -> Floats:
        return scale * rng.standard_cauchy(shape)

    return _draw_far(draw, clusters.extent, n_rows, clusters.centers, clusters.radii)[0]


def _clump(clusters: _Clusters, n_rows: int, rng: np.random.RandomState) -> Floats:
    def on_sphere(radius: float, shape: tuple[int, int]) -> Floats:
        direction = rng.standard_normal(shape)
        return radius * direction / np.linalg.norm(direction, axis=1, keepdims=True)

    radius = FAR * clusters.extent * sqrt(clusters.n_features)
    place, _ = _draw_far(on_sphere, radius, 1, clusters.centers, clusters.radii)
    return place + rng.standard_normal((n_rows, clusters.n_features))


def _clumps(clusters: _Clusters, n_rows: int, rng: np.random.RandomState) -> Floats:
    largest = max(1, clusters.n_samples // 100)
    n_clumps = -(-n_rows // largest)  # Rounded up: one more row would make a clump too large.
    places = _uniform(clusters, n_clumps, rng)
    noise = 0.1 * rng.standard_normal((n_rows, clusters.n_features))
    return places[np.arange(n_rows) % max(1, n_clumps)] + noise


def _between(clusters: _Clusters, n_rows: int, rng: np.random.RandomState) -> Floats:
    n_clusters = len(clusters.centers)
    start = rng.randint(n_clusters, size=n_rows)
    end = (start + rng.randint(1, n_clusters, size=n_rows)) % n_clusters  # Never the start.
    share = rng.uniform(0.3, 0.7, size=(n_rows, 1))
    line = (1 - share) * clusters.centers[start] + share * clusters.centers[end]
    return line + rng.standard_normal(line.shape)


_DRAW_OUTLIERS: dict[str, Callable[[_Clusters, int, np.random.RandomState], Floats]] = {
    "uniform": _uniform,
    "cauchy": _cauchy,
    "clump": _clump,
    "clumps": _clumps,
    "between": _between,
}

OUTLIERS = tuple(_DRAW_OUTLIERS)
"""Names of the kinds of outliers; :func:`make_blobs_with_outliers` describes them."""


# Drawing.


def _in_box(rng: np.random.RandomState) -> Callable[[float, tuple[int, int]], Floats]:
    """Draw uniformly in a box, given its half-width and the shape of the rows."""
    return lambda half_width, shape: rng.uniform(-half_width, half_width, shape)


def _draw_far(
    draw: Callable[[float, tuple[int, int]], Floats],
    scale: float,
    n_rows: int,
    centers: Floats,
    radii: Floats,
) -> tuple[Floats, float]:
    """Rows of ``draw(scale, shape)`` outside the radii of all centers, and the final scale."""
    n_features = centers.shape[1]
    rows = np.empty((n_rows, n_features))
    found = failed = 0
    while found < n_rows:
        drawn = draw(scale, (n_rows - found, n_features))
        far = drawn[(cdist(drawn, centers) >= radii).all(axis=1)]
        rows[found : found + len(far)] = far
        found += len(far)
        failed = 0 if len(far) else failed + len(drawn)
        if failed >= MAX_FAILURES:
            scale, failed = scale * GROWTH, 0
    return rows, scale


# Parameters.


def _require_number(name: str, value: Any, least: float, below: float, advice: str) -> None:
    """Raise unless ``value`` is a finite number of at least ``least`` and less than ``below``."""
    number = number_of(value) if is_number(value, Real) else inf
    if not isfinite(number) or not least <= number < below:
        limit = f" and less than {below:g}" if below < LARGEST else ""
        raise ValueError(
            f"{name}={shown(value)} is not a finite number of at least {least:g}{limit}; {advice}."
        )


def _require_kind(outliers: Any, n_clusters: int) -> None:
    """Raise unless ``outliers`` is a known kind, and there are clusters enough for it."""
    if not isinstance(outliers, str) or outliers not in OUTLIERS:
        known = ", ".join(map(repr, OUTLIERS))
        raise ValueError(f"outliers={shown(outliers)} is not a known kind; use one of {known}.")
    if outliers == "between" and n_clusters < 2:
        raise ValueError(
            f"outliers='between' needs two clusters, and n_clusters={n_clusters}; use "
            "n_clusters=2 or more, or another kind."
        )
