"""Soak test: signals, kills, full disks and rivals at random moments, under load.

    python tools/soak.py --minutes 10 [--write]

Every trial runs the command ``sfumato cluster`` in a folder of its own, beside processes that keep
all processors busy. The table says what was tried, how often, and what was lost; with ``--write``
it is put into docs/reliability.md. The exit code is 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"
LONG = 240
"""Seconds after which a process counts as hanging."""
ENDED_BEFORE = "ended before"
"""Result of a trial whose process ended by itself before the signal was sent; it does not count."""
TABLES = ("labels.csv", "memberships.csv", "centers.csv")
EFFORT = ["--tol", "1e-12", "--max-iter", "60", "--fuzzifier", "1.5", "--n-init", "3"]


class Job:
    """Rows to cluster, and the results of a run that nothing disturbed.

    Parameters
    ----------
    folder : Path
        For the data.
    streamed : bool
        Whether the rows are a folder of Parquet files, which is always streamed.
    """

    def __init__(self, folder: Path, streamed: bool) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        rng = np.random.default_rng(0)
        rows = rng.normal(size=(20_000, 4)) + 6 * rng.integers(0, 3, size=(20_000, 1))
        self.data = folder / ("parts" if streamed else "rows.npy")
        if streamed:
            self.data.mkdir()
            table = pa.table({f"f{i}": column for i, column in enumerate(rows.T)})
            for number in range(2):
                parquet.write_table(
                    table.slice(number * 10_000, 10_000), self.data / f"{number}.pq"
                )
        else:
            np.save(self.data, rows)
        self.expected = folder / f"expected-{self.data.stem}"
        finish(self.start(folder, "--output", str(self.expected)), 0)

    def start(self, folder: Path, *words: str, k: int = 8) -> subprocess.Popen[str]:
        """Start the command in a folder."""
        command = [sys.executable, "-m", "sfumato", "cluster", str(self.data), "-k", str(k)]
        return subprocess.Popen(
            [*command, *EFFORT, "--quiet", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def same(self, output: Path) -> bool:
        """Whether results are those of the undisturbed run, to the byte."""
        return all(
            (output / name).read_bytes() == (self.expected / name).read_bytes() for name in TABLES
        )


Trial = Callable[[Job, Path, random.Random], str | None]
"""Returns None if the promise held, ``ENDED_BEFORE``, or what was lost."""


def finish(process: subprocess.Popen[str], code: int) -> str:
    """Wait for a process that must end with a code; returns its error stream."""
    try:
        _, told = process.communicate(timeout=LONG)
    finally:
        process.kill()
    if process.returncode != code:
        raise AssertionError(f"exit code {process.returncode}, not {code}: {told[-300:]}")
    return told


def after_a_while(process: subprocess.Popen[str], rng: random.Random) -> bool:
    """Wait until the command has begun, then for a random time; False if it has ended by then."""
    while process.poll() is None and not _handles_signals(process.pid):
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 2) if rng.random() < 0.4 else rng.uniform(0, 7))
    return process.poll() is None


def _handles_signals(process: int) -> bool:
    """Whether a process has its own handler of SIGTERM: Python itself has none."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    caught = status.partition("SigCgt:")[2].split()
    return bool(caught) and bool(int(caught[0], 16) >> (signal.SIGTERM - 1) & 1)


def left_in(folder: Path, *expected: str) -> list[str]:
    """Names in a folder that should not be there."""
    return sorted({path.name for path in folder.iterdir()} - {*expected})


def signals(number: signal.Signals) -> Trial:
    """Trial of a signal: its exit code, one line, and nothing left but a checkpoint."""

    def trial(job: Job, folder: Path, rng: random.Random) -> str | None:
        words = ["--checkpoint", "fit.ckpt"] if rng.random() < 0.5 else []
        process = job.start(folder, "--output", "out/deep", *words)
        if not after_a_while(process, rng):
            process.communicate()
            return ENDED_BEFORE
        process.send_signal(number)
        told = finish(process, 128 + number)
        if told.count("\n") != 1:
            return f"more than a line: {told[-300:]}"
        left = left_in(folder, "fit.ckpt")
        return f"left behind: {left}" if left else None

    return trial


