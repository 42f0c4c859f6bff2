"""K-medoids: clusters around rows of the data, by the alternating method of Park and Jun.

Time grows with the square of the number of rows; memory does not, as only tiles of distances exist.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from math import isqrt
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sfumato import _validation as validation
from sfumato._checks import check_random_state, require_integer
from sfumato._data import Data, row_blocks
from sfumato._distances import squared_distances
from sfumato._origin import medians
from sfumato._typing import Floats
from sfumato.estimators._documentation import DocumentedEstimator
from sfumato.exceptions import shown

Indices = NDArray[np.integer]

BLOCK_SIZE = 1 << 21
"""Distances, or coordinates, computed at a time: 16 MB of doubles. Chosen by hand."""
TIE = 1e-10
"""Relative difference up to which two distances, or sums of them, count as equal. Chosen by hand,
ten times the rounding error that ``squared_distances`` allows."""


class KMedoids(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, DocumentedEstimator
):
    r"""K-medoids clustering by the method of Park and Jun.

    A medoid is the row of a cluster with the smallest sum of distances to the rows of that cluster.
    Two steps alternate until the sum of all distances no longer falls [1]_: each row is assigned to
    its nearest medoid, and the medoid of each cluster is computed anew. Distances are Euclidean and
    not squared.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"park-jun", "random"} or array-like of shape (n_clusters,), default="park-jun"
        First medoids. "park-jun" takes the most central rows, those with the smallest seeding
        values, and is not random. "random" draws rows in proportion to their weights. An array
        holds indices of rows, no two of which may be equal rows.
    max_iter : int, default=100
        Largest number of iterations.
    random_state : int, RandomState or None, default=None
        Seed for ``init="random"``; an int makes the result repeatable.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (n_clusters,)
        Indices of the medoids; of equal rows, the first one of positive weight.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The medoids themselves.
    labels_ : ndarray of shape (n_samples,)
        Nearest medoid of each row of the training data.
    inertia_, objective_ : float
        Weighted sum of the distances to the nearest medoids. Both names have the same value: the
        first as in scikit-learn, the second as in the other estimators of this library.
    n_iter_ : int
        Number of iterations, including the last one, which did not lower the sum.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Equal rows count as one row with the sum of their weights. Otherwise the seeds of Park and Jun
    could be copies of one row, and all but one of their clusters empty. Of sums and distances that
    are equal up to rounding, the row or cluster of the lowest index is chosen.

    A fit holds one copy of the rows in float64.

    References
    ----------
    .. [1] H.-S. Park, C.-H. Jun, "A simple and fast algorithm for K-medoids clustering", Expert
       Systems with Applications 36, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import KMedoids
    >>> X = np.array([[0.0], [1.0], [3.0], [20.0], [21.0], [90.0]])
    >>> model = KMedoids(n_clusters=2).fit(X)
    >>> model.medoid_indices_
    array([4, 1])
    >>> model.inertia_
    73.0
    >>> model.predict([[9.0], [12.0]])
    array([1, 0], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str | ArrayLike = "park-jun",
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the medoids.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            float32 gives float32 medoids; distances are computed in float64.
        y : None
            Ignored; for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; 3 is worth three copies, 0 leaves the row out.

        Returns
        -------
        self : object
        """
        with validation.restored_on_failure(self):
            self._fit(X, sample_weight)
        return self

    def _fit(self, X: Any, sample_weight: Any) -> None:
        require_integer("n_clusters", self.n_clusters, least=1, advice="use e.g. 8")
        require_integer("max_iter", self.max_iter, least=1, advice="use e.g. 100")
        data = validation.check_fit_data(self, X, sample_weight)
        validation.check_enough_rows(data, int(self.n_clusters))
        distinct = DistinctRows.of(data)
        seeds = self._seeds(distinct)
        medoids, self.n_iter_, converged = alternate(distinct.data, seeds, int(self.max_iter))
        self.medoid_indices_ = distinct.index[medoids]
        self.cluster_centers_ = data.dense(self.medoid_indices_).astype(data.dtype)
        self._n_features_out = int(self.n_clusters)
        self.labels_, distances = nearest(data, self.cluster_centers_)
        self.inertia_ = float(data.weights_or_ones() @ distances)
        if not converged:
            warnings.warn(
                f"{type(self).__name__}: Stopped at `max_iter` before the total settled; raise "
                f"max_iter={self.max_iter}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _seeds(self, distinct: DistinctRows) -> Indices:
        """First medoids, as indices of distinct rows."""
        n_clusters = int(self.n_clusters)
        if not isinstance(self.init, str):
            return _given_rows(self.init, n_clusters, distinct.inverse)
        if self.init == "park-jun":
            values = seeding_values(distinct.data.rows, distinct.data.weights_or_ones())
            return _ranked(values)[:n_clusters]
        if self.init == "random":
            rng = check_random_state(self.random_state)
            return drawn_rows(distinct.data, n_clusters, rng)
        known = "use 'park-jun', 'random' or an array of row indices"
        raise ValueError(f"init={shown(self.init)} is not known; {known}.")

    @property
    def objective_(self) -> float:
        """Same as ``inertia_``."""
        return self.inertia_

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Nearest medoid of each row; of equal distances, the one of the lowest index.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return nearest(self._check_rows(X), self.cluster_centers_)[0]

    def transform(self, X: Any) -> Floats:
        """Distances to the medoids.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        data = self._check_rows(X)
        distances = np.empty((data.n_rows, len(self.cluster_centers_)), dtype=data.dtype)
        for block, found in distance_blocks(data, self.cluster_centers_):
            distances[block] = found
        return distances

    def _check_rows(self, X: Any) -> Data:
        check_is_fitted(self)
        return validation.check_new_data(self, X, None, medians(self.cluster_centers_, None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _given_rows(init: Any, n_clusters: int, inverse: Indices) -> Indices:
    """First medoids given as indices of rows; ``inverse`` maps these to distinct rows."""
    needed = f"use 'park-jun', 'random' or {n_clusters} indices of different rows"
    try:
        rows = np.asarray(init)
    except ValueError as error:
        raise ValueError(f"init is not an array ({error}); {needed}.") from error
    if rows.shape != (n_clusters,) or rows.dtype.kind not in "iu":
        raise ValueError(f"init has shape {rows.shape} and dtype {rows.dtype}; {needed}.")
    for row in rows:
        if not 0 <= row < len(inverse):
            raise ValueError(f"init holds {row}, but rows are 0 to {len(inverse) - 1}; {needed}.")
        if inverse[row] < 0:
            raise ValueError(f"init holds {row}, a row of weight 0, which is left out; {needed}.")
    chosen = inverse[rows]
    repeated = np.flatnonzero(np.bincount(chosen) > 1)
    if len(repeated):
        equal = rows[chosen == repeated[0]].tolist()
        raise ValueError(f"init holds {equal}, which are equal rows; {needed}.")
    return chosen


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows of positive weight, in the order in which they first occur.

    Attributes
    ----------
    data : Data
        The distinct rows in float64, each with the sum of the weights of its copies. Dense rows are
        relative to the origin of the given data.
    index : ndarray of shape (n_distinct,)
        Index of the first copy of each.
    inverse : ndarray of shape (n_samples,)
        Distinct row that each row is a copy of; -1 for rows of weight 0.
    """

    data: Data
    index: Indices
    inverse: Indices

    @classmethod
    def of(cls, data: Data) -> Self:
        """Distinct rows of the data."""
        weights = data.weights_or_ones()
        inverse = np.full(data.n_rows, -1, dtype=np.intp)
        seen: dict[bytes, int] = {}
        for row, content in enumerate(_contents(data)):
            if weights[row] > 0:
                # A hash instead of the content, which would take the memory of another copy.
                digest = blake2b(content, digest_size=16).digest()
                inverse[row] = seen.setdefault(digest, len(seen))
        counted = np.flatnonzero(inverse >= 0)
        index = counted[np.unique(inverse[counted], return_index=True)[1]]
        total = np.bincount(inverse[counted], weights=weights[counted]).astype(np.float64)
        rows = data.rows[index].astype(float) if data.is_sparse else data.dense(index) - data.origin
        origin = np.zeros(data.n_features)
        return cls(Data(rows, total, np.dtype(np.float64), origin), index, inverse)


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
        chosen = np.ascontiguousarray(rows[block])
        chosen = chosen + chosen.dtype.type(0)  # -0.0 and 0.0 become the same bytes.
        yield from (row.tobytes() for row in chosen)


def drawn_rows(data: Data, count: int, rng: np.random.RandomState) -> Indices:
    """Different rows, drawn in proportion to their weights."""
    shares = data.weights_or_ones() / data.weights_or_ones().sum()
    # Sorted by the distance from the mean, so that the order of the rows does not matter.
    order = _ranked(nearest(data, (data.rows.T @ shares)[None])[1])
    drawn: Indices = rng.choice(order, size=count, replace=False, p=shares[order])
    return drawn


def seeding_values(rows: Any, weights: Floats) -> Floats:
    r"""Seeding values of Park and Jun; central rows have small ones.

    .. math:: v_j = \sum_i \frac{w_i d_{ij}}{\sum_l w_l d_{il}}

    The weights ``w`` are 1 in the paper; a weight of 3 stands for three copies of the row.
    """
    sums = distance_sums(rows, weights)
    # The sum is zero only for a single row, whose seeding value does not matter.
    return distance_sums(rows, np.divide(weights, sums, out=np.zeros_like(sums), where=sums > 0))


def alternate(data: Data, seeds: Indices, max_iter: int) -> tuple[Indices, int, bool]:
    """Medoids, number of iterations, and whether the sum of distances has ceased to fall."""
    medoids, changed = seeds, np.arange(len(seeds))
    labels, total = _assigned(data, medoids)
    for iteration in range(1, max_iter + 1):
        proposed = _new_medoids(data, medoids, labels, changed)
        new_labels, new_total = _assigned(data, proposed)
        if not new_total < (1 - TIE) * total:
            return medoids, iteration, True
        moved = new_labels != labels
        changed = np.union1d(new_labels[moved], labels[moved])
        medoids, labels, total = proposed, new_labels, new_total
    return medoids, max_iter, False


def _assigned(data: Data, medoids: Indices) -> tuple[NDArray[np.int32], float]:
    """Nearest medoid of each row, and the weighted sum of the distances to them."""
    labels, distances = nearest(data, data.rows[medoids])
    return labels, float(data.weights_or_ones() @ distances)


def _new_medoids(
    data: Data, medoids: Indices, labels: NDArray[np.int32], changed: Indices
) -> Indices:
    """Members with the smallest sums of distances, for clusters whose members have changed."""
    medoids = medoids.copy()
    weights = data.weights_or_ones()
    for cluster in changed:
        members = np.flatnonzero(labels == cluster)
        if len(members):  # Integers above 2 ** 53 may be distinct rows, but equal in float64.
            sums = distance_sums(data.rows[members], weights[members])
            medoids[cluster] = members[_ranked(sums)[0]]
    return medoids


def distance_sums(rows: Any, weights: Floats) -> Floats:
    """Weighted sum of the distances from each row to all rows, computed tile by tile."""
    sums = np.zeros(rows.shape[0])
    width = max(isqrt(BLOCK_SIZE), 0 if sp.issparse(rows) else rows.shape[1])
    blocks = list(_blocks(rows.shape[0], width))
    for number, block in enumerate(blocks):
        for other in blocks[number:]:
            squares = squared_distances(rows[block], rows[other])
            distances = np.sqrt(squares, out=squares)
            sums[block] += distances @ weights[other]
            if other is not block:  # Distances are symmetric.
                sums[other] += weights[block] @ distances
    return sums


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
        rows = data.rows[block] if data.is_sparse else data.dense(block)
        yield block, np.sqrt(squared_distances(rows, centers))


def _ranked(values: Floats) -> Indices:
    """Order that sorts nonnegative values; those equal up to rounding keep their order."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    apart = np.diff(ordered, prepend=ordered[:1]) > TIE * ordered
    return order[np.lexsort((order, np.cumsum(apart)))]


def _blocks(count: int, width: int) -> Iterator[slice]:
    """Slices of ``count`` rows, each of about ``BLOCK_SIZE`` numbers at ``width`` numbers a row."""
    step = max(1, BLOCK_SIZE // width)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
