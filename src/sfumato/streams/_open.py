"""``stream``: opens a source of any kind as a stream."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sfumato.exceptions import Option, StreamError
from sfumato.streams._arrays import ArrayStream, NpyStream, ZarrStream
from sfumato.streams._base import Stream
from sfumato.streams._csv import CsvStream
from sfumato.streams._csv_head import Format, csv_columns, read_head
from sfumato.streams._iterables import Again, FrameStream, IterableStream, is_frame
from sfumato.streams._npz import open_npz
from sfumato.streams._parquet import ParquetStream, read_schema
from sfumato.streams._tables import ColumnSelection, TableColumns

KINDS = {
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".zarr": "zarr",
}
"""Kinds of files by the endings of their names."""

TEXT = (".txt", ".dat", ".data", ".tab", ".asc")
"""Endings of text files whose separator is not known."""


def stream(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    weights: str | None = None,
    ids: str | None = None,
    chunk_rows: int | None = None,
    separator: str | None = None,
    header: bool = True,
    decimal: str = ".",
    key: str | None = None,
) -> Stream:
    """Rows that may be larger than memory, to be read chunk by chunk as often as needed.

    Parameters
    ----------
    source : path, sequence of paths, array-like, table, iterable, callable or Stream
        - A path that ends in .npy, .npz, .parquet, .pq, .csv, .tsv (both also with .gz) or .zarr, a
          folder of Parquet files (sorted by name, subfolders included; names that begin with a dot
          or an underscore are left out), or a sequence of paths of one kind. Of .npz files,
          sparse arrays of another format than CSR are loaded, and those in Fortran order are
          unpacked into a temporary file.
        - An object with ``shape``, ``dtype`` and slices: an array, a memory map, CSR, Zarr, HDF5.
        - A table of pandas, polars or pyarrow.
        - An object that can be iterated again and again and yields chunks: arrays, CSR, tables, or
          tuples (rows, weights); or a function without arguments that returns one. It is iterated
          in the prefetch thread.
    columns : sequence of str, optional
        Columns of a table to use as features; all by default.
    exclude : sequence of str, optional
        Columns of a table that are not used.
    weights : str, optional
        Column of a table that holds the weights of the rows; it is no feature.
    ids : str, optional
        Column of a table that identifies the rows, of any type; it is no feature. Chunks carry it.
    chunk_rows : int, optional
        Rows per chunk; by default as many as take about 32 MiB. Results depend on it in their
        last bits. Iterables keep their own chunks.
    separator : str, optional
        Character between the columns of a text file; by default a comma for .csv, and a tab for
        .tsv.
    header : bool, default=True
        Whether the first line of a text file names the columns, which are x0, x1, ... otherwise.
    decimal : {".", ","}, default="."
        Character before the decimals of the numbers of a text file.
    key : str, optional
        Name of the array in an .npz file, if there are several.

    Returns
    -------
    Stream
        Whose ``chunks()`` is a pass over the rows.

    Raises
    ------
    StreamError
        If the data is not as it should be. The message names the file, the row and the column.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.streams import stream
    >>> rows = stream(np.arange(10.0).reshape(5, 2), chunk_rows=2)
    >>> [chunk.rows.shape for chunk in rows.chunks()]
    [(2, 2), (2, 2), (1, 2)]
    """
    choice = ColumnSelection(
        _names("columns", columns), weights, ids, _names("exclude", exclude) or ()
    )
    _check_options(chunk_rows, separator, decimal)
    paths = [] if isinstance(source, Stream) else _paths(source)
    form = csv_format(paths[0] if paths else None, separator, header, decimal)
    if isinstance(source, Stream):
        if (choice, form, chunk_rows, key) != (ColumnSelection(), Format(), None, None):
            raise ValueError("a Stream has its options already; give them where it is made.")
        return source
    if key is not None and not (len(paths) == 1 and file_kind(paths[0]) == "npz"):
        raise ValueError("key= is for .npz files only; leave it out.")
    if paths:
        found = _open_files(paths, choice, form, chunk_rows, key)
    else:
        found = _open_object(source, choice, form, chunk_rows)
    if found.n_features == 0:
        raise StreamError(f"{found.source} has rows without columns; give at least one feature.")
    return found


def _names(option: str, given: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(given, str):
        raise TypeError(f"{option}={given!r} is one name; give a list of names: [{given!r}].")
    if given is not None and len(given) == 0:
        raise ValueError(f"{option} is empty; name at least one column, or leave it out.")
    return None if given is None else tuple(given)


def csv_format(path: Path | None, separator: str | None, header: bool, decimal: str) -> Format:
    """Format of a text file; the separator depends on the ending of its name if it is None."""
    tabs = path is not None and path.name.lower().endswith((".tsv", ".tsv.gz"))
    return Format(separator or ("\t" if tabs else ","), header, decimal)


def _check_options(chunk_rows: Any, separator: Any, decimal: Any) -> None:
    if chunk_rows is not None and (
        isinstance(chunk_rows, bool) or not hasattr(chunk_rows, "__index__") or chunk_rows < 1
    ):
        raise ValueError(f"chunk_rows={chunk_rows!r} is no number of rows; give an integer >= 1.")
    if separator is not None and (not isinstance(separator, str) or len(separator) != 1):
        raise ValueError(f"separator={separator!r} is not one character; give one such as ';'.")
    if decimal not in (".", ","):
        raise ValueError(f"decimal={decimal!r} is neither '.' nor ','; give one of them.")


def _paths(source: Any) -> list[Path]:
    """Files of a source; none if it is not a path or a sequence of paths."""
    given = source if isinstance(source, (list, tuple)) else [source]
    if not all(isinstance(item, (str, os.PathLike)) for item in given):
        return []
    return [path for item in given for path in table_files(Path(item))]


def _open_object(
    source: Any, choice: ColumnSelection, form: Format, chunk_rows: int | None
) -> Stream:
    """Open a source that is not a file."""
    if form != Format():
        raise ValueError("separator=, header= and decimal= are for .csv and .tsv files only.")
    if is_frame(source):
        return FrameStream(source, choice, chunk_rows)
    if all(hasattr(source, name) for name in ("shape", "dtype", "__getitem__")):
        _refuse_names(choice, f"a {type(source).__name__}")
        return ArrayStream(source, chunk_rows)
    if chunk_rows is not None:
        raise ValueError(
            f"chunk_rows={chunk_rows} is given for an iterable, which keeps its own chunks; leave "
            "it out, and let the iterable yield chunks of that size."
        )
    return _open_iterable(source, choice)


def _open_iterable(source: Any, choice: ColumnSelection) -> Stream:
    if callable(source) and not isinstance(source, Iterable):
        return IterableStream(source, choice)
    if not isinstance(source, Iterable):
        raise TypeError(
            f"a {type(source).__name__} cannot be read as rows; give a path, an array, or an "
            "iterable of arrays, CSR arrays, tables, or tuples (rows, weights)."
        )
    if isinstance(source, Iterator):
        raise TypeError(
            f"a {type(source).__name__} can be read only once, and several passes are needed; give "
            "the function that makes it (without calling it), or a list of its chunks."
        )
    return IterableStream(Again(source), choice)


def _open_files(
    paths: Sequence[Path],
    choice: ColumnSelection,
    form: Format,
    chunk_rows: int | None,
    key: str | None,
) -> Stream:
    """Open files that are all of one kind."""
    kinds = {file_kind(path): path for path in reversed(paths)}
    if len(kinds) > 1:
        shown = " and ".join(str(path) for path in kinds.values())
        raise StreamError(f"{shown} are of different kinds; files of one stream must be alike.")
    kind = file_kind(paths[0])
    if kind != "csv" and form != Format():
        raise ValueError(
            "separator=, header= and decimal= are for .csv and .tsv files only, not for "
            f"{paths[0]}."
        )
    if kind == "parquet":
        return ParquetStream(paths, choice, chunk_rows)
    if kind == "csv":
        return CsvStream(paths, choice, form, chunk_rows)
    _refuse_names(choice, str(paths[0]))
    if kind == "npy":
        return NpyStream(paths, chunk_rows)
    if len(paths) > 1:
        raise StreamError(f"{paths[0]} and {paths[1]}: only one {kind} file can be a stream.")
    if kind == "npz":
        return open_npz(paths[0], key, chunk_rows)
    return ZarrStream(paths[0], chunk_rows)


def _refuse_names(choice: ColumnSelection, what: str) -> None:
    if choice != ColumnSelection():
        raise ValueError(
            f"columns=, exclude=, weights= and ids= are for tables, and {what} has no names of "
            "columns; give the columns you want as an array, or tuples (rows, weights)."
        )


def table_columns(path: Path, form: Format) -> TableColumns | None:
    """Columns of a file, or of the first file of a folder; None for files of arrays."""
    first = table_files(path)[0]
    kind = file_kind(first)
    if kind == "csv":
        return csv_columns(read_head(first, form), form)
    return TableColumns.of(read_schema(first)[0]) if kind == "parquet" else None


def file_kind(path: Path) -> str:
    """Kind of a file; raises StreamError if its ending is unknown."""
    name = path.name.lower()
    for ending, kind in KINDS.items():
        if name.endswith(ending):
            return kind
    if path.suffix.lower() in TEXT:
        raise StreamError(
            f"{path} is of no known kind; if it is a table with a row per line, let its name end "
            "in .csv, and give ",
            Option("separator"),
            " unless that is a comma.",
        )
    raise StreamError(
        f"{path} is of no known kind; give a path that ends in {', '.join(KINDS)}, or a folder of "
        "Parquet files."
    )


def table_files(path: Path) -> list[Path]:
    """The path itself, or the Parquet files of a folder, sorted by name."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; check the path.")
    if not path.is_dir() or path.name.lower().endswith(".zarr"):
        return [path]
    inner = sorted(path.rglob("*"), key=lambda found: found.relative_to(path).parts)
    files = [
        found
        for found in inner
        if found.suffix.lower() in (".parquet", ".pq")
        and not any(part.startswith((".", "_")) for part in found.relative_to(path).parts)
        and found.is_file()
    ]
    if not files:
        raise StreamError(f"the folder {path} holds no .parquet files; check the path.")
    return files
