"""K-medoids, how: central seeds, and turns of assignment and choice.

Distances between rows are added up block by block, so that their square matrix is never held. Equal
rows are one row of their common weight, so that no two medoids coincide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms

from sfumato._data import Data, row_blocks
from sfumato._typing import Floats

Indices = NDArray[np.integer]

NUMBERS_AT_ONCE = 1 << 21
"""Distances in a block: 16 MB, enough for matrix products to run at full speed."""
TIE = 1e-11
"""Share by which two numbers may differ and still be equal: rounding does as much."""
LOST = 1e-4
"""Share of the squared norms below which a squared distance is taken from differences instead: the
expanded form has lost four digits there, as for the sparse rows of the engines."""


def central_rows(data: Data, count: int) -> Indices:
    """Rows with the smallest seeding values, the most central first."""
    return _ranked(seeding_values(data.rows, data.weights_or_ones()))[:count]


def drawn_rows(data: Data, count: int, rng: np.random.RandomState) -> Indices:
    """Different rows, drawn in proportion to their weights.

    They are drawn from the rows by their distance from the mean, so that the order in which rows
    came does not matter.
    """
    shares = data.weights_or_ones() / data.weights_or_ones().sum()
    mean = (data.rows.T @ shares)[None]
    _, distances = nearest(data, sp.csr_array(mean) if data.is_sparse else mean)
    order = _ranked(distances)
    drawn: Indices = rng.choice(order, size=count, replace=False, p=shares[order])
    return drawn


def seeding_values(rows: Any, weights: Floats) -> Floats:
    r"""How central each row is, by Park and Jun: the smaller, the more.

    .. math:: v_j = \sum_i \frac{w_i d_{ij}}{\sum_l w_l d_{il}}

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_features), float64
    weights : ndarray of shape (n_rows,)
        Weight of each row, the number of its copies; 1 in the paper.

    Returns
    -------
    values : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.estimators._medoid_search import seeding_values
    >>> seeding_values(np.array([[0.0], [1.0], [3.0]]), np.ones(3))  # The sums are 4, 3 and 5.
    array([0.93333333, 0.65      , 1.41666667])
    """
    sums = distance_sums(rows, weights)
    # A row that is alone has no distances; then it is the only seed, whatever its value.
    return distance_sums(rows, np.divide(weights, sums, out=np.zeros_like(sums), where=sums > 0))


def distance_sums(rows: Any, weights: Floats) -> Floats:
    """Sum of the distances of each row to all rows, times the weights of these.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_features), float64
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    sums : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.estimators._medoid_search import distance_sums
    >>> distance_sums(np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 1.0, 2.0]))
    array([7., 5., 5.])
    """
    n_rows = rows.shape[0]
    sums = np.zeros(n_rows)
    for block in _blocks(n_rows, n_rows):
        # Distances are symmetric: those to earlier rows were met in earlier blocks.
        distances = euclidean_distances(rows[block], rows[block.start :])
        np.fill_diagonal(distances, 0.0)
        sums[block] += distances @ weights[block.start :]
        sums[block.stop :] += weights[block] @ distances[:, block.stop - block.start :]
    return sums


@dataclass(frozen=True)
class Places:
    """Distinct rows of positive weight.

    Attributes
    ----------
    data : Data
        These rows in float64, measured from the origin, with the sum of the weights of all equals.
    first : ndarray of shape (n_places,)
        Index of the first of the equal rows.
    where : ndarray of shape (n_samples,)
        Which of the distinct rows each row is; -1 for rows without weight.
    """

    data: Data
    first: Indices
    where: Indices

    @classmethod
    def of(cls, data: Data) -> Places:
        """Distinct rows of the data, in the order in which they first appear."""
        weights = data.weights_or_ones()
        where = np.full(data.n_rows, -1, dtype=np.intp)
        seen: dict[bytes, int] = {}
        first: list[int] = []
        for row, (weight, content) in enumerate(zip(weights, _contents(data), strict=True)):
            if weight > 0:
                # A digest instead of the content, or all rows would be held once more.
                where[row] = seen.setdefault(blake2b(content, digest_size=16).digest(), len(first))
                if where[row] == len(first):
                    first.append(row)
        indices = np.array(first, dtype=np.intp)
        counted = where >= 0
        total: Floats = np.bincount(where[counted], weights=weights[counted]).astype(np.float64)
        rows = _measured(data, indices)
        origin = np.zeros(data.n_features)
        return cls(Data(rows, total, np.dtype(np.float64), origin), indices, where)


def _contents(data: Data) -> Iterator[bytes]:
    """Bytes of each row that are equal where the numbers are."""
    rows = data.rows
    if data.is_sparse:
        for begin, end in pairwise(rows.indptr):
            values = rows.data[begin:end]
            stored = values != 0  # A zero that is stored equals one that is not.
            yield rows.indices[begin:end][stored].tobytes() + values[stored].tobytes()
        return
    for block in row_blocks(data.n_rows, data.n_features):
        part = np.ascontiguousarray(rows[block])
        part = part + part.dtype.type(0)  # -0.0 and 0.0 become the same bytes.
        yield from (row.tobytes() for row in part)


def _measured(data: Data, index: slice | Indices) -> Any:
    """Chosen rows in float64, measured from the origin; CSR stays CSR."""
    if data.is_sparse:
        return data.rows[index].astype(np.float64)
    return data.dense(index) - data.origin


@dataclass(frozen=True)
class Clustering:
    """Medoids as indices of rows, the nearest medoid of each row, and the total of distances."""

    medoids: Indices
    labels: NDArray[np.int32]
    total: float

    @classmethod
    def around(cls, data: Data, medoids: Indices) -> Clustering:
        """Rows assigned to their nearest medoids."""
        labels, distances = nearest(data, data.rows[medoids])
        return cls(medoids, labels, float(data.weights_or_ones() @ distances))


def alternate(data: Data, seeds: Indices, max_iter: int) -> tuple[Clustering, int, bool]:
    """Best clustering, number of turns, and whether the total has ceased to fall."""
    best = Clustering.around(data, seeds)
    changed: Indices = np.arange(len(seeds))
    for turn in range(1, max_iter + 1):
        proposed = Clustering.around(data, _new_medoids(data, best, changed))
        if not proposed.total < (1 - TIE) * best.total:
            return best, turn, True
        moved = proposed.labels != best.labels
        changed = np.union1d(proposed.labels[moved], best.labels[moved])
        best = proposed
    return best, max_iter, False


def _new_medoids(data: Data, old: Clustering, changed: Indices) -> Indices:
    """Members with the smallest sums of distances, of clusters whose members have changed."""
    medoids = old.medoids.copy()
    weights = data.weights_or_ones()
    for cluster in changed:
        members = np.flatnonzero(old.labels == cluster)
        if not len(members):  # Integers beyond 2 ** 53 differ, but not in float64.
            continue
        rows = data.rows[members]
        if not data.is_sparse:
            rows -= data.rows[medoids[cluster]]  # Short rows lose fewer digits than long ones.
        medoids[cluster] = members[_ranked(distance_sums(rows, weights[members]))[0]]
    return medoids


def nearest(data: Data, centers: Any) -> tuple[NDArray[np.int32], Floats]:
    """Index of the nearest center of each row, and its distance."""
    labels = np.empty(data.n_rows, dtype=np.int32)
    least = np.empty(data.n_rows)
    for block, distances in distance_blocks(data, centers):
        limits = distances.min(axis=1, keepdims=True) * (1 + TIE)
        labels[block] = np.argmax(distances <= limits, axis=1)
        least[block] = np.take_along_axis(distances, labels[block, None], axis=1)[:, 0]
    return labels, least


def distance_blocks(data: Data, centers: Any) -> Iterator[tuple[slice, Floats]]:
    """Distances to the centers, for consecutive blocks of rows."""
    width = centers.shape[0] if data.is_sparse else max(centers.shape)
    for block in _blocks(data.n_rows, width):
        yield block, _distances(_measured(data, block), centers)


def _distances(rows: Any, centers: Any) -> Floats:
    """Distances of rows to centers, by differences where a matrix product has lost digits."""
    distances: Floats = euclidean_distances(rows, centers)
    norms = np.add.outer(row_norms(rows, squared=True), row_norms(centers, squared=True))
    near, to = np.nonzero(distances**2 <= LOST * norms)
    for part in _blocks(len(near), rows.shape[1]):
        distances[near[part], to[part]] = row_norms(rows[near[part]] - centers[to[part]])
    return distances


def _ranked(values: Floats) -> Indices:
    """Order that sorts nonnegative values; those equal but for rounding go by their index."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    apart = np.diff(ordered, prepend=ordered[:1]) > TIE * ordered
    return order[np.lexsort((order, np.cumsum(apart)))]


def _blocks(count: int, width: int) -> Iterator[slice]:
    """Slices that cover so many rows of that width, a block of numbers each."""
    step = max(1, NUMBERS_AT_ONCE // width)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
