"""The density of a clustering: a mixture by which different fits can be compared.

Objectives of fits with different caps, fuzzifiers or numbers of clusters do not compare; densities
do. Each cluster is a spherical Gaussian. Outliers are one more component, around the middle of all
rows: half a Gaussian as wide as the data, half a Cauchy distribution of the same scale, whose heavy
tails leave no row without a density.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, gammaln, logsumexp

from sfumato._data import row_blocks
from sfumato._engines.base import Evaluation, Output, ResidentEngine
from sfumato._outliers import row_weight, weighted_median
from sfumato._problem import Problem
from sfumato._solvers.descent import Stopping, solve
from sfumato._typing import Floats
from sfumato.losses import L21
from sfumato.memberships import Hard

MIDDLE_FIT = Stopping(max_iter=10, tol=1e-3)
"""Iterations and relative tolerance of the geometric median of all rows. Chosen by hand."""
LEAST_WIDTH = 1e-6
"""Width of a cluster over the scale of the data, at least: its rows may coincide. Chosen by
hand."""


def chi_median(dimension: float) -> float:
    """Median distance of a standard Gaussian from its center."""
    return float(np.sqrt(2 * gammaincinv(dimension / 2, 0.5)))


def gaussian_log_density(distances: Floats, width: Floats | float, dimension: float) -> Floats:
    """Log-density of a spherical Gaussian at some distances from its center."""
    with np.errstate(over="ignore"):  # So far away that the density is zero.
        half = (distances / width) ** 2 / 2
    found: Floats = -dimension * (np.log(2 * np.pi) / 2 + np.log(width)) - half
    return found


def cauchy_log_density(distances: Floats, scale: float, dimension: float) -> Floats:
    """Log-density of a spherical Cauchy distribution at some distances from its center."""
    constant = gammaln((1 + dimension) / 2) - (1 + dimension) / 2 * np.log(np.pi)
    with np.errstate(over="ignore"):
        tail = (1 + dimension) * np.log(np.hypot(1.0, distances / scale))
    found: Floats = constant - dimension * np.log(scale) - tail
    return found


class Background(NamedTuple):
    """Where the rows lie as a whole: the component of outliers.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        Middle of all rows.
    scale : float
        Median distance to it; positive.
    """

    center: Floats
    scale: float

    @classmethod
    def of(cls, sample: ResidentEngine) -> Background:
        """Background of a sample."""
        hard = sample.with_problem(Problem(L21(), Hard()))
        center = solve(hard, sample.central_row()[None], MIDDLE_FIT).centers[0]
        distances = sample.distances(center[None])[:, 0].astype(np.float64)
        weights = sample.data.weights_or_ones()
        return cls.around(center, distances, weights)

    @classmethod
    def around(cls, center: Floats, distances: Floats, weights: Floats) -> Background:
        """Background around a center, for rows at some distances from it."""
        scale = weighted_median(distances, weights)
        if not scale > 0:  # Half of the rows coincide.
            scale = float(np.average(distances, weights=weights)) or 1.0
        return cls(center, scale)

    def log_density(self, distances: Floats) -> Floats:
        """Log-density at some distances from the center."""
        dimension = len(self.center)
        gaussian = gaussian_log_density(distances, self.scale / chi_median(dimension), dimension)
        cauchy = cauchy_log_density(distances, self.scale / np.sqrt(dimension), dimension)
        found: Floats = np.logaddexp(gaussian, cauchy) - np.log(2)
        return found


@dataclass(frozen=True)
class Mixture:
    """Gaussian clusters of given widths and shares, and a background of outliers.

    Attributes
    ----------
    widths : ndarray of shape (n_clusters,)
        Standard deviation of each cluster along any axis.
    shares : ndarray of shape (n_clusters,)
        Share of the weight in each cluster.
    outlier_share : float
        Share of the weight in the background.
    background : Background
    """

    widths: Floats
    shares: Floats
    outlier_share: float
    background: Background

    @classmethod
    def of(
        cls,
        distances: Floats,
        labels: NDArray[np.integer],
        weights: Floats,
        radii: Floats,
        background: Background,
    ) -> Mixture:
        """Mixture of which some rows are a sample.

        ``distances`` and ``labels``, of shape (n_rows,), are those of the nearest centers; rows
        beyond the radius are outliers. Each cluster counts one row more than it has, of the average
        width, and so do the outliers.
        """
        dimension, n_clusters = len(background.center), len(radii)
        inliers = np.where(distances > radii[labels], 0.0, weights)
        squares = np.bincount(labels, inliers * distances**2, n_clusters) / dimension
        masses = np.bincount(labels, inliers, n_clusters)
        row = row_weight(weights)
        average = float(squares.sum()) / max(float(masses.sum()), row)
        least = LEAST_WIDTH * background.scale
        widths = np.maximum(np.sqrt((squares + average * row) / (masses + row)), least)
        shares = masses + row
        outlier_share = float(weights.sum() - inliers.sum()) + row
        total = float(shares.sum()) + outlier_share
        return cls(widths, shares / total, outlier_share / total, background)

    def log_parts(self, distances: Floats, to_background: Floats) -> Floats:
        """Logarithms of the parts of the density: of each cluster, and of the background.

        Parameters
        ----------
        distances : ndarray of shape (n_rows, n_clusters)
        to_background : ndarray of shape (n_rows,)
            Distances to the center of the background.
        """
        dimension = len(self.background.center)
        clusters = gaussian_log_density(distances, self.widths, dimension) + np.log(self.shares)
        beyond = self.background.log_density(to_background) + np.log(self.outlier_share)
        found: Floats = np.column_stack([clusters, beyond])
        return found


@dataclass(frozen=True)
class LogDensity(Output):
    """Log-density of each row under a mixture at the centers."""

    mixture: Mixture

    name = "log_density"

    def of(self, rows: Evaluation) -> Floats:
        points = np.vstack([self.centers, self.mixture.background.center])
        engine = rows.engine
        found = np.empty(engine.n_rows, dtype=engine.dtype)
        for block in row_blocks(engine.n_rows, len(points)):
            distances = engine.only(block).distances(points).astype(np.float64)
            found[block] = self.value(self.mixture.log_parts(distances[:, :-1], distances[:, -1]))
        return found

    def value(self, parts: Floats) -> Floats:
        """Value of each row, from the logarithms of the parts of its density."""
        found: Floats = logsumexp(parts, axis=1)
        return found


@dataclass(frozen=True)
class OutlierProbability(LogDensity):
    """Posterior probability of each row that it comes from the background."""

    name = "outlier_probability"

    def value(self, parts: Floats) -> Floats:
        return np.exp(parts[:, -1] - super().value(parts))