def kills(job: Job, folder: Path, rng: random.Random) -> str | None:
    """Kill with a checkpoint, twice at most; then the same command ends with the same results."""
    words = ["--checkpoint", "fit.ckpt", "--output", "out"]
    for _ in range(2):
        process = job.start(folder, *words)
        if not after_a_while(process, rng):
            process.communicate()
            return ENDED_BEFORE
        process.kill()
        process.communicate()
    finish(job.start(folder, *words, "--force"), 0)
    if not job.same(folder / "out"):
        return "other results after a kill"
    left = left_in(folder, "out", "fit.ckpt") + left_in(
        folder / "out", *TABLES, "summary.json", "model.sfumato"
    )
    return f"left behind: {left}" if left else None


def full_disk(job: Job, folder: Path, rng: random.Random) -> str | None:
    """A checkpoint on a disk that fills up: the fit goes on, and the former file stays whole."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        (disk / "filler").write_bytes(bytes(rng.randrange(200_000, 262_144)))
        words = ["--checkpoint", str(disk / "fit.ckpt")]
        told = finish(job.start(folder, *words, "--output", "out"), 0)
        if not job.same(folder / "out"):
            return "other results on a full disk"
        if any(not line.startswith("sfumato: warning: ") for line in told.splitlines()):
            return f"not in a line: {told[-300:]}"
        finish(job.start(folder, "--output", str(disk / "out")), 2)
        left = left_in(disk, "filler", "fit.ckpt")
        return f"left behind: {left}" if left else None
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def one_checkpoint(job: Job, folder: Path, rng: random.Random) -> str | None:
    """Two processes write to one checkpoint, and one may be killed: the results are the same."""
    words = ["--checkpoint", "fit.ckpt", "--output"]
    rivals = [job.start(folder, *words, name) for name in ("a", "b")]
    killed = rng.random() < 0.5 and after_a_while(rivals[1], rng)
    if killed:
        rivals[1].kill()
        rivals[1].communicate()
        rivals[1] = job.start(folder, *words, "b", "--force")
    for rival, name in zip(rivals, "ab", strict=True):
        finish(rival, 0)
        if not job.same(folder / name):
            return "other results beside a rival"
    left = left_in(folder, "a", "b", "fit.ckpt")
    return f"left behind: {left}" if left else None


def one_folder(job: Job, folder: Path, rng: random.Random) -> str | None:
    """Two processes write to one folder: its files are all of one of them."""
    forced = ["--force"] if rng.random() < 0.5 else []
    rivals = [job.start(folder, "--output", "out", *forced, k=k) for k in (3, 4)]
    codes = []
    for rival in rivals:
        rival.communicate(timeout=LONG)
        codes.append(rival.returncode)
    if sorted(codes) != ([0, 0] if forced else [0, 2]):
        return f"exit codes {codes}"
    k = len(json.loads((folder / "out" / "summary.json").read_text())["cluster_sizes"])
    centers = len((folder / "out" / "centers.csv").read_text().splitlines()) - 1
    labels = np.loadtxt(folder / "out" / "labels.csv", delimiter=",", skiprows=1, usecols=1)
    if not k == centers == labels.max() + 1:
        return f"files of two runs: {k}, {centers}, {labels.max() + 1} clusters"
    left = left_in(folder / "out", *TABLES, "summary.json", "model.sfumato") + left_in(
        folder, "out"
    )
    return f"left behind: {left}" if left else None


def worker_kills(job: Job, folder: Path, rng: random.Random) -> str | None:
    """A dask worker is killed during a fit: the fit ends, with the same bits as without."""
    code = Path(__file__).with_name("soak_dask.py")
    command = [sys.executable, str(code), str(job.data), str(rng.uniform(0, 1.5))]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        printed, told = process.communicate(timeout=LONG)
    finally:
        process.kill()
    if "ended before" in printed:
        return ENDED_BEFORE
    return None if "same bits" in printed else f"{printed[-200:]} {told[-300:]}"


@contextmanager
def load(count: int) -> Iterator[None]:
    """Processes that keep processors busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def can_mount(folder: Path) -> bool:
    """Whether this process may mount a small disk."""
    where = folder / "mounted"
    where.mkdir()
    found = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(where)], capture_output=True)
    if found.returncode == 0:
        subprocess.run(["umount", str(where)], check=True)
    return found.returncode == 0


