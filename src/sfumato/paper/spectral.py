"""Spectral clustering as the paper describes it: the slow kind."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.manifold import spectral_embedding
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import validate_data


class FullGraphSpectralClustering(ClusterMixin, BaseEstimator):
    """K-Means on eigenvectors of the Laplacian D - W of a graph in which all rows are connected.

    The weight of an edge is ``exp(-d^2 / (2 s^2))``, d being the distance and s the median of all.
    The paper names neither. It takes n x n numbers, and the time of an eigenvalue problem of them.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors: those of the smallest eigenvalues.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    """

    def __init__(self, n_clusters: int = 8, *, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        squared = pairwise_distances(X, metric="sqeuclidean")
        width = float(np.median(squared[np.triu_indices_from(squared, 1)])) or 1.0
        graph = np.exp(squared / (-2 * width), out=squared)
        vectors = spectral_embedding(
            graph,
            n_components=self.n_clusters,
            norm_laplacian=False,
            drop_first=False,
            random_state=self.random_state,
        )
        means = KMeans(self.n_clusters, init="random", n_init=1, random_state=self.random_state)
        self.labels_ = means.fit_predict(vectors)
        return self
