"""A cap that outliers do not move, and seeds that they do not attract.

Any loss without a bound pays for outliers until it has given them centers of their own; a capped
one needs a cap between the reach of a cluster and its neighbors. It is found on a sample of bounded
size. First the radius around a row within which a tenth of an average cluster lies: a quarter of
the rows are deep enough inside a cluster for that to say how wide it is, however many outliers
there are. Then a few rounds of seeding, a short hard fit, and a new cap from the distances within
the clusters, until it is still. The share of outliers is never asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.spatial.distance import cdist
from scipy.special import gammaincinv

from sfumato.data import draw
from sfumato.engines.base import Engine, ResidentEngine
from sfumato.problem import Capped, Hard, Problem
from sfumato.problem.checks import is_auto
from sfumato.solve.initializers import greedy_seeds
from sfumato.solve.reaches import trimmed_reaches
from sfumato.solve.solution import Solution
from sfumato.solve.solver import solve
from sfumato.solve.stopping import Stopping

Floats = NDArray[np.floating]

CAP_DEVIATIONS = 4.0
"""Deviations from the median at which the cap lies: one in 30,000 rows of a Gaussian cluster."""
PROBES, LEAST_PROBES, PROBE_NUMBERS = 128, 16, 1 << 22
"""Rows around which the data is looked at for a first scale; fewer if that were many numbers."""
SMALLER = 0.5
FACTORS = (1.0, SMALLER, 3.0, 9.0)
"""Of the first cap, where it leaves out too many rows."""
OUTLIER_PENALTY = 1.0
"""Of the log-likelihood; an outlier costs that much more than a row at the width of a cluster."""
CORE = 0.1
"""Share of an average cluster that is looked for around a probe."""
LEAST_CORE = 4
"""Rows that are looked for at least, the probe itself included."""
TRIALS = 20
"""Rows from which each seed is chosen: enough that some are no outliers."""
ROUNDS = 8
FIRST_FITS = 2
"""Fits of which the best is taken where there is none to compare with."""
CLEARLY_WORSE = 0.005
"""Relative excess of an objective that is not a matter of taste."""
SAME, ENOUGH_REPEATS = 0.1, 2
"""Share of the mean loss by which centers of equal fits may differ; how many equal ones will do."""
STILL = 0.01
"""Relative change below which the cap is still."""
BETWEEN_ROWS = np.sqrt(2.0)
"""Two rows of a cluster are this much farther apart than a row and the center."""
WELL_BEYOND = 1.1
"""Times the cap; a cluster that was just within it may come out a little larger."""
BY_COST, BEYOND = 10, 40
"""Rows that are tried in the place of a center: drawn by what they cost, and beyond the cap."""
SWAPS, LARGEST_TABLE = 5, 1 << 22
"""Seeds that are exchanged, at most; none where distances to all would be too many."""
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
    Where three fits out of independent draws have come to the same centers, no more are made.
    """

    careful = True

    def __init__(self) -> None:
        self._sample: ResidentEngine | None = None
        self._cap: float | None = None
        self._best: Repeated | None = None
        self._begun = False

    @property
    def random(self) -> bool:
        """Whether another call may give other centers: until fits agree."""
        return self._best is None or self._best.repeats < ENOUGH_REPEATS

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Centers of a short fit to the sample; the first time, of the one that set the cap."""
        best = self.best(engine, n_clusters, rng)
        if not self._begun or not self.random:
            self._begun = True
            return best.fit.centers
        sample, cap = self._sampled(engine, n_clusters, rng), self.cap(engine, n_clusters, rng)
        found = capped_fit(sample, cap, n_clusters, rng)
        self._best = best.beside(found, sample)
        alike = found.objective <= (1 + CLEARLY_WORSE) * self._best.fit.objective
        return (found if alike else self._best.fit).centers

    def best(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Repeated:
        """Best fit so far; at first, of those that set the cap."""
        cap = self.cap(engine, n_clusters, rng)
        if self._best is None:
            sample = self._sampled(engine, n_clusters, rng)
            self._best = best_fit(sample, cap, n_clusters, rng, FIRST_FITS)
        return self._best

    def cap(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> float:
        """The cap of the problem's loss, or one that is found and remembered."""
        if self._cap is None:
            given = getattr(engine.problem.loss, "cap", "auto")
            if is_auto(given):
                sample = self._sampled(engine, n_clusters, rng)
                found = automatic_cap(sample, n_clusters, rng)
                self._cap = np.inf if found is None else found.cap
                self._best = None if found is None else found.best
            else:
                self._cap = float(given)
        return self._cap

    def _sampled(
        self, engine: Engine, n_clusters: int, rng: np.random.RandomState
    ) -> ResidentEngine:
        if self._sample is None:
            self._sample = engine.sampled(sample_rows(n_clusters), rng)
        return self._sample


