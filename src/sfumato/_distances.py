"""Squared distances between rows and centers: matrix products, corrected where digits cancel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sfumato._data import row_blocks

FEW_FEATURES = 48
"""Number of features up to which all differences are about as fast as a matrix product."""
CANCELLATION = 1e-5
"""Share of the squared norms. A squared distance below it has lost five or more of the 16 digits of
a double in the matrix product, and is computed from differences. Chosen by hand: a larger share
keeps more digits and takes more time."""
CROWDED = 0.1
"""Share of the pairs. If more have lost digits, all are computed from differences, which is then
faster than one pair after the other. Chosen by hand."""


def squared_distances(rows: Any, centers: Any) -> NDArray[np.float64]:
    """Squared Euclidean distances, computed in float64.

    With many features, or sparse rows, ``|a|^2 - 2 ab + |b|^2`` is a matrix product. Where it
    cancels, because a row is close to a center compared with their norms, the distance is computed
    again from differences. Equal rows have distance 0.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_features)
    centers : ndarray or csr_array of shape (n_centers, n_features)
        Must be an ndarray if ``rows`` is one.

    Returns
    -------
    squares : ndarray of shape (n_rows, n_centers)

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato._distances import squared_distances
    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[3.0, 4.0]]))
    array([[25.],
           [ 0.]])
    """
    if sp.issparse(rows):
        rows, centers = rows.astype(np.float64), centers.astype(np.float64)
        squares, cancelled = _expanded(rows, centers)
    else:
        rows, centers = dense(rows), dense(centers)
        if rows.shape[1] <= FEW_FEATURES:
            return cdist(rows, centers, "sqeuclidean")
        # Norms are small around the middle: a median, since outliers would move a mean.
        origin = np.median(centers[:: max(1, len(centers) // 64)], axis=0)
        squares, cancelled = _expanded(rows - origin, centers - origin)
        if np.count_nonzero(cancelled) > CROWDED * cancelled.size:
            return cdist(rows, centers, "sqeuclidean")
    # By places in the flat array, which are found several times faster than pairs of indices.
    first, second = np.divmod(np.flatnonzero(cancelled), cancelled.shape[1])
    for pairs in row_blocks(len(first), rows.shape[1]):
        differences = dense(rows[first[pairs]]) - dense(centers[second[pairs]])
        squares[first[pairs], second[pairs]] = _squared_norms(differences)
    return squares


def dense(rows: Any) -> NDArray[np.float64]:
    """Rows as a dense array of float64."""
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)


def _expanded(rows: Any, centers: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Squared distances as ``|a|^2 - 2 ab + |b|^2``, and which of them have lost digits."""
    product = (-2 * rows) @ centers.T  # Exactly -2 times the product, one pass less over it.
    squares: NDArray[np.float64] = product.toarray() if sp.issparse(product) else product
    norms = _squared_norms(rows)[:, None]
    squares += norms
    squares += _squared_norms(centers)
    # The norms of a close pair are nearly equal, so twice the first stands for their sum.
    return squares, squares <= 2 * CANCELLATION * norms


def _squared_norms(rows: Any) -> NDArray[np.float64]:
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64)
    return np.einsum("ij,ij->i", rows, rows)
