"""A fit, from checked data to a solution: parameters are tuned, starts race, the best goes on.

Starts on data in pieces race on rows that stand for all, and only the best passes over the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from typing import Any

from sklearn.utils import check_random_state

from sfumato._data import Data
from sfumato._engines import make_engine
from sfumato._engines.base import Engine
from sfumato._engines.chunked import ChunkedData
from sfumato._fit.auto import tune
from sfumato._fit.callbacks import FitTask, IterationTasks
from sfumato._fit.checkpoint import Checkpoint, identity_of
from sfumato._init.base import GivenCenters, Initializer, proposed_centers
from sfumato._problem import Problem
from sfumato._solvers.acceleration import resolve_acceleration
from sfumato._solvers.descent import Descent, Outcome, Solution, Stopping
from sfumato._solvers.projection import Projection, identity, project
from sfumato._solvers.restarts import Plan, run_starts
from sfumato._typing import Floats


class Fit:
    """A fit of an estimator to data.

    Parameters
    ----------
    estimator : estimator
        Whose parameters say how.
    data : Data or ChunkedData
    problem : Problem
        Parameters that are "auto" are found here.
    initializer : Initializer
    checkpoint : path, optional
        File to go on from, and to keep the state in.

    Attributes
    ----------
    engine : Engine
        On the data as it came, for the problem with every parameter a number.
    dimension : int or None
        Intrinsic dimension of the clusters, where a parameter asked for it.
    """

    def __init__(
        self,
        estimator: Any,
        data: Data | ChunkedData,
        problem: Problem,
        initializer: Initializer,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.estimator = estimator
        self.initializer = initializer
        self._rng = check_random_state(estimator.random_state)
        self._checkpoint: Checkpoint | None = None
        if checkpoint is not None:
            identity = identity_of(estimator, data)
            self._checkpoint = Checkpoint(checkpoint, identity, self._rng)
            self._rng = self._checkpoint.rng
        self._projection = self._project(data)
        untuned = self._engine_on(self._projection.data, problem)
        problem, self.dimension = self._tuned(untuned)
        self._solving = untuned.with_problem(problem)
        same = self._projection.data is data
        self.engine = self._solving if same else self._engine_on(data, problem)

    def best(
        self, given: dict[str, Any], attributes: Callable[[Floats], dict[str, Any]]
    ) -> Solution:
        """Lowest objective of all starts, with callbacks told of every iteration.

        Parameters
        ----------
        given : dict
            Data and metadata, as they came from the user.
        attributes : callable
            From centers to the attributes with which a copy of the estimator can predict.
        """
        estimator, engine = self.estimator, self._solving
        lift = self._projection.lift
        plan = Plan.of(estimator.n_init, self.initializer.random, self.initializer.refined)
        apart = bool(plan.rungs) and isinstance(engine.data, ChunkedData)
        context = estimator._init_callback_context(max_subtasks=plan.starts + apart)
        fit = FitTask(estimator, context, given, lambda centers: attributes(lift(centers)))
        if not apart:
            best = self._run(engine, self.initializer, plan, fit)
        else:
            best = self._run_apart(plan, fit)
        fit.end(best.centers)
        solution = best.solution()
        return replace(solution, centers=lift(solution.centers))

    def _run_apart(self, plan: Plan, fit: FitTask) -> Descent:
        """Race on rows that stand for all, then let the best pass over the data."""
        checkpoint = self._checkpoint
        if checkpoint is not None and checkpoint.tuned is not None:
            final = checkpoint.tuned["final"]
            start = checkpoint.states[final].centers
        else:
            ground = self._solving.coreset(self.estimator.n_clusters, self._rng)
            start = self._run(ground, self.initializer, plan, fit).centers
            final = plan.starts
        if checkpoint is not None:
            problem = self._solving.problem
            checkpoint.tuned = {
                "loss": problem.loss.get_params(),
                "membership": problem.membership.get_params(),
                "dimension": self.dimension,
                "final": final,
            }
        return self._run(self._solving, GivenCenters(start), Plan(1), fit, final)

    def _run(
        self, engine: Engine, initializer: Initializer, plan: Plan, fit: FitTask, first: int = 0
    ) -> Descent:
        """Best of the starts of a plan, numbered from ``first`` on; it has ended."""
        estimator = self.estimator
        stopping = Stopping(estimator.max_iter, estimator.tol)
        tasks: dict[Descent, FitTask] = {}
        numbers: dict[Descent, int] = {}

        def starts() -> Iterator[Descent]:
            for number in range(first, first + plan.starts):
                if number > first and not initializer.random:
                    break  # All others would be the same.
                task = fit.subtask(f"start {number}", max_subtasks=estimator.max_iter)
                start = proposed_centers(initializer, engine, estimator.n_clusters, self._rng)
                acceleration = resolve_acceleration(estimator.acceleration, engine.problem)
                descent = Descent(engine, start, stopping, IterationTasks(task), acceleration)
                if self._checkpoint is not None:
                    descent.keep = self._checkpoint.restore(number, descent)
                tasks[descent], numbers[descent] = task, number
                yield descent

        best = run_starts(
            starts(), plan.rungs, lambda start, best: tasks.pop(start).end(best.centers)
        )
        for task in tasks.values():  # Of starts that a callback left where they stood.
            task.end(best.centers)
        best.stop()
        ended = best.outcome is not Outcome.STOPPED_BY_CALLBACK  # Otherwise it may go on one day.
        if self._checkpoint is not None and engine is self._solving and ended:
            self._checkpoint.finish(numbers[best], best)
        return best

    def _project(self, data: Data | ChunkedData) -> Projection:
        """Wide data is solved in its own span, unless centers are given, which may lie outside."""
        if isinstance(data, Data) and isinstance(self.estimator.init, str):
            return project(data, self.estimator.n_clusters)
        return identity(data)

    def _engine_on(self, data: Data | ChunkedData, problem: Problem) -> Engine:
        estimator = self.estimator
        return make_engine(estimator.engine, data, problem, estimator.n_threads)

    def _tuned(self, engine: Engine) -> tuple[Problem, int | None]:
        """Problem with every parameter a number; a fit that passes over pieces has kept it."""
        if self._checkpoint is not None and self._checkpoint.tuned is not None:
            kept = self._checkpoint.tuned
            problem = engine.problem.with_loss(**kept["loss"]).with_membership(**kept["membership"])
            return problem, kept["dimension"]
        n_features = self.estimator.n_features_in_
        return tune(engine, self.estimator.n_clusters, self.initializer, self._rng, n_features)