def automatic_cap(
    sample: ResidentEngine, n_clusters: int, rng: np.random.RandomState
) -> Settled | None:
    """Distance beyond which no cluster reaches, and a fit at it; None if rows have no scale.

    The first scale is that of narrow clusters. If it leaves out as many rows as a small cluster
    has, larger ones are tried, and the one that describes the rows best is taken.
    """
    first = first_cap(sample, n_clusters, rng)
    if not 0 < first < np.inf:
        return None
    settled: list[Settled] = []
    for factor in FACTORS:
        fits = 1 if settled else FIRST_FITS
        settled.append(settle(sample, factor * first, n_clusters, rng, fits))
        if settled[-1].missed <= CORE / n_clusters:
            break
    # A small cap that would have grown, had it been allowed to, is not one that rows have chosen.
    best = min((found for found in settled if found.cap != SMALLER * first), key=lambda f: f.misfit)
    repeated = best.best.go_on(_capped(sample, best.cap))
    for other in settled:
        if other is not best and repeated.is_same(other.best.fit, sample):
            repeated = repeated._replace(repeats=repeated.repeats + 1 + other.best.repeats)
    return best._replace(best=repeated)


class Repeated(NamedTuple):
    """A fit, and how many fits from other seeds came to the same centers."""

    fit: Solution
    repeats: int = 0

    def beside(self, other: Solution, sample: ResidentEngine) -> Repeated:
        """The better one of both."""
        repeats = self.repeats + 1 if self.is_same(other, sample) else 0
        if other.objective < self.fit.objective:
            return Repeated(other, repeats)
        return Repeated(self.fit, max(repeats, self.repeats))

    def is_same(self, other: Solution, sample: ResidentEngine) -> bool:
        """Whether each center has one of the other fit near, and no two the same one."""
        near = SAME * self.fit.objective / float(sample.data.weights_or_ones().sum())
        distances = cdist(self.fit.centers, other.centers)
        partners = set(distances.argmin(axis=1))
        return len(partners) == len(distances) and bool((distances.min(axis=1) <= near).all())

    def go_on(self, engine: ResidentEngine) -> Repeated:
        """Some more iterations, of another problem."""
        return self._replace(fit=solve(engine, self.fit.centers, SHORT))


class Settled(NamedTuple):
    """A cap that is still, with a fit, and what was seen at it."""

    cap: float
    best: Repeated
    missed: float
    """Share of the weight beyond the reaches of all clusters."""
    misfit: float
    """How badly the clusters describe the rows."""


def settle(
    sample: ResidentEngine,
    largest: float,
    n_clusters: int,
    rng: np.random.RandomState,
    fits: int = 1,
) -> Settled:
    """Rounds of short fits and of looking at the distances, from the largest cap on."""
    cap = largest
    best = best_fit(sample, cap, n_clusters, rng, fits)
    for _ in range(ROUNDS):
        clusters = look(sample, best.fit.centers, cap)
        before, cap = cap, min(largest, clusters.widest(cap))
        if abs(cap - before) <= STILL * before:
            break
        best = best.go_on(_capped(sample, cap))
    return Settled(cap, best, clusters.missed(), clusters.misfit())


class Clusters(NamedTuple):
    """Rows of a sample beside their nearest centers, and the scales of the clusters."""

    distances: Floats
    labels: NDArray[np.integer]
    weights: Floats
    reach: Callable[[float], Floats]
    dimension: int

    def widest(self, cap: float) -> float:
        """Largest reach of the clusters; the cap itself if none has one.

        Those of few rows do not count, nor those that reach well beyond the cap: they are none, but
        outliers that share a center.
        """
        found = self.reach(CAP_DEVIATIONS)
        return float(np.max(found[found <= WELL_BEYOND * cap], initial=0.0)) or cap

    def missed(self) -> float:
        """Share of the weight beyond the reaches."""
        outside = ~(self.distances <= self.reach(CAP_DEVIATIONS)[self.labels])
        return float(np.average(outside, weights=self.weights))

    def misfit(self) -> float:
        """Minus the log-likelihood of the rows, but for constants.

        Each is either of a Gaussian as wide as the median of its cluster says, or an outlier, whose
        density falls as a power of its distance and so has no scale; none is nearer than rows of
        the narrowest cluster are.
        """
        D, medians = self.dimension, self.reach(0.0)
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
    assignment = _capped(sample, cap).assign(centers, distances=True, memberships=False)
    assert assignment.distances is not None
    distances, labels = assignment.distances.astype(np.float64), assignment.labels
    weights = sample.data.weights_or_ones()
    reach = trimmed_reaches(distances, labels, weights, len(centers), limit=cap, least=CORE)
    return Clusters(distances, labels, weights, reach, sample.n_features)


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


