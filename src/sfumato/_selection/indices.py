"""Indices of compact and separate clusters, from sums over rows that add up.

Every index needs, for each cluster, its weight and the sums of distances to its center and of their
squares; the silhouette needs one sum more. So one pass over the rows, in memory, in chunks or on a
cluster, is enough for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform

from sfumato._typing import Floats


class ClusterSums(NamedTuple):
    """Sums over rows, which belong to their nearest centers. Sums add up.

    Attributes
    ----------
    masses, distances, squares : ndarray of shape (n_clusters,)
        Weight of each cluster, and the weighted sums of distances and squared distances to its
        center.
    silhouettes : float
        Weighted sum of the simplified silhouettes: ``1 - a / b``, with the distances ``a`` to the
        nearest and ``b`` to the second center.
    """

    masses: Floats
    distances: Floats
    squares: Floats
    silhouettes: float

    @classmethod
    def of(cls, distances: Floats, weights: Floats) -> ClusterSums:
        """Sums over rows at some distances from the centers, of shape (n_rows, n_clusters)."""
        n_clusters = distances.shape[1]
        labels = distances.argmin(axis=1)
        nearest = distances[np.arange(len(labels)), labels]
        silhouettes = 0.0
        if n_clusters > 1:
            second = np.partition(distances, 1, axis=1)[:, 1]
            shares = np.divide(nearest, second, out=np.ones_like(nearest), where=second > 0)
            silhouettes = float(weights @ (1 - shares))

        def by_cluster(values: Floats) -> Floats:
            return np.bincount(labels, values, n_clusters).astype(np.float64)

        squares = by_cluster(weights * nearest**2)
        return cls(by_cluster(weights), by_cluster(weights * nearest), squares, silhouettes)

    def plus(self, other: ClusterSums) -> ClusterSums:
        """Sums over the rows of both."""
        return ClusterSums(
            self.masses + other.masses,
            self.distances + other.distances,
            self.squares + other.squares,
            self.silhouettes + other.silhouettes,
        )

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.masses.sum())


def silhouette(sums: ClusterSums) -> float:
    """Mean simplified silhouette; larger is better."""
    return sums.silhouettes / sums.total


def calinski_harabasz(sums: ClusterSums, centers: Floats) -> float:
    """Variance between clusters over that within them, by degrees of freedom; larger is better."""
    n_clusters = len(centers)
    middle = np.average(centers, axis=0, weights=sums.masses)
    between = float(sums.masses @ ((centers - middle) ** 2).sum(axis=1))
    within = float(sums.squares.sum())
    if within == 0:
        return 1.0 if between == 0 else np.inf
    return between / within * (sums.total - n_clusters) / (n_clusters - 1)


def davies_bouldin(sums: ClusterSums, centers: Floats) -> float:
    """Mean over clusters of the worst ratio of widths to distances; smaller is better."""
    held = sums.masses > 0
    widths = sums.distances[held] / sums.masses[held]
    between = squareform(pdist(centers[held]))
    np.fill_diagonal(between, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(between > 0, (widths[:, None] + widths) / between, np.inf)
    return float(ratios.max(axis=1).mean())


def xie_beni(sums: ClusterSums, centers: Floats) -> float:
    """Mean squared distance over the least one between centers; smaller is better."""
    least = float((pdist(centers) ** 2).min())
    return float(sums.squares.sum()) / sums.total / least if least > 0 else np.inf


def pbm(sums: ClusterSums, centers: Floats, spread: float) -> float:
    """Largest distance of centers times the spread of all rows over that within clusters, squared.

    ``spread`` is the weighted sum of the distances of all rows to their mean. Larger is better.
    """
    within = float(sums.distances.sum())
    if within == 0:
        return np.inf
    return float((spread / within * pdist(centers).max() / len(centers)) ** 2)
