"""The price of robustness: a fit of CappedREFCMFS against a fit of REFCMFS.

Same data, same number of starts, in turn. On small data what a robust fit does beforehand counts;
on large data it has a bounded sample to look at, and its seeds come from there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness.report import Goal, Report, measuring
from benchmarks.harness.shared import geometric_mean, paper_sets, timed
from sfumato import REFCMFS, CappedREFCMFS
from sfumato.datasets import make_blobs_with_outliers

LIMIT = 1.5
STARTS = 5
SIZES = ((2_000, 10, 6), (20_000, 10, 6), (200_000, 16, 20))
"""Rows, features and clusters of blobs; a tenth of the rows are outliers."""


def cases(quick: bool) -> Iterator[tuple[str, np.ndarray | None, int]]:
    """Name, rows, clusters; no rows where a file is missing. The large sets take too long."""
    for n_rows, n_features, n_clusters in SIZES[: 1 if quick else None]:
        made = make_blobs_with_outliers(n_rows, n_features, n_clusters=n_clusters, random_state=0)
        yield f"blobs, {n_rows:,} x {n_features}", made.data, n_clusters
    for name, X, n_clusters, _ in () if quick else paper_sets(quick=True):
        yield name, X, n_clusters


def pairs(X, n_clusters, n_init, seeds):
    """Seconds of both, a row per seed."""
    times = []
    for seed in seeds:
        models = [M(n_clusters, n_init=n_init, random_state=seed) for M in (CappedREFCMFS, REFCMFS)]
        times.append([timed(lambda model=model: model.fit(X))[0] for model in models])
    return np.array(times)


def ratio_of(times):
    return float(np.median(times[:, 0] / times[:, 1]))


def run(quick: bool) -> Report:
    seeds = range(3 if quick else 7)
    how = (
        f"Parameters as they come, but `n_init={STARTS}` for both; the ratio is the median over "
        f"pairs from {len(seeds)} seeds. Last column: the ratio of fits with `n_init` as it comes, "
        "which is successive halving of 10 starts for REFCMFS, and of 6 for CappedREFCMFS with "
        "outliers, which makes no more starts once three of its short fits have agreed, as on "
        "blobs."
    )
    axis = "CappedREFCMFS / REFCMFS, a fit"
    report = Report("capped", "A fit that outliers do not move", how, quick, axis)
    header = ["data", "CappedREFCMFS ms", "REFCMFS ms", "ratio", "limit"]
    table = report.begin(*header, "as they come: ratio")
    for name, X, n_clusters in cases(quick):
        if X is None:
            table.add(name, "no such file; set SFUMATO_DATA to the folder", *[""] * 4)
            continue
        measuring(name)
        pairs(X, n_clusters, STARTS, [0])
        times = pairs(X, n_clusters, STARTS, seeds)
        usual = pairs(X, n_clusters, "auto", seeds[:3])
        ours, theirs = (f"{1e3 * value:.0f}" for value in np.median(times, axis=0))
        ratio = ratio_of(times)
        table.add(name, ours, theirs, f"{ratio:.2f}", f"{LIMIT}", f"{ratio_of(usual):.2f}")
        report.cells.append(Goal(name, ratio, LIMIT))
    mean = geometric_mean(cell.value for cell in report.cells)
    report.goals.append(Goal("geometric mean", mean, LIMIT, plotted=True))
    return report
