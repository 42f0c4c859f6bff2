"""Rows at hand become Data.

Messages say what was given, what is wrong and what to do. No array is copied whole, except where
its type leaves no choice (lists, objects, half precision, CSC).
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from sfumato._data import Data, computing_dtype, csr_or_dense, distinct_rows
from sfumato._survey import RangeSummary, summarize_range
from sfumato._typing import Floats
from sfumato._validation.limits import check_overflow, check_total, check_underflow
from sfumato.exceptions import ParameterError


def check_fit_data(estimator: Any, X: Any, sample_weight: Any) -> Data:
    """Check training data; sets ``n_features_in_`` and ``feature_names_in_``."""
    rows = _check_rows(estimator, X, reset=True)
    weights = check_weights(sample_weight, rows.shape[0])
    dtype = computing_dtype(rows)
    found = checked_range(rows, weights)
    origin = found.middle.astype(dtype).astype(np.float64)
    check_overflow("X", found, origin, dtype)
    check_underflow(found, dtype)
    return Data(rows, weights, dtype, origin)


def check_new_data(estimator: Any, X: Any, sample_weight: Any, origin: Floats) -> Data:
    """Check data for a fitted estimator; coordinates are measured as during the fit."""
    rows = _check_rows(estimator, X, reset=False)
    weights = check_weights(sample_weight, rows.shape[0])
    dtype = computing_dtype(rows)
    if sp.issparse(rows):
        origin = np.zeros_like(origin)
    check_overflow("X", checked_range(rows, weights), origin, dtype)
    return Data(rows, weights, dtype, origin)


def check_enough_rows(data: Data, n_clusters: int) -> None:
    """Raise unless at least ``n_clusters`` distinct rows have a positive weight."""
    check_row_count(data.n_rows, n_clusters)
    seen = distinct_rows(data, n_clusters)
    if len(seen) < n_clusters:
        raise_too_few_distinct(len(seen), n_clusters)


def check_row_count(n_rows: int, n_clusters: int) -> None:
    """Raise if there are fewer rows than clusters."""
    if n_rows < n_clusters:
        raise ParameterError(
            f"n_samples={n_rows} is fewer than n_clusters={n_clusters}; give more rows or use "
            f"n_clusters <= {n_rows}.",
            "n_clusters",
            n_clusters,
        )


def raise_too_few_distinct(count: int, n_clusters: int) -> NoReturn:
    """Say that there are fewer different rows than clusters."""
    raise ParameterError(
        f"X has only {count} distinct rows of positive weight, fewer than "
        f"n_clusters={n_clusters}; use n_clusters <= {max(1, count)}.",
        "n_clusters",
        n_clusters,
    )


def checked_range(rows: Any, weights: Floats | None) -> RangeSummary:
    """RangeSummary of rows; raises at the first value that is not finite."""
    found = summarize_range(rows, weights)
    if found.bad is not None:
        raise found.bad.error()
    return found


def _check_rows(estimator: Any, X: Any, reset: bool) -> Any:
    """Rows as an ndarray or a CSR array of some real dtype, whatever they came in."""
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
    """Why X cannot be read as real numbers: where the first value is that is none, in words."""
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
    given = np.asarray(sample_weight)
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        weights = np.asarray(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight is not an array of numbers ({error}); it must have one weight per row, "
            f"shape ({n_rows},)."
        ) from error
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; it must have one weight per row, shape "
            f"({n_rows},)."
        )
    if not np.isfinite(weights).all():
        row = int(np.argmax(~np.isfinite(weights)))
        raise ValueError(f"sample_weight contains {weights[row]} at row {row}; use finite weights.")
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(
            f"sample_weight is negative at row {row}: {weights[row]:g}; use weights >= 0, and 0 to "
            "leave a row out."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero everywhere; at least one row needs a weight > 0.")
    check_total(float(weights.max()), n_rows)
    return None if (weights == 1).all() else weights
