"""The first pass over data: sizes, types, range, and the first value or weight that is wrong.

``summarize_range`` reads rows in memory. ``Inspect`` is the pass over data in chunks, whose results
add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._checks import first_bad_weight
from sfumato._data import Chunk, Data, checksum, distinct_rows, row_blocks
from sfumato._origin import sample_for_origin
from sfumato._sampling import PrioritySample
from sfumato._typing import Floats

LINE = 1024
"""Values of a line, as several short rows are reduced together. Chosen by hand."""


class NotFinite(NamedTuple):
    """A value that is not finite, and where it is."""

    value: float
    row: int
    column: int


class NotFiniteError(ValueError):
    """A value is not finite.

    Parameters
    ----------
    value : float
    where : str
        Description of its place.
    """

    def __init__(self, value: float, where: str) -> None:
        what = "NaN" if np.isnan(value) else "infinity (inf)"
        super().__init__(
            f"Input X contains {what}, first at {where}; drop such rows, or fill them in, e.g. "
            "with sklearn.impute.SimpleImputer."
        )
        self.value, self.where = value, where

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.value, self.where)


@dataclass(frozen=True)
class RangeSummary:
    """Range of rows, feature by feature. Summaries of chunks add up.

    Attributes
    ----------
    low, high : ndarray
        Smallest and largest value of each feature; of all together for sparse rows.
    bad : NotFinite or None
        First value that is not finite. If there is one, the other attributes are undefined.
    """

    low: Floats
    high: Floats
    bad: NotFinite | None = None

    def __add__(self, other: RangeSummary) -> RangeSummary:
        return RangeSummary(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.bad or other.bad,
        )

    def largest(self, origin: Floats) -> float:
        """Largest absolute coordinate, measured from the origin."""
        with np.errstate(over="ignore"):
            farthest = max(abs(self.low - origin).max(), abs(self.high - origin).max())
        return float(min(farthest, np.finfo(np.float64).max))

    def spread(self) -> float:
        """Largest difference between two values of one feature."""
        with np.errstate(over="ignore"):
            return float((self.high - self.low).max())


def check_range(
    summary: RangeSummary,
    origin: Floats,
    dtype: np.dtype[np.floating],
    *,
    source: str = "X",
    where: str | None = None,
    mass: float = 1.0,
) -> None:
    """Raise if a value is not finite, or if squared distances, or sums over them, would overflow.

    Two points may lie on opposite sides of the origin. ``where`` describes the place of
    ``summary.bad`` in messages. ``mass`` is the largest weight times the number of rows.
    """
    if summary.bad is not None:
        raise_not_finite(summary.bad, where)
    largest = summary.largest(origin)
    limit = float(np.sqrt(np.finfo(dtype).max / (4.0 * len(origin))))
    summed = float(np.sqrt(np.finfo(np.float64).max / (4.0 * len(origin)) / max(1.0, mass)))
    if summed < largest <= limit:
        raise ValueError(
            f"{source} holds values up to {largest:.3g} away from the median of the data, and "
            f"sample_weight counts its rows up to {mass:.3g} times in all, so that sums of squared "
            f"distances overflow float64; rescale all data, e.g. X / {largest:.1g}, or the weights."
        )
    if largest > limit:
        raise ValueError(
            f"{source} holds values up to {largest:.3g} away from the median of the data, so that "
            f"squared distances overflow {dtype.name} (the limit is {limit:.3g}); rescale all "
            f"data, e.g. X / {largest:.1g}" + or_float64(dtype)
        )
    absolute = summary.largest(np.zeros(1))
    if absolute > np.finfo(np.float64).max / (4 * max(1.0, mass)):
        raise ValueError(
            f"{source} holds values up to {absolute:.3g}, so that sums over its rows overflow "
            f"float64; rescale all data, e.g. X / {absolute:.1g}."
        )


def raise_not_finite(bad: NotFinite, where: str | None = None) -> NoReturn:
    """Raise about a value that is not finite; ``where`` describes its place."""
    raise NotFiniteError(bad.value, where or f"row {bad.row}, column {bad.column}")


def or_float64(dtype: np.dtype[np.floating]) -> str:
    """End of a sentence about the limits of a precision."""
    return ", or pass float64." if dtype == np.float32 else "."


def summarize_range(rows: Any) -> RangeSummary:
    """Range of rows; stops at the first value that is not finite."""
    n_rows, n_features = rows.shape
    if sp.issparse(rows):
        bad = _bad_entry(rows)
        if bad is not None:
            return RangeSummary(np.zeros(1), np.zeros(1), bad)
        extent = np.array([rows.min(), rows.max()], dtype=np.float64)
        return RangeSummary(extent[:1], extent[1:])
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    for block in row_blocks(n_rows, n_features):
        values = np.asarray(rows[block])
        for part in _side_by_side(values):
            np.minimum(low, part.min(axis=0).reshape(-1, n_features).min(axis=0), out=low)
            np.maximum(high, part.max(axis=0).reshape(-1, n_features).max(axis=0), out=high)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            bad = _bad_value(values, block.start)
            if bad is not None:
                return RangeSummary(low, high, bad)
    return RangeSummary(low, high)


def _side_by_side(values: NDArray[Any]) -> list[NDArray[Any]]:
    """Rows in two parts, several in a line each: NumPy reduces few long lines several times faster.

    The second part has the rows that are left over.
    """
    n_rows, n_features = values.shape
    together = max(1, LINE // max(n_features, 1))
    whole = n_rows - n_rows % together
    parts = [values[:whole].reshape(-1, together * n_features), values[whole:]]
    return [part for part in parts if part.size]


def _bad_value(values: NDArray[Any], start: int) -> NotFinite | None:
    if values.dtype.kind != "f":
        return None
    bad = ~np.isfinite(values)
    if not bad.any():
        return None
    row, column = np.argwhere(bad)[0]
    return NotFinite(float(values[row, column]), start + int(row), int(column))


def _bad_entry(rows: sp.csr_array) -> NotFinite | None:
    if rows.dtype.kind != "f":
        return None
    bad = ~np.isfinite(rows.data)
    if not bad.any():
        return None
    entry = int(np.argmax(bad))
    row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
    return NotFinite(float(rows.data[entry]), row, int(rows.indices[entry]))


class Wrong(NamedTuple):
    """The first fault of a chunk: a value, a weight, or the shape or type of the whole."""

    number: int
    """Number of the chunk."""
    value: NotFinite | None = None
    weight: tuple[int, float] | None = None
    """Row, and its weight."""
    problem: str = ""


@dataclass(frozen=True)
class Inspection:
    """Summary of inspected chunks; summaries add up."""

    range: RangeSummary
    sizes: tuple[tuple[int, int, int], ...]
    """Number of each chunk, its rows, and those of positive weight."""
    dtypes: frozenset[str]
    sparse: frozenset[bool]
    """Whether chunks are sparse: one value, unless chunks differ."""
    heaviest: float
    """Largest weight."""
    n_distinct: int
    """Number of distinct rows after which no more are searched for."""
    checksums: tuple[int, ...] = ()
    distinct: frozenset[bytes] = frozenset()
    """Digests of distinct rows of positive weight."""
    wrong: Wrong | None = None
    sample: PrioritySample | None = None
    """Sample from which the origin follows; None if a chunk is sparse or wrong."""

    def __add__(self, other: Inspection) -> Inspection:
        if self.wrong or other.wrong or self.sparse != other.sparse:
            both = self.range  # Unused: validation will raise.
        else:
            both = self.range + other.range
        samples = [each for each in (self.sample, other.sample) if each is not None]
        enough = len(self.distinct) >= self.n_distinct
        return Inspection(
            both,
            self.sizes + other.sizes,
            self.dtypes | other.dtypes,
            self.sparse | other.sparse,
            max(self.heaviest, other.heaviest),
            self.n_distinct,
            self.checksums + other.checksums,
            self.distinct if enough else self.distinct | other.distinct,
            self.wrong or other.wrong,
            samples[0] + samples[1] if len(samples) == 2 else None,
        )


@dataclass(frozen=True)
class Inspect:
    """Pass that summarizes chunks, with a checksum of each if the data is to be recognized."""

    n_features: int
    n_distinct: int = 0
    checksum: bool = False

    description: ClassVar[str] = "inspecting the data"

    def __call__(self, chunk: Chunk) -> Inspection:
        rows, weights = chunk.rows, chunk.weights
        wrong = self._wrong(chunk)
        empty = np.zeros(self.n_features)
        found = RangeSummary(empty, empty)
        if wrong is None:
            found = summarize_range(rows)
        if wrong is None and found.bad is not None:
            wrong = Wrong(chunk.number, value=found.bad)
        counted = rows.shape[0] if weights is None else int((weights > 0).sum())
        return Inspection(
            found,
            ((chunk.number, rows.shape[0], counted),),
            frozenset([rows.dtype.str]),
            frozenset([bool(sp.issparse(rows))]),
            1.0 if weights is None else float(np.max(weights)),
            self.n_distinct,
            (checksum(rows, weights),) if self.checksum else (),
            self._digests(chunk) if wrong is None else frozenset(),
            wrong,
            None if wrong or sp.issparse(rows) else sample_for_origin(rows, weights, chunk.number),
        )

    def _digests(self, chunk: Chunk) -> frozenset[bytes]:
        """Digests of up to ``n_distinct`` distinct rows."""
        if not self.n_distinct:
            return frozenset()
        exact = np.dtype(np.float64)
        data = Data(chunk.rows, chunk.weights, exact, np.zeros(self.n_features))
        found = list(distinct_rows(data, self.n_distinct))[: self.n_distinct]
        return frozenset(blake2b(row, digest_size=8).digest() for row in found)

    def _wrong(self, chunk: Chunk) -> Wrong | None:
        rows, weights = chunk.rows, chunk.weights
        problem = ""
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            problem = f"has shape {rows.shape}, but the first chunk has {self.n_features} columns"
        elif rows.dtype.kind not in "biuf":
            problem = f"is of dtype {rows.dtype}, not of real numbers"
        elif weights is not None and weights.shape != rows.shape[:1]:
            problem = f"has {rows.shape[0]} rows and weights of shape {weights.shape}"
        if problem:
            return Wrong(chunk.number, problem=problem)
        bad = None if weights is None else first_bad_weight(weights)
        if weights is None or bad is None:
            return None
        return Wrong(chunk.number, weight=(bad, float(weights[bad])))
