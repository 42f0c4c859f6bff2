"""Components to begin with: more of them where rows are denser than the density says, or fewer.

Rows in a neighborhood that is denser than the density of the components become a new one, as in
greedy mixture learning [1]_. A component is divided along its principal axis, and two are merged
where this costs the least likelihood.

References
----------
.. [1] N. Vlassis, A. Likas, "A greedy EM algorithm for Gaussian mixture learning", Neural
   Processing Letters 2002.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sfumato._selection.components import FAINT, Components, Expectation, axes_of, contrast
from sfumato._selection.rows import Rows
from sfumato._typing import Floats

CANDIDATES = 128
"""Rows around which neighborhoods are looked at. Chosen by hand."""
SMALLEST = 8
"""Rows of the smallest neighborhood; each larger one has twice as many. Chosen by hand."""
MOST_SHARED = 0.3
"""Share of the rows of a neighborhood that may belong to others that were chosen before. Chosen by
hand."""
LARGEST_SHARE = 0.9
"""Share of new components in all rows, at most. Chosen by hand."""
BLOCK_VALUES = 1 << 15
"""Values of neighborhoods that are summed together: 256 KB. Chosen by hand."""
LIKELY = 1e-4
"""Posterior above which a row is counted exactly by what is lost without a component."""
AXIS_ROUNDS = 6
"""Power iterations for the principal axis of a component. Chosen by hand."""
HALVE_ROUNDS = 4
"""Rounds of hard clustering of its two halves. Chosen by hand."""


class Group(NamedTuple):
    """Rows that may become a component."""

    center: Floats
    width: float
    mass: float

    @classmethod
    def of(cls, rows: Rows, index: NDArray[np.intp] | NDArray[np.bool_]) -> Group:
        """Group of some rows."""
        values, weights = rows.values[index], rows.weights[index]
        mass = float(weights.sum())
        center = weights @ values / mass
        square = float(weights @ ((values - center) ** 2).sum(axis=1)) / mass / rows.n_columns
        return cls(center, max(float(np.sqrt(square)), rows.least_width), mass)

    def log_likelihood(self, total: float, n_columns: int) -> float:
        """Log-likelihood of its rows, were it a component."""
        entropy = n_columns / 2 * (np.log(2 * np.pi) + 1) + n_columns * np.log(self.width)
        return self.mass * float(np.log(self.mass / total) - entropy)


def add_dense(rows: Rows, seen: Expectation, count: int, rng: np.random.RandomState) -> Components:
    """Components and at most ``count`` more, where they raise the likelihood most."""
    n_rows = len(rows.values)
    drawn = _candidates(rows, seen, rng)
    sizes = [min(SMALLEST, n_rows)]
    while 2 * sizes[-1] <= n_rows // max(2, (seen.components.size + 1) // 2):
        sizes.append(2 * sizes[-1])  # The more components there are, the smaller are new ones.
    squares = cdist(rows.values[drawn], rows.values, "sqeuclidean")
    near = np.argpartition(squares, sizes[-1] - 1, axis=1)[:, : sizes[-1]]
    order = np.argsort(np.take_along_axis(squares, near, axis=1), axis=1)
    near = np.take_along_axis(near, order, axis=1)
    together = max(1, BLOCK_VALUES // (sizes[-1] * rows.n_columns))
    blocks = [near[begin : begin + together] for begin in range(0, len(near), together)]
    found = [_neighborhoods(rows, seen, block, sizes) for block in blocks]
    gains, means, spans, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
    taken = np.zeros(n_rows, dtype=bool)
    chosen = []
    for place in np.argsort(-gains, axis=None, kind="stable"):
        row, size = divmod(int(place), len(sizes))
        index = near[row, : sizes[size]]
        if taken[drawn[row]] or taken[index].mean() > MOST_SHARED:
            continue
        taken[index] = True
        chosen.append((means[row, size], spans[row, size], weights[row, size]))
        if len(chosen) == count:
            break
    centers, widths, masses = (np.array(values) for values in zip(*chosen, strict=True))
    return _shared(seen.components, centers, widths, masses / rows.total)


def _candidates(rows: Rows, seen: Expectation, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Rows around which to look: half of them from all, the others from those that seem outliers.

    Among these, a small cluster is easier to hit.
    """
    n_rows = len(rows.values)
    drawn = rng.choice(n_rows, min(CANDIDATES // 2, n_rows), replace=False)
    outlying = seen.posteriors[:, seen.components.size :].sum(axis=1) >= rows.weights / 2
    outlying[drawn] = False
    others = np.flatnonzero(outlying)
    if len(others) < CANDIDATES - len(drawn):
        others = np.setdiff1d(np.arange(n_rows), drawn)
    more = rng.choice(others, min(CANDIDATES - len(drawn), len(others)), replace=False)
    return np.concatenate([drawn, more])


def _neighborhoods(
    rows: Rows, seen: Expectation, near: NDArray[np.intp], sizes: list[int]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Gains, centers, widths and masses of the neighborhoods of some rows, by their sizes.

    ``near`` has the rows near to each, the nearest first. The gain is the rise of the
    log-likelihood of its rows if a neighborhood is a component.
    """
    begins = np.array([0, *sizes[:-1]])

    def sums(values: Floats) -> Floats:
        return np.cumsum(np.add.reduceat(values, begins, axis=1), axis=1)

    first = rows.values[near[:, :1]]
    weights, offsets = rows.weights[near], rows.values[near] - first
    masses = sums(weights)
    squares = sums(weights * np.einsum("ijk,ijk->ij", offsets, offsets)) / masses
    offsets *= weights[:, :, None]
    means = sums(offsets) / masses[:, :, None]
    squares -= (means**2).sum(axis=2)
    dimension = rows.n_columns
    widths = np.sqrt(np.maximum(squares / dimension, rows.least_width**2))
    before = sums(weights * seen.log_density[near])
    entropies = dimension / 2 * (np.log(2 * np.pi) + 1) + dimension * np.log(widths)
    gains = masses * (np.log(masses / rows.total) - entropies) - before
    return gains, first + means, widths, masses


def _shared(components: Components, centers: Floats, widths: Floats, shares: Floats) -> Components:
    """Components and new ones, at the cost of the shares of the others."""
    rest = 1 - min(LARGEST_SHARE, float(shares.sum()))
    outliers = components.outliers._replace(shares=components.outliers.shares * rest)
    smaller = components._replace(shares=components.shares * rest, outliers=outliers)
    return smaller.joined(centers, widths, shares)


def divide(rows: Rows, seen: Expectation, count: int) -> Components:
    """Components of which at most ``count`` are divided in two, where this gains most."""
    components = seen.components
    labels = seen.posteriors.argmax(axis=1)
    halves: dict[int, tuple[Group, Group]] = {}
    gains: dict[int, float] = {}
    for number in range(components.size):
        index = np.flatnonzero(labels == number)
        pair = _halves(rows, index) if len(index) >= 4 else None
        if pair is not None:
            halves[number] = pair
            each = [*pair, Group.of(rows, index)]
            first, second, whole = (g.log_likelihood(rows.total, rows.n_columns) for g in each)
            gains[number] = first + second - whole
    for number in sorted(gains, key=lambda each: -gains[each])[:count]:
        components = _divided(components, number, *halves[number])
    return components


def _divided(components: Components, number: int, first: Group, second: Group) -> Components:
    """Components with two halves in the place of one."""
    share = components.shares[number]
    part = first.mass / (first.mass + second.mass)
    centers, widths, shares = (each.copy() for each in components[:3])
    centers[number], widths[number], shares[number] = first.center, first.width, share * part
    replaced = components._replace(centers=centers, widths=widths, shares=shares)
    if components.axes is not None:
        axes = components.axes.copy()
        axes[number] = 0
        replaced = replaced._replace(axes=axes)
    return replaced.joined(
        second.center[None], np.array([second.width]), np.array([share * (1 - part)])
    )


def _halves(rows: Rows, index: NDArray[np.intp]) -> tuple[Group, Group] | None:
    """Two halves of some rows, by hard clustering from the principal axis; None if one is empty."""
    weights, values = rows.weights[index], rows.values[index]
    total = float(weights.sum())
    values = values - weights @ values / total
    axis = values[int(np.argmax((values**2).sum(axis=1)))]
    for _ in range(AXIS_ROUNDS):
        length = np.sqrt(axis @ axis)
        if length == 0:
            return None
        axis = (weights * (values @ (axis / length))) @ values
    side = values @ axis > 0
    for _ in range(HALVE_ROUNDS):
        if side.all() or not side.any():
            return None
        own = weights * side
        mass, pulled = float(own.sum()), own @ values
        first, second = pulled / mass, -pulled / (total - mass)  # All values are around zero.
        side = values @ (first - second) > (first @ first - second @ second) / 2
    if side.all() or not side.any():
        return None
    return Group.of(rows, index[side]), Group.of(rows, index[~side])


def one_less(rows: Rows, seen: Expectation) -> Components:
    """Components with one less: the two are merged, or the one is left out, that is missed least.

    A component that is hardly denser than the outliers is left out before any other: it would take
    the place of a small cluster.
    A merged pair costs what one round cluster explains worse than two. A component that is left out
    costs the likelihood of its rows without it.
    """
    components, count = seen.components, seen.components.size
    contrasts = contrast(seen)
    if contrasts.min() < FAINT:
        return components.only(np.arange(count) != int(contrasts.argmin()))
    masses = np.maximum(seen.masses[:count], 1e-12)
    losses = _losses(components, masses)
    missed = _missed(rows, seen)
    first, second = divmod(int(np.argmin(losses)), count)
    least = int(np.argmin(missed))
    if missed[least] < losses[first, second]:
        return components.only(np.arange(count) != least)
    return _merged(components, masses, first, second)


def _missed(rows: Rows, seen: Expectation) -> Floats:
    """Log-likelihood that the rows of each component lose without it.

    Most rows hardly belong to it: they lose about as much as their posteriors.
    """
    count = seen.components.size
    posteriors = seen.posteriors[:, :count].T
    numbers, index = np.divmod(np.flatnonzero(posteriors > LIKELY), len(rows.values))
    some, weights = posteriors[numbers, index], rows.weights[index]
    lost = -weights * np.log1p(-np.minimum(some / weights, 1 - 1e-12))
    found: Floats = seen.masses[:count] + np.bincount(numbers, lost - some, count)
    return found


def _losses(components: Components, masses: Floats) -> Floats:
    """Log-likelihood that is lost if two components are merged, for each pair."""
    squares, dimension = components.widths**2, components.centers.shape[1]
    pairs = masses[:, None] + masses
    own = masses * squares
    base = (own[:, None] + own) / pairs
    parts = masses[:, None] * masses / pairs**2
    gaps = cdist(components.centers, components.centers, "sqeuclidean")
    if components.axes is None:
        merged = dimension / 2 * np.log(base + parts * gaps / dimension)
        alone = dimension / 2 * np.log(squares)
    else:
        beyond, largest = _beyond_round(components, masses)
        rest = np.maximum(beyond - largest, 0) / max(dimension - 1, 1)
        merged = (np.log(base + largest) + (dimension - 1) * np.log(base + rest)) / 2
        alone = dimension / 2 * np.log(squares) - np.log(components.ratios)
    alone = masses * (alone - np.log(masses))
    losses: Floats = pairs * (merged - np.log(pairs)) - alone[:, None] - alone
    np.fill_diagonal(losses, np.inf)
    return losses


def _beyond_round(components: Components, masses: Floats) -> tuple[Floats, Floats]:
    """Sum and largest of the variances that merged pairs have beyond those of round components."""
    assert components.axes is not None
    pairs = masses[:, None] + masses
    slopes = components.axes * (components.widths**2 / components.ratios)[:, None]
    gaps = components.centers[:, None] - components.centers
    vectors = np.stack(
        [
            np.sqrt(masses[:, None] / pairs)[..., None] * slopes[:, None],
            np.sqrt(masses / pairs)[..., None] * slopes,
            (np.sqrt(masses[:, None] * masses) / pairs)[..., None] * gaps,
        ],
        axis=2,
    )
    products = np.einsum("ijad,ijbd->ijab", vectors, vectors)
    values = np.linalg.eigvalsh(products)
    return values.sum(axis=-1), np.maximum(values[..., -1], 0)


def _merged(components: Components, masses: Floats, first: int, second: int) -> Components:
    """Components with one that has the moments of two in their place."""
    pair = [first, second]
    weights = masses[pair] / masses[pair].sum()
    center = weights @ components.centers[pair]
    scatter = np.zeros((len(center), len(center)))
    for k, weight in zip(pair, weights, strict=True):
        gap = components.centers[k] - center
        scatter += weight * (np.outer(gap, gap) + components.widths[k] ** 2 * np.eye(len(center)))
        if components.axes is not None:
            slope = components.axes[k] * components.widths[k] ** 2 / components.ratios[k]
            scatter += weight * np.outer(slope, slope)
    centers, widths, shares = (each.copy() for each in components[:3])
    centers[first] = center
    shares[first] += shares[second]
    replaced = components._replace(centers=centers, widths=widths, shares=shares)
    if components.axes is None:
        widths[first] = np.sqrt(np.trace(scatter) / len(center))
    else:
        values, vectors = np.linalg.eigh(scatter)
        widths[first] = np.sqrt(values[:-1].mean())
        axes = components.axes.copy()
        length = np.sqrt(values[-1:])
        axes[first] = axes_of(vectors[:, -1][None], widths[[first]], length)[0]
        replaced = replaced._replace(axes=axes)
    return replaced.only(np.arange(components.size) != second)
