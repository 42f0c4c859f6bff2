"""The compared methods, by name: what each finds on some rows.

Every method knows the number of clusters. Those of ``references.py`` know the share of outliers
besides, which is unknown for real data; the page states it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.ensemble import IsolationForest
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor

import sfumato
from benchmarks.robustness.references import (
    best_noise_clustering,
    best_trimmed_k_means,
    neighbor_k_means,
)

OURS = "CappedREFCMFS"
PLAIN = "REFCMFS"
"""Method that ours must not be worse than on clean data."""
SPHERICAL = 50
"""Features from which on a mixture has one variance per component; below, full covariances."""
SMALLEST = 0.05
"""Smallest cluster for HDBSCAN, as a share of the mean one; half of the smallest of ours."""
DENSE_TREES = 20
"""Features above which trees do not help HDBSCAN, and all distances are computed."""
MANY_VALUES = 2_000_000
"""Rows times features above which methods with many starts have a third of them."""
NOISE_LABEL = -1
"""Label of outliers, in scikit-learn."""


@dataclass
class Task:
    """Input of a method."""

    X: np.ndarray
    n_clusters: int
    seed: int
    share: float
    """Share of outliers; only for the methods of ``references.py``."""

    def starts(self, number: int) -> int:
        """Number of starts for data of this size."""
        return number if self.X.size <= MANY_VALUES else max(1, number // 3)


@dataclass
class Found:
    """Result of a method; None for what it does not provide."""

    labels: np.ndarray | None = None
    centers: np.ndarray | None = None
    scores: np.ndarray | None = None
    """Larger for outliers."""
    outliers: np.ndarray | None = None
    """Mask at the default threshold."""


def around(task: Task, centers: np.ndarray, **others: np.ndarray) -> Found:
    """Nearest centers as labels, and distances to them as scores."""
    labels, distances = pairwise_distances_argmin_min(task.X, centers)
    return Found(**{"labels": labels, "centers": centers, "scores": distances, **others})


def k_means(task: Task) -> Found:
    model = KMeans(task.n_clusters, n_init=task.starts(10), random_state=task.seed).fit(task.X)
    return around(task, model.cluster_centers_)


def fuzzy_c_means(task: Task) -> Found:
    model = sfumato.FuzzyCMeans(
        task.n_clusters, fuzzifier=2.0, random_state=task.seed, n_threads=1
    ).fit(task.X)
    return around(task, model.cluster_centers_)


def refcmfs(task: Task) -> Found:
    model = sfumato.REFCMFS(task.n_clusters, random_state=task.seed, n_threads=1).fit(task.X)
    return around(task, model.cluster_centers_)


def capped(task: Task) -> Found:
    model = sfumato.CappedREFCMFS(task.n_clusters, random_state=task.seed, n_threads=1).fit(task.X)
    return Found(model.labels_, model.cluster_centers_, model.outlier_scores_, model.outliers_)


def mixture(task: Task) -> Found:
    """Floor of the variances: that of a hundredth of the middle half of all values."""
    low, high = np.percentile(task.X - np.median(task.X, axis=0), [25, 75])
    model = GaussianMixture(
        task.n_clusters,
        covariance_type="spherical" if task.X.shape[1] >= SPHERICAL else "full",
        reg_covar=max(1e-6, (0.01 * (high - low)) ** 2),
        n_init=task.starts(3),
        random_state=task.seed,
    ).fit(task.X)
    return Found(model.predict(task.X), model.means_, -model.score_samples(task.X))


def trimmed_k_means(task: Task) -> Found:
    number = task.starts(50)
    found = best_trimmed_k_means(task.X, task.n_clusters, task.share, task.seed, number)
    return around(task, found.centers, outliers=~found.kept)


def k_means_without_far_neighbors(task: Task) -> Found:
    found = neighbor_k_means(task.X, task.n_clusters, task.share, task.seed, task.starts(10))
    return around(task, found.centers, outliers=~found.kept)


def noise_clustering(task: Task) -> Found:
    number = task.starts(10)
    found = best_noise_clustering(task.X, task.n_clusters, task.share, task.seed, number)
    return around(task, found.centers, outliers=found.labeled)


def hdbscan(task: Task) -> Found:
    """Noise is a label of its own, -1; scores are one minus the strengths of membership."""
    n_samples, n_features = task.X.shape
    model = HDBSCAN(
        min_cluster_size=max(5, round(SMALLEST * n_samples / task.n_clusters)),
        algorithm="brute" if n_features > DENSE_TREES else "auto",
        copy=True,
    ).fit(task.X)
    return Found(
        model.labels_, scores=1 - model.probabilities_, outliers=model.labels_ == NOISE_LABEL
    )


def isolation_forest(task: Task) -> Found:
    model = IsolationForest(random_state=task.seed).fit(task.X)
    scores = -model.score_samples(task.X)
    return Found(scores=scores, outliers=scores > -model.offset_)


def local_outlier_factor(task: Task) -> Found:
    model = LocalOutlierFactor(n_neighbors=20)
    outliers = model.fit_predict(task.X) == NOISE_LABEL
    return Found(scores=-model.negative_outlier_factor_, outliers=outliers)


@dataclass(frozen=True)
class Peer:
    """A method, and what it provides."""

    fit: Callable[[Task], Found]
    how: str
    clusters: bool = True
    """Whether it clusters; the others only give scores."""
    centers: bool = True


PEERS: dict[str, Peer] = {
    OURS: Peer(capped, "`sfumato.CappedREFCMFS`, as it comes"),
    "K-Means": Peer(k_means, "scikit-learn's `KMeans(n_init=10)`"),
    "FCM": Peer(fuzzy_c_means, "`sfumato.FuzzyCMeans`, r = 2"),
    PLAIN: Peer(refcmfs, "`sfumato.REFCMFS`, as it comes"),
    "GMM": Peer(
        mixture,
        "scikit-learn's `GaussianMixture(n_init=3)`: full covariances, and spherical ones from "
        f"{SPHERICAL} features on; scores are minus the log-likelihood",
    ),
    "trimmed k-means": Peer(
        trimmed_k_means, "reference version, best of 100 starts; **told the share of outliers**"
    ),
    "KNN k-means": Peer(
        k_means_without_far_neighbors,
        "Jiang and Zhou's (arXiv 2605.07130), reference version: the rows whose neighbors are "
        "farthest are left out, then `KMeans(n_init=10)`; **told the share of outliers**",
    ),
    "noise clustering": Peer(
        noise_clustering,
        "Davé's, reference version, r = 1 + 2/d, 20 starts for each of four lambdas; **told the "
        "share of outliers**, as it takes the lambda that comes nearest to it",
    ),
    "HDBSCAN": Peer(
        hdbscan,
        "scikit-learn's, `min_cluster_size` a twentieth of the mean size; what it calls noise "
        "counts as one more cluster; scores are one minus its probabilities",
        centers=False,
    ),
    "IsolationForest": Peer(isolation_forest, "scikit-learn's; scores only", False, False),
    "LOF": Peer(
        local_outlier_factor,
        "scikit-learn's `LocalOutlierFactor(n_neighbors=20)`; scores only",
        False,
        False,
    ),
}
