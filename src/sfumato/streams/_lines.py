"""CSV files line by line: slow, for their first lines and for what is wrong in the others."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sfumato.exceptions import StreamError, one_line

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
