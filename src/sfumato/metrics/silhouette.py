"""The silhouette of a clustering, weighted by how clear the memberships of a row are."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._distances import dense, squared_distances
from sfumato._typing import Floats
from sfumato.metrics._inputs import Rows, check_pair, require_exponent, row_blocks

SIDE = 1000
"""Rows along each side of a tile of distances, 8 MB. Chosen by hand; at a power of two, transposing
the tile is slow."""


def fuzzy_silhouette(X: Any, memberships: Any, alpha: float = 1.0) -> float:
    r"""Mean silhouette of the rows, clear memberships counting more; larger is better.

    .. math::
        \mathrm{FS} = \frac{\sum_{i=1}^{n} (u_{ip} - u_{iq})^\alpha s_i}
        {\sum_{i=1}^{n} (u_{ip} - u_{iq})^\alpha}, \quad
        s_i = \frac{b_i - a_i}{\max(a_i, b_i)}

    :math:`u_{ip}` and :math:`u_{iq}` are the largest and the second largest membership of row i,
    which counts as a member of cluster p. :math:`a_i` is its mean distance from the other members
    of p, and :math:`b_i` the least of its mean distances from the members of another cluster.
    Rows between clusters, whose silhouettes are small in any partition, thus count less [1]_.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features)
        Data.
    memberships : array-like or sparse array of shape (n_samples, n_clusters)
        Shares of the clusters in each row; they sum to one. Rows of zeros, which are outliers, are
        left out. At least two clusters must have members.
    alpha : float, default=1.0
        Exponent of the weights, at least 0; at 0 all rows count alike.

    Returns
    -------
    silhouette : float
        From -1 to 1. With hard memberships, the mean of the plain silhouettes. It is 0 if every
        row has two memberships that are equally large and ``alpha`` is not 0.

    Notes
    -----
    The only member of a cluster has silhouette 0, and so has a row at distance 0 from all of its
    own cluster and another. Of equal memberships the first one counts as the largest. Time grows
    as the square of the rows; of distances, a tile of 1000 x 1000 is kept at a time.

    References
    ----------
    .. [1] R. J. G. B. Campello, E. R. Hruschka, "A fuzzy extension of the silhouette width
       criterion for cluster analysis", Fuzzy Sets and Systems 157, 2006.

    Examples
    --------
    >>> from sfumato.metrics import fuzzy_silhouette
    >>> X = [[0.0], [1.0], [5.0], [9.0], [10.0]]
    >>> memberships = [[1, 0], [1, 0], [0.5, 0.5], [0, 1], [0, 1]]
    >>> round(fuzzy_silhouette(X, memberships), 3)  # The row in the middle has weight 0.
    0.781
    >>> round(fuzzy_silhouette(X, memberships, alpha=0), 3)
    0.624
    """
    require_exponent(alpha)
    X, memberships = check_pair(X, memberships, least=2)
    labels, clearness = _labels_and_clearness(memberships)
    if np.all(labels == labels[0]):
        raise ValueError(
            f"memberships has its largest value in column {labels[0]} in every row; a silhouette "
            "compares clusters, so use memberships in which at least two have members."
        )
    weights = clearness**alpha
    if not weights.any():
        return 0.0
    return float(np.average(_silhouettes(X, labels), weights=weights))


def fuzzy_silhouette_samples(X: Any, memberships: Any) -> Floats:
    """Silhouette of each row in the cluster of its largest membership.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features)
        Data.
    memberships : array-like or sparse array of shape (n_samples, n_clusters)
        As for :func:`fuzzy_silhouette`, which is a weighted mean of these.

    Returns
    -------
    silhouettes : ndarray of shape (n_samples,)
        From -1 to 1; NaN for rows of zero memberships, which are outliers, and for all rows if
        only one cluster has members.

    Examples
    --------
    >>> from sfumato.metrics import fuzzy_silhouette_samples
    >>> fuzzy_silhouette_samples([[0.0], [1.0], [9.0]], [[1, 0], [1, 0], [0, 1]]).round(2)
    array([0.89, 0.88, 0.  ])
    """
    rows, checked = check_pair(X, memberships, least=2)
    labels, _ = _labels_and_clearness(checked)
    sums = memberships.sum(axis=1) if sp.issparse(memberships) else np.sum(memberships, axis=1)
    found = np.full(np.asarray(sums).size, np.nan)
    if not np.all(labels == labels[0]):
        found[np.asarray(sums).ravel() > 0] = _silhouettes(rows, labels)
    return found


def _labels_and_clearness(memberships: Rows) -> tuple[NDArray[np.intp], Floats]:
    """Column of each row's largest membership, and how much larger it is than the second."""
    n_rows, n_clusters = memberships.shape
    labels, clearness = np.empty(n_rows, dtype=np.intp), np.empty(n_rows)
    for rows in row_blocks(n_rows, n_clusters):
        block = dense(memberships[rows])
        labels[rows] = block.argmax(axis=1)
        second, first = np.partition(block, n_clusters - 2, axis=1)[:, -2:].T
        clearness[rows] = first - second
    return labels, clearness


def _silhouettes(X: Rows, labels: NDArray[np.intp]) -> Floats:
    """Plain silhouette of each row; clusters without members play no part."""
    _, members, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    sums = _sums_of_distances(X, members, len(sizes))
    rows = np.arange(len(members))
    others = sizes[members] - 1  # A row is no neighbor of itself.
    own = sums[rows, members] / np.maximum(others, 1)
    means = sums / sizes
    means[rows, members] = np.inf
    other = means.min(axis=1)
    larger = np.maximum(own, other)
    return np.divide(
        other - own, larger, out=np.zeros(len(rows)), where=(others > 0) & (larger > 0)
    )


def _sums_of_distances(X: Rows, members: NDArray[np.intp], n_clusters: int) -> Floats:
    """Per row, the distances from the members of each cluster, added up tile by tile."""
    n_rows, n_features = X.shape
    belongs = sp.csr_array((np.ones(n_rows), members, np.arange(n_rows + 1)), (n_rows, n_clusters))
    sums = np.zeros((n_rows, n_clusters))
    blocks = list(row_blocks(n_rows, SIDE if sp.issparse(X) else max(SIDE, n_features)))
    for i, rows in enumerate(blocks):
        for columns in blocks[: i + 1]:
            distances = np.sqrt(squared_distances(X[rows], X[columns]))
            sums[rows] += distances @ belongs[columns]
            if columns is not rows:  # The tile across the diagonal is the transpose.
                sums[columns] += distances.T @ belongs[rows]
    return sums
