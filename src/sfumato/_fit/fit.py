"""A fit, from checked data to a solution.

Parameters that are "auto" are tuned, several starts are run (``starts.py``), and the best solution
is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from sfumato._checks import check_random_state
from sfumato._data import Data
from sfumato._engines import make_engine
from sfumato._engines.base import Engine
from sfumato._engines.chunked import ChunkedData
from sfumato._fit.auto import Tuned, tune
from sfumato._fit.callbacks import FitTask
from sfumato._fit.checkpoint import Checkpoint, identity_of
from sfumato._fit.starts import Context, best_start, level_sizes
from sfumato._init.base import Initializer
from sfumato._problem import Problem
from sfumato._solvers.descent import Solution, StopReason
from sfumato._solvers.projection import Projection, identity, project
from sfumato._solvers.restarts import Plan
from sfumato._typing import Floats

Attributes = Callable[[Engine, Floats], dict[str, Any]]
"""From an engine and centers to the attributes with which a copy of the estimator can predict."""


class FitResult(NamedTuple):
    """Result of a fit.

    Attributes
    ----------
    solution : Solution
        Best of all starts, in the coordinates of the user's data.
    engine : Engine
        Engine on the user's data, for the problem with every parameter a number.
    dimension : float or None
        Intrinsic dimension of the clusters, if a parameter needed it.
    clipped : {"lower", "upper"} or None
        End of its range at which a fuzzifier that is "auto" was clipped, if it was.
    stability : float or None
        Agreement of independent searches, between 0 and 1, if there were several.
    """

    solution: Solution
    engine: Engine
    dimension: float | None
    clipped: str | None = None
    stability: float | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        data = self.engine.data
        if isinstance(data, ChunkedData):
            return int(data.positives[-1])
        return int(np.count_nonzero(data.weights_or_ones()))


def fit(
    estimator: Any,
    data: Data | ChunkedData,
    problem: Problem,
    initializer: Initializer,
    given: dict[str, Any],
    attributes: Attributes,
    checkpoint: str | PathLike[str] | None = None,
) -> FitResult:
    """Fit an estimator to data.

    Parameters
    ----------
    estimator : estimator
        Its parameters and ``n_clusters_`` are read; it is not changed.
    data : Data or ChunkedData
    problem : Problem
        Its parameters may be "auto".
    initializer : Initializer
    given : dict
        Data and metadata as they came from the user, for callbacks.
    attributes : Attributes
    checkpoint : path, optional
        File to resume from, and to write the state to.
    """
    rng = check_random_state(estimator.random_state)
    file = (
        None
        if checkpoint is None
        else Checkpoint.open(checkpoint, identity_of(estimator, data), rng)
    )
    rng = rng if file is None else file.rng()
    projection = _project(estimator, data)
    engine = make_engine(estimator.engine, projection.data, problem, estimator.n_threads)
    tuned = _tune(estimator, engine, initializer, rng, file)
    engine = full = engine.with_problem(tuned.problem)
    if projection.data is not data:
        full = make_engine(estimator.engine, data, tuned.problem, estimator.n_threads)

    plan = Plan.of(estimator.n_init, initializer.random, initializer.refined)
    sizes = level_sizes(plan, engine, int(estimator.n_clusters_))
    task = FitTask(
        estimator,
        estimator._init_callback_context(max_subtasks=plan.total + len(sizes)),
        given,
        lambda centers: attributes(full, projection.lift(centers)),
    ).begin()
    context = Context(estimator, initializer, plan, sizes, rng, file, task, [])
    best, stability = best_start(context, engine, tuned)
    stopped = best.descent.outcome is StopReason.STOPPED_BY_CALLBACK
    if file is not None and not stopped:  # A stopped start can be resumed from the last state.
        file.finish(best.number, best.descent)
    task.end(best.descent.centers)
    solution = best.descent.solution()
    lifted = replace(solution, centers=projection.lift(solution.centers))
    return FitResult(lifted, full, tuned.dimension, tuned.clipped, stability)


def _project(estimator: Any, data: Data | ChunkedData) -> Projection:
    """Projection onto the row space of the data; none unless ``init`` is a name."""
    if isinstance(data, Data) and isinstance(estimator.init, str):
        return project(data, int(estimator.n_clusters_))
    return identity(data)


def _tune(
    estimator: Any,
    engine: Engine,
    initializer: Initializer,
    rng: np.random.RandomState,
    checkpoint: Checkpoint | None,
) -> Tuned:
    """Problem with every parameter a number; stored ones if any."""
    if checkpoint is not None and checkpoint.tuned is not None:
        kept = checkpoint.tuned
        problem = engine.problem.with_loss(**kept["loss"]).with_membership(**kept["membership"])
        return Tuned(problem, kept["dimension"], kept["clipped"])
    return tune(engine, int(estimator.n_clusters_), initializer, rng, estimator.n_features_in_)
