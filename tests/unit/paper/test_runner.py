"""Runs in real processes: results, reasons, nothing twice, nothing left running."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sfumato.paper.experiment import Cell, Parameters, Run, Store, run_cell
from sfumato.paper.runner import Progress, duration, run_missing

CELLS = [
    Cell("digits", "K-Means", 0),
    Cell("digits", "REFCMFS", 0, Parameters(3, 1.1)),
    Cell("digits", "REFCMFS", 0, Parameters(99, 1.1)),
    Cell("digits", "K-Means", 1),
]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells.jsonl", {}, Cell)


def sleep(cell):
    """A cell that no machine finishes before its limit is looked at, a few times a second."""
    time.sleep(60)


def seen_by(store, cells, limit=60.0, run=run_cell):
    seen = []

    def report(progress):
        seen.append(vars(progress).copy())

    run_missing(cells, store, run, jobs=2, limit=limit, report=report)
    return seen


@pytest.mark.slow
def test_every_cell_has_an_outcome_and_none_is_run_again(store):
    seen = seen_by(store, CELLS)
    found = store.load()
    assert set(found) == set(CELLS)
    assert found[CELLS[0]].measures == run_cell(CELLS[0]).measures, "the same as in this process"
    assert found[CELLS[1]].measures["spread"] > 0
    assert "n_active=99" in found[CELLS[2]].error, "what failed has its reason"
    assert [(told["finished"], told["total"]) for told in seen] == [(n, 4) for n in range(5)]
    assert (seen[0]["left"], seen[-1]["left"]) == (None, 0.0)
    before = store.path.read_bytes()
    (again,) = seen_by(store, CELLS)
    assert (again["finished"], again["total"]) == (4, 4)
    assert store.path.read_bytes() == before


@pytest.mark.slow
def test_what_is_too_slow_has_a_reason_and_is_tried_again_only_with_more_time(store):
    cells = [Cell("digits", "K-Means", seed) for seed in range(6)]
    seen_by(store, cells, limit=0.01, run=sleep)
    slow = [run.error for run in store.load().values() if run.error]
    assert set(slow) <= {"more than 0.01 s", "more than 0.01 s from another seed"}
    assert 1 <= slow.count("more than 0.01 s") <= 2, "as many as ran at once"
    assert len(slow) == 6
    (again,) = seen_by(store, cells, limit=0.01, run=sleep)
    assert again["finished"] == 6
    seen_by(store, cells[:2], limit=60.0)
    assert not any(store.load()[cell].error for cell in cells[:2])


@pytest.mark.slow
def test_a_slow_choice_of_parameters_does_not_condemn_the_others(store):
    store.add(Run(Cell("digits", "REFCMFS", 0, Parameters(9, 1.5)), 60, error="more than 60 s"))
    seen_by(store, [CELLS[1]])
    assert not store.load()[CELLS[1]].error


@pytest.mark.parametrize("error", ["its process died with exit code -9", "not enough memory"])
@pytest.mark.slow
def test_what_may_have_been_an_accident_is_tried_again(store, error):
    store.add(Run(CELLS[0], 1.0, error=error))
    seen_by(store, CELLS[:1])
    assert not store.load()[CELLS[0]].error


def test_time_left_is_the_sum_of_what_like_cells_took():
    progress = Progress(jobs=2, total=3)
    progress.estimate([Cell("yale", "K-Means", 5)])
    assert progress.left is None, "nothing is known yet"
    for seconds in (1.0, 3.0):
        progress.note(Run(Cell("yale", "K-Means", 0), seconds))
    progress.note(Run(Cell("orl", "REFCMFS", 0), 10.0))
    progress.note(Run(Cell("usps", "REFCMFS", 0), 200.0, error="more than 200 s"))
    five = Cell("orl", "REFCMFS", 0, Parameters(3, 1.1, 5))
    progress.estimate([Cell("yale", "K-Means", 5), five, Cell("usps", "GMM", 0)])
    assert progress.left == pytest.approx((2 + 5 * 10 + 6) / 2), "an unknown one takes the mean, 6"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (89, "89 s"), (91, "2 min"), (3600, "60 min"), (9000, "2.5 h")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def start(output: Path) -> subprocess.Popen:
    words = ["--sets", "digits", "--methods", "K-Means,K-Means++", "--runs", "4", "--quick"]
    return subprocess.Popen(
        [sys.executable, "-m", "sfumato", "reproduce", *words, "--output", str(output)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def lines(output: Path) -> list[str]:
    path = output / "cells.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def wait_for(condition, seconds=180.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


def is_empty(session: int) -> bool:
    """Whether no process of a session is left but those that have ended."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, found = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(found) == session and state != "Z":
                return False
    return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path):
    first = start(tmp_path)
    wait_for(lambda: len(lines(tmp_path)) > 3)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    kept = lines(tmp_path)
    wait_for(lambda: is_empty(first.pid))
    second = start(tmp_path)
    _, said = second.communicate(timeout=600)
    assert second.returncode == 0, said
    after = lines(tmp_path)
    assert after[: len(kept) - 1] == kept[:-1], "what was finished is kept as it was"
    cells = [
        tuple(record.get(name) for name in ("method", "seed", "n_active", "fuzzifier", "starts"))
        for record in map(json.loads, after[1:])
    ]
    assert len(set(cells)) == len(cells), "and not run again"
    made = {path.name for path in tmp_path.iterdir()}
    assert {"index.html", "tables.md", "tables.csv", "figures"} <= made
    assert np.isfinite([json.loads(line)["acc"] for line in after[1:]]).all()


BUSY = """
import time
from sfumato.paper.runner import process_pool

if __name__ == "__main__":
    process_pool(1).schedule(time.sleep, args=(600,))
    print("begun", flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.slow
def test_processes_end_with_the_one_that_started_them_even_if_busy(tmp_path):
    (tmp_path / "busy.py").write_text(BUSY)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "busy.py"], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout.readline() == b"begun\n"
    time.sleep(1.0)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_for(lambda: is_empty(process.pid))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.slow
def test_interrupting_leaves_nothing_running(tmp_path):
    process = start(tmp_path)
    wait_for(lambda: len(lines(tmp_path)) > 1)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=180)
    assert process.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    wait_for(lambda: is_empty(process.pid))
