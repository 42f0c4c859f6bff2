"""Progress of a fit on the error stream: of its starts, and of its passes over a stream.

On a terminal it is a bar that is redrawn, elsewhere a line of text now and then.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from sfumato._engines.passes import SWEEP
from sfumato._fit.checkpoint import Place
from sfumato._fit.starts import ALL_ROWS

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext

FALLS = 4
"""Number of the last falls of the objective from which the forecast is made; chosen by hand. With
fewer it jumps from one iteration to the next, with more it comes later."""

REFRESHES = 4
"""Redraws of the bar per second; chosen by hand."""

PAUSE, LONGEST_PAUSE = 10.0, 60.0
"""Seconds between two lines where there is no bar, at first and at most; chosen by hand. In between
it is a tenth of the time so far. A run that is shorter than the first pause prints none."""


class Trend:
    """Objective by iteration, and a forecast of when its falls become small enough.

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
        """Add the objective of a pass; one that raised it is ignored, since it will be repeated."""
        if self.objective is not None and self.objective > 0:
            fall = (self.objective - objective) / self.objective
            if fall < 0:
                return
            self.falls.append(fall)
        self.objective = objective

    def left(self) -> int | None:
        """Iterations until the fall is at most ``tol``, if falls shrink at the recent rate."""
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


