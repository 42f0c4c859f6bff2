"""Automatic cap of a bounded loss, which outliers do not move.

An unbounded loss gives outliers centers of their own. A capped one needs a cap between the radius
of a cluster and the distance to the next one. It is estimated on a sample of bounded size; the
share of outliers need not be known.

1. ``first_cap``: around some rows, the probes, find the radius that holds a tenth of an average
   cluster. Outliers have few neighbors and so a large radius; the lower quartile of the radii gives
   the scale of narrow clusters.
2. ``estimate_cap``: alternate a short hard fit at the cap and a new cap from the robust radii of
   the clusters, until the cap is stable.
3. ``automatic_cap``: if that leaves out too many rows, repeat it from other first caps and take
   the one of the highest likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from sfumato._engines.base import ResidentEngine
from sfumato._init.short_fits import PAIR_DISTANCE, AgreeingFits, at_cap, best_fit, capped_fit
from sfumato._outliers import trimmed_radii
from sfumato._sampling import draw
from sfumato._typing import Floats

CAP_DEVIATIONS = 4.0
"""Robust standard deviations above the median at which the cap lies, on the scale of
``_outliers``. One in 30,000 rows of a Gaussian cluster lies beyond."""
PROBES, MIN_PROBES, PROBE_VALUES = 128, 16, 1 << 22
"""Rows around which neighbors are counted: 128, or fewer in very many dimensions, such that they
have at most 4 million values (32 MB), but at least 16. Chosen by hand."""
CORE_SHARE = 0.1
"""Share of an average cluster within the radius of a probe, and the weight below which a cluster
does not count. A cap that leaves out as much as this may have lost a cluster. Chosen by hand."""
MIN_CORE_ROWS = 4
"""Rows within the radius of a probe at least, the probe included. Chosen by hand."""
MAX_CORE_SHARE = 0.5
"""Share of an average cluster within the radius of a probe at most; otherwise clusters have too few
rows, and there is no cap. Chosen by hand."""
PROBE_QUANTILE = 0.25
"""Quantile of the radii that is the scale of narrow clusters: a quarter of the rows are assumed to
be deep inside one, however many outliers there are. Chosen by hand."""
COVERED = 0.999
"""Share of a Gaussian cluster within the first cap, before the margin. Chosen by hand."""
FIRST_CAP_MARGIN = 2.0
"""Factor of the first cap, which may shrink but not grow. Chosen by hand."""
DUPLICATE_RADIUS = 0.25
"""Radius of a probe that has only duplicates near, over the distance to the nearest other row.
Chosen by hand."""
NARROWER = 0.5
"""Smallest factor of the first cap that is tried. With clumps of 1 % in two dimensions, one seed in
ten began with a cap so large that two clusters shared a center."""
CAP_FACTORS = (1.0, NARROWER, 3.0, 9.0)
"""Factors of the first cap, tried in turn until few rows are left out. The larger ones are for
clusters several times as wide as the narrowest: without, clusters five times as wide were lost."""
FIRST_FITS = 2
"""Short fits at the first cap, of which the best is taken. Chosen by hand."""
MAX_CAP_ROUNDS = 8
"""Rounds of a new cap and a refit. Chosen by hand."""
CAP_TOLERANCE = 0.01
"""Relative change at which the cap is stable. Chosen by hand."""
MAX_OVERSHOOT = 1.1
"""Radius of a cluster over the present cap, above which it does not count: it then consists of
outliers that share a center. Chosen by hand."""
SAME_LIKELIHOOD = 0.002
"""Difference of two mean log-likelihoods of a row up to which the first cap is preferred. Without
it, caps that describe the rows equally well were chosen by chance."""
OUTLIER_PENALTY = 1.0
"""Log-likelihood that a row loses by being an outlier, at the typical distance of a cluster. Chosen
by hand."""


def automatic_cap(
    sample: ResidentEngine, n_clusters: int, rng: np.random.RandomState
) -> CapEstimate | None:
    """Distance beyond the radius of every cluster, with the fits at it.

    None if clusters have too few rows, or all rows coincide. The first cap is that of narrow
    clusters. If it leaves out as many rows as a small cluster has, other caps are tried, and the
    one of the highest likelihood is taken.
    """
    first = first_cap(sample, n_clusters, rng)
    if not 0 < first < np.inf:
        return None
    small_cluster = max(CORE_SHARE / n_clusters, MIN_CORE_ROWS / sample.n_rows)
    tried: list[CapEstimate] = []
    for factor in CAP_FACTORS:
        number = 1 if tried else FIRST_FITS
        tried.append(estimate_cap(sample, factor * first, n_clusters, rng, number))
        if tried[-1].outlier_fraction <= small_cluster:
            break
    # A narrower cap that stayed at its upper limit was chosen by the limit, not by the rows.
    chosen = [found for found in tried if found.cap != NARROWER * first]
    least = min(found.neg_log_likelihood for found in chosen)
    best = next(found for found in chosen if found.neg_log_likelihood <= least + SAME_LIKELIHOOD)
    fits = best.fits.refit(at_cap(sample, best.cap))
    for other in tried:  # Fits at other caps started from independent seeds too.
        if other is not best and fits.is_same(other.fits.fit, sample):
            fits = fits._replace(repeats=fits.repeats + 1 + other.fits.repeats)
    if not fits.repeats and best is not tried[0]:
        fits = fits.beside(capped_fit(sample, best.cap, n_clusters, rng), sample)
    return best._replace(fits=fits)


class CapEstimate(NamedTuple):
    """A stable cap, and the clusters at it."""

    cap: float
    fits: AgreeingFits
    outlier_fraction: float
    """Share of the weight outside all clusters."""
    neg_log_likelihood: float
    """Mean over rows; see ``Clusters.neg_log_likelihood``."""


def estimate_cap(
    sample: ResidentEngine,
    largest: float,
    n_clusters: int,
    rng: np.random.RandomState,
    fits: int = 1,
) -> CapEstimate:
    """Cap of at most ``largest``, found by alternating short fits and radii of clusters."""
    cap = largest
    found = best_fit(sample, cap, n_clusters, rng, fits)
    for _ in range(MAX_CAP_ROUNDS):
        clusters = clusters_at(sample, found.fit.centers, cap)
        before, cap = cap, min(largest, clusters.largest_radius(cap))
        if abs(cap - before) <= CAP_TOLERANCE * before:
            break
        found = found.refit(at_cap(sample, cap))
    return CapEstimate(cap, found, clusters.outlier_fraction(), clusters.neg_log_likelihood())


class Clusters(NamedTuple):
    """Rows of a sample, assigned to the nearest centers, and the robust radii of the clusters.

    Attributes
    ----------
    distances, labels, weights : ndarray of shape (n_rows,)
        Distance to the nearest center, that center, and the weight of the row.
    radii : callable
        From a number of robust standard deviations to the radii, of shape (n_clusters,).
    dimension : int
        Number of features.
    """

    distances: Floats
    labels: NDArray[np.integer]
    weights: Floats
    radii: Callable[[float], Floats]
    dimension: int

    def largest_radius(self, cap: float) -> float:
        """Largest radius of a cluster; the cap itself if none has one.

        Clusters of few rows do not count, nor those that extend well beyond the cap.
        """
        found = self.radii(CAP_DEVIATIONS)
        return float(np.max(found[found <= MAX_OVERSHOOT * cap], initial=0.0)) or cap

    def outlier_fraction(self) -> float:
        """Share of the weight beyond the radii."""
        outside = ~(self.distances <= self.radii(CAP_DEVIATIONS)[self.labels])
        return float(np.average(outside, weights=self.weights))

    def neg_log_likelihood(self) -> float:
        """Mean over rows of minus the log-likelihood, up to a constant.

        A row comes from a Gaussian whose width fits the median distance in its cluster, or is an
        outlier, whichever is likelier. The density of outliers is a power ``h**-D`` of the
        distance, which has no scale, and constant within the median distance of the narrowest
        cluster.
        """
        D, medians = self.dimension, self.radii(0.0)
        narrowest = np.min(medians[medians > 0], initial=np.inf)
        if np.isinf(narrowest):
            return float(np.inf)
        width = np.maximum(medians, narrowest) / np.sqrt(D)
        inside = D * np.log(width)[self.labels] + (self.distances / width[self.labels]) ** 2 / 2
        far = np.maximum(self.distances, narrowest)
        outside = D * np.log(far / np.sqrt(D)) + D / 2 + OUTLIER_PENALTY
        return float(np.average(np.fmin(inside, outside), weights=self.weights))


def clusters_at(sample: ResidentEngine, centers: Floats, cap: float) -> Clusters:
    """Clusters of a sample at the given centers; radii are those of rows within the cap."""
    assignment = at_cap(sample, cap).assign(centers, distances=True, memberships=False)
    assert assignment.distances is not None
    distances, labels = assignment.distances.astype(np.float64), assignment.labels
    weights = sample.data.weights_or_ones()
    radii = trimmed_radii(distances, labels, weights, len(centers), cap, min_share=CORE_SHARE)
    return Clusters(distances, labels, weights, radii, sample.n_features)


def first_cap(sample: ResidentEngine, n_clusters: int, rng: np.random.RandomState) -> float:
    """Generous cap for narrow clusters, from the distances of some rows to their neighbors.

    The radius around a row that holds a share of a cluster is converted to the radius of the whole
    cluster by the chi-squared distribution, in the dimension that the growth of the radius with the
    share implies. Infinite where clusters have too few rows.
    """
    weights = sample.data.weights_or_ones()
    n_probes = int(np.clip(PROBE_VALUES // sample.n_features, MIN_PROBES, PROBES))
    probes = sample.take(draw(weights, sample.order(), n_probes, rng))
    distances = np.ascontiguousarray(sample.distances(probes).T, dtype=np.float64)
    cluster = float(weights.sum()) / n_clusters
    core = max(CORE_SHARE * cluster, MIN_CORE_ROWS * float(weights[weights > 0].mean()))
    radii, inner = _probe_radii(distances, weights, (core, core / 2)).T
    if core > MAX_CORE_SHARE * cluster or not radii.any():
        return float(np.inf)
    growing = (radii <= np.median(radii)) & (inner > 0) & (inner < radii)
    dimension = float(sample.n_features)
    if growing.any():
        found = float(np.median(np.log(2.0) / np.log(radii[growing] / inner[growing])))
        dimension = float(np.clip(found, 1.0, dimension))
    # Quantiles of half the squared distance to the center: of almost all rows, and of the core.
    most, least = gammaincinv(dimension / 2, [COVERED, core / cluster])
    scale = float(np.quantile(radii[radii > 0], PROBE_QUANTILE))
    return FIRST_CAP_MARGIN * scale / PAIR_DISTANCE * float(np.sqrt(most / least))


def _probe_radii(distances: Floats, weights: Floats, masses: tuple[float, ...]) -> Floats:
    """Radii within which the weights of the rows add up to the given masses.

    ``distances`` has shape (n_probes, n_rows), the result (n_probes, n_masses). Where only
    duplicates of the probe are within, it is a share of the distance to the nearest other row.
    """
    if np.ptp(weights) == 0:
        places = np.searchsorted(np.cumsum(weights), masses).clip(max=len(weights) - 1)
        front = np.partition(distances, max(places), axis=1)[:, : max(places) + 1]
        radii = np.sort(front, axis=1)[:, places]
    else:
        order = np.argsort(distances, axis=1)
        mass = np.cumsum(weights[order], axis=1)
        places = np.array([np.searchsorted(row, masses) for row in mass]).clip(max=len(weights) - 1)
        radii = np.take_along_axis(distances, np.take_along_axis(order, places, axis=1), axis=1)
    if radii.all():
        return radii
    others = np.where(distances > 0, distances, np.inf).min(axis=1, keepdims=True)
    elsewhere = DUPLICATE_RADIUS * others
    return np.where((radii == 0) & (elsewhere < np.inf), elsewhere, radii)
