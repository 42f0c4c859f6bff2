"""Tables: column selection, table schema, and streams of Parquet files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.exceptions import StreamError, did_you_mean, one_line
from sfumato.streams._base import Chunk, FileStream, Location, default_rows
from sfumato.streams._rows import BufferRing, check_weights, transpose_columns


@dataclass(frozen=True)
class ColumnSelection:
    """Column selection: names of the features (None for all), of the weights, of the ids."""

    columns: tuple[str, ...] | None = None
    weights: str | None = None
    ids: str | None = None

    @property
    def others(self) -> list[str]:
        """Selected columns that are no features."""
        return [name for name in (self.weights, self.ids) if name is not None]

    def features(self, available: Sequence[str], source: str) -> tuple[str, ...]:
        """Names of the features of a table with these columns."""
        asked = [*(self.columns or ()), *self.others]
        present = Counter(available)
        check_known(source, asked, available)
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


def check_known(source: str, asked: Iterable[str], available: Sequence[str]) -> None:
    """Raise StreamError if a table has no column of one of these names."""
    for name in asked:
        if name not in available:
            hint = did_you_mean(str(name), available) or _listed(available)
            raise StreamError(f"{source} has no column {name!r}; {hint}")


def _listed(names: Sequence[str], limit: int = 12) -> str:
    """Names for a message, at most ``limit``."""
    shown = ", ".join(map(repr, names[:limit])) or "none"
    return f"its columns are {shown}" + (", ..." if len(names) > limit else ".")


@dataclass(frozen=True)
class TableColumns:
    """Columns of a file.

    Attributes
    ----------
    names : tuple of str
        All columns, except an index that pandas stored.
    text : dict of str to str
        Columns that hold no numbers, with an example or their type.
    mixed : tuple of str
        Columns of a CSV file that hold both numbers and text in its first rows.
    unnamed : bool
        Whether the first column of a CSV file has no name.
    index : tuple of str
        Columns of a Parquet file that pandas stored as index; features only by name.
    """

    names: tuple[str, ...]
    text: dict[str, str]
    mixed: tuple[str, ...] = ()
    unnamed: bool = False
    index: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: Any) -> TableColumns:
        """Columns of an Arrow schema."""
        index = _index(schema)
        names = tuple(name for name in schema.names if name not in index)
        text = {field.name: str(field.type) for field in schema if not holds_numbers(field.type)}
        return cls(names, text, index=tuple(index))


def _index(schema: Any) -> set[str]:
    """Columns of an Arrow schema that pandas stored as index."""
    stored = (schema.pandas_metadata or {}).get("index_columns", ())
    return {name for name in stored if isinstance(name, str)}


def check_numeric(source: str, text: Mapping[str, str]) -> None:
    """Raise StreamError if selected columns hold no numbers; ``text`` maps them to examples."""
    if text:
        shown = ", ".join(f"{name!r} ({example})" for name, example in text.items())
        raise StreamError(
            f"{source} has columns that hold no numbers: {shown}; choose others with columns=."
        )


@dataclass(frozen=True)
class TableSchema:
    """Table schema of a stream: which columns become features, weights and ids.

    Attributes
    ----------
    features : tuple of str
        Columns that become features, in this order.
    weights : str or None
        Column that becomes the weights.
    dtype : dtype
        float32 if all features are float32, else float64.
    ids : str or None
        Column that identifies the rows; it keeps its type.
    """

    features: tuple[str, ...]
    weights: str | None
    dtype: np.dtype[Any]
    ids: str | None = None

    @classmethod
    def of(cls, schema: Any, choice: ColumnSelection, source: str) -> TableSchema:
        """TableSchema of a selection; raises if a column is unknown or holds no numbers."""
        import pyarrow as pa

        hidden = _index(schema) - {*(choice.columns or ()), *choice.others}
        available = [name for name in schema.names if name not in hidden]
        features = choice.features(available, source)
        types = {name: schema.field(name).type for name in (*features, choice.weights) if name}
        check_numeric(source, {n: str(t) for n, t in types.items() if not holds_numbers(t)})
        single = all(types[name] == pa.float32() for name in features)
        dtype = np.dtype(np.float32 if single else np.float64)
        return cls(features, choice.weights, dtype, choice.ids)

    @property
    def numeric(self) -> list[str]:
        """Names of the columns that are read as numbers."""
        return [*self.features, *([self.weights] if self.weights is not None else [])]

    @property
    def columns(self) -> list[str]:
        """Names of all columns that are read."""
        return [*self.numeric, *([self.ids] if self.ids is not None else [])]

    def gather(
        self, batches: Iterable[Any], n_rows: int, ring: BufferRing, source: str
    ) -> Iterator[Chunk]:
        """Yield chunks of ``n_rows`` rows, the last one smaller, from batches of any size."""
        first = filled = 0
        for batch in batches:
            start = 0
            while start < batch.num_rows:
                if filled == 0:
                    rows = ring.rows(n_rows, len(self.features), self.dtype)
                    weights = np.empty(n_rows if self.weights is not None else 0)
                    ids: list[Any] = []
                part = batch.slice(start, n_rows - filled)
                stop = filled + part.num_rows
                self._fill(part, rows[filled:stop], weights[filled:stop], ids)
                start, filled = start + part.num_rows, stop
                if filled == n_rows:
                    yield self._chunk(rows, weights, Location(source, first), ids)
                    first, filled = first + n_rows, 0
        if filled:
            yield self._chunk(rows[:filled], weights[:filled], Location(source, first), ids)

    def _fill(self, batch: Any, rows: NDArray[Any], weights: NDArray[Any], ids: list[Any]) -> None:
        transpose_columns([numbers(batch.column(name)) for name in self.features], rows)
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
        checked = None
        if self.weights is not None:
            checked = check_weights(weights, len(rows), location.source, location.first_row)
        return Chunk(rows=rows, weights=checked, location=location, ids=found)


def holds_numbers(arrow_type: Any) -> bool:
    """Whether the values of an Arrow type are numbers or booleans."""
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
        or kinds.is_null(arrow_type)  # All values are missing.
    )


def numbers(column: Any) -> NDArray[Any]:
    """Values of an Arrow column as an ndarray, not copied if possible; missing ones are NaN."""
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
    """Raise StreamError, with the difference, if two files have different features."""
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
"""Record batches that a chunk is decoded in, so that columns take little memory beside rows;
chosen by hand."""

FEWEST_ROWS = 1024
"""Rows of a record batch, at least, even if chunks are smaller; chosen by hand."""

READ_BYTES = 1 << 18
"""Bytes of a column that are read at a time, instead of a whole row group; chosen by hand."""


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
        found = [read_schema(path) for path in self.paths]
        schemas = [
            TableSchema.of(schema, choice, str(path))
            for path, (schema, _) in zip(self.paths, found, strict=True)
        ]
        first = schemas[0]
        for path, schema in zip(self.paths, schemas, strict=True):
            check_same_columns(path, schema.features, self.paths[0], first.features)
        single = all(schema.dtype == np.float32 for schema in schemas)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._schema = TableSchema(first.features, first.weights, self.dtype, first.ids)
        self._file_rows = [n_rows for _, n_rows in found]
        self.names = first.features
        self.n_features = len(first.features)
        self.n_rows = sum(self._file_rows)
        self.weighted = choice.weights is not None
        self._rows = chunk_rows or default_rows(self.dtype.itemsize * self.n_features)

    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        rows = max(1, min(self._rows, self._file_rows[index]))
        batches = self._batches(self.paths[index], max(FEWEST_ROWS, rows // BATCHES_PER_CHUNK))
        return self._schema.gather(batches, rows, ring, str(self.paths[index]))

    def _batches(self, path: Path, rows: int) -> Iterator[Any]:
        import pyarrow as pa

        done = group = count = 0
        try:
            with _open(path) as file:
                count = file.num_row_groups
                for group in range(count):  # One by one, so that an error has its number.
                    # One thread: the others are for the consumer.
                    for batch in file.iter_batches(
                        rows, [group], columns=self._schema.columns, use_threads=False
                    ):
                        yield batch
                        done += batch.num_rows
        except (OSError, pa.ArrowException) as error:
            raise StreamError(
                f"{path} cannot be read from row {done} (counting from 0) on, in row group {group} "
                f"of {count} ({one_line(error)}); the file is damaged: write it again."
            ) from error


def _open(path: Path) -> Any:
    """Parquet file that is read in small parts, with checksums verified."""
    from pyarrow import parquet

    return parquet.ParquetFile(
        path, buffer_size=READ_BYTES, pre_buffer=False, page_checksum_verification=True
    )


def read_schema(path: Path) -> tuple[Any, int]:
    """Arrow schema and number of rows of a Parquet file."""
    import pyarrow as pa

    try:
        with _open(path) as file:
            return file.schema_arrow, int(file.metadata.num_rows)
    except (OSError, pa.ArrowException) as error:
        raise StreamError(
            f"{path} cannot be read as Parquet ({one_line(error)}); the file is cut short, damaged "
            "or of another format: write it again."
        ) from error
