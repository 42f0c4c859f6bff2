"""How the time of a pass grows with the rows, and that of an iteration with the clusters.

Slopes are those of least squares in log-log: one is linear. Rows are noise, as the time of a pass
over them does not depend on where they are. Over the number of clusters whole fits are measured, on
as many blobs, so that whatever is carried from one pass to the next has its effect.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.harness.report import Curve, Goal, Report, measuring
from benchmarks.harness.shared import FUZZIFIER, native_engine, seconds_per_pass, timed
from sfumato import REFCMFS

N_FEATURES, N_ACTIVE = 16, 3
N_CLUSTERS = 20
"""Clusters while the rows grow."""
N_ROWS = 100_000
"""Rows while the clusters grow."""
SHORT, LONG = 5, 25
"""Iterations of two fits; their difference leaves out what happens once."""
SPREAD = 3.0
"""Half the width of the box of the blobs: neighbors overlap, so that no fit converges early."""
LOWEST, HIGHEST = 0.95, 1.05
"""Limits of the slope over the rows."""
CLUSTERS_LIMIT = 1.0


def slope(sizes, seconds):
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def pass_times(sizes, rounds):
    """Seconds per pass for each number of rows: medians over rounds through all of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((max(sizes), N_FEATURES))
    centers = X[:N_CLUSTERS] + 0.01
    engines = [native_engine(X[:size], N_ACTIVE) for size in sizes]
    passes = [max(2, 1_000_000 // size) for size in sizes]
    times = []
    for turn in range(-1, rounds):  # The first one warms up.
        measuring(f"rows, round {turn + 1} of {rounds}")
        times.append(
            [
                seconds_per_pass(engine, centers, count)
                for engine, count in zip(engines, passes, strict=True)
            ]
        )
    return np.median(times[1:], axis=0)


def blobs(n_clusters):
    """Rows, and centers to start from."""
    rng = np.random.default_rng(n_clusters)
    middles = rng.uniform(-SPREAD, SPREAD, size=(n_clusters, N_FEATURES))
    X = middles[rng.integers(n_clusters, size=N_ROWS)]
    X += rng.normal(size=X.shape)
    return X, X[:n_clusters].copy()


def iteration_time(X, start):
    """Seconds per iteration: what more iterations add to a fit."""

    def fit(max_iter):
        model = REFCMFS(
            len(start),
            n_active=N_ACTIVE,
            fuzzifier=FUZZIFIER,
            init=start,
            max_iter=max_iter,
            tol=0,
            acceleration=None,
        )
        seconds, _ = timed(lambda: model.fit(X))
        return seconds, model.n_iter_

    (short, before), (long, after) = fit(SHORT), fit(LONG)
    return (long - short) / (after - before)


def iteration_times(numbers, rounds):
    """Seconds per iteration for each number of clusters: medians over rounds, likewise."""
    cases = [blobs(number) for number in numbers]
    times = []
    for turn in range(rounds):
        measuring(f"clusters, round {turn + 1} of {rounds}")
        times.append([iteration_time(X, start) for X, start in cases])
    return np.median(times, axis=0)


def add_curve(report, axis, sizes, measure):
    """Measure, put the times into a table and a curve, and return the slope."""
    table = report.begin(axis, "ms", "ns for each")
    seconds = measure(sizes)
    for size, value in zip(sizes, seconds, strict=True):
        table.add(f"{size:,}", f"{1e3 * value:.3g}", f"{1e9 * value / size:,.1f}")
    found = slope(sizes, seconds)
    of = "pass" if axis == "rows" else "iteration"
    curve = Curve(axis, list(map(float, sizes)), list(map(float, seconds)), found, of)
    report.curves.append(curve)
    return found


def run(quick: bool) -> Report:
    exponents = np.arange(4, 6.1 if quick else 7.1, 0.5)
    sizes = [int(float(f"{10**exponent:.0e}")) for exponent in exponents]
    numbers = [2**power for power in range(4, 9 if quick else 11)]
    how = (
        f"Rows: seconds of a pass over n x {N_FEATURES} float64 rows with {N_CLUSTERS} clusters, "
        f"{N_ACTIVE} of them active; medians over rounds through all sizes. Clusters: seconds of "
        f"an iteration of a fit to {N_ROWS:,} x {N_FEATURES} rows in as many blobs as clusters, "
        f"{N_ACTIVE} active, `acceleration=None`: what {LONG - SHORT} more iterations add."
    )
    report = Report("growth", "Growth with the rows and with the clusters", how, quick)
    rounds = 3 if quick else 7
    rows = add_curve(report, "rows", sizes, partial(pass_times, rounds=rounds))
    clusters = add_curve(report, "clusters", numbers, partial(iteration_times, rounds=rounds))
    report.goals += [
        Goal("slope over the rows", rows, LOWEST, "at least"),
        Goal("slope over the rows", rows, HIGHEST),
        Goal("slope over the clusters", clusters, CLUSTERS_LIMIT, "below"),
    ]
    return report
