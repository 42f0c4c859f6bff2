"""How much another start lowers the objective: the measurements behind ``n_init="auto"``.

Single starts on each data set give a sample of objectives. From it follows, for any number of
starts, the median excess of the best of them over the best objective seen. Then fits as they come,
whose starts are compared on samples, against ten starts that all run to the end on all rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits, make_blobs

from benchmarks.defaults import CASES
from benchmarks.harness.report import Goal, Report, measuring
from benchmarks.harness.shared import FUZZIFIER, paper_sets, timed
from sfumato import REFCMFS

BUDGETS = (1, 2, 3, 5, 10)
QUICK_STARTS = 2
FULL = 10
"""Number of full starts that fits as they come are compared with."""
SEEDS = 10
MEDIAN_LIMIT, WORST_LIMIT = 1.0002, 1.002
"""Largest median and largest objective of a fit as it comes, over that of the full starts."""


def cases(quick: bool):
    """Name, rows, clusters, active clusters, number of single starts."""
    yield "digits", load_digits().data, 10, 3, 20
    yield "blobs, 8 in 2-D", make_blobs(2000, 2, centers=8, random_state=0)[0], 8, 5, 40
    yield "blobs, 30 in 10-D", make_blobs(6000, 10, centers=30, random_state=0)[0], 30, 5, 20
    for name, X, n_clusters, n_active in paper_sets(quick):
        if X is not None:
            yield name, X, n_clusters, n_active, 5 if name == "coil100" else 20


def as_they_come(quick: bool) -> Iterator[tuple[str, np.ndarray, int]]:
    """Name, rows and clusters of the table of defaults and of the paper's sets."""
    for case in CASES[:2] if quick else CASES:
        yield case.name, case.make()[0], case.n_clusters
    for name, X, n_clusters, _ in paper_sets(quick):
        if X is not None:
            yield f"{name}, {n_clusters}", X, n_clusters


def objective(X: np.ndarray, n_clusters: int, **parameters) -> float:
    return timed(lambda: REFCMFS(n_clusters, **parameters).fit(X))[1].objective_


def median_excess(objectives, budget, rng):
    draws = rng.choice(objectives, size=(2000, budget)).min(axis=1)
    return np.median(draws) / objectives.min() - 1


def run(quick: bool) -> Report:
    how = (
        "Median excess of the best of n starts over the best objective seen, in %, with the "
        f"paper's number of active clusters and r = {FUZZIFIER}. Below, `REFCMFS(c).fit(X)` as "
        f"it comes against `n_init={FULL}`: {FULL} starts that run to the end on all rows. Ratios "
        f"of the objectives, for each of {SEEDS} seeds; see [restarts](restarts.md)."
    )
    report = Report("restarts", "What another start is worth", how, quick)
    budgets = [f"n = {budget}" for budget in BUDGETS]
    table = report.begin("data", "starts seen", *budgets)
    rng = np.random.default_rng(0)
    for name, X, n_clusters, n_active, starts in cases(quick):
        starts = min(starts, QUICK_STARTS) if quick else starts
        measuring(f"{name}: {starts} starts")
        given = {"n_active": n_active, "fuzzifier": FUZZIFIER, "n_init": 1}
        seen = np.array(
            [objective(X, n_clusters, random_state=seed, **given) for seed in range(starts)]
        )
        cells = [f"{100 * median_excess(seen, budget, rng):.2f}" for budget in BUDGETS]
        table.add(name, f"{starts}", *cells)
    against_full_starts(report, quick)
    return report


def against_full_starts(report: Report, quick: bool) -> None:
    """Add the table of objectives of fits as they come, over those of full starts."""
    table = report.begin("data, clusters", "least", "median", "largest")
    for name, X, n_clusters in as_they_come(quick):
        measuring(f"{name}: {FULL} full starts")
        ratios = [
            objective(X, n_clusters, random_state=seed)
            / objective(X, n_clusters, random_state=seed, n_init=FULL)
            for seed in range(QUICK_STARTS if quick else SEEDS)
        ]
        least, middle, largest = (float(q) for q in np.quantile(ratios, [0, 0.5, 1]))
        table.add(name, *(f"{ratio:.6f}" for ratio in (least, middle, largest)))
        report.goals.append(Goal(f"{name}: median objective", middle, MEDIAN_LIMIT))
        report.goals.append(Goal(f"{name}: largest objective", largest, WORST_LIMIT))
