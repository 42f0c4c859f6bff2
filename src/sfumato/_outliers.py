"""Cluster radii: robust upper limits of the distances within each cluster.

In a Gaussian cluster of any dimension, the distance to the center to the power of 2/3 is nearly
normal: the transform of Wilson and Hilferty [1]_ for chi-squared variables. The radius is

    ``(median + RADIUS_DEVIATIONS * 1.4826 * MAD) ** 1.5``

with the median and the median absolute deviation (MAD) of the transformed distances, which outliers
hardly change. Both are uncertain where rows are few, so that there are more deviations there: as in
a prediction interval, the quantile of a Student-t distribution (``radius_deviations``). And there
are more where the tails of a cluster are heavy (``tail_factors``). A row whose distance exceeds the
radius of every cluster is an outlier. Under a bounded loss no radius is larger than its cutoff.

How far out a row is, is measured by a density with heavy tails at the centers, ``tails_of``: a
small, dense group of rows has a radius of its own, and is rare all the same.

References
----------
.. [1] E. B. Wilson, M. M. Hilferty, "The distribution of chi-square", PNAS 1931.
.. [2] G. Brys, M. Hubert, A. Struyf, "A comparison of some new measures of skewness", Developments
   in Robust Statistics 2003.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from sfumato._engines.base import Engine
from sfumato._engines.tails import Tails
from sfumato._native import core
from sfumato._typing import Floats
from sfumato.losses import Loss

RADIUS_DEVIATIONS = 3.0
"""Robust standard deviations above the median at which a cluster ends. Chosen by hand: the rule of
three sigmas."""
FALSE_ALARMS = 0.00135
"""Share of the rows of Gaussian clusters beyond their radius: the tail of the normal distribution
beyond ``RADIUS_DEVIATIONS``."""
MAD_EFFICIENCY = 0.37
"""Variance of a standard deviation over that of a MAD, for normal variables."""
MEDIAN_VARIANCE = 1.57
"""Variance of a median over that of a mean, for normal variables: half of pi."""
TRIM_DEVIATIONS = 3.0
"""Robust standard deviations above the median beyond which rows are excluded from the next round of
the estimate. Chosen by hand."""
MAX_TRIM_ROUNDS = 10
"""Rounds of estimating and excluding. Chosen by hand; it ends earlier once nothing changes."""
GAUSSIAN_SKEWNESS = 1.15
"""Skewness up to which tails are not heavy. Chosen by hand: that of Gaussian clusters is 1.17 in
one column, 1.05 in two, and 1 in many; of Student-t ones of 5 degrees 1.28 in two columns, 1.47 in
many."""
SKEWNESS_ERROR = 2.3
"""Standard error of a skewness, times the root of the number of rows, for normal variables."""
MOST_TAIL = 2.0
"""Factor of deviations for heavy tails, at most. Chosen by hand."""
MIN_CLUSTER_ROWS = 5
"""Rows, counted by weight, below which a cluster has no radius of its own. Chosen by hand."""
SHRINKAGE_ROWS = 16
"""Rows of a cluster whose radius is the geometric mean of its own and the typical one. With n rows,
the weight of the typical radius is ``1 / (1 + (n / 16) ** 2)``: 0.72 for the 10 rows of a cluster
of ORL, where random pictures are ranked at an AUROC of 0.99. It was 0.97 with less."""
POINT_RADIUS = 1e-6
"""Radius over the largest distance, where the rows of every cluster coincide. Chosen by hand."""
MIN_DEVIATION = 1e-4
"""Robust standard deviation over the median, at least: rows at equal distances but for rounding are
inside. Chosen by hand."""
PAIR_DISTANCE = np.sqrt(2.0)
"""Distance between two rows of a Gaussian cluster over that between a row and the center."""
MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal variable over its median absolute deviation."""
MIN_SPREAD_SHARE = 0.25
"""Where the MAD is 0, since at least half of a cluster lies at one distance, the MAD of the other
rows is used if they have at least this share of the weight. Chosen by hand."""
RADIUS_ROWS, RADIUS_ROWS_PER_CLUSTER = 16384, 64
"""Rows of the sample that radii are estimated from, and more per cluster. Chosen by hand."""


def sample_rows(n_clusters: int) -> int:
    """Size of the sample for radii; it does not depend on the size of the data."""
    return RADIUS_ROWS + RADIUS_ROWS_PER_CLUSTER * n_clusters


