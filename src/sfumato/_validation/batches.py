"""Batches for ``partial_fit``: the rows of one call, or a stream, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sfumato._data import Data, computing_dtype
from sfumato._engines import is_dask
from sfumato._engines.stream import StreamRunner
from sfumato._inspection import RangeSummary, check_range, raise_not_finite, summarize_range
from sfumato._typing import Floats
from sfumato._validation.arrays import (
    ALL_ZERO,
    check_enough_rows,
    check_new_data,
    check_weights,
    largest_mass,
)
from sfumato._validation.chunks import check_new_chunks
from sfumato.exceptions import Given, Message, ParameterError, message_of
from sfumato.streams._base import Stream


class Batch(NamedTuple):
    """Rows and weights of one batch.

    Attributes
    ----------
    rows, weights
        As the user gave them, or those of a chunk.
    range : RangeSummary or None
        Range of a chunk; None for other rows, which are not checked yet.
    names : tuple of str or None
        Names of a stream's features; other rows may have names themselves.
    """

    rows: Any
    weights: Any
    range: RangeSummary | None = None
    names: tuple[str, ...] | None = None


def batches(estimator: Any, X: Any, sample_weight: Any, learned: bool) -> Iterator[Batch]:
    """The given rows as one batch, or the chunks of a stream.

    ``learned``: whether the features of a stream must match those of the estimator.
    """
    if is_dask(X):
        raise TypeError(
            f"X is a dask collection ({type(X).__name__}), and partial_fit learns from one batch "
            "at a time; call fit, which passes over all partitions where they are, or compute the "
            "batches one by one: for part in X.partitions: model.partial_fit(part.compute())."
        )
    if not isinstance(X, Stream):
        yield Batch(X, sample_weight)
        return
    if learned:
        check_new_chunks(estimator, X, None, np.zeros(X.n_features), inspect=False)  # Its features.
    yield from _chunks(X, sample_weight)


def _chunks(stream: Stream, sample_weight: Any) -> Iterator[Batch]:
    """Chunks of a stream with their weights; those of zero weight are left out."""
    runner = StreamRunner(stream, sample_weight)
    n_rows, n_batches = 0, 0
    for chunk in runner.chunks("learning from batches"):
        n_rows += chunk.rows.shape[0]
        found = summarize_range(chunk.rows)
        if found.bad is not None:
            where = stream.describe(chunk.location, found.bad.row, found.bad.column)
            raise_not_finite(found.bad, where)
        if chunk.weights is None or chunk.weights.any():
            n_batches += 1
            yield Batch(chunk.rows, chunk.weights, found, stream.names)
    if not n_rows:
        raise ValueError(f"{stream!r} holds no rows; nothing can be learned.")
    if not n_batches:
        raise ValueError(ALL_ZERO)


def batch_data(estimator: Any, batch: Batch, origin: Floats) -> Data:
    """Data of a batch that is not the first; centers of the first may have less precision."""
    data = _batch_data(estimator, batch, origin)
    precision = estimator.cluster_centers_.dtype
    if precision != data.dtype:
        check_range(batch.range or summarize_range(data.rows), data.origin, precision)
    return data


def _batch_data(estimator: Any, batch: Batch, origin: Floats) -> Data:
    if batch.range is None:
        return check_new_data(estimator, batch.rows, batch.weights, origin)
    weights = check_weights(batch.weights, batch.rows.shape[0])
    dtype = computing_dtype(batch.rows)
    start = np.zeros_like(origin) if sp.issparse(batch.rows) else origin
    check_range(batch.range, start, dtype, mass=largest_mass(weights, batch.rows.shape[0]))
    return Data(batch.rows, weights, dtype, start)


def check_first_batch(data: Any, n_clusters: int) -> int:
    """Raise unless at least ``n_clusters`` distinct rows of the first batch count; return these."""
    try:
        check_enough_rows(data, n_clusters)
    except ValueError as error:
        message = Message(
            "The first batch needs at least ",
            Given("n_clusters", n_clusters),
            " different rows, to which the centers are fitted: ",
            message_of(error),
            " Give a larger first batch; later ones may be of any size.",
        )
        raise ParameterError(message, "n_clusters", n_clusters) from error
    return n_clusters
