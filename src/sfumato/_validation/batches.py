"""Batches of endless data: what is given at a time, or a stream, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sfumato._data import Data, computing_dtype
from sfumato._engines.runners import is_dask
from sfumato._engines.stream import StreamRunner
from sfumato._survey import RangeSummary, summarize_range
from sfumato._typing import Floats
from sfumato._validation.arrays import check_enough_rows, check_new_data, check_weights
from sfumato._validation.chunks import check_new_chunks
from sfumato._validation.limits import check_overflow
from sfumato.streams._base import Stream


class Batch(NamedTuple):
    """Rows and weights, as they came.

    Attributes
    ----------
    rows, weights
    survey : RangeSummary or None
        A look at a chunk of a stream; other rows are looked at later.
    names : tuple of str or None
        Names of a stream's features; other rows bring their own.
    """

    rows: Any
    weights: Any
    survey: RangeSummary | None = None
    names: tuple[str, ...] | None = None


def batches(estimator: Any, X: Any, sample_weight: Any, learned: bool) -> Iterator[Batch]:
    """What is given as one batch, or the chunks of a stream.

    ``learned`` says whether the estimator has features already that those of a stream must match.
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
        check_new_chunks(estimator, X, None, np.zeros(X.n_features), look=False)  # Its features.
    yield from _chunks(X, sample_weight)


def _chunks(stream: Stream, sample_weight: Any) -> Iterator[Batch]:
    """Chunks of a stream with their weights; those without any weight are left out."""
    weights = _stream_weights(stream, sample_weight)
    runner = StreamRunner(stream, weights)
    n_rows, n_batches = 0, 0
    for piece in runner.pieces("batch"):
        n_rows += piece.rows.shape[0]
        if weights is not None and n_rows > len(weights):
            raise _wrong_length(weights, f"at least {n_rows}")
        found = summarize_range(piece.rows, None)
        if found.bad is not None:
            raise found.bad.error(runner.where(piece.number, found.bad.row, found.bad.column))
        if piece.weights is None or piece.weights.any():
            n_batches += 1
            yield Batch(piece.rows, piece.weights, found, stream.names)
    if weights is not None and n_rows != len(weights):
        raise _wrong_length(weights, str(n_rows))
    if not n_rows:
        raise ValueError(f"{stream!r} holds no rows; nothing can be learned.")
    if not n_batches:
        raise ValueError("sample_weight is zero everywhere; at least one row needs a weight > 0.")


def _stream_weights(stream: Stream, sample_weight: Any) -> Floats | None:
    if sample_weight is None:
        return None
    length = stream.n_rows
    if length is None:
        length = np.shape(sample_weight)[0] if np.ndim(sample_weight) else 0
    found = check_weights(sample_weight, length)
    return np.ones(length) if found is None else found


def _wrong_length(weights: Floats, n_rows: str) -> ValueError:
    return ValueError(
        f"sample_weight has {len(weights)} weights for a stream of {n_rows} rows; give one weight "
        "per row."
    )


def batch_data(estimator: Any, batch: Batch, origin: Floats) -> Data:
    """Data of a batch that is not the first."""
    if batch.survey is None:
        return check_new_data(estimator, batch.rows, batch.weights, origin)
    weights = check_weights(batch.weights, batch.rows.shape[0])
    dtype = computing_dtype(batch.rows)
    start = np.zeros_like(origin) if sp.issparse(batch.rows) else origin
    check_overflow("X", batch.survey, start, dtype)
    return Data(batch.rows, weights, dtype, start)


def check_first_batch(data: Any, n_clusters: int) -> None:
    """Raise unless at least ``n_clusters`` distinct rows of the first batch count."""
    try:
        check_enough_rows(data, n_clusters)
    except ValueError as error:
        raise ValueError(
            f"The first batch needs at least n_clusters={n_clusters} different rows, to which the "
            f"centers are fitted: {error} Give a larger first batch; later ones may be of any size."
        ) from error
