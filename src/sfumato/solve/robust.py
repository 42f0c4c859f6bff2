"""A cap that outliers do not move, and seeds that they do not attract.

Any loss without a bound pays for outliers until it has given them centers of their own; a capped
one needs a cap between the reach of a cluster and its neighbors. It is found on a sample of bounded
size. First the radius around a row within which a tenth of an average cluster lies: a quarter of
the rows are deep enough inside a cluster for that to say how wide it is, however many outliers
there are. Then a few rounds of seeding, a short hard fit, and a new cap from the distances within
the clusters, until it is still. The share of outliers is never asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from sfumato.data import draw
from sfumato.engines.base import Engine
from sfumato.problem import Capped, Hard, Problem
from sfumato.solve.initializers import greedy_seeds
from sfumato.solve.reaches import trimmed_reaches
from sfumato.solve.solution import Solution
from sfumato.solve.solver import solve
from sfumato.solve.stopping import Stopping

Floats = NDArray[np.floating]

CAP_DEVIATIONS = 4.0
"""Deviations from the median at which the cap lies: one in 30,000 rows of a Gaussian cluster."""
PROBES = 128
"""Rows around which the data is looked at for a first scale."""
CORE = 0.1
"""Share of an average cluster that is looked for around a probe."""
LEAST_CORE = 4
"""Rows that are looked for at least, the probe itself included."""
TRIALS = 20
"""Rows from which each seed is chosen: enough that some are no outliers."""
ROUNDS = 8
FIRST_FITS = 3
"""Fits of which the best is taken where there is none to compare with."""
CLEARLY_WORSE = 0.005
"""Relative excess of an objective that is not a matter of taste."""
STILL = 0.01
"""Relative change below which the cap is still."""
BETWEEN_ROWS = np.sqrt(2.0)
"""Two rows of a cluster are this much farther apart than a row and the center."""
WELL_BEYOND = 1.1
"""Times the cap; a cluster that was just within it may come out a little larger."""
SWAPS = 5
"""Seeds that are tried to be exchanged, at most."""
ROUNDING = 1e-9
SHORT = Stopping(max_iter=4, tol=1e-3)


def sample_rows(n_clusters: int) -> int:
    """Size of the sample: it grows with the clusters, never with the data."""
    return 2048 + 32 * n_clusters


class RobustSeeds:
    """Seeds that outliers do not attract, whatever the loss.

    Each is the best of 20 rows, drawn in proportion to their distance to the nearest seed but no
    more than a cap, and chosen by how much it lowers the capped total: an outlier lowers it by
    itself alone. A few capped hard iterations then move the seeds from rows into the clusters. All
    this sees one sample of bounded size. The cap is that of the problem's loss, or is found there.

    Seeds that are clearly worse than the best so far are replaced by these: once memberships are
    soft, two centers in a large cluster can cost less than one in it and one in a small cluster.
    """

    random = True
    careful = True

    def __init__(self) -> None:
        self._sample: Engine | None = None
        self._cap: float | None = None
        self._best: Solution | None = None

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Centers of a short fit to the sample."""
        if self._sample is None:
            self._sample = engine.sampled(sample_rows(n_clusters), rng)
        if self._cap is None:
            loss = engine.problem.loss
            known = isinstance(loss, Capped)
            self._cap = loss.cap if known else automatic_cap(self._sample, n_clusters, rng)
        fits = [
            capped_fit(self._sample, self._cap, n_clusters, rng)
            for _ in range(FIRST_FITS if self._best is None else 1)
        ]
        found = min(fits, key=lambda fit: fit.objective)
        if self._best is None or found.objective < self._best.objective:
            self._best = found
        alike = found.objective <= (1 + CLEARLY_WORSE) * self._best.objective
        return (found if alike else self._best).centers


def automatic_cap(engine: Engine, n_clusters: int, rng: np.random.RandomState) -> float:
    """Distance beyond which no cluster reaches; infinity if the rows have no scale."""
    sample = engine.sampled(sample_rows(n_clusters), rng)
    largest = cap = first_cap(sample, n_clusters, rng)
    fits: list[Solution] = []
    for _ in range(ROUNDS):
        if not 0 < cap < np.inf:
            return float(np.inf)
        again = [solve(_capped(sample, cap), fit.centers, SHORT) for fit in fits]
        new = [capped_fit(sample, cap, n_clusters, rng) for _ in range(1 if fits else FIRST_FITS)]
        fits = [min(again + new, key=lambda fit: fit.objective)]
        before, cap = cap, min(largest, widest_reach(sample, fits[0].centers, cap))
        if abs(cap - before) <= STILL * before:
            break
    return cap


