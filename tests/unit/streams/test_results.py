"""Lazy arrays: computed and written chunk by chunk."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from pyarrow import parquet

from sfumato.streams import Chunk, LazyArray, stream

ROWS = np.random.default_rng(0).normal(size=(23, 3))
CSR = sp.csr_array(np.where(ROWS > 0.5, ROWS, 0))


def largest(chunk: Chunk) -> Any:
    return chunk.rows.argmax(axis=1)


def rows(chunk: Chunk) -> Any:
    return chunk.rows


def streamed(function: Any, n_columns: int | None = None, **options: Any) -> LazyArray:
    source = options.pop("source", stream(ROWS, chunk_rows=5))
    dtype = options.pop("dtype", np.int64 if n_columns is None else np.float64)
    return LazyArray(source, function, n_rows=23, n_columns=n_columns, dtype=dtype, **options)


def test_values_are_those_of_the_function_chunk_by_chunk() -> None:
    found = streamed(largest)
    for _ in range(2):
        parts = list(found)
        assert [len(part) for part in parts] == [5, 5, 5, 5, 3]
        np.testing.assert_array_equal(np.concatenate(parts), ROWS.argmax(axis=1))
    np.testing.assert_array_equal(found.compute(), ROWS.argmax(axis=1))
    np.testing.assert_array_equal(np.asarray(found), ROWS.argmax(axis=1))
    assert np.asarray(found, dtype=np.float32).dtype == np.float32
    assert (found.shape, found.ndim, len(found), found.dtype) == ((23,), 1, 23, np.int64)
    two = streamed(rows, 3)
    assert (two.shape, two.ndim) == ((23, 3), 2)
    assert "23, 3" in repr(two)
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(found, copy=False)


def test_values_may_be_kept_although_chunks_may_not(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", ROWS)
    found = streamed(rows, 3, source=stream(tmp_path / "rows.npy", chunk_rows=2))
    np.testing.assert_array_equal(np.concatenate(list(found)), ROWS)
    np.testing.assert_array_equal(found.compute(), ROWS)
    np.testing.assert_array_equal(found.head(9), ROWS[:9])


def test_sparse_values_stay_sparse() -> None:
    found = streamed(rows, 3, source=stream(CSR, chunk_rows=4))
    assert isinstance(found.compute(), sp.csr_array)
    np.testing.assert_array_equal(found.compute().toarray(), CSR.toarray())
    np.testing.assert_array_equal(found.head(6).toarray(), CSR[:6].toarray())
    with pytest.raises(TypeError, match=r"compute\(\)"):
        np.asarray(found)


def test_the_number_of_rows_is_known_after_a_pass() -> None:
    found = LazyArray(stream([ROWS]), largest, n_rows=None, n_columns=None, dtype=int)
    assert found.shape == (None,)
    with pytest.raises(TypeError, match="not known before a pass"):
        len(found)
    assert len(list(found)) == 1
    assert len(found) == 23


def test_entries_cannot_be_read_one_by_one() -> None:
    with pytest.raises(TypeError, match=r"compute\(\).*head\(n\)"):
        streamed(largest)[3]


@pytest.mark.parametrize("n", [0, 1, 5, 7, 23, 100])
def test_the_head_reads_no_more_than_it_needs(n: int) -> None:
    seen: list[Chunk] = []

    def counted(chunk: Chunk) -> Any:
        seen.append(chunk)
        return largest(chunk)

    found = streamed(counted)
    np.testing.assert_array_equal(found.head(n), ROWS.argmax(axis=1)[:n])
    assert len(seen) == min(-(-n // 5), 5)
    assert [t.name for t in threading.enumerate() if "sfumato" in t.name] == []
    with pytest.raises(ValueError, match="negative"):
        found.head(-1)


def test_one_dimension_is_written_as_one_column(tmp_path: Path) -> None:
    streamed(largest).to_parquet(tmp_path / "labels.parquet")
    table = parquet.read_table(tmp_path / "labels.parquet")
    assert table.to_pydict() == {"label": ROWS.argmax(axis=1).tolist()}
    streamed(largest).to_parquet(tmp_path / "other.parquet", column="group")
    assert parquet.read_schema(tmp_path / "other.parquet").names == ["group"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["labels.parquet", "other.parquet"]


def test_two_dimensions_are_written_as_columns(tmp_path: Path) -> None:
    streamed(rows, 3).to_parquet(tmp_path / "all.parquet")
    table = parquet.read_table(tmp_path / "all.parquet")
    assert table.column_names == ["cluster_0", "cluster_1", "cluster_2"]
    np.testing.assert_array_equal(np.column_stack(table.columns), ROWS)


def test_sparse_results_are_written_entry_by_entry(tmp_path: Path) -> None:
    found = streamed(rows, 3, source=stream(CSR, chunk_rows=4))
    found.to_parquet(tmp_path / "entries.parquet")
    table = parquet.read_table(tmp_path / "entries.parquet")
    assert [str(t) for t in table.schema.types] == ["int64", "int32", "double"]
    row, cluster, value = (np.asarray(column) for column in table.columns)
    again = sp.csr_array((value, (row, cluster)), shape=CSR.shape)
    np.testing.assert_array_equal(again.toarray(), CSR.toarray())


def test_no_rows_are_a_file_without_rows(tmp_path: Path) -> None:
    source = stream(np.empty((0, 3)))
    found = LazyArray(source, largest, n_rows=0, n_columns=None, dtype=np.int64)
    found.to_parquet(tmp_path / "none.parquet")
    assert parquet.read_table(tmp_path / "none.parquet").to_pydict() == {"label": []}
    assert found.compute().shape == (0,)


def test_a_file_is_replaced_only_if_told_so(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        streamed(largest).to_parquet(path)
    assert path.read_text() == "precious"
    streamed(largest).to_parquet(path, overwrite=True)
    assert parquet.read_table(path).num_rows == 23
    with pytest.raises(IsADirectoryError):
        streamed(largest).to_parquet(tmp_path, overwrite=True)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_on_the_way_leaves_nothing(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    path.write_text("precious")

    def failing(chunk: Chunk) -> Any:
        if chunk.location.first_row == 15:
            raise error("no")
        return largest(chunk)

    with pytest.raises(error):
        streamed(failing).to_parquet(path, overwrite=True)
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]
    assert [t.name for t in threading.enumerate() if "sfumato" in t.name] == []


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"cannot be written.*give another path") as caught:
        streamed(largest).to_parquet(tmp_path / "gone" / "labels.parquet")
    assert caught.value.filename == str(tmp_path / "gone" / "labels.parquet")


DISK_FULL = """
import resource, signal, sys
import numpy as np
from sfumato.streams._arrays import ArrayStream
from sfumato.streams._lazy import LazyArray
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
rows = np.random.default_rng(0).normal(size=(3_000_000, 1))
found = LazyArray(ArrayStream(rows, 100_000), lambda chunk: chunk.rows.ravel(), n_rows=len(rows),
                 n_columns=None, dtype=float)
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    found.to_parquet(sys.argv[1])
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [0, 3, 10_000_000])
@pytest.mark.slow
def test_a_full_disk_leaves_nothing(limit: int, tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", DISK_FULL, str(path), str(limit)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout
    assert "Make room" in done.stdout
    assert list(tmp_path.iterdir()) == []
