"""Parameters that are "auto": the cutoff of the loss, the fuzzifier, gamma.

The cutoff comes from the initializer, or from a search of its own. The fuzzifier follows from the
intrinsic dimension of the clusters, which is a property of the data (``_init/dimension.py``). Gamma
is estimated from a short pilot fit to a sample.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sfumato._engines.base import Engine
from sfumato._init.base import Initializer
from sfumato._init.dimension import MAX_DIMENSION, intrinsic_dimension
from sfumato._init.robust import automatic_cutoff
from sfumato._problem import Problem

MAX_HARDENING = 4
"""Largest factor of the dimension, where a small cluster would be lost beside a large one: rows of
the large one that belong to both a little pull its center over. Chosen by hand: a segment of 4 %
beside one of 32 % needs 2 or 4; with 8, half as many centers as clusters were kept in their places
now and then, and the fuzzifier depended on chance."""


class Tuned(NamedTuple):
    """Problem with every parameter a number.

    Attributes
    ----------
    problem : Problem
    dimension : float or None
        Intrinsic dimension of the clusters, if a parameter needed it.
    clipped : {"lower", "upper"} or None
        End of its range at which the fuzzifier was clipped, if it was.
    """

    problem: Problem
    dimension: float | None = None
    clipped: str | None = None


def tune(
    engine: Engine,
    n_clusters: int,
    initializer: Initializer,
    rng: np.random.RandomState,
    n_features: int | None = None,
) -> Tuned:
    """Problem without "auto" parameters, and what they were estimated from.

    ``n_features`` is that of the user's data, where the engine works on a projection.
    """
    problem = initializer.prepare(engine, n_clusters, rng)
    if not problem.loss.is_resolved:
        cutoff = automatic_cutoff(engine, n_clusters, rng)
        problem = replace(problem, loss=problem.loss.with_cutoff(cutoff))
    rule = problem.membership
    if rule.is_resolved:
        return Tuned(problem)
    if rule.tuned_by == "losses":
        pilot = initializer.pilot(engine.with_problem(problem), n_clusters, rng)
        losses = problem.loss.value(pilot.sample.distances(pilot.centers).astype(np.float64) ** 2)
        weights = pilot.sample.data.weights_or_ones()
        return Tuned(replace(problem, membership=rule.tuned_to_losses(losses, weights)))
    found = initializer.intrinsic
    if found is None or n_features not in (None, engine.n_features):
        found = intrinsic_dimension(engine, n_clusters, n_features)
    dimension = found.dimension
    tuned = _keeping_clusters(problem, dimension, initializer)
    clipped = "upper" if found.limited else "lower" if dimension == MAX_DIMENSION else None
    return Tuned(tuned, dimension, clipped)


def _keeping_clusters(problem: Problem, dimension: float, initializer: Initializer) -> Problem:
    """Problem with the fuzzifier of a dimension, or the largest smaller one that keeps clusters.

    It is that of the dimension if no smaller one does: there may be more clusters than centers, and
    then other pairs of clusters can share a center, whatever the fuzzifier.
    """
    factors = 2 ** np.arange(int(np.log2(MAX_HARDENING)) + 1)
    rules = [
        problem.membership.tuned_to_dimension(float(factor * dimension), problem.loss.degree)
        for factor in factors
    ]
    tried = (replace(problem, membership=rule) for rule in rules)
    matched = replace(problem, membership=rules[0])
    return next((each for each in tried if initializer.keeps_clusters(each)), matched)