def cluster_radii(engine: Engine, centers: Floats, limit: float = np.inf) -> Floats:
    """Radius of each cluster, from a sample of the data; see ``radii_of``."""
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
    false_alarms: float = FALSE_ALARMS,
) -> Floats:
    """Radius of each cluster, shrunk toward the typical one where rows are few.

    Parameters
    ----------
    distances, labels, weights : ndarray of shape (n_rows,)
        Distance to the nearest center, that center, and the weight of the row.
    n_clusters : int
    limit : float
        Rows farther than this are excluded.
    false_alarms : float
        Share of the rows of Gaussian clusters that are beyond their radius. Of clusters with heavy
        tails there are more, though the radius is larger.

    Returns
    -------
    radii : ndarray of shape (n_clusters,)
        For n rows, ``own ** (1 - s) * typical ** s`` with ``s = 1 / (1 + (n / SHRINKAGE_ROWS)**2)``
        and the median radius as the typical one. A cluster whose rows all coincide has the typical
        radius. NaN for clusters of fewer than ``MIN_CLUSTER_ROWS`` rows. If every cluster is that
        small, all radii are the largest distance.
    """
    near = np.where(distances < limit, weights, 0.0)
    counts = row_counts(labels, near, n_clusters)
    radii = trimmed_radii(distances, labels, weights, n_clusters, limit)
    kept = np.flatnonzero((distances <= radii(TRIM_DEVIATIONS)[labels]) & (near > 0))
    skewnesses = skewness(distances[kept], labels[kept], weights[kept], n_clusters)
    found = radii(radius_deviations(counts, false_alarms) * tail_factors(skewnesses, counts))
    farthest = float(distances[weights > 0].max()) or 1.0
    any_known = bool((found >= 0).any())
    fallback = farthest * (POINT_RADIUS if any_known else 1)
    unknown = np.isnan(found) & any_known
    return np.where(unknown, np.nan, shrunk(found, labels, weights, fallback))


def radius_deviations(counts: Floats, false_alarms: float = FALSE_ALARMS) -> Floats:
    """Robust standard deviations at which clusters of so many rows end: 3 for many.

    They are those beyond which a share ``false_alarms`` of new rows lies, since the MAD of n rows
    is as certain as a standard deviation of ``MAD_EFFICIENCY * n``, and the median has the variance
    ``MEDIAN_VARIANCE / n``.
    """
    rows = np.maximum(counts, SHRINKAGE_ROWS)
    quantiles = stdtrit(MAD_EFFICIENCY * (rows - 1), 1 - false_alarms)
    found: Floats = quantiles * np.sqrt(1 + MEDIAN_VARIANCE / rows)
    return found


def tail_factors(skewnesses: Floats, counts: Floats) -> Floats:
    """Factors of deviations for clusters of so many rows: above 1 where tails are heavy.

    The square of what the skewness, less its standard error, is above that of Gaussian clusters.
    """
    sure = skewnesses - SKEWNESS_ERROR / np.sqrt(np.maximum(counts, 1))
    found: Floats = np.clip((sure / GAUSSIAN_SKEWNESS) ** 2, 1, MOST_TAIL)
    return np.where(sure > 0, found, 1.0)


def skewness(
    distances: Floats, labels: NDArray[np.integer], weights: Floats, n_clusters: int
) -> Floats:
    """Distance of the highest octile from the median, over that of the lowest, per cluster [2]_.

    Octiles are those of the distances to the power of 2/3: medians of the halves of halves. It is 1
    where one of them is the median.
    """
    powers = np.cbrt(np.asarray(distances, dtype=np.float64) ** 2)
    middle = grouped_median(powers, labels, weights, n_clusters)
    ends = []
    for side in (np.greater, np.less):
        limits, chosen = middle, np.arange(len(powers))
        for _ in range(2):
            chosen = chosen[side(powers[chosen], limits[labels[chosen]])]
            rows = powers[chosen], labels[chosen], weights[chosen]
            limits = grouped_median(*rows, n_clusters)
        ends.append(np.abs(limits - middle))
    upper, lower = ends
    known = (upper > 0) & (lower > 0)
    return np.divide(upper, lower, out=np.ones(n_clusters), where=known)


def row_counts(labels: NDArray[np.integer], weights: Floats, n_clusters: int) -> Floats:
    """Rows of each cluster, counted by weight; see ``row_weight``."""
    counts: Floats = np.bincount(labels, weights, n_clusters) / row_weight(weights)
    return counts


