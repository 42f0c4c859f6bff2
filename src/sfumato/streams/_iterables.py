"""Streams of chunks that somebody else makes: iterables, frames, and functions that give them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sfumato.exceptions import StreamError, one_line
from sfumato.streams._base import Chunk, Location, Stream, default_rows
from sfumato.streams._blocks import BufferRing
from sfumato.streams._checks import check_rows, check_weights
from sfumato.streams._tables import ColumnSelection, TableSchema


def is_frame(value: Any) -> bool:
    """Whether an object is a table of pandas, polars or pyarrow, or one that looks like them."""
    arrow = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    return arrow and hasattr(value, "columns") and len(getattr(value, "shape", ())) == 2


def as_table(frame: Any, choice: ColumnSelection, location: Location) -> Any:
    """A frame as an Arrow table or record batch, without its index."""
    import pyarrow as pa

    try:
        if hasattr(frame, "iloc"):
            return pa.Table.from_pandas(_plain(frame, choice), preserve_index=False)
        return frame if isinstance(frame, pa.RecordBatch) else pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise StreamError(
            f"{location.source} is a {type(frame).__name__} that cannot be read as columns of "
            f"numbers ({one_line(error)}); choose others with columns=."
        ) from error


def _plain(frame: Any, choice: ColumnSelection) -> Any:
    """Columns of a pandas frame that are needed, in native types: Arrow knows no others."""
    if choice.columns is not None:
        frame = frame.loc[:, frame.columns.isin([*choice.columns, *choice.others])]
    foreign = {
        name: dtype.newbyteorder("=")
        for name, dtype in frame.dtypes.items()
        if isinstance(dtype, np.dtype) and not dtype.isnative
    }
    return frame.astype(foreign) if foreign else frame


class FrameStream(Stream):
    """Rows of a table in memory.

    Parameters
    ----------
    frame : object
        A table of pandas, polars or pyarrow.
    choice : ColumnSelection
        Which columns to use.
    chunk_rows : int, optional
        Rows per chunk.
    """

    def __init__(self, frame: Any, choice: ColumnSelection, chunk_rows: int | None = None) -> None:
        self.source = f"the {type(frame).__name__}"
        self._frame, self._choice = frame, choice
        self.n_rows = int(frame.shape[0])
        schema = self._slice(0, self.n_rows if self.n_rows < 100 else 100).schema
        self._layout = TableSchema.of(schema, choice, self.source)
        self.names = self._layout.features
        self.n_features = len(self.names)
        self.dtype = self._layout.dtype
        self.weighted = choice.weights is not None
        self._rows = chunk_rows or default_rows(self.dtype.itemsize * self.n_features)

    def _slice(self, start: int, count: int) -> Any:
        frame = self._frame
        rows = frame.iloc[start : start + count] if hasattr(frame, "iloc") else frame.slice(
            start, count
        )  # fmt: skip
        return as_table(rows, self._choice, Location(self.source, start))

    def _read(self) -> Iterator[Chunk]:
        n_rows = self.n_rows or 0
        rows = max(1, min(self._rows, n_rows))
        return self._layout.gather(self._pieces(rows), rows, BufferRing(), self.source)

    def _pieces(self, rows: int) -> Iterator[Any]:
        """The table in parts; each is checked, since pandas has columns that hold anything."""
        for start in range(0, self.n_rows or 0, rows):
            piece = self._slice(start, rows)
            where = f"{self.source}, from row {start} (counting from 0) on,"
            TableSchema.of(piece.schema, self._choice, where)
            yield piece


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
