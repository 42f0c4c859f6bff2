"""A first look at rows: their extent, their mean, and the first value that is no number.

Looks at pieces of the data add up to a look at all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import row_blocks
from sfumato._typing import Floats


class NotFinite(NamedTuple):
    """A value that is not finite, and where it is."""

    value: float
    row: int
    column: int

    def error(self, where: str | None = None) -> ValueError:
        """Words about it, with a better name for the place if there is one."""
        what = "NaN" if np.isnan(self.value) else "infinity (inf)"
        where = where or f"row {self.row}, column {self.column}"
        return ValueError(
            f"Input X contains {what}, first at {where}; drop such rows, or fill them in, e.g. "
            "with sklearn.impute.SimpleImputer."
        )


@dataclass(frozen=True)
class RangeSummary:
    """Mean of the rows that count, and extent of all, feature by feature.

    Attributes
    ----------
    half : ndarray of shape (n_features,)
        Half the sum of the rows of positive weight, which overflows later than the sum.
    low, high : ndarray
        Smallest and largest value of each feature; of all together for sparse rows.
    counted : int
        Rows of positive weight.
    bad : NotFinite or None
        First value that is not finite, where there is one; the rest then means nothing.
    """

    half: Floats
    low: Floats
    high: Floats
    counted: int
    bad: NotFinite | None = None

    def __add__(self, other: RangeSummary) -> RangeSummary:
        return RangeSummary(
            self.half + other.half,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.counted + other.counted,
            self.bad or other.bad,
        )

    @property
    def middle(self) -> Floats:
        """Mean of the rows that count; zero where it is out of range."""
        middle = 2 * (self.half / max(1, self.counted))
        return np.where(np.isfinite(middle), middle, 0.0)

    def reach(self, origin: Floats) -> float:
        """Largest coordinate, measured from the origin."""
        with np.errstate(over="ignore"):
            farthest = max(abs(self.low - origin).max(), abs(self.high - origin).max())
        return float(min(farthest, np.finfo(np.float64).max))

    def too_far(
        self, source: str, origin: Floats, dtype: np.dtype[np.floating]
    ) -> ValueError | None:
        """Words for values so far away that squared distances would overflow, if there are any."""
        reach = self.reach(origin)
        limit = float(np.sqrt(np.finfo(dtype).max / (4.0 * len(origin))))
        if reach <= limit:
            return None
        return ValueError(
            f"{source} holds values up to {reach:.3g} away from the mean of the data, so that "
            f"squared distances overflow {dtype.name} (the limit is {limit:.3g}); rescale all "
            f"data, e.g. X / {reach:.1g}" + or_float64(dtype)
        )

    def spread(self) -> float:
        """Largest extent of a feature."""
        with np.errstate(over="ignore"):
            return float((self.high - self.low).max())


def or_float64(dtype: np.dtype[np.floating]) -> str:
    """End of a sentence about the limits of a precision."""
    return ", or pass float64." if dtype == np.float32 else "."


def summarize_range(rows: Any, weights: Floats | None) -> RangeSummary:
    """Look at rows; stops at the first value that is not finite."""
    n_rows, n_features = rows.shape
    if sp.issparse(rows):
        counted = n_rows if weights is None else int((weights > 0).sum())
        bad = _bad_entry(rows)
        if bad is not None:
            return RangeSummary(np.zeros(n_features), np.zeros(1), np.zeros(1), counted, bad)
        extent = np.array([rows.min(), rows.max()], dtype=np.float64)
        return RangeSummary(np.zeros(n_features), extent[:1], extent[1:], counted)
    half = np.zeros(n_features)
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    counted = 0
    for block in row_blocks(n_rows, n_features):
        part = np.asarray(rows[block])
        np.minimum(low, part.min(axis=0), out=low)
        np.maximum(high, part.max(axis=0), out=high)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            bad = _bad_value(part, block.start)
            if bad is not None:
                return RangeSummary(half, low, high, counted, bad)
        if weights is not None:
            part = part[weights[block] > 0]
        half += _halved_sum(part)
        counted += len(part)
    return RangeSummary(half, low, high, counted)


def _halved_sum(part: NDArray[Any]) -> Floats:
    """Half the sum of the rows; where that is finite but the sum is not, terms are halved first."""
    with np.errstate(over="ignore"):
        total: Floats = part.sum(axis=0, dtype=np.float64) / 2
    return total if np.isfinite(total).all() else (part / 2).sum(axis=0, dtype=np.float64)


def _bad_value(part: NDArray[Any], start: int) -> NotFinite | None:
    if part.dtype.kind != "f":
        return None
    bad = ~np.isfinite(part)
    if not bad.any():
        return None
    row, column = np.argwhere(bad)[0]
    return NotFinite(float(part[row, column]), start + int(row), int(column))


def _bad_entry(rows: sp.csr_array) -> NotFinite | None:
    if rows.dtype.kind != "f":
        return None
    bad = ~np.isfinite(rows.data)
    if not bad.any():
        return None
    entry = int(np.argmax(bad))
    row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
    return NotFinite(float(rows.data[entry]), row, int(rows.indices[entry]))
