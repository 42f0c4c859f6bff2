"""Short hard fits to a sample under a capped loss, from seeds that outliers do not attract."""

from __future__ import annotations

import numpy as np

from sfumato._engines.base import ResidentEngine
from sfumato._init.base import greedy_seeds
from sfumato._outliers import PAIR_DISTANCE
from sfumato._problem import Problem
from sfumato._sampling import draw
from sfumato._solvers.descent import Solution, Stopping, solve
from sfumato._solvers.exchange import exchange
from sfumato.losses import Capped
from sfumato.memberships import Hard

SEED_CANDIDATES = 20
"""Rows drawn for each seed, of which the best is taken. Chosen by hand: enough that some are not
outliers."""
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
    centers = solve(wide, exchange(wide, centers, rng, cap), SHORT_FIT).centers
    return solve(at_cap(sample, cap), centers, SHORT_FIT)


def at_cap(engine: ResidentEngine, cap: float) -> ResidentEngine:
    """Engine for hard clusters under a capped loss."""
    return engine.with_problem(Problem(Capped(cap), Hard()))
