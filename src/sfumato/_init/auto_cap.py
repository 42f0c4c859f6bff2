"""A cap that outliers do not move.

Any loss without a bound pays for outliers until it has given them centers of their own; a capped
one needs a cap between the radius of a cluster and its neighbors. It is found on a sample of
bounded size. First the radius around a row within which a tenth of an average cluster lies: a
quarter of the rows are deep enough inside a cluster for that to say how wide it is, however many
outliers there are. Then a few rounds of seeding, a short hard fit, and a new cap from the distances
within the clusters, until it is still. The share of outliers is never asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from sfumato._engines.base import ResidentEngine
from sfumato._init.short_fits import BETWEEN_ROWS, AgreeingFits, at_cap, best_fit, capped_fit
from sfumato._outliers import trimmed_radii
from sfumato._sampling import draw
from sfumato._typing import Floats

CAP_DEVIATIONS = 4.0
"""Deviations from the median at which the cap lies: one in 30,000 rows of a Gaussian cluster."""
PROBES, LEAST_PROBES, PROBE_NUMBERS = 128, 16, 1 << 22
"""Rows around which the data is looked at for a first scale; fewer if that were many numbers."""
SMALLER = 0.5
"""For clusters that are narrower than they look."""
AS_GOOD = 0.002
"""Of the log-likelihood of a row: differences below do not tell one cap from another."""
FACTORS = (1.0, SMALLER, 3.0, 9.0)
"""Of the first cap, where it leaves out too many rows."""
OUTLIER_PENALTY = 1.0
"""Of the log-likelihood; an outlier costs that much more than a row at the width of a cluster."""
CORE = 0.1
"""Share of an average cluster that is looked for around a probe."""
LEAST_CORE = 4
"""Rows that are looked for at least, the probe itself included."""
ROUNDS = 8
FIRST_FITS = 2
"""Fits at the first cap, of which the best is taken."""
STILL = 0.01
"""Relative change below which the cap is still."""
WELL_BEYOND = 1.1
"""Times the cap; a cluster that was just within it may come out a little larger."""


def automatic_cap(
    sample: ResidentEngine, n_clusters: int, rng: np.random.RandomState
) -> CapEstimate | None:
    """Distance beyond which no cluster radii, and a fit at it; None if rows have no scale.

    The first scale is that of narrow clusters. If it leaves out as many rows as a small cluster
    has, larger ones are tried, and the one that describes the rows best is taken.
    """
    first = first_cap(sample, n_clusters, rng)
    if not 0 < first < np.inf:
        return None
    small_cluster = max(CORE / n_clusters, LEAST_CORE / sample.n_rows)
    settled: list[CapEstimate] = []
    for factor in FACTORS:
        number = 1 if settled else FIRST_FITS
        settled.append(estimate_cap(sample, factor * first, n_clusters, rng, number))
        if settled[-1].outlier_fraction <= small_cluster:
            break
    # A small cap that would have grown, had it been allowed to, is not one that rows have chosen.
    chosen = [found for found in settled if found.cap != SMALLER * first]
    least = min(found.neg_log_likelihood for found in chosen)
    best = next(found for found in chosen if found.neg_log_likelihood <= least + AS_GOOD)
    fits = best.fits.go_on(at_cap(sample, best.cap))
    for other in settled:  # At other caps, but from other seeds too.
        if other is not best and fits.is_same(other.fits.fit, sample):
            fits = fits._replace(repeats=fits.repeats + 1 + other.fits.repeats)
    if not fits.repeats and best is not settled[0]:
        fits = fits.beside(capped_fit(sample, best.cap, n_clusters, rng), sample)
    return best._replace(fits=fits)


class CapEstimate(NamedTuple):
    """A cap that is still, with the best fit, and what was seen at it."""

    cap: float
    fits: AgreeingFits
    outlier_fraction: float
    """Share of the weight beyond the radii of all clusters."""
    neg_log_likelihood: float
    """How badly the clusters describe the rows."""


def estimate_cap(
    sample: ResidentEngine,
    largest: float,
    n_clusters: int,
    rng: np.random.RandomState,
    fits: int = 1,
) -> CapEstimate:
    """Rounds of short fits and of looking at the distances, from the largest cap on."""
    cap = largest
    found = best_fit(sample, cap, n_clusters, rng, fits)
    for _ in range(ROUNDS):
        clusters = look(sample, found.fit.centers, cap)
        before, cap = cap, min(largest, clusters.widest(cap))
        if abs(cap - before) <= STILL * before:
            break
        found = found.go_on(at_cap(sample, cap))
    return CapEstimate(cap, found, clusters.outlier_fraction(), clusters.neg_log_likelihood())


class Clusters(NamedTuple):
    """Rows of a sample beside their nearest centers, and the scales of the clusters."""

    distances: Floats
    labels: NDArray[np.integer]
    weights: Floats
    radius: Callable[[float], Floats]
    dimension: int

    def widest(self, cap: float) -> float:
        """Largest radius of the clusters; the cap itself if none has one.

        Those of few rows do not count, nor those that extend well beyond the cap: they are none,
        but outliers that share a center.
        """
        found = self.radius(CAP_DEVIATIONS)
        return float(np.max(found[found <= WELL_BEYOND * cap], initial=0.0)) or cap

    def outlier_fraction(self) -> float:
        """Share of the weight beyond the radii."""
        outside = ~(self.distances <= self.radius(CAP_DEVIATIONS)[self.labels])
        return float(np.average(outside, weights=self.weights))

    def neg_log_likelihood(self) -> float:
        """Minus the log-likelihood of the rows, but for constants.

        Each is either of a Gaussian as wide as the median of its cluster says, or an outlier, whose
        density falls as a power of its distance and so has no scale; none is nearer than rows of
        the narrowest cluster are.
        """
        D, medians = self.dimension, self.radius(0.0)
        narrowest = np.min(medians[medians > 0], initial=np.inf)
        if np.isinf(narrowest):
            return float(np.inf)
        width = np.maximum(medians, narrowest) / np.sqrt(D)
        inside = D * np.log(width)[self.labels] + (self.distances / width[self.labels]) ** 2 / 2
        far = np.maximum(self.distances, narrowest)
        outside = D * np.log(far / np.sqrt(D)) + D / 2 + OUTLIER_PENALTY
        return float(np.average(np.fmin(inside, outside), weights=self.weights))


def look(sample: ResidentEngine, centers: Floats, cap: float) -> Clusters:
    """See how the rows lie around the centers."""
    assignment = at_cap(sample, cap).assign(centers, distances=True, memberships=False)
    assert assignment.distances is not None
    distances, labels = assignment.distances.astype(np.float64), assignment.labels
    weights = sample.data.weights_or_ones()
    radius = trimmed_radii(distances, labels, weights, len(centers), limit=cap, least=CORE)
    return Clusters(distances, labels, weights, radius, sample.n_features)


def first_cap(sample: ResidentEngine, n_clusters: int, rng: np.random.RandomState) -> float:
    """Generous cap for narrow clusters, from how near the rows around a row are.

    Outliers have none near. Infinity where clusters have too few rows to tell.
    """
    weights = sample.data.weights_or_ones()
    n_probes = int(np.clip(PROBE_NUMBERS // sample.n_features, LEAST_PROBES, PROBES))
    probes = sample.take(draw(weights, sample.order(), n_probes, rng))
    distances = np.ascontiguousarray(sample.distances(probes).T, dtype=np.float64)
    cluster = float(weights.sum()) / n_clusters
    core = max(CORE * cluster, LEAST_CORE * float(weights[weights > 0].mean()))
    radii, inner = _radii(distances, weights, (core, core / 2)).T
    if core > cluster / 2 or not radii.any():
        return float(np.inf)
    growing = (radii <= np.median(radii)) & (inner > 0) & (inner < radii)
    dimension = float(sample.n_features)
    if growing.any():
        found = float(np.median(np.log(2.0) / np.log(radii[growing] / inner[growing])))
        dimension = float(np.clip(found, 1.0, dimension))
    # Quantiles of half the squared distance, of almost all of a Gaussian cluster and of its core.
    most, least = gammaincinv(dimension / 2, [0.999, core / cluster])
    scale = float(np.quantile(radii[radii > 0], 0.25))
    return 2 * scale / BETWEEN_ROWS * float(np.sqrt(most / least))


def _radii(distances: Floats, weights: Floats, masses: tuple[float, ...]) -> Floats:
    """Radii around each probe, a row of distances, within which the weights radius the masses.

    Where that is no distance at all, a quarter of the way to the nearest rows elsewhere.
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
    elsewhere = np.where(distances > 0, distances, np.inf).min(axis=1, keepdims=True) / 4
    return np.where((radii == 0) & (elsewhere < np.inf), elsewhere, radii)
