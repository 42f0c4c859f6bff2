"""Rows tied to landmarks, and the spectrum of the graph that the ties make.

A graph between all rows has a matrix with as many columns as rows. Here each row is tied to a few
landmarks instead, and two rows to each other by the landmarks that they share (X. Chen, D. Cai,
"Large scale spectral clustering with landmark-based representation", AAAI 2011).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sfumato._data import Data
from sfumato._typing import Floats

ROUNDS = 5
"""Iterations of K-Means for the landmarks; on images, 20 gave the same clusterings in accuracy."""

ROWS_PER_LANDMARK = 32
"""Rows per landmark that K-Means sees at most, which bounds its time for any number of rows."""

BLOCK_NUMBERS = 1 << 19
"""Coordinates, and distances to landmarks, that are held at a time: 4 MB of each."""

_ONE_AT_A_TIME = threading.Lock()
"""Limits of BLAS belong to the process."""


class Nearest(NamedTuple):
    """Nearest landmarks of rows: which, nearest first, and their squared distances."""

    which: NDArray[np.intp]
    sq_dist: Floats


def _blocks(data: Data, n_landmarks: int) -> Iterator[slice]:
    """Slices of rows, of a bounded number of coordinates and of distances to the landmarks."""
    step = max(16, BLOCK_NUMBERS // max(data.n_features, n_landmarks))
    for start in range(0, data.n_rows, step):
        yield slice(start, min(start + step, data.n_rows))


def _sq_distances(rows: Floats, landmarks: Floats) -> Floats:
    """Squared distances of rows to landmarks, by one product of matrices."""
    sq_dist = rows @ (-2 * landmarks.T)
    sq_dist += np.einsum("ij,ij->i", landmarks, landmarks)
    sq_dist += np.einsum("ij,ij->i", rows, rows)[:, None]
    return np.maximum(sq_dist, 0, out=sq_dist)


def nearest_landmarks(data: Data, landmarks: Floats, n_neighbors: int) -> Nearest:
    """Nearest landmarks of each row, found block by block."""
    landmarks = landmarks.astype(np.float64)
    origin = landmarks.mean(axis=0)  # Digits would be lost to an offset that all rows share.
    centered = landmarks - origin
    which = np.empty((data.n_rows, n_neighbors), dtype=np.intp)
    sq_dist = np.empty((data.n_rows, n_neighbors))
    for block in _blocks(data, len(landmarks)):
        found = _sq_distances(data.dense(block) - origin, centered)
        near = np.argpartition(found, n_neighbors - 1, axis=1)[:, :n_neighbors]
        order = np.argsort(np.take_along_axis(found, near, axis=1), axis=1, kind="stable")
        which[block] = np.take_along_axis(near, order, axis=1)
        sq_dist[block] = np.take_along_axis(found, which[block], axis=1)
    return Nearest(which, sq_dist)


def _move_landmarks(data: Data, landmarks: Floats) -> Floats:
    """Each landmark moved to the mean of the rows that it is nearest to, if there are any."""
    origin = landmarks.mean(axis=0)
    centered = landmarks - origin
    total, count = np.zeros_like(landmarks), np.zeros(len(landmarks))
    for block in _blocks(data, len(landmarks)):
        rows = data.dense(block) - origin
        label = _sq_distances(rows, centered).argmin(axis=1)
        ones = np.ones(len(rows)), label, np.arange(len(rows) + 1)
        total += sp.csr_array(ones, shape=(len(rows), len(landmarks))).T @ rows
        count += np.bincount(label, minlength=len(landmarks))
    served = count > 0
    centered[served] = total[served] / count[served, None]
    return centered + origin


def choose_landmarks(
    data: Data, n_landmarks: int, method: str, rng: np.random.RandomState
) -> Floats:
    """Landmarks: rows drawn at random, or the means that K-Means makes of them."""
    order = rng.permutation(data.n_rows)
    landmarks = data.dense(np.sort(order[:n_landmarks]))
    if method == "k-means" and n_landmarks < data.n_rows:
        sample = data
        if data.n_rows > ROWS_PER_LANDMARK * n_landmarks:
            sample = data.take(np.sort(order[: ROWS_PER_LANDMARK * n_landmarks]))
        for _ in range(ROUNDS):
            landmarks = _move_landmarks(sample, landmarks)
    return landmarks.astype(data.dtype)


def ties(near: Nearest, bandwidth: float, n_landmarks: int) -> sp.csr_array:
    """Rows as mixtures of their nearest landmarks: Gaussian weights that sum to one."""
    # Measured from the nearest landmark, which cancels in the ratio, the weights never underflow.
    excess = near.sq_dist - near.sq_dist[:, :1]
    with np.errstate(over="ignore"):  # A narrow bandwidth leaves the nearest landmark alone.
        weight = np.exp(-excess / bandwidth / bandwidth / 2)
    weight /= weight.sum(axis=1, keepdims=True)
    ends = np.arange(0, weight.size + 1, weight.shape[1])
    parts = weight.ravel(), near.which.ravel(), ends
    return sp.csr_array(parts, shape=(len(weight), n_landmarks))


def spectrum(tied: sp.csr_array, n_components: int) -> tuple[Floats, Floats]:
    """Singular values of the scaled ties, and the matrix that takes ties to coordinates.

    The largest singular value is 1 and says nothing: its vector is constant over rows. It is known,
    so it is taken out beforehand; where the graph falls into pieces, others are as large.
    """
    mass = np.asarray(tied.sum(axis=0)).ravel()
    scale = np.zeros_like(mass)  # A landmark without rows stays out.
    scale[mass > 0] = mass[mass > 0] ** -0.5
    scaled = tied @ sp.diags_array(scale)
    gram = (scaled.T @ scaled).toarray()
    trivial = np.sqrt(mass / mass.sum())
    gram -= np.outer(trivial, trivial)
    # Routines for a part of the spectrum fail where many values are equal, as with many pieces.
    # Threads that meet at every column cost more than they bring, on a busy machine by far.
    with _ONE_AT_A_TIME, threadpool_limits(1, user_api="blas"):
        squares, vectors = np.linalg.eigh(gram)
    squares = np.clip(squares[: -n_components - 1 : -1], 0, 1)
    vectors = vectors[:, : -n_components - 1 : -1]
    largest = np.abs(vectors).argmax(axis=0), np.arange(n_components)
    vectors = vectors * np.sign(vectors[largest])
    # Of a value that is rounding error, the vector is, too; its coordinate becomes zero.
    squares[squares <= len(mass) * np.finfo(np.float64).eps] = 0
    values = np.sqrt(squares)
    inverse = np.divide(1, values, out=np.zeros_like(values), where=values > 0)
    return values, scale[:, None] * vectors * inverse
