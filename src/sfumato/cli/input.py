"""Input of ``sfumato cluster`` and ``predict``: columns that are features, and how a file is read.

The file is opened by ``sfumato.streams``, whether all of it is then read into memory or not. The
messages of this module name options of the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sfumato._tables.preparer import TablePreparer
from sfumato.cli.tables import fitted
from sfumato.exceptions import Option, UserError, shown
from sfumato.streams import Stream, stream
from sfumato.streams._arrays import SelectedColumns
from sfumato.streams._csv_head import Format
from sfumato.streams._npz import LoadedNpz
from sfumato.streams._open import csv_format, table_columns, table_files
from sfumato.streams._prepared import PreparedStream
from sfumato.streams._tables import ColumnSelection, TableColumns, check_known, check_numeric

RESERVED = ("cluster", "label", "membership", "outlier", "outlier_score")
"""Columns of the results; an identifier of that name is written as ``id``."""

MOST_COLUMNS = 1 << 24
"""Columns of an array, at most; chosen by hand. A sparse one may claim any number."""

NOTHING_LEFT = (
    "{} has no numeric column left to cluster by; check --columns, --exclude and --separator."
)


@dataclass(frozen=True)
class Table:
    """Selected columns of a file.

    Attributes
    ----------
    open : callable
        Takes the rows of a chunk (None for the default) and whether chunks are to carry
        identifiers; returns a stream.
    names : tuple of str
        Names of the features.
    row_name : str
        Header of the identifiers in the results.
    has_ids : bool
        Whether a column identifies the rows, rather than their numbers, counting from 0.
    ignored : tuple of str
        Columns left out because they hold no numbers.
    preparer : TablePreparer or None
        What makes numbers of the columns; None where they are taken as they are.
    """

    open: Callable[[int | None, bool], Stream]
    names: tuple[str, ...]
    row_name: str
    has_ids: bool
    ignored: tuple[str, ...]
    preparer: TablePreparer | None = None


@dataclass(frozen=True)
class Source:
    """A file, and which part of it to read.

    Parameters
    ----------
    path : Path
        A file of any kind that ``sfumato.stream`` opens, or a folder of Parquet files.
    columns : tuple of str, default=()
        The only columns to use as features; all if empty. Columns of arrays are named x0, x1, ...
    exclude : tuple of str, default=()
        Columns not to use.
    ignore_text : bool, default=False
        Whether to leave out columns that hold no numbers, rather than to raise an error.
    id_column : str, optional
        Column that identifies the rows; it is no feature.
    key : str, optional
        Which array of an .npz file.
    separator : str, optional
        Character between the columns of a text file; by default by the ending of its name.
    header : bool, default=True
        Whether the first line of a text file names the columns.
    decimal : {".", ","}, default="."
        Character before the decimals of the numbers of a text file.
    model : str, optional
        Name of the file of a model that needs these columns.
    preparation : mapping of str to object, optional
        Parameters of the :class:`TablePreparer` of a table; None if columns must be numbers.
    """

    path: Path
    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_text: bool = False
    id_column: str | None = None
    key: str | None = None
    separator: str | None = None
    header: bool = True
    decimal: str = "."
    model: str | None = None
    preparation: Mapping[str, Any] | None = None

    @property
    def form(self) -> Format:
        """Format of a text file."""
        return csv_format(self.path, self.separator, self.header, self.decimal)

    def table(self) -> Table:
        """Select columns; reads no more than the first rows of a table.

        Raises
        ------
        UserError, StreamError, FileNotFoundError
            If the file cannot be read, or has not the columns.
        """
        self._check_options()
        columns = table_columns(self.path, self.form)
        if columns is None:
            return self._array()
        if self.preparation is not None:
            preparer = self._fitted(columns)
            if not preparer.changes_nothing_:
                return self.prepared(preparer)
        names, ignored = self._numeric(columns)
        options = self.form._asdict() if self._is_text() else {}

        def opened(chunk_rows: int | None, with_ids: bool) -> Stream:
            ids = self.id_column if with_ids else None
            return stream(self.path, columns=names, ids=ids, chunk_rows=chunk_rows, **options)

        return self._table(opened, names, ignored)

    def _fitted(self, columns: TableColumns) -> TablePreparer:
        """Decisions about the columns of a table, from a sample of its rows."""
        given = dict(self.preparation or {})
        names = self._features(columns.names, columns.index)
        self._check_first(columns, names)
        ColumnSelection(tuple(names), ids=self.id_column).features(
            [*columns.names, *columns.index], str(self.path)
        )
        twins = {name: columns.text[name] for name in names if name in columns.text}
        other = {n: example for n, example in twins.items() if example.kind.startswith("decimal")}
        check_numeric(str(self.path), other)
        for option in ("numbers", "categories", "dates"):
            check_known(str(self.path), given[option], names)
        preparer = TablePreparer(**given, decimal=self.decimal)
        return fitted(preparer, self._raw(names, names, lambda table: table, None, None))

    def check_columns(self) -> None:
        """Raise unless the file is a table that has the columns."""
        self._check_options()
        columns = table_columns(self.path, self.form)
        self._features(() if columns is None else columns.names, columns.index if columns else ())

    def prepared(self, preparer: TablePreparer) -> Table:
        """Rows of a table that a fitted preparer makes into numbers."""
        columns = [each.column for each in preparer.decisions_.used]
        names = [str(name) for name in preparer.get_feature_names_out()]

        def opened(chunk_rows: int | None, with_ids: bool) -> Stream:
            ids = self.id_column if with_ids else None
            return self._raw(columns, names, preparer.transform, ids, chunk_rows)

        return replace(self._table(opened, names, []), preparer=preparer)

    def _raw(
        self,
        columns: Sequence[str],
        names: Sequence[str],
        prepare: Callable[[Any], Any],
        ids: str | None,
        chunk_rows: int | None,
    ) -> PreparedStream:
        """Columns of a table as they are, and what a function makes of them."""
        paths, form = table_files(self.path), self.form if self._is_text() else None
        return PreparedStream(paths, form, columns, names, prepare, ids, chunk_rows)

    def _is_text(self) -> bool:
        return self.path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))

    def _check_options(self) -> None:
        """Refuse options of another file format than that of the file."""
        if self.key is not None and not self.path.name.lower().endswith(".npz"):
            raise UserError(f"--key is for .npz files, and {self.path} is none; leave it out.")
        plain = self.separator is None and self.header and self.decimal == "."
        if not plain and self.path.exists() and not self._is_text():
            raise UserError(
                f"--separator, --decimal and --no-header are for .csv and .tsv files, and "
                f"{self.path} is none; leave them out."
            )

    def _array(self) -> Table:
        """Select columns of a file without names."""
        key = self.key if self.path.suffix.lower() == ".npz" else None
        whole = stream(self.path, key=key)
        if whole.n_features > MOST_COLUMNS:
            raise UserError(
                f"{self.path} has {whole.n_features} columns; give at most {MOST_COLUMNS}."
            )
        available = [f"x{column}" for column in range(whole.n_features)]
        names = self._features(available)
        place = {name: column for column, name in enumerate(available)}
        select = partial(SelectedColumns, columns=[place[name] for name in names], names=names)

        def opened(chunk_rows: int | None, with_ids: bool) -> Stream:
            inner = whole
            if chunk_rows is not None and not isinstance(whole, LoadedNpz):
                inner = stream(self.path, key=key, chunk_rows=chunk_rows)
            ids = place[self.id_column] if with_ids and self.id_column is not None else None
            return inner if names == available and ids is None else select(inner, ids=ids)

        return self._table(opened, names, [])

    def _table(
        self,
        opened: Callable[[int | None, bool], Stream],
        names: Sequence[str],
        ignored: Sequence[str],
    ) -> Table:
        row_name = self.id_column or "row"
        row_name = "id" if row_name in RESERVED else row_name
        has_ids = self.id_column is not None
        return Table(opened, tuple(names), row_name, has_ids, tuple(ignored))

    def _features(self, available: Sequence[str], hidden: Sequence[str] = ()) -> list[str]:
        """Names of the columns that are features, text or not."""
        asked = [*self.columns, *self.exclude, *([self.id_column] if self.id_column else [])]
        for name in self.columns if self.model is not None else ():
            if name not in available:
                raise UserError(
                    f"{self.path} has no column {name!r}, to which {self.model} was fitted; it "
                    f"needs the columns {shown(list(self.columns))[1:-1]}, in any order."
                )
        check_known(str(self.path), asked, [*available, *hidden])
        dropped = {*self.exclude, self.id_column}
        chosen = dict.fromkeys(self.columns or available)
        names = [name for name in chosen if name not in dropped]
        if not names:
            raise UserError(NOTHING_LEFT.format(self.path))
        return names

    def _check_first(self, columns: TableColumns, names: Sequence[str]) -> None:
        first = columns.names[0]
        if columns.unnamed and first in names and first not in self.columns:
            raise UserError(
                f"{self.path} has a first column without a name, perhaps row numbers; say "
                f"--exclude '{first}', --id-column '{first}', or name it."
            )

    def _numeric(self, columns: TableColumns) -> tuple[list[str], list[str]]:
        """Names of the features of a table, and of columns left out since they hold no numbers."""
        names = self._features(columns.names, columns.index)
        self._check_first(columns, names)
        if self.ignore_text and not self.columns:
            ignored = [name for name in names if name in columns.text or name in columns.mixed]
            if len(ignored) == len(names):
                raise UserError(NOTHING_LEFT.format(self.path))
            return [name for name in names if name not in ignored], ignored
        text = {name: columns.text[name] for name in names if name in columns.text}
        leave_out: list[str | Option] = ["leave them out of --columns"]
        if self.model is not None:
            leave_out = [f"give numbers: {self.model} was fitted to these columns"]
        if not self.columns:
            leave_out = ["leave them out with ", Option("exclude", list(text))]
            leave_out += [", or all such columns with --non-numeric ignore"]
        check_numeric(str(self.path), text, leave_out)
        return names, []
