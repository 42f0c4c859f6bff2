"""What finding the number of clusters costs, in fits of that number and in passes over a stream.

Times are those of the processor, in one thread, as others may be at work on the machine. The path
and the fit take turns.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.report import Goal, Report, measuring
from sfumato import CappedREFCMFS, select_n_clusters, stream
from sfumato._checks import Auto

N_FEATURES = 16
SIZES = {100_000: (5.0, 5), 5_000_000: (2.0, 1)}
"""Limits of the ratio, and rounds, by the number of rows."""
CLUSTERS = (10, 20)
LONGEST = 30
"""Numbers of clusters on the path, at most."""
MORE_PASSES = 3
"""Passes over a stream beyond those of a fit, at most."""
BOX, CHUNK = 12.0, 500_000
"""Half-width of the box of the centers, in standard deviations; rows that are drawn at a time."""


def blobs(n_rows: int, n_clusters: int) -> np.ndarray:
    """Gaussian clusters, in single precision."""
    rng = np.random.default_rng(n_clusters)
    centers = rng.uniform(-BOX, BOX, size=(n_clusters, N_FEATURES)).astype(np.float32)
    X = np.empty((n_rows, N_FEATURES), np.float32)
    for begin in range(0, n_rows, CHUNK):
        part = X[begin : begin + CHUNK]
        rng.standard_normal(dtype=np.float32, out=part)
        part += centers[rng.integers(n_clusters, size=len(part))]
    return X


def seconds(call: Callable[[], Any]) -> float:
    """Seconds of the processor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        call()
        return time.process_time() - began


def costs(X: np.ndarray, n_clusters: int, rounds: int) -> tuple[float, float]:
    """Median seconds of the path and of a fit, in turn."""

    def path(seed: int) -> None:
        select_n_clusters(X, candidates=range(1, LONGEST + 1), random_state=seed)

    def fit(seed: int) -> None:
        CappedREFCMFS(n_clusters, random_state=seed, n_threads=1).fit(X)

    pairs = [
        [seconds(lambda i=i: path(i)), seconds(lambda i=i: fit(i))]  # type: ignore[misc]
        for i in range(rounds)
    ]
    found = np.median(pairs, axis=0)
    return float(found[0]), float(found[1])


def passes(X: np.ndarray, n_clusters: int | Auto) -> int:
    """Times that a fit reads a stream."""
    count = 0

    def chunks() -> Any:
        nonlocal count
        count += 1
        return iter(np.array_split(X, 10))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CappedREFCMFS(n_clusters, random_state=0, n_threads=1).fit(stream(chunks))
    return count


def run(quick: bool) -> Report:
    how = (
        f"Candidates 1 to {LONGEST} of `select_n_clusters`, and default fits of `CappedREFCMFS` of "
        f"the true number; Gaussian clusters in {N_FEATURES} dimensions, single precision, one "
        "thread, seconds of the processor."
    )
    axis = "seconds of the path / seconds of a fit"
    report = Report("selection", "Cost of the number of clusters", how, quick, axis)
    table = report.begin("rows", "clusters", "path, s", "fit, s", "fits", "limit")
    for n_rows, (limit, rounds) in list(SIZES.items())[: 1 if quick else None]:
        for n_clusters in CLUSTERS:
            measuring(f"{n_rows:,} rows, {n_clusters} clusters")
            path, fit = costs(blobs(n_rows, n_clusters), n_clusters, 1 if quick else rounds)
            name, ratio = f"{n_rows:,} rows, {n_clusters} clusters", path / fit
            shown = [f"{path:.2f}", f"{fit:.2f}", f"{ratio:.1f}", f"{limit:g}"]
            table.add(f"{n_rows:,}", str(n_clusters), *shown)
            report.cells.append(Goal(name, ratio, limit, plotted=True))
    table = report.begin("passes of", "number")
    X = blobs(CHUNK // 10, CLUSTERS[0])
    known, auto = passes(X, CLUSTERS[0]), passes(X, "auto")
    table.add("a fit of the known number", str(known))
    table.add('a fit of `n_clusters="auto"`', str(auto))
    report.goals.append(Goal("more passes over a stream", auto - known, MORE_PASSES))
    return report
