"""How far clusters radius, whatever lies beyond.

In D dimensions the two thirds power of the distance to the center of a Gaussian cluster is nearly
normal, for any D [1]_. So its median and its median absolute deviation, which outliers hardly
move, say beyond which distance a row does not belong.

References
----------
.. [1] E. B. Wilson, M. M. Hilferty, "The distribution of chi-square", PNAS 1931.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato._engines.base import Engine
from sfumato._typing import Floats

DEVIATIONS = 3.0
"""Robust deviations above the median at which a cluster ends: it keeps 99.87 % of Gaussian rows."""
FALSE_ALARMS = 0.00135
"""Share of the rows of Gaussian clusters beyond their radius."""
TRIMMED = 3.0
"""Deviations beyond which rows are left out when the scale is taken again."""
ROUNDS = 10
LEAST_CLUSTER = 5
"""Rows below which a cluster says nothing about its radius."""
SMALL = 16
"""Rows of a cluster that borrows half of its radius, as a factor; it falls with their square."""
TINY = 1e-6
"""Reach, as a share of the largest distance, of clusters that are points, if all are."""
LEAST_DEVIATION = 1e-4
"""Relative; rows that are equally far but for rounding are inside."""
NORMAL = 1.4826
"""Standard deviation of a normal variable, in median absolute deviations."""
MUCH = 0.25
"""Share of a cluster, the others of which are in one place, that says how wide it is."""


def sample_rows(n_clusters: int) -> int:
    """Rows that are looked at: as many as the clusters ask for, however large the data."""
    return 16384 + 64 * n_clusters


def cluster_radii(engine: Engine, centers: Floats, limit: float = np.inf) -> Floats:
    """Reach of each cluster, from some rows of the data; see ``radii_of``."""
    sample = engine.fixed_sample(sample_rows(len(centers)))
    assignment = sample.assign(centers, distances=True, memberships=False)
    assert assignment.distances is not None
    weights = sample.data.weights_or_ones()
    return radii_of(assignment.distances, assignment.labels, weights, len(centers), limit)


def radii_of(
    distances: Floats,
    labels: NDArray[np.integer],
    weights: Floats,
    n_clusters: int,
    limit: float = np.inf,
) -> Floats:
    """Reach of each cluster, from rows nearer than the limit; NaN for those of very few rows.

    A small cluster says little about itself, and borrows from the median of all; one whose rows are
    all in one place takes that, and so do all if all have few rows.
    """
    found = trimmed_radii(distances, labels, weights, n_clusters, limit)(DEVIATIONS)
    known = found[found > 0]
    farthest = float(distances[weights > 0].max()) or 1.0
    some = bool(len(known)) or bool((found == 0).any())
    typical = float(np.median(known)) if len(known) else farthest * (TINY if some else 1)
    few = np.isnan(found) & some
    own = np.where(found > 0, found, typical)
    borrowed = 1 / (1 + (np.bincount(labels, weights > 0, n_clusters) / SMALL) ** 2)
    return np.where(few, np.nan, own * (typical / own) ** borrowed)


def trimmed_radii(
    distances: Floats,
    labels: NDArray[np.integer],
    weights: Floats,
    n_clusters: int,
    limit: float,
    least: float = 0.0,
) -> Callable[[float], Floats]:
    """Like ``radius``, of rows nearer than the limit, less those that turn out to be far beyond."""
    limits = np.full(n_clusters, np.inf)
    for _ in range(ROUNDS):
        inside = weights * ((distances < limit) & (distances <= limits[labels]))
        radii = radius(distances, labels, inside, n_clusters, least)
        before, limits = limits, np.fmin(limits, radii(TRIMMED))
        if np.array_equal(before, limits):
            break
    return radii


def radius(
    distances: Floats,
    labels: NDArray[np.integer],
    weights: Floats,
    n_clusters: int,
    least: float = 0.0,
) -> Callable[[float], Floats]:
    """Distance so many deviations above the median, per cluster.

    Rows of weight zero do not count. NaN where rows are too few, or weigh less than a share
    ``least`` of the average cluster.
    """
    counted = weights > 0
    labels, weights = labels[counted], weights[counted]
    powers = np.cbrt(distances[counted].astype(np.float64) ** 2)
    median = grouped_median(powers, labels, weights, n_clusters)
    off = np.abs(powers - median[labels])
    deviation = NORMAL * grouped_median(off, labels, weights, n_clusters)
    masses = np.bincount(labels, weights, n_clusters)
    if (deviation == 0).any():
        # Where half of the weight is in one place, the rest says more, if it is not just outliers.
        rest = off > 0
        elsewhere = NORMAL * grouped_median(off[rest], labels[rest], weights[rest], n_clusters)
        much = np.bincount(labels[rest], weights[rest], n_clusters) >= MUCH * masses
        deviation = np.where((deviation == 0) & much, elsewhere, deviation)
    deviation = np.maximum(deviation, LEAST_DEVIATION * median)
    few = np.bincount(labels, minlength=n_clusters) < LEAST_CLUSTER
    few |= masses < least * weights.sum() / n_clusters
    return lambda deviations: np.where(few, np.nan, (median + deviations * deviation) ** 1.5)


def grouped_median(
    values: Floats, labels: NDArray[np.integer], weights: Floats, n_groups: int
) -> Floats:
    """Per group, the smallest value with half of the weight at or below it; NaN if it is empty."""
    order = np.argsort(values)
    small = labels.astype(np.min_scalar_type(n_groups), copy=False)  # Sorted by their digits.
    order = order[np.argsort(small[order], kind="stable")]
    mass = np.cumsum(weights[order])
    ends = np.cumsum(np.bincount(labels, minlength=n_groups))
    bounds = np.concatenate([[0.0], mass])[np.concatenate([[0], ends])]
    places = np.searchsorted(mass, (bounds[:-1] + bounds[1:]) / 2)
    medians = np.full(n_groups, np.nan)
    filled = np.diff(bounds) > 0
    medians[filled] = values[order[places[filled]]]
    return medians
