"""Cost model of a pass on a cluster, with five measured coefficients, and its accuracy.

A pass over ``n`` rows in ``C`` chunks on ``W`` workers of one thread takes about

    start  +  min(C, 4 W) * task  +  ceil(C / W) * (n / C * row + chunk)  +  C * bytes * byte

seconds: its beginning and its end, the scheduler's work for each task, the busiest worker's rows
and chunks, and the sending and adding of statistics, ``8 * n_clusters * (n_features + 2)`` bytes a
chunk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.report import Curve, Goal, Report, measuring
from benchmarks.scale.cluster import block, rows_here, rows_on_workers, workers
from benchmarks.scale.engines import engine_on, seconds_of_a_pass
from benchmarks.scale.files import N_CLUSTERS, N_FEATURES, true_centers
from sfumato._engines.dask_graph import TASKS_PER_THREAD

N_ROWS, QUICK_ROWS = 4_000_000, 400_000
CHUNKS, QUICK_CHUNKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000), (1, 10, 100)
WORKERS = (1, 2)
ROUNDS = 3
MANY, MOST = 200, 1000
TINY = 100
"""Rows of a chunk that takes no time to compute with."""
WIDE = 1000
"""Features of rows whose statistics are large."""
LIMIT = 1.5
"""Largest factor between a prediction and what was measured."""
ROWS = (10**9, 10**10, 10**11, 10**12)
MACHINES = (10, 100, 1000)


class Costs(NamedTuple):
    """Seconds per pass, task, chunk, row, and byte of statistics."""

    start: float
    task: float
    chunk: float
    row: float
    byte: float

    def parts(self, n_rows: float, chunks: int, workers: int) -> dict[str, float]:
        """Seconds by what takes them."""
        busiest = -(-chunks // workers)
        size = statistics_bytes(N_CLUSTERS, N_FEATURES)
        return {
            "the start": self.start,
            "tasks": min(chunks, TASKS_PER_THREAD * workers) * self.task,
            "chunks": busiest * self.chunk,
            "rows": busiest * (n_rows / chunks) * self.row,
            "statistics": chunks * size * self.byte,
        }

    def seconds(self, n_rows: float, chunks: int, workers: int) -> float:
        return sum(self.parts(n_rows, chunks, workers).values())


def statistics_bytes(n_clusters: int, n_features: int) -> int:
    return 8 * n_clusters * (n_features + 2)


def run(quick: bool) -> Report:
    n_rows = QUICK_ROWS if quick else N_ROWS
    how = (
        f"{__doc__.split(chr(10) * 2, 1)[1].strip()}\n\n"
        f"Measured for {N_CLUSTERS} clusters, n_active=3 and {N_FEATURES} float32 features: the "
        f"row by one thread of the native engine; start, task and chunk by passes over 1, 8 and "
        f"{MOST} chunks of {TINY} rows on two workers; the byte by {MANY} such chunks of {WIDE} "
        f"features. Passes over {n_rows:,} rows, medians of {2 * ROUNDS + 1}."
    )
    report = Report("model", "A model of a pass", how, quick, "predicted / measured")
    costs = measured_costs(n_rows)
    table = report.begin("cost", "measured")
    table.add("per pass", f"{1e3 * costs.start:.1f} ms")
    table.add("per task", f"{1e3 * costs.task:.2f} ms")
    table.add("per chunk", f"{1e3 * costs.chunk:.2f} ms")
    table.add("per row", f"{1e9 * costs.row:.1f} ns")
    table.add("per byte of statistics", f"{1e9 * costs.byte:.2f} ns")
    compare(report, costs, n_rows, QUICK_CHUNKS if quick else CHUNKS)
    predict(report, costs)
    return report


def measured_costs(n_rows: int) -> Costs:
    measuring("what rows, tasks and bytes cost")
    centers = true_centers().astype(np.float64)
    native = engine_on(rows_here(n_rows // 4, 4))
    native.n_threads = 1
    row = median_pass(native, centers) / native.n_rows
    with workers(2):
        tiny = {
            count: median_pass(engine_on(rows_on_workers(TINY * count, count)), centers)
            for count in (1, 8, MANY, MOST)
        }
        wide = engine_on(wide_rows())
        size = statistics_bytes(N_CLUSTERS, WIDE)
        seconds = median_pass(wide, np.random.default_rng(0).normal(size=(N_CLUSTERS, WIDE)))
        here = engine_on(np.tile(block(0, TINY), (1, WIDE // N_FEATURES + 1))[:, :WIDE])
        here.n_threads = 1
        alone = median_pass(here, np.random.default_rng(0).normal(size=(N_CLUSTERS, WIDE)))
    task = max(0.0, (tiny[8] - tiny[1]) / 7)
    chunk = 2 * (tiny[MOST] - tiny[8]) / (MOST - 8)
    byte = max(0.0, (seconds - tiny[MANY]) / MANY - alone / 2) / size
    return Costs(tiny[1] - task, task, chunk, row, byte)


def wide_rows() -> Any:
    """Small chunks of many features, on the workers."""
    import dask.array as da
    from distributed import wait

    rows = da.random.default_rng(0).normal(size=(TINY * MANY, WIDE), chunks=(TINY, WIDE))
    rows = rows.astype(np.float32).persist()
    wait(rows)
    return rows


def median_pass(engine: Any, centers: np.ndarray) -> float:
    engine.sweep(centers)
    return float(np.median([seconds_of_a_pass(engine, centers) for _ in range(2 * ROUNDS + 1)]))


def compare(report: Report, costs: Costs, n_rows: int, chunk_counts: tuple[int, ...]) -> None:
    """Measure passes for some numbers of chunks and workers, beside predictions of the model."""
    table = report.begin("workers", "chunks", "measured, s", "predicted, s", "predicted / measured")
    centers = true_centers().astype(np.float64)
    worst = 1.0
    for count in WORKERS:
        seconds = []
        with workers(count):
            for chunks in chunk_counts:
                measuring(f"{count} workers, {chunks} chunks")
                engine = engine_on(rows_on_workers(n_rows, chunks))
                found, said = median_pass(engine, centers), costs.seconds(n_rows, chunks, count)
                seconds.append(found)
                table.add(
                    str(count), str(chunks), f"{found:.3f}", f"{said:.3f}", f"{said / found:.2f}"
                )
                worst = max(worst, said / found, found / said)
        sizes = [float(chunks) for chunks in chunk_counts]
        report.curves.append(Curve(f"chunks, {count} workers", sizes, seconds, 0.0))
        predicted = [costs.seconds(n_rows, chunks, count) for chunks in chunk_counts]
        report.curves.append(Curve(f"predicted, {count} workers", sizes, predicted, 0.0))
    report.goals.append(Goal("largest factor between prediction and measurement", worst, LIMIT))


def predict(report: Report, costs: Costs) -> None:
    """Predicted seconds of a pass on clusters that cannot be measured here."""
    table = report.begin(
        "rows", "workers", "rows a chunk", "chunks", "a pass, s", "limited by", "share of it"
    )
    for n_rows in ROWS:
        for count in MACHINES:
            size = best_chunk(costs, n_rows, count)
            chunks = max(1, round(n_rows / size))
            parts = costs.parts(n_rows, chunks, count)
            limit = max(parts, key=lambda name: parts[name])
            total = sum(parts.values())
            table.add(
                f"{n_rows:.0e}",
                str(count),
                f"{size:,.0f}",
                f"{chunks:,}",
                f"{total:,.1f}",
                limit,
                f"{parts[limit] / total:.0%}",
            )


def best_chunk(costs: Costs, n_rows: float, workers: int) -> float:
    """Rows of a chunk for which a pass is shortest, among those that fit on a machine."""
    sizes = [2.0**power for power in range(19, 27) if 2.0**power <= n_rows / workers]
    return min(sizes, key=lambda size: costs.seconds(n_rows, max(1, round(n_rows / size)), workers))
