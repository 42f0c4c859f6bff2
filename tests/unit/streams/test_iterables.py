"""Streams of iterables, of arrays, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import zarr

from sfumato.streams import StreamError, stream
from tests.unit.streams import made

GOOD = np.ones((2, 3))


@pytest.mark.slow
def test_ten_thousand_tiny_chunks() -> None:
    found = stream([np.full((1, 2), float(index)) for index in range(10_000)])
    for _ in range(2):
        np.testing.assert_array_equal(made.read(found)[:, 0], np.arange(10_000.0))
    assert found.n_rows == 10_000


def test_places_are_chunks_and_rows_within_them() -> None:
    found = stream([GOOD, np.empty((0, 3)), GOOD])
    places = [chunk.location for chunk in found.chunks()]
    assert places == [("chunk 0 of the iterable", 0), ("chunk 2 of the iterable", 0)]
    text = found.describe(places[1], 1, 2)
    assert text == "chunk 2 of the iterable, row 1 (counting from 0), column 2"


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (np.ones((2, 4)), "has 4 columns, but the first chunk has 3"),
        (np.ones(3), r"has the shape \(3,\).*two dimensions"),
        (np.ones((1, 2, 3)), "two dimensions"),
        (np.ones((2, 3), complex), "complex numbers"),
        (np.array([["1", "2", "x"]]), r"'1' in row 0 \(counting from 0\), column 0"),
        (np.array([[1, 2, 3], [4, "x", 6]], object), "'x' in row 1 .*, column 1"),
        (np.array([[1, 2, 3]], object), "holds object, not numbers; .*convert them to float"),
        (np.zeros((1, 3), "M8[s]"), "datetime64"),
        ([[1, 2], [3]], "rows of equal length"),
        (sp.csr_array(GOOD), "is sparse, but the first chunk is dense"),
        ((GOOD, np.ones(2)), "has weights, but the first has none"),
        (pd.DataFrame({"a": ["x"], "b": [1]}), r"hold no numbers: 'a'"),
        ("text", r"shape \(\)"),
    ],
)
def test_a_bad_chunk_is_named(chunk: Any, message: str) -> None:
    found = stream([GOOD, GOOD, chunk])
    with pytest.raises(StreamError, match="chunk 2 of the iterable.*" + message):
        made.read(found)


def test_the_first_chunk_is_looked_at_when_the_stream_is_made() -> None:
    with pytest.raises(StreamError, match="chunk 1 of the iterable"):
        stream([np.empty((0, 3)), np.ones(3)])
    assert stream([np.empty((0, 3))]).n_features == 3
    with pytest.raises(StreamError, match="gave no chunk"):
        stream([])
    with pytest.raises(StreamError, match="rows without columns"):
        stream([np.empty((4, 0))])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"shape \(1,\), but there are 2 rows; give one weight per row"),
        (["a", "b"], "<U1"),
        ([1.0, -2.0], "holds -2 at row 1"),
        ([np.nan, 1.0], "holds nan at row 0"),
        ([np.inf, 1.0], "holds inf at row 0"),
    ],
)
def test_bad_weights_are_named(weights: Any, message: str) -> None:
    found = stream([(GOOD, np.ones(2)), (GOOD, weights)])
    with pytest.raises(StreamError, match="chunk 1 of the iterable.*" + message):
        made.read(found)


def test_weights_come_with_their_rows_as_doubles() -> None:
    found = stream([(GOOD, [1, 2]), (GOOD, np.array([3, 4], np.float32))])
    weights = [chunk.weights for chunk in found.chunks()]
    assert [w.dtype for w in weights] == [np.float64] * 2
    np.testing.assert_array_equal(np.concatenate(weights), [1, 2, 3, 4])
    with pytest.raises(StreamError, match=r"chunk 1 .*has no weights"):
        made.read(stream([(GOOD, [1, 2]), GOOD]))


def test_what_is_masked_is_missing() -> None:
    rows = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(made.read(stream([rows])), [[1, np.nan], [3, 4]])


def test_frames_with_other_columns_are_named() -> None:
    found = stream([pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [1], "a": [2]})])
    with pytest.raises(StreamError, match="chunk 1 of the iterable has the columns 'b', 'a', but"):
        made.read(found)


def test_pandas_columns_that_hold_anything_are_checked_throughout() -> None:
    words = pd.Series([None] * 250 + ["x"] * 50, dtype=object)
    frame = pd.DataFrame({"a": np.arange(300.0), "b": words})
    found = stream(frame, chunk_rows=100)
    with pytest.raises(StreamError, match=r"from row 200 .*hold no numbers: 'b'"):
        made.read(found)
    assert made.read(stream(frame, columns=["a"])).shape == (300, 1)


def generator() -> Iterator[Any]:
    yield GOOD
    yield 2 * GOOD


@pytest.mark.parametrize("once", [generator(), iter([GOOD]), map(np.asarray, [GOOD])])
def test_what_can_be_read_only_once_is_refused_with_advice(once: Any) -> None:
    with pytest.raises(TypeError, match=r"read only once.*the function that makes it.*a list"):
        stream(once)


def test_a_function_that_makes_a_generator_is_read_again_and_again() -> None:
    found = stream(generator)
    np.testing.assert_array_equal(made.read(found), made.read(found))


def test_a_function_that_returns_the_same_generator_is_found_out() -> None:
    same = generator()
    with pytest.raises(StreamError, match="returned the same generator again"):
        made.read(stream(lambda: same))
    with pytest.raises(TypeError, match="returned a NoneType"):
        stream(lambda: None)


def test_an_error_of_the_iterable_is_raised_as_it_is() -> None:
    def broken() -> Iterator[Any]:
        yield GOOD
        raise ConnectionError("the line is dead")

    with pytest.raises(ConnectionError, match="the line is dead"):
        made.read(stream(broken))


def test_options_that_do_not_go_with_the_source_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keeps its own chunks"):
        stream([GOOD], chunk_rows=5)
    with pytest.raises(ValueError, match=r"weights= and ids= are for tables"):
        stream(GOOD, columns=["a"])
    with pytest.raises(StreamError, match=r"columns= and weights= are for tables"):
        stream([GOOD], weights="w")
    with pytest.raises(ValueError, match=r"are for \.csv and \.tsv files only"):
        stream(GOOD, header=False)
    with pytest.raises(ValueError, match=r"are for \.csv and \.tsv files only"):
        stream(made.save_npy(GOOD, tmp_path), separator=";")
    with pytest.raises(TypeError, match=r"one name; give a list of names: \['a'\]"):
        stream(GOOD, columns="a")
    with pytest.raises(ValueError, match="columns is empty"):
        stream(GOOD, columns=[])
    with pytest.raises(ValueError, match="decimal=';' is neither"):
        stream(GOOD, decimal=";")
    for bad in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match=re.escape(f"chunk_rows={bad}")):
            stream(GOOD, chunk_rows=bad)


def test_a_stream_is_returned_as_it_is() -> None:
    found = stream(GOOD)
    assert stream(found) is found
    with pytest.raises(ValueError, match="has its options already"):
        stream(found, chunk_rows=2)


def test_other_things_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a int cannot be read as rows"):
        stream(3)
    with pytest.raises(FileNotFoundError, match=r"gone\.npy does not exist"):
        stream(tmp_path / "gone.npy")
    (tmp_path / "rows.xls").write_text("")
    with pytest.raises(StreamError, match=r"rows\.xls is of no known kind.*\.csv"):
        stream(tmp_path / "rows.xls")
    mixed = [made.save_npy(GOOD, tmp_path), made.save_csv(GOOD, tmp_path)]
    with pytest.raises(StreamError, match="of different kinds"):
        stream(mixed)
    with pytest.raises(StreamError, match="1 dimensions, not two"):
        stream(np.ones(3))
    with pytest.raises(StreamError, match="complex"):
        stream(np.ones((2, 2), complex))


def test_blocks_of_zarr_are_read_whole(tmp_path: Path) -> None:
    values = np.arange(40.0).reshape(20, 2)
    stored = zarr.create_array(tmp_path / "a.zarr", shape=(20, 2), chunks=(6, 1), dtype=float)
    stored[:] = values
    starts = {
        size: [chunk.location.first_row for chunk in stream(stored, chunk_rows=size).chunks()]
        for size in (4, 6, 15, 100)
    }
    assert starts == {4: [0, 4, 6, 10, 12, 16, 18], 6: [0, 6, 12, 18], 15: [0, 12], 100: [0]}


def test_zarr_groups_and_damaged_arrays_are_refused(tmp_path: Path) -> None:
    zarr.open_group(tmp_path / "group.zarr", mode="w")
    with pytest.raises(StreamError, match=r"group\.zarr cannot be read as a Zarr array"):
        stream(tmp_path / "group.zarr")
    path = made.save_zarr(np.ones((20, 3)), tmp_path)
    block = path / "c" / "1" / "0"
    block.write_bytes(b"nonsense" * 3)
    with pytest.raises(StreamError, match=r"rows\.zarr: rows 6 to 11 .*cannot be read"):
        made.read(stream(path, chunk_rows=6))


def test_an_array_that_changes_its_shape_is_found_out() -> None:
    class Growing:
        shape, dtype = (4, 2), np.dtype(float)

        def __getitem__(self, index: slice) -> Any:
            return np.zeros((index.stop - index.start + index.start // 2, 2))

    with pytest.raises(StreamError, match=r"rows 2 to 3 came with the shape \(3, 2\)"):
        made.read(stream(Growing(), chunk_rows=2))


def test_record_batches_keep_their_sizes() -> None:
    batches = [pa.record_batch({"a": [1.0, 2.0]}), pa.record_batch({"a": [3.0]})]
    assert [chunk.rows.shape for chunk in stream(batches).chunks()] == [(2, 1), (1, 1)]
