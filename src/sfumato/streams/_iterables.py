"""Streams of objects in memory: tables, iterables of chunks, functions that return them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sfumato.exceptions import Option, StreamError, one_line
from sfumato.streams._base import Chunk, Location, Stream, default_rows
from sfumato.streams._rows import BufferRing, check_rows, check_weights
from sfumato.streams._tables import ColumnSelection, TableSchema


def is_frame(value: Any) -> bool:
    """Whether an object is a table of pandas, polars or pyarrow, or behaves like one."""
    arrow = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    return arrow and hasattr(value, "columns") and len(getattr(value, "shape", ())) == 2


def as_table(frame: Any, choice: ColumnSelection, location: Location) -> Any:
    """Table of pandas, polars or pyarrow as an Arrow table or record batch, without its index."""
    import pyarrow as pa

    try:
        if hasattr(frame, "iloc"):
            return pa.Table.from_pandas(_plain(frame, choice), preserve_index=False)
        return frame if isinstance(frame, pa.RecordBatch) else pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise StreamError(
            f"{location.source} is a {type(frame).__name__} that cannot be read as columns of "
            f"numbers ({one_line(error)}); choose others with ",
            Option("columns"),
            ".",
        ) from error


def _plain(frame: Any, choice: ColumnSelection) -> Any:
    """Selected columns of a pandas frame, in native byte order, as Arrow requires."""
    if choice.columns is not None:
        frame = frame.loc[:, frame.columns.isin([*choice.columns, *choice.others, *choice.exclude])]
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
        self._schema = TableSchema.of(schema, choice, self.source)
        self.names = self._schema.features
        self.n_features = len(self.names)
        self.dtype = self._schema.dtype
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
        return self._schema.gather(self._batches(rows), rows, BufferRing(), self.source)

    def _batches(self, rows: int) -> Iterator[Any]:
        """Yield slices of the table; each is checked, since object columns may hold anything."""
        for start in range(0, self.n_rows or 0, rows):
            part = self._slice(start, rows)
            where = f"{self.source}, from row {start} (counting from 0) on,"
            TableSchema.of(part.schema, self._choice, where)
            yield part


@dataclass(frozen=True)
class Again:
    """Function that returns the same iterable at every call."""

    chunks: Iterable[Any]

    def __call__(self) -> Iterable[Any]:
        return self.chunks


class IterableStream(Stream):
    """Chunks of an iterable, in the sizes it yields.

    Parameters
    ----------
    make : callable
        Returns an iterable of chunks: ndarrays, CSR, tables, or tuples (rows, weights). Called once
        per pass, in the prefetch thread. Chunks are copied, unless they come from a list, since the
        iterable may reuse their memory.
    choice : ColumnSelection
        Which columns of tables to use.
    """

    source = "the iterable"

    def __init__(self, make: Callable[[], Iterable[Any]], choice: ColumnSelection) -> None:
        self._make = make
        self._choice = choice
        self._at_hand = isinstance(make, Again) and isinstance(make.chunks, list | tuple)
        self._spent: Any = None
        self._schema: TableSchema | None = None
        first = self._peek()
        self.n_features = int(first.rows.shape[1])
        self.dtype = first.rows.dtype
        self.is_sparse = bool(sp.issparse(first.rows))
        self.weighted = first.weights is not None

    def _peek(self) -> Chunk:
        """First chunk with rows, or the first one if all are empty."""
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
        """Yield all chunks of a pass, empty ones included."""
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
            rows = check_rows(values, location.source, location.first_row)
            # The next chunk is prefetched while this one is in use, perhaps in the same memory.
            rows = rows if self._at_hand else rows.copy()
            chunk = Chunk(rows=rows, weights=None, location=location)
        if weights is not None:
            weights = check_weights(weights, chunk.rows.shape[0], location.source)
            return chunk._replace(weights=weights)
        return chunk

    def _from_frame(self, table: Any, location: Location) -> Chunk:
        schema = TableSchema.of(table.schema, self._choice, location.source)
        if self._schema is None:
            self._schema, self.names = schema, schema.features
        elif schema.features != self.names:
            raise StreamError(
                f"{location.source} has the columns {', '.join(map(repr, schema.features))}, but "
                f"the first chunk has {', '.join(map(repr, self.names or ()))}; all must agree."
            )
        for chunk in schema.gather([table], max(1, table.num_rows), BufferRing(), location.source):
            return chunk
        weights = None if schema.weights is None else np.empty(0)
        empty = np.empty((0, len(schema.features)), schema.dtype)
        return Chunk(rows=empty, weights=weights, location=location)

    def _check(self, chunk: Chunk) -> None:
        """Raise StreamError if a chunk is of another kind than the first one."""
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
