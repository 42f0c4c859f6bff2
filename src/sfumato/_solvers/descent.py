"""Descent from one start: the iteration, its stopping rule and the repair of empty clusters.

An iteration passes over the data at the present centers and steps to their re-weighted means. Full
fits, short fits and pilot fits all run this loop. ``online.py`` takes a fixed number of such steps
instead, and the medoids and landmarks of ``estimators`` have loops of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np

from sfumato._engines.base import Engine
from sfumato._problem import SMALLEST_NORMAL, Statistics
from sfumato._solvers.acceleration import Acceleration, PlainSteps
from sfumato._typing import Floats
from sfumato.exceptions import Message, Option

TOL, MAX_ITER = Option("tol"), Option("max_iter")


class StopReason(Enum):
    """Why the iteration stopped; as a string, with advice.

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> model = REFCMFS(n_clusters=1, random_state=0).fit([[0.0], [1.0], [5.0]])
    >>> model.outcome_.reason.name
    'CONVERGED'
    """

    CONVERGED = Message("Converged: the objective fell by less than ", TOL, " of its value.")
    EXACT = Message("Converged: every row lies on a center, the objective is zero.")
    OUT_OF_ITERATIONS = Message(
        *("Stopped at ", MAX_ITER, " before the objective settled; raise ", MAX_ITER),
        *(" or loosen ", TOL, "."),
    )
    STOPPED_BY_CALLBACK = Message("Stopped by a callback before the objective settled.")

    def __str__(self) -> str:
        return str(self.value)

    @property
    def converged(self) -> bool:
        """Whether the stopping rule was met, rather than a limit or a callback."""
        return self in (StopReason.CONVERGED, StopReason.EXACT)


@dataclass(frozen=True)
class IterationRecord:
    """Record of a pass: the objective at the centers, and the step from there.

    The first is at the initial centers, each other one after an iteration.

    Attributes
    ----------
    objective : float
        Value at the centers.
    seconds : float
        Seconds that this start has run so far, without those of other starts in between.
    shift : float
        Largest distance between the old and the new position of a center; 0 in the last record,
        after which the centers stay.
    repairs : tuple of int
        Clusters without rows whose centers were moved. Where that raised the objective, all centers
        are back in the next iteration, which takes 2 passes.
    passes : int
        Passes over the data: 2 where a step that was accelerated or moved a cluster raised the
        objective and was replaced, otherwise 1.

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
    """Centers, the records from the initial ones to these, and why the iteration stopped."""

    centers: Floats
    history: tuple[IterationRecord, ...]
    outcome: StopReason

    @property
    def objective(self) -> float:
        """Objective at the centers."""
        return self.history[-1].objective


LARGEST_ROUNDING = 1e-6
"""Relative rise of the objective that counts as rounding: float32 distances raise a sum over the
rows by less. Chosen by hand."""


