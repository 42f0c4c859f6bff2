"""``sfumato cluster`` as a process that streams: a full disk, Ctrl-C, kill -9, memory, the bar."""

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.unit.cli.test_main import names_here, read_until


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def make_parts(n_rows, n_features=4, n_files=2):
    """A folder of Parquet files, which is streamed by any process."""
    Path("rows").mkdir()
    rng = np.random.default_rng(0)
    for index in range(n_files):
        rows = rng.normal(size=(n_rows, n_features)).astype(np.float32)
        table = pa.table({f"f{i}": column for i, column in enumerate(rows.T)})
        parquet.write_table(table, f"rows/{index}.parquet", use_dictionary=False)


def start(*words, **options):
    command = [sys.executable, "-m", "sfumato", "cluster", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, **options)


class TestProcess:
    @pytest.mark.slow
    def test_full_disk(self):
        make_parts(20_000)
        before = names_here()

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

        for file_format in ("csv", "parquet"):
            words = ["rows", "--n-clusters", 3, "--tol", 0.01, "--format", file_format]
            process = start(*words, stderr=subprocess.PIPE, preexec_fn=small_files)
            printed, told = process.communicate(timeout=300)
            assert (process.returncode, printed) == (2, b""), told
            *others, last = told.splitlines()
            assert last.startswith(b"sfumato: rows-clusters cannot be written to (")
            assert all(line.startswith(b"sfumato: warning: ") for line in others), told
            assert names_here() == before

    @pytest.mark.slow
    def test_ctrl_c_and_the_bar(self):
        make_parts(100_000)
        ours, theirs = pty.openpty()
        words = ["rows", "--n-clusters", 20, "--n-init", 1000, "--fuzzifier", 2]
        process = start(*words, stderr=theirs, env={**os.environ, "COLUMNS": "120"})
        try:
            os.close(theirs)
            shown = read_until(ours, b"(stops at 1e-06)", seconds=180)
            if b"200k rows" not in shown:  # A pass may be over before its bar is drawn.
                shown += read_until(ours, b"200k rows", seconds=180)
            for fragment in (b"200k rows", b"/s", b"left", b"passes, 0:", b"objective ",
                             b"start 1 of 1000, iteration "):  # fmt: skip
                assert fragment in shown
            process.send_signal(signal.SIGINT)
            shown += read_until(ours, b"interrupted; no unfinished files are left", seconds=120)
            assert process.wait(120) == 130
            assert b"Traceback" not in shown
            assert process.stdout.read() == b""
            assert names_here() == ["rows"]
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            os.close(ours)

    @pytest.mark.slow
    def test_killed_and_started_again(self):
        make_parts(40_000)
        words = ["rows", "-k", 12, "--tol", 1e-12, "--max-iter", 60, "--format", "parquet"]
        whole = start(*words, "--output", "whole", stderr=subprocess.PIPE)
        assert b"resumed" not in whole.communicate(timeout=300)[1]
        words += ["--checkpoint", "fit.ckpt"]
        killed = start(*words, "--output", "again", stderr=subprocess.PIPE)
        deadline = time.monotonic() + 180
        while not Path("fit.ckpt").exists() and killed.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        killed.kill()
        killed.communicate()
        assert killed.returncode == -signal.SIGKILL, "it was to be killed before its end"
        again = start(*words, "--output", "again", stderr=subprocess.PIPE)
        told = again.communicate(timeout=300)[1]
        assert told.startswith(b"sfumato: resumed from fit.ckpt, after iteration ")
        assert b"\x1b" not in told
        assert names_here() == ["again", "fit.ckpt", "rows", "whole"]
        for name in ("labels", "memberships", "centers"):
            one, two = (Path(f, f"{name}.parquet").read_bytes() for f in ("whole", "again"))
            assert one == two
        one, two = (
            json.loads(Path(folder, "summary.json").read_text()) for folder in ("whole", "again")
        )
        assert one["objective"] == two["objective"]
        assert "resumed" not in one
        assert two["resumed"]["iteration"] >= 0, "the first state is at the initial centers"

    @pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux")
    @pytest.mark.slow
    def test_memory_stays_within_the_limit(self):
        """A file of 300 MB. Not by ru_maxrss, which begins with the peak of whoever forks."""
        rows = np.random.default_rng(0).normal(size=(100_000, 32))
        table = pa.table({f"f{i}": column for i, column in enumerate(rows.T)})
        with parquet.ParquetWriter("rows.parquet", table.schema, use_dictionary=False) as writer:
            for _ in range(12):
                writer.write_table(table)
        assert Path("rows.parquet").stat().st_size > 300 * 10**6
        code = (
            "import sys\n"
            "from sfumato.cli import main as cli\n"
            "try:\n"
            "    cli.main(sys.argv[1:])\n"
            "finally:\n"
            "    print(open('/proc/self/status').read())\n"
        )
        words = ["rows.parquet", "--n-clusters", "5", "--max-iter", "2", "--n-active", "2"]
        words += ["--format", "parquet", "--memory", "400MB"]
        found = subprocess.run(
            [sys.executable, "-c", code, "cluster", *words],
            capture_output=True,
            text=True,
            timeout=400,
        )
        assert "Traceback" not in found.stderr
        assert "Streamed in" in found.stdout
        peak = int(found.stdout.split("VmHWM:")[1].split()[0]) * 1024
        assert 200 * 10**6 < peak < 400 * 10**6
