"""Laws that hold for every source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sfumato.streams import Stream, StreamError, stream
from tests.unit.streams import made

DTYPES = ["float64", "float32", "int32", "uint8", "bool", "float16", ">f8", ">i4"]
BARE = {"npy", "fortran", "npys", "zarr", "array", "memmap", "zarr array", "list", "function"}
"""Sources that keep the type of their numbers."""
N_ROWS = 20


def rows_of(dtype: str, n_rows: int = N_ROWS) -> Any:
    values = np.random.default_rng(0).normal(scale=9, size=(n_rows, 3))
    return np.abs(values).astype(dtype)


def make(kind: str, dtype: str, folder: Path, **options: Any) -> tuple[Any, Stream]:
    rows = rows_of(dtype)
    try:
        source = made.ALL[kind](rows, folder)
    except (TypeError, ValueError, NotImplementedError):
        # Tables have no types for some of these numbers.
        rows = rows.astype(rows.dtype.newbyteorder("=") if dtype != "float16" else np.float32)
        source = made.ALL[kind](rows, folder)
    return rows, stream(source, **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", made.ALL)
def test_a_stream_gives_the_rows_it_was_made_of(kind: str, dtype: str, tmp_path: Path) -> None:
    rows, found = make(kind, dtype, tmp_path)
    assert found.n_features == 3
    for _ in range(2):
        np.testing.assert_array_equal(made.read(found), rows.astype(np.float64))
    assert found.n_rows == N_ROWS


@pytest.mark.parametrize("chunk_rows", [1, 3, 6, 13, N_ROWS, 10**9])
@pytest.mark.parametrize("kind", made.SLICED)
def test_chunks_have_the_size_that_was_asked_for(
    kind: str, chunk_rows: int, tmp_path: Path
) -> None:
    rows, found = make(kind, "float64", tmp_path, chunk_rows=chunk_rows)
    chunks = [(chunk.rows.shape[0], chunk.location) for chunk in found.chunks()]
    assert sum(size for size, _ in chunks) == N_ROWS
    assert max(size for size, _ in chunks) <= chunk_rows
    np.testing.assert_array_equal(made.read(found), rows)
    if kind in ("npy", "fortran", "parquet", "csv", "csv.gz", "array", "csr", "pandas", "polars"):
        sizes = [chunk_rows] * (N_ROWS // chunk_rows)
        assert [size for size, _ in chunks] == sizes + [N_ROWS % chunk_rows] * (
            N_ROWS % chunk_rows > 0
        )
        assert [place.first_row for _, place in chunks] == [*range(0, N_ROWS, chunk_rows)]
    assert chunks == [(chunk.rows.shape[0], chunk.location) for chunk in found.chunks()]


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8", "bool"])
@pytest.mark.parametrize("kind", made.ALL)
def test_chunks_are_rows_of_native_numbers(kind: str, dtype: str, tmp_path: Path) -> None:
    rows, found = make(kind, dtype, tmp_path)
    for chunk in found.chunks():
        assert chunk.rows.shape[0] > 0
        assert chunk.rows.dtype == found.dtype
        assert chunk.rows.dtype in (rows.dtype, np.float32, np.float64)
        assert sp.issparse(chunk.rows) == found.is_sparse == (kind in ("csr", "csrs"))
        assert (chunk.weights is not None) == found.weighted == (kind == "weighted")
        if kind in BARE:
            assert chunk.rows.dtype == rows.dtype


@pytest.mark.parametrize("kind", ["npy", "array", "memmap", "list", "function", "fortran"])
@pytest.mark.parametrize("dtype", [">f8", ">i4", "longdouble"])
def test_numbers_in_foreign_types_become_native(kind: str, dtype: str, tmp_path: Path) -> None:
    rows = np.arange(60, dtype=float).reshape(20, 3).astype(dtype)
    found = stream(made.ALL[kind](rows, tmp_path))
    expected = np.dtype(np.int32 if "i" in dtype[:2] else np.float64)
    assert {chunk.rows.dtype for chunk in found.chunks()} == {expected}
    np.testing.assert_array_equal(made.read(found), rows.astype(expected))


@pytest.mark.parametrize("kind", made.ALL)
def test_float32_stays_what_it_is(kind: str, tmp_path: Path) -> None:
    _, found = make(kind, "float32", tmp_path)
    exact = not kind.startswith("cs")
    assert found.dtype == (np.float32 if exact else np.float64)


@pytest.mark.parametrize("kind", [*made.FILES, "pandas", "polars", "table", "frames"])
def test_names_are_those_of_the_table(kind: str, tmp_path: Path) -> None:
    _, found = make(kind, "float64", tmp_path)
    bare = kind in BARE
    assert found.names == (None if bare else ("f0", "f1", "f2"))
    chunk = next(found.chunks())
    column = "column 1" if bare else "column 'f1'"
    assert found.describe(chunk.location, 2, 1).endswith(f", {column}")


@pytest.mark.parametrize("kind", ["parquet", "folder", "csv", "csvs", "pandas", "polars", "frames"])
def test_columns_and_weights_are_chosen_by_name(kind: str, tmp_path: Path) -> None:
    rows = rows_of("float64")
    found = stream(made.ALL[kind](rows, tmp_path), columns=["f2", "f0"], weights="f1")
    assert found.names == ("f2", "f0")
    assert found.weighted
    np.testing.assert_array_equal(made.read(found), rows[:, [2, 0]])
    weights = np.concatenate([np.array(chunk.weights) for chunk in found.chunks()])
    np.testing.assert_array_equal(weights, rows[:, 1])
    rest = stream(made.ALL[kind](rows, tmp_path), weights="f1")
    assert rest.names == ("f0", "f2")


@pytest.mark.parametrize("kind", ["parquet", "csv", "pandas", "frames"])
@pytest.mark.parametrize("bad", [-1.0, np.inf, np.nan])
def test_a_bad_weight_is_named_by_its_row(kind: str, bad: float, tmp_path: Path) -> None:
    rows = rows_of("float64")
    rows[9, 1] = bad
    found = stream(made.ALL[kind](rows, tmp_path), weights="f1")
    where = r"chunk 2 of the iterable.* row 5" if kind == "frames" else "row 9"
    with pytest.raises(StreamError, match=where) as caught:
        made.read(found)
    assert f"holds {bad:g} at" in str(caught.value)


@pytest.mark.parametrize("kind", [*made.FILES, "array", "csr", "pandas", "table"])
def test_no_rows_are_no_chunks(kind: str, tmp_path: Path) -> None:
    found = stream(made.ALL[kind](np.empty((0, 3)), tmp_path))
    assert found.n_features == 3
    assert list(found.chunks()) == []
    assert found.n_rows == 0


def test_missing_numbers_are_nan_in_their_place(tmp_path: Path) -> None:
    rows = rows_of("float64")
    rows[7, 2] = np.nan
    for kind in made.ALL:
        folder = tmp_path / kind
        folder.mkdir()
        np.testing.assert_array_equal(made.read(stream(made.ALL[kind](rows, folder))), rows)


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
@pytest.mark.parametrize("kind", made.ALL)
def test_all_rows_are_collected_in_memory(kind: str, dtype: str, tmp_path: Path) -> None:
    rows, found = make(kind, dtype, tmp_path)
    whole = found.collect()
    np.testing.assert_array_equal(made.dense(whole.rows), rows)
    assert whole.rows.dtype == found.dtype
    assert sp.issparse(whole.rows) == found.is_sparse
    assert (whole.weights is None) == (kind != "weighted")
    assert isinstance(whole.rows, np.memmap) == (kind in ("npy", "fortran"))


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy", "array"])
def test_no_rows_cannot_be_collected(kind: str, tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="holds no rows; give at least one"):
        stream(made.ALL[kind](np.empty((0, 3)), tmp_path)).collect()


def test_weights_and_identifiers_are_collected(tmp_path: Path) -> None:
    rows = rows_of("float64")
    for kind in ("csv", "parquet"):
        path = made.ALL[kind](rows, tmp_path)
        whole = stream(path, weights="f1", ids="f2", chunk_rows=3).collect()
        np.testing.assert_array_equal(whole.rows[:, 0], rows[:, 0])
        np.testing.assert_array_equal(whole.weights, rows[:, 1])
        np.testing.assert_array_equal([float(value.as_py()) for value in whole.ids], rows[:, 2])


def test_chunks_of_several_types_are_collected_in_the_widest() -> None:
    parts = [np.ones((2, 3), np.float32), np.full((5, 3), 0.1), np.ones((1, 3), np.float32)]
    whole = stream(parts).collect()
    np.testing.assert_array_equal(whole.rows, np.concatenate(parts))
    assert whole.rows.dtype == np.float64


def test_arrays_in_archives(tmp_path: Path) -> None:
    path, rows = tmp_path / "rows.npz", rows_of("float32")
    np.savez(path, X=rows, y=rows[:, 0])
    found = stream(path, key="X", chunk_rows=7)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(made.read(found), rows)
    with pytest.raises(StreamError, match="holds the arrays X, y, not Z; choose one with `key`"):
        stream(path, key="Z")
    with pytest.raises(ValueError, match=r"key= is for \.npz files only"):
        stream(rows, key="X")
