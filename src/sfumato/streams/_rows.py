"""Rows of chunks: checks of numbers and weights, the transpose of columns into rows, buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato import _checks
from sfumato._data import sparse_problem
from sfumato._native import core
from sfumato.exceptions import StreamError

NUMBERS = "biuf"
"""Kinds of NumPy types that hold real numbers."""

BEST_COMPRESSION = 1032
"""Largest ratio of sizes before and after compression, by the format of DEFLATE."""

TRANSPOSED_BYTES = 1 << 18
"""Bytes of the block of rows that is written column by column. It must stay in the cache until all
columns are in; with 131,072 rows of 32 doubles, blocks of 512 to 8,192 rows took 0.4 of the time of
one block."""

AHEAD = 1
"""Chunks that wait in the prefetch queue of a pass; one more is being read meanwhile."""

RING = AHEAD + 2
"""Buffers of a ring: one in use by the consumer, ``AHEAD`` waiting, one being filled."""

CACHE_LINE = 64
"""Bytes of a cache line; loads of vectors that straddle two lines are slower."""

GROWTH = 1.25
"""Factor by which an array grows whose number of rows is not known; chosen by hand. Up to a fifth
of its memory is unused until all rows are there."""


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Type of the rows of chunks that are made from numbers of this type."""
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return np.dtype(np.float64)  # Half and extended precision: nothing computes in them.
    return dtype.newbyteorder("=")


def check_rows(values: Any, source: str, first_row: int = 0) -> Any:
    """Rows as an ndarray or csr_array of numbers in a native type; copied only if necessary.

    Parameters
    ----------
    values : array-like, masked array or sparse array of shape (n_rows, n_features)
        Masked entries become NaN.
    source : str
        Name of the origin, for messages.
    first_row : int, default=0
        Number of the first row within that origin, for messages.
    """
    if sp.issparse(values):
        refuse_broken(values, source)
        rows: Any = values if isinstance(values, sp.csr_array) else sp.csr_array(values)
    elif isinstance(values, np.ma.MaskedArray):
        _check_kind(values.data, source, first_row)
        rows = np.where(np.ma.getmaskarray(values), np.nan, values.data)
    else:
        rows = _as_array(values, source)
    if rows.ndim != 2:
        raise StreamError(
            f"{source} has the shape {rows.shape}; give rows in two dimensions, rows by "
            "features: reshape(1, -1) makes a single row of them, reshape(-1, 1) single numbers."
        )
    _check_kind(rows, source, first_row)
    return rows.astype(native(rows.dtype), copy=False)


def refuse_broken(values: Any, source: str) -> None:
    """Raise StreamError if a sparse matrix has indices out of range, or a wrong ``indptr``."""
    problem = sparse_problem(values)
    if problem is not None:
        raise StreamError(f"{source} {problem}.")


