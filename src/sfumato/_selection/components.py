"""A mixture of round or long clusters and outliers, fitted by expectation maximization (EM).

Each component is a spherical Gaussian with a width of its own. Or all of them have heavier tails
(Student-t distributions), or lighter ones (exponential power distributions [2]_), or are longer
along one axis of their own [3]_. Outliers are uniform over the bounding box [1]_, or independent
Cauchy variables in each column, so that neither outliers everywhere nor a few far ones are worth a
component; see ``outliers``.

References
----------
.. [1] C. Fraley, A. E. Raftery, "Model-based clustering, discriminant analysis, and density
   estimation", JASA 2002.
.. [2] E. Gomez, M. A. Gomez-Villegas, J. M. Marin, "A multivariate generalization of the power
   exponential family of distributions", Communications in Statistics 1998.
.. [3] M. E. Tipping, C. M. Bishop, "Mixtures of probabilistic principal component analyzers",
   Neural Computation 1999.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from sfumato._native import core
from sfumato._outliers import weighted_median
from sfumato._selection.outliers import Outliers
from sfumato._selection.rows import Rows
from sfumato._typing import Floats

LEAST_GAIN = 1e-5
"""Rise of the mean log-likelihood of a row, below which EM stops. Chosen by hand."""
LEAST_MASS = 2.0
"""Rows of a component at least; others are dropped. Chosen by hand."""
PLACES = 1.5
"""Logarithms of the number of rows that a component costs beside its center and width: half of one
for its share, and one for its place, which is looked for among all rows."""
FEWEST_ROWS = 16.0
"""Rows that a component counts as having at least where its cost is computed. Chosen by hand: in
many columns, a few close rows look like a cluster."""
WIDTH_ROWS = 1.0
"""Rows of the typical width that each component counts more than it has."""
AXIS_ROUNDS = 2
"""Power iterations for the long axis of a component, in each iteration of EM. Chosen by hand."""
SURROUNDED = 2.5
"""A component as many times as wide as another, whose center lies within as many of its widths, is
the tail of that one, or outliers around it. Chosen by hand: clusters of unlike widths are at least
three of the wider ones apart."""
FAINT = 3.0
"""Density of a component over that of the outliers, in the mean over its rows, below which it is
outliers, too: their true density is neither uniform nor that of Cauchy variables. Chosen by hand:
components that describe outliers are about twice as dense, clusters of 12 rows among outliers four
times."""


class Components(NamedTuple):
    """Round clusters of given widths and shares, and outliers.

    Attributes
    ----------
    centers : ndarray of shape (n_components, n_columns)
    widths, shares : ndarray of shape (n_components,)
    outliers : Outliers
    shape : float
        Degrees of freedom of the Student-t distributions; infinite for Gaussians.
    power : float
        Power of the squared distance in the exponent; above 1, tails are lighter than those of a
        Gaussian.
    axes : ndarray of shape (n_components, n_columns) or None
        Long axes, where clusters are wider: with the direction ``v`` and the length ``t`` along it,
        ``v * sqrt(1 / width**2 - 1 / t**2)``. None if all components are round.
    """

    centers: Floats
    widths: Floats
    shares: Floats
    outliers: Outliers
    shape: float = np.inf
    power: float = 1.0
    axes: Floats | None = None

    @classmethod
    def none(cls, rows: Rows) -> Components:
        """No components: all rows are outliers."""
        empty = np.empty(0)
        outliers = Outliers(np.array([0.5, 0.5]), rows.middle, np.ones(rows.n_columns))
        return cls(np.empty((0, rows.n_columns)), empty, empty, outliers)

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.widths)

    def only(self, kept: NDArray[np.bool_]) -> Components:
        """Some of the components, with shares that sum to one."""
        return self._replace(
            centers=self.centers[kept],
            widths=self.widths[kept],
            shares=self.shares[kept],
            axes=None if self.axes is None else self.axes[kept],
        ).normalized()

    def joined(self, centers: Floats, widths: Floats, shares: Floats) -> Components:
        """More components, which are round, with shares that sum to one."""
        axes = None if self.axes is None else np.vstack([self.axes, np.zeros_like(centers)])
        return self._replace(
            axes=axes,
            centers=np.vstack([self.centers, centers]),
            widths=np.concatenate([self.widths, widths]),
            shares=np.concatenate([self.shares, shares]),
        ).normalized()

    @property
    def ratios(self) -> Floats:
        """Width over length of each component; 1 for round ones."""
        if self.axes is None:
            return np.ones(self.size)
        found: Floats = np.sqrt(1 - self.widths**2 * (self.axes**2).sum(axis=1))
        return found

    def widths_along(self, directions: Floats) -> Floats:
        """Widths along unit vectors, of shape (n_components, n_columns), one of each component."""
        if self.axes is None:
            return self.widths
        slopes = self.widths**2 * (self.axes * directions).sum(axis=1) / self.ratios
        found: Floats = np.sqrt(self.widths**2 + slopes**2)
        return found

    def normalized(self) -> Components:
        """Components whose shares and those of outliers sum to one."""
        total = self.shares.sum() + self.outliers.shares.sum()
        outliers = self.outliers._replace(shares=self.outliers.shares / total)
        return self._replace(shares=self.shares / total, outliers=outliers)


class Sums(NamedTuple):
    """Sums over rows, from which components that fit them follow.

    Attributes
    ----------
    contrasts : ndarray of shape (n_components,)
        Of the posteriors of a component times the logarithm of their ratio to those of outliers.
    pulls, squares : ndarray of shape (n_components,)
        Of the pulls on each component, which are its posteriors for Gaussians, and of these times
        squared distances.
    pulled : ndarray of shape (n_components, n_columns)
        Of pulls times rows.
    cauchy : ndarray of shape (3, n_columns)
        Of the pulls on the location of the Cauchy law in each column, of these times the rows, and
        of these times squared distances in its scale.
    """

    contrasts: Floats
    pulls: Floats
    squares: Floats
    pulled: Floats
    cauchy: Floats

    @classmethod
    def none(cls, count: int, n_columns: int) -> Sums:
        """Arrays to be filled."""
        contrasts, pulls, squares = np.empty((3, count))
        return cls(
            contrasts, pulls, squares, np.empty((count, n_columns)), np.empty((3, n_columns))
        )


class Expectation(NamedTuple):
    """Rows under some components.

    Attributes
    ----------
    components : Components
    log_density : ndarray of shape (n_rows,)
    posteriors : ndarray of shape (n_rows, n_components + 2)
        Probability of each component, and of both laws of outliers, given the row.
    masses : ndarray of shape (n_components + 2,)
        Number of rows of each component, and of each law of outliers.
    log_likelihood : float
        Weighted sum of the log-densities.
    sums : Sums
    """

    components: Components
    log_density: Floats
    posteriors: Floats
    masses: Floats
    log_likelihood: float
    sums: Sums


def log_height(dimension: int, shape: float = np.inf, power: float = 1.0) -> float:
    """Log-density of a cluster of unit width at its center; see ``Components``."""
    half = dimension / 2
    if np.isinf(shape):
        volume = gammaln(1 + half / power) - gammaln(1 + half) + half / power * np.log(2)
        return float(-half * np.log(np.pi) - volume)
    found = gammaln(shape / 2 + half) - gammaln(shape / 2) - half * np.log(shape * np.pi)
    return float(found)


def expect(rows: Rows, components: Components) -> Expectation:
    """Densities and posteriors of the rows, which are weighted by the rows they stand for."""
    count, outliers, dimension = components.size, components.outliers, rows.n_columns
    heights = log_height(dimension, components.shape, components.power) + np.log(components.shares)
    heights += np.log(components.ratios) - dimension * np.log(components.widths)
    uniform, cauchy = outliers.log_heights(rows)
    posteriors = np.empty((count + 2, len(rows.values)))
    log_density, masses = np.empty(len(rows.values)), np.empty(count + 2)
    sums = Sums.none(count, dimension)
    core.expect_mixture(
        *(rows.native, rows.weights, np.ascontiguousarray(components.centers)),
        *(heights, components.widths**-2.0, _along(rows, components)),
        *(components.shape, components.power, uniform),
        *(cauchy, outliers.location, 1 / outliers.scales(rows)),
        *(posteriors, log_density, masses, sums.contrasts, sums.pulls, sums.pulled),
        *(sums.squares, sums.cauchy),
    )
    total = float(rows.weights @ log_density)
    return Expectation(components, log_density, posteriors.T, masses, total, sums)


def _along(rows: Rows, components: Components) -> Floats | None:
    """Places of the rows along long axes, by component; None if there are none."""
    if components.axes is None:
        return None
    offsets = (components.centers * components.axes).sum(axis=1)
    found: Floats = components.axes @ rows.values.T - offsets[:, None]
    return found


def maximize(rows: Rows, seen: Expectation) -> Components:
    """Components that fit the posteriors."""
    components, count, dimension = seen.components, seen.components.size, rows.n_columns
    masses = np.maximum(seen.masses, 1e-12)
    sums = np.maximum(seen.sums.pulls, 1e-12)
    means = seen.sums.pulled / sums[:, None]
    # The gradient of a lighter tail is steeper: a whole step would be too long.
    step = 1 / (1 + 2 * (components.power - 1) / dimension)
    centers = components.centers + step * (means - components.centers)
    moved = step * (2 - step) * (((means - components.centers) ** 2).sum(axis=1))
    squares = np.maximum(seen.sums.squares - sums * moved, 0.0)
    if components.power != 1:
        # The width is that for which the sum is as many as the rows and columns.
        ratios = squares / (masses[:count] * dimension * components.widths**2)
        squares *= np.maximum(ratios, np.finfo(float).tiny) ** (1 / components.power - 1)
    typical = float(squares.sum() / masses[:count].sum()) / dimension if count else 0.0

    def widths_of(sums: Floats) -> Floats:
        variances = (sums + WIDTH_ROWS * typical) / (masses[:count] + WIDTH_ROWS)
        found: Floats = np.sqrt(np.maximum(variances, rows.least_width**2))
        return found

    outliers = components.outliers.fitted(
        rows, seen.masses[count:], seen.posteriors[:, -1], seen.sums.cauchy
    )
    axes = None
    if components.axes is not None:
        directions, along = _long_axes(rows, _pulls(rows, seen), centers, components.axes)
        widths = widths_of((squares - along) / (dimension - 1))
        axes = axes_of(directions, widths, widths_of(along))
    else:
        widths = widths_of(squares / dimension)
    outliers = outliers._replace(holes=outliers.holes.around(centers, widths))
    found = components._replace(
        centers=centers, widths=widths, shares=masses[:count], outliers=outliers, axes=axes
    )
    return found.normalized()


def _pulls(rows: Rows, seen: Expectation) -> Floats:
    """Pulls of the rows on long components; see ``Sums``."""
    components, along = seen.components, _along(rows, seen.components)
    pulls = seen.posteriors[:, : components.size]
    if along is None or (np.isinf(components.shape) and components.power == 1):
        return pulls
    squares = cdist(rows.values, components.centers, "sqeuclidean")
    relative = np.maximum(squares / components.widths**2 - along.T**2, 0)
    if np.isfinite(components.shape):
        return pulls * (components.shape + rows.n_columns) / (components.shape + relative)
    found: Floats = pulls * components.power * relative ** (components.power - 1)
    return found


def axes_of(directions: Floats, widths: Floats, lengths: Floats) -> Floats:
    """Long axes of components from their directions, widths and lengths; see ``Components``."""
    longer = np.maximum(lengths, widths)
    return directions * np.sqrt(1 / widths**2 - 1 / longer**2)[:, None]


def _long_axes(rows: Rows, pulls: Floats, centers: Floats, axes: Floats) -> tuple[Floats, Floats]:
    """Directions in which components are widest, and the sums of squares along them."""
    directions, sums = np.empty_like(axes), np.empty(len(axes))
    for k, (center, axis) in enumerate(zip(centers, axes, strict=True)):
        index = np.flatnonzero(pulls[:, k] > 1e-9)
        offsets, weights = rows.values[index] - center, pulls[index, k]
        if not axis.any() and len(index):
            axis = offsets[int(np.argmax(weights * (offsets**2).sum(axis=1)))]
        for _ in range(AXIS_ROUNDS):
            turned = (weights * (offsets @ axis)) @ offsets
            length = float(np.linalg.norm(turned))
            axis = turned / length if length > 0 else np.eye(len(center))[0]
        directions[k] = axis
        sums[k] = float(weights @ (offsets @ axis) ** 2)
    return directions, sums


def surrounding(components: Components) -> NDArray[np.bool_]:
    """Components that lie around another one, much narrower."""
    widths = components.widths
    narrower = widths[None] < widths[:, None] / SURROUNDED
    distances = cdist(components.centers, components.centers)
    inside = distances < SURROUNDED * widths[:, None]
    return np.asarray((narrower & inside).any(axis=1))


def contrast(seen: Expectation) -> Floats:
    """Density of each component over that of the outliers: the geometric mean over its rows."""
    masses = np.maximum(seen.masses[: seen.components.size], np.finfo(float).tiny)
    found: Floats = np.exp(np.minimum(seen.sums.contrasts / masses, 700))
    return found


def outliers_with(rows: Rows, seen: Expectation, chosen: NDArray[np.bool_]) -> Outliers:
    """Laws of outliers that take the rows of some components.

    The Cauchy law has the median distance of these rows, and of its own, as its scale.
    """
    outliers, size = seen.components.outliers, seen.components.size
    shares = outliers.shares + np.array([0, seen.components.shares[chosen].sum()])
    weights = seen.posteriors[:, size + 1] + seen.posteriors[:, :size][:, chosen].sum(axis=1)
    far = outliers.far(rows)
    scales = [weighted_median(np.sqrt(column), weights) for column in far.T]
    return Outliers(
        shares, outliers.location, np.full(rows.n_columns, max(1.0, float(np.median(scales))))
    )


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

    Half of the logarithm of its number of rows for each coordinate of the center, and of a long
    axis, and for the width, about which no other rows say anything [1]_, and ``PLACES`` logarithms
    of the number of all rows for the share and the place.

    References
    ----------
    .. [1] M. A. T. Figueiredo, A. K. Jain, "Unsupervised learning of finite mixture models", IEEE
       TPAMI 2002.
    """
    size = seen.components.size
    masses = np.maximum(seen.masses[:size], FEWEST_ROWS)
    parameters = rows.n_columns + 1
    if seen.components.axes is not None:
        parameters += rows.n_columns
    own = parameters / 2 * float(np.log(masses).sum())
    places = PLACES * size * float(np.log(max(rows.total, 2.0)))
    return own + places + seen.components.outliers.cost(rows)


def bic(rows: Rows, seen: Expectation) -> float:
    """Bayesian information criterion, as a log-likelihood: larger is better [1]_.

    Half of the usual value with the opposite sign. Parameters that all numbers of components have
    are not counted, but those of a map that was applied to the rows.

    References
    ----------
    .. [1] G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 1978.
    """
    return seen.log_likelihood - penalty(rows, seen) - rows.cost
