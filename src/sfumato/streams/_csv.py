"""Streams of CSV files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.exceptions import StreamError, one_line
from sfumato.streams._base import Chunk, Location, default_rows
from sfumato.streams._blocks import BufferRing
from sfumato.streams._files import FileStream
from sfumato.streams._lines import Format, Head, find_fault, line_of_row, read_head, text_columns
from sfumato.streams._tables import ColumnSelection, TableSchema, check_same_columns

BLOCK_BYTES = 1 << 20
"""Bytes of text that are parsed at a time; an error is searched for, slowly, in one such block."""

BEST_COMPRESSION = 1032
"""Bytes that one byte of a .gz file can stand for, at most."""


class CsvStream(FileStream):
    """Rows of CSV files with the same columns.

    Parameters
    ----------
    paths : sequence of Path
        The files; those that end in .gz are decompressed as they are read.
    choice : ColumnSelection
        Which columns to use.
    form : Format
        How the files are written.
    chunk_rows : int, optional
        Rows per chunk.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        choice: ColumnSelection,
        form: Format,
        chunk_rows: int | None = None,
    ) -> None:
        super().__init__(paths)
        self._form = form
        self._heads = [read_head(path, form) for path in self.paths]
        chosen = [
            _features(path, head, choice, form)
            for path, head in zip(self.paths, self._heads, strict=True)
        ]
        for path, features in zip(self.paths, chosen, strict=True):
            check_same_columns(path, features, self.paths[0], chosen[0])
        self.dtype = np.dtype(np.float64)
        self._layout = TableSchema(chosen[0], choice.weights, self.dtype, choice.ids)
        self.names = chosen[0]
        self.n_features = len(chosen[0])
        self.weighted = choice.weights is not None
        self._rows = chunk_rows or default_rows(self.dtype.itemsize * self.n_features)

    def describe(self, location: Location, row: int, column: int | None = None) -> str:
        """Words for an entry of a chunk: the file, the line as an editor counts, the column."""
        index = list(map(str, self.paths)).index(location.source)
        found = line_of_row(
            self.paths[index], self._form, self._heads[index], location.first_row + row
        )
        if found is None:
            return super().describe(location, row, column)
        where = f"{location.source}, line {found}"
        return where if column is None else f"{where}, {self._column(column)}"

    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        # A row takes a byte per column at least: chunks larger than the file need no larger buffer.
        path, head = self.paths[index], self._heads[index]
        size = self._signatures[index].size * (BEST_COMPRESSION if path.suffix == ".gz" else 1)
        rows = max(1, min(self._rows, math.ceil(size / len(head.names))))
        return self._layout.gather(self._batches(path, head), rows, ring, str(path))

    def _batches(self, path: Path, head: Head) -> Iterator[Any]:
        import pyarrow as pa

        if not head.sample:
            return  # There are no rows, and the line of names may lack its end.
        done = 0
        try:
            for batch in self._open(path, head):
                yield batch
                done += batch.num_rows
        except pa.ArrowInvalid as error:
            fault = find_fault(path, self._form, head, self._layout.numeric, done)
            raise fault or StreamError(
                f"{path} cannot be read as csv after {done} rows ({one_line(error)}); check it."
            ) from error
        except OSError as error:
            raise StreamError(
                f"{path} cannot be read after {done} rows ({one_line(error)}); the file is cut "
                "short or damaged: write it again."
            ) from error

    def _open(self, path: Path, head: Head) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        layout = self._layout
        types = dict.fromkeys(layout.numeric, pa.float64())
        if layout.ids is not None:  # As they are written: 007 stays 007.
            types[layout.ids] = pa.string()
        # One thread, and in order: errors come after the rows before them.
        return csv.open_csv(
            path,
            read_options=csv.ReadOptions(
                use_threads=False,
                block_size=max(BLOCK_BYTES, 16 * head.longest),
                column_names=head.names,
                skip_rows=head.lines,
            ),
            parse_options=csv.ParseOptions(delimiter=self._form.separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(include_columns=layout.columns, column_types=types),
        )


def _features(path: Path, head: Head, choice: ColumnSelection, form: Format) -> tuple[str, ...]:
    """Names of the features of a file, after a look at its first lines."""
    if form.header and head.names[0] == "" and choice.columns is None:
        raise StreamError(
            f"{path} has a first column without a name, perhaps row numbers; name the features "
            "with columns=."
        )
    features = choice.features(head.names, str(path))
    needed = [*features, *([choice.weights] if choice.weights is not None else [])]
    text = text_columns(head, needed)
    if text:
        shown = ", ".join(f"{name!r} ({value!r} in line {line})" for name, value, line in text)
        raise StreamError(
            f"{path} has columns that hold no numbers: {shown}; choose others with columns=."
        )
    return features
