"""Runs the missing cells in processes of one thread each, and stores each as it ends.

A run that fails or passes its time limit is an outcome with a reason, and the rest go on; other
seeds of a method that was too slow on a data set are not tried.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
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
from numpy.typing import NDArray
from pebble import ProcessExpired, ProcessPool
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from sfumato.metrics import clustering_accuracy, nmi
from sfumato.paper.experiment import Cell, Parameters, sample_of
from sfumato.paper.methods import METHODS
from sfumato.paper.store import Outcome, Store

Kind = tuple[str, str, Parameters | None]
"""What differs from a cell in its seed alone."""
Running = dict[Any, tuple[Cell, float]]
"""Cells that run, and since when, by the futures of their outcomes."""
TOO_SLOW = "more than"
"""How the reason begins of a run that passed its time limit."""
OTHER_SEED = "from another seed"
"""How it ends of runs that were therefore not tried."""
DIED, NO_MEMORY = "its process died", "not enough memory"
"""Reasons that may be gone the next time."""


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
        clustering_accuracy(sample.y, labels),
        nmi(sample.y, labels, average="max"),
        float(getattr(model, "objective_", np.nan)),
        spread(sample.X, labels),
    )


def spread(X: NDArray[np.floating], labels: NDArray[np.integer]) -> float:
    """Mean distance of the rows to the mean of their cluster."""
    _, members = np.unique(labels, return_inverse=True)
    rows = np.arange(len(X) + 1)
    belongs = csr_array((np.ones(len(X)), members, rows)).T
    means = (belongs @ X) / belongs.sum(axis=1)[:, None]
    return float(np.linalg.norm(X - means[members], axis=1).mean())


@dataclass
class Progress:
    """How far a run is, and how long the rest will take.

    Parameters
    ----------
    jobs : int
        Cells that run at once.
    total : int
        All cells.
    """

    jobs: int
    total: int
    finished: int = 0
    left: float | None = None
    """Seconds, from cells of the same method and data set that have ended; None if none has."""
    latest: Outcome | None = None
    _seconds: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def note(self, outcome: Outcome) -> None:
        """Learn how long a start took."""
        cell = outcome.cell
        if not outcome.error:
            self._seconds[cell.data, cell.method].append(outcome.seconds / _starts(cell))

    def estimate(self, unfinished: Iterable[Cell]) -> None:
        """Sum what the unfinished cells are likely to take."""
        means = {kind: float(np.mean(seconds)) for kind, seconds in self._seconds.items()}
        if means:
            typical = float(np.mean(list(means.values())))
            each = [means.get((c.data, c.method), typical) * _starts(c) for c in unfinished]
            self.left = sum(each) / self.jobs


def _starts(cell: Cell) -> int:
    return 1 if cell.parameters is None else cell.parameters.starts


def run_missing(
    cells: Sequence[Cell], store: Store, jobs: int, limit: float, told: Callable[[Progress], None]
) -> None:
    """Run the cells that are not stored, and store them.

    Cells that had less time than now are run again, and so are those whose process died.

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
    stored = {c: o for c, o in store.load().items() if not _worth_another_try(o, limit)}
    progress = Progress(jobs, len(cells))
    for outcome in stored.values():
        progress.note(outcome)
    too_slow = {_kind(c) for c, o in stored.items() if o.error.startswith(TOO_SLOW)}
    waiting = deque(cell for cell in cells if cell not in stored)
    progress.finished = len(cells) - len(waiting)
    progress.estimate(waiting)
    told(progress)
    if not waiting:
        return
    pool, running = process_pool(jobs), Running()
    try:
        for outcome in _outcomes(pool, waiting, running, jobs, limit, too_slow):
            store.add(outcome)
            progress.note(outcome)
            progress.finished += 1
            progress.latest = outcome
            progress.estimate([*waiting, *(cell for cell, _ in running.values())])
            told(progress)
    finally:
        pool.stop()
        pool.join()


def _kind(cell: Cell) -> Kind:
    return cell.data, cell.method, cell.parameters


def _worth_another_try(outcome: Outcome, limit: float) -> bool:
    if outcome.error.startswith(TOO_SLOW):
        return outcome.seconds < limit
    return outcome.error.startswith((DIED, NO_MEMORY))


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
        os.kill(os.getpid(), signal.SIGKILL)  # Whatever it is in the middle of.

    Thread(target=watch, daemon=True).start()


def _outcomes(
    pool: Any,
    waiting: deque[Cell],
    running: Running,
    jobs: int,
    limit: float,
    too_slow: set[Kind],
) -> Iterator[Outcome]:
    """Outcomes as they come; at most so many cells run at once."""
    while waiting or running:
        while waiting and len(running) < jobs:
            cell = waiting.popleft()
            if _kind(cell) in too_slow:
                yield Outcome(cell, limit, error=f"{TOO_SLOW} {limit:g} s {OTHER_SEED}")
                continue
            future = pool.schedule(run_cell, args=(cell,), timeout=limit)
            running[future] = cell, time.perf_counter()
        for done in wait(running, return_when=FIRST_COMPLETED).done:
            outcome = _outcome(done, *running.pop(done), limit)
            if outcome.error.startswith(TOO_SLOW):
                too_slow.add(_kind(outcome.cell))
            yield outcome


def _outcome(future: Any, cell: Cell, began: float, limit: float) -> Outcome:
    """What a process answered, or why it did not."""
    try:
        found: Outcome = future.result()
    except TimeoutError:
        return Outcome(cell, limit, error=f"{TOO_SLOW} {limit:g} s")
    except ProcessExpired as expired:
        error = f"{DIED} with exit code {expired.exitcode}"
    except MemoryError:
        error = NO_MEMORY
    except Exception as failed:  # Whatever a method raises is its result.
        error = f"{type(failed).__name__}: {' '.join(str(failed).split())[:200]}"
    else:
        return found
    return Outcome(cell, time.perf_counter() - began, error=error)
