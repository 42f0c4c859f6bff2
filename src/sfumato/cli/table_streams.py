"""Tables in files as streams: the columns that the user of the command line chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.tables import Source
from sfumato.exceptions import UserError
from sfumato.streams import Stream, stream
from sfumato.streams._arrays import ChosenColumns
from sfumato.streams._open import table_files

if TYPE_CHECKING:
    import pandas as pd

HEAD_ROWS = 1000
"""Rows of a .csv file that say which columns hold numbers."""


@dataclass(frozen=True)
class StreamedTable:
    """A table that is read chunk by chunk.

    Attributes
    ----------
    open : callable
        Takes the rows of a chunk (None for the default) and whether chunks are to carry ids;
        returns a stream.
    names : tuple of str
        One per feature.
    row_name : str
        Header of what identifies the rows.
    has_ids : bool
        Whether a column does, rather than the number of the row.
    ignored : tuple of str
        Columns left out because they hold no numbers.
    """

    open: Callable[[int | None, bool], Stream]
    names: tuple[str, ...]
    row_name: str
    has_ids: bool
    ignored: tuple[str, ...] = ()


def streamed_table(source: Source) -> StreamedTable:
    """Table of a .csv, .parquet or .npy file, or of a folder of Parquet files."""
    if source.path.is_dir():
        return _parquet(source)
    makers = {".csv": _csv, ".parquet": _parquet, ".npy": _npy}
    maker = makers.get(source.path.suffix.lower())
    if maker is None:
        kinds = ", ".join(makers)
        raise UserError(
            f"{source.path} cannot be streamed; give a file that ends in {kinds}, or a folder of "
            "Parquet files."
        )
    return maker(source)


def _named(
    source: Source, frame: pd.DataFrame, names: dict[str, str], **options: Any
) -> StreamedTable:
    """Table whose columns the stream finds by name, which may differ from what users say."""
    chosen, text = source.numeric(frame)
    identified = source.id_column is not None

    def opened(chunk_rows: int | None, with_ids: bool) -> Stream:
        ids = names[str(source.id_column)] if with_ids and identified else None
        columns = [names[name] for name in chosen]
        return stream(source.path, columns=columns, ids=ids, chunk_rows=chunk_rows, **options)

    return StreamedTable(opened, tuple(chosen), source.row_name, identified, tuple(text))


def _csv(source: Source) -> StreamedTable:
    import pandas as pd

    frame = source.head(HEAD_ROWS)
    for name in frame.columns if not source.ignore_text else ():
        found = pd.to_numeric(frame[name], errors="coerce")
        if found.notna().any():  # A word among numbers: the stream will say in which line.
            frame[name] = found
    # pandas gives names to columns that have none; the stream goes by what is in the file.
    names = {name: "" if name.startswith("Unnamed: ") else name for name in frame.columns}
    return _named(source, frame, names, separator=source.separator, header=source.header)


def _parquet(source: Source) -> StreamedTable:
    schema = _schema(source, table_files(source.path)[0])
    frame = schema.empty_table().to_pandas()  # The types that pandas would give the columns.
    frame.columns = frame.columns.map(str)
    return _named(source, frame, {name: name for name in frame.columns})


def _schema(source: Source, path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path} cannot be read as parquet ({error}); check the file.") from error


def _npy(source: Source) -> StreamedTable:
    whole = stream(source.path)
    available = [f"x{column}" for column in range(whole.n_features)]
    names = source.features(available)
    identified = source.id_column is not None

    def opened(chunk_rows: int | None, with_ids: bool) -> Stream:
        inner = stream(source.path, chunk_rows=chunk_rows)
        ids = available.index(str(source.id_column)) if with_ids and identified else None
        if names == available and ids is None:
            return inner
        return ChosenColumns(inner, [available.index(name) for name in names], names, ids)

    return StreamedTable(opened, tuple(names), source.row_name, identified)
