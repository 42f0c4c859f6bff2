"""How much another start lowers the objective: the measurements behind ``n_init="auto"``.

Single starts on each data set give a sample of objectives. From it follows, for any number of
starts, the median excess of the best of them over the best objective seen.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits, make_blobs

from benchmarks.harness.report import Report, measuring
from benchmarks.harness.shared import FUZZIFIER, paper_sets
from sfumato import REFCMFS

BUDGETS = (1, 2, 3, 5, 10)
QUICK_STARTS = 5


def cases(quick: bool):
    """Name, rows, clusters, active clusters, number of single starts."""
    yield "digits", load_digits().data, 10, 3, 20
    yield "blobs, 8 in 2-D", make_blobs(2000, 2, centers=8, random_state=0)[0], 8, 5, 40
    yield "blobs, 30 in 10-D", make_blobs(6000, 10, centers=30, random_state=0)[0], 30, 5, 20
    for name, X, n_clusters, n_active in paper_sets(quick):
        if X is not None:
            yield name, X, n_clusters, n_active, 5 if name == "coil100" else 20


def single_starts(X, n_clusters, n_active, starts):
    return np.array(
        [
            REFCMFS(n_clusters, n_active=n_active, fuzzifier=FUZZIFIER, n_init=1, random_state=seed)
            .fit(X)
            .objective_
            for seed in range(starts)
        ]
    )


def median_excess(objectives, budget, rng):
    draws = rng.choice(objectives, size=(2000, budget)).min(axis=1)
    return np.median(draws) / objectives.min() - 1


def run(quick: bool) -> Report:
    how = (
        "Median excess of the best of n starts over the best objective seen, in %; see "
        "[restarts](restarts.md)."
    )
    report = Report("restarts", "What another start is worth", how, quick)
    table = report.begin("data", "starts seen", *(f"n = {budget}" for budget in BUDGETS))
    rng = np.random.default_rng(0)
    for name, X, n_clusters, n_active, starts in cases(quick):
        starts = min(starts, QUICK_STARTS) if quick else starts
        measuring(f"{name}: {starts} starts")
        objectives = single_starts(X, n_clusters, n_active, starts)
        cells = [f"{100 * median_excess(objectives, b, rng):.2f}" for b in BUDGETS]
        table.add(name, f"{starts}", *cells)
    return report
