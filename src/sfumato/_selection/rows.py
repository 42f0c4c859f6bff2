"""Rows on which numbers of clusters are compared: a sample of bounded size, made continuous.

- Rows are drawn in proportion to their weights, which then count as numbers of rows.
- Columns of two values, as of categories that are one-hot encoded, or of numbers of which many are
  the same, as zeros, are left out if they hold a small part of the variance: such values are no
  round clusters, whatever the other columns say.
- Columns with few different values get a jitter of their resolution, so that equal values are no
  clusters of their own.
- Many columns are projected onto the principal axes of the directions of the rows, which outliers
  cannot turn [1]_: the number of parameters of a cluster is that of its columns. Thousands of
  columns, as of words, are first mixed at random into fewer, which keeps distances [2]_.

References
----------
.. [1] N. Locantore et al., "Robust principal component analysis for functional data", Test 1999.
.. [2] P. Li, T. J. Hastie, K. W. Church, "Very sparse random projections", KDD 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array
from sklearn.random_projection import SparseRandomProjection

from sfumato._engines.base import Engine, ResidentEngine
from sfumato._native import core
from sfumato._outliers import row_weight, weighted_median
from sfumato._resolution import has_spike, steps_of
from sfumato._sampling import PrioritySample
from sfumato._typing import Floats

SAMPLE_ROWS = 4096
"""Rows of the sample. Chosen by hand: 40 clusters have a hundred each."""
MAX_COLUMNS = 50
"""Columns above which rows are projected onto that many axes. Chosen by hand: 50 clusters 5
standard deviations apart fit into them."""
MOST_COLUMNS, MIXED_COLUMNS = 2048, 1024
"""Columns above which they are mixed at random, and into how many. Chosen by hand: distances to a
center change by some 2 %, and a sample of 100,000 columns takes 32 MB instead of 3 GB."""
BLOCK_VALUES = 1 << 22
"""Values that are made dense at a time: 32 MB. Chosen by hand."""
LEAST_WIDTH = 1e-2
"""Width of a cluster over that of all rows, at least. Chosen by hand."""
LEAST_SPREAD = 1e-3
"""Spread of a column over that of the widest, at least. Chosen by hand."""
REPEATED = 0.5
"""Share of different values in a column, below which it gets a jitter. Chosen by hand."""
TWO_VALUES = 0.9
"""Share of the two commonest values of a column, from which on it is one of two values. Chosen by
hand: missing categories may be filled by other values."""
SAME = 1e-6
"""Difference over the range of a column, below which two values are the same: means of ones may
come out as a little less or more than one. Chosen by hand."""
SMALL_PART = 1 / 3
"""Part of the variance of all columns, up to which columns of two values are left out. Chosen by
hand."""
TRIMMED = (0.01, 0.99)
"""Quantiles to which values are cut before that variance is taken. Chosen by hand."""
MOST_PARTS = 32
"""Parts at most into which a row that stands for several is divided. Chosen by hand."""


class Rows(NamedTuple):
    """Sampled rows and what the density of outliers is made of.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
        Number of rows that each stands for.
    box : float
        Log-density of the uniform distribution over the bounding box.
    middle, spread : ndarray of shape (n_columns,)
        Median and half of the interquartile range of each column.
    least_width : float
        Width of a cluster at least.
    cost : float
        What the parameters of a linear map that was applied to the rows cost in the criterion.
    different : int
        Number of different rows, before a jitter.
    """

    values: Floats
    weights: Floats
    box: float
    middle: Floats
    spread: Floats
    least_width: float
    cost: float
    different: int

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> Rows | None:
        """Rows with positive weights; None if all are the same."""
        if not np.ptp(values, axis=0).any():
            return None
        return cls._measured(scaled(values, weights), weights, len(values))

    @classmethod
    def _measured(cls, values: Floats, weights: Floats, different: int, cost: float = 0.0) -> Rows:
        """Rows as they are, which differ, and what the density of outliers is made of."""
        n_columns, total = values.shape[1], float(weights.sum())
        low, middle, high = weighted_quantiles(values, weights, (0.25, 0.5, 0.75))
        deviations = np.sqrt(np.average((values - middle) ** 2, axis=0, weights=weights))
        spread = np.where(high > low, (high - low) / 2, deviations)
        spread = np.maximum(spread, LEAST_SPREAD * spread.max())
        beyond = (total + 1) / max(total - 1, 1.0)  # The range of a uniform law over that of rows.
        sides = np.maximum(np.ptp(values, axis=0) * beyond, spread)
        distance = weighted_median(np.linalg.norm(values - middle, axis=1), weights)
        width = (distance or float(deviations.max())) / np.sqrt(n_columns)
        box = -float(np.log(sides).sum())
        return cls(values, weights, box, middle, spread, LEAST_WIDTH * width, cost, different)

    def whitened(self, covariance: Floats) -> Rows:
        """Rows in which clusters of a covariance are round; the volume stays the same.

        The map costs half of the logarithm of the number of rows for each of its parameters.
        """
        values, axes = np.linalg.eigh(covariance)
        values = np.maximum(values, LEAST_SPREAD**2 * values[-1])
        scales = np.exp(np.log(values).mean() / 2) / np.sqrt(values)
        parameters = self.n_columns * (self.n_columns + 1) / 2 - 1
        cost = parameters / 2 * float(np.log(max(self.total, 2.0)))
        found = self.values @ (axes * scales) @ axes.T
        return self._measured(found, self.weights, self.different, cost)

    @classmethod
    def drawn(cls, engine: Engine, rng: np.random.RandomState) -> Rows | None:
        """Sample of the rows of an engine; None if all are the same.

        Rows that are equal are one, of their common weight, and rows are sorted: so neither copies
        nor the order of the rows matter.
        """
        values, weights = _sample(engine, rng)
        values = without_indicators(values)
        weights = weights / row_weight(weights)
        values, places = np.unique(values, axis=0, return_inverse=True)
        weights = np.bincount(places.ravel(), weights).astype(np.float64)
        found, weights = jittered(values, weights, rng)
        rows = cls.of(project(found, weights), weights)
        return None if rows is None else rows._replace(different=len(values))

    @property
    def total(self) -> float:
        """Number of rows, copies included."""
        return float(self.weights.sum())

    @property
    def native(self) -> core.RowsFloat64:
        """The values, as the compiled passes take them."""
        return core.RowsFloat64.dense(self.values, np.zeros(self.n_columns))

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.values.shape[1]


def _sample(engine: Engine, rng: np.random.RandomState) -> tuple[Floats, Floats]:
    """Rows of positive weight around the origin, at most ``SAMPLE_ROWS``, and their weights.

    They are drawn without replacement: rows that are drawn twice would look like dense places.
    """
    seed = rng.randint(np.iinfo(np.int32).max)  # One draw, wherever the rows are.
    if isinstance(engine, ResidentEngine):
        order = engine.order()
        weights = engine.data.weights_or_ones()[order]
        generator = np.random.default_rng(seed)
        drawn = PrioritySample.of(SAMPLE_ROWS, order, weights, weights, generator)
        index, found = drawn.weighted_rows()
        values = _taken(engine, np.asarray(index))
        return values, np.ones(len(values)) if found is None else found.astype(np.float64)
    sample = engine.subsample(SAMPLE_ROWS, np.random.RandomState(seed))
    weights = sample.data.weights_or_ones()
    positive = np.flatnonzero(weights > 0)
    return _taken(sample, positive), weights[positive].astype(np.float64)


def _taken(engine: ResidentEngine, index: NDArray[np.integer]) -> Floats:
    """Rows around the origin; of very many columns, random mixtures of them."""
    if engine.n_features <= MOST_COLUMNS:
        return engine.take(index) - engine.origin
    mixing = SparseRandomProjection(MIXED_COLUMNS, random_state=0, dense_output=True)
    mixing.fit(csr_array((1, engine.n_features)))
    blocks = np.array_split(index, -(-len(index) * engine.n_features // BLOCK_VALUES))
    return np.vstack([mixing.transform(engine.take(block) - engine.origin) for block in blocks])


def weighted_quantiles(values: Floats, weights: Floats, shares: Sequence[float]) -> Floats:
    """Smallest values with a share of the weight at or below them, for each share and column."""
    found = np.empty((len(shares), values.shape[1]))
    for column, numbers in enumerate(values.T):
        order = np.argsort(numbers, kind="stable")
        sums = np.cumsum(weights[order])
        places = np.searchsorted(sums, np.asarray(shares) * sums[-1] * (1 - 1e-12))
        found[:, column] = numbers[order[np.minimum(places, len(order) - 1)]]
    return found


def scaled(values: Floats, weights: Floats) -> Floats:
    """Rows around their median, in units of about their median distance: a power of two."""
    centered = values - weighted_quantiles(values, weights, (0.5,))[0]
    largest = float(np.abs(centered).max())
    lengths = np.linalg.norm(centered / largest, axis=1)
    typical = weighted_median(lengths, weights) or float(np.average(lengths, weights=weights))
    exponent = int(np.floor(np.log2(typical) + np.log2(largest)))
    return np.ldexp(centered, -exponent)


def without_indicators(values: Floats) -> Floats:
    """Rows without columns of two values or a spike, if these hold a small part of the variance."""
    two = np.array([_has_two_values(c) or has_spike(c) for c in values.T], dtype=bool)
    if not two.any() or two.all():
        return values
    low, high = np.quantile(values, TRIMMED, axis=0)
    variances = np.where(two, values.var(axis=0), np.clip(values, low, high).var(axis=0))
    if variances[two].sum() > SMALL_PART * variances.sum():
        return values
    return values[:, ~two]


def _has_two_values(column: Floats) -> bool:
    """Whether nearly all rows have the least or the largest value, and few one between."""
    different, counts = np.unique(column, return_counts=True)
    if len(counts) < 2:
        return False
    places = (different - different[0]) / (different[-1] - different[0])
    low, high = places < SAME, places > 1 - SAME
    ends = counts[low].sum(), counts[high].sum()
    between = counts[~low & ~high].max(initial=0)
    return bool(sum(ends) >= TWO_VALUES * len(column) and min(ends) >= between)


def jittered(values: Floats, weights: Floats, rng: np.random.RandomState) -> tuple[Floats, Floats]:
    """Rows with a jitter of the resolution in columns of repeated values, and their weights.

    Rows that stand for several are divided. Columns of one or two different values stay as they
    are: those may be the clusters.
    """
    steps = np.zeros(values.shape)
    for column in range(values.shape[1]):
        different = np.unique(values[:, column])
        if 2 < len(different) < REPEATED * weights.sum():
            steps[:, column] = steps_of(values[:, column], weights)
    if not steps.any():
        return values, weights
    parts = np.clip(np.floor(weights), 1, MOST_PARTS).astype(np.intp)
    found = np.repeat(values, parts, axis=0)
    found += np.repeat(steps, parts, axis=0) * rng.uniform(-0.5, 0.5, size=found.shape)
    return found, np.repeat(weights / parts, parts)


def project(values: Floats, weights: Floats) -> Floats:
    """Rows on the principal axes of their directions from the middle, if columns are many."""
    if values.shape[1] <= MAX_COLUMNS:
        return values
    centered = values - weighted_quantiles(values, weights, (0.5,))[0]
    lengths = np.linalg.norm(centered, axis=1, keepdims=True)
    directions = np.sqrt(weights)[:, None] * centered / np.where(lengths > 0, lengths, 1)
    n_columns = values.shape[1]
    highest = n_columns - MAX_COLUMNS, n_columns - 1
    axes = eigh(directions.T @ directions, subset_by_index=highest)[1][:, ::-1]
    found: Floats = centered @ axes
    return found
