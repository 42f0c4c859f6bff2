"""Tables: which columns are features, which one holds weights, and their way into rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.exceptions import StreamError, did_you_mean, one_line
from sfumato.streams._base import BufferRing, Chunk, FileStream, Location, Stream, default_rows
from sfumato.streams._rows import check_weights, fill_rows


@dataclass(frozen=True)
class ColumnSelection:
    """What the caller asked for: names of the features (None for all), of the weights, of ids."""

    columns: tuple[str, ...] | None = None
    weights: str | None = None
    ids: str | None = None

    @property
    def others(self) -> list[str]:
        """Columns that are asked for and are no features."""
        return [name for name in (self.weights, self.ids) if name is not None]

    def features(self, available: Sequence[str], source: str) -> tuple[str, ...]:
        """Names of the features of a table with these columns."""
        asked = [*(self.columns or ()), *self.others]
        present = Counter(available)
        for name in asked:
            if name not in present:
                hint = did_you_mean(name, available) or listed(available)
                raise StreamError(f"{source} has no column {name!r}; {hint}")
        for other, option in ((self.weights, "weights="), (self.ids, "ids=")):
            if self.columns is not None and other in self.columns:
                raise StreamError(
                    f"the column {other!r} is asked for both in columns= and as {option}; it can "
                    "be one of them only."
                )
        chosen = [name for name in self.columns or available if name not in self.others]
        uses = Counter([*chosen, *self.others])
        for name in uses:
            if uses[name] > 1 or present[name] > 1:
                raise StreamError(
                    f"{source} has several columns {name!r}, or it was asked for twice; give every "
                    "column a name of its own, and ask for it once."
                )
        if not chosen:
            raise StreamError(f"{source} has no column left to use as a feature.")
        return tuple(chosen)


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Names for a message, not too many."""
    shown = ", ".join(map(repr, names[:limit])) or "none"
    return f"its columns are {shown}" + (", ..." if len(names) > limit else ".")


@dataclass(frozen=True)
class TableSchema:
    """How rows are made of a table.

    Attributes
    ----------
    features : tuple of str
        Columns that become features, in this order.
    weights : str or None
        Column that becomes the weights.
    dtype : dtype
        float32 if all features are float32, else float64.
    ids : str or None
        Column that identifies the rows; chunks carry it as it is.
    """

    features: tuple[str, ...]
    weights: str | None
    dtype: np.dtype[Any]
    ids: str | None = None

    @classmethod
    def of(cls, schema: Any, choice: ColumnSelection, source: str) -> TableSchema:
        """TableSchema for tables of an Arrow schema; raises if a chosen column holds no numbers."""
        import pyarrow as pa

        index = {name for name in (schema.pandas_metadata or {}).get("index_columns", ())
                 if isinstance(name, str)}  # fmt: skip
        asked = {*(choice.columns or ()), *choice.others}
        available = [name for name in schema.names if name not in index - asked]
        features = choice.features(available, source)
        types = {name: schema.field(name).type for name in (*features, choice.weights) if name}
        text = [name for name in types if not holds_numbers(types[name])]
        if text:
            shown = ", ".join(f"{name!r} ({types[name]})" for name in text)
            raise StreamError(
                f"{source} has columns that hold no numbers: {shown}; choose others with columns=."
            )
        single = all(types[name] == pa.float32() for name in features)
        dtype = np.dtype(np.float32 if single else np.float64)
        return cls(features, choice.weights, dtype, choice.ids)

    @property
    def numeric(self) -> list[str]:
        """Names of the columns that are read as numbers."""
        return [*self.features, *([self.weights] if self.weights is not None else [])]

    @property
    def columns(self) -> list[str]:
        """Names of all columns that are needed."""
        return [*self.numeric, *([self.ids] if self.ids is not None else [])]

    def gather(
        self, batches: Iterable[Any], n_rows: int, ring: BufferRing, source: str
    ) -> Iterator[Chunk]:
        """Chunks of ``n_rows`` rows each, but for the last one, whatever the batches' sizes."""
        first = filled = 0
        for batch in batches:
            start = 0
            while start < batch.num_rows:
                if filled == 0:
                    rows = ring.rows(n_rows, len(self.features), self.dtype)
                    weights = np.empty(n_rows if self.weights is not None else 0)
                    ids: list[Any] = []
                piece = batch.slice(start, n_rows - filled)
                stop = filled + piece.num_rows
                self._fill(piece, rows[filled:stop], weights[filled:stop], ids)
                start, filled = start + piece.num_rows, stop
                if filled == n_rows:
                    yield self._chunk(rows, weights, Location(source, first), ids)
                    first, filled = first + n_rows, 0
        if filled:
            yield self._chunk(rows[:filled], weights[:filled], Location(source, first), ids)

    def _fill(self, batch: Any, rows: NDArray[Any], weights: NDArray[Any], ids: list[Any]) -> None:
        fill_rows([numbers(batch.column(name)) for name in self.features], rows)
        if self.weights is not None:
            weights[:] = numbers(batch.column(self.weights))
        if self.ids is not None:
            column = batch.column(self.ids)
            ids += getattr(column, "chunks", [column])

    def _chunk(
        self, rows: NDArray[Any], weights: NDArray[Any], location: Location, ids: list[Any]
    ) -> Chunk:
        import pyarrow as pa

        found = None if self.ids is None else pa.chunked_array(ids)
        if self.weights is None:
            return Chunk(rows, None, location, found)
        return Chunk(rows, check_weights(weights, len(rows), location), location, found)


