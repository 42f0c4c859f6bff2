"""What a chunk must be: rows of real numbers in native types, and weights for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato import _checks
from sfumato._native import core
from sfumato.exceptions import StreamError
from sfumato.streams._base import Location

NUMBERS = "biuf"
"""Kinds of NumPy types that hold real numbers."""

TURNED_BYTES = 1 << 18
"""Size of the block of rows that is written column by column. It must stay in the cache until all
columns are in; with 131,072 rows of 32 doubles, blocks of 512 to 8,192 rows took 0.4 of the time of
one block."""


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which chunks carry numbers of this type."""
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return np.dtype(np.float64)  # Half and extended precision: nothing computes in them.
    return dtype.newbyteorder("=")


def check_rows(values: Any, location: Location) -> Any:
    """Rows as an ndarray or csr_array of numbers in a native type; copied only if they must be."""
    if sp.issparse(values):
        rows: Any = values if isinstance(values, sp.csr_array) else sp.csr_array(values)
    elif isinstance(values, np.ma.MaskedArray):
        _check_kind(values.data, location)
        rows = np.where(np.ma.getmaskarray(values), np.nan, values.data)
    else:
        rows = _as_array(values, location)
    if rows.ndim != 2:
        raise StreamError(
            f"{location.source} has the shape {rows.shape}; give rows in two dimensions, rows by "
            "features: reshape(1, -1) makes a single row of them, reshape(-1, 1) single numbers."
        )
    _check_kind(rows, location)
    return rows.astype(native(rows.dtype), copy=False)


def _as_array(values: Any, location: Location) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise StreamError(
            f"{location.source} is a {type(values).__name__} that makes no array ({error}); give "
            "rows of equal length."
        ) from error


def _check_kind(rows: Any, location: Location) -> None:
    if rows.dtype.kind in NUMBERS:
        return
    if rows.dtype.kind == "c":
        raise StreamError(
            f"{location.source} holds complex numbers ({rows.dtype}); give real ones, for example "
            "their real and imaginary parts as two columns."
        )
    raise StreamError(
        f"{location.source} holds {rows.dtype}, not numbers{_first_word(rows, location)}; leave "
        "such columns out, or convert them to float."
    )


def _first_word(rows: Any, location: Location) -> str:
    """Where the first entry is that is no number, and what it is."""
    if sp.issparse(rows) or rows.ndim != 2 or rows.dtype.kind not in "OUS":
        return ""
    for (row, column), value in np.ndenumerate(rows):
        if not isinstance(value, (int, float, np.number, np.bool_)):
            shown = value.item() if isinstance(value, np.generic) else value
            return (
                f": {shown!r} in row {location.first_row + row} (counting from 0), column {column}"
            )
    return ""


def check_weights(values: Any, n_rows: int, location: Location) -> NDArray[np.float64]:
    """Weights of a chunk as float64, one for each row, finite and not negative."""
    name = f"The array of weights of {location.source}"
    return _checks.check_weights(
        values, n_rows, name=name, first_row=location.first_row, error=StreamError
    )


def fill_rows(columns: Sequence[NDArray[Any]], out: NDArray[Any]) -> None:
    """Write each column into its place in the rows of a C-ordered array."""
    alike = all(column.dtype == out.dtype and column.flags.c_contiguous for column in columns)
    if alike and out.dtype in (np.float32, np.float64) and out.flags.c_contiguous:
        getattr(core, f"turn_{out.dtype.name}")(list(columns), out)
        return
    step = max(16, TURNED_BYTES // max(1, out.itemsize * out.shape[1]))
    for start in range(0, out.shape[0], step):
        block = out[start : start + step]
        for column, values in enumerate(columns):
            block[:, column] = values[start : start + step]
