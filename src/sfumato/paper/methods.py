"""The compared methods: to add one, add an entry to ``METHODS``.

Every method makes one start per run, unless its name states another number, so that no method has
more tries. ``how`` states what was chosen here where the paper does not specify it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.manifold import spectral_embedding
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import validate_data

from sfumato.estimators import (
    REFCMFS,
    RSFKM,
    FuzzyCMeans,
    KMedoids,
    LandmarkSpectralClustering,
    LandmarkSpectralEmbedding,
    SimREFCMFS,
)

FUZZIFIER = 1.1
"""Fuzzifier r of all results in the paper."""
MIXED_COMPONENTS = 30
"""Principal components for the Gaussian mixture. Chosen by hand: a covariance of 1,024 features has
half a million numbers, one of 30 some five hundred."""


@dataclass(frozen=True)
class Task:
    """Parameters of a run, which never depend on the labels."""

    n_clusters: int
    seed: int
    n_active: int
    fuzzifier: float = FUZZIFIER
    starts: int = 1


@dataclass(frozen=True)
class Method:
    """A row of the tables.

    Parameters
    ----------
    make : callable
        Takes a Task and returns an unfitted scikit-learn clusterer.
    how : str
        How it is set, for the reader of the tables.
    printed : str or None
        Name of its row in the paper.
    random : bool
        Whether another seed gives another result.
    """

    make: Callable[[Task], BaseEstimator]
    how: str
    printed: str | None = None
    random: bool = True


def _one(model: type, task: Task, **others: Any) -> BaseEstimator:
    """Model with one start, in one thread, from the seed of the task."""
    options = {"n_init": 1, "n_threads": 1, "random_state": task.seed} | others
    return model(task.n_clusters, **options)


def _embedded(task: Task) -> BaseEstimator:
    embedding = LandmarkSpectralEmbedding(task.n_clusters, random_state=task.seed)
    clustering = REFCMFS(task.n_clusters, n_threads=1, random_state=task.seed)
    return make_pipeline(embedding, clustering)


class SelfTuningSpectralClustering(ClusterMixin, BaseEstimator):
    """K-Means on eigenvectors of a graph of nearest neighbors, whose weights tune themselves [1]_.

    The weight of an edge is ``exp(-d^2 / (s_i s_j))``, d being the distance of two rows, and s the
    distance of each to its last neighbor. The paper specifies neither graph nor weights.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors: those of the smallest eigenvalues of the
        normalized Laplacian, with rows scaled to length one.
    n_neighbors : int, default=7
        Edges of a row, and the neighbor that sets its scale, as in [1]_.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)

    References
    ----------
    .. [1] L. Zelnik-Manor, P. Perona, "Self-tuning spectral clustering", NIPS 2004.
    """

    def __init__(
        self, n_clusters: int = 8, *, n_neighbors: int = 7, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
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
        vectors = spectral_embedding(
            self._graph(X),
            n_components=self.n_clusters,
            norm_laplacian=True,
            drop_first=False,
            random_state=self.random_state,
        )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(lengths > 0, lengths, 1)
        means = KMeans(self.n_clusters, n_init=1, random_state=self.random_state)
        self.labels_ = means.fit_predict(vectors)
        return self

    def _graph(self, X: Any) -> sp.csr_array:
        """Weights of the edges, symmetric."""
        count = min(self.n_neighbors, len(X) - 1)
        distances, neighbors = NearestNeighbors(n_neighbors=count).fit(X).kneighbors()
        scales = distances[:, -1]
        products = scales[:, None] * scales[neighbors]
        with np.errstate(divide="ignore", invalid="ignore"):  # Rows that coincide have weight 1.
            weights = np.where(distances > 0, np.exp(-(distances**2) / products), 1.0)
        rows = np.arange(0, weights.size + 1, count, dtype=np.int32)
        graph = sp.csr_array((weights.ravel(), neighbors.ravel().astype(np.int32), rows))
        graph.resize(len(X), len(X))
        return graph.maximum(graph.T)


def _unit_variance(X: Any) -> Any:
    return X / np.sqrt(X.var(axis=0).mean())


def _mixture(task: Task) -> BaseEstimator:
    return make_pipeline(
        FunctionTransformer(_unit_variance),
        PCA(MIXED_COMPONENTS, random_state=task.seed),
        GaussianMixture(task.n_clusters, reg_covar=1.0, random_state=task.seed),
    )


METHODS: dict[str, Method] = {
    "K-Means": Method(
        lambda t: KMeans(t.n_clusters, init="random", n_init=1, random_state=t.seed),
        "scikit-learn's KMeans from random rows",
        "K-Means",
    ),
    "K-Means++": Method(
        lambda t: KMeans(t.n_clusters, init="k-means++", n_init=1, random_state=t.seed),
        "scikit-learn's KMeans from greedy k-means++ seeds",
        "K-Means++",
    ),
    "K-Medoids": Method(
        lambda t: KMedoids(t.n_clusters),
        "Park and Jun's iteration from their seeds, which are always the same",
        "K-Medoids",
        random=False,
    ),
    "GMM": Method(
        _mixture,
        "scikit-learn's GaussianMixture on 30 principal components, with full covariances to whose "
        "diagonal the mean variance of a feature is added; where a cluster has some ten rows it "
        "hardly moves from its start, which is K-Means++",
        "GMM",
    ),
    "SC": Method(
        lambda t: SelfTuningSpectralClustering(t.n_clusters, random_state=t.seed),
        "graph of 7 nearest neighbors with self-tuning Gaussian weights, eigenvectors of the "
        "normalized Laplacian, K-Means",
        "SC",
    ),
    "LSC": Method(
        lambda t: LandmarkSpectralClustering(t.n_clusters, n_init=1, random_state=t.seed),
        "landmarks by K-Means, or all rows where there are up to 1,000, and a number of neighbors "
        "that grows with the landmarks per cluster; K-Means on the embedded rows",
        "LSC",
    ),
    "FCM": Method(
        lambda t: _one(FuzzyCMeans, t, fuzzifier=2.0, init="random"),
        "r = 2, from random rows",
        "FCM",
    ),
    "RSFKM": Method(lambda t: _one(RSFKM, t), "L2,1 loss, gamma read off the data", "RSFKM"),
    "RSFKM (capped)": Method(
        lambda t: _one(RSFKM, t, loss="capped"), "capped loss, cap and gamma read off the data"
    ),
    "sim-REFCMFS": Method(
        lambda t: _one(SimREFCMFS, t, n_active=t.n_active, fuzzifier=t.fuzzifier),
        "K~ and r as the paper chose them",
        "sim-REFCMFS",
    ),
    "REFCMFS": Method(
        lambda t: _one(REFCMFS, t, n_active=t.n_active, fuzzifier=t.fuzzifier, n_init=t.starts),
        "K~ and r as the paper chose them",
        "REFCMFS",
    ),
    "REFCMFS (10 starts)": Method(
        lambda t: _one(REFCMFS, t, n_active=t.n_active, fuzzifier=t.fuzzifier, n_init="auto"),
        "the same; of ten starts, the one of lowest objective",
        "REFCMFS",
    ),
    "LandmarkSpectralEmbedding + REFCMFS": Method(
        _embedded, "K~ and r read off the embedded rows; ten starts", "REFCMFS"
    ),
}
