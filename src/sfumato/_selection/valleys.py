"""Which components are one cluster: those with no valley of the density between them [1]_.

A cluster that is long, bent or uniform is described by several round components. Along the line
between the centers of two components, their rows are compared with three laws: two Gaussians, one
Gaussian, and a law that has a single mode and falls away from it on both sides, with a width and a
shape for each side. Where one of the last two is likelier, there is no valley, and both are one
cluster.

References
----------
.. [1] C. Hennig, "Methods for merging Gaussian mixture components", Advances in Data Analysis and
   Classification 2010.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import expit, gammaln

from sfumato._selection.components import FAINT, Expectation, contrast, surrounding
from sfumato._selection.rows import Rows
from sfumato._typing import Floats

NEIGHBORS = 4
"""Nearest components with which each is compared. Chosen by hand."""
SHALLOW = 0.8
"""Least over largest density between two components of equal height, above which there is no
valley. Chosen by hand: 2.5 widths apart it is 0.9."""
LEAST_EVIDENCE = -3.0
"""Log-likelihood of two Gaussians over that of one mode, below which there is no valley, though two
Gaussians have one; less by the logarithm of the number of pairs that are compared. If they have
none, they are two only if that much more likely. Chosen by hand: of pairs of Gaussian clusters 4
standard deviations apart, with 70 rows each, 2 % are below."""
FLAT = 0.97
"""Least over largest density between two modes, above which there is no valley. Chosen by hand."""
ROUNDS = 15
"""Iterations of EM of the two Gaussians. Chosen by hand."""
RESOLUTION = 1e-3
"""Distance from the mode over the extent of the rows, at least: rows at the mode would otherwise
have any density. Chosen by hand."""
NEAR_LINE = 0.9
"""Share of the rows of two components that are as near to the line between their centers as rows of
others must be to count. Chosen by hand."""
MODES = 40
"""Quantiles that are tried as the mode. Chosen by hand."""
POWERS = np.array([0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30])
"""Shapes of a side: exponential power laws, from heavy tails to nearly uniform."""


def cluster_of_components(rows: Rows, seen: Expectation) -> NDArray[np.intp]:
    """Cluster of each component; -1 for those that are tails of others, or outliers around them."""
    components = seen.components
    clusters = np.arange(components.size)
    clusters[surrounding(components) | (contrast(seen) < FAINT)] = -1
    widths = np.array([components.widths_along(d) for d in _directions(components.centers)])
    distances = cdist(components.centers, components.centers)
    relative = distances / (widths + widths.T)
    pairs = _neighbors(relative, clusters)
    least = LEAST_EVIDENCE - np.log(max(len(pairs), 1))  # Of many pairs, some are far off.
    own = seen.posteriors.argmax(axis=1)
    before = None
    while before is None or (clusters != before).any():
        before = clusters.copy()
        for first, second in pairs:
            known = clusters[first] == clusters[second]
            if not known and _is_one(rows, seen, own, clusters, (first, second), least):
                clusters[clusters == clusters[second]] = clusters[first]
    alive = clusters >= 0
    clusters[alive] = np.unique(clusters[alive], return_inverse=True)[1]
    return clusters


def _directions(centers: Floats) -> Floats:
    """Unit vectors between all centers."""
    gaps = centers[None] - centers[:, None]
    lengths = np.linalg.norm(gaps, axis=2, keepdims=True)
    found: Floats = gaps / np.where(lengths > 0, lengths, 1)
    return found


def _neighbors(relative: Floats, clusters: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Pairs of components that are close for their widths, the closest first."""
    alive = np.flatnonzero(clusters >= 0)
    pairs = set()
    for first in alive:
        others = alive[alive != first]
        for second in others[np.argsort(relative[first, others], kind="stable")[:NEIGHBORS]]:
            pairs.add((int(min(first, second)), int(max(first, second))))
    return sorted(pairs, key=lambda pair: (relative[pair], pair))


def _is_one(
    rows: Rows,
    seen: Expectation,
    own: NDArray[np.intp],
    clusters: NDArray[np.intp],
    pair: tuple[int, int],
    least: float,
) -> bool:
    """Whether two components have no valley between them, by more than the least evidence.

    ``own`` is the component of each row; those of outliers come after the last.
    """
    first, second = pair
    centers = seen.components.centers
    direction = _directions(centers[[second, first]])[0, 1]
    widths = seen.components.widths_along(np.tile(direction, (len(centers), 1)))
    distance = float(np.linalg.norm(centers[second] - centers[first]))
    if depth(distance, widths[first], widths[second]) > SHALLOW:
        return True
    index = np.flatnonzero((own == first) | (own == second))
    if len(index) < 2:
        return False
    both = seen.posteriors[index][:, [first, second]]
    share = both[:, 0] / both.sum(axis=1)
    places = _along(rows, seen, first, second, index)
    others, more = _between(rows, seen, own, clusters, pair, index)
    index, places = np.append(index, others), np.append(places, more)
    share = np.clip(np.append(share, more < distance / 2), 1e-3, 1 - 1e-3)
    weights = rows.weights[index]
    evidence, has_valley = two_gaussians(places, weights, share)
    if evidence - one_gaussian(places, weights) < 1.5 * np.log(max(weights.sum(), 2)):
        return True  # By BIC, with three parameters more.
    evidence -= one_mode(places, weights)
    return evidence < (least if has_valley else -LEAST_EVIDENCE)


