"""How much another start lowers the objective: the measurements behind ``n_init="auto"``.

Single starts on each data set give a sample of objectives. From it follows, for any number of
starts, the median excess of the best of them over the best objective seen. Then successive halving,
which is "auto", against five starts that all run to the end.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits, make_blobs

from benchmarks.harness.report import Goal, Report, measuring
from benchmarks.harness.shared import FUZZIFIER, paper_sets, timed
from sfumato import REFCMFS

BUDGETS = (1, 2, 3, 5, 10)
QUICK_STARTS = 2
FULL = 5
"""Number of full starts that successive halving is compared with."""
HALVING_LIMIT = 1.0001
"""Largest median objective of successive halving, over that of the full starts."""


def cases(quick: bool):
    """Name, rows, clusters, active clusters, number of single starts."""
    yield "digits", load_digits().data, 10, 3, 20
    yield "blobs, 8 in 2-D", make_blobs(2000, 2, centers=8, random_state=0)[0], 8, 5, 40
    yield "blobs, 30 in 10-D", make_blobs(6000, 10, centers=30, random_state=0)[0], 30, 5, 20
    for name, X, n_clusters, n_active in paper_sets(quick):
        if X is not None:
            yield name, X, n_clusters, n_active, 5 if name == "coil100" else 20


def fitted(X, n_clusters, n_active, n_init, seed):
    """Seconds of a fit, and its objective."""
    model = REFCMFS(
        n_clusters, n_active=n_active, fuzzifier=FUZZIFIER, n_init=n_init, random_state=seed
    )
    seconds, _ = timed(lambda: model.fit(X))
    return seconds, model.objective_


def single_starts(X, n_clusters, n_active, starts):
    return np.array([fitted(X, n_clusters, n_active, 1, seed)[1] for seed in range(starts)])


def halving(X, n_clusters, n_active, seeds):
    """Median objective and seconds of successive halving, over those of five full starts."""
    pairs = np.array(
        [
            [fitted(X, n_clusters, n_active, n_init, seed) for n_init in ("auto", FULL)]
            for seed in range(seeds)
        ]
    )
    objectives = np.median(pairs[:, :, 1], axis=0)
    return objectives[0] / objectives[1], np.median(pairs[:, 0, 0] / pairs[:, 1, 0])


def median_excess(objectives, budget, rng):
    draws = rng.choice(objectives, size=(2000, budget)).min(axis=1)
    return np.median(draws) / objectives.min() - 1


def run(quick: bool) -> Report:
    how = (
        "Median excess of the best of n starts over the best objective seen, in %; then the median "
        'objective and the time of `n_init="auto"`, successive halving, over those of '
        f"`n_init={FULL}`, from as many seeds (3 for coil100); see [restarts](restarts.md)."
    )
    report = Report("restarts", "What another start is worth", how, quick)
    budgets = [f"n = {budget}" for budget in BUDGETS]
    table = report.begin("data", "starts seen", *budgets, "halving: objective", "halving: time")
    rng = np.random.default_rng(0)
    ratios = []
    for name, X, n_clusters, n_active, starts in cases(quick):
        starts = min(starts, QUICK_STARTS) if quick else starts
        measuring(f"{name}: {starts} starts")
        objectives = single_starts(X, n_clusters, n_active, starts)
        cells = [f"{100 * median_excess(objectives, b, rng):.2f}" for b in BUDGETS]
        measuring(f"{name}: successive halving")
        ratio, seconds = halving(X, n_clusters, n_active, 3 if name == "coil100" else starts)
        table.add(name, f"{starts}", *cells, f"{ratio:.6f}", f"{seconds:.2f}")
        ratios.append(ratio)
    report.goals.append(Goal("largest objective of successive halving", max(ratios), HALVING_LIMIT))
    return report
