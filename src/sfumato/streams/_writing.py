"""Results into Parquet files that appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sfumato.files import naming, write_atomically

GROUP_ROWS = 1 << 20
"""Lines of a row group: results of small chunks are collected until they are so many."""
GROUP_BYTES = 1 << 26
"""Or until they take so much memory."""


def write_parquet(
    results: Iterator[Any],
    path: Path,
    names: Sequence[str],
    dtype: np.dtype[Any],
    *,
    overwrite: bool = False,
) -> None:
    """Write results to a file next to ``path`` that takes its place when it is complete.

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


def _write(
    results: Iterator[Any], unfinished: Path, path: Path, names: Sequence[str], dtype: np.dtype[Any]
) -> None:
    """Write all results to the file ``unfinished``; errors name ``path``."""
    from pyarrow import parquet

    writer = None
    try:
        for table in _groups(results, names, dtype):
            with naming(path):
                if writer is None:
                    writer = parquet.ParquetWriter(unfinished, table.schema)
                writer.write_table(table)
        if writer is not None:
            finished, writer = writer, None
            with naming(path):
                finished.close()
    finally:
        if writer is not None:
            with suppress(OSError):  # It writes its footer, to a file that is removed anyway.
                writer.close()


def _groups(results: Iterator[Any], names: Sequence[str], dtype: np.dtype[Any]) -> Iterator[Any]:
    """Tables of about ``GROUP_ROWS`` lines, at least one."""
    import pyarrow as pa

    waiting: list[Any] = []
    lines = size = first = 0
    for result in results:
        waiting.append(_table(result, first, names))
        first += result.shape[0]
        lines += waiting[-1].num_rows
        size += waiting[-1].nbytes
        if lines >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.concat_tables(waiting)
            waiting, lines, size = [], 0, 0
    if waiting or first == 0:
        empty = np.empty((0, len(names)), dtype)
        yield pa.concat_tables(waiting or [_table(empty, 0, names)])


def _table(result: Any, first_row: int, names: Sequence[str]) -> Any:
    """Results of a chunk as an Arrow table."""
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
