"""Passes over a stream, chunk after chunk; the next chunk is read meanwhile."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sfumato._checks import check_weights, raise_wrong_length
from sfumato._data import Chunk, Location, csr_or_dense
from sfumato._engines.chunked import Runner
from sfumato._engines.passes import Map, Pass, map_chunk
from sfumato._native import effective_threads
from sfumato._typing import Floats
from sfumato.streams._base import Stream
from sfumato.streams._lazy import LazyArray


class StreamRunner(Runner):
    """Passes over a stream, all of them in this process.

    Parameters
    ----------
    stream : Stream
    weights : array-like of shape (n_rows,) or number, optional
        Weights of all rows, for a stream without weights.
    """

    def __init__(self, stream: Stream, weights: Any = None) -> None:
        if weights is not None and stream.weighted:
            raise ValueError(
                f"sample_weight is given, but {stream.source} has weights of its own; leave one "
                "out."
            )
        self.stream = stream
        self.weights = None if weights is None else check_weights(weights, stream.n_rows)
        self.names, self.n_features = stream.names, stream.n_features
        self.n_rows, self.dtype = stream.n_rows, stream.dtype
        self.locations: list[Location] = []
        """Where the chunks of the last pass came from."""

    def reduce(self, function: Pass) -> Any:
        """Sum of the results of all chunks, added one after the other."""
        total = None
        with closing(self.chunks(function.description)) as chunks:
            for chunk in chunks:
                value = function(chunk)
                total = value if total is None else total + value
        if self.stream.observer is not None:
            self.stream.observer.found(total)
        return total

    def chunks(self, description: str) -> Generator[Chunk, None, None]:
        """One pass, which is reported to the observer of the stream."""
        begin = 0
        self.locations = []
        observer = self.stream.observer
        if observer is not None:
            observer.begin(description, self.stream.n_rows)
        with closing(self.stream.chunks()) as chunks:  # Ends the thread that reads.
            for chunk in chunks:
                self.locations.append(chunk.location)
                end = begin + chunk.rows.shape[0]
                weights = self._weights_of(chunk, begin, end)
                yield chunk._replace(rows=csr_or_dense(chunk.rows), weights=weights)
                begin = end
                if observer is not None:
                    observer.advance(begin)
        if self.weights is not None and self.weights.ndim and len(self.weights) != begin:
            raise_wrong_length(self.weights.shape, begin)
        if observer is not None:
            observer.end(begin)

    def _weights_of(self, chunk: Chunk, begin: int, end: int) -> Floats | None:
        if self.weights is None:
            return chunk.weights
        if self.weights.ndim == 0:
            return np.full(end - begin, float(self.weights))
        if end > len(self.weights):
            raise_wrong_length(self.weights.shape, self.stream.n_rows or f"at least {end}")
        return self.weights[begin:end]

    def threads(self, wanted: int | None) -> int:
        """Threads per chunk: all by default, since chunks come one after the other."""
        return effective_threads(wanted)

    def where(self, number: int, row: int, column: int | None = None) -> str:
        return self.stream.describe(self.locations[number], row, column)

    def map(self, function: Map) -> LazyArray:
        output = function.output
        return LazyArray(
            self.stream,
            MapChunk(function, self.stream),
            n_rows=self.stream.n_rows,
            n_columns=output.n_columns,
            dtype=output.dtype(function.spec.dtype),
            name=output.name,
        )


@dataclass(frozen=True)
class MapChunk:
    """A map as a function of a chunk of a stream."""

    map: Map
    stream: Stream

    def __call__(self, chunk: Chunk) -> Any:
        return _map_together([self], chunk)[0]


def _map_together(functions: Sequence[MapChunk], chunk: Chunk) -> list[Any]:
    where = partial(functions[0].stream.describe, chunk.location)
    unweighted = chunk._replace(rows=csr_or_dense(chunk.rows), weights=None)
    return map_chunk([each.map for each in functions], unweighted, where)


def compute_together(
    results: Sequence[LazyArray],
) -> Generator[tuple[Chunk, list[Any]], None, None]:
    """Compute several lazy arrays of one stream in one pass.

    For each chunk, rows are checked once, and results of the same model share one engine and one
    assignment.

    Yields
    ------
    chunk : Chunk
    values : list
        The values of each lazy array for the rows of the chunk. Like the chunk, they are valid
        until the next one is read.
    """
    stream = results[0].stream
    if any(other.stream is not stream for other in results):
        raise ValueError("the results are of different streams; one pass goes over one stream.")
    functions = [each.function for each in results]
    maps = [each for each in functions if isinstance(each, MapChunk)]
    with closing(stream.chunks()) as chunks:
        for chunk in chunks:
            mapped = iter(_map_together(maps, chunk) if maps else [])
            yield (
                chunk,
                [next(mapped) if isinstance(each, MapChunk) else each(chunk) for each in functions],
            )