def shrunk(found: Floats, labels: NDArray[np.integer], weights: Floats, fallback: float) -> Floats:
    """Lengths of clusters, shrunk toward the typical one where rows are few; see ``radii_of``.

    The typical one is the median of those that are positive; ``fallback`` if none is. It replaces
    those that are zero or NaN.
    """
    positive = found[found > 0]
    typical = float(np.median(positive)) if len(positive) else fallback
    own = np.where(found > 0, found, typical)
    counts = row_counts(labels, weights, len(found))
    shrinkage = 1 / (1 + (counts / SHRINKAGE_ROWS) ** 2)
    lengths: Floats = own * (typical / own) ** shrinkage
    return lengths


def tails_of(
    distances: Floats, labels: NDArray[np.integer], weights: Floats, radii: Floats
) -> Tails:
    """Density with heavy tails, of which some rows are a sample.

    ``distances`` and ``labels`` are those of the nearest centers. The share of a cluster counts the
    rows within its radius, and one more. Its scale is the median distance of its rows, shrunk as
    radii are, and at least the average one, so that no small group is excused for being dense.
    """
    n_clusters = len(radii)
    medians = grouped_median(distances, labels, weights, n_clusters)
    farthest = float(distances[weights > 0].max()) or 1.0
    scales = shrunk(medians, labels, weights, POINT_RADIUS * farthest)
    inside = np.where(distances <= radii[labels], weights, 0.0)
    shares = np.bincount(labels, inside, n_clusters) + row_weight(weights)
    shares /= shares.sum()
    return Tails(np.maximum(scales, shares @ scales), shares)


def limited_radii(radii: Floats, loss: Loss) -> Floats:
    """Radii no larger than the cutoff of the loss, which also replaces unknown ones (NaN).

    Rows beyond the cutoff of every cluster move no center, so they are outliers. Without a finite
    cutoff the radii stay as they are.
    """
    return np.fmin(radii, loss.cutoff) if np.isfinite(loss.cutoff) else radii


def trimmed_radii(
    distances: Floats,
    labels: NDArray[np.integer],
    weights: Floats,
    n_clusters: int,
    limit: float,
) -> Callable[[float | Floats], Floats]:
    """Function from a number of robust standard deviations to the distance there, per cluster.

    Medians and deviations are those of the distances to the power of 2/3, in which rows beyond
    ``TRIM_DEVIATIONS`` are excluded, repeatedly, and rows from the limit on from the beginning.
    Zero deviations give the median. The distance is NaN for a cluster of fewer than
    ``MIN_CLUSTER_ROWS`` rows.
    """
    medians, deviations = np.empty(n_clusters), np.empty(n_clusters)
    core.trimmed_spreads(
        *grouped(distances, labels, weights),
        limit,
        medians,
        deviations,
        trim_deviations=TRIM_DEVIATIONS,
        mad_to_sigma=MAD_TO_SIGMA,
        min_spread_share=MIN_SPREAD_SHARE,
        min_deviation=MIN_DEVIATION,
        min_cluster_rows=MIN_CLUSTER_ROWS,
        max_trim_rounds=MAX_TRIM_ROUNDS,
    )
    return lambda number: (medians + number * deviations) ** 1.5


def row_weight(weights: Floats) -> float:
    """Weight that counts as one row: 1, so that a weight of 3 is three rows.

    It is the average weight where that is below one, since the unit of such weights says nothing
    about the number of rows.
    """
    positive = int(np.count_nonzero(weights))
    return min(1.0, float(weights.sum()) / positive) if positive else 1.0


def weighted_median(values: Floats, weights: Floats) -> float:
    """Smallest value with half of the weight at or below it."""
    everything = np.zeros(len(values), dtype=np.intp)
    return float(grouped_median(values, everything, weights, 1)[0])


def grouped_median(
    values: Floats, labels: NDArray[np.integer], weights: Floats, n_groups: int
) -> Floats:
    """Weighted median per group: the smallest value with half of the weight at or below it.

    NaN for an empty group.
    """
    medians = np.empty(n_groups)
    core.grouped_median(*grouped(values, labels, weights), medians)
    return medians


def grouped(
    values: Floats, labels: NDArray[np.integer], weights: Floats
) -> tuple[Floats, NDArray[np.int32], Floats]:
    """Values, groups and weights in the types that the core reads."""
    return (
        np.ascontiguousarray(values, dtype=np.float64),
        np.ascontiguousarray(labels, dtype=np.int32),
        np.ascontiguousarray(weights, dtype=np.float64),
    )
