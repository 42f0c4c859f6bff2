"""The clustered data: blobs with outliers, and data sets of images with artificial ones added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.harness.shared import LARGE, PAPER, data_folder, load
from sfumato.datasets import make_blobs_with_outliers

OUTLIER = -1
CLEAN = "clean"
KINDS = ("uniform", "cauchy", "clump", "clumps", "between")
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Contaminations besides none, which is the same for all kinds."""
DIMENSIONS = (2, 10, 50, 200)
SHAPES = {
    "equal": {},
    "sizes": {"size_ratio": 10.0},
    "widths": {"width_ratio": 5.0},
    "close": {"box": 1.0},
}
"""Clusters alike, of sizes 1:10, of widths 1:5, close together; arguments of the generator."""
N_CLUSTERS = 6
N_ROWS, QUICK_ROWS = 2000, 600
PICTURES = ("random", "constant", "salt")
PICTURE_SHARE = 0.5
"""Artificial images, as a share of the average class: more would be a cluster of their own."""
SALTED = 0.5
"""Share of the pixels of a salt-and-pepper picture that are black or white."""
FEW_SEEDS = 3
"""Seeds on the large data sets."""


@dataclass
class Sample:
    """Rows of a case, and the truth about them."""

    X: np.ndarray
    target: np.ndarray
    """Cluster of each row, -1 for outliers."""
    n_clusters: int
    centers: np.ndarray | None = None
    """True centers; None for images."""

    @property
    def inliers(self) -> np.ndarray:
        return self.target != OUTLIER


@dataclass(frozen=True)
class Blobs:
    """Six Gaussian clusters, and outliers of one kind."""

    kind: str
    share: float
    n_features: int
    shape: str
    n_rows: int = N_ROWS

    most_seeds = None

    @property
    def name(self) -> str:
        share = f"-{100 * self.share:.0f}" if self.share else ""
        return f"{self.kind}{share}-d{self.n_features}-{self.shape}"

    def sample(self, seed: int) -> Sample:
        made = make_blobs_with_outliers(
            self.n_rows,
            self.n_features,
            n_clusters=N_CLUSTERS,
            outliers=KINDS[0] if self.kind == CLEAN else self.kind,
            contamination=self.share,
            **SHAPES[self.shape],
            random_state=seed,
        )
        return Sample(made.data, made.target, N_CLUSTERS, made.centers)


@dataclass(frozen=True)
class Pictures:
    """A data set of images, with artificial images of one kind as outliers."""

    data: str
    kind: str

    @property
    def name(self) -> str:
        return f"{self.data}-{self.kind}"

    @property
    def most_seeds(self) -> int | None:
        return FEW_SEEDS if self.data in LARGE else None

    def sample(self, seed: int) -> Sample:
        X, target = rows_of(self.data)
        n_clusters = len(np.unique(target))
        if self.kind == CLEAN:
            return Sample(X, target, n_clusters)
        number = max(2, round(PICTURE_SHARE * len(X) / n_clusters))
        rng = np.random.default_rng(seed)
        mixed = np.concatenate([X, strange(X, self.kind, number, rng)])
        target = np.concatenate([target, np.full(number, OUTLIER)])
        order = rng.permutation(len(mixed))
        return Sample(mixed[order], target[order], n_clusters)


@lru_cache(maxsize=1)
def rows_of(data: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes of a data set, the latter from zero on."""
    if data == "digits":
        return load_digits(return_X_y=True)
    path = data_folder() / f"{data}.npz"
    return load(path), np.unique(np.load(path)["y"], return_inverse=True)[1]


def strange(X: np.ndarray, kind: str, number: int, rng: np.random.Generator) -> np.ndarray:
    """Artificial images, of shape (number, n_features)."""
    n_features = X.shape[1]
    low, high = X.min(), X.max()
    if kind == "random":
        return rng.choice(X.ravel(), size=(number, n_features))
    if kind == "constant":
        levels = rng.uniform(low, high, size=(number, 1)).astype(X.dtype)
        return np.repeat(levels, n_features, axis=1)
    salted = X[rng.integers(len(X), size=number)]
    extremes = rng.choice(np.array([low, high]), size=salted.shape)
    return np.where(rng.random(salted.shape) < SALTED, extremes, salted)


Case = Blobs | Pictures


def blobs(quick: bool) -> Iterator[Blobs]:
    shares, dimensions = ((0.1, 0.3), (2, 10)) if quick else (SHARES, DIMENSIONS)
    n_rows = QUICK_ROWS if quick else N_ROWS
    for shape in ("equal",) if quick else SHAPES:
        for n_features in dimensions:
            yield Blobs(CLEAN, 0.0, n_features, shape, n_rows)
            for kind in KINDS:
                for share in shares:
                    yield Blobs(kind, share, n_features, shape, n_rows)


def pictures(quick: bool) -> Iterator[Pictures]:
    """Cases of the digits, and of the data sets whose files exist."""
    found = [name for name in PAPER if (data_folder() / f"{name}.npz").exists()]
    for data in ("digits", *([] if quick else found)):
        for kind in (CLEAN, *PICTURES):
            yield Pictures(data, kind)


def all_cases(quick: bool) -> dict[str, Case]:
    return {case.name: case for case in (*blobs(quick), *pictures(quick))}
