"""Bipartite graph between rows and landmarks, and its spectrum.

A graph between all rows would have a square matrix with as many columns as rows. Here each row is
connected to a few landmarks only, and two rows are connected through the landmarks that they share
(X. Chen, D. Cai, "Large scale spectral clustering with landmark-based representation", AAAI 2011).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import Data
from sfumato._distances import squared_distances
from sfumato._engines.native import NativeEngine
from sfumato._native import effective_threads, single_blas_thread
from sfumato._problem import Problem
from sfumato._typing import Floats
from sfumato.losses import Squared
from sfumato.memberships import Hard

KMEANS_ITERATIONS = 5
"""Iterations of K-means for the landmarks. On the image sets, 20 gave the same accuracy."""
ROWS_PER_LANDMARK = 32
"""Rows per landmark in the sample for K-means, which bounds its time. Chosen by hand."""
BLOCK_SIZE = 1 << 20
"""Coordinates, and distances to landmarks, computed at a time: 8 MB of each. Chosen by hand."""


class Neighbors(NamedTuple):
    """Nearest landmarks of each row, the nearest first; arrays of shape (n_rows, n_neighbors)."""

    indices: NDArray[np.intp]
    squared_distances: Floats


def choose_landmarks(
    data: Data, n_landmarks: int, method: str, rng: np.random.RandomState
) -> Floats:
    """Rows drawn at random, or the centers of a few iterations of K-means that start from them."""
    order = rng.permutation(data.n_rows)
    landmarks = data.dense(np.sort(order[:n_landmarks]))
    if method == "k-means" and n_landmarks < data.n_rows:
        sample_size = ROWS_PER_LANDMARK * n_landmarks
        sample = data if data.n_rows <= sample_size else data.take(np.sort(order[:sample_size]))
        engine = NativeEngine(sample, Problem(Squared(), Hard()), effective_threads(None))
        for _ in range(KMEANS_ITERATIONS):
            landmarks = engine.sweep(landmarks).centers(landmarks)
    return landmarks.astype(data.dtype)


def nearest_landmarks(data: Data, landmarks: Floats, n_neighbors: int) -> Neighbors:
    """Nearest landmarks of each row."""
    indices = np.empty((data.n_rows, n_neighbors), dtype=np.intp)
    squares = np.empty((data.n_rows, n_neighbors))
    step = max(16, BLOCK_SIZE // max(landmarks.shape))
    for start in range(0, data.n_rows, step):
        block = slice(start, start + step)
        found = squared_distances(data.dense(block), landmarks)
        near = np.argpartition(found, n_neighbors - 1, axis=1)[:, :n_neighbors]
        order = np.argsort(np.take_along_axis(found, near, axis=1), axis=1, kind="stable")
        indices[block] = np.take_along_axis(near, order, axis=1)
        squares[block] = np.take_along_axis(found, indices[block], axis=1)
    return Neighbors(indices, squares)


def affinity_matrix(neighbors: Neighbors, bandwidth: float, n_landmarks: int) -> sp.csr_array:
    """Gaussian affinities of rows to their nearest landmarks, scaled to a sum of one per row.

    Shape (n_rows, n_landmarks); the kernel is ``exp(-distance ** 2 / (2 * bandwidth ** 2))``.
    """
    squares = neighbors.squared_distances
    # Without the part of the nearest landmark, which cancels in the ratio, nothing underflows.
    excess = squares - squares[:, :1]
    with np.errstate(over="ignore"):  # A narrow bandwidth gives the nearest landmark all weight.
        affinity = np.exp(-excess / bandwidth / bandwidth / 2)
    affinity /= affinity.sum(axis=1, keepdims=True)
    indptr = np.arange(0, affinity.size + 1, affinity.shape[1])
    entries = affinity.ravel(), neighbors.indices.ravel(), indptr
    return sp.csr_array(entries, shape=(len(affinity), n_landmarks))


def spectrum(affinity: sp.csr_array, n_components: int) -> tuple[Floats, Floats]:
    """Largest singular values of the scaled affinity matrix, and the basis of the embedding.

    Columns are scaled by the inverse square roots of their sums. The largest singular value is then
    1, with a vector that is constant over the rows: it is known and left out. If the graph has
    several components, further values are 1. The product of the affinity matrix and the basis, of
    shape (n_landmarks, n_components), holds the left singular vectors.
    """
    degree = np.asarray(affinity.sum(axis=0)).ravel()
    scale = np.zeros_like(degree)  # Stays 0 for a landmark without rows.
    scale[degree > 0] = degree[degree > 0] ** -0.5
    scaled = affinity @ sp.diags_array(scale)
    gram = (scaled.T @ scaled).toarray()
    trivial = np.sqrt(degree / degree.sum())
    gram -= np.outer(trivial, trivial)
    # The whole spectrum: routines for a part of it fail where many values are equal. One thread:
    # several wait for each other at every column, which on a busy machine takes much longer.
    with single_blas_thread():
        squares, vectors = np.linalg.eigh(gram)
    squares = np.clip(squares[: -n_components - 1 : -1], 0, 1)
    vectors = vectors[:, : -n_components - 1 : -1]
    largest = np.abs(vectors).argmax(axis=0), np.arange(n_components)
    vectors = vectors * np.sign(vectors[largest])
    # A value that is only rounding error has a meaningless vector: its coordinate becomes zero.
    squares[squares <= len(degree) * np.finfo(np.float64).eps] = 0
    values = np.sqrt(squares)
    inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 0)
    return values, scale[:, None] * vectors * inverse
