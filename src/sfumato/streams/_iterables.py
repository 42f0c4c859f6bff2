"""Streams of chunks that somebody else makes: iterables, frames, and functions that give them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sfumato.exceptions import StreamError
from sfumato.streams._base import BufferRing, Chunk, Location, Stream
from sfumato.streams._rows import check_rows, check_weights
from sfumato.streams._tables import ColumnSelection, TableSchema, as_table, is_frame


@dataclass(frozen=True)
class Again:
    """A function that gives the same iterable every time."""

    chunks: Iterable[Any]

    def __call__(self) -> Iterable[Any]:
        """The iterable."""
        return self.chunks


class IterableStream(Stream):
    """Chunks of an iterable, as they come.

    Parameters
    ----------
    make : callable
        Returns an iterable of chunks: ndarrays, CSR, frames, or tuples of one of them and its
        weights. Called for every pass, in the thread that reads ahead. Chunks are copied, unless
        they come from a list, since the next may be made in the same memory.
    choice : ColumnSelection
        Which columns of frames to use.
    """

    source = "the iterable"

    def __init__(self, make: Callable[[], Iterable[Any]], choice: ColumnSelection) -> None:
        self._make = make
        self._choice = choice
        self._at_hand = isinstance(make, Again) and isinstance(make.chunks, list | tuple)
        self._spent: Any = None
        self._layout: TableSchema | None = None
        first = self._peek()
        self.n_features = int(first.rows.shape[1])
        self.dtype = first.rows.dtype
        self.is_sparse = bool(sp.issparse(first.rows))
        self.weighted = first.weights is not None

    def _peek(self) -> Chunk:
        """The first chunk with rows, or if there is none, the first one."""
        empty = None
        with closing(self._all()) as chunks:
            for chunk in chunks:
                if chunk.rows.shape[0]:
                    return chunk
                empty = empty or chunk
        if empty is None:
            raise StreamError(
                "the iterable gave no chunk; give one that yields arrays or tables of rows."
            )
        return empty

    def _read(self) -> Iterator[Chunk]:
        with closing(self._all()) as chunks:
            for chunk in chunks:
                if chunk.rows.shape[0]:
                    self._check(chunk)
                    yield chunk

    def _all(self) -> Generator[Chunk, None, None]:
        """All chunks, the empty ones too."""
        given = self._make()
        if not isinstance(given, Iterable):
            raise TypeError(
                f"the function returned a {type(given).__name__}; let it return an iterable of "
                "chunks."
            )
        if given is self._spent:
            raise StreamError(
                f"the function returned the same {type(given).__name__} again, which can be read "
                "only once; let it make a new one at every call."
            )
        items = iter(given)
        if items is given:
            self._spent = given
        try:
            for index, item in enumerate(items):
                yield self._chunk(item, Location(f"chunk {index} of the iterable", 0))
        finally:
            if items is given and hasattr(items, "close"):
                items.close()

    def _chunk(self, item: Any, location: Location) -> Chunk:
        values, weights = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        if is_frame(values):
            chunk = self._from_frame(as_table(values, self._choice, location), location)
        elif self._choice != ColumnSelection():
            raise StreamError(
                f"{location.source} is a {type(values).__name__}, whose columns have no names; "
                "columns= and weights= are for tables. Give weights as tuples (rows, weights)."
            )
        else:
            rows = check_rows(values, location)
            # The next chunks are made while this one is in use, perhaps in the same memory.
            chunk = Chunk(rows if self._at_hand else rows.copy(), None, location)
        if weights is not None:
            return chunk._replace(weights=check_weights(weights, chunk.rows.shape[0], location))
        return chunk

    def _from_frame(self, table: Any, location: Location) -> Chunk:
        layout = TableSchema.of(table.schema, self._choice, location.source)
        if self._layout is None:
            self._layout, self.names = layout, layout.features
        elif layout.features != self.names:
            raise StreamError(
                f"{location.source} has the columns {', '.join(map(repr, layout.features))}, but "
                f"the first chunk has {', '.join(map(repr, self.names or ()))}; all must agree."
            )
        for chunk in layout.gather([table], max(1, table.num_rows), BufferRing(), location.source):
            return chunk
        weights = None if layout.weights is None else np.empty(0)
        return Chunk(np.empty((0, len(layout.features)), layout.dtype), weights, location)

    def _check(self, chunk: Chunk) -> None:
        """Raise StreamError if a chunk does not go with the first one."""
        where, found = chunk.location.source, chunk.rows.shape[1]
        if found != self.n_features:
            raise StreamError(
                f"{where} has {found} columns, but the first chunk has {self.n_features}; all "
                "chunks must have the same features."
            )
        if bool(sp.issparse(chunk.rows)) != self.is_sparse:
            kinds = ("dense, but the first chunk is sparse", "sparse, but the first chunk is dense")
            raise StreamError(f"{where} is {kinds[not self.is_sparse]}; give one kind only.")
        if (chunk.weights is not None) != self.weighted:
            kinds = ("no weights, but the first chunk has some", "weights, but the first has none")
            raise StreamError(f"{where} has {kinds[not self.weighted]}; give all chunks weights.")
