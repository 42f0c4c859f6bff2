"""Checks of what users give to estimators, which becomes Data or ChunkedData."""

from __future__ import annotations

from typing import Any

from sfumato._data import Data, distinct_rows
from sfumato._engines import is_chunked
from sfumato._engines.chunked import ChunkedData
from sfumato._typing import Floats
from sfumato._validation.arrays import (
    check_enough_rows,
    check_fit_data,
    check_new_data,
    check_row_count,
)
from sfumato._validation.batches import batch_data, batches, check_first_batch
from sfumato._validation.chunks import check_fit_chunks, check_new_chunks
from sfumato._validation.parameters import (
    MOST_CLUSTERS,
    check_centers,
    check_counts,
    check_threads,
    most_clusters,
    restored_on_failure,
)

__all__ = [
    "MOST_CLUSTERS",
    "batch_data",
    "batches",
    "check_centers",
    "check_counts",
    "check_enough_rows",
    "check_first_batch",
    "check_fit_data",
    "check_new_data",
    "check_threads",
    "count_rows",
    "fit_input",
    "most_clusters",
    "new_input",
    "restored_on_failure",
]


def fit_input(
    estimator: Any, X: Any, sample_weight: Any, checksum: bool = False
) -> Data | ChunkedData:
    """Training data, in memory or in chunks; sets ``n_features_in_`` and ``feature_names_in_``.

    ``checksum`` is for data in chunks: whether the pass that inspects them computes it.
    """
    if is_chunked(X):
        return check_fit_chunks(estimator, X, sample_weight, checksum)
    return check_fit_data(estimator, X, sample_weight)


def new_input(
    estimator: Any, X: Any, sample_weight: Any, origin: Floats, inspect: bool = False
) -> Data | ChunkedData:
    """Data for a fitted estimator, in memory or in chunks.

    ``inspect`` is for data in chunks: whether a pass of its own checks all values.
    """
    if is_chunked(X):
        return check_new_chunks(estimator, X, sample_weight, origin, inspect)
    return check_new_data(estimator, X, sample_weight, origin)


def count_rows(data: Data | ChunkedData, n_clusters: int) -> int:
    """Number of distinct rows of positive weight, as far as ``n_clusters``.

    Raise if there are fewer rows than clusters. If fewer are distinct, each of them is a cluster,
    and other centers repeat them.
    """
    check_row_count(data.n_rows, n_clusters)
    count = data.distinct if isinstance(data, ChunkedData) else len(distinct_rows(data, n_clusters))
    return min(count, n_clusters)
