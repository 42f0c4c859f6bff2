"""Scorers for searches over parameters without labels, such as scikit-learn's ``GridSearchCV``.

Objectives do not compare between numbers of clusters, losses, fuzzifiers or caps. What does:

- ``estimator.score``, the mean log-density of rows under clusters and outliers, which a search uses
  by default: all parameters;
- :func:`bic_scorer`: ``n_clusters`` and ``cap``, and it can prefer one cluster;
- :func:`silhouette_scorer`: ``n_clusters`` and ``cap``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.metrics.centers import simplified_silhouette
from sfumato.metrics.criteria import bic_and_weight


def silhouette_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """Mean simplified silhouette of all rows, where that of an outlier is 0; 0 for one cluster.

    Outliers count, so that a cluster that is left out as outliers is a loss. It sees centers and
    outliers, so it compares ``n_clusters`` and ``cap``; for ``fuzzifier`` and ``n_active``, which
    say how soft memberships are, use ``estimator.score``.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like or CSR of shape (n_samples, n_features)
    y : None
        Ignored.

    Returns
    -------
    score : float
        From 0 to 1; larger is better.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sfumato import REFCMFS
    >>> from sfumato.metrics import silhouette_scorer
    >>> corners = 9 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> X = np.random.RandomState(0).normal(size=(300, 2)) + corners[np.arange(300) % 4]
    >>> grid = {"n_clusters": [2, 3, 4, 5, 6]}
    >>> search = GridSearchCV(REFCMFS(random_state=0), grid, scoring=silhouette_scorer, cv=3)
    >>> search.fit(X).best_params_
    {'n_clusters': 4}
    """
    labels = np.asarray(estimator.predict(X, mark_outliers=True))
    inside = labels >= 0
    used = np.unique(labels[inside])
    if len(used) < 2:
        return 0.0
    rows = X[inside] if hasattr(X, "shape") else np.asarray(X)[inside]
    index = simplified_silhouette(rows, estimator.cluster_centers_[used])
    return index * float(inside.mean())


def bic_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """Bayesian information criterion with outliers, per row (:func:`~sfumato.metrics.robust_bic`).

    It sees centers and radii, so it compares ``n_clusters`` and ``cap``; for ``fuzzifier`` and
    ``n_active``, which say how soft memberships are, use ``estimator.score``.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like or CSR of shape (n_samples, n_features), Stream or dask collection
    y : None
        Ignored.

    Returns
    -------
    score : float
        Larger is better.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sfumato import CappedREFCMFS
    >>> from sfumato.metrics import bic_scorer
    >>> X = np.random.RandomState(0).normal(size=(300, 2))
    >>> grid = {"n_clusters": [1, 2, 3, 4]}
    >>> search = GridSearchCV(CappedREFCMFS(random_state=0), grid, scoring=bic_scorer, cv=3)
    >>> search.fit(X).best_params_
    {'n_clusters': 1}
    """
    radii = estimator.cluster_radii_
    value, weight = bic_and_weight(X, estimator.cluster_centers_, radii, common=False)
    return value / weight