class FitProgress:
    """A bar for the fit, or for each pass over a stream, and a line with the objective.

    A callback of scikit-learn, which reports starts and iterations, and an observer of a stream,
    which reports passes. Without passes, a bar covers all starts; it jumps when a start ends
    before ``max_iter``. scikit-learn's ``ProgressBar`` would print to the standard output, keep a
    line for each start, and know nothing of passes.

    Parameters
    ----------
    tol : float
        Relative fall of the objective at which the fit stops.
    quiet : bool, default=False
        Whether to show nothing.
    resumed : Place, optional
        Where the checkpoint was written from which the fit will resume.

    Attributes
    ----------
    passes : int
        Passes over the stream so far.
    resumed : Place or None
    """

    def __init__(self, tol: float, quiet: bool = False, resumed: Place | None = None) -> None:
        self.passes = 0
        self.quiet, self.resumed = quiet, resumed
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[note]}"),
            auto_refresh=False,
        )
        self.task = self.bar.add_task("reading the data", total=None, note="")
        self.trend = Trend(tol)
        self._began = self._pass_began = self._printed = time.monotonic()
        self._pass_seconds = 0.0
        self._iteration: str | None = None
        self._left: int | None = None
        self._shares: dict[int, float] = {}

    def shown(self) -> AbstractContextManager[Any]:
        """Context in which the bar is shown if the error stream is a terminal, or else lines."""
        if self.quiet:
            return nullcontext()
        if not sys.stderr.isatty():
            return self._lines()
        return Live(
            get_renderable=self._render,
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=REFRESHES,
        )

    def _render(self) -> RenderableType:
        return Group(self.bar.get_renderable(), Text(self._state(), style="dim"))

    def _state(self) -> str:
        """Passes and time so far, the objective, and the forecast."""
        parts = [_clock(time.monotonic() - self._began), str(self.trend)]
        if self.passes:
            parts[0] = f"{self.passes} passes, {parts[0]}"
        if self._left is not None:
            about = _clock(self._left * self._pass_seconds)
            parts.append(f"at this rate about {self._left} more iterations, {about}")
        return "; ".join(part for part in parts if part)

    @contextmanager
    def _lines(self) -> Iterator[None]:
        """Print lines from a thread of its own: a step of the fit may take long."""
        ended = threading.Event()

        def print_lines() -> None:
            while not ended.wait(self._pause()):
                if self._pause() > 0:
                    continue  # Another line was printed meanwhile.
                shown = self.bar.tasks[0]
                note = f", {shown.fields['note']}" if shown.fields["note"] else ""
                self._print(f"{shown.description}{note}; {self._state()}")

        thread = threading.Thread(target=print_lines, name="sfumato-progress", daemon=True)
        try:
            thread.start()
            yield
        finally:
            ended.set()
            if thread.is_alive():  # Its start may have been interrupted.
                thread.join()

    def _pause(self) -> float:
        """Seconds until the next line."""
        now = time.monotonic()
        pause = min(LONGEST_PAUSE, max(PAUSE, (now - self._began) / 10))
        return max(0.0, self._printed + pause - now)

    def _print(self, text: str) -> None:
        self._printed = time.monotonic()
        if not self.quiet:
            print(f"sfumato: {text}", file=sys.stderr, flush=True)

    def _print_end(self, what: str, began: float) -> None:
        """Print that a part of the run has ended, if it was long and there is no bar."""
        seconds = time.monotonic() - began
        if seconds >= PAUSE and not sys.stderr.isatty():
            self._print(f"{what} in {_clock(seconds)}")

    def begin_writing(self, n_rows: int | None) -> None:
        """Begin to write the results of ``n_rows`` rows, if their number is known."""
        self.trend, self._left = Trend(self.trend.tol), None
        self._pass_began = time.monotonic()
        self.bar.reset(self.task, total=n_rows, description="writing results", note="")

    def count(self, count: int, most: int) -> None:
        """Show the number of clusters that is being tried, while the number is looked for."""
        self.bar.update(
            self.task, total=None, description=f"number of clusters: K = {count} of {most}"
        )

    # Observer of a stream.

    def begin(self, description: str, n_rows: int | None) -> None:
        """Begin a pass over ``n_rows`` rows, if their number is known."""
        self.passes += 1
        self._pass_began = time.monotonic()
        if description == SWEEP and self._iteration is not None:
            description = self._iteration
        self.bar.reset(self.task, total=n_rows, description=description, note="")

    def advance(self, rows: int) -> None:
        """Show that the first ``rows`` rows of the pass are done."""
        total = self.bar.tasks[0].total
        speed = rows / max(1e-9, time.monotonic() - self._pass_began)
        note = f"{_short(rows)} rows, {_short(speed)}/s"
        if total is not None:
            left = _clock(max(0.0, total - rows) / speed)
            note = f"{_short(rows)} of {_short(total)} rows, {_short(speed)}/s, {left} left"
        self.bar.update(self.task, completed=rows, note=note)

    def end(self, rows: int) -> None:
        """End a pass of ``rows`` rows."""
        self._pass_seconds = time.monotonic() - self._pass_began
        if self.passes == 1:
            self._print_end(f"inspected {_short(rows)} rows", self._pass_began)

    def found(self, result: Any) -> None:
        """Take the objective from the result of a pass, if it has one."""
        objective = getattr(result, "objective", None)
        if objective is not None and self._iteration is not None:
            self.trend.add(float(objective))
            self._left = self.trend.left()

    # Callback of scikit-learn. Contexts: the fit, its starts, their iterations.

    def setup(self, estimator: Any, context: CallbackContext) -> None:
        """Set the length of the bar: the number of starts. The checkpoint has been accepted."""
        if self.resumed is not None:
            start, iteration = self.resumed
            where = "" if start is None else f" of start {start}"
            self._print(f"resumed from {estimator.checkpoint}, after iteration {iteration}{where}")
        self.bar.update(self.task, total=context.max_subtasks)

    def on_fit_task_begin(self, estimator: Any, context: CallbackContext) -> None:
        """Name the start, or the iteration, that begins."""
        depth = _depth(context)
        if depth not in (1, 2):
            return
        start = context if depth == 1 else context.parent
        text = _name_of(start, estimator.n_init == "auto")
        if depth == 2:
            step = min(context.task_id + 1, estimator.max_iter)  # The last task takes no step.
            iteration = f"iteration {step} of at most {estimator.max_iter}"
            text = self._iteration = f"{text}, {iteration}" if text else iteration
        else:
            self.trend, self._left = Trend(self.trend.tol), None
            if self.passes and text:  # On a sample: the bar shows passes over all rows.
                self.bar.reset(self.task, total=None, description=text, note="")
        if not self.passes:
            self.bar.update(self.task, description=text)

    def on_fit_task_end(self, estimator: Any, context: CallbackContext) -> None:
        """Advance the bar; passes from here on belong to no iteration."""
        self._iteration = None
        depth = _depth(context)
        if depth == 0 and not self.passes:  # There may have been fewer starts.
            self.bar.update(self.task, completed=context.max_subtasks)
        if depth == 1:
            self._left = None
        if depth in (1, 2) and not self.passes:
            start = context.task_id if depth == 1 else context.parent.task_id
            share = 1.0 if depth == 1 else (context.task_id + 1) / (estimator.max_iter + 1)
            self.bar.update(self.task, advance=share - self._shares.get(start, 0.0))
            self._shares[start] = share

    def teardown(self, estimator: Any, context: CallbackContext) -> None:
        """Print the end of a long fit; the bar ends with the context ``shown``."""
        self._print_end("fitted the clusters", self._began)


def _name_of(start: CallbackContext, automatic: bool) -> str:
    """Name of a start among several; empty for the only one that passes over all rows."""
    most = start.parent.max_subtasks
    if most == 1 or start.task_name == ALL_ROWS:
        return ""
    if not start.task_name.startswith("start"):
        return str(start.task_name)
    return f"start {start.task_id + 1} of {'at most ' if automatic else ''}{most}"


def _depth(context: CallbackContext) -> int:
    depth = 0
    while context.parent is not None:
        context, depth = context.parent, depth + 1
    return depth


def _short(number: float) -> str:
    """Number in few characters, as 12.3M."""
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
