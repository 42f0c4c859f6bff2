"""Run the missing cells of an experiment in processes, and store each as soon as it has finished.

A cell that fails or exceeds its time limit is stored with the reason, and the others go on.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf, isfinite
from multiprocessing import connection
from threading import Thread
from typing import Any, Generic

import numpy as np
from pebble import ProcessExpired, ProcessPool
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars

from sfumato.paper.store import C, Run, Store

TOO_SLOW = "more than"
"""First words of the reason of a cell that exceeded its time limit."""
OTHER_SEED = "from another seed"
"""Last words of that reason for cells that were not tried, being of the same kind."""
DIED, NO_MEMORY = "its process died", "not enough memory"
"""First words of reasons that may not occur again."""
EVERY = 30.0
"""Seconds between two lines of progress where there is no terminal. Chosen by hand."""

QUIET_TRACKER = "ignore::UserWarning:multiprocessing.resource_tracker"
"""Filter of warnings for the process that removes semaphores after this one: it would complain of
having something to remove when this one was ended by a signal."""


@dataclass
class Progress(Generic[C]):
    """Number of finished cells, and time left.

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
    """Seconds, estimated from finished cells of the same group; None if there is none."""
    latest: Run[C] | None = None
    _seconds: dict[Hashable, list[float]] = field(default_factory=lambda: defaultdict(list))

    def note(self, run: Run[C]) -> None:
        """Record the time of a unit of work."""
        if not run.error:
            self._seconds[run.cell.group].append(run.seconds / run.cell.work)

    def estimate(self, unfinished: Iterable[C]) -> None:
        """Sum the expected times of the unfinished cells."""
        means = {group: float(np.mean(seconds)) for group, seconds in self._seconds.items()}
        if means:
            typical = float(np.mean(list(means.values())))
            self.left = sum(means.get(c.group, typical) * c.work for c in unfinished) / self.jobs


def run_missing(
    cells: Sequence[C],
    store: Store[C],
    run: Callable[[C], Run[C]],
    *,
    jobs: int = 1,
    limit: float = inf,
    report: Callable[[Progress[C]], None],
) -> None:
    """Run the cells that are not stored, and store them.

    Cells that had less time than now are run again, and so are those whose process died.

    Parameters
    ----------
    cells : sequence of Cell
    store : Store
    run : callable
        Takes a cell in a process of its own, so that it has to be picklable. What it raises becomes
        the error of the cell.
    jobs : int, default=1
        Processes.
    limit : float, default=inf
        Seconds that a cell may take.
    report : callable
        Called with the progress at the beginning and after every cell.
    """
    stored = {c: r for c, r in store.load().items() if not _worth_another_try(r, limit)}
    progress: Progress[C] = Progress(jobs, len(cells))
    for finished in stored.values():
        progress.note(finished)
    too_slow = {c.kind for c, r in stored.items() if r.error.startswith(TOO_SLOW)}
    queue = _Queue(deque(c for c in cells if c not in stored), run, jobs, limit, too_slow)
    progress.finished = len(cells) - len(queue.waiting)
    progress.estimate(queue.waiting)
    report(progress)
    if not queue.waiting:
        return
    for finished in queue.finish():
        store.add(finished)
        progress.note(finished)
        progress.finished += 1
        progress.latest = finished
        progress.estimate(queue.unfinished())
        report(progress)


def _worth_another_try(run: Run[C], limit: float) -> bool:
    if run.error.startswith(TOO_SLOW):
        return run.seconds < limit
    return run.error.startswith((DIED, NO_MEMORY))


@dataclass
class _Queue(Generic[C]):
    """Cells that wait, and those that run: when they began, by their futures."""

    waiting: deque[C]
    run: Callable[[C], Run[C]]
    jobs: int
    limit: float
    too_slow: set[Hashable]
    running: dict[Any, tuple[C, float]] = field(default_factory=dict)

    def unfinished(self) -> list[C]:
        return [*self.waiting, *(cell for cell, _ in self.running.values())]

    def finish(self) -> Iterator[Run[C]]:
        """Finished cells in the order in which they end."""
        pool = process_pool(self.jobs)
        try:
            while self.waiting or self.running:
                yield from self._begin(pool)
                for done in wait(self.running, return_when=FIRST_COMPLETED).done:
                    finished = self._end(done, *self.running.pop(done))
                    if finished.error.startswith(TOO_SLOW):
                        self.too_slow.add(finished.cell.kind)
                    yield finished
        finally:
            pool.stop()
            pool.join()

    def _begin(self, pool: Any) -> Iterator[Run[C]]:
        """Start as many cells as may run at once; yield those that need not be tried."""
        while self.waiting and len(self.running) < self.jobs:
            cell = self.waiting.popleft()
            if cell.kind in self.too_slow:
                yield Run(cell, self.limit, error=f"{TOO_SLOW} {self.limit:g} s {OTHER_SEED}")
                continue
            timeout = self.limit if isfinite(self.limit) else None
            future = pool.schedule(self.run, args=(cell,), timeout=timeout)
            self.running[future] = cell, time.perf_counter()

    def _end(self, future: Any, cell: C, began: float) -> Run[C]:
        """Result of a process, or the reason why there is none."""
        try:
            found: Run[C] = future.result()
        except TimeoutError:
            return Run(cell, self.limit, error=f"{TOO_SLOW} {self.limit:g} s")
        except ProcessExpired as expired:
            error = f"{DIED} with exit code {expired.exitcode}"
        except MemoryError:
            error = NO_MEMORY
        except Exception as failed:  # Whatever a method raises is its result.
            error = f"{type(failed).__name__}: {' '.join(str(failed).split())[:200]}"
        else:
            return found
        return Run(cell, time.perf_counter() - began, error=error)


def process_pool(jobs: int) -> Any:
    """Processes whose work can be stopped, and that end with this one."""
    former = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (former, QUIET_TRACKER)))
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


class Display:
    """Progress on the error stream: a bar on a terminal, else a line every ``EVERY`` seconds."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.latest = 0.0
        self._open = ExitStack()
        self.bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
        )

    def __enter__(self) -> Display:
        if self.console.is_terminal:
            self._open.enter_context(self.bars)
            self.task = self.bars.add_task("runs", left="")
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def show(self, progress: Progress[Any]) -> None:
        """Print the latest error, and the number of finished cells."""
        done, total, seconds = progress.finished, progress.total, progress.left
        left = "" if seconds is None else f", about {duration(seconds)} left"
        latest = progress.latest
        if latest is not None and latest.error and not latest.error.endswith(OTHER_SEED):
            self.print(f"{latest.cell}: {latest.error}")
        if self.console.is_terminal:
            self.bars.update(self.task, completed=done, total=total, left=left.strip(", "))
        elif time.monotonic() - self.latest > EVERY or done == total:
            self.latest = time.monotonic()
            self.print(f"{done} of {total} runs{left}")

    def print(self, text: str) -> None:
        """Print text as it is: brackets are no markup."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """Text for a time, in its largest unit."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}" if unit == "h" else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
