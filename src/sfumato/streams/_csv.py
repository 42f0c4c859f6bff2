"""Streams of CSV files.

Arrow parses the rows. Those in which Arrow finds an error are read again by the csv module of
Python, which is slow but knows the lines.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.exceptions import Option, StreamError, one_line
from sfumato.streams._base import Chunk, FileStream, Location, default_rows
from sfumato.streams._csv_head import (
    Format,
    Head,
    Record,
    booleans,
    column_types,
    csv_columns,
    is_number,
    kind_of,
    missing,
    read_head,
    records,
)
from sfumato.streams._rows import BEST_COMPRESSION, BufferRing
from sfumato.streams._tables import (
    DECIMALS,
    ColumnSelection,
    TableSchema,
    check_numeric,
    check_same_columns,
)

BLOCK_BYTES = 1 << 20
"""Bytes of text that Arrow parses at a time, chosen by hand. An error is searched for line by line
within one such block."""


class CsvStream(FileStream):
    """Rows of CSV files with the same columns.

    Parameters
    ----------
    paths : sequence of Path
        The files; those that end in .gz are decompressed as they are read.
    choice : ColumnSelection
        Which columns to use.
    form : Format
        Format of all files.
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
            _features(path, head, form, choice)
            for path, head in zip(self.paths, self._heads, strict=True)
        ]
        for path, features in zip(self.paths, chosen, strict=True):
            check_same_columns(path, features, self.paths[0], chosen[0])
        self.dtype = np.dtype(np.float64)
        self._schema = TableSchema(chosen[0], choice.weights, self.dtype, choice.ids)
        self.names = chosen[0]
        self.n_features = len(chosen[0])
        self.weighted = choice.weights is not None
        self._rows = chunk_rows or default_rows(self.dtype.itemsize * self.n_features)

    def describe(self, location: Location, row: int, column: int | None = None) -> str:
        index = list(map(str, self.paths)).index(location.source)
        line = _line_of_row(self.paths[index], self._form, location.first_row + row)
        if line is None:
            return super().describe(location, row, column)
        where = f"{location.source}, line {line}"
        return where if column is None else f"{where}, {self._column(column)}"

    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        # A row takes a byte per column at least: chunks larger than the file need no larger buffer.
        path, head = self.paths[index], self._heads[index]
        size = self._signatures[index].size * (BEST_COMPRESSION if path.suffix == ".gz" else 1)
        rows = max(1, min(self._rows, math.ceil(size / len(head.names))))
        return self._schema.gather(self._batches(path, head), rows, ring, str(path))

    def _batches(self, path: Path, head: Head) -> Iterator[Any]:
        types = column_types(head, self._schema.numeric)
        # Identifiers as they are written: 007 stays 007, NA stays NA.
        text = [] if self._schema.ids is None else [self._schema.ids]
        return csv_batches(path, self._form, head, types, text)


def csv_batches(
    path: Path, form: Format, head: Head, types: dict[str, str], text: Sequence[str]
) -> Iterator[Any]:
    """Yield record batches of a file: columns of some types, and others as they are written."""
    import pyarrow as pa

    if not head.sample:
        return  # There are no rows, and the line of names may lack its end.
    arrow_types = {name: pa.type_for_alias(kind) for name, kind in types.items()}
    arrow_types |= dict.fromkeys(text, pa.string())
    done = 0
    try:
        for batch in _open(path, form, head, arrow_types):
            yield batch
            done += batch.num_rows
    except pa.ArrowInvalid as error:
        raise _find_error(path, form, head, types, done) or StreamError(
            f"{path} cannot be read as csv after {done} rows ({one_line(error)}); check it."
        ) from error
    except OSError as error:
        raise StreamError(
            f"{path} cannot be read after {done} rows ({one_line(error)}); the file is cut "
            "short or damaged: write it again."
        ) from error


def _open(path: Path, form: Format, head: Head, arrow_types: dict[str, Any]) -> Any:
    from pyarrow import csv as arrow_csv

    # One thread, and in order: errors come after the rows before them.
    return arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(
            use_threads=False,
            block_size=max(BLOCK_BYTES, 16 * head.longest),
            column_names=head.fields,
            skip_rows=head.lines,
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=form.separator, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=list(arrow_types),
            column_types=arrow_types,
            decimal_point=form.decimal,
        ),
    )


def _features(path: Path, head: Head, form: Format, choice: ColumnSelection) -> tuple[str, ...]:
    """Names of the features of a file; raises StreamError if they hold no numbers."""
    features = choice.features(head.names, str(path))
    if choice.columns is None and head.unnamed and features[0] == head.names[0]:
        raise StreamError(
            f"{path} has a first column without a name, perhaps row numbers; leave it out with ",
            Option("exclude", [head.names[0]]),
            ", or name it.",
        )
    needed = [*features, *([choice.weights] if choice.weights is not None else [])]
    check_numeric(str(path), csv_columns(head, form, needed).text)
    return features


def _find_error(
    path: Path, form: Format, head: Head, types: dict[str, str], skip: int
) -> StreamError | None:
    """Error of the first bad row after ``skip`` rows; None if none is found."""
    places = {name: column for column, name in enumerate(head.fields)}
    problems = {"double": "is no number", "bool": "is neither true nor false"}
    try:
        for line, fields in records(path, form, skip + form.header):
            if len(fields) != len(places) or (head.trailing and fields[-1] not in missing()):
                return _wrong_length(path, form, head, Record(line, fields))
            for name, kind in types.items():
                text = fields[places[name]]
                number = is_number(text, form.decimal)
                good = text in booleans() if kind == "bool" else number
                if not good and text not in missing():
                    return StreamError(
                        f"{path}, line {line}, column {name!r}: {text!r} {problems[kind]}; ",
                        *_advice(text, name),
                    )
    except (OSError, EOFError, csv.Error):
        pass  # The caller raises an error in any case.
    return None


def _advice(text: str, column: str) -> tuple[str | Option, ...]:
    """What to do about a field that is no number, and about its column."""
    kind, exclude = kind_of(text), Option("exclude", [column])
    for mark, word in DECIMALS.items():
        if kind == f"decimal {word}":
            (other,) = {*DECIMALS} - {mark}
            return (
                f"write {text.strip().replace(mark, other)}, or give ",
                Option("decimal", mark),
                f" if all numbers have decimal {word}s.",
            )
    if kind == "date":
        return "convert dates to numbers, or leave the column out with ", exclude, "."
    return "correct it, leave out its row, or leave the column out with ", exclude, "."


def _wrong_length(path: Path, form: Format, head: Head, record: Record) -> StreamError:
    text = form.separator.join(record.fields)
    shown = text if len(text) <= 60 else text[:57] + "..."
    expected, found = len(head.names), len(record.fields)
    if found < len(head.fields):
        expected = len(head.fields)
        what = f"column {head.fields[found]!r} is missing"
    else:
        what = f"{record.fields[expected]!r} is beyond the last column, {head.names[-1]!r}"
    quoted = ", quote numbers with decimal commas" if form.separator == "," else ""
    return StreamError(
        f"{path}, line {record.line}: {found} fields where there should be {expected}; {what}: "
        f"{shown!r}. Correct the line{quoted}; a separator other than {form.separator!r} is given "
        "with ",
        Option("separator"),
        ".",
    )


def _line_of_row(path: Path, form: Format, row: int) -> int | None:
    """Line of the file, counting from 1, on which a row begins; None if it cannot be found."""
    try:
        return next((r.line for r in records(path, form, row + form.header)), None)
    except (OSError, EOFError, csv.Error):
        return None
