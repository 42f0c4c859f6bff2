"""User input becomes Data: the only module that raises about input.

Messages say what was given, what is wrong and what to do. No array is copied whole, except where
its type leaves no choice (lists, objects, half precision, CSC).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from sfumato.data import Data, row_blocks, rows_per_block
from sfumato.problem.checks import require_integer

Floats = NDArray[np.floating]


def check_fit_data(estimator: Any, X: Any, sample_weight: Any) -> Data:
    """Check training data; sets ``n_features_in_`` and ``feature_names_in_``."""
    rows = _check_rows(estimator, X, reset=True)
    weights = _check_weights(sample_weight, rows.shape[0])
    dtype = _computing_dtype(rows)
    survey = _survey(rows, weights)
    origin = survey.middle.astype(dtype).astype(np.float64)
    _check_overflow("X", survey, origin, dtype)
    _check_underflow(survey, dtype)
    return Data(rows, weights, dtype, origin)


def check_new_data(estimator: Any, X: Any, sample_weight: Any, origin: Floats) -> Data:
    """Check data for a fitted estimator; coordinates are measured as during the fit."""
    rows = _check_rows(estimator, X, reset=False)
    weights = _check_weights(sample_weight, rows.shape[0])
    dtype = _computing_dtype(rows)
    if sp.issparse(rows):
        origin = np.zeros_like(origin)
    _check_overflow("X", _survey(rows, weights), origin, dtype)
    return Data(rows, weights, dtype, origin)


def check_counts(estimator: Any) -> None:
    """Check the numbers among an estimator's parameters that need no data."""
    require_integer("n_clusters", estimator.n_clusters, least=1, advice="use e.g. 8")
    require_integer("max_iter", estimator.max_iter, least=1, advice="use e.g. 300")
    if not (isinstance(estimator.n_init, str) and estimator.n_init == "auto"):
        require_integer("n_init", estimator.n_init, least=1, advice="use e.g. 10, or 'auto'")
    if estimator.n_threads is not None:
        advice = "use None for all processors"
        require_integer("n_threads", estimator.n_threads, least=1, advice=advice)
    tol = estimator.tol
    if isinstance(tol, bool) or not isinstance(tol, Real) or not 0 <= float(tol) < 1:
        raise ValueError(
            f"tol={tol!r} must be a number in [0, 1): the relative fall of the objective at which "
            "to stop; use e.g. 1e-7, or 0 to go on until it no longer falls."
        )


def check_enough_rows(data: Data, n_clusters: int) -> None:
    """Raise unless at least ``n_clusters`` distinct rows have a positive weight."""
    if data.n_rows < n_clusters:
        raise ValueError(
            f"n_samples={data.n_rows} is fewer than n_clusters={n_clusters}; give more rows or use "
            f"n_clusters <= {data.n_rows}."
        )
    seen: set[bytes] = set()
    positive = data.weights_or_ones() > 0
    # Usually the first few rows settle it, so blocks start small.
    start, step = 0, min(2 * n_clusters, rows_per_block(data.n_features))
    while start < data.n_rows:
        block = slice(start, start + step)
        seen |= _distinct(data.rows[block][positive[block]])
        if len(seen) >= n_clusters:
            return
        start, step = start + step, min(2 * step, rows_per_block(data.n_features))
    raise ValueError(
        f"X has only {len(seen)} distinct rows of positive weight, fewer than "
        f"n_clusters={n_clusters}; use n_clusters <= {max(1, len(seen))}."
    )


def check_centers(given: Any, n_clusters: int, data: Data, source: str) -> Floats:
    """Initial centers as a new float64 array of the right shape."""
    expected = n_clusters, data.n_features
    needed = f"it must be an array of shape (n_clusters, n_features) = {expected}"
    given = given.toarray() if sp.issparse(given) else given
    if given is None or np.isscalar(given):
        raise ValueError(f"{source} is {given!r}; {needed}.")
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        centers = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{source} is not an array of numbers ({error}); {needed}.") from error
    if centers.shape != expected:
        raise ValueError(f"{source} has shape {centers.shape}; {needed}.")
    if not np.isfinite(centers).all():
        row, column = np.argwhere(~np.isfinite(centers))[0]
        raise ValueError(
            f"{source} contains {centers[row, column]} at row {row}, column {column}; centers must "
            "be finite."
        )
    extent = _Survey(data.origin, centers.min(axis=0), centers.max(axis=0))
    _check_overflow(source, extent, data.origin, data.dtype)
    return centers


@dataclass
class _Survey:
    """Mean of the rows that count, and extent of all, feature by feature."""

    middle: Floats
    low: Floats
    high: Floats

    def reach(self, origin: Floats) -> float:
        """Largest coordinate, measured from the origin."""
        with np.errstate(over="ignore"):
            farthest = max(abs(self.low - origin).max(), abs(self.high - origin).max())
        return float(min(farthest, np.finfo(np.float64).max))

    def spread(self) -> float:
        """Largest extent of a feature."""
        with np.errstate(over="ignore"):
            return float((self.high - self.low).max())


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
    if sp.issparse(rows):
        rows = sp.csr_array(rows)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
    return _plain_numbers(rows)