def _between(
    rows: Rows,
    seen: Expectation,
    own: NDArray[np.intp],
    clusters: NDArray[np.intp],
    pair: tuple[int, int],
    index: NDArray[np.intp],
) -> tuple[NDArray[np.intp], Floats]:
    """Rows of other components of both clusters, between the centers and as near to the line.

    Components of a cluster that is wide in several directions lie side by side, and have the rows
    of each other's corners: between two of them, there would seem to be a valley.
    """
    mine = np.isin(clusters, clusters[list(pair)])
    mine[list(pair)] = False
    if not mine.any():
        return np.empty(0, dtype=np.intp), np.empty(0)
    begin, end = seen.components.centers[list(pair)]
    length = float(np.linalg.norm(end - begin))
    offsets = rows.values - begin
    along = offsets @ (end - begin) / length
    beside = np.einsum("ij,ij->i", offsets, offsets) - along**2
    widest = np.quantile(beside[index], NEAR_LINE)
    others = np.append(mine, [False, False])[own]
    found = np.flatnonzero(others & (along > 0) & (along < length) & (beside <= widest))
    return found, along[found]


def _along(
    rows: Rows, seen: Expectation, first: int, second: int, index: NDArray[np.intp]
) -> Floats:
    """Places of rows along the line between the centers of two components.

    Each row is left out of the center of its own component: with few rows in many columns, it would
    draw the line toward itself.
    """
    centers, masses = seen.components.centers, seen.masses
    axis = centers[second] - centers[first]
    distance = float(np.linalg.norm(axis))
    mine = seen.posteriors[index, first] >= seen.posteriors[index, second]
    own = np.where(mine, max(masses[first] - 1, 1), max(masses[second] - 1, 1))
    values = rows.values[index]
    squares = ((values - np.where(mine[:, None], centers[first], centers[second])) ** 2).sum(axis=1)
    drawn = np.where(mine, 1, -1) * squares / own
    found: Floats = ((values - centers[first]) @ axis + drawn) / distance
    return found


def depth(distance: float, first: float, second: float, heights: Sequence[float] = (1, 1)) -> float:
    """Least density between two Gaussians over that of the lower mode."""
    if distance == 0:
        return 1.0
    places = np.linspace(0, distance, 65)
    density = heights[0] * np.exp(-((places / first) ** 2) / 2)
    density += heights[1] * np.exp(-(((places - distance) / second) ** 2) / 2)
    least = int(density.argmin())
    return float(density[least] / min(density[: least + 1].max(), density[least:].max()))


def two_gaussians(places: Floats, weights: Floats, share: Floats) -> tuple[float, bool]:
    """Log-likelihood of two Gaussians, and whether they have a valley.

    ``share`` is that of the first in each row, to begin with.
    """
    shares = np.column_stack([share, 1 - share])
    for _ in range(ROUNDS):
        pulls = weights[:, None] * shares
        masses = pulls.sum(axis=0)
        means = (pulls * places[:, None]).sum(axis=0) / masses
        variances = (pulls * (places[:, None] - means) ** 2).sum(axis=0) / masses
        variances = np.maximum(variances, 1e-4 * variances.max() + np.finfo(float).tiny)
        logs = np.log(masses / masses.sum()) - np.log(2 * np.pi * variances) / 2
        logs = logs - (places[:, None] - means) ** 2 / (2 * variances)
        share = expit(logs[:, 0] - logs[:, 1])
        shares = np.clip(np.column_stack([share, 1 - share]), 1e-9, 1)
    widths = np.sqrt(variances)
    least = depth(float(np.ptp(means)), widths[0], widths[1], masses / widths)
    return float(weights @ np.logaddexp(logs[:, 0], logs[:, 1])), least < FLAT


def one_gaussian(places: Floats, weights: Floats) -> float:
    """Log-likelihood of one Gaussian."""
    mean = np.average(places, weights=weights)
    variance = float(np.average((places - mean) ** 2, weights=weights))
    if variance == 0:
        return np.inf
    return -float(weights.sum()) / 2 * float(np.log(2 * np.pi * variance) + 1)


def one_mode(places: Floats, weights: Floats) -> float:
    """Log-likelihood of the best law with one mode and an exponential power law on each side."""
    order = np.argsort(places, kind="stable")
    places, weights = places[order], weights[order]
    sums = np.cumsum(weights)
    modes = np.interp(np.linspace(0.01, 0.99, MODES) * sums[-1], sums, places)
    extent = float(np.ptp(places))
    if extent == 0:
        return np.inf
    distances = np.maximum(np.abs(places - modes[:, None]) / extent, RESOLUTION)
    raised, below = _raised(distances), places < modes[:, None]
    found = _side(raised, weights * below) + _side(raised, weights * ~below)
    total = float(sums[-1])
    return float(found.max()) - total * float(np.log(total) + np.log(extent))


def _raised(distances: Floats) -> list[Floats]:
    """All ``POWERS`` of some distances: products take a tenth of the time."""
    root, second = np.sqrt(distances), distances**2
    third = second * distances
    fifth = third * second
    tenth = fifth**2
    low = [root, root * np.sqrt(root), distances, distances * root]
    return [*low, second, third, fifth, tenth, tenth**2 * tenth]


def _side(raised: list[Floats], weights: Floats) -> Floats:
    """Log-likelihood of the rows on one side of each mode, for the best shape.

    But for the logarithm of the number of all rows. Those of the other side weigh nothing.
    """
    masses = weights.sum(axis=1)
    held = masses > 0
    moments = np.array([np.einsum("ij,ij->i", each, weights)[held] for each in raised])
    scales = np.log(POWERS[:, None] * moments / masses[held]) / POWERS[:, None]
    costs = scales + (gammaln(1 + 1 / POWERS) + 1 / POWERS)[:, None]
    found = np.zeros(len(masses))
    found[held] = masses[held] * (np.log(masses[held]) - costs.min(axis=0))
    return found
