"""Streams of .npy files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.streams import StreamError, stream
from sfumato.streams._base import CHUNK_BYTES
from tests.unit.streams import made


def test_a_chunk_takes_32_mib_unless_told_otherwise(tmp_path: Path) -> None:
    rows = np.zeros((2_500_000, 2), np.float64)  # 40 MB
    rows[-1] = 7
    np.save(tmp_path / "rows.npy", rows)
    found = stream(tmp_path / "rows.npy")
    sizes = [(chunk.rows.nbytes, chunk.rows[-1, 0]) for chunk in found.chunks()]
    assert sizes == [(CHUNK_BYTES, 0.0), (rows.nbytes - CHUNK_BYTES, 7.0)]


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_that_is_cut_short_is_refused(order: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, np.asarray(np.ones((10, 3)), order=order))
    os.truncate(path, path.stat().st_size - 8 * 4)
    row = 8 if order == "C" else 6  # In C order four numbers are a row and a third.
    with pytest.raises(
        StreamError, match=rf"{re.escape(str(path))} ends too early.*up to row {row}"
    ):
        stream(path)


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00"])
def test_what_is_no_npy_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "rows.npy").write_bytes(content)
    with pytest.raises(StreamError, match=r"rows\.npy cannot be read as npy"):
        stream(tmp_path / "rows.npy")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(3), r"shape \(3,\)"),
        (np.zeros((1, 2, 3)), r"shape \(1, 2, 3\)"),
        (np.zeros((2, 2), complex), "complex128"),
        (np.array([["a", "b"]]), "<U1"),
        (np.zeros((2, 2), "M8[s]"), "datetime64"),
        (np.zeros((2, 2), [("a", float)]), "'a'"),
    ],
)
def test_arrays_that_are_no_rows_of_numbers_are_refused(
    values: np.ndarray, message: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "rows.npy", values)
    with pytest.raises(StreamError, match=message):
        stream(tmp_path / "rows.npy")


def test_files_that_differ_are_both_named(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    np.save(tmp_path / "b.npy", np.zeros((2, 4)))
    np.save(tmp_path / "c.npy", np.zeros((2, 3), np.float32))
    with pytest.raises(StreamError, match=r"b\.npy has 4 columns .*a\.npy has 3"):
        stream([tmp_path / "a.npy", tmp_path / "b.npy"])
    with pytest.raises(StreamError, match=r"c\.npy has .* float32, but .*a\.npy has .* float64"):
        stream([tmp_path / "a.npy", tmp_path / "c.npy"])


def test_places_are_counted_within_their_file(tmp_path: Path) -> None:
    rows = np.arange(60.0).reshape(20, 3)
    found = stream(made.save_npys(rows, tmp_path), chunk_rows=3)
    for chunk in found.chunks():
        there = np.load(chunk.location.source)[chunk.location.first_row]
        np.testing.assert_array_equal(chunk.rows[0], there)
    text = found.describe(chunk.location, 0, 1)
    assert text == f"{tmp_path / '4.npy'}, row 6 (counting from 0), column 1"


MEMORY = """
import resource, sys
import numpy as np
from sfumato.streams._arrays import NpyStream
from pathlib import Path
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
source = NpyStream([Path(sys.argv[1])], chunk_rows=1 << 14)
before = peak()
total = sum(float(chunk.rows.sum()) for chunk in source.chunks())
print(peak() - before, total)
"""


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.slow
def test_a_pass_takes_a_few_chunks_of_memory(order: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    rows = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.float64, shape=(1 << 20, 16), fortran_order=order == "F"
    )
    rows[-1] = 1.0
    del rows  # 128 MiB of zeros but for 16 numbers; a chunk has 2 MiB.
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True
    )
    added, total = map(float, done.stdout.split())
    assert total == 16.0
    assert added < 24 << 20
