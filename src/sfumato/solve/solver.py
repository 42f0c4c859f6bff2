"""The one loop.

Any new algorithm is a new step, never a new loop.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.base import Engine
from sfumato.solve.repairs import repair
from sfumato.solve.solution import IterationRecord, Outcome, Solution
from sfumato.solve.stopping import Stopping

Floats = NDArray[np.floating]


class Observer(Protocol):
    """Whoever is told of every iteration."""

    def begin(self) -> None:
        """Learn that an iteration begins."""

    def end(self, record: IterationRecord, centers: Floats) -> bool:
        """Learn of its record and of the centers that it began with; return True to stop."""


def solve(
    engine: Engine, start: Floats, stopping: Stopping, observer: Observer | None = None
) -> Solution:
    """Minimize the engine's problem from the given centers.

    Parameters
    ----------
    engine : Engine
        Who passes over the data.
    start : ndarray of shape (n_clusters, n_features)
        Initial centers, float64.
    stopping : Stopping
    observer : Observer, optional
        Told of every iteration.

    Returns
    -------
    Solution
        Its centers are those at which the objective was last evaluated.
    """
    began = time.perf_counter()
    centers: Floats = np.array(start, dtype=np.float64)
    history: list[IterationRecord] = []
    objectives: list[float] = []
    outcome: Outcome | None = None
    while outcome is None:
        if observer is not None:
            observer.begin()
        statistics = engine.sweep(centers)
        stepped, repairs = repair(engine, centers, statistics.centers(centers), statistics)
        objectives.append(statistics.objective)
        outcome = stopping(objectives, bool(repairs))
        if outcome is not None:
            stepped, repairs = centers, ()
        shift = float(np.sqrt(((stepped - centers) ** 2).sum(axis=1).max()))
        record = IterationRecord(statistics.objective, time.perf_counter() - began, shift, repairs)
        if observer is not None and observer.end(record, centers) and outcome is None:
            outcome = Outcome.STOPPED_BY_CALLBACK
            record = replace(record, shift=0.0, repairs=())  # The step is not taken.
        history.append(record)
        if outcome is None:
            centers = stepped
    return Solution(centers, tuple(history), outcome)
