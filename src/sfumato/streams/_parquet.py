"""Streams of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.exceptions import StreamError, one_line
from sfumato.streams._base import Chunk, FileStream, default_rows
from sfumato.streams._memory import give_back
from sfumato.streams._rows import BufferRing
from sfumato.streams._tables import ColumnSelection, TableSchema, check_same_columns

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
        return parquet_batches(path, rows, self._schema.columns)


def parquet_batches(path: Path, rows: int, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of some columns of a file, of at most so many rows."""
    import pyarrow as pa

    done = group = count = 0
    try:
        with _open(path) as file:
            count = file.num_row_groups
            for group in range(count):  # One by one, so that an error has its number.
                # One thread: the others are for the consumer.
                for batch in file.iter_batches(
                    rows, [group], columns=list(columns), use_threads=False
                ):
                    yield batch
                    done += batch.num_rows
    except (OSError, pa.ArrowException) as error:
        raise StreamError(
            f"{path} cannot be read from row {done} (counting from 0) on, in row group {group} "
            f"of {count} ({one_line(error)}); the file is damaged: write it again."
        ) from error
    finally:
        give_back()


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
