"""Parameters that the data chooses, from a short pilot fit on a sample.

The fuzzifier. For the power rule to give the posterior of two Gaussian clusters of width sigma in
D dimensions, ``(h1/h2)^(degree/(r-1))`` must equal ``exp(-(h2^2 - h1^2) / (2 sigma^2))``. Rows lie
at ``h^2`` near ``D sigma^2``, which gives ``degree / (r - 1) = D``. With a larger r, in high
dimension, far centers keep large memberships and all centers slide together. D is read off
the distances to the nearest center: ``mean(h)^2 / (2 var(h)) = D`` for a D-dimensional Gaussian.
"""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from sfumato._checks import is_auto
from sfumato._engines.base import Assignment, Engine, ResidentEngine
from sfumato._init.base import Initializer
from sfumato._init.robust import RobustSeeds
from sfumato._init.short_fits import SHORT
from sfumato._problem import Problem
from sfumato._solvers.descent import Solution, Stopping, solve
from sfumato._typing import Floats
from sfumato.losses import Capped
from sfumato.memberships import Hard, Power, Simplex, row_gamma

PILOT = Stopping(max_iter=20, tol=1e-3)
PILOT_STARTS = 3
PILOT_ROUNDS = 2
LEAST_CLUSTER = 5
"""Different rows below which a cluster says nothing about its dimension; copies do not count."""
SHARED = 2
"""Memberships of a typical row under an automatic gamma: with five, centers slide together."""
LARGEST_DIMENSION = 1000
"""Above it the exponent 1/(r-1) would magnify the rounding of float32 distances visibly."""


def pilot_rows(n_clusters: int) -> int:
    """Size of the pilot's sample: it grows with the clusters, never with the data."""
    return 4096 + 64 * n_clusters


def needs_pilot(problem: Problem) -> bool:
    """Whether a parameter of the membership rule waits for the data."""
    rule = problem.membership
    return is_auto(getattr(rule, "fuzzifier", None)) or is_auto(getattr(rule, "gamma", None))


def tune(
    engine: Engine,
    n_clusters: int,
    initializer: Initializer,
    rng: np.random.RandomState,
    n_features: int | None = None,
) -> tuple[Problem, int | None]:
    """Problem with every parameter a number, and the intrinsic dimension if one was needed.

    ``n_features`` are those of the user's data, where the engine sees others.
    """
    problem = engine.problem
    if isinstance(problem.loss, Capped) and is_auto(problem.loss.cap):
        seeds = initializer if isinstance(initializer, RobustSeeds) else RobustSeeds()
        problem = problem.with_loss(cap=seeds.cap(engine, n_clusters, rng))
        engine = engine.with_problem(problem)
    needed = needs_pilot(problem)
    if not needed and not (isinstance(initializer, RobustSeeds) and initializer.may_be_clean()):
        return problem, None
    rng = rng if needed else deepcopy(rng)
    sample = engine.subsample(pilot_rows(n_clusters), rng)
    pilot = _pilot(sample.with_problem(Problem(problem.loss, Hard())), n_clusters, initializer, rng)
    if not needed:
        return problem, None
    if isinstance(problem.membership, Simplex):
        return problem.with_membership(gamma=typical_gamma(sample, pilot.centers)), None
    dimension = intrinsic_dimension(sample, pilot.centers, n_features)
    for _ in range(PILOT_ROUNDS):
        tuned = problem.with_membership(fuzzifier=matched_fuzzifier(problem, dimension))
        pilot = solve(sample.with_problem(tuned), pilot.centers, PILOT)
        dimension = intrinsic_dimension(sample.with_problem(tuned), pilot.centers, n_features)
    return problem.with_membership(fuzzifier=matched_fuzzifier(problem, dimension)), dimension


def _pilot(
    engine: Engine, n_clusters: int, initializer: Initializer, rng: np.random.RandomState
) -> Solution:
    """Best of a few short hard fits; they also tell whether robust seeds are needed."""
    if not isinstance(initializer, RobustSeeds):
        number = PILOT_STARTS if initializer.random else 1
        return _best(engine, [initializer.centers(engine, n_clusters, rng) for _ in range(number)])
    best = initializer.best(engine, n_clusters, rng)
    if initializer.may_be_clean():
        plain = _best(engine, [initializer.plain(engine, rng) for _ in range(PILOT_STARTS)])
        if initializer.decide(solve(engine, best, SHORT).objective, plain.objective):
            return plain
    return solve(engine, best, PILOT)


def _best(engine: Engine, starts: list[Floats]) -> Solution:
    fits = [solve(engine, start, PILOT) for start in starts]
    return min(fits, key=lambda fit: fit.objective)


def matched_fuzzifier(problem: Problem, dimension: int) -> float:
    """Fuzzifier that suits clusters of this dimension: 1 + 1/D, or 1 + 2/D for squared losses."""
    assert isinstance(problem.membership, Power)
    return 1 + problem.loss.degree / dimension


def intrinsic_dimension(
    engine: ResidentEngine, centers: Floats, n_features: int | None = None
) -> int:
    """Median over clusters of ``mean(h)^2 / (2 var(h))``, rounded, at most the feature count."""
    hard = engine.with_problem(Problem(engine.problem.loss, Hard()))
    assignment = hard.assign(centers, distances=True, memberships=False)
    weights = engine.data.weights_or_ones()
    limit = float(getattr(engine.problem.loss, "cap", np.inf))  # Outliers have no dimension.
    estimates = [
        estimate
        for k in range(len(centers))
        if (estimate := _dimension_of(assignment, k, weights, limit)) is not None
    ]
    largest = min(n_features or engine.n_features, LARGEST_DIMENSION)
    if not estimates:
        return largest
    return int(np.clip(np.rint(np.median(estimates)), 1, largest))


def _dimension_of(
    assignment: Assignment, cluster: int, weights: Floats, limit: float
) -> float | None:
    """Estimate from one cluster, or None if it is too small or has no spread."""
    assert assignment.distances is not None
    inside = (assignment.labels == cluster) & (assignment.distances < limit)
    distances = assignment.distances[inside].astype(np.float64)
    if len(np.unique(distances)) < LEAST_CLUSTER:
        return None
    mean = np.average(distances, weights=weights[inside])
    variance = np.average((distances - mean) ** 2, weights=weights[inside])
    if not variance > np.finfo(np.float32).eps * mean**2:
        return None
    return float(mean**2 / (2 * variance))


def typical_gamma(engine: ResidentEngine, centers: Floats) -> float:
    """Mean over rows of the gamma that would leave two memberships."""
    losses = engine.problem.loss.value(engine.distances(centers).astype(np.float64) ** 2)
    n_active = min(SHARED, len(centers))
    nearest = np.sort(losses, axis=1)[:, : n_active + 1]
    gamma = float(np.average(row_gamma(nearest, n_active), weights=engine.data.weights_or_ones()))
    return gamma if gamma > 0 else 1.0
