"""Intrinsic dimension of the clusters, which outliers do not move.

For the power rule to give the posterior of two Gaussian clusters of width sigma in D dimensions,
``(h1/h2)^(degree/(r-1))`` must equal ``exp(-(h2^2 - h1^2) / (2 sigma^2))``. Rows lie at ``h^2``
near ``D sigma^2``, which gives ``degree / (r - 1) = D``. With a larger r, in high dimension, far
centers keep large memberships and all centers slide together.

D is a property of the data, not of a fit: it is estimated at the modes of the density, of which
there may be more or fewer than clusters are asked for.

1. Mean shift: from some rows, move to the mean of the nearest rows, again and again. Each row ends
   at a mode. Outliers have few neighbors, so that there is no mode among them.
2. Modes without a valley between them are one.
3. Around each mode, the distances to the power of 2/3 are nearly normal in a Gaussian cluster of
   any dimension (``_outliers.py``), and their mean over their deviation gives the dimension.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from sfumato._engines.base import Engine, ResidentEngine
from sfumato._init.base import pilot_rows
from sfumato._native import core
from sfumato._outliers import (
    MAD_TO_SIGMA,
    RADIUS_DEVIATIONS,
    grouped,
    row_weight,
    weighted_median,
)
from sfumato._sampling import draw
from sfumato._typing import Floats

SAMPLE_SEED = 0
"""Seed of the sample. It does not depend on ``random_state``: what is estimated is a property of
the data."""
STARTS, MIN_STARTS, START_VALUES = 64, 16, 1 << 21
"""Rows from which mean shift starts: 64, or fewer in very many dimensions, such that they have
at most 2 million values (16 MB), but at least 16. Chosen by hand."""
NEIGHBOR_SHARE = 0.3
"""Weight of the neighbors that are averaged, over that of an average cluster. The modes are the
same for ``n_clusters`` between half and twice the true number, also with 30 % outliers: with 0.45
they merged at half the number, with less there are more than clusters."""
MIN_NEIGHBORS = 8
"""Rows that are averaged at least, and rows without which a mode has no dimension. Chosen by
hand."""
FIRST_NEIGHBORS = 24
"""Rows that are averaged on a smaller sample, from which mean shift goes on to all rows. Chosen by
hand: most steps are made there, and where they lead need not be exact."""
MAX_SHIFTS = 30
"""Steps of mean shift at most. Chosen by hand."""
SHIFT_TOLERANCE = 0.03
"""Step over the radius of the neighbors at which mean shift ends. Chosen by hand."""
JOINED = 0.3
"""Distance of two points over the radius of the neighbors, below which mean shift goes on from one
of them: they share most neighbors. Chosen by hand."""
SAME_MODE = 0.5
"""Distance of two modes over the radius of the neighbors, below which they are the same. Chosen by
hand."""
COMPARED_MODES = 5
"""Nearest modes to which a mode is compared for a valley between. Chosen by hand."""
REFINEMENTS = 3
"""Times that a mode moves to the mean of the rows within its radius. Chosen by hand."""
FIRST_LIMIT, LAST_LIMIT = 2.0, 6.0
"""Largest distance of a row that counts, over the radius of the neighbors, at first and at last. It
grows until it is beyond the radius of the cluster. In two dimensions, that radius is up to 5 times
the radius of a quarter of the rows."""
LIMIT_TOLERANCE = 0.01
"""Relative growth at which the limit is large enough. Chosen by hand."""
MAX_GROWTHS = 20
"""Times that the limit grows at most. Chosen by hand."""
TRIM = 2.5
"""Standard deviations from the mean beyond which rows are left out. Chosen by hand."""
TRIMMED_DEVIATION = 0.9546
"""Standard deviation of a standard normal variable within ``TRIM``."""
TRIM_ROUNDS = 8
"""Rounds of trimming. Chosen by hand."""
MIN_SPREAD = 1e-3
"""Standard deviation over the mean, below which rows lie at one distance and tell no dimension.
Chosen by hand."""
MAX_DIMENSION = 1000.0
"""Largest estimate. Above it, the exponent ``1/(r-1)`` would visibly magnify the rounding of
float32 distances."""


class Intrinsic(NamedTuple):
    """Properties of typical clusters.

    Attributes
    ----------
    dimension : float
        Intrinsic dimension: the mean over the clusters, weighted by their rows, between 1 and the
        number of features. It is the number of features if no cluster tells.
    limited : bool
        Whether the estimate was below 1.
    distance : float
        Median distance of a row from the center of its cluster: the median over the clusters,
        weighted by their rows. NaN if no cluster tells.
    gap : float
        Median distance of a row from the nearest center of another cluster. NaN if there is one
        cluster.
    """

    dimension: float
    limited: bool = False
    distance: float = np.nan
    gap: float = np.nan


def intrinsic_dimension(
    engine: Engine, n_clusters: int, n_features: int | None = None
) -> Intrinsic:
    """Intrinsic dimension of the clusters, and their typical size.

    Parameters
    ----------
    engine : Engine
    n_clusters : int
        Sets the number of neighbors that are averaged; see ``NEIGHBOR_SHARE``.
    n_features : int, optional
        That of the user's data, where the engine works on a projection.
    """
    rng = np.random.RandomState(SAMPLE_SEED)
    sample = engine.subsample(pilot_rows(n_clusters), rng)
    largest = float(min(n_features or engine.n_features, MAX_DIMENSION))
    found, masses, gap = spreads(sample, find_modes(sample, n_clusters, rng))
    dimensions = np.array([each.dimension for each in found])
    known = np.isfinite(dimensions)
    if not known.any():
        return Intrinsic(largest)
    mean = float(np.average(dimensions[known], weights=masses[known]))
    medians = np.array([each.mean**1.5 for each in found])
    distance = weighted_median(medians[known], masses[known])
    # Gaussian clusters of full dimension are above the upper limit half of the time, by chance.
    return Intrinsic(float(np.clip(mean, 1, largest)), mean < 1, distance, gap)


class Modes(NamedTuple):
    """Modes of the density, densest first, and the radii of the neighbors around them."""

    centers: Floats
    radii: Floats


def find_modes(sample: ResidentEngine, n_clusters: int, rng: np.random.RandomState) -> Modes:
    """Modes of the density, by mean shift from some rows, on a smaller sample first."""
    weights = sample.data.weights_or_ones()
    count = int(np.clip(START_VALUES // sample.n_features, MIN_STARTS, STARTS))
    centers = sample.take(draw(weights, sample.order(), count, rng))
    fewer = int(FIRST_NEIGHBORS / NEIGHBOR_SHARE * n_clusters)
    smaller = sample.resample(fewer, rng)  # However few rows there are: a weight of 3 is 3 copies.
    centers = shifted_to_modes(smaller, centers, neighbor_mass(smaller, n_clusters)).centers
    mass = neighbor_mass(sample, n_clusters)
    return _merged(sample, shifted_to_modes(sample, centers, mass), mass)


def neighbor_mass(sample: ResidentEngine, n_clusters: int) -> float:
    """Weight of the neighbors that mean shift averages."""
    weights = sample.data.weights_or_ones()
    total = float(weights.sum())
    least = MIN_NEIGHBORS * row_weight(weights)
    return min(max(NEIGHBOR_SHARE * total / n_clusters, least), total / 2)


def shifted_to_modes(sample: ResidentEngine, points: Floats, mass: float) -> Modes:
    """Points at which mean shift from some points ends; those that join others are dropped."""
    centers, radii = points.copy(), np.zeros(len(points))
    moving = np.arange(len(points))
    for _ in range(MAX_SHIFTS):
        shifted, radii[moving] = sample.mean_shift(centers[moving], mass)
        steps = np.linalg.norm(shifted - centers[moving], axis=1)
        centers[moving] = shifted
        moving = moving[steps > SHIFT_TOLERANCE * radii[moving]]
        if not len(moving):
            break
        joined = _joined(centers[moving], radii[moving])
        radii[moving[joined]] = np.inf  # They would end where others do.
        moving = moving[~joined]
    kept = np.isfinite(radii)
    return Modes(centers[kept], radii[kept])


def _joined(points: Floats, radii: Floats) -> NDArray[np.bool_]:
    """Whether each point has come together with one before it."""
    return np.tril(cdist(points, points) <= JOINED * radii, k=-1).any(axis=1)


def _merged(sample: ResidentEngine, modes: Modes, mass: float) -> Modes:
    """Different modes, densest first, each behind a valley from all before it."""
    centers, radii = modes
    kept: list[int] = []
    for number in np.argsort(radii, kind="stable"):
        if kept:
            gaps = np.linalg.norm(centers[kept] - centers[number], axis=1)
            if gaps.min() <= SAME_MODE * radii[number]:
                continue
            nearest = np.array(kept)[np.argsort(gaps)[:COMPARED_MODES]]
            middles = (centers[nearest] + centers[number]) / 2
            if sample.mean_shift(middles, mass)[1].min() <= radii[number]:
                continue
        kept.append(int(number))
    return Modes(centers[kept], radii[kept])


def spreads(sample: ResidentEngine, modes: Modes) -> tuple[list[RadialSpread], Floats, float]:
    """Spread of the cluster around each mode, the weight of the rows within its radius, the gap.

    Each row counts for the nearest mode.
    """
    centers, weights = modes.centers.copy(), sample.data.weights_or_ones()
    found = [RadialSpread()] * len(centers)
    inside = [np.empty(0, dtype=np.intp)] * len(centers)
    for _ in range(REFINEMENTS + 1):
        table = sample.distances(centers).astype(np.float64)
        labels = table.argmin(axis=1)
        nearest = table[np.arange(len(table)), labels]
        for k, spread in enumerate(radial_spreads(nearest, labels, weights, modes.radii)):
            if np.isfinite(spread.radius):  # Otherwise too few rows are left: keep the last one.
                within = (labels == k) & (weights > 0) & (nearest <= spread.radius)
                found[k], inside[k] = spread, np.flatnonzero(within)
        known = [k for k, rows in enumerate(inside) if len(rows)]
        if not known:
            break
        centers[known] = sample.data.means(_indicator([inside[k] for k in known], weights))
    return found, np.array([weights[rows].sum() for rows in inside]), _gap(table, inside, weights)


def _gap(table: Floats, inside: list[NDArray[np.intp]], weights: Floats) -> float:
    """Median distance of the rows of clusters from the second nearest center."""
    members = np.concatenate(inside)
    if table.shape[1] == 1 or not len(members):
        return np.nan
    second = np.partition(table[members], 1, axis=1)[:, 1]
    return weighted_median(second, weights[members])


def _indicator(groups: list[NDArray[np.intp]], weights: Floats) -> csr_array:
    """Weights of the rows of each group, of shape (n_groups, n_rows)."""
    columns = np.concatenate(groups)
    ends = np.concatenate([[0], np.cumsum([len(rows) for rows in groups])])
    return csr_array((weights[columns], columns, ends), shape=(len(groups), len(weights)))


class RadialSpread(NamedTuple):
    """Mean and standard deviation of distances to the power of 2/3; NaN if there are too few."""

    mean: float = np.nan
    deviation: float = np.nan

    @property
    def radius(self) -> float:
        """Distance at which the cluster ends."""
        return float((self.mean + RADIUS_DEVIATIONS * self.deviation) ** 1.5)

    @property
    def dimension(self) -> float:
        """Dimension of a Gaussian with this mean and deviation.

        With ``u = 2 / (9 D)``, these are ``1 - u`` and ``sqrt(u)`` times a scale.
        """
        if not self.deviation > MIN_SPREAD * self.mean:
            return np.nan
        ratio = 2 + (self.mean / self.deviation) ** 2
        return float(4 / (9 * (ratio - np.sqrt(ratio**2 - 4))))


def radial_spreads(
    distances: Floats, labels: NDArray[np.integer], weights: Floats, radii: Floats
) -> list[RadialSpread]:
    """Spread of the distances of each cluster, from inside out, without the rows far from it.

    ``radii`` are those of some rows of each cluster. The limit of the distances grows from there,
    until it lies beyond the radius of the cluster. The mean and the deviation are those of the rows
    within ``TRIM`` deviations of the mean.
    """
    means, deviations = np.empty(len(radii)), np.empty(len(radii))
    core.radial_spreads(
        *grouped(distances, labels, weights),
        np.ascontiguousarray(radii, dtype=np.float64),
        means,
        deviations,
        first_limit=FIRST_LIMIT,
        last_limit=LAST_LIMIT,
        limit_tolerance=LIMIT_TOLERANCE,
        radius_deviations=RADIUS_DEVIATIONS,
        trim=TRIM,
        trimmed_deviation=TRIMMED_DEVIATION,
        mad_to_sigma=MAD_TO_SIGMA,
        min_neighbors=MIN_NEIGHBORS,
        max_growths=MAX_GROWTHS,
        trim_rounds=TRIM_ROUNDS,
    )
    return [RadialSpread(*each) for each in zip(means.tolist(), deviations.tolist(), strict=True)]
