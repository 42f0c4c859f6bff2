"""Signals that end the command, at any moment: one line, the exit code, nothing left behind."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sfumato.cli.signals import ENDINGS, ending_line
from tests.unit.cli.test_main import names_here

LONG = 180
"""Seconds after which a process counts as hanging."""
COMMANDS = {
    "in memory": ["cluster", "rows.npy", "-k", "20", "--n-init", "1000", "--fuzzifier", "1.5"],
    "streamed": ["cluster", "parts", "-k", "20", "--n-init", "1000", "--fuzzifier", "1.5"],
    "demo": ["demo"],
    "reproduce": ["reproduce", "--sets", "digits", "--quick", "--output", "paper"],
}
KEPT = {"rows.npy", "parts", "paper"}
"""Data, and the folder of finished runs, which later runs continue."""


@pytest.fixture(autouse=True)
def in_a_folder_with_data(tmp_path, monkeypatch):
    import pyarrow as pa
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(20_000, 4))
    np.save("rows.npy", rows)
    Path("parts").mkdir()
    table = pa.table({f"f{i}": column for i, column in enumerate(rows.T)})
    for number in range(2):
        parquet.write_table(table, f"parts/{number}.parquet")


def start(words):
    """Start the command; return when it has set its handlers."""
    command = [sys.executable, "-m", "sfumato", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + LONG
    while not _handles(process.pid, signal.SIGTERM) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return process


def _handles(process, number):
    status = Path(f"/proc/{process}/status").read_text()
    caught = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


def check_end(process, number):
    try:
        printed, told = process.communicate(timeout=LONG)
    finally:
        process.kill()
    assert process.returncode == 128 + number, told.decode()
    *others, last = told.decode().splitlines(keepends=True)
    assert last == ending_line(number)
    assert all(line.startswith("sfumato: ") or " runs" in line for line in others), told
    return printed


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux for the handlers")
@pytest.mark.slow
class TestSignals:
    @pytest.mark.parametrize("kind", COMMANDS)
    def test_at_any_moment(self, kind):
        """From the first import on: the first moments are as long as all later ones together."""
        moments = random.Random(kind)
        for number in [*ENDINGS] * 2:
            process = start(COMMANDS[kind])
            time.sleep(moments.uniform(0, 0.4) if moments.random() < 0.5 else moments.uniform(0, 4))
            if process.poll() is None:
                process.send_signal(number)
                check_end(process, number)
            else:
                process.communicate()
                assert (kind, process.returncode) == ("demo", 0)
            assert {*names_here()} - KEPT <= ({"sfumato-demo"} if kind == "demo" else set())
            assert not list(Path().rglob(".sfumato-*"))

    def test_ignored_signals_stay_ignored(self):
        process = subprocess.Popen(
            [sys.executable, "-m", "sfumato", "cluster", "rows.npy", "-k", "3", "--max-iter", "2"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
        deadline = time.monotonic() + LONG
        while not _handles(process.pid, signal.SIGTERM):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=LONG)
        assert process.returncode == 0

    def test_while_files_are_written(self):
        """The temporary folder and the folder of results are removed."""
        words = ["cluster", "parts", "-k", "3", "--max-iter", "1", "--output", "deep/out"]
        process = start(words)
        deadline = time.monotonic() + LONG
        while not list(Path().rglob("deep/out/.sfumato-*/*")) and process.poll() is None:
            assert time.monotonic() < deadline
        if process.poll() is None:
            os.kill(process.pid, signal.SIGTERM)
            check_end(process, signal.SIGTERM)
            assert {*names_here()} <= KEPT


IMPORTING = """
import os, signal, sys, types
from sfumato.cli.signals import end_on_signals

sys.modules["sfumato.files"] = types.ModuleType("sfumato.files")  # As while it is being imported.
end_on_signals()
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_while_the_modules_that_write_files_are_imported():
    command = [sys.executable, "-c", IMPORTING]
    found = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert (found.returncode, found.stderr) == (143, ending_line(signal.SIGTERM))
