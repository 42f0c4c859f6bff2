"""Passes on a dask cluster of two workers, beside passes of two threads, and dask-ml's KMeans."""

from __future__ import annotations

import importlib.util
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.harness.report import Goal, Report, measuring
from benchmarks.scale.cluster import rows_here, rows_on_workers, workers
from benchmarks.scale.engines import N_ACTIVE, engine_on, seconds_of_a_pass
from benchmarks.scale.files import N_CLUSTERS, N_FEATURES, true_centers

N_ROWS, QUICK_ROWS = 10_000_000, 1_000_000
FEW_CHUNKS, N_CHUNKS = 20, 200
ROUNDS = 7
FEW, MORE = 2, 5
"""Iterations of dask-ml's KMeans; the difference in time is that of the passes between."""
PASS_LIMIT, OVERHEAD_LIMIT, FASTER = 1.3, 1.5, 5.0


def run(quick: bool) -> Report:
    n_rows = QUICK_ROWS if quick else N_ROWS
    how = (
        f"{n_rows:,} x {N_FEATURES} float32 in {FEW_CHUNKS} chunks, {N_CLUSTERS} clusters, "
        f"n_active={N_ACTIVE}; two single-thread workers, the scheduler and the client on the same "
        f"machine. Median seconds of a pass, of {ROUNDS} measured in turn with the native engine's "
        "with two threads on the same rows. dask-ml's KMeans on the same array: the time of "
        f"{MORE} iterations less that of {FEW}, over {MORE - FEW}. Overhead: what a pass "
        f"over the same rows in {N_CHUNKS} chunks takes beyond the native engine's, per chunk."
    )
    report = Report("distributed", "Dask with two workers", how, quick, "ratio")
    centers = true_centers().astype(np.float64)
    native = engine_on(rows_here(n_rows, N_CHUNKS))
    native.n_threads = 2
    with workers(2) as client:
        rows = rows_on_workers(n_rows, FEW_CHUNKS)
        engine = engine_on(rows)
        many_rows = rows_on_workers(n_rows, N_CHUNKS)
        many = engine_on(many_rows)
        times = measured(native, engine, many, centers)
        kmeans = [seconds_of_dask_ml(each, centers) for each in (rows, many_rows)]
        del rows, many_rows, engine, many, client
    table = report.begin("pass of", "seconds", "ratio", "limit")
    ratio = times["dask"] / times["native"]
    overhead = 1000 * (times["many"] - times["native"]) / N_CHUNKS
    table.add("native engine, two threads", f"{times['native']:.3f}", "", "")
    table.add("dask, two workers", f"{times['dask']:.3f}", f"{ratio:.2f}", f"{PASS_LIMIT}")
    many = f"dask, two workers, {N_CHUNKS} chunks"
    table.add(many, f"{times['many']:.3f}", f"{times['many'] / times['native']:.2f}", "")
    report.cells.append(Goal("a pass of dask / of the native engine", ratio, PASS_LIMIT))
    report.goals.append(Goal("overhead per chunk, milliseconds,", overhead, OVERHEAD_LIMIT))
    add_kmeans(report, times, kmeans)
    return report


def add_kmeans(report: Report, times: dict[str, float], kmeans: list[float | None]) -> None:
    table = report.begin("chunks", "a pass, s", "dask-ml's KMeans, s", "ratio")
    for chunks, name, seconds in zip((FEW_CHUNKS, N_CHUNKS), ("dask", "many"), kmeans, strict=True):
        if seconds is None:
            continue
        faster = seconds / times[name]
        table.add(str(chunks), f"{times[name]:.3f}", f"{seconds:.3f}", f"{faster:.1f}")
        if chunks == N_CHUNKS:
            what = f"dask-ml's KMeans takes, in passes of ours over {chunks} chunks,"
            report.goals.append(Goal(what, faster, FASTER, "at least"))


def measured(native: Any, engine: Any, many: Any, centers: np.ndarray) -> dict[str, float]:
    """Median seconds of each kind of pass."""
    engines = {"native": native, "dask": engine, "many": many}
    times: dict[str, list[float]] = {name: [] for name in engines}
    for each in engines.values():
        each.sweep(centers)
    for turn in range(ROUNDS):
        measuring(f"round {turn + 1} of {ROUNDS}")
        for name, each in engines.items():
            times[name].append(seconds_of_a_pass(each, centers))
    return {name: float(np.median(values)) for name, values in times.items()}


def seconds_of_dask_ml(rows: Any, centers: np.ndarray) -> float | None:
    """Seconds of an iteration of dask-ml's KMeans; None where it is not installed."""
    if importlib.util.find_spec("dask_ml") is None:
        measuring("dask-ml is not installed, and left out: pip install dask-ml")
        return None
    from dask_ml.cluster import KMeans

    def seconds(iterations: int) -> float:
        model = KMeans(N_CLUSTERS, init=centers.astype(np.float32), max_iter=iterations, tol=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            model.fit(rows)
            return time.perf_counter() - began

    measuring("dask-ml's KMeans")
    seconds(FEW)  # numba compiles.
    few, more = seconds(FEW), seconds(MORE)
    return (more - few) / (MORE - FEW)
