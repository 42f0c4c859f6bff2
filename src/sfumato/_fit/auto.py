"""Parameters that are "auto": the cutoff of the loss, the fuzzifier, gamma.

The cutoff comes from the initializer, or from a search of its own. The others are estimated from a
short pilot fit to a sample.

The fuzzifier. For the power rule to give the posterior of two Gaussian clusters of width sigma in
D dimensions, ``(h1/h2)^(degree/(r-1))`` must equal ``exp(-(h2^2 - h1^2) / (2 sigma^2))``. Rows lie
at ``h^2`` near ``D sigma^2``, which gives ``degree / (r - 1) = D``. With a larger r, in high
dimension, far centers keep large memberships and all centers slide together. D is estimated from
the distances to the nearest center: ``mean(h)^2 / (2 var(h)) = D`` for a D-dimensional Gaussian.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato._engines.base import Assignment, Engine, ResidentEngine
from sfumato._init.base import PILOT_FIT, Initializer, Pilot
from sfumato._init.robust import automatic_cutoff
from sfumato._problem import Problem
from sfumato._solvers.descent import solve
from sfumato._typing import Floats
from sfumato.memberships import Hard

TUNING_ROUNDS = 2
"""Times that the pilot is fitted again with the fuzzifier found so far, and the dimension estimated
again. Chosen by hand."""
MIN_DISTINCT_DISTANCES = 5
"""Distinct distances below which a cluster has no estimate of its dimension; duplicate rows do not
count. Chosen by hand."""
MAX_DIMENSION = 1000
"""Largest estimate. Above it, the exponent ``1/(r-1)`` would visibly magnify the rounding of
float32 distances."""


def tune(
    engine: Engine,
    n_clusters: int,
    initializer: Initializer,
    rng: np.random.RandomState,
    n_features: int | None = None,
) -> tuple[Problem, int | None]:
    """Problem without "auto" parameters, and the intrinsic dimension if one was estimated.

    ``n_features`` is that of the user's data, where the engine works on a projection.
    """
    problem = initializer.prepare(engine, n_clusters, rng)
    if not problem.loss.is_resolved:
        cutoff = automatic_cutoff(engine, n_clusters, rng)
        problem = replace(problem, loss=problem.loss.with_cutoff(cutoff))
    rule = problem.membership
    if rule.is_resolved:
        return problem, None
    pilot = initializer.pilot(engine.with_problem(problem), n_clusters, rng)
    if rule.tuned_by == "losses":
        losses = problem.loss.value(pilot.sample.distances(pilot.centers).astype(np.float64) ** 2)
        weights = pilot.sample.data.weights_or_ones()
        return replace(problem, membership=rule.tuned_to_losses(losses, weights)), None
    return _tuned_to_dimension(problem, pilot, n_features)


def _tuned_to_dimension(
    problem: Problem, pilot: Pilot, n_features: int | None
) -> tuple[Problem, int]:
    """Problem whose rule fits the intrinsic dimension of the clusters, and that dimension."""
    rule, degree = problem.membership, problem.loss.degree
    sample, centers = pilot
    dimension = intrinsic_dimension(sample, centers, n_features)
    for _ in range(TUNING_ROUNDS):
        tuned = replace(problem, membership=rule.tuned_to_dimension(dimension, degree))
        centers = solve(sample.with_problem(tuned), centers, PILOT_FIT).centers
        dimension = intrinsic_dimension(sample, centers, n_features)
    return replace(problem, membership=rule.tuned_to_dimension(dimension, degree)), dimension


def intrinsic_dimension(
    engine: ResidentEngine, centers: Floats, n_features: int | None = None
) -> int:
    """Median over clusters of ``mean(h)^2 / (2 var(h))``, rounded, at most the feature count."""
    hard = engine.with_problem(Problem(engine.problem.loss, Hard()))
    assignment = hard.assign(centers, distances=True, memberships=False)
    weights = engine.data.weights_or_ones()
    cutoff = engine.problem.loss.cutoff  # Rows beyond are outliers.
    estimates = [
        estimate
        for k in range(len(centers))
        if (estimate := _dimension_of(assignment, k, weights, cutoff)) is not None
    ]
    largest = min(n_features or engine.n_features, MAX_DIMENSION)
    if not estimates:
        return largest
    return int(np.clip(np.rint(np.median(estimates)), 1, largest))


def _dimension_of(
    assignment: Assignment, cluster: int, weights: Floats, cutoff: float
) -> float | None:
    """Estimate from one cluster, or None if it is too small or has no spread."""
    assert assignment.distances is not None
    inside = (assignment.labels == cluster) & (assignment.distances < cutoff)
    distances = assignment.distances[inside].astype(np.float64)
    if len(np.unique(distances)) < MIN_DISTINCT_DISTANCES:
        return None
    mean = np.average(distances, weights=weights[inside])
    variance = np.average((distances - mean) ** 2, weights=weights[inside])
    if not variance > np.finfo(np.float32).eps * mean**2:
        return None
    return float(mean**2 / (2 * variance))
