"""A fit, from checked data to a solution.

Parameters that are "auto" are tuned, several starts are run, and the best solution is kept. On
chunked data, with ``n_init="auto"``, starts are compared on a coreset, and only the best one passes
over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from sfumato._checks import check_random_state
from sfumato._data import Data
from sfumato._engines import make_engine
from sfumato._engines.base import Engine
from sfumato._engines.chunked import ChunkedData
from sfumato._fit.auto import Tuned, tune
from sfumato._fit.callbacks import FitTask, IterationTasks
from sfumato._fit.checkpoint import Checkpoint, identity_of
from sfumato._init.base import GivenCenters, Initializer, proposed_centers
from sfumato._outliers import sample_rows
from sfumato._problem import Problem
from sfumato._solvers.acceleration import resolve_acceleration
from sfumato._solvers.descent import Descent, Solution, Stopping, StopReason
from sfumato._solvers.projection import Projection, identity, project
from sfumato._solvers.refill import refill
from sfumato._solvers.restarts import Plan, Start, run_starts
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


class Context(NamedTuple):
    """What all starts of a fit share."""

    estimator: Any
    initializer: Initializer
    plan: Plan
    rng: np.random.RandomState
    checkpoint: Checkpoint | None
    task: FitTask


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
        Its parameters are read; it is not changed.
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
    tasks = plan.starts + _compares_on_coreset(plan, engine)
    task = FitTask(
        estimator,
        estimator._init_callback_context(max_subtasks=tasks),
        given,
        lambda centers: attributes(full, projection.lift(centers)),
    ).begin()
    context = Context(estimator, initializer, plan, rng, file, task)
    best, stability = _best_start(context, engine, tuned)
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
        return project(data, int(estimator.n_clusters))
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
    return tune(engine, int(estimator.n_clusters), initializer, rng, estimator.n_features_in_)


def _compares_on_coreset(plan: Plan, engine: Engine) -> bool:
    return bool(plan.rungs) and isinstance(engine.data, ChunkedData)


def _best_start(context: Context, engine: Engine, tuned: Tuned) -> tuple[Start, float | None]:
    """Best of all starts, on all rows, and the agreement of the best two searches."""
    plan, checkpoint = context.plan, context.checkpoint
    if not _compares_on_coreset(plan, engine):
        best, second = run_starts(_starts(context, engine), plan.rungs)
        return best, _stability(context, engine, best.descent.centers, second)
    if checkpoint is not None and checkpoint.tuned is not None:
        number, stability = checkpoint.tuned["final"], checkpoint.tuned["stability"]
        centers = checkpoint.states[number].centers
    else:
        number = plan.starts
        rows = engine.coreset(int(context.estimator.n_clusters), context.rng)
        first, second = run_starts(_starts(context, rows), plan.rungs)
        centers = first.descent.centers
        stability = _stability(context, engine, centers, second)
    if checkpoint is not None:
        checkpoint.tuned = {
            "loss": engine.problem.loss.get_params(),
            "membership": engine.problem.membership.get_params(),
            "dimension": tuned.dimension,
            "clipped": tuned.clipped,
            "stability": stability,
            "final": number,
        }
    last = context._replace(initializer=GivenCenters(centers), plan=Plan(1))
    return run_starts(_starts(last, engine, number))[0], stability


def _stability(
    context: Context, engine: Engine, centers: Floats, others: Floats | None
) -> float | None:
    """Agreement of the initializer's searches, or else of the best two starts on a sample."""
    stability = context.initializer.stability(centers)
    if stability is not None or others is None:
        return stability
    sample = engine.fixed_sample(sample_rows(len(centers)))
    labels = (sample.assign(each, memberships=False).labels for each in (centers, others))
    return float(adjusted_rand_score(*labels))


def _starts(context: Context, engine: Engine, first: int = 0) -> Iterator[Start]:
    """Starts of the plan, numbered from ``first`` on; each is seeded when it is its turn."""
    estimator, initializer = context.estimator, context.initializer
    stopping = Stopping(int(estimator.max_iter), float(estimator.tol))
    for number in range(first, first + context.plan.starts):
        if number > first and not initializer.random:
            break  # All others would be the same.
        # One task more than steps: the first is at the initial centers.
        task = context.task.begin_subtask(f"start {number}", max_subtasks=stopping.max_iter + 1)
        centers = proposed_centers(initializer, engine, int(estimator.n_clusters), context.rng)
        acceleration = resolve_acceleration(estimator.acceleration, engine.problem)
        descent = Descent(engine, centers, stopping, IterationTasks(task), acceleration)
        descent.refill = refill
        if context.checkpoint is not None:
            context.checkpoint.attach(number, descent)
        yield Start(descent, number, task.end)
