"""Dask collections become arrays with one block of all columns for some rows."""

# mypy: allow-untyped-calls
# dask annotates some of its functions only.

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.array.utils import meta_from_array

TABLES = "give a dask.array of shape (n_samples, n_features), or a dask.dataframe"


def rows_of(X: Any) -> tuple[Any, tuple[Any, ...] | None]:
    """Array of the rows, columns in one piece, and the names of the columns where there are any."""
    names = None
    if type(X).__module__.startswith("dask.dataframe") and hasattr(X, "columns"):
        names = tuple(X.columns)
        X = _frame_rows(X)
    if not isinstance(X, da.Array):
        raise TypeError(f"X is a {type(X).__module__}.{type(X).__name__}; {TABLES}.")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got a dask array with {X.ndim} dimension(s) and shape {X.shape}; "
            f"{TABLES}. X.reshape(-1, 1) makes one feature of one dimension."
        )
    _check_kind("X", X)
    if np.isnan(X.shape[1]):
        raise ValueError(
            f"The number of columns of X is not known, its shape is {X.shape}; call "
            "X.compute_chunk_sizes() first."
        )
    if X.shape[1] == 0 or X.numblocks[0] == 0:
        raise ValueError(f"X has shape {X.shape}; at least one row and one column are required.")
    return (X.rechunk({1: -1}) if X.numblocks[1] > 1 else X), names


def _frame_rows(frame: Any) -> Any:
    """Values of a frame; numbers that may be missing become floats, NaN where they are."""
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

    types = dict(zip(frame.columns, frame.dtypes, strict=True))
    if len(types) != len(frame.columns):
        raise ValueError(f"Columns of X have the same name: {list(frame.columns)}; rename them.")
    wrong = {
        name: str(dtype)
        for name, dtype in types.items()
        if not (is_numeric_dtype(dtype) or is_bool_dtype(dtype)) or is_complex_dtype(dtype)
    }
    if wrong:
        raise ValueError(
            f"Columns of X are not of real numbers: {wrong}; drop them, or turn them into numbers."
        )
    nullable = {name: "float64" for name, t in types.items() if not isinstance(t, np.dtype)}
    return (frame.astype(nullable) if nullable else frame).to_dask_array()


def weights_of(sample_weight: Any, rows: Any) -> Any:
    """Weights in a dask collection, as an array in blocks like those of the rows."""
    weights = sample_weight
    if type(weights).__module__.startswith("dask.dataframe"):
        weights = weights.to_dask_array()
    if not isinstance(weights, da.Array):
        kind = f"{type(weights).__module__}.{type(weights).__name__}"
        raise TypeError(f"sample_weight is a {kind}; give a dask.array, a dask series or an array.")
    if weights.ndim != 1:
        raise ValueError(
            f"sample_weight has shape {weights.shape}; give one dimension, a weight per row."
        )
    _check_kind("sample_weight", weights)
    if is_sparse(weights):
        raise ValueError("sample_weight is sparse; give a dense array.")
    n_rows = rows.shape[0]
    if np.isnan(n_rows) or np.isnan(weights.shape[0]):
        if weights.numblocks[0] != rows.numblocks[0]:
            raise ValueError(
                f"X has {rows.numblocks[0]} chunks and sample_weight {weights.numblocks[0]}, and "
                "not all of their sizes are known; call compute_chunk_sizes() on both, or give "
                "weights in the same chunks."
            )
        return weights
    if weights.shape[0] != n_rows:
        raise ValueError(f"sample_weight has shape {weights.shape}, but X has {n_rows} rows.")
    return weights if weights.chunks[0] == rows.chunks[0] else weights.rechunk((rows.chunks[0],))


def array_weights(sample_weight: Any, sizes: list[int]) -> Any:
    """Weights at hand, as an array in blocks of the given sizes."""
    weights = np.asarray(sample_weight)
    n_rows = sum(sizes)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, but X has {n_rows} rows.")
    _check_kind("sample_weight", weights)
    return da.from_array(weights.astype(np.float64), chunks=(tuple(sizes),))


def is_sparse(array: Any) -> bool:
    """Whether the blocks of an array are said to be sparse."""
    return bool(sp.issparse(meta_from_array(array)))


def _check_kind(name: str, array: Any) -> None:
    """Raise unless the blocks are dense or CSR, of real numbers."""
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} is of dtype {array.dtype}, not of real numbers; convert it, e.g. with "
            f"{name}.astype(float)."
        )
    meta = array if isinstance(array, np.ndarray) else meta_from_array(array)
    if isinstance(meta, np.ma.MaskedArray):
        raise ValueError(f"{name} is masked; fill it in, e.g. with dask.array.ma.filled.")
    if not (isinstance(meta, np.ndarray) or sp.issparse(meta)):
        raise TypeError(
            f"{name} consists of {type(meta).__module__}.{type(meta).__name__}; convert its blocks "
            f"to NumPy arrays or to CSR, e.g. with {name}.map_blocks."
        )
