"""First rows of CSV files: the format, the names and types of the columns.

They are read by the csv module of Python, which is slow but knows the lines.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sfumato.exceptions import Option, StreamError, one_line
from sfumato.streams._tables import Example, TableColumns

SAMPLE = 100
"""Rows from which the types of columns are inferred, chosen by hand. A column whose first rows
hold text only is a text column; text that comes later is an error with its line."""

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf|infinity|nan)\s*", re.I)
"""What counts as a number: as Arrow parses it to float64."""

DATE = re.compile(
    r"\s*(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3(\d\d){1,2})([T ]\s*\d\d?:.*)?\s*"
    r"|\s*\d\d?:\d\d(:\d\d.*)?\s*"
)
"""What counts as a date or a time of day, in messages: digits, with the year first or last."""

SEPARATORS = (",", ";", "\t", "|", " ")
"""Separators that are tried, for the message, where the given one makes no table."""

UNNAMED = "Unnamed: {}"
"""Name of a column without a name, by its number counting from 0; the same as in pandas."""


class Format(NamedTuple):
    """Format of a CSV file.

    Attributes
    ----------
    separator : str
        Character between the columns.
    header : bool
        Whether the first line holds names.
    decimal : str
        Character before the decimals of a number.
    """

    separator: str = ","
    header: bool = True
    decimal: str = "."


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


def _text(path: Path) -> TextIO:
    """Open a file as text; bytes that are not UTF-8 are replaced."""
    layout: Any = {"encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    return gzip.open(path, "rt", **layout) if path.suffix == ".gz" else path.open(**layout)


def records(path: Path, form: Format, skip: int = 0) -> Iterator[Record]:
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
        first = list(islice(records(path, form), SAMPLE + 1))
    except (OSError, EOFError, csv.Error) as error:
        raise StreamError(
            f"{path} cannot be read as csv ({one_line(error)}); check the file."
        ) from error
    if not first:
        raise StreamError(f"{path} is empty; give a file with rows.")
    names = first[0].fields
    count, sample = len(names), first[form.header :]
    trailing = form.header and _ends_in_separators(sample, count)
    if not trailing:
        _check_separator(path, form, first)
    longest = max(sum(len(field.encode()) + 3 for field in record.fields) for record in first)
    if not form.header:
        numbered = [f"x{column}" for column in range(count)]
        return Head(numbered, False, False, 0, longest, first[:SAMPLE])
    numbers = all(is_number(name, form.decimal) for name in names)
    if numbers and names != [str(column) for column in range(count)]:
        raise StreamError(
            f"{path} begins with a line of numbers, not of names; say ",
            Option("header", False),
            " if that line is data, or name the columns.",
        )
    lines = first[0].line + sum(field.count("\n") for field in names)
    named = [name or UNNAMED.format(column) for column, name in enumerate(names)]
    return Head(named, names[0] == "", trailing, lines, longest, sample)


def _ends_in_separators(rows: Sequence[Record], count: int) -> bool:
    """Whether all rows have an empty field more than there are names."""
    return bool(rows) and all(
        len(record.fields) == count + 1 and record.fields[-1] == "" for record in rows
    )


def _check_separator(path: Path, form: Format, first: Sequence[Record]) -> None:
    """Raise StreamError if the first rows are a table by another separator only."""
    if len({len(record.fields) for record in first}) == 1 < len(first[0].fields):
        return
    for separator in SEPARATORS:
        if separator == form.separator:
            continue
        try:
            other = list(islice(records(path, form._replace(separator=separator)), SAMPLE + 1))
        except (OSError, EOFError, csv.Error):
            continue
        count = len(other[0].fields)
        fields = [text for record in other[form.header :] for text in record.fields]
        written = [mark for mark in ".," if any(is_number(text, mark) for text in fields)]
        if count > 1 and written and {len(record.fields) for record in other} == {count}:
            decimal = "," if _has_commas(fields) and separator != "," else form.decimal
            more = (" ", Option("decimal", decimal)) if decimal != form.decimal else ()
            raise StreamError(
                f"{path} has its columns separated by {separator!r}, not by {form.separator!r}; "
                "give ",
                Option("separator", separator),
                *more,
                ".",
            )


def _has_commas(fields: Sequence[str]) -> bool:
    """Whether some fields are numbers with a decimal comma, and none has a decimal point."""
    return any(has_decimal_comma(text) for text in fields) and not any(
        "." in text and is_number(text) for text in fields
    )


@cache
def missing() -> frozenset[str]:
    """Fields that stand for a missing number."""
    from pyarrow import csv as arrow_csv

    return frozenset(arrow_csv.ConvertOptions().null_values)


@cache
def booleans() -> frozenset[str]:
    """Fields that stand for a boolean."""
    from pyarrow import csv as arrow_csv

    options = arrow_csv.ConvertOptions()
    return frozenset([*options.true_values, *options.false_values])


def is_number(text: str, decimal: str = ".") -> bool:
    """Whether a field is written as a number, nan and inf included."""
    if decimal != ".":
        text = text.replace(".", "?").replace(decimal, ".")
    return NUMBER.fullmatch(text) is not None


def has_decimal_comma(text: str) -> bool:
    """Whether a field is a number with a decimal comma."""
    return "," in text and is_number(text, ",")


def kind_of(text: str) -> str:
    """Kind of a field that is no number as the format has it; see ``Example``."""
    if is_number(text):
        return "decimal point"
    if has_decimal_comma(text):
        return "decimal comma"
    return "date" if DATE.fullmatch(text) else "text"


def _fields(head: Head, name: str) -> list[tuple[str, int]]:
    """Fields of a column in the first rows, with their lines; missing ones are left out."""
    column = head.names.index(name)
    fields = [(r.fields[column], r.line) for r in head.sample if column < len(r.fields)]
    return [(text, line) for text, line in fields if text not in missing()]


def _is_boolean(fields: list[tuple[str, int]]) -> bool:
    texts = {text for text, _ in fields}
    return texts <= booleans() and not all(map(is_number, texts))


def column_types(head: Head, names: Sequence[str]) -> dict[str, str]:
    """Arrow types of columns of numbers, and of the empty field at the end of rows."""
    types = {name: "bool" if _is_boolean(_fields(head, name)) else "double" for name in names}
    return types | dict.fromkeys(head.fields[len(head.names) :], "null")


def csv_columns(head: Head, form: Format, names: Sequence[str] | None = None) -> TableColumns:
    """Columns of a file, all or those of some names, judged by its first rows."""
    text, mixed = {}, []
    for name in dict.fromkeys(head.names if names is None else names):
        fields = _fields(head, name)
        words = [(value, line) for value, line in fields if not is_number(value, form.decimal)]
        if words and not _is_boolean(fields):
            if len(words) < len(fields):
                mixed.append(name)
            else:
                value, line = words[0]
                text[name] = Example(f"{value!r} in line {line}", kind_of(value))
    return TableColumns(tuple(head.names), text, tuple(mixed), head.unnamed)
