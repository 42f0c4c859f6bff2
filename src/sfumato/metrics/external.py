"""How well a clustering agrees with known classes, each measure with its citation."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from sfumato.exceptions import brief, shown

Average: TypeAlias = Literal["arithmetic", "geometric", "max", "min"]
"""Mean of two entropies, by the names of scikit-learn."""


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    r"""Share of rows whose cluster is the one matched with their class (ACC).

    Clusters have no names of their own, so each is matched with at most one class, and each class
    with at most one cluster, such that as many rows as possible agree [1]_:

    .. math:: \mathrm{ACC} = \frac{1}{n} \max_\pi \sum_{i=1}^{n} [\pi(\hat y_i) = y_i]

    The best one-to-one matching :math:`\pi` is found by the Hungarian method. Where there are more
    clusters than classes, rows of the clusters left over count as wrong, and the other way round.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, numbers or text.
    labels_pred : array-like of shape (n_samples,)
        Clusters, numbers or text; their names and number need not be those of the classes.

    Returns
    -------
    accuracy : float
        Between 0 and 1; 1 if the two agree up to renaming.

    References
    ----------
    .. [1] H. W. Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics
       Quarterly 2, 1955.

    Examples
    --------
    >>> from sfumato.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [7, 7, 3, 7])
    0.75
    """
    _require_rows(labels_true, labels_pred)
    shared = contingency_matrix(labels_true, labels_pred)
    matched = linear_sum_assignment(shared, maximize=True)
    return float(shared[matched].sum() / shared.sum())


def nmi(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, average: Average = "arithmetic"
) -> float:
    r"""Mutual information of classes and clusters, as a share of their mean entropy (NMI).

    .. math:: \mathrm{NMI} = \frac{I(y; \hat y)}{\operatorname{mean}(H(y), H(\hat y))}

    The value and the default mean are those of
    ``sklearn.metrics.normalized_mutual_info_score``. The paper of REFCMFS divides by the larger
    entropy, ``average="max"``. All four means are in use [1]_, so state the mean with
    the value.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, numbers or text.
    labels_pred : array-like of shape (n_samples,)
        Clusters, numbers or text; their names and number need not be those of the classes.
    average : {"arithmetic", "geometric", "max", "min"}, default="arithmetic"
        Mean of the two entropies. "max" gives the smallest value, "min" the largest.

    Returns
    -------
    nmi : float
        Between 0, where classes and clusters are independent, and 1, where they agree up to
        renaming.

    References
    ----------
    .. [1] N. X. Vinh, J. Epps, J. Bailey, "Information theoretic measures for clusterings
       comparison", Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> from sfumato.metrics import nmi
    >>> labels_true, labels_pred = ["a", "a", "b", "b"], [7, 7, 3, 7]
    >>> round(nmi(labels_true, labels_pred), 3)
    0.344
    >>> round(nmi(labels_true, labels_pred, average="max"), 3)
    0.311
    """
    _require_rows(labels_true, labels_pred)
    if not isinstance(average, str) or average not in get_args(Average):
        raise ValueError(f"average={shown(average)} is not a mean; use one of {get_args(Average)}.")
    return float(normalized_mutual_info_score(labels_true, labels_pred, average_method=average))


def ari(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    r"""Pairs of rows on which classes and clusters agree, compared with chance (ARI).

    With :math:`n_{jk}` rows of class j in cluster k, and sums :math:`a_j` and :math:`b_k` over
    clusters and classes [1]_,

    .. math::
        \mathrm{ARI} = \frac{S - E}{\tfrac{1}{2} (A + B) - E}, \quad
        S = \sum_{jk} \binom{n_{jk}}{2}, \; A = \sum_j \binom{a_j}{2}, \;
        B = \sum_k \binom{b_k}{2}, \; E = A B / \binom{n}{2}

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Known classes, numbers or text.
    labels_pred : array-like of shape (n_samples,)
        Clusters, numbers or text; their names and number need not be those of the classes.

    Returns
    -------
    ari : float
        At most 1, where the two agree up to renaming; about 0 for clusters drawn at random, and
        below 0, down to -0.5, for those that agree less.

    References
    ----------
    .. [1] L. Hubert, P. Arabie, "Comparing partitions", Journal of Classification 2, 1985.

    Examples
    --------
    >>> from sfumato.metrics import ari
    >>> ari(["a", "a", "b", "b"], [7, 7, 3, 3])
    1.0
    >>> ari(["a", "a", "b", "b"], [7, 3, 7, 3])
    -0.5
    """
    _require_rows(labels_true, labels_pred)
    return float(adjusted_rand_score(labels_true, labels_pred))


def _require_rows(labels_true: ArrayLike, labels_pred: ArrayLike) -> None:
    """Raise unless there is a class and a cluster for each of the same rows."""
    try:
        classes, clusters = np.shape(labels_true), np.shape(labels_pred)
    except ValueError as error:
        raise ValueError(
            f"labels_true or labels_pred makes no array ({brief(error)}); give one class and one "
            "cluster for each row."
        ) from error
    if classes != clusters or len(classes) != 1 or classes == (0,):
        raise ValueError(
            f"labels_true has shape {classes} and labels_pred has shape {clusters}; give one class "
            "and one cluster for each of the same rows, at least one."
        )
