"""Indices of compact and separate clusters, from sums over rows that add up.

Every index needs, for each cluster, its weight and the sums of distances to its center and of their
squares; some need one sum more. So one pass over the rows, in memory, in chunks or on a cluster, is
enough for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from sfumato._typing import Floats

WIDTH_ROWS = 1.0
"""Rows of the common width that each cluster counts more than it has: a cluster of one row would
have no width. Chosen by hand."""


@dataclass(frozen=True)
class ClusterSums:
    """Sums over rows, which belong to their nearest centers. Sums add up.

    Attributes
    ----------
    masses, distances, squares : ndarray of shape (n_clusters,)
        Weight of each cluster, and the weighted sums of distances and squared distances to its
        center.
    silhouettes : float
        Weighted sum of the simplified silhouettes: ``1 - a / b``, with the distances ``a`` to the
        nearest and ``b`` to the second center.
    clearness, clear_silhouettes : float
        Sum of how clear the memberships of each row are, and that of the silhouettes times this.
    outliers : float
        Weight of the rows that belong to no cluster.
    """

    masses: Floats
    distances: Floats
    squares: Floats
    silhouettes: float = 0.0
    clearness: float = 0.0
    clear_silhouettes: float = 0.0
    outliers: float = 0.0

    @classmethod
    def of(
        cls,
        distances: Floats,
        weights: Floats,
        inside: NDArray[np.bool_] | None = None,
        clear: Floats | None = None,
    ) -> ClusterSums:
        """Sums over rows at some distances from the centers, of shape (n_rows, n_clusters).

        Rows that are not ``inside`` are outliers. ``clear`` says how clear the memberships of each
        row are; 1 by default.
        """
        n_clusters = distances.shape[1]
        outliers = 0.0
        if inside is not None:
            outliers = float(weights[~inside].sum())
            distances, weights = distances[inside], weights[inside]
            clear = None if clear is None else clear[inside]
        clear = weights if clear is None else weights * clear
        labels = distances.argmin(axis=1)
        nearest = distances[np.arange(len(labels)), labels]
        own = np.zeros_like(nearest)
        if n_clusters > 1 and len(labels):
            second = np.partition(distances, 1, axis=1)[:, 1]
            own = 1 - np.divide(nearest, second, out=np.ones_like(nearest), where=second > 0)

        def by_cluster(values: Floats) -> Floats:
            return np.bincount(labels, values, n_clusters).astype(np.float64)

        return cls(
            by_cluster(weights),
            by_cluster(weights * nearest),
            by_cluster(weights * nearest**2),
            float(weights @ own),
            float(clear.sum()),
            float(clear @ own),
            outliers,
        )

    def __add__(self, other: ClusterSums) -> ClusterSums:
        return ClusterSums(
            self.masses + other.masses,
            self.distances + other.distances,
            self.squares + other.squares,
            self.silhouettes + other.silhouettes,
            self.clearness + other.clearness,
            self.clear_silhouettes + other.clear_silhouettes,
            self.outliers + other.outliers,
        )

    @property
    def total(self) -> float:
        """Weight of all rows that belong to a cluster."""
        return float(self.masses.sum())


@dataclass(frozen=True)
class Extent:
    """Smallest and largest values of each column; of no rows, infinite. They add up."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, rows: Floats) -> Extent:
        """Extent of some rows."""
        low = rows.min(axis=0, initial=np.inf)
        return cls(low, rows.max(axis=0, initial=-np.inf))

    def __add__(self, other: Extent) -> Extent:
        return Extent(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume, without columns of one value."""
        sides = self.high - self.low
        return float(np.log(sides[sides > 0]).sum())


def clearness(squares: Floats, fuzzifier: float = 2.0) -> Floats:
    """Largest membership of each row less the second, under fuzzy c-means; 1 for one cluster.

    ``squares`` are the squared distances to the centers.
    """
    if squares.shape[1] < 2:
        return np.ones(len(squares))
    least = np.maximum(squares.min(axis=1, keepdims=True), np.finfo(float).tiny)
    shares = (least / np.maximum(squares, least)) ** (1 / (fuzzifier - 1))
    second, first = np.partition(shares, -2, axis=1)[:, -2:].T
    found: Floats = (first - second) / shares.sum(axis=1)
    return found


def silhouette(sums: ClusterSums) -> float:
    """Mean simplified silhouette; larger is better."""
    return sums.silhouettes / sums.total


def fuzzy_silhouette(sums: ClusterSums) -> float:
    """Mean simplified silhouette, clear rows counting more; larger is better."""
    return sums.clear_silhouettes / sums.clearness if sums.clearness > 0 else 0.0


def bic(sums: ClusterSums, n_columns: int, log_volume: float | None, common: bool) -> float:
    """Bayesian information criterion of round clusters and uniform outliers; larger is better.

    Each row belongs to one cluster, or to the outliers. Half of the usual value with the opposite
    sign.

    Parameters
    ----------
    sums : ClusterSums
    n_columns : int
    log_volume : float or None
        Of the box of the outliers; None if there is no such component.
    common : bool
        Whether all clusters have the same width.
    """
    count, total = len(sums.masses), sums.total + sums.outliers
    masses, squares = sums.masses, sums.squares / n_columns
    typical = float(squares.sum()) / max(sums.total, WIDTH_ROWS)
    variances = np.full(count, typical)
    if not common:
        variances = (squares + WIDTH_ROWS * typical) / (masses + WIDTH_ROWS)
    if not typical > 0:
        return np.inf
    shares = np.log(np.maximum(masses, np.finfo(float).tiny) / total)
    logs = masses * (shares - n_columns / 2 * np.log(2 * np.pi * variances))
    found = float((logs - n_columns / 2 * squares / variances).sum())
    parameters = count * n_columns + (1 if common else count) + count - 1
    if log_volume is not None:
        parameters += 1
        if sums.outliers > 0:
            found += sums.outliers * (float(np.log(sums.outliers / total)) - log_volume)
    return found - parameters / 2 * float(np.log(total))


def prediction_strength(table: Floats) -> float:
    """Least share over clusters of the pairs of rows that stay together.

    ``table`` has the weights of rows by their cluster and by that of another clustering. Clusters
    of less than two rows are left out.
    """
    masses = table.sum(axis=1)
    held = masses >= 2
    if not held.any():
        return 1.0
    pairs = masses[held] * (masses[held] - 1)
    together = np.maximum(table[held] * (table[held] - 1), 0).sum(axis=1)
    return float((together / pairs).min())


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
