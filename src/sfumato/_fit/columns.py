"""Properties of the rows that distances suffer from: one column of large variance, unit norms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato._data import Data
from sfumato._sampling import fixed_draw
from sfumato._typing import Floats

DOMINANT = 0.99
"""Share of the total variance above which a column makes the clusters alone. Chosen by hand: all
other columns change distances by half a percent."""
TRIMMED = 0.005
"""Share of the values of a column that is left out of its variance at either end, at least one, so
that a few junk values do not count. Chosen by hand."""
TRIMMED_COLUMNS = 64
"""Columns with the largest variances, whose values are trimmed. Of all others the plain variance
counts, which saves sorting them. Chosen by hand."""
COLUMN_ROWS = 4096
"""Rows from which the variances of columns are estimated, within a few percent. Chosen by hand."""
FIRST_ROWS = 32
"""Rows whose norms are looked at before all others. Chosen by hand."""
UNIT = 1e-3
"""Deviation of a norm from 1 that counts as rounding: that of vectors in half precision."""


def has_unit_norms(data: Data) -> bool:
    """Whether all rows are vectors of length 1."""
    first = data.take(slice(0, FIRST_ROWS))  # Most data is none, and shows it at once.
    with np.errstate(over="ignore"):  # An infinite norm is not 1.
        return all(np.abs(n - 1).max() <= UNIT for some in (first, data) for n in _norms(some))


def _norms(data: Data) -> Iterator[Floats]:
    """Norms of the rows, block by block; sparse rows stay sparse."""
    if data.is_sparse:
        yield np.sqrt(data.rows.astype(np.float64).power(2).sum(axis=1))
        return
    for _, rows in data.blocks():
        yield np.sqrt((rows**2).sum(axis=1))


def dominant_column(data: Data) -> tuple[int, float, float] | None:
    """Column with almost all of the variance, its share, and its deviation over that of the next.

    Variances are trimmed, so that a few junk values in a column neither make it dominant nor hide
    another that is. A column that varies only in the values trimmed, such as an indicator of a rare
    category, counts with its plain variance against a dominant one.
    """
    if data.n_rows > COLUMN_ROWS:
        data = data.take(fixed_draw(data.n_rows, COLUMN_ROWS))
    weights, plain = data.weights_or_ones(), _variances(data)
    largest = np.argsort(-plain, kind="stable")[:TRIMMED_COLUMNS]
    trimmed, spread = np.zeros(len(largest)), plain.copy()
    for number, values in enumerate(_columns(data, largest)):
        trimmed[number] = _trimmed_variance(values, weights)
        if trimmed[number] > 0:
            spread[largest[number]] = trimmed[number]
        # Trimmed variances are hardly larger than plain ones, of which those that follow are less.
        seen, most = spread[largest[: number + 1]].sum(), max(trimmed.max(), plain[largest[number]])
        if most <= DOMINANT * (seen + most - trimmed.max()):
            return None
    best = int(np.argmax(trimmed))
    column = int(largest[best])
    share = trimmed[best] / spread.sum() if trimmed[best] > 0 else 0.0
    others = np.delete(spread, column)
    if share <= DOMINANT or not others.max() > 0:
        return None
    return column, float(share), float(np.sqrt(trimmed[best]) / np.sqrt(others.max()))


def _variances(data: Data) -> Floats:
    """Variance of each column; 0 for one that is constant but for rounding."""
    weights = data.weights_or_ones()
    weights = weights / weights.sum()  # So that sums of squares do not overflow.
    mean, squares, magnitude = np.zeros((3, data.n_features))
    if data.is_sparse:
        rows = data.rows.astype(np.float64)
        mean, squares = weights @ rows, weights @ rows.power(2)
        np.maximum.at(magnitude, rows.indices, np.abs(rows.data))
    else:
        first = data.dense(slice(0, 1))[0]
        for block, rows in data.blocks():
            off = rows - first
            mean += weights[block] @ off
            squares += weights[block] @ off**2
            magnitude = np.maximum(magnitude, np.abs(rows).max(axis=0))
    variances = np.maximum(squares - mean**2, 0)
    rounding = 16 * np.finfo(data.dtype).eps * magnitude
    return np.where(variances > rounding**2, variances, 0.0)


def _columns(data: Data, columns: NDArray[np.intp]) -> Iterator[Floats]:
    """Values of some columns, one after the other."""
    if not data.is_sparse:
        yield from (np.asarray(data.rows[:, j], dtype=np.float64) for j in columns)
        return
    chosen = data.rows[:, columns].tocsc()
    for begin, end in pairwise(chosen.indptr):
        values = np.zeros(data.n_rows)
        values[chosen.indices[begin:end]] = chosen.data[begin:end]
        yield values


def _trimmed_variance(values: Floats, weights: Floats) -> float:
    """Variance without the most extreme values."""
    count = max(1, int(np.ceil(TRIMMED * len(values))))
    kept = np.argpartition(values, (count, -count - 1))[count:-count]
    weights = weights[kept] / weights[kept].sum()
    off = values[kept] - values[kept[0]]
    return float(weights @ (off - weights @ off) ** 2)
