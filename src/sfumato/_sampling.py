"""Samples of rows: weighted draws, a fixed draw, and priority samples, which add up over chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import row_blocks
from sfumato._typing import Floats

DRAWN_TOGETHER = 1 << 16
"""Weights that are added up at a time for a draw."""

LEAST_UNIFORM = 2.0**-53
"""Stands for a draw of exactly zero."""


def draw(
    weights: Floats,
    order: NDArray[np.integer],
    count: int,
    rng: np.random.RandomState,
    costs: Floats | None = None,
) -> NDArray[np.integer]:
    """Rows drawn with replacement in proportion to their weights, or to weights times costs.

    Weights are added in the given order, block by block, so that no array of their sums is needed.
    """

    def summed(piece: NDArray[np.integer]) -> Floats:
        return np.cumsum(weights[piece] if costs is None else weights[piece] * costs[piece])

    if len(order) <= DRAWN_TOGETHER:  # The same bits, without adding up twice.
        cumulative = summed(order)
        return order[_first_above(cumulative, rng.uniform(size=count) * cumulative[-1])]
    pieces = [
        order[begin : begin + DRAWN_TOGETHER] for begin in range(0, len(order), DRAWN_TOGETHER)
    ]
    ends = np.cumsum([summed(piece)[-1] for piece in pieces])
    targets = rng.uniform(size=count) * ends[-1]
    drawn = np.empty(count, dtype=order.dtype)
    places = _first_above(ends, targets)
    for number in np.unique(places):
        inside = places == number
        before = ends[number - 1] if number else 0.0
        cumulative = summed(pieces[number])
        drawn[inside] = pieces[number][_first_above(cumulative, targets[inside] - before)]
    return drawn


def _first_above(cumulative: Floats, targets: Floats) -> NDArray[np.intp]:
    """Where cumulative sums first exceed the targets, but never behind the last positive weight."""
    last = np.searchsorted(cumulative, cumulative[-1], side="left")
    return np.minimum(np.searchsorted(cumulative, targets, side="right"), last)


def ranking(keys: Floats) -> NDArray[np.integer]:
    """Order that sorts nonnegative keys, equal ones by their place; 4 bytes a row if that will do.

    float32 keys are sorted together with their places as one integer, which takes no more memory
    than the sorting of doubles.
    """
    if len(keys) > np.iinfo(np.uint32).max:
        return np.argsort(keys, kind="stable")
    if keys.dtype != np.float32:
        return np.argsort(keys, kind="stable").astype(np.uint32)
    pairs = np.arange(len(keys), dtype=np.uint64)
    bits = np.ascontiguousarray(keys).view(np.uint32)
    for block in row_blocks(len(keys), 1):
        pairs[block] |= bits[block].astype(np.uint64) << np.uint64(32)
    pairs.sort()
    return pairs.astype(np.uint32)  # The lower half.


def fixed_draw(count: int, size: int) -> NDArray[np.intp]:
    """Some numbers below ``count``, about ``size`` of them, the same ones each time."""
    return np.unique(np.random.RandomState(0).randint(count, size=size))


@dataclass(frozen=True)
class PrioritySample:
    """Rows drawn so that those of larger measure come more often; the sum is drawn from all.

    Each row has a priority, its measure over a uniform number, and the rows of highest priority are
    kept [1]_. With one more, whose priority is the threshold, every weighted sum over all rows has
    an unbiased estimate: row ``i`` counts ``w_i / min(1, measure_i / threshold)``.

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
        """Draw from rows; those of measure zero never come."""
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
        """Draws that will be added, without rows that will not be among the highest of all."""
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
        """Smaller draw, of those of highest priority."""
        kept = _highest(self.priorities, count + 1)
        return PrioritySample(
            count, self.rows[kept], self.weights[kept], self.measures[kept], self.priorities[kept]
        )

    def weighted_rows(self) -> tuple[Any, Floats | None]:
        """Rows, and what each of them stands for; None where all stand for the same."""
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
        """Whether these are all rows that there are."""
        return len(self.priorities) <= self.count

    def _split(self) -> tuple[NDArray[np.intp], float]:
        """Which rows are kept, and the threshold."""
        last = int(np.argmin(self.priorities))
        return np.delete(np.arange(len(self.priorities)), last), float(self.priorities[last])


def _highest(priorities: Floats, count: int) -> NDArray[np.intp]:
    """Where the highest are, in the order in which they came."""
    if len(priorities) <= count:
        return np.arange(len(priorities))
    return np.sort(np.argpartition(-priorities, count - 1)[:count])
