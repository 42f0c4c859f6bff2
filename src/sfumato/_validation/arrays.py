"""Checks of rows in memory, which become Data.

Rows are copied only if engines cannot read their type (lists, objects, half precision, CSC).
"""

from __future__ import annotations

from datetime import date, timedelta
from os import PathLike, fspath
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data

from sfumato import _checks
from sfumato._data import Data, check_sparse, computing_dtype, csr_or_dense, distinct_rows
from sfumato._inspection import NotFinite, RangeSummary, check_range, or_float64, summarize_range
from sfumato._origin import origin_of
from sfumato._typing import Floats
from sfumato.exceptions import Given, Message, Option, ParameterError, brief, shown

DATE_ADVICE = "drop the column, or encode it as a number, e.g. days since the first date"
ALL_ZERO = "sample_weight is zero everywhere; at least one row needs a weight > 0."

UNREADABLE = (TypeError, ValueError, RuntimeError)
"""What objects raise that cannot be made an array; a tensor that requires a gradient, the last."""


def check_fit_data(estimator: Any, X: Any, sample_weight: Any) -> Data:
    """Check training data; sets ``n_features_in_`` and ``feature_names_in_``."""
    rows = _check_rows(estimator, X, reset=True)
    weights = check_weights(sample_weight, rows.shape[0])
    dtype = computing_dtype(rows)
    found = summarize_range(rows)
    origin = np.zeros(rows.shape[1]) if sp.issparse(rows) else origin_of(rows, weights)
    origin = origin.astype(dtype).astype(np.float64)
    where = _place(estimator, X, found.bad)
    check_range(found, origin, dtype, where=where, mass=largest_mass(weights, rows.shape[0]))
    check_spread(found, dtype)
    return Data(rows, weights, dtype, origin)


def check_new_data(estimator: Any, X: Any, sample_weight: Any, origin: Floats) -> Data:
    """Check data for a fitted estimator; coordinates are measured as during the fit."""
    rows = _check_rows(estimator, X, reset=False)
    weights = check_weights(sample_weight, rows.shape[0])
    dtype = computing_dtype(rows)
    if sp.issparse(rows):
        origin = np.zeros_like(origin)
    found = summarize_range(rows)
    where = _place(estimator, X, found.bad)
    check_range(found, origin, dtype, where=where, mass=largest_mass(weights, rows.shape[0]))
    return Data(rows, weights, dtype, origin)


def check_enough_rows(data: Data, n_clusters: int) -> None:
    """Raise unless at least ``n_clusters`` distinct rows have a positive weight."""
    check_row_count(data.n_rows, n_clusters)
    seen = distinct_rows(data, n_clusters)
    if len(seen) < n_clusters:
        message = Message(
            f"X has only {len(seen)} distinct rows of positive weight, fewer than ",
            Given("n_clusters", n_clusters),
            "; use ",
            Option("n_clusters"),
            f" <= {max(1, len(seen))}.",
        )
        raise ParameterError(message, "n_clusters", n_clusters)


def check_row_count(n_rows: int, n_clusters: int) -> None:
    """Raise if there are fewer rows than clusters."""
    if n_rows < n_clusters:
        message = Message(
            f"n_samples={n_rows} is fewer than ",
            Given("n_clusters", n_clusters),
            "; give more rows or use ",
            Option("n_clusters"),
            f" <= {n_rows}.",
        )
        raise ParameterError(message, "n_clusters", n_clusters)


def _check_rows(estimator: Any, X: Any, reset: bool) -> Any:
    """Rows as an ndarray or a CSR array of some real dtype."""
    _refuse_path(X)
    _refuse_lazy_frame(X)
    _refuse_polars_dates(X)
    check_sparse(X)
    try:
        rows = check_array(
            X,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
            estimator=estimator,
            input_name="X",
        )
    except UNREADABLE as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        reason = _not_numbers(X) or f"X cannot be read as a table of numbers: {type(X).__name__}"
        raise kind(f"{reason} ({brief(error)}).{_conversion(X)}") from error
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if rows.dtype.kind not in "biuf":
        raise ValueError(_not_numbers(X) or f"X is of dtype {rows.dtype}; pass real numbers.")
    return csr_or_dense(rows)


def _refuse_path(X: Any) -> None:
    """Raise if X is the path of a file in place of its rows."""
    if isinstance(X, str | PathLike):
        path = shown(fspath(X))
        raise TypeError(
            f"X is the path {path}, not the rows themselves; give sfumato.stream({path}), "
            "which reads the file chunk by chunk, or an array of its rows."
        )


def _refuse_lazy_frame(X: Any) -> None:
    """Raise if X is a query of polars, whose rows do not exist yet."""
    if _kind(X) == ("polars", "LazyFrame"):
        raise TypeError("X is a LazyFrame, which has no rows yet; give X.collect().")


