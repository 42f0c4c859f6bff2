"""Progress of a fit, on the error stream: of its starts, and of passes over a stream."""

from __future__ import annotations

import math
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text
from sklearn.callback import CallbackContext

from sfumato._engines.passes import SWEEP

FALLS = 4
"""Falls of the objective from which the number of further ones is estimated."""


class FitProgress:
    """One bar over all starts of a fit, on the error stream; a scikit-learn callback.

    A start seldom needs all of ``max_iter`` iterations, so the bar jumps ahead when one ends.
    """

    def __init__(self) -> None:
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[iteration]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task("looking at the data", total=None, iteration="")
        self.iterations: dict[int, int] = {}

    def setup(self, estimator: Any, context: CallbackContext) -> None:
        """Learn how long the fit may become."""
        starts = context.max_subtasks
        self.bar.update(self.task, total=starts * estimator.max_iter)

    def on_fit_task_begin(self, estimator: Any, context: CallbackContext) -> None:
        """Name the start that begins."""
        if _depth(context) == 1:
            starts = context.parent.max_subtasks
            text = f"start {context.task_id + 1} of {starts}"
            self.bar.update(self.task, description=text, iteration="")

    def on_fit_task_end(self, estimator: Any, context: CallbackContext) -> None:
        """Count an iteration, or the rest of those that a start might have made."""
        if _depth(context) == 2:  # Starts take turns: say which one this iteration belongs to.
            start, n_starts = context.parent.task_id, context.parent.parent.max_subtasks
            self.iterations[start] = context.task_id + 1
            where = f"start {start + 1} of {n_starts}"
            text = f"iteration {context.task_id + 1} of at most {estimator.max_iter}"
            self.bar.update(self.task, advance=1, description=where, iteration=text)
        elif _depth(context) == 1:
            rest = estimator.max_iter - self.iterations.pop(context.task_id, 0)
            self.bar.update(self.task, advance=rest)

    def teardown(self, estimator: Any, context: CallbackContext) -> None:
        """Nothing is left to do: whoever started the bar ends it."""


def _depth(context: CallbackContext) -> int:
    depth = 0
    while context.parent is not None:
        context, depth = context.parent, depth + 1
    return depth


class Trend:
    """The objective of one iteration after the other, and when its falls will be small enough.

    Parameters
    ----------
    tol : float
        Relative fall at which a fit stops.
    """

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.objective: float | None = None
        self.falls: list[float] = []

    def add(self, objective: float) -> None:
        """Learn of a pass. One that raised the objective is followed by another in its place."""
        if self.objective is not None and self.objective > 0:
            fall = (self.objective - objective) / self.objective
            if fall < 0:
                return
            self.falls.append(fall)
        self.objective = objective

    def left(self) -> int | None:
        """Iterations until the fall is at most ``tol`` if falls go on shrinking as they did."""
        recent = self.falls[-FALLS:]
        if len(recent) < FALLS or min(recent) <= 0 or self.tol <= 0:
            return None
        shrinking = math.log(recent[0] / recent[-1]) / (FALLS - 1)
        if shrinking <= 0:
            return None
        return max(1, math.ceil(math.log(max(1.0, recent[-1] / self.tol)) / shrinking))

    def __str__(self) -> str:
        if self.objective is None:
            return ""
        text = f"objective {self.objective:.6g}"
        if self.falls:
            text += f", fell by {self.falls[-1]:.1e} of its value (stops at {self.tol:g})"
        return text


class StreamProgress:
    """A bar for each pass over a stream, and a line about the fit; counts passes in any case.

    Watches a stream, and is a scikit-learn callback, from which it learns what passes are for.
    """

    def __init__(self, tol: float) -> None:
        self.passes = 0
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[rows]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            auto_refresh=False,
        )
        self.task = self.bar.add_task("opening the data", total=None, rows="")
        self.trend = Trend(tol)
        self._tol = tol
        self._began = self._pass_began = time.monotonic()
        self._seconds = 0.0
        self._iteration: str | None = None
        self._left: int | None = None

    def shown(self) -> AbstractContextManager[Any]:
        """Show it meanwhile, if somebody is watching."""
        if not sys.stderr.isatty():
            return nullcontext()
        console = Console(stderr=True)
        return Live(
            get_renderable=self._render, console=console, transient=True, refresh_per_second=4
        )

    def _render(self) -> RenderableType:
        parts = [f"{self.passes} passes, {_clock(time.monotonic() - self._began)}", str(self.trend)]
        if self._left is not None:
            about = _clock(self._left * self._seconds)
            parts.append(f"at this rate about {self._left} more iterations, {about}")
        text = "; ".join(part for part in parts if part)
        return Group(self.bar.get_renderable(), Text(text, style="dim"))

    # A observer of the stream.

    def begin(self, what: str, n_rows: int | None) -> None:
        """A pass begins."""
        self.passes += 1
        self._pass_began = time.monotonic()
        text = what
        if what == SWEEP and self._iteration is not None:
            text = self._iteration
        self.bar.reset(self.task, total=n_rows, description=text, rows="")

    def advance(self, rows: int) -> None:
        """So many rows of it are done."""
        total = self.bar.tasks[0].total
        speed = rows / max(1e-9, time.monotonic() - self._pass_began)
        of = "" if total is None else f" of {_short(total)}"
        text = f"{_short(rows)}{of} rows, {_short(speed)}/s"
        self.bar.update(self.task, completed=rows, rows=text)

    def end(self, rows: int) -> None:
        """It is complete."""
        self._seconds = time.monotonic() - self._pass_began

    def found(self, result: Any) -> None:
        """Follow the objective."""
        objective = getattr(result, "objective", None)
        if objective is not None and self._iteration is not None:
            self.trend.add(float(objective))
            self._left = self.trend.left()

    # A callback of scikit-learn.

    def setup(self, estimator: Any, context: CallbackContext) -> None:
        """Nothing to do yet."""

    def on_fit_task_begin(self, estimator: Any, context: CallbackContext) -> None:
        """Name what begins: a start on rows that stand for all, or an iteration over all."""
        depth = _depth(context)
        if depth not in (1, 2):
            return
        start, iteration = (context, None) if depth == 1 else (context.parent, context)
        starts = start.parent.max_subtasks
        sampled = estimator.n_init == "auto"  # Then the last one alone passes over the data.
        if iteration is None:
            self.trend, self._left = Trend(self._tol), None
            if sampled and start.task_id < starts - 1:
                text = f"comparing starts on a sample, {start.task_id + 1} of {starts - 1}"
                self.bar.reset(self.task, total=None, description=text, rows="")
            return
        text = f"iteration {iteration.task_id + 1} of at most {estimator.max_iter}"
        several = not sampled and starts > 1
        self._iteration = f"start {start.task_id + 1} of {starts}, {text}" if several else text

    def on_fit_task_end(self, estimator: Any, context: CallbackContext) -> None:
        """Forget the iteration: passes after it are for something else."""
        self._iteration = None
        if _depth(context) == 1:
            self._left = None

    def teardown(self, estimator: Any, context: CallbackContext) -> None:
        """Nothing is left to do."""


def _short(number: float) -> str:
    """A number in few characters: 12.3M."""
    for unit in ("", "k", "M", "G"):
        if number < 999.5:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g}T"


def _clock(seconds: float) -> str:
    """Time as 1:02:03, or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