def holds_numbers(arrow_type: Any) -> bool:
    """Whether the values of an Arrow type are numbers, or truth values."""
    import pyarrow as pa

    if isinstance(arrow_type, pa.BaseExtensionType):
        return holds_numbers(arrow_type.storage_type)
    if isinstance(arrow_type, pa.DictionaryType):
        return holds_numbers(arrow_type.value_type)
    kinds = pa.types
    return bool(
        kinds.is_integer(arrow_type)
        or kinds.is_floating(arrow_type)
        or kinds.is_decimal(arrow_type)
        or kinds.is_boolean(arrow_type)
        or kinds.is_null(arrow_type)  # A column of which nothing is known yet: all NaN.
    )


def numbers(column: Any) -> NDArray[Any]:
    """Values of an Arrow column, without a copy where that is possible; missing ones are NaN."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):
        return numbers(column.storage)
    if isinstance(column, pa.DictionaryArray):
        return numbers(column.dictionary_decode())
    plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if column.null_count or not plain:
        column = column.cast(pa.float64(), safe=False)  # Digits beyond those of doubles are lost.
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found


def check_same_columns(
    path: Path, names: Sequence[str], first_path: Path, first: Sequence[str]
) -> None:
    """Raise StreamError, with the difference, if two files do not have the same features."""
    parts = []
    for file, own, other in ((path, names, set(first)), (first_path, first, set(names))):
        only = [name for name in own if name not in other]
        if only:
            parts.append(f"only {file} has {', '.join(map(repr, only))}")
    if parts:
        raise StreamError(
            f"{path} and {first_path} do not have the same columns: {'; '.join(parts)}. Choose "
            "common ones with columns=."
        )


BATCHES_PER_CHUNK = 2
"""A chunk is decoded in parts, so that its columns take little memory beside its rows."""

FEWEST_ROWS = 1024
"""Rows that are decoded together even where chunks are smaller."""

READ_BYTES = 1 << 18
"""Bytes of a column that are read at a time; else a whole row group would be kept."""


class ParquetStream(FileStream):
    """Rows of Parquet files with the same columns.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    choice : ColumnSelection
        Which columns to use.
    chunk_rows : int, optional
        Rows per chunk.
    """

    def __init__(
        self, paths: Sequence[Path], choice: ColumnSelection, chunk_rows: int | None = None
    ) -> None:
        super().__init__(paths)
        found = [_outline(path) for path in self.paths]
        layouts = [
            TableSchema.of(schema, choice, str(path))
            for path, (schema, _) in zip(self.paths, found, strict=True)
        ]
        first = layouts[0]
        for path, layout in zip(self.paths, layouts, strict=True):
            check_same_columns(path, layout.features, self.paths[0], first.features)
        single = all(layout.dtype == np.float32 for layout in layouts)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._layout = TableSchema(first.features, first.weights, self.dtype, first.ids)
        self._file_rows = [n_rows for _, n_rows in found]
        self.names = first.features
        self.n_features = len(first.features)
        self.n_rows = sum(self._file_rows)
        self.weighted = choice.weights is not None
        self._rows = chunk_rows or default_rows(self.dtype.itemsize * self.n_features)

    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        rows = max(1, min(self._rows, self._file_rows[index]))
        batches = self._batches(self.paths[index], max(FEWEST_ROWS, rows // BATCHES_PER_CHUNK))
        return self._layout.gather(batches, rows, ring, str(self.paths[index]))

    def _batches(self, path: Path, rows: int) -> Iterator[Any]:
        import pyarrow as pa

        done = group = count = 0
        try:
            with _open(path) as file:
                count = file.num_row_groups
                for group in range(count):  # One by one, so that an error has its number.
                    # One thread: the others are for the consumer.
                    for batch in file.iter_batches(
                        rows, [group], columns=self._layout.columns, use_threads=False
                    ):
                        yield batch
                        done += batch.num_rows
        except (OSError, pa.ArrowException) as error:
            raise StreamError(
                f"{path} cannot be read from row {done} (counting from 0) on, in row group {group} "
                f"of {count} ({one_line(error)}); the file is damaged: write it again."
            ) from error


def _open(path: Path) -> Any:
    """A Parquet file, of which only what is needed is read, and checked where it can be."""
    from pyarrow import parquet

    return parquet.ParquetFile(
        path, buffer_size=READ_BYTES, pre_buffer=False, page_checksum_verification=True
    )


def _outline(path: Path) -> tuple[Any, int]:
    """Schema and number of rows of a Parquet file."""
    import pyarrow as pa

    try:
        with _open(path) as file:
            return file.schema_arrow, int(file.metadata.num_rows)
    except (OSError, pa.ArrowException) as error:
        raise StreamError(
            f"{path} cannot be read as Parquet ({one_line(error)}); the file is cut short, damaged "
            "or of another format: write it again."
        ) from error


def is_frame(value: Any) -> bool:
    """Whether an object is a table of pandas, polars or pyarrow, or one that looks like them."""
    arrow = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    return arrow and hasattr(value, "columns") and len(getattr(value, "shape", ())) == 2


def as_table(frame: Any, choice: ColumnSelection, location: Location) -> Any:
    """A frame as an Arrow table or record batch, without its index."""
    import pyarrow as pa

    try:
        if hasattr(frame, "iloc"):
            return pa.Table.from_pandas(_plain(frame, choice), preserve_index=False)
        return frame if isinstance(frame, pa.RecordBatch) else pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise StreamError(
            f"{location.source} is a {type(frame).__name__} that cannot be read as columns of "
            f"numbers ({one_line(error)}); choose others with columns=."
        ) from error


def _plain(frame: Any, choice: ColumnSelection) -> Any:
    """Columns of a pandas frame that are needed, in native types: Arrow knows no others."""
    if choice.columns is not None:
        frame = frame.loc[:, frame.columns.isin([*choice.columns, *choice.others])]
    foreign = {
        name: dtype.newbyteorder("=")
        for name, dtype in frame.dtypes.items()
        if isinstance(dtype, np.dtype) and not dtype.isnative
    }
    return frame.astype(foreign) if foreign else frame


class FrameStream(Stream):
    """Rows of a table in memory.

    Parameters
    ----------
    frame : object
        A table of pandas, polars or pyarrow.
    choice : ColumnSelection
        Which columns to use.
    chunk_rows : int, optional
        Rows per chunk.
    """

    def __init__(self, frame: Any, choice: ColumnSelection, chunk_rows: int | None = None) -> None:
        self.source = f"the {type(frame).__name__}"
        self._frame, self._choice = frame, choice
        self.n_rows = int(frame.shape[0])
        schema = self._slice(0, self.n_rows if self.n_rows < 100 else 100).schema
        self._layout = TableSchema.of(schema, choice, self.source)
        self.names = self._layout.features
        self.n_features = len(self.names)
        self.dtype = self._layout.dtype
        self.weighted = choice.weights is not None
        self._rows = chunk_rows or default_rows(self.dtype.itemsize * self.n_features)

    def _slice(self, start: int, count: int) -> Any:
        frame = self._frame
        rows = frame.iloc[start : start + count] if hasattr(frame, "iloc") else frame.slice(
            start, count
        )  # fmt: skip
        return as_table(rows, self._choice, Location(self.source, start))

    def _read(self) -> Iterator[Chunk]:
        n_rows = self.n_rows or 0
        rows = max(1, min(self._rows, n_rows))
        return self._layout.gather(self._pieces(rows), rows, BufferRing(), self.source)

    def _pieces(self, rows: int) -> Iterator[Any]:
        """The table in parts; each is checked, since pandas has columns that hold anything."""
        for start in range(0, self.n_rows or 0, rows):
            piece = self._slice(start, rows)
            where = f"{self.source}, from row {start} (counting from 0) on,"
            TableSchema.of(piece.schema, self._choice, where)
            yield piece