def widest_reach(sample: Engine, centers: Floats, cap: float) -> float:
    """Largest reach of the clusters; the cap itself if none has one.

    Those of few rows do not count, nor those that reach well beyond the cap: they are none, but
    outliers that share a center.
    """
    assignment = _capped(sample, cap).assign(centers, distances=True, memberships=False)
    assert assignment.distances is not None
    reaches = trimmed_reaches(
        assignment.distances,
        assignment.labels,
        sample.data.weights_or_ones(),
        len(centers),
        limit=cap,
        least=CORE,
    )
    found = reaches(CAP_DEVIATIONS)
    return float(np.max(found[found <= WELL_BEYOND * cap], initial=0.0)) or cap


def first_cap(sample: Engine, n_clusters: int, rng: np.random.RandomState) -> float:
    """Generous cap from how near the rows around a row are; outliers have none near."""
    weights = sample.data.weights_or_ones()
    probes = sample.take(draw(weights, sample.order(), PROBES, rng))
    distances = np.ascontiguousarray(sample.distances(probes).T, dtype=np.float64)
    cluster = weights.sum() / n_clusters
    core = max(CORE * cluster, LEAST_CORE * float(weights.max()))
    radii, inner = np.array([_radii(row, weights, (core, core / 2)) for row in distances]).T
    growing = (radii <= np.median(radii)) & (inner > 0) & (inner < radii)
    if core > cluster / 2 or not growing.any():
        return float(np.inf)
    dimension = float(np.median(np.log(2.0) / np.log(radii[growing] / inner[growing])))
    dimension = float(np.clip(dimension, 1.0, sample.data.n_features))
    # Quantiles of half the squared distance, of almost all of a Gaussian cluster and of its core.
    most, least = gammaincinv(dimension / 2, [0.999, core / cluster])
    scale = float(np.quantile(radii[radii > 0], 0.25))
    return 2 * scale / BETWEEN_ROWS * float(np.sqrt(most / least))


def capped_fit(sample: Engine, cap: float, n_clusters: int, rng: np.random.RandomState) -> Solution:
    """Short hard fit at the cap from greedy seeds, which are rows and need a wider one at first."""
    wide = _capped(sample, BETWEEN_ROWS * cap)
    candidates = sample.take(draw(sample.data.weights_or_ones(), sample.order(), TRIALS, rng))
    costs = np.full(sample.n_rows, np.inf, dtype=sample.data.dtype)
    first = candidates[[int(np.argmin(wide.potentials(costs, candidates)))]]
    centers = solve(wide, greedy_seeds(wide, first, n_clusters, TRIALS, rng), SHORT).centers
    for _ in range(SWAPS):
        swapped = swap(wide, centers, cap, rng)
        if swapped is None:
            break
        centers = solve(wide, swapped, SHORT).centers
    return solve(_capped(sample, cap), centers, SHORT)


def swap(wide: Engine, centers: Floats, cap: float, rng: np.random.RandomState) -> Floats | None:
    """Exchange a center for a row if that lowers the total; None if nothing does.

    Some rows are drawn, and each is tried in the place of each center (Lattanzi and Sohler, 2019).
    Half of them by what they cost, because two clusters may share a center, and half of those
    beyond the cap, because a small cluster may have none.
    """
    weights = wide.data.weights_or_ones()
    losses = _losses(wide, centers)
    nearest = losses.min(axis=1)
    if len(centers) == 1 or not (weights * nearest).any():
        return None
    second = np.partition(losses, 1, axis=1)[:, 1]
    labels = losses.argmin(axis=1)
    drawn = draw(weights, wide.order(), TRIALS // 2, rng, nearest)
    missed = weights * (nearest > cap)
    if missed.any():
        drawn = np.concatenate([drawn, draw(missed, wide.order(), TRIALS // 2, rng)])
    candidates = wide.take(drawn)
    totals = np.empty((len(drawn), len(centers)))
    for trial, new in enumerate(_losses(wide, candidates).T):
        kept, left = np.minimum(new, nearest), np.minimum(new, second)
        totals[trial] = weights @ kept
        totals[trial] += np.bincount(labels, weights * (left - kept), len(centers))
    if not totals.min() < (1 - ROUNDING) * (weights @ nearest):
        return None
    best, worst = divmod(int(totals.argmin()), len(centers))
    swapped = centers.copy()
    swapped[worst] = candidates[best]
    return swapped


def _losses(engine: Engine, centers: Floats) -> Floats:
    return engine.problem.loss.value(engine.distances(centers).astype(np.float64) ** 2)


def _radii(distances: Floats, weights: Floats, masses: tuple[float, ...]) -> Floats:
    """Radii within which the weights of the rows reach the given masses."""
    order = np.argsort(distances)
    places = np.searchsorted(np.cumsum(weights[order]), masses)
    return distances[order[np.minimum(places, len(order) - 1)]]


def _capped(engine: Engine, cap: float) -> Engine:
    return engine.with_problem(Problem(Capped(cap), Hard()))
