"""Short hard fits to a sample under a capped loss, from seeds that outliers do not attract."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array

from sfumato._engines.base import ResidentEngine
from sfumato._init.base import greedy_seeds
from sfumato._problem import Problem
from sfumato._sampling import draw
from sfumato._solvers.descent import Solution, Stopping, solve
from sfumato._typing import Floats
from sfumato.losses import Capped
from sfumato.memberships import Hard

SEED_CANDIDATES = 20
"""Rows drawn for each seed, of which the best is taken. Chosen by hand: enough that some are not
outliers."""
PAIR_DISTANCE = np.sqrt(2.0)
"""Distance between two rows of a Gaussian cluster over that between a row and the center."""
SWAPS_BY_COST, SWAPS_BEYOND = 10, 40
"""Rows tried as a replacement of each center, per exchange: drawn in proportion to their losses,
and from those beyond the cap. More of the latter, with other changes, lost fewer small clusters
among outliers: 2 of 432 instead of 7."""
MAX_SWAPS = 5
"""Centers exchanged per short fit. Chosen by hand."""
MAX_TABLE = 1 << 22
"""Distances (rows times clusters) above which no exchange is tried, and centers are compared in
several steps: 32 MB in double precision. Chosen by hand."""
MIN_SWAP_GAIN = 1e-9
"""Relative fall of the total below which an exchange counts as rounding."""
SHORT_FIT = Stopping(max_iter=3, tol=1e-3)
"""Iterations and relative tolerance of each stage of a short fit. Chosen by hand."""


def capped_fit(
    sample: ResidentEngine, cap: float, n_clusters: int, rng: np.random.RandomState
) -> Solution:
    """Short hard fit at a cap, from greedy seeds.

    Seeds are rows, not means, and lie ``PAIR_DISTANCE`` times as far from the rows of their
    cluster. So the cap is larger by that factor until the seeds have moved.
    """
    wide = at_cap(sample, PAIR_DISTANCE * cap)
    drawn = draw(sample.data.weights_or_ones(), sample.order(), SEED_CANDIDATES, rng)
    candidates = sample.take(drawn)
    costs = np.full(sample.n_rows, np.inf, dtype=sample.dtype)
    first = candidates[[int(np.argmin(wide.candidate_costs(costs, candidates)))]]
    seeds = greedy_seeds(wide, first, n_clusters, SEED_CANDIDATES, rng)
    centers = solve(wide, seeds, SHORT_FIT).centers
    if n_clusters > 1 and sample.n_rows * n_clusters <= MAX_TABLE:
        centers = solve(wide, swapped(wide, centers, cap, rng), SHORT_FIT).centers
    return solve(at_cap(sample, cap), centers, SHORT_FIT)


def swapped(
    wide: ResidentEngine, centers: Floats, cap: float, rng: np.random.RandomState
) -> Floats:
    """Centers after some were exchanged for rows, as long as that lowers the total loss.

    This is the local search of Lattanzi and Sohler (2019): some rows are drawn, each is tried in
    the place of each center, and the best exchange is made. Rows drawn by their losses part
    clusters that share a center; rows beyond the cap find small clusters that have none.
    """
    weights, order = wide.data.weights_or_ones(), wide.order()
    centers, losses = centers.copy(), _losses(wide, centers)[0]
    for _ in range(MAX_SWAPS):
        labels = losses.argmin(axis=1)
        nearest, second = np.partition(losses, 1, axis=1)[:, :2].T
        beyond = weights * (nearest > cap)
        if not (weights * nearest).any():
            break
        drawn = draw(weights, order, SWAPS_BY_COST, rng, nearest)
        if beyond.any():
            drawn = np.concatenate([drawn, draw(beyond, order, SWAPS_BEYOND, rng)])
        candidates = wide.take(drawn)
        new, totals = _losses(wide, candidates, nearest)
        # Total with each candidate added, plus what its rows lose with each center removed.
        rows = csc_array((weights, labels, np.arange(len(labels) + 1)), (len(centers), len(labels)))
        left = np.minimum(np.maximum(new, nearest[:, None]), second[:, None])
        totals = totals + rows @ (left - nearest[:, None])
        if not totals.min() < (1 - MIN_SWAP_GAIN) * (weights @ nearest):
            break
        worst, best = divmod(int(totals.argmin()), len(drawn))
        centers[worst] = candidates[best]
        losses[:, worst] = new[:, best]
    return centers


def _losses(
    engine: ResidentEngine, centers: Floats, costs: Floats | None = None
) -> tuple[Floats, Floats]:
    """Losses of all rows to all centers, and per center the total of these or of lower costs."""
    losses = np.empty((engine.n_rows, len(centers)), dtype=engine.dtype)
    if costs is None:
        costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
    return losses, engine.candidate_costs(np.ascontiguousarray(costs), centers, losses)


def at_cap(engine: ResidentEngine, cap: float) -> ResidentEngine:
    """Engine for hard clusters under a capped loss."""
    return engine.with_problem(Problem(Capped(cap), Hard()))