def plan(memory: Job, streamed: Job, disks: bool) -> list[tuple[str, Trial, Job]]:
    """What is tried, in turn; signals most often."""
    trials: list[tuple[str, Trial, Job]] = []
    for job, where in ((memory, "in memory"), (streamed, "streamed")):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            trials += [(f"{number.name}, {where}", signals(number), job)] * 10
        trials.append((f"SIGKILL twice, then resumed, {where}", kills, job))
        trials.append((f"two processes on one checkpoint, {where}", one_checkpoint, job))
        trials.append((f"two processes on one output folder, {where}", one_folder, job))
        if disks:
            trials.append((f"checkpoint and results on a full disk, {where}", full_disk, job))
    trials.append(("a dask worker killed", worker_kills, memory))
    return trials


def soak(
    minutes: float, seed: int, only: str, folder: Path
) -> tuple[dict[str, Counter[str]], list[str]]:
    """Run trials until the time is up; returns counts by what was tried, and what was lost."""
    memory, streamed = Job(folder, False), Job(folder, True)
    disks = can_mount(folder)
    if not disks:
        print("not root, so that no small disk can be mounted: full disks are left out")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    losses: list[str] = []
    deadline = time.monotonic() + 60 * minutes
    trials = [each for each in plan(memory, streamed, disks) if each[0].startswith(only)]
    random.Random(seed).shuffle(trials)

    def run(number: int) -> None:
        name, trial, job = trials[number % len(trials)]
        if time.monotonic() > deadline:
            return
        with tempfile.TemporaryDirectory(dir=folder) as place:
            try:
                lost = trial(job, Path(place), random.Random(seed + number))
            except Exception as error:
                lost = f"{type(error).__name__}: {error}"
        if lost == ENDED_BEFORE:
            return
        counts[name]["tried"] += 1
        counts[name]["held"] += lost is None
        if lost is not None:
            losses.append(f"{name}: {' '.join(lost.split())}")
            print(losses[-1], flush=True)

    processors = os.cpu_count() or 1
    with load(processors), ThreadPoolExecutor(processors + 1) as pool:
        list(pool.map(run, range(100 * len(trials))))
    return counts, losses


def as_table(counts: dict[str, Counter[str]], minutes: float) -> str:
    """Counts in Markdown."""
    rows = [f"| {name} | {c['tried']} | {c['held']} | {c['tried'] - c['held']} |"
            for name, c in sorted(counts.items())]  # fmt: skip
    total = sum(counts.values(), Counter[str]())
    signalled = sum(c["tried"] for name, c in counts.items() if name.startswith("SIG"))
    about = (
        f"{minutes:g} minutes on {os.cpu_count()} processors, as many busy processes beside, "
        f"Python {platform.python_version()}; {signalled} trials with signals."
    )
    lines = ["| tried | times | held | lost |", "| --- | ---: | ---: | ---: |", *rows]
    lost = total["tried"] - total["held"]
    lines.append(f"| all | {total['tried']} | {total['held']} | {lost} |")
    return "\n".join([about, "", *lines])


def main() -> None:
    """Run the soak test, print its table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--only", default="", help="trials whose names begin so, as SIGINT")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    try:
        counts, losses = soak(given.minutes, given.seed, given.only, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table = as_table(counts, given.minutes)
    print(table)
    if given.write:
        page = PAGE.read_text()
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}")
    sys.exit(bool(losses))


if __name__ == "__main__":
    main()
