"""How crisp memberships are, and how compact and separate the clusters they describe."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist
from scipy.special import entr

from sfumato._checks import require_number
from sfumato._distances import dense, squared_distances
from sfumato._engines import is_chunked
from sfumato._typing import Floats
from sfumato.metrics._inputs import (
    Rows,
    check_centers,
    check_memberships,
    check_pair,
    row_blocks,
)
from sfumato.metrics._sums import ScatterAt, ask, check_points


def partition_coefficient(memberships: Any) -> float:
    r"""Mean of the squared memberships, summed over clusters (PC); larger is crisper.

    .. math:: \mathrm{PC} = \frac{1}{n} \sum_{i=1}^{n} \sum_{k=1}^{c} u_{ik}^2

    It sees no data: a crisp partition need not be a good one. It tends to fall as clusters are
    added; :func:`modified_partition_coefficient` takes that into account.

    Parameters
    ----------
    memberships : array-like or sparse array of shape (n_samples, n_clusters)
        Shares of the clusters in each row; they sum to one. Rows of zeros, which are outliers, are
        left out.

    Returns
    -------
    coefficient : float
        From ``1 / n_clusters``, where all memberships are equal, to 1, where each row belongs to
        one cluster.

    References
    ----------
    .. [1] J. C. Bezdek, "Pattern Recognition with Fuzzy Objective Function Algorithms", Plenum
       Press, 1981.

    Examples
    --------
    >>> from sfumato.metrics import partition_coefficient
    >>> partition_coefficient([[1.0, 0.0], [0.5, 0.5]])
    0.75
    """
    memberships = check_memberships(memberships)
    return float(np.square(_stored(memberships)).sum() / memberships.shape[0])


def partition_entropy(memberships: Any) -> float:
    r"""Mean entropy of the memberships of a row (PE); smaller is crisper.

    .. math:: \mathrm{PE} = -\frac{1}{n} \sum_{i=1}^{n} \sum_{k=1}^{c} u_{ik} \log u_{ik}

    The logarithm is natural, and :math:`0 \log 0 = 0` [1]_.

    Parameters
    ----------
    memberships : array-like or sparse array of shape (n_samples, n_clusters)
        Shares of the clusters in each row; they sum to one. Rows of zeros, which are outliers, are
        left out.

    Returns
    -------
    entropy : float
        From 0, where each row belongs to one cluster, to ``log(n_clusters)``, where all
        memberships are equal.

    References
    ----------
    .. [1] J. C. Bezdek, "Pattern Recognition with Fuzzy Objective Function Algorithms", Plenum
       Press, 1981.

    Examples
    --------
    >>> from sfumato.metrics import partition_entropy
    >>> round(partition_entropy([[1.0, 0.0], [0.5, 0.5]]), 4)  # log(2) / 2
    0.3466
    """
    memberships = check_memberships(memberships)
    # A membership may be 1 and a rounding error, whose logarithm is positive.
    return max(0.0, float(entr(_stored(memberships)).sum() / memberships.shape[0]))


def modified_partition_coefficient(memberships: Any) -> float:
    r"""Partition coefficient on a scale from 0 to 1 (MPC); larger is crisper.

    .. math:: \mathrm{MPC} = 1 - \frac{c}{c - 1} (1 - \mathrm{PC})

    So that partitions into unlike numbers of clusters can be compared [1]_.

    Parameters
    ----------
    memberships : array-like or sparse array of shape (n_samples, n_clusters)
        Shares of the clusters in each row; they sum to one. Rows of zeros, which are outliers, are
        left out. There are two clusters or more.

    Returns
    -------
    coefficient : float
        From 0, where all memberships are equal, to 1, where each row belongs to one cluster.

    References
    ----------
    .. [1] R. N. Davé, "Validating fuzzy partitions obtained through c-shells clustering", Pattern
       Recognition Letters 17, 1996.

    Examples
    --------
    >>> from sfumato.metrics import modified_partition_coefficient
    >>> modified_partition_coefficient([[1.0, 0.0], [0.5, 0.5]])
    0.5
    """
    memberships = check_memberships(memberships, least=2)
    n_clusters = memberships.shape[1]
    return 1 - n_clusters / (n_clusters - 1) * (1 - partition_coefficient(memberships))


def xie_beni(X: Any, memberships: Any, centers: ArrayLike, fuzzifier: float = 2.0) -> float:
    r"""Scatter within clusters over the least gap between centers (XB); smaller is better.

    .. math::
        \mathrm{XB} = \frac{\sum_{i=1}^{n} \sum_{k=1}^{c} u_{ik}^m \|x_i - v_k\|^2}
        {n \, \min_{j \ne k} \|v_j - v_k\|^2}

    Xie and Beni have m = 2 [1]_. It does not change if the data is shifted or scaled.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features), Stream or dask collection
        Data.
    memberships : array-like or sparse array of shape (n_samples, n_clusters), or None
        Shares of the clusters in each row; they sum to one. Rows of zeros, which are outliers, are
        left out. There are two clusters or more. None is for those of fuzzy c-means at the centers;
        data in chunks, which is read once, needs it.
    centers : array-like of shape (n_clusters, n_features)
        Centers of the clusters.
    fuzzifier : float, default=2.0
        Exponent m > 1 of the memberships.

    Returns
    -------
    index : float
        At least 0; infinite if two centers coincide, whatever the scatter.

    References
    ----------
    .. [1] X. L. Xie, G. Beni, "A validity measure for fuzzy clustering", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 13(8), 1991.

    Examples
    --------
    >>> from sfumato.metrics import xie_beni
    >>> X = [[0.0], [2.0], [9.0], [11.0]]
    >>> memberships = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> round(xie_beni(X, memberships, centers=[[1.0], [10.0]]), 4)  # 4 / (4 * 81)
    0.0123
    """
    if memberships is None:
        _require_fuzzifier(fuzzifier)
        points = check_points(centers, 2, distinct=False)
        scatter, weight = ask(X, ScatterAt(points, float(fuzzifier)), points).value
        least = float(pdist(points, "sqeuclidean").min())
        return float(scatter / (weight * least)) if least > 0 else inf
    if is_chunked(X):
        raise ValueError(
            "memberships must be None for data in chunks, so that they follow from the centers."
        )
    X, memberships, centers = _check_all(X, memberships, centers, fuzzifier, least=2)
    gap = float(pdist(centers, "sqeuclidean").min())
    if gap == 0:
        return inf
    scatter, _ = _scatter(X, memberships, centers, fuzzifier)
    return float(scatter.sum() / (X.shape[0] * gap))


def fukuyama_sugeno(X: Any, memberships: Any, centers: ArrayLike, fuzzifier: float = 2.0) -> float:
    r"""Scatter within clusters less the scatter of the centers (FS); smaller is better.

    .. math::
        \mathrm{FS} = \sum_{i=1}^{n} \sum_{k=1}^{c} u_{ik}^m
        \left( \|x_i - v_k\|^2 - \|v_k - \bar x\|^2 \right)

    :math:`\bar x` is the mean of the data [1]_, [2]_; some authors have the mean of the centers
    in its place. The index grows with the number of rows and with the square of the scale, so
    compare only values on the same data.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features)
        Data.
    memberships : array-like or sparse array of shape (n_samples, n_clusters)
        Shares of the clusters in each row; they sum to one. Rows of zeros, which are outliers, are
        left out.
    centers : array-like of shape (n_clusters, n_features)
        Centers of the clusters.
    fuzzifier : float, default=2.0
        Exponent m > 1 of the memberships.

    Returns
    -------
    index : float
        Of either sign; negative where clusters are compact and far apart.

    References
    ----------
    .. [1] Y. Fukuyama, M. Sugeno, "A new method of choosing the number of clusters for the fuzzy
       c-means method", 5th Fuzzy Systems Symposium, 1989 (in Japanese).
    .. [2] M. Sugeno, T. Yasukawa, "A fuzzy-logic-based approach to qualitative modeling", IEEE
       Transactions on Fuzzy Systems 1(1), 1993.

    Examples
    --------
    >>> from sfumato.metrics import fukuyama_sugeno
    >>> X = [[0.0], [2.0], [9.0], [11.0]]
    >>> memberships = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> fukuyama_sugeno(X, memberships, centers=[[1.0], [10.0]])  # 4 - 4 * 4.5**2
    -77.0
    """
    X, memberships, centers = _check_all(X, memberships, centers, fuzzifier)
    scatter, mass = _scatter(X, memberships, centers, fuzzifier)
    return float(scatter.sum() - mass @ np.square(centers - _mean(X)).sum(axis=1))


def _stored(memberships: Rows) -> Floats:
    """Memberships that are stored; all others are zero."""
    return memberships.data if sp.issparse(memberships) else np.asarray(memberships)


def _mean(X: Rows) -> Floats:
    """Mean of the rows, in double; the method of a sparse array would sum in single."""
    return np.ones(X.shape[0]) @ X / X.shape[0] if sp.issparse(X) else X.mean(0, dtype=np.float64)


def _require_fuzzifier(fuzzifier: Any) -> None:
    require_number("fuzzifier", fuzzifier, above=1, advice="use 2, or that of the fit", finite=True)


def _check_all(
    X: Any, memberships: Any, centers: Any, fuzzifier: Any, least: int = 1
) -> tuple[Rows, Rows, Floats]:
    """X, the memberships and the centers, in the forms to work with."""
    _require_fuzzifier(fuzzifier)
    X, memberships = check_pair(X, memberships, least)
    return X, memberships, check_centers(centers, X, memberships)


def _scatter(
    X: Rows, memberships: Rows, centers: Floats, fuzzifier: float
) -> tuple[Floats, Floats]:
    """Sums per cluster of ``u**m * d**2`` and of ``u**m``, block by block."""
    scatter, mass = np.zeros(len(centers)), np.zeros(len(centers))
    for rows in row_blocks(X.shape[0], max(centers.shape)):
        powers = dense(memberships[rows]) ** float(fuzzifier)
        mass += powers.sum(axis=0)
        scatter += (powers * squared_distances(X[rows], centers)).sum(axis=0)
    return scatter, mass
