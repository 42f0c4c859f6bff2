"""A pass of REFCMFS against a Lloyd pass of scikit-learn's KMeans: same data, same centers.

Both are measured in turn, in one process; the table shows medians, and the median of the ratios of
neighboring measurements. Data is standard normal noise, so that Lloyd does not stop early.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.cluster import KMeans

from sfumato import L21, Power
from sfumato.engines.native import NativeEngine
from sfumato.engines.threads import effective_threads
from sfumato.problem import Problem
from sfumato.validation import check_fit_data

SHAPES = [  # rows, features, clusters, active clusters, largest ratio
    (1_000_000, 2, 5, 2, 1.5),
    (1_000_000, 16, 20, 3, 1.5),
    (200_000, 64, 256, 5, 1.5),
    (9_298, 256, 10, 5, 1.5),
    (7_200, 1024, 100, 75, 2.2),
]
PASSES = 8
GOAL = 1.2


def lloyd(X, centers):
    """Seconds per pass: what more passes add, so that KMeans's set-up does not count."""
    return (kmeans(X, centers, 1 + PASSES) - kmeans(X, centers, 1)) / PASSES


def kmeans(X, centers, n_iter):
    """Seconds of a whole fit."""
    model = KMeans(len(centers), init=centers, n_init=1, max_iter=n_iter, tol=0)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    assert model.n_iter_ == n_iter, "Lloyd must not stop early"
    return time.perf_counter() - began


def refcmfs(engine, centers):
    """Seconds per pass, with the step between passes."""
    began = time.perf_counter()
    for _ in range(PASSES):
        centers = engine.sweep(centers).centers(centers)
    return (time.perf_counter() - began) / PASSES


def measure(shape, dtype, pairs):
    n_rows, n_features, n_clusters, n_active, _ = shape
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=dtype)
    centers = X[:n_clusters] + rng.normal(scale=0.01, size=(n_clusters, n_features)).astype(dtype)
    data = check_fit_data(KMeans(), X, None)
    engine = NativeEngine(data, Problem(L21(), Power(n_active, 1.1)), effective_threads(None))
    lloyd(X, centers), refcmfs(engine, centers)
    times = [(refcmfs(engine, centers), lloyd(X, centers)) for _ in range(pairs)]
    return np.array(times)


def run(quick: bool) -> bool:
    print("| n x d, clusters, active | dtype | REFCMFS ms | Lloyd ms | ratio | limit |")
    print("| --- | --- | --- | --- | --- | --- |")
    ratios, kept = [], True
    for shape in SHAPES:
        for dtype in (np.float64, np.float32):
            times = measure(shape, dtype, pairs=3 if quick else 7)
            ratio = float(np.median(times[:, 0] / times[:, 1]))
            ours, theirs = 1e3 * np.median(times, axis=0)
            n_rows, n_features, n_clusters, n_active, limit = shape
            print(
                f"| {n_rows:,} x {n_features}, {n_clusters}, {n_active} | {dtype.__name__} "
                f"| {ours:.1f} | {theirs:.1f} | {ratio:.2f} | {limit} |",
                flush=True,
            )
            ratios.append(ratio)
            kept &= ratio <= limit
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(f"\nGeometric mean {mean:.2f} (limit {GOAL})")
    return kept and mean <= GOAL
