"""Results into Parquet files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sfumato.exceptions import one_line

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
    _check_free(path, overwrite)
    temporary: Path | None = None
    try:
        part = path.absolute().parent / f".sfumato-{secrets.token_hex(8)}.part"
        try:
            part.open("xb").close()
        except OSError as error:
            raise _unwritten(path, error) from error
        temporary = part
        _write(results, part, path, names, dtype)
        _check_free(path, overwrite)  # Again: a file may have come in the meantime.
        temporary.replace(path)
        with suppress(OSError):  # Not all file systems can do that for a folder.
            _sync(path.absolute().parent)
    except BaseException:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise
    finally:
        close = getattr(results, "close", None)
        if close is not None:
            close()


def _check_free(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; give the path of a file", str(path))
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(
            errno.EEXIST, "exists already; give another path, or overwrite=True", str(path)
        )


def _unwritten(path: Path, error: OSError) -> OSError:
    """The error again, with what was to be written and what to do."""
    return OSError(
        error.errno or errno.EIO,
        f"cannot be written ({one_line(error)}); nothing was left there. Make room, or give "
        "another path",
        str(path),
    )


def _write(
    results: Iterator[Any], part: Path, path: Path, names: Sequence[str], dtype: np.dtype[Any]
) -> None:
    """All results into the file ``part``, and on to the disk."""
    from pyarrow import parquet

    writer = None
    try:
        for table in _groups(results, names, dtype):
            try:
                if writer is None:
                    writer = parquet.ParquetWriter(part, table.schema)
                writer.write_table(table)
            except OSError as error:
                raise _unwritten(path, error) from error
        try:
            if writer is not None:
                finished, writer = writer, None
                finished.close()
            _sync(part)
        except OSError as error:
            raise _unwritten(path, error) from error
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


def _sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
