"""Checks of what users give to estimators, which becomes Data or ChunkedData."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

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
from sfumato._validation.parameters import check_centers, check_counts, restored_on_failure

__all__ = [
    "batch_data",
    "batches",
    "check_centers",
    "check_counts",
    "check_enough",
    "check_enough_rows",
    "check_first_batch",
    "check_fit_data",
    "check_new_data",
    "fit_input",
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


def check_enough(data: Data | ChunkedData, n_clusters: int) -> None:
    """Raise if there are fewer rows than clusters; warn if fewer are distinct.

    Then each distinct row of positive weight is a cluster, and other centers repeat them.
    """
    check_row_count(data.n_rows, n_clusters)
    count = data.distinct if isinstance(data, ChunkedData) else len(distinct_rows(data, n_clusters))
    if count < n_clusters:
        message = (
            f"X has only {count} distinct rows of positive weight, fewer than n_clusters="
            f"{n_clusters}, so that at most {count} clusters have rows and the other centers "
            f"repeat them; use n_clusters <= {count}."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=5)
