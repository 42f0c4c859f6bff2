"""Progress of a fit: the forecast, passes over a stream, and starts in memory."""

import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest
from rich.live import Live
from sklearn.exceptions import ConvergenceWarning

from sfumato import REFCMFS, CappedREFCMFS, stream
from sfumato._engines.passes import SWEEP
from sfumato._fit.checkpoint import Place, stored_place
from sfumato.cli import progress as module
from sfumato.cli.progress import FitProgress, Trend
from tests.catalogue import needs_callbacks

N_ROWS = 2000
LONG = 120.0
"""Seconds after which an event that must come counts as missed."""


def test_trend():
    trend = Trend(2e-6)
    for objective in (2.0, 1.0, 0.9, 0.95):
        trend.add(objective)
    assert trend.falls == pytest.approx([0.5, 0.1])
    assert trend.left() is None
    steady = Trend(2e-6)
    objective = 1.0
    for power in range(5):
        steady.add(objective)
        objective *= 1 - 10.0 ** -(power + 1)
    assert steady.left() == 2, "falls of 1e-1 to 1e-4 are followed by 1e-5 and 1e-6"
    assert str(steady).endswith("fell by 1.0e-04 of its value (stops at 2e-06)")


def test_the_number_that_is_tried_is_shown():
    progress = FitProgress(1e-7)
    progress.count(12, 30)
    assert progress.bar.tasks[0].description == "number of clusters: K = 12 of 30"


def test_every_pass_is_told_once():
    class Counting(FitProgress):
        ends = 0

        def end(self, rows):
            self.ends += 1
            assert rows == N_ROWS

    made = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    rows = stream(made, chunk_rows=300)
    reads = []
    original = rows._read
    rows._read = lambda: reads.append(1) or original()
    rows.observer = observer = Counting(1e-7)
    CappedREFCMFS(4, random_state=0).fit(rows)
    assert observer.passes == observer.ends == len(reads) > 5


@needs_callbacks
def test_passes_are_shown_in_words():
    """Sweeps as iterations where one has begun; all others by their description."""
    progress = FitProgress(1e-7)
    shown = progress.bar.tasks[0]
    progress.begin("drawing rows", 10)
    assert (shown.description, shown.total) == ("drawing rows", 10)
    progress.begin(SWEEP, None)
    assert shown.description == SWEEP

    descriptions = []

    class Watching(FitProgress):
        def advance(self, rows):
            super().advance(rows)
            descriptions.append(self.bar.tasks[0].description)

    rows = stream(np.random.default_rng(0).normal(size=(N_ROWS, 3)), chunk_rows=300)
    rows.observer = watching = Watching(1e-7)
    model = CappedREFCMFS(4, random_state=0, n_init=2, max_iter=5, tol=0.0)
    with pytest.warns(ConvergenceWarning):
        model.set_callbacks(watching).fit(rows)
    assert "start 2 of 2, iteration 5 of at most 5" in descriptions
    assert not any("iteration 6" in text for text in descriptions)
    assert watching.trend.objective == pytest.approx(model.history_[-1].objective, rel=0.1)


@needs_callbacks
def test_a_fit_in_memory_fills_the_bar():
    progress = FitProgress(1e-7)
    rows = np.random.default_rng(0).normal(size=(200, 3))
    REFCMFS(4, random_state=0, n_init=3).set_callbacks(progress).fit(rows)
    shown = progress.bar.tasks[0]
    assert shown.total == 3
    assert shown.completed == pytest.approx(3)
    assert shown.description.startswith("start 3 of 3, iteration ")


