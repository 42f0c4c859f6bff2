"""Short reference versions of three robust clusterings that no common library has.

They follow their papers and are not tuned for speed. All get what a user would not have: trimmed
k-means and k-means without far neighbors the share of outliers, and noise clustering the distance
whose share of noise fits best.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

MAX_ITER = 100
SHORT, KEPT = 3, 3
"""Iterations that all starts have, and how many of them then run to the end."""
NOISE_TOL = 1e-4
"""Movement of the centers, over their spread, at which noise clustering stops."""
NOISE_RATIOS = (0.05, 0.2, 0.5, 1.0)
"""Values of lambda, from Davé's own upwards: in high dimension distances concentrate, and all rows
would be noise at 0.05."""


def starts(X, n_clusters, seed, number):
    """Starting centers, in turn k-means++ and random rows: seeds of the former are often outliers.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    number : int
        How many of each kind.

    Yields
    ------
    centers : ndarray of shape (n_clusters, n_features)
    """
    rng = np.random.RandomState(seed)
    for _ in range(number):
        yield kmeans_plusplus(X, n_clusters, random_state=rng)[0]
        yield X[rng.choice(len(X), n_clusters, replace=False)]


def best_of(descend, begun):
    """Lowest objective of many starts, of which only those that begin well run to the end.

    So does tclust, the usual program for trimmed k-means: H. Fritz, L. A. García-Escudero,
    A. Mayo-Iscar, "A fast algorithm for robust constrained clustering", Computational Statistics &
    Data Analysis 61, 2013.

    Parameters
    ----------
    descend : callable
        Of a start and ``max_iter``.
    begun : iterable of ndarray of shape (n_clusters, n_features)
    """

    def objective(found):
        return found.objective

    short = sorted((descend(start, max_iter=SHORT) for start in begun), key=objective)
    return min((descend(each.centers, max_iter=MAX_ITER) for each in short[:KEPT]), key=objective)


@dataclass
class Trimmed:
    """What trimmed k-means found."""

    centers: np.ndarray
    kept: np.ndarray
    """Mask of shape (n_samples,); the others were trimmed."""
    objective: float


def trimmed_k_means(X, start, share, max_iter=MAX_ITER):
    """Alternate between keeping the rows nearest to their centers and averaging those.

    Minimizes the sum of squared distances over centers and over subsets of ``(1 - share) * n`` rows
    [1]_, by the concentration steps of [2]_. It is **told the share** of rows to trim. A center
    without rows stays where it is.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    start : ndarray of shape (n_clusters, n_features)
    share : float
        Of the rows, to be trimmed.

    Returns
    -------
    trimmed : Trimmed

    References
    ----------
    .. [1] J. A. Cuesta-Albertos, A. Gordaliza, C. Matrán, "Trimmed k-means: an attempt to robustify
       quantizers", Annals of Statistics 25(2), 1997.
    .. [2] L. A. García-Escudero, A. Gordaliza, C. Matrán, "Trimming tools in exploratory data
       analysis", Journal of Computational and Graphical Statistics 12(2), 2003.
    """
    centers = np.array(start, dtype=float)
    n_kept = len(X) - round(share * len(X))
    before = None
    for _ in range(max_iter):
        sq_dist = euclidean_distances(X, centers, squared=True)
        labels = sq_dist.argmin(axis=1)
        nearest = sq_dist.min(axis=1)
        kept = np.argsort(nearest, kind="stable")[:n_kept]
        assigned = np.full(len(X), -1)
        assigned[kept] = labels[kept]
        if before is not None and np.array_equal(assigned, before):
            break
        before = assigned
        for k in np.unique(labels[kept]):
            centers[k] = X[assigned == k].mean(axis=0)
    return Trimmed(centers, assigned >= 0, float(nearest[kept].sum()))


def best_trimmed_k_means(X, n_clusters, share, seed, number):
    """Best of twice as many starts as ``number``."""

    def descend(start, max_iter):
        return trimmed_k_means(X, start, share, max_iter)

    return best_of(descend, starts(X, n_clusters, seed, number))


def neighbor_k_means(X, n_clusters, share, seed, number):
    """K-means of the rows that are left without those whose neighbors are farthest [1]_.

    With z outliers, the z rows with the largest distance to their 2z-th neighbor are left out. The
    paper assumes clusters of more than 2z rows. Where the average one has less, the neighbor is
    that of half an average cluster: otherwise the neighbors of every row would be in several
    clusters. It is **told the share** of outliers.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    share : float
        Of the rows, to be left out.
    number : int
        Starts of k-means.

    Returns
    -------
    trimmed : Trimmed

    References
    ----------
    .. [1] T. Jiang, Y. Zhou, "Simple KNN-based outlier detection achieves robust clustering",
       arXiv 2605.07130, 2026.
    """
    kept = np.ones(len(X), dtype=bool)
    n_outliers = round(share * len(X))
    if n_outliers:
        half = (len(X) - n_outliers) // (2 * n_clusters)
        neighbors = max(1, min(2 * n_outliers, half))
        farthest = NearestNeighbors(n_neighbors=neighbors).fit(X).kneighbors()[0][:, -1]
        kept[np.argsort(-farthest, kind="stable")[:n_outliers]] = False
    model = KMeans(n_clusters, n_init=number, random_state=seed).fit(X[kept])
    return Trimmed(model.cluster_centers_, kept, float(model.inertia_))


@dataclass
class Noise:
    """What noise clustering found."""

    centers: np.ndarray
    noise: np.ndarray
    """Membership of each row in the noise cluster, of shape (n_samples,)."""
    labeled: np.ndarray
    """Mask of the rows for which the noise cluster is the largest membership."""
    objective: float


def noise_memberships(sq_dist, sq_delta, fuzzifier):
    """Memberships in the clusters, and in the noise cluster at distance delta as the last column.

    ``u_ik`` is in proportion to ``(d_ik ** 2) ** (-1 / (m - 1))``, with ``d_i* = delta`` for all.
    """
    with np.errstate(divide="ignore"):  # A row on a center: its membership is one.
        logs = np.log(np.column_stack([sq_dist, np.full(len(sq_dist), sq_delta)]))
    return softmax(-np.maximum(logs, -600.0) / (fuzzifier - 1), axis=1)


def noise_clustering(
    X, start, *, ratio=0.05, delta=None, fuzzifier=2.0, max_iter=MAX_ITER, tol=NOISE_TOL
):
    """Fuzzy c-means with one more cluster, whose distance to every row is delta [1]_.

    Minimizes ``sum_ik u_ik ** m * d_ik ** 2 + sum_i u_i* ** m * delta ** 2``. Unless it is given,
    ``delta ** 2`` is ``ratio`` times the mean of all ``d_ik ** 2``, estimated anew in each
    iteration; the ratio is lambda in the paper.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    start : ndarray of shape (n_clusters, n_features)

    Returns
    -------
    found : Noise

    References
    ----------
    .. [1] R. N. Davé, "Characterization and detection of noise in clustering", Pattern Recognition
       Letters 12(11), 1991.
    """
    centers = np.array(start, dtype=float)
    for _ in range(max_iter):
        sq_dist = euclidean_distances(X, centers, squared=True)
        sq_delta = ratio * sq_dist.mean() if delta is None else delta**2
        memberships = noise_memberships(sq_dist, sq_delta, fuzzifier)
        powers = memberships**fuzzifier
        weights = powers[:, :-1]
        before = centers
        totals = weights.sum(axis=0)[:, None]
        centers = np.where(totals > 0, weights.T @ X / np.maximum(totals, 1e-300), before)
        if np.abs(centers - before).max() <= tol * np.ptp(centers):
            break
    noise = memberships[:, -1]
    own = float((weights * sq_dist).sum())
    objective = own + (float(powers[:, -1].sum()) * sq_delta if np.isfinite(sq_delta) else 0.0)
    return Noise(centers, noise, memberships.argmax(axis=1) == len(centers), objective)


def best_noise_clustering(X, n_clusters, share, seed, number):
    """Best of twice as many starts, for the ratio whose share of noise is nearest to the true one.

    It is **told the share** of outliers, as trimmed k-means is. The fuzzifier is ``1 + 2 / d``: the
    textbook's 2 in two dimensions, and in higher ones a value at which centers do not coincide.
    """
    fuzzifier = 1 + 2 / X.shape[1]
    begun = list(starts(X, n_clusters, seed, number))
    found = []
    for ratio in NOISE_RATIOS:
        settings = {"ratio": ratio, "fuzzifier": fuzzifier}
        found.append(best_of(partial(noise_clustering, X, **settings), begun))
    return min(found, key=lambda noise: abs(noise.labeled.mean() - share))
