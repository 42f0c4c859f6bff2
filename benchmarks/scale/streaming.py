"""Passes over a file that need not fit in memory, beside passes over rows that are there.

The passes are measured in turn in one process; the memory of a whole fit in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.harness.report import Goal, Report, measuring
from benchmarks.harness.setting import field_of
from benchmarks.scale.engines import N_ACTIVE, engine_on, seconds_of_a_pass
from benchmarks.scale.files import N_CLUSTERS, N_FEATURES, npy_file, parquet_file, true_centers
from sfumato import REFCMFS, stream

N_ROWS, QUICK_ROWS = 100_000_000, 5_000_000
ROUNDS = 3
IN_MEMORY = 10_000_000
NPY_LIMIT, PARQUET_LIMIT, MEMORY_LIMIT = 1.3, 1.5, 1.0


def run(quick: bool) -> Report:
    n_rows = QUICK_ROWS if quick else N_ROWS
    how = (
        f"{n_rows:,} x {N_FEATURES} float32, {N_CLUSTERS} clusters, n_active={N_ACTIVE}: median "
        f"seconds of a pass, of {ROUNDS} measured in turn. In memory: {IN_MEMORY:,} of the rows at "
        "most, scaled to all. Reading alone: the same stream, and nothing is done with its chunks. "
        "pyarrow with two threads: its batches, likewise; as reading then keeps both cores busy, "
        "and sweeping does, no pass can take less than the sum of the two. Memory: how far the "
        "peak of a process rises during a whole fit of 3 iterations, lookups and seeding included."
    )
    report = Report("streaming", "A stream from a file", how, quick, "ratio")
    centers = true_centers().astype(np.float64)
    files = {"npy": npy_file(n_rows), "parquet": parquet_file(n_rows)}
    engines = {name: engine_on(stream(path)) for name, path in files.items()}
    in_memory = engine_on(np.load(files["npy"], mmap_mode="r")[:IN_MEMORY].copy())
    scale = n_rows / in_memory.n_rows
    names = ("in memory", "npy", "reading parquet alone", "pyarrow with two threads", "parquet")
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(ROUNDS):
        measuring(f"round {turn + 1} of {ROUNDS}")
        times["in memory"].append(scale * seconds_of_a_pass(in_memory, centers))
        times["npy"].append(seconds_of_a_pass(engines["npy"], centers))
        times["reading parquet alone"].append(seconds_of_streaming(files["parquet"]))
        times["pyarrow with two threads"].append(seconds_of_reading(files["parquet"]))
        times["parquet"].append(seconds_of_a_pass(engines["parquet"], centers))
    add_times(report, {name: float(np.median(values)) for name, values in times.items()}, n_rows)
    table = report.begin("fit to", "peak rises by, GB", "limit")
    for name, path in files.items():
        measuring(f"memory of a fit to {path.name}")
        growth = added_by_a_fit(path) / 1e9
        table.add(f".{name}", f"{growth:.2f}", f"{MEMORY_LIMIT}")
        report.goals.append(Goal(f"memory that a fit to .{name} adds, GB,", growth, MEMORY_LIMIT))
    return report


def add_times(report: Report, medians: dict[str, float], n_rows: int) -> None:
    table = report.begin("pass", "seconds", "million rows a second", "ratio", "to", "limit")
    slower = max(("reading parquet alone", "in memory"), key=lambda name: medians[name])
    compared = {"npy": ("in memory", NPY_LIMIT), "parquet": (slower, PARQUET_LIMIT)}
    for name, seconds in medians.items():
        rate = f"{n_rows / seconds / 1e6:.1f}"
        if name not in compared:
            table.add(name, f"{seconds:.2f}", rate, "", "", "")
            continue
        to, limit = compared[name]
        ratio = seconds / medians[to]
        table.add(name, f"{seconds:.2f}", rate, f"{ratio:.2f}", to, f"{limit}")
        report.cells.append(Goal(f"a pass over .{name} / {to}", ratio, limit))


def seconds_of_streaming(path: Path) -> float:
    """Seconds of a pass that only reads."""
    began = time.perf_counter()
    for chunk in stream(path).chunks():
        del chunk
    return time.perf_counter() - began


def seconds_of_reading(path: Path) -> float:
    """Seconds to read and decode a Parquet file, with all threads of pyarrow.

    Without ``pre_buffer``, which would keep the whole file in memory and takes six times as long.
    """
    import pyarrow.parquet as pq

    began = time.perf_counter()
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(1 << 19):
            del batch
    return time.perf_counter() - began


def added_by_a_fit(path: Path) -> int:
    """Bytes by which the peak of a process rises during a fit."""
    command = [sys.executable, "-m", "benchmarks.scale.streaming", str(path)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root)
    return int(json.loads(done.stdout))


def fit_and_tell(path: str) -> None:
    rows = stream(path)
    model = REFCMFS(N_CLUSTERS, n_active=N_ACTIVE, max_iter=3, random_state=0)
    before = peak()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows)
    print(json.dumps(peak() - before))


def peak() -> int:
    """Largest memory of this process so far; ``ru_maxrss`` would begin with that of its parent."""
    return 1024 * int(field_of("/proc/self/status", "VmHWM").split()[0])


if __name__ == "__main__":
    fit_and_tell(sys.argv[1])
