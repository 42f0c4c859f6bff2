"""Write results to Parquet files, which appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sfumato.files import naming, write_atomically
from sfumato.streams._memory import give_back

GROUP_ROWS = 1 << 20
"""Rows of a row group, at least: the results of small chunks are collected. Chosen by hand."""

GROUP_BYTES = 1 << 26
"""Bytes of a row group in memory, 64 MiB, after which it is written with fewer rows. Chosen by
hand."""


def write_parquet(
    results: Iterator[Any],
    path: Path,
    names: Sequence[str],
    dtype: np.dtype[Any],
    *,
    overwrite: bool = False,
) -> None:
    """Write results to a temporary file beside ``path``, then rename it.

    Parameters
    ----------
    results : iterator of ndarray or csr_array
        Results of one chunk after the other; closed at the end.
    path : Path
        The file.
    names : sequence of str
        Names of the columns of dense results.
    dtype : dtype
        Type of the results, for a file without rows.
    overwrite : bool, default=False
        Whether a file of that name may be replaced.
    """
    try:
        with write_atomically(path, overwrite=overwrite) as unfinished:
            _write(results, unfinished, path, names, dtype)
    finally:
        close = getattr(results, "close", None)
        if close is not None:
            close()


class RowGroupWriter:
    """Parquet file of tables one below the other, in row groups that are not too small.

    Parameters
    ----------
    path : Path
        The file.
    group_rows : int, default=GROUP_ROWS
        Rows after which a row group is written.
    """

    def __init__(self, path: Path, group_rows: int = GROUP_ROWS) -> None:
        self._path, self._group_rows = path, group_rows
        self._waiting: list[Any] = []
        self._rows = self._bytes = 0
        self._writer: Any = None

    def add(self, table: Any) -> None:
        """Write an Arrow table, or keep it until there are enough rows."""
        self._waiting.append(table)
        self._rows += table.num_rows
        self._bytes += table.nbytes
        if self._rows >= self._group_rows or self._bytes >= GROUP_BYTES:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        group = pa.concat_tables(self._waiting)
        self._waiting, self._rows, self._bytes = [], 0, 0
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, group.schema)
        self._writer.write_table(group.cast(self._writer.schema))
        give_back()

    def close(self) -> None:
        """Write the rest and the footer."""
        if self._waiting:
            self._write()
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    def abandon(self) -> None:
        """Close a file that will be removed; errors are ignored."""
        self._waiting = []
        with suppress(OSError, ValueError):
            self.close()


def _write(
    results: Iterator[Any], unfinished: Path, path: Path, names: Sequence[str], dtype: np.dtype[Any]
) -> None:
    """Write all results to the file ``unfinished``; errors name ``path``."""
    writer = RowGroupWriter(unfinished)
    first = 0
    try:
        for result in results:
            table = _table(result, first, names)
            first += result.shape[0]
            with naming(path):
                writer.add(table)
        with naming(path):
            if first == 0:
                writer.add(_table(np.empty((0, len(names)), dtype), 0, names))
            writer.close()
    finally:
        writer.abandon()


def _table(result: Any, first_row: int, names: Sequence[str]) -> Any:
    """Results of a chunk as an Arrow table; a row per stored entry of sparse ones."""
    import pyarrow as pa

    if sp.issparse(result):
        entries = sp.csr_array(result)
        row = np.repeat(np.arange(entries.shape[0], dtype=np.int64), np.diff(entries.indptr))
        return pa.table(
            {
                "row": row + first_row,
                "cluster": entries.indices.astype(np.int32),
                "membership": entries.data,
            }
        )
    columns = result.reshape(result.shape[0], -1).T if result.size else [
        np.empty(0, result.dtype) for _ in names
    ]  # fmt: skip
    if len(columns) != len(names):
        raise ValueError(
            f"the results have {len(columns)} columns, and there are {len(names)} names for them."
        )
    return pa.table(
        {name: np.ascontiguousarray(values) for name, values in zip(names, columns, strict=True)}
    )