def _plain_numbers(rows: Any) -> Any:
    """Rows of a dtype that engines read directly; others are converted to float64."""
    dtype = rows.dtype.newbyteorder("=")
    if dtype.kind == "f" and dtype not in (np.float32, np.float64):
        dtype = np.dtype(np.float64)
    return rows.astype(dtype, copy=not (sp.issparse(rows) or _evenly_spaced(rows)))


def _evenly_spaced(rows: NDArray[Any]) -> bool:
    """Whether every number lies whole items from the first, as fields of records may not."""
    return rows.flags.aligned and not any(step % rows.itemsize for step in rows.strides)


def _computing_dtype(rows: Any) -> np.dtype[np.floating]:
    return np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)


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


def _check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
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
    _check_total(weights)
    return None if (weights == 1).all() else weights


def _check_total(weights: Floats) -> None:
    """Raise if sums over weighted rows would leave the range of numbers."""
    limits = np.finfo(np.float64)
    largest = float(weights.max())
    if not np.sqrt(limits.tiny) < largest <= np.sqrt(limits.max) / len(weights):
        raise ValueError(
            f"sample_weight goes up to {largest:.3g}, so that sums over the rows over- or "
            f"underflow; rescale it, e.g. sample_weight / {largest:.1g}: only ratios matter to "
            "the centers."
        )


def _survey(rows: Any, weights: Floats | None) -> _Survey:
    """Mean, smallest and largest value of each feature; raises at the first value not finite."""
    n_rows, n_features = rows.shape
    if sp.issparse(rows):
        _check_finite_sparse(rows)
        extent = np.array([rows.min(), rows.max()], dtype=np.float64)
        return _Survey(np.zeros(n_features), extent[:1], extent[1:])
    total = np.zeros(n_features)
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    counted = 0
    for block in row_blocks(n_rows, n_features):
        part = np.asarray(rows[block])
        np.minimum(low, part.min(axis=0), out=low)
        np.maximum(high, part.max(axis=0), out=high)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            _check_finite(part, block.start)
        if weights is not None:
            part = part[weights[block] > 0]
        total += _halved_sum(part)
        counted += len(part)
    middle = 2 * (total / max(1, counted))
    return _Survey(np.where(np.isfinite(middle), middle, 0.0), low, high)


def _halved_sum(part: NDArray[Any]) -> Floats:
    """Half the sum of the rows; where that is finite but the sum is not, terms are halved first."""
    with np.errstate(over="ignore"):
        total: Floats = part.sum(axis=0, dtype=np.float64) / 2
    return total if np.isfinite(total).all() else (part / 2).sum(axis=0, dtype=np.float64)


def _check_finite(part: NDArray[Any], start: int) -> None:
    if part.dtype.kind != "f":
        return
    bad = ~np.isfinite(part)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        _raise_not_finite(part[row, column], start + int(row), int(column))


def _check_finite_sparse(rows: sp.csr_array) -> None:
    if rows.dtype.kind != "f":
        return
    bad = ~np.isfinite(rows.data)
    if bad.any():
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        _raise_not_finite(rows.data[entry], row, int(rows.indices[entry]))


def _raise_not_finite(value: Any, row: int, column: int) -> None:
    what = "NaN" if np.isnan(value) else "infinity (inf)"
    raise ValueError(
        f"Input X contains {what}, first at row {row}, column {column}; drop such rows, or fill "
        "them in, e.g. with sklearn.impute.SimpleImputer."
    )


def _check_overflow(
    source: str, survey: _Survey, origin: Floats, dtype: np.dtype[np.floating]
) -> None:
    """Raise if squared distances would overflow; two points may lie on opposite sides."""
    reach = survey.reach(origin)
    limit = float(np.sqrt(np.finfo(dtype).max / (4.0 * len(origin))))
    if reach > limit:
        raise ValueError(
            f"{source} holds values up to {reach:.3g} away from the mean of the data, so that "
            f"squared distances overflow {dtype.name} (the limit is {limit:.3g}); rescale all "
            f"data, e.g. X / {reach:.1g}" + _or_float64(dtype)
        )


def _check_underflow(survey: _Survey, dtype: np.dtype[np.floating]) -> None:
    """Raise if squared distances between different rows would underflow."""
    spread = survey.spread()
    limits = np.finfo(dtype)
    limit = float(np.sqrt(limits.tiny / limits.eps))
    if 0 < spread < limit:
        raise ValueError(
            f"X spreads over only {spread:.3g}, so that squared distances underflow {dtype.name} "
            f"(the limit is {limit:.3g}); rescale it, e.g. X / {spread:.1g}" + _or_float64(dtype)
        )


def _or_float64(dtype: np.dtype[np.floating]) -> str:
    return ", or pass float64." if dtype == np.float32 else "."


def _distinct(rows: Any) -> set[bytes]:
    """Distinct rows, as bytes."""
    dense = rows.toarray() if sp.issparse(rows) else np.ascontiguousarray(rows)
    dense = dense + dense.dtype.type(0)  # -0.0 and 0.0 become the same bytes.
    # Long rows are compared faster by their hashes than by sorting them.
    return {row.tobytes() for row in (np.unique(dense, axis=0) if dense.shape[1] < 64 else dense)}


@contextmanager
def restored_on_failure(estimator: Any) -> Iterator[None]:
    """Put an estimator back into its former state if a fit fails, whatever went wrong."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
