"""Streams of CSV files.

Arrow parses the rows. The first rows, and those in which Arrow finds an error, are read by the csv
module of Python, which is slow but knows the lines.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from sfumato.exceptions import StreamError, one_line
from sfumato.streams._base import Chunk, FileStream, Location, default_rows
from sfumato.streams._rows import BufferRing
from sfumato.streams._tables import (
    ColumnSelection,
    TableColumns,
    TableSchema,
    check_numeric,
    check_same_columns,
)

BLOCK_BYTES = 1 << 20
"""Bytes of text that Arrow parses at a time, chosen by hand. An error is searched for line by line
within one such block."""

BEST_COMPRESSION = 1032
"""Largest ratio of the size of a file to that of its .gz file, by the format of DEFLATE."""

SAMPLE = 100
"""Rows from which the types of columns are inferred, chosen by hand. A column whose first rows
hold text only is a text column; text that comes later is an error with its line."""

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf|infinity|nan)\s*", re.I)
"""What counts as a number: as Arrow parses it to float64."""

UNNAMED = "Unnamed: {}"
"""Name of a column without a name, by its number counting from 0; the same as in pandas."""


class Format(NamedTuple):
    """Format of a CSV file: the separator of fields, and whether the first line holds names."""

    separator: str = ","
    header: bool = True


class Record(NamedTuple):
    """Fields of a row, and the line of the file on which it begins, counting from 1."""

    line: int
    fields: list[str]


class Head(NamedTuple):
    """First rows of a CSV file.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    unnamed : bool
        Whether the first column has no name.
    trailing : bool
        Whether every row ends in a separator that the line of names lacks.
    lines : int
        Lines before the data.
    longest : int
        Bytes of the longest of the first rows.
    sample : list of Record
        The first rows of data.
    """

    names: list[str]
    unnamed: bool
    trailing: bool
    lines: int
    longest: int
    sample: list[Record]

    @property
    def fields(self) -> list[str]:
        """Names of all fields of a row: the columns, and the empty one at its end."""
        return [*self.names, UNNAMED.format(len(self.names))] if self.trailing else self.names


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
            _features(path, head, choice)
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
        import pyarrow as pa

        if not head.sample:
            return  # There are no rows, and the line of names may lack its end.
        types = column_types(head, self._schema.numeric)
        done = 0
        try:
            for batch in self._open(path, head, types):
                yield batch
                done += batch.num_rows
        except pa.ArrowInvalid as error:
            raise _find_error(path, self._form, head, types, done) or StreamError(
                f"{path} cannot be read as csv after {done} rows ({one_line(error)}); check it."
            ) from error
        except OSError as error:
            raise StreamError(
                f"{path} cannot be read after {done} rows ({one_line(error)}); the file is cut "
                "short or damaged: write it again."
            ) from error

    def _open(self, path: Path, head: Head, types: dict[str, str]) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        arrow_types = {name: pa.type_for_alias(kind) for name, kind in types.items()}
        if self._schema.ids is not None:  # As they are written: 007 stays 007, NA stays NA.
            arrow_types[self._schema.ids] = pa.string()
        # One thread, and in order: errors come after the rows before them.
        return arrow_csv.open_csv(
            path,
            read_options=arrow_csv.ReadOptions(
                use_threads=False,
                block_size=max(BLOCK_BYTES, 16 * head.longest),
                column_names=head.fields,
                skip_rows=head.lines,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._form.separator, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(arrow_types), column_types=arrow_types
            ),
        )


def _features(path: Path, head: Head, choice: ColumnSelection) -> tuple[str, ...]:
    """Names of the features of a file; raises StreamError if they hold no numbers."""
    features = choice.features(head.names, str(path))
    if choice.columns is None and head.unnamed and features[0] == head.names[0]:
        raise StreamError(
            f"{path} has a first column without a name, perhaps row numbers; name the features "
            "with columns=."
        )
    needed = [*features, *([choice.weights] if choice.weights is not None else [])]
    check_numeric(str(path), csv_columns(head, needed).text)
    return features


def _text(path: Path) -> TextIO:
    """Open a file as text; bytes that are not UTF-8 are replaced."""
    layout: Any = {"encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    return gzip.open(path, "rt", **layout) if path.suffix == ".gz" else path.open(**layout)


def _records(path: Path, form: Format, skip: int = 0) -> Iterator[Record]:
    """Yield rows of a file that are not blank, from row ``skip`` on; names are a row, too."""
    with _text(path) as file:
        reader = csv.reader(file, delimiter=form.separator)
        # There may be millions to skip: each is only counted.
        skipped = sum(1 for _ in islice(filter(None, reader), skip))
        line = reader.line_num + 1
        for fields in reader if skipped == skip else ():
            if fields:
                yield Record(line, fields)
            line = reader.line_num + 1


def read_head(path: Path, form: Format) -> Head:
    """Read the first rows of a file; raises StreamError if they cannot be names and rows."""
    try:
        first = list(islice(_records(path, form), SAMPLE + 1))
    except (OSError, EOFError, csv.Error) as error:
        raise StreamError(
            f"{path} cannot be read as csv ({one_line(error)}); check the file."
        ) from error
    if not first:
        raise StreamError(f"{path} is empty; give a file with rows.")
    names = first[0].fields
    count = len(names)
    longest = max(sum(len(field.encode()) + 3 for field in record.fields) for record in first)
    if not form.header:
        numbered = [f"x{column}" for column in range(count)]
        return Head(numbered, False, False, 0, longest, first[:SAMPLE])
    if all(map(is_number, names)) and names != [str(column) for column in range(count)]:
        raise StreamError(
            f"{path} begins with a line of numbers, not of names; say header=False if that line is "
            "data, or name the columns."
        )
    lines = first[0].line + sum(field.count("\n") for field in names)
    sample = first[1:]
    trailing = bool(sample) and all(
        len(record.fields) == count + 1 and record.fields[-1] == "" for record in sample
    )
    named = [name or UNNAMED.format(column) for column, name in enumerate(names)]
    return Head(named, names[0] == "", trailing, lines, longest, sample)


@cache
def _missing() -> frozenset[str]:
    """Fields that stand for a missing number."""
    from pyarrow import csv as arrow_csv

    return frozenset(arrow_csv.ConvertOptions().null_values)


@cache
def _booleans() -> frozenset[str]:
    """Fields that stand for a boolean."""
    from pyarrow import csv as arrow_csv

    options = arrow_csv.ConvertOptions()
    return frozenset([*options.true_values, *options.false_values])


def is_number(text: str) -> bool:
    """Whether a field is written as a number, nan and inf included."""
    return NUMBER.fullmatch(text) is not None


def _fields(head: Head, name: str) -> list[tuple[str, int]]:
    """Fields of a column in the first rows, with their lines; missing ones are left out."""
    column = head.names.index(name)
    fields = [(r.fields[column], r.line) for r in head.sample if column < len(r.fields)]
    return [(text, line) for text, line in fields if text not in _missing()]


def _is_boolean(fields: list[tuple[str, int]]) -> bool:
    texts = {text for text, _ in fields}
    return texts <= _booleans() and not all(map(is_number, texts))


def column_types(head: Head, names: Sequence[str]) -> dict[str, str]:
    """Arrow types of columns of numbers, and of the empty field at the end of rows."""
    types = {name: "bool" if _is_boolean(_fields(head, name)) else "double" for name in names}
    return types | dict.fromkeys(head.fields[len(head.names) :], "null")


def csv_columns(head: Head, names: Sequence[str] | None = None) -> TableColumns:
    """Columns of a file, all or those of some names, judged by its first rows."""
    text, mixed = {}, []
    for name in dict.fromkeys(head.names if names is None else names):
        fields = _fields(head, name)
        words = [(value, line) for value, line in fields if not is_number(value)]
        if words and not _is_boolean(fields):
            if len(words) < len(fields):
                mixed.append(name)
            else:
                text[name] = "{!r} in line {}".format(*words[0])
    return TableColumns(tuple(head.names), text, tuple(mixed), head.unnamed)


def _find_error(
    path: Path, form: Format, head: Head, types: dict[str, str], skip: int
) -> StreamError | None:
    """Error of the first bad row after ``skip`` rows; None if none is found."""
    places = {name: column for column, name in enumerate(head.fields)}
    problems = {"double": "is no number", "bool": "is neither true nor false"}
    try:
        for line, fields in _records(path, form, skip + form.header):
            if len(fields) != len(places) or (head.trailing and fields[-1] not in _missing()):
                return _wrong_length(path, form, head, Record(line, fields))
            for name, kind in types.items():
                text = fields[places[name]]
                good = text in _booleans() if kind == "bool" else is_number(text)
                if not good and text not in _missing():
                    return StreamError(
                        f"{path}, line {line}, column {name!r}: {text!r} {problems[kind]}; correct "
                        "it, leave it empty, or leave the column out with columns=."
                    )
    except (OSError, EOFError, csv.Error):
        pass  # The caller raises an error in any case.
    return None


def _wrong_length(path: Path, form: Format, head: Head, record: Record) -> StreamError:
    text = form.separator.join(record.fields)
    shown = text if len(text) <= 60 else text[:57] + "..."
    expected, found = len(head.names), len(record.fields)
    if found < len(head.fields):
        expected = len(head.fields)
        what = f"column {head.fields[found]!r} is missing"
    else:
        what = f"{record.fields[expected]!r} is beyond the last column, {head.names[-1]!r}"
    return StreamError(
        f"{path}, line {record.line}: {found} fields where there should be {expected}; {what}: "
        f"{shown!r}. Correct the line; a separator other than {form.separator!r} is given with "
        "separator=."
    )


def _line_of_row(path: Path, form: Format, row: int) -> int | None:
    """Line of the file, counting from 1, on which a row begins; None if it cannot be found."""
    try:
        return next((r.line for r in _records(path, form, row + form.header)), None)
    except (OSError, EOFError, csv.Error):
        return None
