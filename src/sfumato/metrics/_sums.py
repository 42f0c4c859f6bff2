"""Sums over rows at some centers, in one pass: in memory, over a stream, or on a dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import pdist

from sfumato._data import Chunk
from sfumato._distances import dense, squared_distances
from sfumato._engines import find_runner, is_chunked
from sfumato._engines.passes import SWEEP, Total
from sfumato._selection.indices import ClusterSums, Extent, clearness
from sfumato._selection.resampling import contingency
from sfumato._typing import Floats
from sfumato.metrics._inputs import Rows, _checked, row_blocks

Question = Callable[[Rows, Floats], Any]
"""Function of some rows and their weights, whose results add up."""


@dataclass(frozen=True)
class OverRows:
    """Pass that asks a question about a chunk, block by block."""

    question: Question
    n_numbers: int

    description: ClassVar[str] = SWEEP

    def __call__(self, chunk: Chunk) -> Any:
        rows = _rows(chunk.rows, least=0)
        weights = np.ones(rows.shape[0]) if chunk.weights is None else chunk.weights
        blocks = list(row_blocks(rows.shape[0], self.n_numbers)) or [slice(0, 0)]
        return reduce(add, (self.question(rows[block], weights[block]) for block in blocks))


def _rows(X: Any, least: int = 1) -> Rows:
    kinds = (np.float64, np.float32)
    return _checked(X, "X", accept_sparse="csr", dtype=kinds, ensure_min_samples=least)


def ask(X: Any, question: Question, centers: Floats) -> Any:
    """Answer for all rows; data in chunks is read once."""
    asked = OverRows(question, max(centers.shape))
    if not is_chunked(X):
        rows = _rows(X)
        _require_columns(rows.shape[1], centers)
        return asked(Chunk(rows, None))
    runner = find_runner(X, None)
    _require_columns(runner.n_features, centers)
    found = runner.reduce(asked)
    if found is None:
        raise ValueError("X holds no rows; give at least one.")
    return found


def check_points(
    centers: Any, least: int, *, name: str = "centers", distinct: bool = True
) -> Floats:
    """Centers as an array of doubles: at least so many; if ``distinct``, no two of them equal."""
    points: Floats = _checked(centers, name, dtype=np.float64)
    if len(points) < least:
        raise ValueError(f"{name} has {len(points)} rows; give at least {least}.")
    if distinct and len(points) > 1 and not pdist(points).all():
        raise ValueError(f"{name} has equal rows; give centers that differ.")
    return points


def _require_columns(n_columns: int, centers: Floats) -> None:
    if centers.shape[1] != n_columns:
        raise ValueError(
            f"centers has {centers.shape[1]} columns and X has {n_columns}; give centers with as "
            "many columns."
        )


def check_radii(radii: Any, n_clusters: int) -> Floats | None:
    """Radii as an array of positive doubles, one for each cluster."""
    if radii is None:
        return None
    found: Floats = _checked(radii, "radii", dtype=np.float64, ensure_2d=False)
    if found.shape != (n_clusters,) or not (found > 0).all():
        raise ValueError(
            f"radii has shape {found.shape}; give a positive number for each of the {n_clusters} "
            "centers, such as cluster_radii_."
        )
    return found


@dataclass(frozen=True)
class Totals:
    """Sums over rows, the extents of rows in clusters and of all rows, and the sum of the rows."""

    sums: ClusterSums
    inside: Extent
    everything: Extent
    rows: Floats

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.sums + other.sums,
            self.inside + other.inside,
            self.everything + other.everything,
            self.rows + other.rows,
        )

    @property
    def mean(self) -> Floats:
        """Mean of the rows in clusters."""
        return self.rows / self.sums.total


@dataclass(frozen=True)
class SumsAt:
    """Sums at some centers. Rows beyond the radii of all of them are outliers."""

    centers: Floats
    radii: Floats | None = None
    fuzzifier: float = 2.0
    alpha: float = 1.0

    def __call__(self, rows: Rows, weights: Floats) -> Totals:
        squares = np.maximum(squared_distances(rows, self.centers), 0)
        distances = np.sqrt(squares)
        inside = None
        if self.radii is not None:
            inside = np.asarray((distances <= self.radii).any(axis=1))
        clear = clearness(squares, self.fuzzifier) ** self.alpha
        values = dense(rows)
        kept = slice(None) if inside is None else inside
        return Totals(
            ClusterSums.of(distances, weights, inside, clear),
            Extent.of(values[kept]),
            Extent.of(values),
            weights[kept] @ values[kept].astype(np.float64),
        )


@dataclass(frozen=True)
class DistancesFrom:
    """Sum of the distances from a point of the rows within the radii of some centers."""

    point: Floats
    centers: Floats
    radii: Floats | None = None

    def __call__(self, rows: Rows, weights: Floats) -> Total:
        distances = np.sqrt(np.maximum(squared_distances(rows, self.point[None])[:, 0], 0))
        if self.radii is not None:
            squares = squared_distances(rows, self.centers)
            weights = np.where((squares <= self.radii**2).any(axis=1), weights, 0)
        return Total(float(weights @ distances))


@dataclass(frozen=True)
class ScatterAt:
    """Sum of the objective of fuzzy c-means at some centers, and of the weights."""

    centers: Floats
    fuzzifier: float

    def __call__(self, rows: Rows, weights: Floats) -> Total:
        squares = np.maximum(squared_distances(rows, self.centers), np.finfo(float).tiny)
        power = -1 / (self.fuzzifier - 1)
        least = squares.min(axis=1, keepdims=True)
        # With the best memberships, the objective of a row is a power mean of its distances.
        means = least[:, 0] * ((squares / least) ** power).sum(axis=1) ** (1 / power)
        return Total(np.array([weights @ means, weights.sum()]))


@dataclass(frozen=True)
class TableOf:
    """Weights of rows by their nearest center, and by the nearest of others."""

    centers: Floats
    others: Floats

    def __call__(self, rows: Rows, weights: Floats) -> Total:
        return Total(contingency(rows, self.centers, self.others, weights))


def totals_at(
    X: Any, centers: Any, radii: Any = None, least: int = 2, **options: float
) -> tuple[Totals, Floats, Floats | None]:
    """Sums over the rows at the centers, and the centers and radii as arrays."""
    points = check_points(centers, least)
    known = check_radii(radii, len(points))
    found: Totals = ask(X, SumsAt(points, known, **options), points)
    if not found.sums.total > 0:
        raise ValueError("radii leaves no row in any cluster; give larger ones, or None.")
    return found, points, known
