"""Samples of rows: weighted draws, a fixed draw, and priority samples, which add up over chunks.

Samples grow with the number of clusters k, never with the data. The sizes for data in memory are
chosen by hand. Robust seeding (``_init/robust.py``) makes several fits to 2048 + 32 k rows. The
pilot fit (``_init/base.py``) estimates dimensions within clusters from 4096 + 64 k rows. Cluster
radii (``_outliers.py``) are quantiles, for which 16384 + 64 k rows are passed over a few times.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import row_blocks
from sfumato._typing import Floats

SUMMED_ROWS = 1 << 16
"""Rows whose weights are summed at a time in a draw: 512 kB of cumulative sums. Chosen by hand."""

KEPT_SAMPLES = 4
"""Rows of samples that are kept until they are trimmed, over those of one. Chosen by hand."""

LEAST_UNIFORM = 2.0**-53
"""Smallest positive uniform number of NumPy's generators; replaces zero, which has no inverse."""


def draw(
    weights: Floats,
    order: NDArray[np.integer],
    count: int,
    rng: np.random.RandomState,
    costs: Floats | None = None,
) -> NDArray[np.integer]:
    """Rows drawn with replacement in proportion to their weights, or to weights times costs.

    Weights are summed in the given order, ``SUMMED_ROWS`` at a time, so that the cumulative sums of
    all rows are never in memory.
    """

    def summed(rows: NDArray[np.integer]) -> Floats:
        return np.cumsum(weights[rows] if costs is None else weights[rows] * costs[rows])

    if len(order) <= SUMMED_ROWS:  # The same bits as below, summed once.
        cumulative = summed(order)
        return order[_first_above(cumulative, rng.uniform(size=count) * cumulative[-1])]
    blocks = [order[begin : begin + SUMMED_ROWS] for begin in range(0, len(order), SUMMED_ROWS)]
    ends = np.cumsum([summed(block)[-1] for block in blocks])
    targets = rng.uniform(size=count) * ends[-1]
    drawn = np.empty(count, dtype=order.dtype)
    places = _first_above(ends, targets)
    for number in np.unique(places):
        inside = places == number
        before = ends[number - 1] if number else 0.0
        cumulative = summed(blocks[number])
        drawn[inside] = blocks[number][_first_above(cumulative, targets[inside] - before)]
    return drawn


def _first_above(cumulative: Floats, targets: Floats) -> NDArray[np.intp]:
    """Index of the first cumulative sum above each target, at most that of the last increase."""
    last = np.searchsorted(cumulative, cumulative[-1], side="left")
    return np.minimum(np.searchsorted(cumulative, targets, side="right"), last)


def ranking(keys: Floats) -> NDArray[np.integer]:
    """Stable order that sorts nonnegative keys, as uint32 if there are fewer than 2^32.

    float32 keys are sorted together with their indices as one integer, which takes no more memory
    than sorting doubles. NumPy sorts doubles several times faster if it need not be stable, which
    matters only for equal ones.
    """
    if keys.dtype != np.float32 or len(keys) > np.iinfo(np.uint32).max:
        found = np.argsort(keys)
        ordered = keys[found]
        if (ordered[1:] == ordered[:-1]).any():
            found = np.argsort(keys, kind="stable")
        return found if len(keys) > np.iinfo(np.uint32).max else found.astype(np.uint32)
    pairs = np.arange(len(keys), dtype=np.uint64)
    bits = np.ascontiguousarray(keys).view(np.uint32)
    for block in row_blocks(len(keys), 1):
        pairs[block] |= bits[block].astype(np.uint64) << np.uint64(32)
    pairs.sort()
    return pairs.astype(np.uint32)  # The lower half.


@lru_cache(maxsize=8)
def fixed_draw(count: int, size: int) -> NDArray[np.intp]:
    """About ``size`` sorted, distinct numbers below ``count``, the same in every call.

    A fit asks for the same sample several times; the array is read-only.
    """
    drawn = np.unique(np.random.RandomState(0).randint(count, size=size))
    drawn.setflags(write=False)
    return drawn


def fixed_rows(count: int, size: int, seed: int) -> NDArray[np.int64]:
    """Sorted, distinct numbers below ``count``: all, or exactly ``size``; always the same."""
    if count <= size:
        return np.arange(count)
    drawn = np.random.default_rng(seed).choice(count, size, replace=False, shuffle=False)
    return np.sort(drawn).astype(np.int64)


