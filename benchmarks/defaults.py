"""Fits as people type them: every method with its own defaults, told the number of clusters alone.

Time is a ratio to ``KMeans(c).fit(X)``, measured in turn in one run. Quality stands beside it: how
well clusters are found where they are known, and otherwise the objective of a method at its own end
over the lowest that was seen for that objective.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from benchmarks.harness.report import Curve, Goal, Report, measuring
from benchmarks.harness.shared import geometric_mean, timed
from sfumato import REFCMFS, CappedREFCMFS, FuzzyCMeans

LARGE_LIMIT, MEAN_LIMIT, SMALL_LIMIT = 1.5, 0.8, 2.5
"""Largest ratio on a large set, largest geometric mean over these, largest ratio on a small set."""
SMALL_ROWS = 10_000
OURS = ("REFCMFS", "CappedREFCMFS", "FuzzyCMeans auto")
MOST_WORK: dict[str, tuple[Callable[[int, int, int], int], float]] = {
    "HDBSCAN": (lambda n, d, c: n, 20_000),
    "GaussianMixture": (lambda n, d, c: n * c * d**2, 1e10),
}
"""What time grows with, as a function of rows, columns and clusters, and up to where a method is
run: beyond, a fit takes minutes."""
GROWTH = tuple(10**power for power in range(3, 8))
"""Rows of the curve of time over rows."""


@dataclass(frozen=True)
class Case:
    """Rows, their clusters if these are known, and how many are asked for."""

    name: str
    n_rows: int
    n_clusters: int
    make: Callable[[], tuple[np.ndarray, np.ndarray | None]]


def blobs(n_rows: int, n_features: int, n_clusters: int) -> Case:
    def make() -> tuple[np.ndarray, np.ndarray]:
        return make_blobs(n_rows, n_features, centers=n_clusters, random_state=0)

    return Case(f"blobs {n_rows:,} x {n_features}, {n_clusters}", n_rows, n_clusters, make)


def noise(n_rows: int, n_features: int, n_clusters: int) -> Case:
    def make() -> tuple[np.ndarray, None]:
        return np.random.default_rng(0).normal(size=(n_rows, n_features)), None

    return Case(f"noise {n_rows:,} x {n_features}, {n_clusters}", n_rows, n_clusters, make)


CASES = (
    Case("digits 1,797 x 64, 10", 1797, 10, partial(load_digits, return_X_y=True)),
    blobs(10_000, 10, 8),
    blobs(100_000, 16, 20),
    blobs(1_000_000, 16, 20),
    noise(100_000, 16, 20),
    noise(50_000, 64, 100),
    blobs(200_000, 2, 50),
)


def methods() -> dict[str, Callable[[int, int], Any]]:
    """Functions from a number of clusters and a seed to an estimator."""
    found: dict[str, Callable[[int, int], Any]] = {
        "KMeans": lambda c, s: KMeans(c, random_state=s),
        "KMeans 10 starts": lambda c, s: KMeans(c, n_init=10, random_state=s),
        "MiniBatchKMeans": lambda c, s: MiniBatchKMeans(c, random_state=s),
        "REFCMFS": lambda c, s: REFCMFS(c, random_state=s),
        "CappedREFCMFS": lambda c, s: CappedREFCMFS(c, random_state=s),
        "FuzzyCMeans auto": lambda c, s: FuzzyCMeans(c, fuzzifier="auto", random_state=s),
        "GaussianMixture": lambda c, s: GaussianMixture(c, random_state=s),
        "HDBSCAN": lambda c, s: HDBSCAN(copy=True),
    }
    if importlib.util.find_spec("faiss") is not None:
        found["faiss"] = lambda c, s: Faiss(c, s)
        found["faiss, all rows"] = lambda c, s: Faiss(c, s, sampled=False)
    return found


class Faiss:
    """Kmeans of faiss-cpu, which draws 256 rows per cluster unless it is told otherwise."""

    def __init__(self, n_clusters: int, seed: int, sampled: bool = True) -> None:
        self.n_clusters, self.seed = n_clusters, seed
        self.options = {} if sampled else {"max_points_per_centroid": 10**9}

    def fit(self, X: np.ndarray) -> Faiss:
        import faiss

        rows = np.ascontiguousarray(X, dtype=np.float32)
        model = faiss.Kmeans(rows.shape[1], self.n_clusters, seed=self.seed, **self.options)
        model.train(rows)
        self.labels_ = model.index.search(rows, 1)[1][:, 0]
        self.cluster_centers_ = model.centroids.astype(np.float64)
        return self


def labels_of(model: Any, X: np.ndarray) -> np.ndarray:
    return model.predict(X) if isinstance(model, GaussianMixture) else model.labels_


def objective_of(name: str, model: Any) -> float:
    """Objective of ours, or the inertia of K-means; NaN for others."""
    if name in OURS:
        return float(model.objective_)
    return float(getattr(model, "inertia_", np.nan))


@dataclass
class Measured:
    """A method on a case: seconds beside those of KMeans, ARI and objective, a row per seed."""

    case: Case
    method: str
    seconds: np.ndarray
    found: np.ndarray

    @property
    def ratio(self) -> float:
        return float(np.median(self.seconds[:, 0] / self.seconds[:, 1]))

    @property
    def small(self) -> bool:
        return self.case.n_rows <= SMALL_ROWS

    def cells(self) -> list[str]:
        aris, objectives = self.found.T
        lowest = np.min(objectives)
        ms, base = 1e3 * np.median(self.seconds, axis=0)
        quality = np.median(aris), np.median(objectives) / lowest
        return [
            *(self.case.name, self.method, f"{ms:.0f}", f"{base:.0f}", f"{self.ratio:.2f}"),
            *("" if np.isnan(value) else f"{value:.4f}" for value in quality),
        ]


def measure(case: Case, quick: bool) -> Iterator[Measured]:
    """Every method on a case; each fit is followed by one of KMeans with the same seed."""
    X, truth = case.make()
    makers = methods()
    seeds = range(1 if quick else 9 if len(X) <= SMALL_ROWS else 3)
    makers["KMeans"](case.n_clusters, 0).fit(X[: 50 * case.n_clusters])  # Threads are started.
    for name, make in makers.items():
        work, most = MOST_WORK.get(name, (lambda *_: 0, np.inf))
        if work(*X.shape, case.n_clusters) > most:
            continue
        measuring(f"{case.name}: {name}")
        seconds, found = [], []
        for seed in seeds:
            pair = [maker(case.n_clusters, seed) for maker in (make, makers["KMeans"])]
            seconds.append([timed(partial(model.fit, X))[0] for model in pair])
            found.append((agreement(truth, pair[0], X), objective_of(name, pair[0])))
        yield Measured(case, name, np.array(seconds), np.array(found))


def agreement(truth: np.ndarray | None, model: Any, X: np.ndarray) -> float:
    return np.nan if truth is None else adjusted_rand_score(truth, labels_of(model, X))


def run(quick: bool) -> Report:
    how = (
        "Each method as it comes: `KMeans(c).fit(X)` and so on, told the number of clusters alone; "
        "but `KMeans(c, n_init=10)` and `FuzzyCMeans(c, fuzzifier='auto')`, and HDBSCAN, which "
        "needs no number. Every fit is followed by one of `KMeans(c)` with the same seed; the "
        "ratio is the median over the pairs. ARI: adjusted Rand index with the true clusters, "
        "median. Objective, of ours and of K-means: the median at the end over the lowest of all "
        f"seeds. HDBSCAN is left out beyond {MOST_WORK['HDBSCAN'][1]:,} rows, and GaussianMixture "
        "with 100 clusters in 64 columns: a fit takes minutes."
    )
    report = Report("defaults", "Fits as they come", how, quick, "a fit / KMeans(c).fit")
    table = report.begin("data, clusters", "method", "ms", "KMeans ms", "ratio", "ARI", "objective")
    ratios: dict[str, list[float]] = {name: [] for name in OURS}
    for case in CASES[: 3 if quick else None]:
        for each in measure(case, quick):
            table.add(*each.cells())
            if each.method not in OURS:
                continue
            limit = SMALL_LIMIT if each.small else LARGE_LIMIT
            report.cells.append(Goal(f"{case.name}: {each.method}", each.ratio, limit))
            if not each.small:
                ratios[each.method].append(each.ratio)
    for name, values in ratios.items():
        what = f"{name}, geometric mean over large sets"
        report.goals.append(Goal(what, geometric_mean(values), MEAN_LIMIT, plotted=True))
    report.curves.append(curve(quick))
    return report


def curve(quick: bool) -> Curve:
    """Seconds of ``REFCMFS(20).fit`` over the rows of 20 blobs in 16 dimensions."""
    sizes = GROWTH[: 3 if quick else None]
    seconds = []
    for n_rows in sizes:
        X = make_blobs(n_rows, 16, centers=20, random_state=0)[0]
        measuring(f"time over rows: {n_rows:,}")
        fits = [timed(lambda s=s, X=X: REFCMFS(20, random_state=s).fit(X))[0] for s in range(3)]
        seconds.append(float(np.median(fits)))
    slope = float(np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0])
    return Curve("rows", [float(size) for size in sizes], seconds, slope, "fit")
