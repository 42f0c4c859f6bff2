"""The clustered data: tables of customers, blobs, embeddings, images, and sets with anomalies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import RobustScaler, StandardScaler

from benchmarks.harness.shared import PAPER, data_folder
from benchmarks.robustness.cases import OUTLIER, Sample
from sfumato.datasets import make_blobs_with_outliers

SEGMENTS = (6500, 5500, 4500, 2700, 800)
TYPOS = 40
ANOMALY_ROWS, ANOMALY_CLUSTERS = 4000, 8
"""Rows of a set with anomalies at most, and clusters that are asked for."""


@dataclass(frozen=True)
class Case:
    """A data set that is the same for all seeds."""

    name: str
    make: Callable[[], Sample]
    most_seeds: int | None = None


def customers(version: int) -> Sample:
    """Five segments of customers in four columns, and typos; scaled robustly.

    Columns are log-normal in even versions, and normal in odd ones.
    """
    rng = np.random.default_rng(version)
    if version % 2:
        means = 8 * rng.uniform(0, 1, (5, 4))
        widths = rng.uniform(0.4, 1.2, (5, 4))
    else:
        means = np.log(
            [[200, 4, 35, 20], [600, 10, 45, 35], [1200, 20, 30, 50], [300, 25, 60, 12],
             [4000, 40, 50, 120]]
        )  # fmt: skip
        means += rng.normal(0, 0.1, means.shape)
        widths = rng.uniform(0.1, 0.35, (5, 4))
    target = np.repeat(np.arange(5), SEGMENTS)
    X = means[target] + widths[target] * rng.normal(size=(len(target), 4))
    if version % 2 == 0:
        X = np.exp(X)
    typos = rng.choice(len(X), TYPOS, replace=False)
    X[typos, rng.integers(0, 4, TYPOS)] *= rng.choice([10, 100, 1000], TYPOS)
    target[typos] = OUTLIER
    order = rng.permutation(len(X))
    return Sample(RobustScaler().fit_transform(X)[order], target[order], 5)


def blobs(rows: int, n_features: int, n_clusters: int, **options: float | str) -> Sample:
    made = make_blobs_with_outliers(
        rows, n_features, n_clusters=n_clusters, random_state=0, **options
    )
    return Sample(made.data, made.target, n_clusters)


def junk(n_features: int, share: float) -> Sample:
    """20,000 rows in 8 blobs, some of which are replaced by uniform ones in a wide box."""
    sample = blobs(20_000, n_features, 8, contamination=0.0)
    rng = np.random.default_rng(0)
    rows = rng.choice(len(sample.X), round(share * len(sample.X)), replace=False)
    sample.X[rows] = rng.uniform(-100, 100, (len(rows), n_features))
    sample.target[rows] = OUTLIER
    return sample


def embeddings(n_features: int, share: float, topics: int = 40, rows: int = 10_000) -> Sample:
    """Unit vectors around random directions, and off-topic ones in any direction."""
    rng = np.random.default_rng(0)
    middles = rng.normal(size=(topics, n_features))
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    n_off = round(share * rows)
    target = rng.choice(topics, rows - n_off, p=rng.dirichlet(np.full(topics, 5.0)))
    X = middles[target] + 0.8 * rng.normal(size=(len(target), n_features)) / np.sqrt(n_features)
    X = np.concatenate([X, rng.normal(size=(n_off, n_features))])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    target = np.concatenate([target, np.full(n_off, OUTLIER)])
    order = rng.permutation(rows)
    return Sample(X[order].astype(np.float32), target[order], topics)


def images(path: Path) -> Sample:
    with np.load(path) as file:
        return Sample(file["X"].astype(np.float64), file["y"], len(np.unique(file["y"])))


def scaled(load: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Sample:
    X, target = load(return_X_y=True)
    return Sample(StandardScaler().fit_transform(X), target, len(np.unique(target)))


def digits() -> Sample:
    X, target = load_digits(return_X_y=True)
    return Sample(X, target, 10)


def anomalies(path: Path) -> Sample:
    """Standardized columns of a set with labelled anomalies; its clusters are not known."""
    with np.load(path) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    kept = np.random.default_rng(0).permutation(len(X))[:ANOMALY_ROWS]
    X = X[kept][:, np.ptp(X[kept], axis=0) > 0]
    target = np.where(y[kept] > 0, OUTLIER, 0)
    return Sample(StandardScaler().fit_transform(X), target, ANOMALY_CLUSTERS)


def all_cases() -> dict[str, list[Case]]:
    """Cases by the headings of the page. Sets from files are there if SFUMATO_DATA names them."""
    return {
        "Tables of customers": [Case(f"customers {v}", partial(customers, v)) for v in range(6)],
        "Blobs of unlike sizes and widths": list(_shapes()),
        "Junk": [
            Case(f"{d} dimensions, {100 * share:g} % junk", partial(junk, d, share))
            for d in (5, 20)
            for share in (0.0, 0.001, 0.01, 0.05)
        ],
        "Unit-norm embeddings": [
            Case(f"{d} dimensions, {100 * share:g} % off topic", partial(embeddings, d, share))
            for d in (64, 384, 1024)
            for share in (0.0, 0.02, 0.08, 0.15)
        ],
        "Images and other real data": [*_pictures(), *REAL],
        "Sets with labelled anomalies": list(_detected()),
    }


REAL = (
    Case("digits", digits),
    Case("wine", partial(scaled, load_wine)),
    Case("breast cancer", partial(scaled, load_breast_cancer)),
)


def _shapes() -> Iterator[Case]:
    for name, options in (
        ("sizes 1:10", {"size_ratio": 10.0}),
        ("sizes 1:30", {"size_ratio": 30.0}),
        ("widths 1:5", {"width_ratio": 5.0}),
    ):
        for d in (2, 10):
            for words, share in (("", 0.0), (", 10 % uniform", 0.1)):
                make = partial(blobs, 4000, d, 6, contamination=share, **options)
                yield Case(f"{name}, {d} dimensions{words}", make)


def _pictures() -> Iterator[Case]:
    for name in PAPER:
        path = data_folder() / f"{name}.npz"
        if path.exists():
            yield Case(name, partial(images, path))


def _detected() -> Iterator[Case]:
    for path in sorted((data_folder() / "outliers").glob("*.npz"), key=lambda path: path.name):
        name = path.stem.split("_", 1)[1]
        yield Case(f"{name} (anomalies)", partial(anomalies, path))
