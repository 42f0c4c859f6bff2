"""A mixture of round clusters and outliers, fitted by expectation maximization (EM).

Each component is a spherical Gaussian, or a spherical Student-t distribution, with a width of its
own. Outliers are uniform over the bounding box [1]_, or independent Cauchy variables in each
column, so that neither outliers everywhere nor a few far ones are worth a component.

References
----------
.. [1] C. Fraley, A. E. Raftery, "Model-based clustering, discriminant analysis, and density
   estimation", JASA 2002.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from sfumato._selection.rows import Rows
from sfumato._typing import Floats

LEAST_GAIN = 1e-5
"""Rise of the mean log-likelihood of a row, below which EM stops. Chosen by hand."""
LEAST_MASS = 2.0
"""Rows of a component at least; others are dropped. Chosen by hand."""
OUTLIER_ROWS = 0.5
"""Rows that each law of outliers counts more than it has, so that its share stays positive."""
PLACES = 2.0
"""Logarithms of the number of rows that a component costs beside its center and width. Chosen by
hand: with 1, groups of outliers in two columns are found more often."""
FEWEST_ROWS = 16.0
"""Rows that a component counts as having at least where its cost is computed. Chosen by hand: in
many columns, a few close rows look like a cluster."""
WIDTH_ROWS = 1.0
"""Rows of the typical width that each component counts more than it has."""


class Outliers(NamedTuple):
    """Laws of the outliers.

    Attributes
    ----------
    shares : ndarray of shape (2,)
        Share of the rows that are uniform, and of those that are Cauchy variables.
    location : ndarray of shape (n_columns,)
        Middle of the Cauchy variables.
    scale : float
        Their scale, in spreads of the columns; at least 1, or they would be a cluster.
    """

    shares: Floats
    location: Floats
    scale: float


class Components(NamedTuple):
    """Round clusters of given widths and shares, and outliers.

    Attributes
    ----------
    centers : ndarray of shape (n_components, n_columns)
    widths, shares : ndarray of shape (n_components,)
    outliers : Outliers
    shape : float
        Degrees of freedom of the Student-t distributions; infinite for Gaussians.
    """

    centers: Floats
    widths: Floats
    shares: Floats
    outliers: Outliers
    shape: float = np.inf

    @classmethod
    def none(cls, rows: Rows) -> Components:
        """No components: all rows are outliers."""
        empty = np.empty(0)
        outliers = Outliers(np.array([0.5, 0.5]), rows.middle, 1.0)
        return cls(np.empty((0, rows.n_columns)), empty, empty, outliers)

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.widths)

    def only(self, kept: NDArray[np.bool_]) -> Components:
        """Some of the components, with shares that sum to one."""
        return self._replace(
            centers=self.centers[kept], widths=self.widths[kept], shares=self.shares[kept]
        ).normalized()

    def joined(self, centers: Floats, widths: Floats, shares: Floats) -> Components:
        """More components, with shares that sum to one."""
        return self._replace(
            centers=np.vstack([self.centers, centers]),
            widths=np.concatenate([self.widths, widths]),
            shares=np.concatenate([self.shares, shares]),
        ).normalized()

    def normalized(self) -> Components:
        """Components whose shares and those of outliers sum to one."""
        total = self.shares.sum() + self.outliers.shares.sum()
        outliers = self.outliers._replace(shares=self.outliers.shares / total)
        return self._replace(shares=self.shares / total, outliers=outliers)


class Expectation(NamedTuple):
    """Rows under some components.

    Attributes
    ----------
    components : Components
    squares : ndarray of shape (n_rows, n_components)
        Squared distances to the centers.
    far : ndarray of shape (n_rows, n_columns)
        Squared distances to the location of the Cauchy law along each column, in spreads.
    log_density : ndarray of shape (n_rows,)
    posteriors : ndarray of shape (n_rows, n_components + 2)
        Probability of each component, and of both laws of outliers, given the row.
    log_likelihood : float
        Weighted sum of the log-densities.
    """

    components: Components
    squares: Floats
    far: Floats
    log_density: Floats
    posteriors: Floats
    log_likelihood: float

    @property
    def masses(self) -> Floats:
        """Number of rows of each component, and of each law of outliers."""
        found: Floats = self.posteriors.sum(axis=0)
        return found


def cluster_log_density(squares: Floats, widths: Floats, dimension: int, shape: float) -> Floats:
    """Log-density of spherical Gaussians, or of Student-t distributions, at squared distances."""
    relative = squares / widths**2
    base = -dimension * np.log(widths)
    found: Floats
    if np.isinf(shape):
        found = base - dimension / 2 * np.log(2 * np.pi) - relative / 2
        return found
    power = (shape + dimension) / 2
    constant = gammaln(power) - gammaln(shape / 2) - dimension / 2 * np.log(shape * np.pi)
    found = base + constant - power * np.log1p(relative / shape)
    return found


def expect(rows: Rows, components: Components) -> Expectation:
    """Densities and posteriors of the rows, which are weighted by the rows they stand for."""
    count, outliers, dimension = components.size, components.outliers, rows.n_columns
    squares = cdist(rows.values, components.centers, "sqeuclidean")
    far = ((rows.values - outliers.location) / rows.spread) ** 2
    logs = np.empty((len(rows.values), count + 2))
    logs[:, :count] = cluster_log_density(squares, components.widths, dimension, components.shape)
    logs[:, count] = rows.box
    scale = np.log(np.pi * outliers.scale * rows.spread).sum()
    logs[:, count + 1] = -scale - np.log1p(far / outliers.scale**2).sum(axis=1)
    logs += np.log(np.concatenate([components.shares, outliers.shares]))
    largest = logs.max(axis=1)
    logs -= largest[:, None]
    posteriors = np.exp(logs, out=logs)
    sums = posteriors.sum(axis=1)
    log_density = largest + np.log(sums)
    posteriors *= (rows.weights / sums)[:, None]
    total = float(rows.weights @ log_density)
    return Expectation(components, squares, far, log_density, posteriors, total)


def maximize(rows: Rows, seen: Expectation) -> Components:
    """Components that fit the posteriors."""
    components, count, dimension = seen.components, seen.components.size, rows.n_columns
    masses = np.maximum(seen.masses, 1e-12)
    pulls = seen.posteriors[:, :count]
    if np.isfinite(components.shape):
        scaled = seen.squares / components.widths**2
        pulls = pulls * (components.shape + dimension) / (components.shape + scaled)
    sums = np.maximum(pulls.sum(axis=0), 1e-12)
    centers = (pulls.T @ rows.values) / sums[:, None]
    moved = ((centers - components.centers) ** 2).sum(axis=1)
    squares = np.einsum("ij,ij->j", pulls, seen.squares) - sums * moved
    squares = np.maximum(squares, 0.0) / dimension
    typical = float(squares.sum() / masses[:count].sum()) if count else 0.0
    variances = (squares + WIDTH_ROWS * typical) / (masses[:count] + WIDTH_ROWS)
    widths = np.sqrt(np.maximum(variances, rows.least_width**2))
    outliers = _outliers(rows, seen, masses[count:])
    return Components(centers, widths, masses[:count], outliers, components.shape).normalized()


def _outliers(rows: Rows, seen: Expectation, masses: Floats) -> Outliers:
    """Laws of outliers that fit the posteriors; their shares are numbers of rows."""
    outliers = seen.components.outliers
    location, scale = outliers.location, outliers.scale
    if masses[1] > 1:
        weights = seen.posteriors[:, -1]
        pulls = 2 * weights[:, None] / (1 + seen.far / scale**2)
        # One row in the middle, where the location of a few far rows would be anywhere.
        location = ((pulls * rows.values).sum(axis=0) + 2 * rows.middle) / (pulls.sum(axis=0) + 2)
        scale = max(1.0, float(np.sqrt((pulls * seen.far).sum() / rows.n_columns / masses[1])))
    return Outliers(masses + OUTLIER_ROWS, location, scale)


def fit(rows: Rows, components: Components, iterations: int) -> Expectation:
    """Expectation maximization from some components, at most that many iterations.

    Components that keep less than ``LEAST_MASS`` rows are dropped.
    """
    seen = expect(rows, components)
    for _ in range(iterations):
        kept = seen.masses[: seen.components.size] >= LEAST_MASS
        if not kept.all():
            seen = expect(rows, seen.components.only(kept))
        before, seen = seen.log_likelihood, expect(rows, maximize(rows, seen))
        if seen.log_likelihood - before < LEAST_GAIN * rows.total:
            break
    return seen


def penalty(rows: Rows, seen: Expectation) -> float:
    """What the components cost in the criterion.

    Half of the logarithm of its number of rows for each coordinate of the center and for the width,
    about which no other rows say anything [1]_, and ``PLACES`` logarithms of the number of all rows
    for the share and the place: a dense place is looked for among all rows.

    References
    ----------
    .. [1] M. A. T. Figueiredo, A. K. Jain, "Unsupervised learning of finite mixture models", IEEE
       TPAMI 2002.
    """
    size = seen.components.size
    masses = np.maximum(seen.masses[:size], FEWEST_ROWS)
    own = (rows.n_columns + 1) / 2 * float(np.log(masses).sum())
    return own + PLACES * size * float(np.log(max(rows.total, 2.0)))


def bic(rows: Rows, seen: Expectation) -> float:
    """Bayesian information criterion, as a log-likelihood: larger is better [1]_.

    Half of the usual value with the opposite sign. Parameters that all numbers of components have
    are not counted.

    References
    ----------
    .. [1] G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 1978.
    """
    return seen.log_likelihood - penalty(rows, seen)
