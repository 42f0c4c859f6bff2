"""Likelihood of clusters and outliers, by which fits with different caps are compared.

Each row comes from a spherical Gaussian around its nearest center, or is an outlier, whichever is
likelier. Densities are those of the intrinsic dimension of the clusters: a Gaussian in all features
would gain by dividing a cluster that is flat or long.

What a row costs as an outlier is limited on both sides, so that rows count, not distances:

- The density of outliers falls with the distance from the nearest center as a power that has no
  scale, down to the typical gap between clusters. So a far group of rows is worth a center only if
  it has more rows than the cluster that would be given up for it.
- It is not below a Gaussian as wide as the data, so that no center is spent on scattered rows: in
  many dimensions these look like one wide cluster.
- A cluster counts as at least of the typical width, so that a few rows in one place are not worth
  more than a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sfumato._engines.base import ResidentEngine
from sfumato._init.dimension import Intrinsic
from sfumato._mixture import Background, chi_median, gaussian_log_density
from sfumato._outliers import row_weight
from sfumato._typing import Floats

CLASSIFY_ROUNDS = 12
"""Rounds of classifying rows and counting shares at most; it ends once nothing changes. Chosen by
hand."""
FIRST_OUTLIER_SHARE = 0.1
"""Share of outliers before the first round. Chosen by hand."""


@dataclass(frozen=True)
class OutlierDensity:
    """Log-density of outliers at the rows of a sample.

    Attributes
    ----------
    dimension : float
        Intrinsic dimension of the clusters.
    near, gap : float
        Distances from the nearest center between which the density falls.
    least : ndarray of shape (n_rows,)
        Log-density of a Gaussian as wide as the data.
    penalty : float
        Log of the number of scales: outliers are spread over the logarithm of the distance, from
        typical rows of clusters to the farthest row.
    """

    dimension: float
    near: float
    gap: float
    least: Floats
    penalty: float

    @classmethod
    def of(
        cls, sample: ResidentEngine, intrinsic: Intrinsic, background: Background
    ) -> OutlierDensity:
        """Density of outliers in a sample."""
        dimension, scale = intrinsic.dimension, background.scale
        distances = sample.distances(background.center[None])[:, 0].astype(np.float64)
        near = intrinsic.distance if intrinsic.distance > 0 else scale
        gap = intrinsic.gap if intrinsic.gap > near else max(scale, near)
        least = gaussian_log_density(distances, scale / chi_median(dimension), dimension)
        farthest = float(distances.max())
        scales = max(float(np.log(farthest / near)), 1.0) if farthest > near else 1.0
        return cls(dimension, near, gap, least, float(np.log(scales)))

    def at(self, distances: Floats, n_clusters: int) -> Floats:
        """Log-density, for the distances of the rows from their nearest centers."""
        dimension = self.dimension
        sphere = np.log(2) + dimension / 2 * np.log(np.pi) - gammaln(dimension / 2)
        falling = -sphere - dimension * np.log(np.clip(distances, self.near, self.gap))
        found: Floats = np.maximum(falling - np.log(n_clusters), self.least)
        return found - np.log(2) - self.penalty


class Classified(NamedTuple):
    """Rows that belong to their nearest cluster or are outliers, whichever is likelier.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        Log of the share times the density, of the likelier of the two.
    outlying : ndarray of shape (n_rows,), bool
    as_outlier : ndarray of shape (n_rows,)
        Log of the share times the density of outliers.
    shares : ndarray of shape (n_clusters,)
        Share of the weight in each cluster.
    """

    scores: Floats
    outlying: NDArray[np.bool_]
    as_outlier: Floats
    shares: Floats


def classify(
    distances: Floats,
    labels: NDArray[np.integer],
    weights: Floats,
    widths: Floats,
    density: OutlierDensity,
) -> Classified:
    """Classify rows and count the shares of clusters and outliers, until both are consistent.

    ``distances`` and ``labels``, of shape (n_rows,), are those of the nearest centers; ``widths``
    are infinite for clusters that hold no row.
    """
    total, n_clusters = float(weights.sum()), len(widths)
    inside = np.full(len(distances), -np.inf)
    known = np.isfinite(widths)[labels]
    own = widths[labels[known]]
    inside[known] = gaussian_log_density(distances[known], own, density.dimension)
    outside = density.at(distances, n_clusters)
    with np.errstate(invalid="ignore"):  # Rows that are impossible either way are no outliers.
        excess = outside - inside
    least = row_weight(weights)
    share = FIRST_OUTLIER_SHARE
    shares = (1 - share) * np.bincount(labels, weights, n_clusters) / total
    outlying = np.zeros(len(distances), dtype=bool)
    for number in range(CLASSIFY_ROUNDS):
        with np.errstate(divide="ignore"):
            logs = np.log(shares)
        before, outlying = outlying, excess + np.log(share) > logs[labels]
        if number and np.array_equal(before, outlying):
            break
        inliers = np.where(outlying, 0.0, weights)
        shares = np.bincount(labels, inliers, n_clusters) / total
        share = max(total - float(inliers.sum()), least) / total
    with np.errstate(divide="ignore"):
        in_cluster = inside + np.log(shares)[labels]
    as_outlier = outside + np.log(share)
    return Classified(np.maximum(in_cluster, as_outlier), outlying, as_outlier, shares)
