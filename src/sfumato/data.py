"""Data: checked rows in the storage they came in, with their weights.

Nothing is copied whole here. Engines read rows block by block, and center, reorder and cast each
block as they go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[np.floating]

BLOCK_BYTES = 1 << 20
"""Size of a block that Python code converts at a time: large enough to hide the interpreter."""


@dataclass(frozen=True)
class Data:
    """Rows, weights and the frame of reference of a computation.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_features)
        Finite real numbers of any dtype and memory layout.
    weights : ndarray of shape (n_rows,) or None
        Nonnegative float64 weights; None means that all are one.
    dtype : dtype
        float32 or float64: the precision of the computation and of its results.
    origin : ndarray of shape (n_features,)
        Point from which coordinates are measured inside a pass, near the middle of the data, so
        that no digits are lost to a common offset. Rounded to ``dtype``, so that a row and a center
        that are equal stay so. Zero for sparse rows, which stay sparse.
    """

    rows: Any
    weights: Floats | None
    dtype: np.dtype[np.floating]
    origin: Floats

    def __post_init__(self) -> None:
        origin = np.zeros_like(self.origin) if self.is_sparse else self.origin
        object.__setattr__(self, "origin", origin.astype(self.dtype).astype(np.float64))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.rows.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are a CSR matrix."""
        return bool(sp.issparse(self.rows))

    def weights_or_ones(self) -> Floats:
        """Weights as an array, without memory of their own if all are one."""
        if self.weights is None:
            return np.broadcast_to(np.float64(1), self.n_rows)
        return self.weights

    def dense(self, index: slice | NDArray[np.intp]) -> Floats:
        """Chosen rows as a dense float64 array, in the precision they are computed in."""
        chosen = self.rows[index]
        if self.is_sparse:
            chosen = chosen.toarray()
        return np.asarray(chosen).astype(self.dtype).astype(np.float64, copy=False)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Consecutive blocks of rows, as dense float64 arrays."""
        for block in row_blocks(self.n_rows, self.n_features):
            yield block, self.dense(block)

    def take(self, index: NDArray[np.intp]) -> Data:
        """Data of the chosen rows."""
        weights = None if self.weights is None else self.weights[index]
        return Data(self.rows[index], weights, self.dtype, self.origin)


def rows_per_block(n_features: int) -> int:
    """Rows that make about ``BLOCK_BYTES`` as doubles."""
    return max(1, BLOCK_BYTES // (8 * max(1, n_features)))


def row_blocks(n_rows: int, n_features: int) -> Iterator[slice]:
    """Slices that cover the rows block by block."""
    step = rows_per_block(n_features)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def draw(
    weights: Floats, order: NDArray[np.intp], count: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Rows drawn with replacement in proportion to their weights, which are added in that order."""
    cumulative = np.cumsum(weights[order])
    # Side "right" and a draw below the total never reach a row of weight zero.
    targets = rng.uniform(size=count) * cumulative[-1]
    index = np.searchsorted(cumulative, targets, side="right")
    last = int(np.searchsorted(cumulative, cumulative[-1], side="left"))
    return order[np.minimum(index, last)]
