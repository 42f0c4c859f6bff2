"""Checks of data in chunks, which becomes ChunkedData: one pass inspects all of it."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._checks import raise_bad_weight
from sfumato._engines import find_runner
from sfumato._engines.chunked import ChunkedData, Runner
from sfumato._inspection import Inspect, Inspection, check_range, raise_not_finite
from sfumato._origin import origin_of_sample
from sfumato._typing import Floats
from sfumato._validation.arrays import ALL_ZERO, check_spread, check_total
from sfumato._validation.parameters import most_clusters


def check_fit_chunks(
    estimator: Any, X: Any, sample_weight: Any, checksum: bool = False
) -> ChunkedData:
    """Check training data in chunks; sets ``n_features_in_`` and ``feature_names_in_``."""
    runner = find_runner(X, sample_weight)
    _keep_names(estimator, runner)
    inspection = _inspect(X, runner, Inspect(runner.n_features, most_clusters(estimator), checksum))
    dtype = _precision(inspection.dtypes == {np.dtype(np.float32).str})
    sparse = True in inspection.sparse
    found = inspection.range
    origin = np.zeros(runner.n_features)
    if inspection.sample is not None:
        origin = origin_of_sample(inspection.sample).astype(dtype).astype(np.float64)
    n_rows = sum(rows for _, rows, _ in inspection.sizes)
    check_range(found, origin, dtype, mass=n_rows * inspection.heaviest)
    check_spread(found, dtype)
    check_total(inspection.heaviest, n_rows)
    return ChunkedData(
        runner,
        dtype,
        origin,
        _cumulated(inspection),
        n_rows,
        sparse,
        len(inspection.distinct),
        zlib.crc32(np.array(inspection.checksums).tobytes()) if checksum else None,
    )


def check_new_chunks(
    estimator: Any, X: Any, sample_weight: Any, origin: Floats, inspect: bool
) -> ChunkedData:
    """Check data for a fitted estimator.

    If ``inspect``, values are inspected in a pass of their own; otherwise chunk by chunk, when
    results are computed.
    """
    runner = find_runner(X, sample_weight)
    _compare_names(estimator, runner)
    dtype = _precision(runner.dtype == np.float32)
    if not inspect:
        not_counted = np.zeros(1, dtype=np.int64)
        return ChunkedData(runner, dtype, origin, not_counted, runner.n_rows or 0, False)
    found = _inspect(X, runner, Inspect(runner.n_features))
    check_range(found.range, origin, dtype)
    n_rows = sum(rows for _, rows, _ in found.sizes)
    return ChunkedData(runner, dtype, origin, _cumulated(found), n_rows, True in found.sparse)


def _inspect(X: Any, runner: Runner, inspect: Inspect) -> Inspection:
    """Summary of all chunks; raises if one is wrong."""
    inspection: Inspection | None = runner.reduce(inspect)
    if inspection is None:
        source = getattr(X, "source", None) or repr(X)
        raise ValueError(f"{source} holds no rows; give at least one.")
    _check_chunks(runner, inspection)
    return inspection


def _precision(single: bool) -> np.dtype[np.floating]:
    return np.dtype(np.float32) if single else np.dtype(np.float64)


def _cumulated(inspection: Inspection) -> NDArray[np.int64]:
    """Rows of positive weight before each chunk, and in all; empty chunks are not in ``sizes``."""
    counts = np.zeros(1 + max(number for number, _, _ in inspection.sizes), dtype=np.int64)
    for number, _, positive in inspection.sizes:
        counts[number] = positive
    return np.concatenate([[0], np.cumsum(counts)])


def _check_chunks(runner: Runner, inspection: Inspection) -> None:
    """Raise about the first chunk that is wrong."""
    wrong = inspection.wrong
    if wrong is not None and wrong.value is not None:
        where = runner.where(wrong.number, wrong.value.row, wrong.value.column)
        raise_not_finite(wrong.value, where)
    if wrong is not None and wrong.weight is not None:
        row, weight = wrong.weight
        raise_bad_weight(weight, runner.where(wrong.number, row))
    if wrong is not None:
        raise ValueError(
            f"The chunk of X that begins at {runner.where(wrong.number, 0)} {wrong.problem}; all "
            "chunks must be tables of real numbers with the same columns."
        )
    if len(inspection.sparse) > 1:
        raise ValueError(
            "Some chunks of X are sparse and others dense; make all of them CSR, or all dense."
        )
    if not inspection.heaviest > 0:
        raise ValueError(ALL_ZERO)


def _keep_names(estimator: Any, runner: Runner) -> None:
    estimator.n_features_in_ = runner.n_features
    estimator.__dict__.pop("feature_names_in_", None)
    if runner.names is not None and all(isinstance(name, str) for name in runner.names):
        estimator.feature_names_in_ = np.array(runner.names, dtype=object)


def _compare_names(estimator: Any, runner: Runner) -> None:
    """Raise unless the features are those of the fit."""
    if runner.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {runner.n_features} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and runner.names is not None and tuple(known) != tuple(runner.names):
        pairs = zip(known, runner.names, strict=True)
        number = next(i for i, (a, b) in enumerate(pairs) if a != b)
        raise ValueError(
            f"Feature {number} of X is {runner.names[number]!r}, where the fit had "
            f"{known[number]!r}; give the same columns in the same order."
        )