def best_fit(
    sample: ResidentEngine, cap: float, n_clusters: int, rng: np.random.RandomState, fits: int
) -> Repeated:
    """Best of some capped fits."""
    best = Repeated(capped_fit(sample, cap, n_clusters, rng))
    for _ in range(1, fits):
        best = best.beside(capped_fit(sample, cap, n_clusters, rng), sample)
    return best


def capped_fit(
    sample: ResidentEngine, cap: float, n_clusters: int, rng: np.random.RandomState
) -> Solution:
    """Short hard fit at the cap from greedy seeds, which are rows and need a wider one at first."""
    wide = _capped(sample, BETWEEN_ROWS * cap)
    candidates = sample.take(draw(sample.data.weights_or_ones(), sample.order(), TRIALS, rng))
    costs = np.full(sample.n_rows, np.inf, dtype=sample.dtype)
    first = candidates[[int(np.argmin(wide.potentials(costs, candidates)))]]
    centers = solve(wide, greedy_seeds(wide, first, n_clusters, TRIALS, rng), SHORT).centers
    if n_clusters > 1 and sample.n_rows * n_clusters <= LARGEST_TABLE:
        centers = solve(wide, swapped(wide, centers, cap, rng), SHORT).centers
    return solve(_capped(sample, cap), centers, SHORT)


def swapped(
    wide: ResidentEngine, centers: Floats, cap: float, rng: np.random.RandomState
) -> Floats:
    """Centers of which some are exchanged for rows, as long as that lowers the total.

    Some rows are drawn, and each is tried in the place of each center (Lattanzi and Sohler, 2019).
    Some of them by what they cost, because two clusters may share a center, and more of those
    beyond the cap, because a small cluster may have none.
    """
    weights, order = wide.data.weights_or_ones(), wide.order()
    centers, losses = centers.copy(), _losses(wide, centers)[0]
    for _ in range(SWAPS):
        labels = losses.argmin(axis=1)
        nearest, second = np.partition(losses, 1, axis=1)[:, :2].T
        missed = weights * (nearest > cap)
        if not (weights * nearest).any():
            break
        drawn = draw(weights, order, BY_COST, rng, nearest)
        if missed.any():
            drawn = np.concatenate([drawn, draw(missed, order, BEYOND, rng)])
        candidates = wide.take(drawn)
        new, totals = _losses(wide, candidates, nearest)
        # What the rows of each cluster lose with its center, beside what all win by the new one.
        rows = csc_array((weights, labels, np.arange(len(labels) + 1)), (len(centers), len(labels)))
        left = np.minimum(np.maximum(new, nearest[:, None]), second[:, None])
        totals = totals + rows @ (left - nearest[:, None])
        if not totals.min() < (1 - ROUNDING) * (weights @ nearest):
            break
        worst, best = divmod(int(totals.argmin()), len(drawn))
        centers[worst] = candidates[best]
        losses[:, worst] = new[:, best]
    return centers


def _losses(
    engine: ResidentEngine, centers: Floats, costs: Floats | None = None
) -> tuple[Floats, Floats]:
    """Losses of all rows to all centers, and the weighted totals of these or of lower costs."""
    losses = np.empty((engine.n_rows, len(centers)), dtype=engine.dtype)
    if costs is None:
        costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
    return losses, engine.potentials(np.ascontiguousarray(costs), centers, losses)


def _radii(distances: Floats, weights: Floats, masses: tuple[float, ...]) -> Floats:
    """Radii around each probe, a row of distances, within which the weights reach the masses.

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


def _capped(engine: ResidentEngine, cap: float) -> ResidentEngine:
    return engine.with_problem(Problem(Capped(cap), Hard()))