@dataclass(frozen=True)
class Stopping:
    """Stop when the objective falls by at most ``tol`` of its value, or after ``max_iter`` steps.

    The fall must not be larger than the one before, and no cluster was repaired in this iteration.
    The paper prints this condition inverted and absolute; relative to the value, it does not
    depend on the units of the data.
    """

    max_iter: int
    tol: float

    def __call__(self, objectives: Sequence[float], repaired: bool) -> StopReason | None:
        """Reason to stop after these objectives, the first of the initial centers; None to go on.

        A repair in the present iteration will lower the objective, so it counts as progress.
        """
        if objectives[-1] == 0:
            return StopReason.EXACT
        if len(objectives) > 1 and not repaired and self._settled(objectives):
            return StopReason.CONVERGED
        if len(objectives) > self.max_iter:
            return StopReason.OUT_OF_ITERATIONS
        return None

    def _settled(self, objectives: Sequence[float]) -> bool:
        """Whether the last fall was small and no larger than the one before.

        Under a loss with a kink, a center very near a row leaves it in steps that start tiny and
        grow many times over, so small falls that still grow are not convergence. Some rules
        (``Simplex`` with ``n_active``) minimize no fixed objective: a rise beyond rounding means
        that the centers still move.
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
    """Move the centers of empty clusters; return the centers and the clusters that were moved.

    Each goes to the row with the largest weighted loss to the other centers, one after the other,
    so that no two go to the same place. A center that no row uses adds nothing to the objective,
    and one more center to choose from can only lower it.
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
    """Hooks that are called around every iteration."""

    def begin(self) -> None:
        """Hook before an iteration."""

    def end(self, record: IterationRecord, centers: Floats) -> bool:
        """Hook after it, with its record and the centers at its beginning; True to stop."""


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
    """Iteration from one start, which can pause and resume.

    Parameters
    ----------
    engine : Engine
        Data and problem.
    start : ndarray of shape (n_clusters, n_features)
        Initial centers, float64.
    stopping : Stopping
    observer : Observer, optional
    acceleration : Acceleration, optional
        Proposes steps; one that raises the objective is replaced by the plain step.

    Attributes
    ----------
    centers : ndarray
        Centers at which the objective was last evaluated, float64.
    history : list of IterationRecord
    outcome : StopReason or None
        Why it ended; None while it can go on.
    keep : callable or None
        Called with the descent after every iteration, e.g. to write a checkpoint.
    refill : callable or None
        Called with the engine and the centers when the objective has settled; see ``refill.py``.
        If it returns centers and the clusters that it has moved, the descent goes on from there.
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
        self.outcome: StopReason | None = None
        self.keep: Callable[[Descent], None] | None = None
        self.refill: Callable[[Engine, Floats], tuple[Floats, tuple[int, ...]] | None] | None = None
        self._step = Step(self.centers)
        self._stored: DescentState | None = None

    def run(self, iterations: int | None = None) -> None:
        """Iterate to the end, or until there are so many iterations in all.

        The objective is known then, so that there is one record more than iterations.
        """
        while self.outcome is None and (iterations is None or len(self.history) <= iterations):
            if self._stored is not None:
                self._replay(self._stored)
                continue
            self._iterate()
            if self.keep is not None and self.outcome is not StopReason.STOPPED_BY_CALLBACK:
                self.keep(self)

    def state(self) -> DescentState:
        """State that the next iteration depends on, with the history."""
        history = tuple(self.history)
        memory = self.acceleration.memory()
        return DescentState(self.centers, history, self.outcome, self._step, memory)

    def restore(self, state: DescentState) -> None:
        """Let ``run`` replay the stored iterations without passes, and go on from there."""
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
        """End here, unless the stopping rule has ended it already."""
        if self.outcome is None:
            self.outcome = StopReason.STOPPED_BY_CALLBACK
            self.history[-1] = replace(self.history[-1], shift=0.0, repairs=())

    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self.outcome is None

    @property
    def objective(self) -> float:
        """Objective at the centers."""
        return self.history[-1].objective

    def solution(self) -> Solution:
        """Result of a descent that has ended."""
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
        refilled = self._refilled(centers, objectives) if outcome is StopReason.CONVERGED else None
        if refilled is not None:
            (step, repairs), outcome = refilled, None
        elif outcome is None:
            step = _next_step(self.acceleration, centers, statistics, plain, repairs)
        else:
            step, repairs = Step(centers), ()
        before = self.history[-1].seconds if self.history else 0.0
        seconds = before + time.perf_counter() - began
        shift = largest_shift(centers, step.centers)
        record = IterationRecord(statistics.objective, seconds, shift, repairs, passes)
        if self.observer is not None and self.observer.end(record, centers) and outcome is None:
            outcome = StopReason.STOPPED_BY_CALLBACK
            record = replace(record, shift=0.0, repairs=())  # The step is not taken.
        self.history.append(record)
        self.centers, self.outcome, self._step = centers, outcome, step
        if outcome is not None:  # Its memory is not needed any more.
            self.acceleration, self._step = PlainSteps(), Step(centers)

    def _refilled(
        self, centers: Floats, objectives: list[float]
    ) -> tuple[Step, tuple[int, ...]] | None:
        """Step that moves centers of clusters without rows, to be undone if the objective rises.

        None if there is no such cluster, no iteration is left, or the last such step gained
        nothing.
        """
        if self.refill is None or len(objectives) > self.stopping.max_iter:
            return None
        last = next((record.objective for record in reversed(self.history) if record.repairs), None)
        if last is not None and not objectives[-1] < (1 - LARGEST_ROUNDING) * last:
            return None
        found = self.refill(self.engine, centers)
        if found is None:
            return None
        self.acceleration.forget(jumped=True)
        return Step(found[0], centers), found[1]


class Step(NamedTuple):
    """Next centers, and the plain step to take instead if they raise the objective."""

    centers: Floats
    otherwise: Floats | None = None


class DescentState(NamedTuple):
    """State of a descent between two iterations; ``memory`` is that of the acceleration."""

    centers: Floats
    history: tuple[IterationRecord, ...]
    outcome: StopReason | None
    step: Step
    memory: dict[str, Floats]


def _evaluate(
    engine: Engine, step: Step, history: list[IterationRecord], acceleration: Acceleration
) -> tuple[Floats, Statistics, int]:
    """Centers after the step, their statistics, and the number of passes."""
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
    """Accelerated step, with the plain one to fall back on; after a repair, the plain one."""
    if repairs:
        acceleration.forget(jumped=True)
        return Step(plain)
    proposal = acceleration.propose(centers, statistics, plain)
    return Step(plain) if proposal is None else Step(proposal, plain)


def largest_shift(before: Floats, after: Floats) -> float:
    """Largest distance between the old and the new position of a center."""
    shifts = after - before
    with np.errstate(over="ignore"):
        squared = float(np.einsum("ij,ij->i", shifts, shifts).max())
    if SMALLEST_NORMAL < squared < np.inf:
        return squared**0.5
    largest = float(np.abs(shifts).max()) or 1.0  # Squares overflow, or vanish.
    return largest * float(np.sqrt(((shifts / largest) ** 2).sum(axis=1).max()))
