"""Streams of Parquet files."""

from __future__ import annotations

import os
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from sfumato.streams import StreamError, stream
from tests.unit.streams import made


def write(path: Path, **columns: object) -> Path:
    parquet.write_table(pa.table(columns), path)
    return path


class Meters(pa.ExtensionType):
    def __init__(self) -> None:
        super().__init__(pa.float32(), "sfumato.meters")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: object, serialized: bytes) -> Meters:
        return cls()


COLUMNS = {
    "int": (pa.array([1, None, 3], pa.int8()), [1, np.nan, 3]),
    "large": (pa.array([2**63, 5, 0], pa.uint64()), [2.0**63, 5, 0]),
    "bool": (pa.array([True, None, False]), [1, np.nan, 0]),
    "half": (pa.array(np.array([0.5, 2, 3], np.float16)), [0.5, 2, 3]),
    "float": (pa.array([0.1, None, 3], pa.float32()), [np.float32(0.1), np.nan, 3]),
    "decimal": (pa.array([Decimal("1.25"), None, Decimal("-3")]), [1.25, np.nan, -3]),
    "dictionary": (pa.array([7.5, None, 7.5]).dictionary_encode(), [7.5, np.nan, 7.5]),
    "nothing": (pa.nulls(3), [np.nan] * 3),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_numbers_become_floats(kind: str, tmp_path: Path) -> None:
    column, expected = COLUMNS[kind]
    path = write(tmp_path / "rows.parquet", a=column, b=pa.array([1.0, 2.0, 3.0]))
    found = stream(path)
    np.testing.assert_array_equal(made.read(found)[:, 0], expected)
    assert found.dtype == np.float64
    in_memory = stream(pa.table({"a": column}))
    np.testing.assert_array_equal(made.read(in_memory)[:, 0], expected)


def test_extension_types_are_what_they_store(tmp_path: Path) -> None:
    pa.register_extension_type(Meters())
    try:
        lengths = pa.ExtensionArray.from_storage(Meters(), pa.array([1.5, None], pa.float32()))
        found = stream(write(tmp_path / "rows.parquet", a=lengths))
        np.testing.assert_array_equal(made.read(found), [[1.5], [np.nan]])
    finally:
        pa.unregister_extension_type("sfumato.meters")


def test_columns_that_hold_no_numbers_are_named(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rows.parquet",
        a=[1.0],
        city=["Kyiv"],
        when=pa.array([0], pa.timestamp("s")),
        many=[[1.0, 2.0]],
    )
    with pytest.raises(StreamError, match=r"'city' \(string\), 'when' .*'many' .*exclude=\[") as e:
        stream(path)
    assert str(path) in str(e.value)
    assert "convert dates to numbers" in str(e.value)
    assert made.read(stream(path, columns=["a"])).shape == (1, 1)
    with pytest.raises(StreamError, match="'city'"):
        stream(path, columns=["a"], weights="city")


def test_columns_that_do_not_exist_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.parquet", length=[1.0], width=[2.0])
    with pytest.raises(StreamError, match=r"no column 'lenght'; did you mean 'length'\?"):
        stream(path, columns=["lenght"])
    with pytest.raises(StreamError, match="no column 'qqq'; its columns are 'length', 'width'"):
        stream(path, weights="qqq")
    with pytest.raises(StreamError, match="both in `columns` and as `weights`"):
        stream(path, columns=["length"], weights="length")
    with pytest.raises(StreamError, match="asked for twice"):
        stream(path, columns=["length", "length"])
    with pytest.raises(StreamError, match="no column left"):
        stream(write(tmp_path / "one.parquet", w=[1.0]), weights="w")


def test_an_index_that_pandas_stored_is_no_feature(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9])
    frame.to_parquet(tmp_path / "rows.parquet")
    found = stream(tmp_path / "rows.parquet")
    assert found.names == ("a",)
    assert stream(frame).names == ("a",)


def test_files_with_other_columns_are_both_named_with_the_difference(tmp_path: Path) -> None:
    first = write(tmp_path / "1.parquet", a=[1.0], b=[2.0])
    second = write(tmp_path / "2.parquet", b=[3.0], c=[4.0], a=[5.0])
    message = rf"{re.escape(str(second))} and {re.escape(str(first))} .*only .*2\.parquet has 'c'"
    with pytest.raises(StreamError, match=message):
        stream([first, second])
    # Columns are found by their names, whatever their order.
    both = stream([first, second], columns=["a", "b"])
    np.testing.assert_array_equal(made.read(both), [[1, 2], [5, 3]])
    assert stream(tmp_path, columns=["a", "b"]).n_rows == 2


def test_float32_in_one_file_and_float64_in_another_makes_float64(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", a=pa.array([0.1], pa.float32()))
    write(tmp_path / "2.parquet", a=[0.1])
    found = stream(tmp_path)
    assert {chunk.rows.dtype for chunk in found.chunks()} == {np.dtype(np.float64)}
    np.testing.assert_array_equal(made.read(found).ravel(), [np.float32(0.1), 0.1])


@pytest.mark.parametrize("cut", ["all", "footer", "half"])
def test_a_truncated_file_is_named(cut: str, tmp_path: Path) -> None:
    path = made.save_parquet(np.zeros((50, 3)), tmp_path)
    size = path.stat().st_size
    os.truncate(path, {"all": 0, "footer": size - 3, "half": size // 2}[cut])
    with pytest.raises(StreamError, match=rf"{re.escape(str(path))} cannot be read as Parquet"):
        stream(path)


@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_damaged_pages_are_named_by_row_and_row_group(compression: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    values = np.random.default_rng(0).normal(size=40_000)
    parquet.write_table(
        pa.table({"a": values}),
        path,
        row_group_size=10_000,
        compression=compression,
        use_dictionary=False,
        write_page_checksum=True,
    )
    start = parquet.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset + 4000
    content = bytearray(path.read_bytes())
    content[start : start + 64] = bytes(64)
    path.write_bytes(content)
    damaged = stream(path, chunk_rows=5_000)
    seen: list[float] = []
    with pytest.raises(StreamError, match=r"row group 2 of 4") as caught:
        seen.extend(value for chunk in damaged.chunks() for value in chunk.rows[:, 0])
    np.testing.assert_array_equal(seen, values[: len(seen)])
    row = int(re.search(r"from row (\d+) ", str(caught.value))[1])
    assert len(seen) <= row
    assert 20_000 <= row < 30_000
    assert str(path) in str(caught.value)


def test_chunks_do_not_depend_on_row_groups(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(5000, 2))
    for size in (7, 1000, 5000):
        path = tmp_path / f"{size}.parquet"
        parquet.write_table(made.table(rows), path, row_group_size=size)
        chunks = [np.array(chunk.rows) for chunk in stream(path, chunk_rows=1300).chunks()]
        assert [len(chunk) for chunk in chunks] == [1300, 1300, 1300, 1100]
        np.testing.assert_array_equal(np.concatenate(chunks), rows)


def test_a_null_is_found_where_it_was(tmp_path: Path) -> None:
    values = [1.0] * 3000
    values[2345] = None
    path = write(tmp_path / "rows.parquet", a=[0.0] * 3000, b=values)
    found = stream(path, chunk_rows=1000)
    for chunk in found.chunks():
        for row, column in np.argwhere(np.isnan(chunk.rows)):
            where = found.describe(chunk.location, int(row), int(column))
    assert where == f"{path}, row 2345 (counting from 0), column 'b'"


def test_a_folder_without_parquet_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "_only.parquet").write_text("hidden")
    with pytest.raises(StreamError, match=r"holds no \.parquet files"):
        stream(tmp_path)
