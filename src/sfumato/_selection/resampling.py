"""Criteria that compare with other rows: with uniform ones (gap), and with one half of the rows.

Both need clusterings of their own, which are hard and short.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sfumato._data import Data
from sfumato._distances import squared_distances
from sfumato._engines.base import ResidentEngine
from sfumato._engines.native import NativeEngine
from sfumato._init.base import KMeansPlusPlus
from sfumato._problem import Problem
from sfumato._selection.indices import Extent, prediction_strength
from sfumato._solvers.descent import Stopping, solve
from sfumato._typing import Floats
from sfumato.losses import Squared
from sfumato.memberships import Hard

REFERENCE_ROWS = 500
"""Rows of a uniform reference, and of each half of the rows, at most. Chosen by hand."""
STARTS = 3
"""Starts of the clusterings of each half of the rows. Chosen by hand."""
SHORT = Stopping(max_iter=10, tol=1e-3)
"""Iterations and relative tolerance of the hard clusterings. Chosen by hand."""


class Gap(NamedTuple):
    """Gap statistic of one number of clusters.

    Attributes
    ----------
    value : float
        How much smaller the logarithm of the dispersion is than that of uniform rows.
    error : float
        Standard error of the simulation.
    """

    value: float
    error: float


def engine_on(values: Floats) -> ResidentEngine:
    """Engine for hard clusters of some rows."""
    data = Data(values, None, np.dtype(np.float64), values.mean(axis=0))
    return NativeEngine(data, Problem(Squared(), Hard()), 1)


class HardClusters:
    """Hard clusters of some rows, for several numbers: greedy k-means++ and a few iterations.

    Seeds are drawn once: the first ones are the seeds of a smaller number.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
    most : int
        Largest number of clusters.
    rng : numpy.random.RandomState
    starts : int, default=1
        The best of so many.
    """

    def __init__(
        self, values: Floats, most: int, rng: np.random.RandomState, starts: int = 1
    ) -> None:
        self.engine = engine_on(values)
        self.seeds = [KMeansPlusPlus().centers(self.engine, most, rng) for _ in range(starts)]

    def centers(self, count: int) -> Floats:
        """Centers of so many clusters."""
        found = [solve(self.engine, seeds[:count], SHORT) for seeds in self.seeds]
        return min(found, key=lambda each: each.objective).centers


def uniform_dispersions(
    extent: Extent,
    counts: Sequence[int],
    n_rows: int,
    n_references: int,
    rng: np.random.RandomState,
) -> Floats:
    """Logarithms of the dispersion of clusters of uniform rows, (n_references, n_counts)."""
    size = max(min(n_rows, REFERENCE_ROWS), max(counts))
    found = np.empty((n_references, len(counts)))
    for number in range(n_references):
        drawn = rng.uniform(extent.low, extent.high, size=(size, len(extent.low)))
        clusters = HardClusters(drawn, max(counts), rng)
        for place, count in enumerate(counts):
            squares = squared_distances(drawn, clusters.centers(count)).min(axis=1).sum()
            found[number, place] = log_dispersion(float(squares), size, count)
    return found


def log_dispersion(squares: float, n_rows: float, count: int) -> float:
    """Logarithm of the sum of squares of clusters, by degrees of freedom."""
    tiny = float(np.finfo(float).tiny)
    return float(np.log(max(squares, tiny) / max(n_rows - count, 1)))


def gap(dispersion: float, references: Floats) -> Gap:
    """Gap statistic from the logarithms of the dispersions of the data and of the references."""
    error = float(references.std() * np.sqrt(1 + 1 / len(references)))
    return Gap(float(references.mean()) - dispersion, error)


def prediction_strengths(
    values: Floats, counts: Sequence[int], rng: np.random.RandomState
) -> Floats:
    """Prediction strength of each number: the mean over both halves of the rows."""
    order = rng.permutation(len(values))[: 2 * REFERENCE_ROWS]
    halves = [values[order[: len(order) // 2]], values[order[len(order) // 2 :]]]
    found = np.full(len(counts), np.nan)
    if not len(halves[0]):
        return found
    most = min(max(counts), len(halves[0]))
    clusters = [HardClusters(half, most, rng, STARTS) for half in halves]
    for place, count in enumerate(counts):
        if count > most:
            continue
        centers = [each.centers(count) for each in clusters]
        tables = [contingency(halves[i], centers[i], centers[1 - i]) for i in (0, 1)]
        found[place] = np.mean([prediction_strength(table) for table in tables])
    return found


def contingency(
    rows: Any, centers: Floats, others: Floats, weights: Floats | None = None
) -> Floats:
    """Number of rows, or their weight, by their nearest center, and by the nearest of others."""
    mine = squared_distances(rows, centers).argmin(axis=1)
    its = squared_distances(rows, others).argmin(axis=1)
    shape = len(centers), len(others)
    counts = np.bincount(mine * shape[1] + its, weights, shape[0] * shape[1])
    return counts.reshape(shape).astype(np.float64)
