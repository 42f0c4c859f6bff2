"""Pieces from a stream: read one after the other, each while the one before is being worked on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sfumato._data import Piece, csr_or_dense
from sfumato._engines.chunked import Runner
from sfumato._engines.passes import Map, Pass
from sfumato._native import effective_threads
from sfumato._typing import Floats
from sfumato.streams._base import Chunk, Location, Stream
from sfumato.streams._lazy import LazyArray


class StreamRunner(Runner):
    """Passes over a stream, all of them in this process.

    Parameters
    ----------
    stream : Stream
    weights : array-like of shape (n_rows,) or number, optional
        Weights of all rows, where the stream has none of its own.
    """

    def __init__(self, stream: Stream, weights: Any = None) -> None:
        self.stream = stream
        self.weights = None if weights is None else _checked_weights(weights, stream)
        self.names, self.n_features = stream.names, stream.n_features
        self.n_rows, self.dtype = stream.n_rows, stream.dtype
        self.places: list[Location] = []
        """Where the pieces of the last pass came from."""

    def reduce(self, function: Pass) -> Any:
        """Sum over all pieces of what the function yields, added one after the other."""
        total = None
        with closing(self.pieces(type(function).__name__.lower())) as pieces:
            for piece in pieces:
                value = function(piece)
                total = value if total is None else total + value
        if self.stream.observer is not None:
            self.stream.observer.found(total)
        return total

    def pieces(self, what: str) -> Generator[Piece, None, None]:
        """One pass, of which a observer of the stream is told."""
        begin = 0
        self.places = []
        observer = self.stream.observer
        if observer is not None:
            observer.begin(what, self.stream.n_rows)
        with closing(self.stream.chunks()) as chunks:  # Its thread ends here, whatever happens.
            for number, chunk in enumerate(chunks):
                self.places.append(chunk.location)
                end = begin + chunk.rows.shape[0]
                yield Piece(csr_or_dense(chunk.rows), self._weights_of(chunk, begin, end), number)
                begin = end
                if observer is not None:
                    observer.advance(begin)
        if self.weights is not None and self.weights.ndim and len(self.weights) != begin:
            raise wrong_length(self.weights, begin)
        if observer is not None:
            observer.end(begin)

    def _weights_of(self, chunk: Chunk, begin: int, end: int) -> Floats | None:
        if self.weights is None:
            return chunk.weights
        if self.weights.ndim == 0:
            return np.full(end - begin, float(self.weights))
        if end > len(self.weights):
            raise wrong_length(self.weights, self.stream.n_rows or f"at least {end}")
        return self.weights[begin:end]

    def threads(self, wanted: int | None) -> int:
        """Threads per piece: all that there are, since pieces come one after the other."""
        return effective_threads(wanted)

    def where(self, number: int, row: int, column: int | None = None) -> str:
        """Words for a place in a piece of the last pass."""
        return self.stream.describe(self.places[number], row, column)

    def map(self, function: Map) -> LazyArray:
        """What the function says of each row, when it is asked for."""
        output = function.output
        return LazyArray(
            self.stream,
            OnChunk(function, self.stream),
            n_rows=self.stream.n_rows,
            n_columns=output.n_columns,
            dtype=output.dtype(function.spec.dtype),
            name=output.name,
        )


@dataclass(frozen=True)
class OnChunk:
    """An output as a function of a chunk."""

    say: Map
    stream: Stream

    def __call__(self, chunk: Chunk) -> Any:
        """Values for a chunk."""
        piece = Piece(csr_or_dense(chunk.rows), None, 0)
        return self.say.of_unchecked(piece, partial(self.stream.describe, chunk.location))


def _checked_weights(given: Any, stream: Stream) -> Floats:
    """Weights as float64, as many as there are rows, or one for all."""
    if stream.weighted:
        raise ValueError(
            f"sample_weight is given, but {stream.source} has weights of its own; leave one out."
        )
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        weights = np.asarray(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight is not an array of numbers ({error}); give one weight per row."
        ) from error
    if weights.ndim > 1 or (weights.ndim and stream.n_rows not in (None, len(weights))):
        raise wrong_length(weights, stream.n_rows or "as many as there are")
    return weights


def wrong_length(weights: Floats, n_rows: int | str) -> ValueError:
    """Words about weights that do not go with the rows."""
    return ValueError(
        f"sample_weight has shape {weights.shape}, and X has {n_rows} rows; give one weight per "
        "row."
    )
