"""Checks of rows in memory, which become Data.

Rows are copied only if engines cannot read their type (lists, objects, half precision, CSC).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from sfumato import _checks
from sfumato._data import Data, computing_dtype, csr_or_dense, distinct_rows
from sfumato._inspection import RangeSummary, check_range, or_float64, summarize_range
from sfumato._typing import Floats
from sfumato.exceptions import ParameterError

ALL_ZERO = "sample_weight is zero everywhere; at least one row needs a weight > 0."


def check_fit_data(estimator: Any, X: Any, sample_weight: Any) -> Data:
    """Check training data; sets ``n_features_in_`` and ``feature_names_in_``."""
    rows = _check_rows(estimator, X, reset=True)
    weights = check_weights(sample_weight, rows.shape[0])
    dtype = computing_dtype(rows)
    found = summarize_range(rows, weights)
    origin = found.middle.astype(dtype).astype(np.float64)
    check_range(found, origin, dtype)
    check_spread(found, dtype)
    return Data(rows, weights, dtype, origin)


def check_new_data(estimator: Any, X: Any, sample_weight: Any, origin: Floats) -> Data:
    """Check data for a fitted estimator; coordinates are measured as during the fit."""
    rows = _check_rows(estimator, X, reset=False)
    weights = check_weights(sample_weight, rows.shape[0])
    dtype = computing_dtype(rows)
    if sp.issparse(rows):
        origin = np.zeros_like(origin)
    check_range(summarize_range(rows, weights), origin, dtype)
    return Data(rows, weights, dtype, origin)


def check_enough_rows(data: Data, n_clusters: int) -> None:
    """Raise unless at least ``n_clusters`` distinct rows have a positive weight."""
    check_row_count(data.n_rows, n_clusters)
    seen = distinct_rows(data, n_clusters)
    if len(seen) < n_clusters:
        raise ParameterError(
            f"X has only {len(seen)} distinct rows of positive weight, fewer than "
            f"n_clusters={n_clusters}; use n_clusters <= {max(1, len(seen))}.",
            "n_clusters",
            n_clusters,
        )


def check_row_count(n_rows: int, n_clusters: int) -> None:
    """Raise if there are fewer rows than clusters."""
    if n_rows < n_clusters:
        raise ParameterError(
            f"n_samples={n_rows} is fewer than n_clusters={n_clusters}; give more rows or use "
            f"n_clusters <= {n_rows}.",
            "n_clusters",
            n_clusters,
        )


def _check_rows(estimator: Any, X: Any, reset: bool) -> Any:
    """Rows as an ndarray or a CSR array of some real dtype."""
    try:
        rows = validate_data(
            estimator,
            X,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
            reset=reset,
        )
    except (TypeError, ValueError) as error:
        reason = _not_numbers(X)
        if reason is None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{reason} ({error})") from error
    if rows.dtype.kind not in "biuf":
        raise ValueError(_not_numbers(X) or f"X is of dtype {rows.dtype}; pass real numbers.")
    return csr_or_dense(rows)


def _not_numbers(X: Any) -> str | None:
    """Why X cannot be read as real numbers, with the place of the first value that is none."""
    names = getattr(X, "columns", None)
    try:
        table = X if sp.issparse(X) else np.asarray(X)
    except (TypeError, ValueError):
        return None
    if np.iscomplexobj(table):
        return (
            "Complex data not supported: X holds complex numbers, which have no order of their "
            "own; pass real features, e.g. np.hstack([X.real, X.imag])."
        )
    if table.ndim != 2 or sp.issparse(table):
        return None
    for column in range(table.shape[1]):
        for row, value in enumerate(table[:, column].astype(object)):
            try:
                float(value)
            except (TypeError, ValueError):
                name = f"column {column}" if names is None else f"column {names[column]!r}"
                return (
                    f"X holds {value!r} at row {row}, {name}, which is not a number; drop the "
                    "column, or encode it (sklearn.preprocessing.OneHotEncoder)."
                )
    return None


def check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Weights as a float64 array, or None if all are one."""
    if sample_weight is None:
        return None
    weights = _checks.check_weights(sample_weight, n_rows)
    if not weights.any():
        raise ValueError(ALL_ZERO)
    check_total(float(weights.max()), n_rows)
    return None if (weights == 1).all() else weights


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
