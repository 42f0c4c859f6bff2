"""Streams of files of tables whose columns a function makes into numbers, whatever they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato._typing import Floats
from sfumato.streams._base import Chunk, FileStream, Location, default_rows
from sfumato.streams._csv import csv_batches
from sfumato.streams._csv_head import Format, read_head
from sfumato.streams._parquet import parquet_batches, read_schema
from sfumato.streams._rows import BufferRing
from sfumato.streams._tables import check_known

CELL_BYTES = 100
"""Bytes of a value of a column while it is read, as text and as an object; chosen by hand."""


class PreparedStream(FileStream):
    """Rows of tables that a function makes into numbers.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    form : Format or None
        Format of CSV files, whose columns are read as text; None for Parquet files.
    columns : sequence of str
        Columns that the function takes.
    names : sequence of str
        Names of the columns that it returns.
    prepare : callable
        Takes an Arrow table, and returns an ndarray of shape (n_rows, n_names).
    ids : str, optional
        Column that identifies the rows.
    chunk_rows : int, optional
        Rows per chunk.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        form: Format | None,
        columns: Sequence[str],
        names: Sequence[str],
        prepare: Callable[[Any], Floats],
        ids: str | None = None,
        chunk_rows: int | None = None,
    ) -> None:
        super().__init__(paths)
        self._form, self._columns, self._ids = form, list(columns), ids
        self._prepare = prepare
        self.names = tuple(names)
        self.n_features = len(self.names)
        self.dtype = np.dtype(np.float64)
        self._rows = chunk_rows or default_rows(self.row_bytes)
        if form is None:
            self.n_rows = sum(read_schema(path)[1] for path in self.paths)

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in a chunk, with the values that it is made of."""
        return 8 * self.n_features + CELL_BYTES * len(self._columns)

    def tables(self) -> Iterator[Any]:
        """Yield the columns as Arrow tables, chunk by chunk."""
        for path in self.paths:
            yield from self._tables(path)

    def _tables(self, path: Path) -> Iterator[Any]:
        wanted = list(dict.fromkeys([*self._columns, *([self._ids] if self._ids else [])]))
        if self._form is None:
            check_known(str(path), wanted, read_schema(path)[0].names)
            return regrouped(parquet_batches(path, self._rows, wanted), self._rows)
        head = read_head(path, self._form)
        check_known(str(path), wanted, head.names)
        # The empty field at the end of rows is read too, so that one with text is an error.
        ends = dict.fromkeys(head.fields[len(head.names) :], "null")
        return regrouped(csv_batches(path, self._form, head, ends, wanted), self._rows)

    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        path, first = self.paths[index], 0
        for table in self._tables(path):
            yield Chunk(
                rows=self._prepare(table.select(self._columns)),
                weights=None,
                location=Location(str(path), first),
                ids=None if self._ids is None else table.column(self._ids),
            )
            first += table.num_rows


def regrouped(batches: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Yield Arrow tables of ``n_rows`` rows, the last one smaller, from batches of any size."""
    import pyarrow as pa

    held: list[Any] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        while count >= n_rows:
            whole = pa.Table.from_batches(held)
            yield whole.slice(0, n_rows)
            rest = whole.slice(n_rows)
            held, count = rest.to_batches(), rest.num_rows
    if count:
        yield pa.Table.from_batches(held)
