"""Squared distances at the rate of a matrix product, without the digits that one loses."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sfumato.metrics._inputs import Floats, Rows, dense, row_blocks

FEW = 48
"""Features up to which taking all differences is as quick as a matrix product."""
CLOSE = 1e-5
"""Squared distances below this share of the squared norms have lost five digits or more."""
CROWDED = 0.1
"""Share of close pairs from which on it is quicker to take all differences."""


def squared_distances(A: Rows, B: Rows) -> Floats:
    """Squared Euclidean distances between the rows of A and those of B.

    Expanding the square makes a matrix product of it, but where two rows are close compared with
    their norms, the difference of large numbers has few digits left: such pairs are done again,
    by differences. Equal rows have distance 0.

    Parameters
    ----------
    A, B : arrays or csr_arrays of shape (n_rows, n_features)
        B may be an array while A is sparse.

    Returns
    -------
    squares : ndarray of shape (n_rows_A, n_rows_B)
    """
    if sp.issparse(A):
        A, B = A.astype(np.float64), B.astype(np.float64)
        squares, close = _expanded(A, B)
    else:
        A, B = dense(A), dense(B)
        if A.shape[1] <= FEW:
            return cdist(A, B, "sqeuclidean")
        # From the middle norms are small. A median, for outliers would move a mean away.
        origin = np.median(B[:: max(1, len(B) // 64)], axis=0)
        squares, close = _expanded(A - origin, B - origin)
        if np.count_nonzero(close) > CROWDED * close.size:
            return cdist(A, B, "sqeuclidean")
    first, second = np.nonzero(close)
    for part in row_blocks(len(first), A.shape[1]):
        gaps = dense(A[first[part]]) - dense(B[second[part]])
        squares[first[part], second[part]] = _squared_norms(gaps)
    return squares


def _expanded(A: Rows, B: Rows) -> tuple[Floats, NDArray[np.bool_]]:
    """Squared distances as ``|a|^2 - 2 ab + |b|^2``, and which of them have lost digits."""
    product = A @ B.T
    squares: Floats = product.toarray() if sp.issparse(product) else product
    norms = _squared_norms(A)[:, None]
    squares *= -2
    squares += norms
    squares += _squared_norms(B)
    # The norms of a close pair are nearly equal, so that one of them will do for both.
    return squares, squares <= 2 * CLOSE * norms


def _squared_norms(rows: Rows) -> Floats:
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64)
    return np.einsum("ij,ij->i", rows, rows)
