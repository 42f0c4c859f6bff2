"""Streams of CSV files."""

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
from sfumato.streams._base import BufferRing, Chunk, FileStream, Location, default_rows
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


SAMPLE = 100
"""Rows that are looked at to tell columns of numbers from columns of text."""

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf|infinity|nan)\s*", re.I)


class Format(NamedTuple):
    """How a CSV file is written: the character between columns, and whether names come first."""

    separator: str = ","
    header: bool = True


class Record(NamedTuple):
    """Fields of a row, and the line of the file on which it begins, counting from 1."""

    line: int
    fields: list[str]


class Head(NamedTuple):
    """Names of the columns, lines before the data, the longest of the first rows, and those."""

    names: list[str]
    lines: int
    longest: int
    sample: list[Record]


def _open(path: Path) -> TextIO:
    """A file as text, whatever bytes are in it."""
    layout: Any = {"encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    return gzip.open(path, "rt", **layout) if path.suffix == ".gz" else path.open(**layout)


def records(path: Path, form: Format, skip: int = 0) -> Iterator[Record]:
    """Rows of a file that are not blank, the one with the names included, but for the first."""
    with _open(path) as file:
        reader = csv.reader(file, delimiter=form.separator)
        # There may be millions to skip: nothing is done for each but to count it.
        skipped = sum(1 for _ in islice(filter(None, reader), skip))
        line = reader.line_num + 1
        for fields in reader if skipped == skip else ():
            if fields:
                yield Record(line, fields)
            line = reader.line_num + 1


def read_head(path: Path, form: Format) -> Head:
    """The first lines of a file; raises StreamError if they cannot be names and rows."""
    try:
        first = list(islice(records(path, form), SAMPLE + 1))
    except (OSError, EOFError, csv.Error) as error:
        raise StreamError(
            f"{path} cannot be read as csv ({one_line(error)}); check the file."
        ) from error
    if not first:
        raise StreamError(f"{path} is empty; give a file with rows.")
    names = first[0].fields
    longest = max(sum(len(field.encode()) + 3 for field in record.fields) for record in first)
    if not form.header:
        return Head([f"x{column}" for column in range(len(names))], 0, longest, first[:SAMPLE])
    if all(map(is_number, names)) and names != [str(column) for column in range(len(names))]:
        raise StreamError(
            f"{path} begins with a line of numbers, not of names; say header=False if that line is "
            "data, or name the columns."
        )
    lines = first[0].line + sum(field.count("\n") for field in names)
    return Head(names, lines, longest, first[1:])


@cache
def _missing() -> frozenset[str]:
    """What stands for a missing number."""
    from pyarrow import csv as arrow_csv

    return frozenset(arrow_csv.ConvertOptions().null_values)


def is_number(text: str) -> bool:
    """Whether a field is written as a number, nan and inf included."""
    return NUMBER.fullmatch(text) is not None


def text_columns(head: Head, names: Sequence[str]) -> list[tuple[str, str, int]]:
    """Columns without any number in the first rows: name, first field that is none, its line."""
    found = []
    places = {name: column for column, name in enumerate(head.names)}
    for name in names:
        column = places[name]
        fields = [(r.fields[column], r.line) for r in head.sample if column < len(r.fields)]
        words = [(text, line) for text, line in fields if text not in _missing()]
        if words and not any(is_number(text) for text, _ in words):
            found.append((name, *words[0]))
    return found


def _data(path: Path, form: Format, skip: int) -> Iterator[Record]:
    """Rows of numbers, from row ``skip`` on."""
    return records(path, form, skip + form.header)


def find_fault(
    path: Path, form: Format, head: Head, columns: Sequence[str], skip: int
) -> StreamError | None:
    """What is wrong with the first bad row after ``skip`` rows; None if none is found."""
    places = {name: column for column, name in enumerate(head.names)}
    wanted = [(name, places[name]) for name in columns]
    try:
        for line, fields in _data(path, form, skip):
            if len(fields) != len(head.names):
                return _wrong_length(path, form, head, Record(line, fields))
            for name, column in wanted:
                text = fields[column]
                if text not in _missing() and not is_number(text):
                    return StreamError(
                        f"{path}, line {line}, column {name!r}: {text!r} is no number; correct it, "
                        "leave it empty, or leave the column out with columns=."
                    )
    except (OSError, EOFError, csv.Error):
        pass  # The caller has an error to tell in any case.
    return None


def _wrong_length(path: Path, form: Format, head: Head, record: Record) -> StreamError:
    text = form.separator.join(record.fields)
    shown = text if len(text) <= 60 else text[:57] + "..."
    expected, found = len(head.names), len(record.fields)
    if found < expected:
        what = f"column {head.names[found]!r} is missing"
    else:
        what = f"{record.fields[expected]!r} is beyond the last column, {head.names[-1]!r}"
    return StreamError(
        f"{path}, line {record.line}: {found} fields where there should be {expected}; {what}: "
        f"{shown!r}. Correct the line; a separator other than {form.separator!r} is given with "
        "separator=."
    )


def line_of_row(path: Path, form: Format, head: Head, row: int) -> int | None:
    """Line of the file, counting from 1, on which a row begins; None if it cannot be found."""
    try:
        return next((record.line for record in _data(path, form, row)), None)
    except (OSError, EOFError, csv.Error):
        return None