def _kind(X: Any) -> tuple[str, str]:
    """Library and class of an object; a library need not be imported to know its objects."""
    return type(X).__module__.split(".")[0], type(X).__name__


def _conversion(X: Any) -> str:
    """What to call for an object that NumPy does not read, as a sentence, or nothing."""
    if _kind(X) == ("torch", "Tensor"):
        dense = ".to_dense()" if getattr(X, "is_sparse", False) else ""
        return f" Give X.detach(){dense}.cpu().float().numpy()."
    return ""


def _column_names(X: Any) -> Any:
    """Names of the columns of a table, or None; tables of pyarrow keep arrays in ``columns``."""
    names = getattr(X, "column_names", None)
    return getattr(X, "columns", None) if names is None else names


def _refuse_polars_dates(X: Any) -> None:
    """Raise if a polars frame has dates or times, which it would turn into numbers unasked."""
    if _kind(X)[0] != "polars":
        return
    for name, dtype in getattr(X, "schema", {}).items():
        if dtype.is_temporal():
            value = X[name][0] if len(X) else dtype
            raise ValueError(
                f"X holds {value!r} at row 0, column {name!r}, which is not a number; "
                f"{DATE_ADVICE}."
            )


def _name_of(names: Any, column: int) -> str:
    """Description of a column, by its name if there are names."""
    name = column if names is None else names[column]
    return f"column {name!r}" if isinstance(name, str) else f"column {name}"


def _place(estimator: Any, X: Any, bad: NotFinite | None) -> str | None:
    """Where a value that is not finite lies, by the name of its column if it is known."""
    if bad is None:
        return None
    names = _column_names(X)
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    return f"row {bad.row}, {_name_of(names, bad.column)}"


def _not_numbers(X: Any) -> str | None:
    """Why X cannot be read as real numbers, with the place of the first value that is none."""
    names = _column_names(X)
    try:
        table = X if sp.issparse(X) else np.asarray(X)
    except UNREADABLE:
        return None
    if np.iscomplexobj(table):
        return (
            "Complex data not supported: X holds complex numbers, which have no order of their "
            "own; pass real features, e.g. np.hstack([X.real, X.imag])."
        )
    if table.ndim != 2 or sp.issparse(table):
        return None
    for column in range(table.shape[1]):
        for row, value in enumerate(table[:, column]):
            if not _is_number(value):
                return (
                    f"X holds {_shown(value)} at row {row}, {_name_of(names, column)}, which is "
                    f"not a number; {_advice(value)}."
                )
    return None


def _is_number(value: Any) -> bool:
    """Whether a cell can be read as a number; a date is none, whatever NumPy says."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _shown(value: Any) -> str:
    """Value of a cell, as a user would write it."""
    return (
        str(value) if isinstance(value, np.generic) and value.dtype.kind in "mM" else shown(value)
    )


def _advice(value: Any) -> str:
    """What to do about a cell that is not a number."""
    if isinstance(value, date | timedelta | np.datetime64 | np.timedelta64):
        return DATE_ADVICE
    if isinstance(value, str) and _is_number(value.replace(",", ".", 1)):
        return (
            "if it has a decimal comma, read the file with decimal=',' (pandas.read_csv); "
            "otherwise drop the column, or encode it"
        )
    return "drop the column, or encode it (sklearn.preprocessing.OneHotEncoder)"


def check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Weights as a float64 array, or None if all are one."""
    if sample_weight is None:
        return None
    weights = _checks.check_weights(sample_weight, n_rows)
    if not weights.any():
        raise ValueError(ALL_ZERO)
    check_total(float(weights.max()), n_rows)
    return None if (weights == 1).all() else weights


def largest_mass(weights: Floats | None, n_rows: int) -> float:
    """Largest weight times the number of rows."""
    return n_rows * (1.0 if weights is None else float(weights.max()))


def check_total(largest: float, n_rows: int) -> None:
    """Raise if sums over weighted rows would leave the range of float64."""
    limits = np.finfo(np.float64)
    if not np.sqrt(limits.tiny) < largest <= np.sqrt(limits.max) / n_rows:
        raise ValueError(
            f"sample_weight goes up to {largest:.3g}, so that sums over the rows over- or "
            f"underflow; rescale it, e.g. sample_weight / {largest:.1g}: only ratios matter to "
            "the centers."
        )


def check_spread(summary: RangeSummary, dtype: np.dtype[np.floating]) -> None:
    """Raise if squared distances between different rows would underflow."""
    spread = summary.spread()
    limits = np.finfo(dtype)
    limit = float(np.sqrt(limits.tiny / limits.eps))
    if 0 < spread < limit:
        raise ValueError(
            f"X spreads over only {spread:.3g}, so that squared distances underflow {dtype.name} "
            f"(the limit is {limit:.3g}); rescale it, e.g. X / {spread:.1g}" + or_float64(dtype)
        )
