"""The origin of a computation: a point in the middle of most rows, whatever the others are.

Coordinates are measured from it inside a pass, so that no digits are lost to an offset that rows
have in common. It is a median, feature by feature, of a sample of the rows: a mean would follow one
row that is far enough away, and take the digits of all others with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._data import rows_per_block
from sfumato._sampling import PrioritySample, fixed_draw
from sfumato._typing import Floats

MOST_ROWS, LEAST_ROWS, SAMPLE_VALUES = 1024, 128, 1 << 18
"""Rows of a sample: 1024, or fewer in many dimensions, such that they have at most 262,144 values,
but at least 128. With 30 % of the rows far away in one direction, these are half of a sample of 128
rows once in a million samples. Chosen by hand."""

VERY_FAR = 1e3
"""Distance from the origin, over the typical one, beyond which a row or a center does not count in
a mean. Chosen by hand: without such rows the mean is the plain one."""


def origin_of(rows: NDArray[Any], weights: Floats | None) -> Floats:
    """Median of a fixed sample of the rows of positive weight, feature by feature."""
    index, sampled = _sampled(rows.shape, weights)
    n_features = rows.shape[1]
    origin = np.empty(n_features)
    step = rows_per_block(len(index))
    for start in range(0, n_features, step):  # So that no sample of long rows is in memory.
        block = slice(start, start + step)
        origin[block] = medians(rows[:, block][index], sampled)
    return origin


def sample_for_origin(rows: NDArray[Any], weights: Floats | None, number: int) -> PrioritySample:
    """Sample of chunk ``number``, from which the origin of all chunks follows; samples add up."""
    index, sampled = _sampled(rows.shape, weights)
    count = rows.shape[0] if weights is None else np.count_nonzero(weights)
    # Each row stands for as many as its chunk has.
    own = np.full(len(index), count / max(1, len(index)))
    own = own if sampled is None else own * sampled
    rng = np.random.default_rng([0, number])
    most = _sample_size(rows.shape[1])
    return PrioritySample.of(most, np.asarray(rows[index]), own, own, rng)


def origin_of_sample(sample: PrioritySample) -> Floats:
    """Origin of data in chunks, from the sum of their samples."""
    return medians(*sample.weighted_rows())


def medians(values: NDArray[Any], weights: Floats | None) -> Floats:
    """Median of each column: the smallest value with half of the weight at or below it.

    It is one of the values, not the mean of two, which may be far apart.
    """
    if not len(values):
        return np.zeros(values.shape[1])
    if weights is None:
        middle = (len(values) - 1) // 2
        found: Floats = np.partition(values, middle, axis=0)[middle].astype(np.float64)
        return found
    order = np.argsort(values, axis=0, kind="stable")
    mass = np.cumsum(weights[order], axis=0)
    places = (mass >= mass[-1] / 2).argmax(axis=0)
    chosen = order[places, np.arange(values.shape[1])]
    return values[chosen, np.arange(values.shape[1])].astype(np.float64)


def far_from_origin(distances: Floats, weights: Floats | None) -> float:
    """Distance from the origin from which on a row is very far; infinite, if most rows lie on it.

    ``distances``, of shape (n_rows,), are those of all rows; the typical one is that of a sample.
    """
    index, sampled = _sampled((len(distances), 1), weights)
    typical = float(medians(distances[index, None], sampled)[0])
    return VERY_FAR * typical if typical > 0 else np.inf


def central_point(points: Floats, weights: Floats, spread: float) -> Floats:
    """Weighted mean of points, without those that are very far from the others.

    ``spread`` is a distance between rows, for where the points are few.
    """
    origin = medians(points, weights)
    away = np.linalg.norm(points - origin, axis=1)
    typical = max(float(medians(away[:, None], weights)[0]), spread)
    near = away <= VERY_FAR * typical if typical > 0 else np.ones(len(points), dtype=bool)
    found: Floats = np.average((points - origin)[near], axis=0, weights=weights[near])
    return origin + found


def _sample_size(n_features: int) -> int:
    return int(np.clip(SAMPLE_VALUES // max(1, n_features), LEAST_ROWS, MOST_ROWS))


def _sampled(
    shape: tuple[int, ...], weights: Floats | None
) -> tuple[NDArray[np.intp], Floats | None]:
    """Rows of a fixed sample, and their weights: rows of positive weight only."""
    n_rows, size = shape[0], _sample_size(shape[1])
    index = np.arange(n_rows) if n_rows <= size else fixed_draw(n_rows, size)
    if weights is None:
        return index, None
    index = index[weights[index] > 0]
    if len(index) < LEAST_ROWS < n_rows:  # Most weights are zero.
        index = np.flatnonzero(weights)
        index = index if len(index) <= size else index[fixed_draw(len(index), size)]
    return index, weights[index]