class TestLines:
    """Without a terminal: lines of text, none of them for a short run."""

    @pytest.fixture
    def often(self, monkeypatch):
        monkeypatch.setattr(module, "PAUSE", 0.05)
        monkeypatch.setattr(module, "LONGEST_PAUSE", 0.05)

    @pytest.fixture
    def printed(self, monkeypatch):
        """Lines so far, as an event that one has come."""
        event, original = threading.Event(), FitProgress._print

        def print_line(progress, text):
            original(progress, text)
            event.set()

        monkeypatch.setattr(FitProgress, "_print", print_line)
        return event

    def slow_run(self, progress, wait):
        with progress.shown():
            progress.begin("drawing rows", 10)
            progress.advance(5)
            wait()
            progress.end(10)
            progress.teardown(None, None)

    @pytest.mark.usefixtures("often")
    def test_lines_come_now_and_then(self, capsys, printed):
        def wait():
            printed.wait(LONG)
            time.sleep(2 * module.PAUSE)  # The first line comes a pause after the run began.

        self.slow_run(FitProgress(1e-7), wait)
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) >= 3, "one or more while it waits, and the ends of two parts"
        assert lines[0].startswith("sfumato: drawing rows, 5 of 10 rows, ")
        assert "; 1 passes, 0:0" in lines[0]
        assert lines[-2].startswith("sfumato: inspected 10 rows in 0:0")
        assert lines[-1].startswith("sfumato: fitted the clusters in 0:0")
        assert "\x1b" not in "".join(lines)

    def test_a_short_run_prints_nothing(self, capsys):
        self.slow_run(FitProgress(1e-7), lambda: time.sleep(0.1))
        assert capsys.readouterr().err == ""

    @pytest.mark.usefixtures("often")
    def test_quiet(self, capsys):
        self.slow_run(FitProgress(1e-7, quiet=True), lambda: time.sleep(0.2))
        assert capsys.readouterr().err == ""

    def test_quiet_on_a_terminal(self, monkeypatch):
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        assert isinstance(FitProgress(1e-7).shown(), Live)
        assert isinstance(FitProgress(1e-7, quiet=True).shown(), nullcontext)

    @pytest.mark.usefixtures("often")
    def test_a_line_in_between_puts_off_the_next(self, capsys, monkeypatch, printed):
        """By a clock of its own, which the speed of the machine does not change."""
        now = 1000.0
        monkeypatch.setattr(module.time, "monotonic", lambda: now)
        progress = FitProgress(1e-7)
        with progress.shown():
            now += 0.04
            progress._print("in between")
            printed.clear()
            now += 0.03  # Beyond the first pause, not beyond that after the line in between.
            assert not printed.wait(0.2)
            now += 0.04
            assert printed.wait(LONG)
        lines = capsys.readouterr().err.splitlines()
        assert lines[0] == "sfumato: in between"
        assert lines[1].startswith("sfumato: reading the data; ")

    def test_pauses_grow_with_the_run(self, monkeypatch):
        now = 1000.0
        monkeypatch.setattr(module, "PAUSE", 10.0)
        monkeypatch.setattr(module, "LONGEST_PAUSE", 60.0)
        monkeypatch.setattr(module.time, "monotonic", lambda: now)
        progress = FitProgress(1e-7)
        for elapsed, pause in ((0, 10), (50, 10), (200, 20), (5000, 60)):
            progress._printed = now = 1000.0 + elapsed
            assert progress._pause() == pytest.approx(pause)


@needs_callbacks
@pytest.mark.parametrize("kind", ["in memory", "streamed"])
def test_a_resumed_fit_says_from_where(kind, tmp_path, capsys):
    made = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    path = tmp_path / "fit.ckpt"
    rows = made if kind == "in memory" else stream(made, chunk_rows=300)
    model = REFCMFS(4, random_state=0, n_init="auto" if kind == "streamed" else 1, max_iter=7)
    model.set_params(tol=0.0, checkpoint=str(path))
    assert stored_place(path) is None
    for place in (None, Place(None if kind == "streamed" else 1, 7)):
        assert stored_place(path) == place
        with pytest.warns(ConvergenceWarning):
            model.set_callbacks(FitProgress(1e-7, resumed=place)).fit(rows)
        told = "" if kind == "streamed" else " of start 1"
        expected = f"sfumato: resumed from {path}, after iteration 7{told}\n" if place else ""
        assert capsys.readouterr().err == expected


def test_a_file_that_is_no_checkpoint_has_no_place(tmp_path):
    (tmp_path / "fit.ckpt").write_text("no checkpoint")
    assert stored_place(tmp_path / "fit.ckpt") is None
