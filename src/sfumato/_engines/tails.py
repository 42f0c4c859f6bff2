"""Density with heavy tails around centers, by which outlier scores rank rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato._typing import Floats

FREEDOM = 4.0
"""Degrees of freedom of the Student-t densities behind scores. With 1 to 30, the mean AUROC over 21
real sets changes by less than 0.01; see docs/decisions.md."""
DENSITY_DIMENSION = 3.0
"""Dimension that enters these densities, whatever that of the data. Of 1 to 6, the mean AUROC is
the best from 1 to 4; with the dimension of the data it is 0.03 lower; see docs/decisions.md."""
TAIL_POWER = FREEDOM + DENSITY_DIMENSION
"""Power of the distance with which these densities fall far away."""


class Tails(NamedTuple):
    """Heavy-tailed density of the rows: a spherical Student-t distribution for each cluster.

    Attributes
    ----------
    scales : ndarray of shape (n_clusters,)
        Typical distance of the rows of a cluster to its center, or of all rows if that is larger.
    shares : ndarray of shape (n_clusters,)
        Share of the rows in each cluster; outliers do not count.
    """

    scales: Floats
    shares: Floats

    @property
    def weights(self) -> Floats:
        """Weight of each cluster in the density at its center; they sum to one."""
        found = self.shares * (self.scales.min() / self.scales) ** DENSITY_DIMENSION
        weights: Floats = found / found.sum()
        return weights

    def rarity(self, distances: Floats) -> Floats:
        """How rare rows are, at given distances to all centers: 1 or more.

        It is the density to the power of ``-1 / TAIL_POWER``, which grows like a distance, over its
        least possible value: a weighted power mean of ``sqrt(1 + (distance / scale)**2 / FREEDOM)``
        over the clusters. Powers are taken of ratios to the smallest, so that none underflows.
        """
        with np.errstate(over="ignore"):
            squares = 1 + (distances / self.scales) ** 2 / FREEDOM
        squares = np.minimum(squares, np.finfo(np.float64).max)
        nearest = squares.min(axis=1)
        ratios = nearest[:, None] / squares
        shares = ratios ** (TAIL_POWER / 2) * self.weights
        total = np.maximum(shares.sum(axis=1), np.finfo(np.float64).tiny)
        found: Floats = np.sqrt(nearest) * total ** (-1 / TAIL_POWER)
        return found
