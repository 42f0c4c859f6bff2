"""A pass of REFCMFS against a Lloyd pass of scikit-learn's KMeans: same data, same centers.

Both are measured in turn, in one process; the table shows medians, and the median of the ratios of
neighboring measurements. Data is standard normal noise, so that Lloyd does not stop early.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.harness.report import Goal, Report, measuring
from benchmarks.harness.shared import geometric_mean, native_engine, seconds_per_pass, timed

SHAPES = [  # rows, features, clusters, active clusters, largest ratio
    (1_000_000, 2, 5, 2, 1.5),
    (1_000_000, 16, 20, 3, 1.5),
    (200_000, 64, 256, 5, 1.5),
    (9_298, 256, 10, 5, 1.5),
    (7_200, 1024, 100, 75, 2.2),
]
LLOYD_PASSES, QUICK_LLOYD_PASSES = 20, 8
LIMIT = 1.2
"""Largest geometric mean of the ratios, with what Lloyd takes to set up and without."""


def kmeans(X, centers, max_iter):
    """Seconds of a whole fit, and its number of passes."""
    model = KMeans(len(centers), init=centers, n_init=1, max_iter=max_iter, tol=0)
    seconds, _ = timed(lambda: model.fit(X))
    return seconds, model.n_iter_


def lloyd(X, centers, max_iter):
    """Seconds per pass: of the whole fit, and without what a fit of a single pass takes."""
    whole, n_iter = kmeans(X, centers, max_iter)
    single, _ = kmeans(X, centers, 1)
    return whole / n_iter, (whole - single) / (n_iter - 1)


def measure(shape, dtype, pairs, passes, lloyd_passes):
    """Seconds per pass: ours, Lloyd's, and Lloyd's without set-up; a row per pair."""
    n_rows, n_features, n_clusters, n_active, _ = shape
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=dtype)
    centers = X[:n_clusters] + rng.normal(scale=0.01, size=(n_clusters, n_features)).astype(dtype)
    engine = native_engine(X, n_active)

    def pair():
        return seconds_per_pass(engine, centers, passes), *lloyd(X, centers, lloyd_passes)

    pair()
    return np.array([pair() for _ in range(pairs)])


def run(quick: bool) -> Report:
    pairs, passes = (2, 4) if quick else (7, 8)
    lloyd_passes = QUICK_LLOYD_PASSES if quick else LLOYD_PASSES
    how = (
        "The same standard normal rows and the same centers for both, float64 and float32. Ours: "
        f"mean over {passes} passes with the steps between them. Lloyd: a fit of KMeans with "
        f"`max_iter={lloyd_passes}`, divided by its `n_iter_`; the last column takes a fit of one "
        "pass off it first, which is set-up for the most part. Measured in turn; ratios are "
        f"medians over {pairs} pairs."
    )
    axis = "REFCMFS / Lloyd (n x d, clusters, active)"
    report = Report("passes", "A pass against a Lloyd pass", how, quick, axis)
    table = report.begin(
        "n x d, clusters, active",
        "dtype",
        "REFCMFS ms",
        "Lloyd ms",
        "ratio",
        "limit",
        "ratio without set-up",
    )
    without = []
    for shape in SHAPES:
        n_rows, n_features, n_clusters, n_active, limit = shape
        label = f"{n_rows:,} x {n_features}, {n_clusters}, {n_active}"
        for dtype in (np.float64, np.float32):
            name = np.dtype(dtype).name
            measuring(f"{label}, {name}")
            times = measure(shape, dtype, pairs, passes, lloyd_passes)
            ratio = float(np.median(times[:, 0] / times[:, 1]))
            bare = float(np.median(times[:, 0] / times[:, 2]))
            ours, theirs, _ = (f"{1e3 * value:.2f}" for value in np.median(times, axis=0))
            table.add(label, name, ours, theirs, f"{ratio:.2f}", f"{limit}", f"{bare:.2f}")
            report.cells.append(Goal(f"{label}, {name}", ratio, limit))
            without.append(bare)
    mean = geometric_mean(cell.value for cell in report.cells)
    report.goals.append(
        Goal("geometric mean without set-up", geometric_mean(without), LIMIT, plotted=True)
    )
    report.goals.append(Goal("geometric mean of whole fits", mean, LIMIT, plotted=True))
    return report
