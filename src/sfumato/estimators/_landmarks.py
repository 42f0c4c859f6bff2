"""Landmark-based spectral embedding and clustering, in time linear in the number of rows."""

from __future__ import annotations

from math import ceil, log2
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from sfumato import _checks as checks
from sfumato import _validation as validation
from sfumato._checks import Auto, is_auto, require_integer, require_number
from sfumato._data import Data
from sfumato._origin import medians
from sfumato._typing import Floats
from sfumato.estimators import _landmark_graph as graph
from sfumato.estimators._documentation import DocumentedEstimator
from sfumato.exceptions import shown

# These three were chosen on the six image sets of docs/reproduction.md.
LANDMARK_LIMITS = 1000, 2000
"""Smallest and largest number of landmarks that "auto" takes, if there are as many rows."""
LANDMARKS_PER_COMPONENT = 20
"""Number of landmarks per component that "auto" takes between these limits."""
LEAST_NEIGHBORS = 3
"""Smallest number of neighbors that "auto" takes; with 2, graphs have many components."""

METHODS = ("k-means", "random")
"""Ways to choose landmarks."""


class LandmarkSpectralEmbedding(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, DocumentedEstimator
):
    r"""Spectral embedding by landmarks, in which clusters of any shape become compact.

    A bipartite graph connects each row to its nearest landmarks [1]_. Its affinity matrix ``Z`` has
    Gaussian weights that sum to one in each row. With ``D`` the diagonal matrix of the column sums,
    :math:`Z D^{-1} Z^T` is the affinity matrix of a graph between the rows, and its rows sum to
    one. Its eigenvectors are the left singular vectors of :math:`Z D^{-1/2}`, which follow from a
    square matrix of the size of the number of landmarks. Time and memory are linear in the number
    of rows.

    Parameters
    ----------
    n_components : int, default=8
        Number of coordinates, best the number of clusters. The constant vector is not among them.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks, more than ``n_components``. "auto" makes each row a landmark where
        there are at most 1000, and otherwise takes 1000, or 20 for each component up to 2000.
    n_neighbors : int or "auto", default="auto"
        Number of landmarks that a row is connected to. "auto" is the logarithm to base 2 of the
        landmarks per component, rounded up, at least 3; and one more, for the row itself, if each
        row is a landmark.
    landmarks : {"k-means", "random"}, default="k-means"
        How landmarks are chosen: centers after a few iterations of K-means, or rows drawn at
        random, which is faster and less exact.
    bandwidth : float or "auto", default="auto"
        Bandwidth s of the kernel ``exp(-distance ** 2 / (2 * s ** 2))``. "auto" is the mean
        distance of rows to the landmarks they are connected to.
    normalize : bool, default=True
        Whether to scale the rows of the embedding to length one.
    random_state : int, RandomState or None, default=None
        Seed of the landmarks; an int makes the result repeatable.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training data.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        Landmarks.
    singular_values_ : ndarray of shape (n_components,)
        Between 0 and 1, largest first. A graph of c connected components has c - 1 values of 1.
    basis_ : ndarray of shape (n_landmarks, n_components)
        Matrix from the affinities of a row to its coordinates, before normalization.
    bandwidth_, n_neighbors_ : float, int
        Values used, also if the parameter is "auto".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if ``X`` has names.

    Notes
    -----
    The paper uses 5 neighbors. Clusters stay connected if that number grows with the logarithm of
    their size [2]_, and get connected to each other if it is large, so "auto" is that logarithm:
    5 for 100 clusters and 2000 landmarks, 9 for 2 clusters and 1000.

    New rows are connected to the same landmarks, so that ``transform`` of the training data is
    ``embedding_``.

    References
    ----------
    .. [1] X. Chen, D. Cai, "Large scale spectral clustering with landmark-based representation",
       AAAI 2011.
    .. [2] M. Brito, E. Chavez, A. Quiroz, J. Yukich, "Connectivity of the mutual k-nearest-neighbor
       graph in clustering and outlier detection", Statistics & Probability Letters 35, 1997.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.pipeline import make_pipeline
    >>> from sfumato import REFCMFS, LandmarkSpectralEmbedding
    >>> from sfumato.metrics import clustering_accuracy
    >>> X, y = make_moons(400, noise=0.05, random_state=0)
    >>> plain, embedding = REFCMFS(2, random_state=0), LandmarkSpectralEmbedding(2, random_state=0)
    >>> models = plain, make_pipeline(embedding, plain)
    >>> [clustering_accuracy(y, model.fit_predict(X)) for model in models]
    [0.7725, 1.0]
    """

    def __init__(
        self,
        n_components: int = 8,
        *,
        n_landmarks: int | Auto = "auto",
        n_neighbors: int | Auto = "auto",
        landmarks: str = "k-means",
        bandwidth: float | Auto = "auto",
        normalize: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.n_neighbors = n_neighbors
        self.landmarks = landmarks
        self.bandwidth = bandwidth
        self.normalize = normalize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks, and find the coordinates of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored; for scikit-learn's conventions.

        Returns
        -------
        self : object
        """
        self._check_parameters()
        with validation.restored_on_failure(self):
            return self._fit(validation.check_fit_data(self, X, None))

    def _fit(self, data: Data) -> Self:
        """Fit to data that has been checked."""
        n_landmarks = self._count_landmarks(data.n_rows)
        n_neighbors = self._count_neighbors(data.n_rows, n_landmarks)
        rng = checks.check_random_state(self.random_state)
        landmarks = graph.choose_landmarks(data, n_landmarks, self.landmarks, rng)
        neighbors = graph.nearest_landmarks(data, landmarks, n_neighbors)
        bandwidth = self.bandwidth
        if is_auto(bandwidth):  # If all distances are 0, affinities are equal for any bandwidth.
            bandwidth = np.sqrt(neighbors.squared_distances).mean() or 1.0
        affinity = graph.affinity_matrix(neighbors, float(bandwidth), n_landmarks)
        self.singular_values_, self.basis_ = graph.spectrum(affinity, int(self.n_components))
        self.landmarks_ = landmarks
        self.bandwidth_, self.n_neighbors_ = float(bandwidth), n_neighbors
        self._n_features_out = int(self.n_components)
        self.embedding_ = self._coordinates(affinity, data.dtype)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit, and return the coordinates of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Floats:
        """Coordinates of rows, new or old.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        return self._embed(validation.check_new_data(self, X, None, self._origin()))

    def _embed(self, data: Data) -> Floats:
        """Coordinates of data that has been checked."""
        neighbors = graph.nearest_landmarks(data, self.landmarks_, self.n_neighbors_)
        affinity = graph.affinity_matrix(neighbors, self.bandwidth_, len(self.landmarks_))
        return self._coordinates(affinity, data.dtype)

    def _origin(self) -> Floats:
        """Median of the landmarks, feature by feature."""
        return medians(self.landmarks_, None)

    def _coordinates(self, affinity: sp.csr_array, dtype: np.dtype[np.floating]) -> Floats:
        """Coordinates of rows with the given affinities."""
        embedding: Floats = affinity @ self.basis_
        if self.normalize:
            length = np.linalg.norm(embedding, axis=1, keepdims=True)
            embedding /= np.where(length > 0, length, 1)
        return embedding.astype(dtype, copy=False)

    def _check_parameters(self) -> None:
        """Raise if a parameter is invalid for any data."""
        checks.check_flag("normalize", self.normalize)
        require_integer("n_components", self.n_components, least=1, advice="use e.g. 8")
        if not is_auto(self.n_landmarks):
            advice = "use e.g. 1000, or 'auto'"
            require_integer("n_landmarks", self.n_landmarks, least=2, advice=advice)
        if not is_auto(self.n_neighbors):
            advice = "use e.g. 3, or 'auto'"
            require_integer("n_neighbors", self.n_neighbors, least=1, advice=advice)
        if not is_auto(self.bandwidth):
            advice = "use a typical distance between neighbors, or 'auto'"
            require_number("bandwidth", self.bandwidth, above=0, advice=advice, finite=True)
        if not isinstance(self.landmarks, str) or self.landmarks not in METHODS:
            known = ", ".join(METHODS)
            raise ValueError(f"landmarks={shown(self.landmarks)} is not known; use one of {known}.")

    def _count_landmarks(self, n_rows: int) -> int:
        """Number of landmarks; raises if there are fewer rows, or not more than components."""
        if is_auto(self.n_landmarks):
            least, most = LANDMARK_LIMITS
            wanted = LANDMARKS_PER_COMPONENT * int(self.n_components)
            count = min(n_rows, max(least, min(wanted, most)))
        else:
            count = int(self.n_landmarks)
        if count > n_rows:
            raise ValueError(
                f"n_landmarks={count} is more than n_samples={n_rows}; use n_landmarks <= {n_rows},"
                " or 'auto'."
            )
        least = int(self.n_components) + 1
        if count < least:
            raise ValueError(
                f"n_components={self.n_components} needs at least {least} landmarks, but "
                f"there are {count}, n_landmarks={self.n_landmarks} of n_samples={n_rows}; use "
                "fewer components, or give more landmarks or rows."
            )
        return count

    def _count_neighbors(self, n_rows: int, n_landmarks: int) -> int:
        """Number of neighbors; raises if there are fewer landmarks."""
        if is_auto(self.n_neighbors):
            count = max(LEAST_NEIGHBORS, ceil(log2(n_landmarks / int(self.n_components))))
            return min(count + (n_landmarks == n_rows), n_landmarks)
        count = int(self.n_neighbors)
        if count > n_landmarks:
            raise ValueError(
                f"n_neighbors={count} is more than the {n_landmarks} landmarks; use "
                f"n_neighbors <= {n_landmarks}, or 'auto'."
            )
        return count

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LandmarkSpectralClustering(ClusterMixin, DocumentedEstimator):
    """Spectral clustering by landmarks: K-means in the landmark spectral embedding.

    Clusters are rows that a chain of near rows connects, of any shape; time is linear in the number
    of rows. For soft memberships, put :class:`LandmarkSpectralEmbedding` before :class:`REFCMFS` in
    a pipeline instead.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_components : int or None, default=None
        Number of coordinates for K-means; None is ``n_clusters``.
    n_landmarks, n_neighbors, landmarks, bandwidth, normalize
        As in :class:`LandmarkSpectralEmbedding`.
    n_init : int, default=10
        Number of starts of K-means, of which the best is kept.
    random_state : int, RandomState or None, default=None
        Seed of the landmarks and of K-means; an int makes the result repeatable.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row of the training data.
    embedder_ : LandmarkSpectralEmbedding
        Fitted embedding, with its landmarks and singular values.
    kmeans_ : sklearn.cluster.KMeans
        Fitted K-means of the embedded rows.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if ``X`` has names.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sfumato import LandmarkSpectralClustering
    >>> from sfumato.metrics import clustering_accuracy
    >>> X, y = make_circles(400, factor=0.5, noise=0.03, random_state=0)
    >>> clustering_accuracy(y, LandmarkSpectralClustering(2, random_state=0).fit_predict(X))
    1.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_components: int | None = None,
        n_landmarks: int | Auto = "auto",
        n_neighbors: int | Auto = "auto",
        landmarks: str = "k-means",
        bandwidth: float | Auto = "auto",
        normalize: bool = True,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.n_neighbors = n_neighbors
        self.landmarks = landmarks
        self.bandwidth = bandwidth
        self.normalize = normalize
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored; for scikit-learn's conventions.

        Returns
        -------
        self : object
        """
        require_integer("n_clusters", self.n_clusters, least=1, advice="use e.g. 8")
        require_integer("n_init", self.n_init, least=1, advice="use e.g. 10")
        with validation.restored_on_failure(self):
            return self._fit(X)

    def _fit(self, X: Any) -> Self:
        embedder = self._embedder()
        embedder._check_parameters()
        data = validation.check_fit_data(self, X, None)
        validation.check_enough_rows(data, int(self.n_clusters))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(embedder, name, getattr(self, name))
        embedder._fit(data)
        n_clusters, n_init = int(self.n_clusters), int(self.n_init)
        kmeans = KMeans(n_clusters, n_init=n_init, random_state=self.random_state)
        self.labels_: NDArray[np.int32] = kmeans.fit_predict(embedder.embedding_)
        self.embedder_, self.kmeans_ = embedder, kmeans
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Cluster of each row, new or old.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        data = validation.check_new_data(self, X, None, self.embedder_._origin())
        return self.kmeans_.predict(self.embedder_._embed(data))

    def _embedder(self) -> LandmarkSpectralEmbedding:
        """Embedding for K-means, not fitted."""
        names = set(LandmarkSpectralEmbedding().get_params())
        shared = {name: value for name, value in self.get_params().items() if name in names}
        if self.n_components is None:
            shared["n_components"] = int(self.n_clusters)
        return LandmarkSpectralEmbedding(**shared)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
