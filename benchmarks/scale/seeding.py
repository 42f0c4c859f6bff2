"""Where distributed seeds lead, beside seeds drawn on one machine."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from benchmarks.harness.report import Goal, Report, measuring
from sfumato import REFCMFS, CappedREFCMFS

N_ROWS, QUICK_ROWS = 50_000, 20_000
N_CLUSTERS, N_FEATURES, N_CHUNKS = 50, 16, 200
SEEDS, QUICK_SEEDS = 10, 3
LIMIT = 1.01
METHODS = {"REFCMFS": REFCMFS, "CappedREFCMFS": partial(CappedREFCMFS, cap=6.0)}


def run(quick: bool) -> Report:
    n_rows, seeds = (QUICK_ROWS, QUICK_SEEDS) if quick else (N_ROWS, SEEDS)
    how = (
        f"{n_rows:,} x {N_FEATURES} rows of {N_CLUSTERS} blobs, sorted by cluster, in {N_CHUNKS} "
        f"chunks: final objective of a fit to the dask array over that of a fit to the same rows "
        f"in memory, with the same parameters, for {seeds} seeds. One start each is drawn by "
        '`n_init=1`; "auto" begins with ten, by successive halving.'
    )
    report = Report("seeding", "Distributed seeding", how, quick, "ratio of objectives")
    table = report.begin("method", "n_init", "median ratio", "smallest", "largest", "limit")
    X = blobs(n_rows)
    for name, method in METHODS.items():
        for n_init in (1, "auto"):
            measuring(f"{name}, n_init={n_init}")
            ratios = [ratio(X, method, n_init, seed) for seed in range(seeds)]
            median = float(np.median(ratios))
            numbers = [f"{value:.4f}" for value in (median, min(ratios), max(ratios))]
            table.add(name, str(n_init), *numbers, f"{LIMIT}")
            report.cells.append(Goal(f"{name}, n_init={n_init}", median, LIMIT))
    return report


def blobs(n_rows: int) -> np.ndarray:
    """Blobs of different sizes and some overlap, sorted by cluster."""
    rng = np.random.default_rng(3)
    middles = rng.uniform(-5, 5, size=(N_CLUSTERS, N_FEATURES))
    labels = np.sort(rng.choice(N_CLUSTERS, size=n_rows, p=rng.dirichlet(np.full(N_CLUSTERS, 5.0))))
    return middles[labels] + rng.normal(size=(n_rows, N_FEATURES))


def ratio(X: np.ndarray, method: partial | type, n_init: int | str, seed: int) -> float:
    import dask
    import dask.array as da

    rows = da.from_array(X, chunks=(-(-len(X) // N_CHUNKS), -1))
    fixed = {"n_active": 3, "fuzzifier": 1.1, "n_init": n_init, "random_state": seed}
    with warnings.catch_warnings(), dask.config.set(scheduler="threads"):
        warnings.simplefilter("ignore")
        there = method(n_clusters=N_CLUSTERS, **fixed).fit(rows)
        here = method(n_clusters=N_CLUSTERS, **fixed).fit(X)
    return there.objective_ / here.objective_