@dataclass(frozen=True)
class PrioritySample:
    """Priority sample: rows drawn by their measures, without replacement. Samples add up.

    Row i has the priority ``measure_i / u_i`` with ``u_i`` uniform in (0, 1), and the ``count``
    rows of highest priority are the sample [1]_. The next highest priority is the threshold. Every
    weighted sum over all rows then has an unbiased estimate from the sample, in which row i gets
    the weight ``w_i / min(1, measure_i / threshold)``.

    The row of the threshold is stored with the sample. If there are at most ``count`` rows of
    positive measure, all are in the sample, with their own weights.

    References
    ----------
    .. [1] N. Duffield, C. Lund, M. Thorup, "Priority sampling for estimation of arbitrary subset
       sums", Journal of the ACM 54, 2007.
    """

    count: int
    rows: Any
    weights: Floats
    measures: Floats
    priorities: Floats

    @classmethod
    def of(
        cls, count: int, rows: Any, weights: Floats, measures: Floats, rng: np.random.Generator
    ) -> PrioritySample:
        """Sample of some rows; rows of measure zero are never drawn."""
        uniform = np.maximum(rng.random(len(measures)), LEAST_UNIFORM)
        priorities = measures / uniform
        kept = _highest(priorities, count + 1)
        kept = kept[priorities[kept] > 0]
        return cls(count, rows[kept], weights[kept], measures[kept], priorities[kept])

    def __add__(self, other: PrioritySample) -> PrioritySample:
        if not len(other.priorities):
            return self
        if not len(self.priorities):
            return other
        stack: Any = sp.vstack if sp.issparse(self.rows) else np.concatenate
        rows = stack([self.rows, other.rows])
        weights = np.concatenate([self.weights, other.weights])
        measures = np.concatenate([self.measures, other.measures])
        priorities = np.concatenate([self.priorities, other.priorities])
        kept = _highest(priorities, self.count + 1)
        rows = sp.csr_array(rows)[kept] if sp.issparse(rows) else rows[kept]
        return PrioritySample(self.count, rows, weights[kept], measures[kept], priorities[kept])

    @classmethod
    def trimmed(cls, draws: Sequence[PrioritySample]) -> list[PrioritySample]:
        """Samples to be added, without rows that cannot be in their sum."""
        together = np.concatenate([each.priorities for each in draws])
        most = draws[0].count + 1
        if len(together) <= most:
            return list(draws)
        least = np.partition(together, -most)[-most]
        return [each._only(np.flatnonzero(each.priorities >= least)) for each in draws]

    def _only(self, kept: NDArray[np.intp]) -> PrioritySample:
        return replace(
            self,
            rows=self.rows[kept],
            weights=self.weights[kept],
            measures=self.measures[kept],
            priorities=self.priorities[kept],
        )

    def fewer(self, count: int) -> PrioritySample:
        """Smaller sample, of the rows of highest priority."""
        kept = _highest(self.priorities, count + 1)
        return PrioritySample(
            count, self.rows[kept], self.weights[kept], self.measures[kept], self.priorities[kept]
        )

    def weighted_rows(self) -> tuple[Any, Floats | None]:
        """Rows of the sample and their weights; None if all weights are equal."""
        if self._whole:
            return self.rows, None if np.all(self.weights == 1) else self.weights
        kept, threshold = self._split()
        weights = self.weights[kept] / np.minimum(1.0, self.measures[kept] / threshold)
        return self.rows[kept], None if np.ptp(weights) == 0 else weights

    def total(self) -> float:
        """Estimate of the sum of the measures of all rows."""
        if self._whole:
            return float(self.measures.sum())
        kept, threshold = self._split()
        return float(np.maximum(self.measures[kept], threshold).sum())

    @property
    def _whole(self) -> bool:
        """Whether the sample has all rows of positive measure."""
        return len(self.priorities) <= self.count

    def _split(self) -> tuple[NDArray[np.intp], float]:
        """Indices of the rows of the sample, and the threshold."""
        last = int(np.argmin(self.priorities))
        return np.delete(np.arange(len(self.priorities)), last), float(self.priorities[last])


def _highest(priorities: Floats, count: int) -> NDArray[np.intp]:
    """Indices of the ``count`` highest priorities, ascending."""
    if len(priorities) <= count:
        return np.arange(len(priorities))
    return np.sort(np.argpartition(-priorities, count - 1)[:count])


def lightweight_coreset(
    losses: Floats, weights: Floats | None, count: int, rng: np.random.RandomState
) -> PrioritySample:
    """Sample of row numbers, half by weight and half by weight times loss.

    Rows are drawn block by block, so that nothing but the losses has the size of the data.
    """
    ones = np.ones(SUMMED_ROWS)
    blocks = [
        slice(b, min(b + SUMMED_ROWS, len(losses))) for b in range(0, len(losses), SUMMED_ROWS)
    ]

    def weights_of(block: slice) -> Floats:
        return ones[: block.stop - block.start] if weights is None else weights[block]

    mass = sum(float(weights_of(block).sum()) for block in blocks)
    total = sum(float(weights_of(block) @ losses[block]) for block in blocks)
    generator = np.random.default_rng(rng.randint(np.iinfo(np.int32).max))
    drawn: list[PrioritySample] = []
    for block in blocks:
        rows, own = np.arange(block.start, block.stop), weights_of(block)
        measures = own * (1 / mass + losses[block] / total) if total > 0 else own / mass
        drawn.append(PrioritySample.of(count, rows, own, measures, generator))
        if sum(len(each.priorities) for each in drawn) > KEPT_SAMPLES * count:
            drawn = PrioritySample.trimmed(drawn)
    return reduce(operator.add, PrioritySample.trimmed(drawn))
