"""Streams of .npz files: dense in both orders, and sparse."""

from __future__ import annotations

import errno
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sfumato.streams import Stream, StreamError, stream
from tests.unit.streams import made

ROWS = np.where(np.arange(230).reshape(46, 5) % 3 == 1, np.arange(230).reshape(46, 5), 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.npz"


def save(path: Path, rows: Any, compressed: bool = True) -> None:
    if sp.issparse(rows):
        sp.save_npz(path, rows, compressed=compressed)
    else:
        (np.savez_compressed if compressed else np.savez)(path, X=rows)


def parts(rows: Any) -> dict[str, Any]:
    """Arrays of the file of a CSR array, as ``save_npz`` writes them."""
    csr = sp.csr_array(rows)
    own = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
    return own | {"format": np.array(b"csr"), "shape": np.array(csr.shape)}


FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "bsr": sp.bsr_array,
    "dia": sp.dia_array,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_rows_are_read(path: Path, form: str, compressed: bool, dtype: str) -> None:
    save(path, FORMS[form](ROWS.astype(dtype)), compressed)
    for chunk_rows in (None, 1, 7, 46, 100):
        found = stream(path, chunk_rows=chunk_rows)
        assert (found.n_rows, found.n_features, found.dtype) == (46, 5, np.dtype(dtype))
        assert found.is_sparse is (form not in "CF")
        for _ in range(2):
            np.testing.assert_array_equal(made.read(found), ROWS)
        whole = found.collect().rows
        np.testing.assert_array_equal(whole.toarray() if found.is_sparse else whole, ROWS)


@pytest.mark.parametrize("form", ["F", "csr"])
def test_nothing_but_chunks_is_held(path: Path, form: str, monkeypatch: Any) -> None:
    """Whole arrays are read for ``collect`` alone, but for the offsets of the rows."""
    from sfumato.streams import _npz

    read: list[str] = []
    original = _npz.read_array
    monkeypatch.setattr(_npz, "read_array", lambda a, name: read.append(name) or original(a, name))
    save(path, FORMS[form](ROWS))
    made.read(stream(path, chunk_rows=7))
    assert not {*read} & {"X", "data", "indices"}


@pytest.mark.parametrize("form", ["C", "F", "csr"])
def test_passes_at_the_same_time(path: Path, form: str) -> None:
    save(path, FORMS[form](ROWS))
    found = stream(path, chunk_rows=5)
    with closing(found.chunks()) as one, closing(found.chunks()) as two:
        next(two)
        for first, second in zip(one, two, strict=False):
            start = first.location.first_row
            np.testing.assert_array_equal(_dense(first.rows), ROWS[start : start + 5])
            np.testing.assert_array_equal(
                _dense(second.rows), ROWS[start + 5 : start + 5 + second.rows.shape[0]]
            )


def _dense(rows: Any) -> Any:
    return rows.toarray() if sp.issparse(rows) else rows


def test_a_file_in_fortran_order_is_unpacked_once_and_leaves_nothing(
    path: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    save(path, np.asfortranarray(ROWS))
    found = stream(path, chunk_rows=5)
    with closing(found.chunks()) as chunks:
        next(chunks)
        assert [each.name for each in tmp_path.iterdir()] == ["rows.npz"]
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    np.testing.assert_array_equal(made.read(found), ROWS)


def test_where_there_is_no_room_to_unpack(path: Path, monkeypatch: Any) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    save(path, np.asfortranarray(ROWS))
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(StreamError, match=r"Fortran order.*No space left.*TMPDIR.*in C order"):
        made.read(stream(path))


def test_odd_but_valid_csr(path: Path) -> None:
    """Unsorted and doubled indices, entries beyond the last row, and offsets of another type."""
    own = parts(ROWS)
    own["indices"] = np.append(own["indices"], [10**9, -5]).astype(np.int64)
    own["data"] = np.append(own["data"], [7, 7])
    own["indptr"] = own["indptr"].astype(np.uint64)
    first = slice(0, int(own["indptr"][1]))
    own["indices"][first] = own["indices"][first][::-1]
    own["data"][first] = own["data"][first][::-1]
    np.savez_compressed(path, **own)
    found = stream(path, chunk_rows=3)
    np.testing.assert_array_equal(made.read(found), ROWS)
    np.testing.assert_array_equal(found.collect().rows.toarray(), ROWS)


def broken(name: str, **changes: Any) -> Any:
    own = parts(ROWS)
    for key, value in changes.items():
        own[key] = value(own[key])
    return pytest.param(own, id=name)


@pytest.mark.parametrize(
    "own",
    [
        broken("index", indices=lambda v: np.where(np.arange(len(v)) == 60, 5, v)),
        broken("negative", indices=lambda v: np.where(np.arange(len(v)) == 3, -1, v)),
        broken("falling", indptr=lambda v: np.where(np.arange(len(v)) == 9, 0, v)),
        broken("too far", indptr=lambda v: np.append(v[:-1], 10**6)),
        broken("short", indptr=lambda v: v[:-1]),
        broken("start", indptr=lambda v: np.append(1, v[1:])),
        broken("lengths", data=lambda v: v[:-1]),
        broken("matrix", data=lambda v: v[:, None]),
        broken("matrices", indptr=lambda v: v[:, None]),
        broken("words", data=lambda v: v.astype(str)),
        broken("complex", data=lambda v: v + 1j),
        broken("real indices", indices=lambda v: v.astype(float)),
        broken("real offsets", indptr=lambda v: v.astype(float)),
        broken("columns", shape=lambda v: np.array([46, 4])),
        broken("rows", shape=lambda v: np.array([47, 5])),
        broken("format", format=lambda v: np.array(b"lil")),
    ],
)
def test_broken_csr_is_refused_alike(path: Path, own: dict[str, Any]) -> None:
    np.savez(path, **own)
    said = []
    for read in (made.read, lambda rows: rows.collect()):
        with pytest.raises(StreamError, match=r"rows\.npz cannot be read as npz \(") as caught:
            read(stream(path, chunk_rows=5))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "\n" not in said[0]


@pytest.mark.parametrize("form", ["F", "csr"])
@pytest.mark.parametrize("compressed", [True, False])
def test_damage_is_found_alike(path: Path, form: str, compressed: bool) -> None:
    """A byte in the middle of each member, which may be an index, an offset, or neither."""
    save(path, FORMS[form](ROWS), compressed)
    good = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        middles = [info.header_offset + 60 + info.compress_size // 2 for info in archive.infolist()]
    for middle in middles:
        damaged = bytearray(good)
        damaged[middle] ^= 0xFF
        path.write_bytes(damaged)
        assert verdict(path, made.read) == verdict(path, lambda rows: rows.collect())


def verdict(path: Path, read: Any) -> str:
    try:
        found: Stream = stream(path, chunk_rows=5)
        read(found)
    except StreamError as error:
        return str(error)
    return ""