def _as_array(values: Any, source: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise StreamError(
            f"{source} is a {type(values).__name__} that makes no array ({error}); give "
            "rows of equal length."
        ) from error


def _check_kind(rows: Any, source: str, first_row: int) -> None:
    if rows.dtype.kind in NUMBERS:
        return
    if rows.dtype.kind == "c":
        raise StreamError(
            f"{source} holds complex numbers ({rows.dtype}); give real ones, for example "
            "their real and imaginary parts as two columns."
        )
    raise StreamError(
        f"{source} holds {rows.dtype}, not numbers{_first_word(rows, first_row)}; leave "
        "such columns out, or convert them to float."
    )


def _first_word(rows: Any, first_row: int) -> str:
    """Value and place of the first entry that is no number, for a message."""
    if sp.issparse(rows) or rows.ndim != 2 or rows.dtype.kind not in "OUS":
        return ""
    for (row, column), value in np.ndenumerate(rows):
        if not isinstance(value, (int, float, np.number, np.bool_)):
            shown = value.item() if isinstance(value, np.generic) else value
            return f": {shown!r} in row {first_row + row} (counting from 0), column {column}"
    return ""


def check_weights(values: Any, n_rows: int, source: str, first_row: int = 0) -> NDArray[np.float64]:
    """Weights as float64 of shape (n_rows,), finite and nonnegative."""
    name = f"The array of weights of {source}"
    return _checks.check_weights(values, n_rows, name=name, first_row=first_row, error=StreamError)


def transpose_columns(columns: Sequence[NDArray[Any]], out: NDArray[Any]) -> None:
    """Write columns, of shape (n_rows,) each, into the C-ordered rows of ``out``."""
    alike = all(column.dtype == out.dtype and column.flags.c_contiguous for column in columns)
    if alike and out.dtype in (np.float32, np.float64) and out.flags.c_contiguous:
        core.transpose(list(columns), out)
        return
    step = max(16, TRANSPOSED_BYTES // max(1, out.itemsize * out.shape[1]))
    for start in range(0, out.shape[0], step):
        block = out[start : start + step]
        for column, values in enumerate(columns):
            block[:, column] = values[start : start + step]


class BufferRing:
    """Ring of ``RING`` buffers that are used in turn, so that a pass allocates no new memory.

    A buffer is allocated when first needed and grows to the largest chunk.
    """

    def __init__(self) -> None:
        self._buffers: list[NDArray[np.uint8]] = [np.empty(0, np.uint8) for _ in range(RING)]
        self._turn = 0

    def rows(self, n_rows: int, n_features: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the next buffer as an array of shape (n_rows, n_features), not initialized."""
        size = n_rows * n_features * dtype.itemsize
        self._turn = (self._turn + 1) % len(self._buffers)
        if self._buffers[self._turn].size < size:
            spare = np.empty(size + CACHE_LINE, np.uint8)
            skip = -spare.ctypes.data % CACHE_LINE
            self._buffers[self._turn] = spare[skip : skip + size]
        found = self._buffers[self._turn][:size].view(dtype)
        return found.reshape(n_rows, n_features)


class RowStack:
    """Arrays of consecutive rows one below the other: ndarrays, CSR or Arrow arrays.

    Dense rows are written into one array, which grows if their number is not known, so that there
    is never a second copy of all of them.

    Parameters
    ----------
    n_rows : int or None
        Number of all rows, if known.
    """

    def __init__(self, n_rows: int | None) -> None:
        self._expected, self._end = n_rows or 0, 0
        self._dense: NDArray[Any] | None = None
        self._parts: list[Any] = []

    def add(self, part: Any) -> None:
        """Append a copy of the rows of a chunk; None is ignored."""
        if isinstance(part, np.ndarray):
            self._add_dense(part)
        elif part is not None:  # Arrow arrays are never written to.
            self._parts.append(part.copy() if sp.issparse(part) else part)

    def _add_dense(self, part: NDArray[Any]) -> None:
        begin, self._end = self._end, self._end + len(part)
        if self._dense is None:
            self._dense = np.empty((max(self._expected, len(part)), *part.shape[1:]), part.dtype)
        elif self._dense.dtype != part.dtype:
            self._dense = self._dense.astype(np.result_type(self._dense, part))
        if self._end > len(self._dense):
            grown = max(self._end, int(GROWTH * len(self._dense)))
            self._dense.resize((grown, *part.shape[1:]), refcheck=False)
        self._dense[begin : self._end] = part

    def all(self) -> Any:
        """All rows; None if there are none."""
        if self._dense is not None:
            self._dense.resize((self._end, *self._dense.shape[1:]), refcheck=False)
            return self._dense
        if not self._parts:
            return None
        if sp.issparse(self._parts[0]):
            return sp.csr_array(sp.vstack(self._parts, format="csr"))
        import pyarrow as pa

        return pa.chunked_array([chunk for part in self._parts for chunk in part.chunks])
