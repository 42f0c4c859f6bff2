"""Cases and methods of ``python -m benchmarks.counting``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import calinski_harabasz_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.harness.shared import data_folder
from benchmarks.robustness.cells import Cell, Run
from sfumato import select_n_clusters
from sfumato.datasets import make_blobs_with_outliers

REAL = ("orl", "yale", "coil20", "usps", "yaleb", "coil100")
BOX = 0.5
"""Half-width of the box of the centers: so small that they are as close as they may."""
BEYOND = 5
"""Numbers that peers try beyond the true one."""
REFERENCES = 5
"""Uniform data sets of the gap statistic."""
SILHOUETTE_ROWS = 1000
"""Rows of which the silhouette is computed."""
LEAST_GROUP = 15
"""Smallest cluster of HDBSCAN."""
MOST_COLUMNS = 100
"""Columns above which methods that fit every number get the principal components of real data."""

Data = tuple[np.ndarray, int]
Make = Callable[[int], Data]


def blobs(
    seed: int, n_clusters: int, n_features: int, *, shape: str = "Gaussian", n_samples: int = 2000,
    **options: float | str,
) -> Data:  # fmt: skip
    """Clusters of a shape, and outliers, as :func:`make_blobs_with_outliers` draws them."""
    box = 10.0 if n_clusters == 1 else BOX
    options = {"contamination": 0.0, "separation": 5.0} | options
    made = make_blobs_with_outliers(
        n_samples, n_features, n_clusters=n_clusters, box=box, random_state=seed, **options
    )
    X, rng = made.data.copy(), np.random.RandomState(seed + 1000)
    if shape != "Gaussian":
        for k in range(n_clusters):
            rows = made.target == k
            X[rows] = made.centers[k] + made.widths[k] * SHAPES[shape](rng, rows.sum(), n_features)
    return X, n_clusters


def long(rng: np.random.RandomState, n_rows: int, n_features: int) -> np.ndarray:
    """Three times as wide along one direction."""
    rows, axis = rng.normal(size=(n_rows, n_features)), rng.normal(size=n_features)
    axis /= np.linalg.norm(axis)
    return (rows + 2 * (rows @ axis)[:, None] * axis) / 1.5


SHAPES: dict[str, Callable[[np.random.RandomState, int, int], np.ndarray]] = {
    "uniform": lambda rng, n, d: rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n, d)),
    "Student-t": lambda rng, n, d: (
        rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    ),
    "long": long,
}


def real(seed: int, name: str) -> Data:
    """A set with known classes; the same for all seeds."""
    loaders = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
    if name in loaders:
        X, y = loaders[name](return_X_y=True)
        return (X if name == "digits" else StandardScaler().fit_transform(X)), len(np.unique(y))
    with np.load(data_folder() / f"{name}.npz") as file:
        return file["X"].astype(np.float64), len(np.unique(file["y"]))


OUTLIERS = {
    "clean": {},
    "10 % uniform": {"contamination": 0.1},
    "30 % uniform": {"contamination": 0.3},
    "10 % Cauchy": {"contamination": 0.1, "outliers": "cauchy"},
    "30 % Cauchy": {"contamination": 0.3, "outliers": "cauchy"},
}
UNLIKE: dict[str, float] = {"size_ratio": 10.0, "width_ratio": 3.0}


def all_cases() -> dict[str, dict[str, Make]]:
    """Cases by their sections."""
    return {
        "Gaussian clusters, separation 5, sizes 1:10, widths 1:3": dict(
            _grid("sep 5", (2, 3, 5, 10, 20), separation=5.0, **UNLIKE)
        ),
        "Gaussian clusters, separation 4, sizes 1:10, widths 1:3": dict(
            _grid("sep 4 unlike", (5, 20), separation=4.0, **UNLIKE)
        ),
        "Gaussian clusters, separation 4, alike": dict(_grid("sep 4", (5, 20), separation=4.0)),
        "Gaussian clusters, separation 3, alike": dict(_grid("sep 3", (5,), separation=3.0)),
        "One cluster": dict(_single()),
        "Sizes and widths: 10 clusters, separation 5": dict(_ratios()),
        "Other shapes: 5 clusters, separation 6": dict(_shapes()),
        "Other numbers of rows: 5 clusters in 10 dimensions, sizes 1:10, widths 1:3": dict(_rows()),
        "40 clusters: 8,000 rows, separation 5, alike": dict(
            _grid("sep 5", (40,), separation=5.0, n_samples=8000)
        ),
        "Real data": {name: partial(real, name=name) for name in _present()},
    }


def _grid(words: str, counts: Sequence[int], **options: float) -> Iterator[tuple[str, Make]]:
    for count, d, (name, outliers) in product(counts, (2, 10, 50), OUTLIERS.items()):
        make = partial(blobs, n_clusters=count, n_features=d, **options, **outliers)
        yield f"{words}, K = {count}, {d}-d, {name}", make


def _ratios() -> Iterator[tuple[str, Make]]:
    """Sizes and widths that are alike, and one of both that is not."""
    ratios: dict[str, dict[str, float]] = {
        "alike": {},
        "sizes 1:10": {"size_ratio": 10.0},
        "widths 1:3": {"width_ratio": 3.0},
    }
    for (words, ratio), d, (name, outliers) in product(ratios.items(), (2, 10), OUTLIERS.items()):
        make = partial(blobs, n_clusters=10, n_features=d, **ratio, **outliers)
        yield f"{words}, {d}-d, {name}", make


def _single() -> Iterator[tuple[str, Make]]:
    for d in (2, 10, 50):
        for name, outliers in OUTLIERS.items():
            yield f"Gaussian, {d}-d, {name}", partial(blobs, n_clusters=1, n_features=d, **outliers)
        for shape in ("uniform", "Student-t"):
            make = partial(blobs, n_clusters=1, n_features=d, shape=shape)
            yield f"{'box' if shape == 'uniform' else shape}, {d}-d", make


def _shapes() -> Iterator[tuple[str, Make]]:
    for shape, d, name in product(SHAPES, (2, 10, 50), ("clean", "10 % uniform", "30 % Cauchy")):
        options = {"separation": 6.0, "shape": shape, **OUTLIERS[name]}
        make = partial(blobs, n_clusters=5, n_features=d, **options)
        yield f"{shape}, {d}-d, {name}", make


def _rows() -> Iterator[tuple[str, Make]]:
    for rows, (name, outliers) in product((500, 20_000), OUTLIERS.items()):
        make = partial(blobs, n_clusters=5, n_features=10, n_samples=rows, **UNLIKE, **outliers)
        yield f"{rows} rows, {name}", make


def _present() -> Iterator[str]:
    yield from ("iris", "wine", "digits")
    yield from (name for name in REAL if (data_folder() / f"{name}.npz").exists())


def ours(X: np.ndarray, most: int, seed: int) -> dict[str, float]:
    selection = select_n_clusters(X, random_state=seed)
    preferred = {f"criterion: {name}": float(n) for name, n in selection.preferred.items()}
    return {"sfumato": float(selection.n_clusters)} | preferred


def mixture(X: np.ndarray, most: int, seed: int) -> dict[str, float]:
    X = _narrow(X)
    kind = "full" if X.shape[1] <= 10 else "diag"
    scores = [
        GaussianMixture(k, covariance_type=kind, random_state=seed, reg_covar=1e-3).fit(X).bic(X)
        for k in range(1, most + 1)
    ]
    return {"GaussianMixture, BIC": float(np.argmin(scores) + 1)}


def k_means(X: np.ndarray, most: int, seed: int) -> dict[str, float]:
    """Silhouette, Calinski-Harabasz and gap, over the same fits."""
    X, rng = _narrow(X), np.random.RandomState(seed)
    fits = [KMeans(k, n_init=3, random_state=seed).fit(X) for k in range(1, most + 1)]
    labels = [each.labels_ for each in fits[1:]]
    silhouettes = [_silhouette(X, own) for own in labels]
    ratios = [calinski_harabasz_score(X, own) for own in labels]
    low, high = X.min(axis=0), X.max(axis=0)
    drawn = [rng.uniform(low, high, size=X.shape) for _ in range(REFERENCES)]
    logs = np.array(
        [[np.log(KMeans(k, n_init=1, random_state=seed).fit(Z).inertia_) for Z in drawn]
         for k in range(1, most + 1)]
    )  # fmt: skip
    gaps = logs.mean(axis=1) - np.log([max(each.inertia_, 1e-300) for each in fits])
    errors = logs.std(axis=1) * np.sqrt(1 + 1 / REFERENCES)
    enough = np.flatnonzero(gaps[:-1] >= gaps[1:] - errors[1:])
    return {
        "silhouette": float(np.argmax(silhouettes) + 2),
        "Calinski-Harabasz": float(np.argmax(ratios) + 2),
        "gap": float(enough[0] + 1 if len(enough) else most),
    }


def _silhouette(X: np.ndarray, labels: np.ndarray) -> float:
    """Silhouette of a sample; the least, -1, if all of it is in one cluster."""
    drawn = np.random.RandomState(0).permutation(len(X))[:SILHOUETTE_ROWS]
    if len(np.unique(labels[drawn])) < 2:
        return -1.0
    return float(silhouette_score(X[drawn], labels[drawn]))


def _narrow(X: np.ndarray) -> np.ndarray:
    """Principal components of wide rows, as many numbers of clusters would take hours."""
    if X.shape[1] <= MOST_COLUMNS:
        return X
    return PCA(MOST_COLUMNS, random_state=0).fit_transform(X)


def density(X: np.ndarray, most: int, seed: int) -> dict[str, float]:
    labels = HDBSCAN(min_cluster_size=LEAST_GROUP, copy=True).fit(X).labels_
    return {"HDBSCAN": float(max(1, labels.max() + 1))}


METHODS = {"sfumato": ours, "GaussianMixture": mixture, "KMeans": k_means, "HDBSCAN": density}


def run_cell(cell: Cell, cases: Mapping[str, Make]) -> Run:
    """Find the number in one thread."""
    X, n_clusters = cases[cell.case](cell.seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        measures = METHODS[cell.method](X, n_clusters + BEYOND, cell.seed)
        seconds = time.perf_counter() - began
    return Run(cell, seconds, measures | {"truth": float(n_clusters)})
