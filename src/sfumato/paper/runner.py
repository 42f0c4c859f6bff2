"""Runs the missing cells in processes of one thread each, and stores each as it ends.

A run that fails or passes its time limit is an outcome with a reason, and the rest go on; other
seeds of a method that was too slow on a data set are not tried.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, field
from multiprocessing import connection
from threading import Thread
from typing import Any

import numpy as np
from pebble import ProcessExpired, ProcessPool
from threadpoolctl import threadpool_limits

from sfumato.metrics import accuracy, nmi
from sfumato.paper.experiment import Cell, sample_of
from sfumato.paper.methods import METHODS
from sfumato.paper.store import Outcome, Store

Kind = tuple[str, str]
"""A data set and a method."""
TOO_SLOW = "more than"
"""How the reason begins of a run that passed its time limit."""


def run_cell(cell: Cell) -> Outcome:
    """Fit and measure, in one thread. The method does not see the classes."""
    sample = sample_of(cell.data)
    model = METHODS[cell.method].make(cell.task(sample.n_clusters))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        labels = np.asarray(model.fit_predict(sample.X))
        seconds = time.perf_counter() - began
    return Outcome(
        cell,
        seconds,
        accuracy(sample.y, labels),
        nmi(sample.y, labels),
        float(getattr(model, "objective_", np.nan)),
        labels if cell.parameters is not None else None,
    )


@dataclass
class Progress:
    """How far a run is, and how long the rest will take.

    Parameters
    ----------
    jobs : int
        Cells that run at once.
    """

    jobs: int
    finished: int = 0
    waiting: int = 0
    left: float = 0.0
    """Seconds, estimated from cells of the same method and data set that have ended."""
    latest: Outcome | None = None
    _seconds: dict[Kind, list[float]] = field(default_factory=lambda: defaultdict(list))

    def note(self, outcome: Outcome) -> None:
        """Learn how long a cell took."""
        self._seconds[outcome.cell.data, outcome.cell.method].append(outcome.seconds)

    def estimate(self, waiting: Iterable[Cell]) -> None:
        """Sum what the waiting cells are likely to take."""
        means = {kind: float(np.mean(seconds)) for kind, seconds in self._seconds.items()}
        typical = float(np.mean(list(means.values()))) if means else 0.0
        kinds = [(cell.data, cell.method) for cell in waiting]
        self.waiting = len(kinds)
        self.left = sum(means.get(kind, typical) for kind in kinds) / self.jobs


def run_missing(
    cells: Sequence[Cell], store: Store, jobs: int, limit: float, told: Callable[[Progress], None]
) -> None:
    """Run the cells that are not stored, and store them.

    Parameters
    ----------
    cells : sequence of Cell
    store : Store
    jobs : int
        Processes.
    limit : float
        Seconds that a cell may take.
    told : callable
        Called with the progress at the beginning and after every cell.
    """
    stored = store.load()
    progress = Progress(jobs)
    too_slow: dict[Kind, str] = {}
    for outcome in stored.values():
        _learn(outcome, progress, too_slow)
    waiting = deque(cell for cell in cells if cell not in stored)
    progress.finished = len(cells) - len(waiting)
    progress.estimate(waiting)
    told(progress)
    if not waiting:
        return
    pool = process_pool(jobs)
    try:
        for outcome in _outcomes(pool, waiting, jobs, limit, too_slow):
            store.add(outcome)
            _learn(outcome, progress, too_slow)
            progress.finished += 1
            progress.latest = outcome
            progress.estimate(waiting)
            told(progress)
    finally:
        pool.stop()
        pool.join()


def process_pool(jobs: int) -> Any:
    """Processes whose work can be stopped, and that do not outlive this one."""
    context = multiprocessing.get_context("spawn")
    return ProcessPool(jobs, context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """Let this process end as soon as its parent has, even in the middle of a fit."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _outcomes(
    pool: Any, waiting: deque[Cell], jobs: int, limit: float, too_slow: dict[Kind, str]
) -> Iterator[Outcome]:
    """Outcomes as they come; at most so many cells run at once."""
    running: dict[Any, tuple[Cell, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            cell = waiting.popleft()
            reason = too_slow.get((cell.data, cell.method))
            if reason is not None:
                yield Outcome(cell, 0.0, error=reason)
                continue
            future = pool.schedule(run_cell, args=(cell,), timeout=limit)
            running[future] = cell, time.perf_counter()
        for done in wait(running, return_when=FIRST_COMPLETED).done:
            yield _outcome(done, *running.pop(done), limit)


def _learn(outcome: Outcome, progress: Progress, too_slow: dict[Kind, str]) -> None:
    kind = outcome.cell.data, outcome.cell.method
    if outcome.error.startswith(TOO_SLOW):
        too_slow[kind] = outcome.error
        outcome = Outcome(outcome.cell, 0.0)
    progress.note(outcome)


def _outcome(future: Any, cell: Cell, began: float, limit: float) -> Outcome:
    """What a process answered, or why it did not."""
    try:
        found: Outcome = future.result()
    except TimeoutError:
        error = f"{TOO_SLOW} {limit:g} s"
    except ProcessExpired as expired:
        error = f"its process died with exit code {expired.exitcode}"
    except MemoryError:
        error = "not enough memory"
    except Exception as failed:  # Whatever a method raises is its result.
        error = f"{type(failed).__name__}: {' '.join(str(failed).split())[:200]}"
    else:
        return found
    return Outcome(cell, time.perf_counter() - began, error=error)
