"""Criteria of a number of clusters that can prefer one: BIC, gap and stability.

Each takes the data and the centers of a fit. To compare numbers of clusters, fit each of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato._checks import check_flag, check_random_state, require_integer
from sfumato._selection import indices
from sfumato._selection.resampling import Gap, gap, log_dispersion, uniform_dispersions
from sfumato.metrics._sums import TableOf, ask, check_points, totals_at

MOST_REFERENCES = 1000
"""Uniform references at most. Chosen by hand: their error falls with the root of their number."""


def robust_bic(
    X: Any, centers: ArrayLike, radii: ArrayLike | None = None, *, common_width: bool = False
) -> float:
    r"""Bayesian information criterion with a component of outliers; larger is better.

    .. math::
        \sum_{k=1}^{c} n_k \left(\log\frac{n_k}{n} - \frac{d}{2}\log(2 \pi s_k^2)
        - \frac{d}{2}\right) + n_0 \left(\log\frac{n_0}{n} - \log V\right) - \frac{p}{2} \log n

    Each of the :math:`n_k` rows of a cluster follows a spherical Gaussian of variance :math:`s_k^2`
    in each of the d columns, and the :math:`n_0` outliers are uniform over the bounding box, of
    volume V [1]_. Rows belong to one cluster, as in the classification likelihood [2]_, so that one
    pass is enough. There are p parameters. It is half of the usual value, with the opposite sign.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features), Stream or dask collection
        Data.
    centers : array-like of shape (n_clusters, n_features)
        At least one.
    radii : array-like of shape (n_clusters,), optional
        Radii of the clusters, such as ``cluster_radii_``. Rows beyond all of them are outliers. By
        default, there is no component of outliers.
    common_width : bool, default=False
        Whether all clusters have the same variance.

    Returns
    -------
    criterion : float
        As a log-likelihood; infinite if all rows lie on centers.

    Notes
    -----
    A variance of its own counts one row of the common variance more than the cluster has, so that a
    cluster of one row has a width.

    References
    ----------
    .. [1] C. Fraley, A. E. Raftery, "Model-based clustering, discriminant analysis, and density
       estimation", JASA 2002.
    .. [2] C. Biernacki, G. Celeux, G. Govaert, "Assessing a mixture model for clustering with the
       integrated completed likelihood", IEEE TPAMI 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import CappedREFCMFS
    >>> from sfumato.metrics import robust_bic
    >>> X = np.random.RandomState(0).normal(size=(300, 2)) + 9 * np.eye(3, 2)[np.arange(300) % 3]
    >>> fits = [CappedREFCMFS(k, random_state=0).fit(X) for k in range(1, 6)]
    >>> values = [robust_bic(X, fit.cluster_centers_, fit.cluster_radii_) for fit in fits]
    >>> 1 + int(np.argmax(values))
    3
    """
    return bic_and_weight(X, centers, radii, check_flag("common_width", common_width))[0]


def bic_and_weight(X: Any, centers: Any, radii: Any, common: bool) -> tuple[float, float]:
    """Criterion of :func:`robust_bic`, and the weight of all rows."""
    found, points, known = totals_at(X, centers, radii, least=1)
    volume = None if known is None else found.everything.log_volume
    value = indices.bic(found.sums, points.shape[1], volume, common)
    return value, found.sums.total + found.sums.outliers


def gap_statistic(
    X: Any,
    centers: ArrayLike,
    radii: ArrayLike | None = None,
    *,
    n_references: int = 10,
    random_state: Any = None,
) -> Gap:
    r"""How much less dispersed clusters are than those of uniform rows; larger is better.

    .. math:: \frac{1}{B} \sum_{b=1}^{B} \log W_b - \log W

    W is the mean squared distance to the nearest center, and :math:`W_b` that of rows drawn
    uniformly from the bounding box, in as many hard clusters [1]_. With radii, outliers count
    neither in W nor for the box: so they do not move the null.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features), Stream or dask collection
        Data.
    centers : array-like of shape (n_clusters, n_features)
        At least one.
    radii : array-like of shape (n_clusters,), optional
        Radii of the clusters, such as ``cluster_radii_``. Rows beyond all of them are outliers, and
        are left out. By default, no rows are.
    n_references : int, default=10
        Uniform references, of at most 500 rows each; 1000 of them at most.
    random_state : int, RandomState or None, default=None
        Seed of the references; None is like 0.

    Returns
    -------
    gap : Gap
        ``value``, and ``error``, the standard error of the references. Its authors take the
        smallest number whose value is at least that of the next one less its error.

    References
    ----------
    .. [1] R. Tibshirani, G. Walther, T. Hastie, "Estimating the number of clusters in a data set
       via the gap statistic", Journal of the Royal Statistical Society B 63, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.metrics import gap_statistic
    >>> X = np.random.RandomState(0).normal(size=(300, 2)) + 9 * (np.arange(300) % 2)[:, None]
    >>> gap_statistic(X, [[0, 0], [9, 9]]).value > gap_statistic(X, [[4.5, 4.5]]).value + 1
    True
    """
    require_integer("n_references", n_references, least=1, most=MOST_REFERENCES, advice="use 10")
    rng = check_random_state(0 if random_state is None else random_state)
    found, points, _ = totals_at(X, centers, radii, least=1)
    sums, count = found.sums, len(points)
    references = uniform_dispersions(found.inside, [count], int(sums.total), n_references, rng)
    dispersion = log_dispersion(float(sums.squares.sum()), sums.total, count)
    return gap(dispersion, references[:, 0])


def prediction_strength(X: Any, centers: ArrayLike, training_centers: ArrayLike) -> float:
    r"""Least share of the pairs of rows of a cluster that centers of other rows keep together.

    .. math::
        \min_k \frac{1}{n_k (n_k - 1)} \sum_{i \ne j \in A_k} [i \text{ and } j \text{ have the same
        nearest training center}]

    :math:`A_k` are the :math:`n_k` rows of X nearest to center k. Centers are those of a fit to X,
    and training centers those of a fit to other rows, such as another half of the data [1]_. The
    table of rows by both is enough, so that it takes a time linear in the rows.

    Parameters
    ----------
    X : array-like or CSR of shape (n_samples, n_features), Stream or dask collection
        Data.
    centers : array-like of shape (n_clusters, n_features)
        Centers of a fit to X.
    training_centers : array-like of shape (n_clusters, n_features)
        Centers of a fit to other rows.

    Returns
    -------
    strength : float
        From 0 to 1; larger is better. Its authors take the largest number of clusters with at least
        0.8 to 0.9. One cluster has 1.

    References
    ----------
    .. [1] R. Tibshirani, G. Walther, "Cluster validation by prediction strength", Journal of
       Computational and Graphical Statistics 14, 2005.

    Examples
    --------
    >>> from sfumato.metrics import prediction_strength
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0]]
    >>> prediction_strength(X, [[1.0], [10.5]], [[0.9], [10.2]])
    1.0
    >>> round(prediction_strength(X, [[1.0], [10.5]], [[1.4], [11.0], [0.1]]), 4)  # 2 and 1 of 3.
    0.3333
    """
    points = check_points(centers, 1)
    others = check_points(training_centers, 1, name="training_centers")
    if points.shape[1] != others.shape[1]:
        raise ValueError(
            f"centers has {points.shape[1]} columns and training_centers {others.shape[1]}; give "
            "centers of the same columns."
        )
    table = ask(X, TableOf(points, others), np.vstack([points, others]))
    return indices.prediction_strength(table.value)
