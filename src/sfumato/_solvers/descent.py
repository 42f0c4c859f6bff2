"""What a fit leaves behind: records per iteration, an outcome in words, the centers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np

from sfumato._engines.base import Engine
from sfumato._problem import Statistics
from sfumato._solvers.acceleration import Acceleration, PlainSteps
from sfumato._typing import Floats


class Outcome(Enum):
    """Why the loop stopped, in words that say what to do.

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> model = REFCMFS(n_clusters=1, random_state=0).fit([[0.0], [1.0], [5.0]])
    >>> print(model.outcome_)
    Converged: the objective fell by less than `tol` of its value.
    >>> model.outcome_.converged
    True
    """

    CONVERGED = "Converged: the objective fell by less than `tol` of its value."
    EXACT = "Converged: every row lies on a center, the objective is zero."
    OUT_OF_ITERATIONS = (
        "Stopped at `max_iter` before the objective settled; raise `max_iter` or loosen `tol`."
    )
    STOPPED_BY_CALLBACK = "Stopped by a callback before the objective settled."

    def __str__(self) -> str:
        return str(self.value)

    @property
    def converged(self) -> bool:
        """Whether the loop ended of itself."""
        return self in (Outcome.CONVERGED, Outcome.EXACT)


@dataclass(frozen=True)
class IterationRecord:
    """One iteration.

    Attributes
    ----------
    objective : float
        Value at the centers the iteration began with.
    seconds : float
        Time that the loop has run so far, without pauses in which other starts had their turn.
    shift : float
        Largest distance that a center was then to move; 0 in the last iteration, after which the
        centers stay.
    repairs : tuple of int
        Empty clusters whose centers were moved to a badly served row.
    passes : int
        Passes over the data that it took: 2 where an accelerated step raised the objective and was
        taken back.

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> model = REFCMFS(n_clusters=1, random_state=0).fit([[0.0], [1.0], [5.0]])
    >>> last = model.history_[-1]
    >>> round(last.objective, 3), last.shift, last.repairs
    (5.0, 0.0, ())
    """

    objective: float
    seconds: float
    shift: float
    repairs: tuple[int, ...] = ()
    passes: int = 1


@dataclass(frozen=True)
class Solution:
    """Centers, how they were reached, and why the loop stopped there."""

    centers: Floats
    history: tuple[IterationRecord, ...]
    outcome: Outcome

    @property
    def objective(self) -> float:
        """Objective at the centers."""
        return self.history[-1].objective


LARGEST_ROUNDING = 1e-6
"""More than the rounding of float32 distances can raise a sum over the rows, relatively."""


@dataclass(frozen=True)
class Stopping:
    """Stop when the objective falls by at most ``tol`` of its value, or after ``max_iter``.

    The paper prints this condition inverted and absolute; relative to the value, it does not
    depend on the units of the data.
    """

    max_iter: int
    tol: float

    def __call__(self, objectives: Sequence[float], repaired: bool) -> Outcome | None:
        """Outcome after the given objective values, the last being that of the present centers.

        A repair in the present iteration will change the objective, so it counts as progress.
        """
        if objectives[-1] == 0:
            return Outcome.EXACT
        if len(objectives) > 1 and not repaired and self._settled(objectives):
            return Outcome.CONVERGED
        if len(objectives) >= self.max_iter:
            return Outcome.OUT_OF_ITERATIONS
        return None

    def _settled(self, objectives: Sequence[float]) -> bool:
        """Whether the last fall was small and no larger than the one before.

        Under a loss with a kink, a center very near a row leaves it in steps that start tiny and
        grow many times over: small falls that still grow are a beginning, not an end. A rise
        beyond rounding comes from a rule that minimizes no function, while its centers still move.
        """
        previous, present = objectives[-2:]
        fall = previous - present
        if fall <= 0:
            return -fall <= LARGEST_ROUNDING * abs(previous)
        if fall > self.tol * abs(previous) or len(objectives) == 2:
            return False
        return fall <= objectives[-3] - previous


def repair(
    engine: Engine, centers: Floats, stepped: Floats, statistics: Statistics
) -> tuple[Floats, tuple[int, ...]]:
    """Move the centers of empty clusters; return the centers and which were moved.

    Each empty center goes to the row that is worst served by the others, one after the other, so
    that no two go to the same place. A center that no row uses adds nothing to the objective, and
    one more center to choose from can only lower it.
    """
    empty = statistics.empty
    if not len(empty):
        return stepped, ()
    served = np.setdiff1d(np.arange(len(centers)), empty)
    rows = engine.worst_fitted_rows(centers[served], len(empty))
    repaired = stepped.copy()
    moved = empty[: len(rows)]
    repaired[moved] = rows
    return repaired, tuple(map(int, moved))


class Observer(Protocol):
    """Whoever is told of every iteration."""

    def begin(self) -> None:
        """Learn that an iteration begins."""

    def end(self, record: IterationRecord, centers: Floats) -> bool:
        """Learn of its record and of the centers that it began with; return True to stop."""


def solve(
    engine: Engine,
    start: Floats,
    stopping: Stopping,
    observer: Observer | None = None,
    acceleration: Acceleration | None = None,
) -> Solution:
    """Minimize the engine's problem from the given centers; see :class:`Descent`."""
    descent = Descent(engine, start, stopping, observer, acceleration)
    descent.run()
    return descent.solution()


