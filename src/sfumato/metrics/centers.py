"""How compact and separate clusters around centers are: indices that are linear in the rows.

Each row belongs to its nearest center, so that one pass over the rows is enough, in memory, over a
stream or on a dask cluster.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from sfumato._checks import require_number
from sfumato._selection import indices
from sfumato.metrics._inputs import require_exponent
from sfumato.metrics._sums import DistancesFrom, ask, totals_at


def simplified_silhouette(X: Any, centers: ArrayLike, radii: ArrayLike | None = None) -> float:
    r"""Mean silhouette with distances to centers in place of rows; larger is better.

    .. math:: \frac{1}{n} \sum_{i=1}^{n} \left(1 - \frac{a_i}{b_i}\right)

    :math:`a_i` and :math:`b_i` are the distances to the nearest and the second center [1]_. It
    takes a time linear in the rows, where the plain silhouette is quadratic.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features), Stream or dask collection
        Data.
    centers : array-like of shape (n_clusters, n_features)
        At least two.
    radii : array-like of shape (n_clusters,), optional
        Radii of the clusters, such as ``cluster_radii_``. Rows beyond all of them are outliers, and
        are left out. By default, no rows are.

    Returns
    -------
    index : float
        From 0, where rows lie between two centers, to 1.

    References
    ----------
    .. [1] E. R. Hruschka, R. J. G. B. Campello, L. N. de Castro, "Evolving clusters in gene-
       expression data", Information Sciences 176, 2006.

    Examples
    --------
    >>> from sfumato.metrics import simplified_silhouette
    >>> round(simplified_silhouette([[0.0], [2.0], [9.0], [11.0]], [[1.0], [10.0]]), 4)
    0.8875
    """
    found, _, _ = totals_at(X, centers, radii)
    return indices.silhouette(found.sums)


def simplified_fuzzy_silhouette(
    X: Any,
    centers: ArrayLike,
    radii: ArrayLike | None = None,
    fuzzifier: float = 2.0,
    alpha: float = 1.0,
) -> float:
    r"""Mean simplified silhouette, clear memberships counting more; larger is better.

    .. math::
        \frac{\sum_{i=1}^{n} (u_{ip} - u_{iq})^\alpha \left(1 - a_i / b_i\right)}
        {\sum_{i=1}^{n} (u_{ip} - u_{iq})^\alpha}

    :math:`u_{ip}` and :math:`u_{iq}` are the largest and the second membership of row i under fuzzy
    c-means [1]_, and :math:`a_i` and :math:`b_i` its distances to the nearest and the second center
    [2]_. It takes a time linear in the rows, where :func:`fuzzy_silhouette` is quadratic.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features), Stream or dask collection
        Data.
    centers : array-like of shape (n_clusters, n_features)
        At least two.
    radii : array-like of shape (n_clusters,), optional
        Radii of the clusters, such as ``cluster_radii_``. Rows beyond all of them are outliers, and
        are left out. By default, no rows are.
    fuzzifier : float, default=2.0
        Exponent m > 1 of fuzzy c-means, from which memberships follow.
    alpha : float, default=1.0
        Exponent of the weights, at least 0; at 0 it is :func:`simplified_silhouette`.

    Returns
    -------
    index : float
        From 0 to 1.

    References
    ----------
    .. [1] R. J. G. B. Campello, E. R. Hruschka, "A fuzzy extension of the silhouette width
       criterion for cluster analysis", Fuzzy Sets and Systems 157, 2006.
    .. [2] E. R. Hruschka, R. J. G. B. Campello, L. N. de Castro, "Evolving clusters in gene-
       expression data", Information Sciences 176, 2006.

    Examples
    --------
    >>> from sfumato.metrics import simplified_fuzzy_silhouette
    >>> X = [[0.0], [2.0], [5.5], [9.0], [11.0]]  # The one in the middle does not count.
    >>> round(simplified_fuzzy_silhouette(X, [[1.0], [10.0]]), 4)
    0.8876
    """
    require_number("fuzzifier", fuzzifier, above=1, advice="use 2", finite=True)
    require_exponent(alpha)
    found, _, _ = totals_at(X, centers, radii, fuzzifier=float(fuzzifier), alpha=float(alpha))
    return indices.fuzzy_silhouette(found.sums)


def calinski_harabasz(X: Any, centers: ArrayLike, radii: ArrayLike | None = None) -> float:
    r"""Variance between clusters over that within them; larger is better.

    .. math:: \frac{\sum_k n_k \|b_k - \bar b\|^2 / (c - 1)}{\sum_i \|x_i - b_{k(i)}\|^2 / (n - c)}

    :math:`\bar b` is the mean of the centers, weighted by their rows [1]_. For centers that are
    means it equals scikit-learn's ``calinski_harabasz_score``.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features), Stream or dask collection
        Data.
    centers : array-like of shape (n_clusters, n_features)
        At least two.
    radii : array-like of shape (n_clusters,), optional
        Radii of the clusters, such as ``cluster_radii_``. Rows beyond all of them are outliers, and
        are left out. By default, no rows are.

    Returns
    -------
    index : float

    References
    ----------
    .. [1] T. Calinski, J. Harabasz, "A dendrite method for cluster analysis", Communications in
       Statistics 3, 1974.

    Examples
    --------
    >>> from sfumato.metrics import calinski_harabasz
    >>> calinski_harabasz([[0.0], [2.0], [9.0], [11.0]], [[1.0], [10.0]])  # 81 / (4 / 2)
    40.5
    """
    found, points, _ = totals_at(X, centers, radii)
    return indices.calinski_harabasz(found.sums, points)


def davies_bouldin(X: Any, centers: ArrayLike, radii: ArrayLike | None = None) -> float:
    r"""Mean over clusters of the worst overlap with another one; smaller is better.

    .. math:: \frac{1}{c} \sum_k \max_{l \ne k} \frac{s_k + s_l}{\|b_k - b_l\|}

    :math:`s_k` is the mean distance of the rows of cluster k to its center [1]_. Clusters without
    rows are left out. For centers that are means it equals scikit-learn's ``davies_bouldin_score``.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features), Stream or dask collection
        Data.
    centers : array-like of shape (n_clusters, n_features)
        At least two.
    radii : array-like of shape (n_clusters,), optional
        Radii of the clusters, such as ``cluster_radii_``. Rows beyond all of them are outliers, and
        are left out. By default, no rows are.

    Returns
    -------
    index : float

    References
    ----------
    .. [1] D. L. Davies, D. W. Bouldin, "A cluster separation measure", IEEE TPAMI 1979.

    Examples
    --------
    >>> from sfumato.metrics import davies_bouldin
    >>> round(davies_bouldin([[0.0], [2.0], [9.0], [11.0]], [[1.0], [10.0]]), 4)  # 2 / 9
    0.2222
    """
    found, points, _ = totals_at(X, centers, radii)
    return indices.davies_bouldin(found.sums, points)


def pbm(X: Any, centers: ArrayLike, radii: ArrayLike | None = None) -> float:
    r"""Index of Pakhira, Bandyopadhyay and Maulik; larger is better.

    .. math:: \left(\frac{1}{c} \cdot \frac{E_1}{E_c} \cdot \max_{k, l} \|b_k - b_l\|\right)^2

    :math:`E_1` is the sum of the distances of all rows to their mean, and :math:`E_c` that to
    their nearest centers [1]_. Data in chunks is read twice.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features), Stream or dask collection
        Data.
    centers : array-like of shape (n_clusters, n_features)
        At least two.
    radii : array-like of shape (n_clusters,), optional
        Radii of the clusters, such as ``cluster_radii_``. Rows beyond all of them are outliers, and
        are left out. By default, no rows are.

    Returns
    -------
    index : float

    References
    ----------
    .. [1] M. K. Pakhira, S. Bandyopadhyay, U. Maulik, "Validity index for crisp and fuzzy
       clusters", Pattern Recognition 37, 2004.

    Examples
    --------
    >>> from sfumato.metrics import pbm
    >>> pbm([[0.0], [2.0], [9.0], [11.0]], [[1.0], [10.0]])  # (18 / 4 * 9 / 2) ** 2
    410.0625
    """
    found, points, known = totals_at(X, centers, radii)
    spread = ask(X, DistancesFrom(found.mean, points, known), points)
    return indices.pbm(found.sums, points, spread.value)
