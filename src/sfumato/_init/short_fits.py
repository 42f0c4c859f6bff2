"""Short hard fits under a capped loss, from seeds that outliers do not attract.

They see a sample of bounded size. Each is cheap, and good enough to be compared with others: those
out of independent draws that come to the same centers are all that need be known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array
from scipy.spatial.distance import cdist

from sfumato._engines.base import ResidentEngine
from sfumato._init.base import greedy_seeds
from sfumato._problem import Problem
from sfumato._sampling import draw
from sfumato._solvers.descent import Solution, Stopping, solve
from sfumato._typing import Floats
from sfumato.losses import Capped
from sfumato.memberships import Hard

TRIALS = 20
"""Rows from which each seed is chosen: enough that some are no outliers."""
BETWEEN_ROWS = np.sqrt(2.0)
"""Two rows of a cluster are this much farther apart than a row and the center."""
BY_COST, BEYOND = 10, 40
"""Rows that are tried in the place of a center: drawn by what they cost, and beyond the cap."""
SWAPS, LARGEST_TABLE = 5, 1 << 22
"""Seeds that are exchanged, at most; none where distances to all would be more than that."""
ROUNDING = 1e-9
"""Share by which an exchange has to lower the total."""
SHORT = Stopping(max_iter=4, tol=1e-3)
SAME = 0.1
"""Share of the mean loss by which centers of equal fits may differ."""


class AgreeingFits(NamedTuple):
    """A fit, and how many fits from other seeds have come to the same centers on the way."""

    fit: Solution
    repeats: int = 0

    def beside(self, other: Solution, sample: ResidentEngine) -> AgreeingFits:
        """The better one of both."""
        repeats = self.repeats + 1 if self.is_same(other, sample) else 0
        if other.objective < self.fit.objective:
            return AgreeingFits(other, repeats)
        return AgreeingFits(self.fit, max(repeats, self.repeats))

    def is_same(self, other: Solution, sample: ResidentEngine) -> bool:
        """Whether each center has one of the other fit near, and no two the same one."""
        near = SAME * self.fit.objective / float(sample.data.weights_or_ones().sum())
        partners: set[int] = set()
        step = max(1, LARGEST_TABLE // len(other.centers))
        for begin in range(0, len(self.fit.centers), step):
            distances = cdist(self.fit.centers[begin : begin + step], other.centers)
            if (distances.min(axis=1) > near).any():
                return False
            partners.update(distances.argmin(axis=1).tolist())
        return len(partners) == len(self.fit.centers)

    def go_on(self, engine: ResidentEngine) -> AgreeingFits:
        """Some more iterations, of another problem."""
        return self._replace(fit=solve(engine, self.fit.centers, SHORT))


def best_fit(
    sample: ResidentEngine, cap: float, n_clusters: int, rng: np.random.RandomState, fits: int
) -> AgreeingFits:
    """Best of some capped fits."""
    best = AgreeingFits(capped_fit(sample, cap, n_clusters, rng))
    for _ in range(1, fits):
        best = best.beside(capped_fit(sample, cap, n_clusters, rng), sample)
    return best


def capped_fit(
    sample: ResidentEngine, cap: float, n_clusters: int, rng: np.random.RandomState
) -> Solution:
    """Short hard fit at the cap from greedy seeds, which are rows and need a wider one at first."""
    wide = at_cap(sample, BETWEEN_ROWS * cap)
    candidates = sample.take(draw(sample.data.weights_or_ones(), sample.order(), TRIALS, rng))
    costs = np.full(sample.n_rows, np.inf, dtype=sample.dtype)
    first = candidates[[int(np.argmin(wide.candidate_costs(costs, candidates)))]]
    centers = solve(wide, greedy_seeds(wide, first, n_clusters, TRIALS, rng), SHORT).centers
    if n_clusters > 1 and sample.n_rows * n_clusters <= LARGEST_TABLE:
        centers = solve(wide, swapped(wide, centers, cap, rng), SHORT).centers
    return solve(at_cap(sample, cap), centers, SHORT)


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
    return losses, engine.candidate_costs(np.ascontiguousarray(costs), centers, losses)


def at_cap(engine: ResidentEngine, cap: float) -> ResidentEngine:
    """Engine for hard clusters under a capped loss."""
    return engine.with_problem(Problem(Capped(cap), Hard()))