class Descent:
    """The loop from one start, which can pause and go on.

    Parameters
    ----------
    engine : Engine
        Who passes over the data.
    start : ndarray of shape (n_clusters, n_features)
        Initial centers, float64.
    stopping : Stopping
    observer : Observer, optional
        Told of every iteration.
    acceleration : Acceleration, optional
        Who proposes steps; a proposal that raises the objective is replaced by the plain step.

    Attributes
    ----------
    centers : ndarray
        Those at which the objective was last evaluated.
    outcome : Outcome or None
        Why it ended; None while it has not.
    keep : callable or None
        Called with the descent after every iteration, to keep its state.
    """

    def __init__(
        self,
        engine: Engine,
        start: Floats,
        stopping: Stopping,
        observer: Observer | None = None,
        acceleration: Acceleration | None = None,
    ) -> None:
        self.engine = engine
        self.stopping = stopping
        self.observer = observer
        self.acceleration: Acceleration = acceleration or PlainSteps()
        self.centers: Floats = np.array(start, dtype=np.float64)
        self.history: list[IterationRecord] = []
        self.outcome: Outcome | None = None
        self.keep: Callable[[Descent], None] | None = None
        self._step = Step(self.centers)
        self._stored: DescentState | None = None

    def run(self, iterations: int | None = None) -> None:
        """Go on to the end, or until there were so many iterations in all."""
        while self.outcome is None and (iterations is None or len(self.history) < iterations):
            if self._stored is not None:
                self._replay(self._stored)
                continue
            self._iterate()
            if self.keep is not None and self.outcome is not Outcome.STOPPED_BY_CALLBACK:
                self.keep(self)

    def state(self) -> DescentState:
        """All that the next iteration depends on, and the history."""
        history = tuple(self.history)
        memory = self.acceleration.memory()
        return DescentState(self.centers, history, self.outcome, self._step, memory)

    def restore(self, state: DescentState) -> None:
        """Go through the stored iterations without passing over the data, and on from there."""
        assert not self.history, "the descent has begun"
        self._stored = state if state.history else None

    def _replay(self, stored: DescentState) -> None:
        record = stored.history[len(self.history)]
        if self.observer is not None:
            self.observer.begin()
            self.observer.end(record, stored.centers)
        self.history.append(record)
        if len(self.history) == len(stored.history):
            self.centers, self.outcome, self._step = stored.centers, stored.outcome, stored.step
            self.acceleration.remember(stored.memory)
            self._stored = None

    def stop(self) -> None:
        """End here, if it has not ended of itself."""
        if self.outcome is None:
            self.outcome = Outcome.STOPPED_BY_CALLBACK
            self.history[-1] = replace(self.history[-1], shift=0.0, repairs=())

    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self.outcome is None

    @property
    def objective(self) -> float:
        """Objective at the centers."""
        return self.history[-1].objective

    def solution(self) -> Solution:
        """What was found."""
        assert self.outcome is not None, "the descent has not ended"
        return Solution(self.centers, tuple(self.history), self.outcome)

    def _iterate(self) -> None:
        began = time.perf_counter()
        if self.observer is not None:
            self.observer.begin()
        centers, statistics, passes = _evaluate(
            self.engine, self._step, self.history, self.acceleration
        )
        plain, repairs = repair(self.engine, centers, statistics.centers(centers), statistics)
        objectives = [*(record.objective for record in self.history), statistics.objective]
        outcome = self.stopping(objectives, bool(repairs))
        if outcome is None:
            step = _next_step(self.acceleration, centers, statistics, plain, repairs)
        else:
            step, repairs = Step(centers), ()
        before = self.history[-1].seconds if self.history else 0.0
        seconds = before + time.perf_counter() - began
        shift = largest_shift(centers, step.centers)
        record = IterationRecord(statistics.objective, seconds, shift, repairs, passes)
        if self.observer is not None and self.observer.end(record, centers) and outcome is None:
            outcome = Outcome.STOPPED_BY_CALLBACK
            record = replace(record, shift=0.0, repairs=())  # The step is not taken.
        self.history.append(record)
        self.centers, self.outcome, self._step = centers, outcome, step
        if outcome is not None:  # Memory that is of no use any more.
            self.acceleration, self._step = PlainSteps(), Step(centers)


class Step(NamedTuple):
    """Centers to go to, and the plain ones to go to instead if the objective would rise."""

    centers: Floats
    otherwise: Floats | None = None


class DescentState(NamedTuple):
    """A descent between two iterations."""

    centers: Floats
    history: tuple[IterationRecord, ...]
    outcome: Outcome | None
    step: Step
    memory: dict[str, Floats]
    """Of the acceleration."""


def _evaluate(
    engine: Engine, step: Step, history: list[IterationRecord], acceleration: Acceleration
) -> tuple[Floats, Statistics, int]:
    """Centers after the step, their statistics, and how many passes it took."""
    statistics = engine.sweep(step.centers)
    if step.otherwise is None or statistics.objective <= history[-1].objective:
        return step.centers, statistics, 1
    acceleration.forget()
    return step.otherwise, engine.sweep(step.otherwise), 2


def _next_step(
    acceleration: Acceleration,
    centers: Floats,
    statistics: Statistics,
    plain: Floats,
    repairs: tuple[int, ...],
) -> Step:
    """Proposed step, with the plain one to fall back on; after a repair, the plain one."""
    if repairs:
        acceleration.forget(jumped=True)
        return Step(plain)
    proposal = acceleration.propose(centers, statistics, plain)
    return Step(plain) if proposal is None else Step(proposal, plain)


def largest_shift(before: Floats, after: Floats) -> float:
    """Largest distance that a center moves."""
    return float(np.sqrt(((after - before) ** 2).sum(axis=1).max()))
