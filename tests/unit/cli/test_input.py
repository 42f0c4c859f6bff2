"""Files in, files out."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from pyarrow import parquet

from sfumato.cli.input import Source
from sfumato.cli.output import (
    RowResults,
    appending,
    as_ids,
    labels_frame,
    memberships_frame,
    write_centers,
    write_rows,
)
from sfumato.exceptions import StreamError, UserError
from tests.tables import read_exact

NUMBERS = pd.DataFrame({"a": [1.5, 2.5, 0.1 + 0.2], "b": [4, 5, 6], "flag": [True, False, True]})
MIXED = NUMBERS.assign(name=["NA", "007", "x"])
TEXT = NUMBERS.assign(name=["NA", "b7", "x"])
ERRORS = (UserError, StreamError, FileNotFoundError)
"""What the command line prints without a traceback."""


@pytest.fixture
def write(tmp_path):
    """Write a frame or an array in a format and return the path."""

    def writer(content, name):
        path = tmp_path / name
        if path.suffix == ".csv":
            content.to_csv(path, index=False)
        elif path.suffix == ".parquet":
            content.to_parquet(path)
        elif path.suffix == ".npy":
            np.save(path, content)
        elif sp.issparse(content):
            sp.save_npz(path, content)
        else:
            np.savez(path, **content)
        return path

    return writer


class Read(NamedTuple):
    """All rows of a source in memory."""

    values: Any
    names: tuple[str, ...]
    row_name: str
    row_ids: Any
    ignored: tuple[str, ...]


def read(source):
    table = source.table()
    chunk = table.open(None, table.has_ids).collect()
    ids = as_ids(chunk.ids, 0, chunk.rows.shape[0])
    return Read(chunk.rows, table.names, table.row_name, ids, table.ignored)


class TestRead:
    @pytest.mark.parametrize("name", ["t.csv", "t.parquet", "T.CSV"])
    def test_frames(self, write, name):
        path = write(NUMBERS, name.lower())
        table = read(Source(path.rename(path.with_name(name))))
        np.testing.assert_array_equal(table.values, NUMBERS.to_numpy(float))
        assert table.names == ("a", "b", "flag")
        assert (table.row_name, list(table.row_ids)) == ("row", [0, 1, 2])

    def test_npy_is_mapped_and_keeps_its_type(self, write):
        values = np.arange(6, dtype=np.float32).reshape(3, 2)
        table = read(Source(write(values, "t.npy")))
        assert isinstance(table.values, np.memmap)
        assert table.values.dtype == np.float32
        assert table.names == ("x0", "x1")

    def test_npz(self, write):
        values = np.eye(3)
        one = write({"only": values}, "one.npz")
        np.testing.assert_array_equal(read(Source(one)).values, values)
        two = write({"X": values, "y": np.ones(3)}, "two.npz")
        np.testing.assert_array_equal(read(Source(two, key="X")).values, values)
        with pytest.raises(ERRORS, match=r"holds the arrays X, y; choose one with `key`"):
            read(Source(two))
        with pytest.raises(ERRORS, match=r"holds the arrays X, y, not Z; choose"):
            read(Source(two, key="Z"))

    def test_sparse_npz_stays_sparse(self, write):
        table = read(Source(write(sp.csc_array(np.eye(3)), "s.npz"), id_column="x2"))
        assert table.values.format == "csr"
        np.testing.assert_array_equal(table.values.toarray(), np.eye(3)[:, :2])
        np.testing.assert_array_equal(table.row_ids, [0, 0, 1])

    def test_float32_parquet_stays_float32(self, write):
        table = read(Source(write(NUMBERS[["a"]].astype("float32"), "t.parquet")))
        assert table.values.dtype == np.float32

    def test_nullable_columns_are_numbers(self, write):
        table = read(Source(write(NUMBERS.convert_dtypes(), "t.parquet")))
        np.testing.assert_array_equal(table.values, NUMBERS.to_numpy(float))

    def test_columns_keep_the_order_asked_for(self, write):
        path = write(NUMBERS, "t.csv")
        assert read(Source(path, columns=("b", "a", "b"))).names == ("b", "a")
        assert read(Source(path, exclude=("b", "flag"))).names == ("a",)
        array = read(Source(write(np.arange(6.0).reshape(2, 3), "t.npy"), columns=("x2", "x0")))
        np.testing.assert_array_equal(array.values, [[2, 0], [5, 3]])

    def test_text_is_named_or_ignored(self, write):
        path = write(TEXT, "t.csv")
        with pytest.raises(
            ERRORS, match=r"'name' \('b7' in line 3\); leave them out with exclude="
        ):
            read(Source(path))
        table = read(Source(path, ignore_text=True))
        assert (table.names, table.ignored) == (("a", "b", "flag"), ("name",))

    def test_text_asked_for_by_name_is_never_ignored(self, write):
        source = Source(write(TEXT, "t.csv"), columns=("a", "name"), ignore_text=True)
        with pytest.raises(ERRORS, match=r"'name' .*; leave them out of --columns"):
            read(source)

    def test_numbers_and_text_in_one_column(self, write):
        path = write(MIXED, "t.csv")
        for source in (Source(path), Source(path, columns=("a", "name"), ignore_text=True)):
            with pytest.raises(ERRORS, match="line 4, column 'name': 'x' is no number"):
                read(source)
        assert read(Source(path, ignore_text=True)).ignored == ("name",)

    def test_booleans_in_a_csv_file(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a,b\nTRUE,1\n,2\nfalse,3\n0,4\n")
        np.testing.assert_array_equal(read(Source(path)).values[:, 0], [1, np.nan, 0, 0])
        path.write_text("a,b\n" + "true,1\n" * 200 + "maybe,2\n")
        with pytest.raises(ERRORS, match="line 202, column 'a': 'maybe' is neither true nor false"):
            read(Source(path))

    @pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
    def test_identifiers_stay_as_written(self, write, name):
        table = read(Source(write(MIXED, name), id_column="name"))
        assert (table.names, table.row_name) == (("a", "b", "flag"), "name")
        assert list(table.row_ids) == ["NA", "007", "x"]

    def test_identifiers_of_headless_csv(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("007,1.5\nNA,2.5\n")
        table = read(Source(path, header=False, id_column="x0"))
        assert list(table.row_ids) == ["007", "NA"]
        assert table.names == ("x1",)

    def test_identifier_called_like_a_result(self, write):
        path = write(NUMBERS.rename(columns={"b": "label"}), "t.parquet")
        assert read(Source(path, id_column="label")).row_name == "id"

    def test_separator(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a;b\n1;2\n3;4\n")
        np.testing.assert_array_equal(read(Source(path, separator=";")).values, [[1, 2], [3, 4]])

    def test_first_line_of_numbers(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("1.5,1.5\n2.5,3.5\n")
        with pytest.raises(ERRORS, match=r"begins with a line of numbers.*header=False"):
            read(Source(path))
        np.testing.assert_array_equal(
            read(Source(path, header=False)).values, [[1.5, 1.5], [2.5, 3.5]]
        )

    def test_columns_that_pandas_numbered_are_names(self, write):
        path = write(pd.DataFrame(np.eye(2)), "t.csv")
        assert read(Source(path)).names == ("0", "1")

    def test_a_column_of_row_numbers_is_not_taken_for_a_feature(self, tmp_path):
        path = tmp_path / "t.csv"
        NUMBERS.to_csv(path)
        with pytest.raises(ERRORS, match=r"first column without a name.*--exclude 'Unnamed: 0'"):
            read(Source(path))
        assert read(Source(path, exclude=("Unnamed: 0",))).names == ("a", "b", "flag")
        assert list(read(Source(path, id_column="Unnamed: 0")).row_ids) == ["0", "1", "2"]

    @pytest.mark.parametrize("asked", [{"columns": ("flug",)}, {"exclude": ("flug",)}])
    def test_unknown_column_gets_the_nearest(self, write, asked):
        with pytest.raises(ERRORS, match=r"no column 'flug'; did you mean 'flag'\?"):
            read(Source(write(NUMBERS, "t.csv"), **asked))

    def test_unknown_column_unlike_any_gets_a_list(self, write):
        with pytest.raises(ERRORS, match=r"no column 'zzz'; its columns are 'a', 'b', 'flag'"):
            read(Source(write(NUMBERS, "t.csv"), id_column="zzz"))

    def test_nothing_left(self, write):
        with pytest.raises(ERRORS, match="no numeric column left"):
            read(Source(write(NUMBERS, "t.csv"), exclude=("a", "b", "flag")))
        with pytest.raises(ERRORS, match="no numeric column left"):
            read(Source(write(np.eye(2), "t.npy"), exclude=("x0", "x1")))

    @pytest.mark.parametrize(
        "array", [np.ones(3), np.ones((2, 2, 2)), np.array([["a"]]), np.ones((2, 2), complex)]
    )
    def test_arrays_of_another_kind(self, write, array):
        with pytest.raises(ERRORS, match=r"shape .* and type .*; give real numbers in two"):
            read(Source(write(array, "t.npy")))

    def test_unknown_format(self, tmp_path):
        path = tmp_path / "t.xlsx"
        path.touch()
        with pytest.raises(ERRORS, match=r"no known kind; .*\.npy, \.npz, \.parquet"):
            read(Source(path))

    @pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "npz"])
    def test_missing_file(self, tmp_path, ending):
        with pytest.raises(ERRORS, match="does not exist; check the path"):
            read(Source(tmp_path / f"t.{ending}"))

    @pytest.mark.parametrize("ending", ["parquet", "npy", "npz"])
    @pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00broken\n1,2,3\n"])
    def test_broken_file(self, tmp_path, ending, content):
        path = tmp_path / f"t.{ending}"
        path.write_bytes(content)
        with pytest.raises(ERRORS, match=rf"t\.{ending} cannot be read as (?i:{ending}) \("):
            read(Source(path))

    def test_an_array_that_is_no_archive(self, tmp_path):
        np.save(tmp_path / "t.npy", np.eye(2))
        (tmp_path / "t.npy").rename(tmp_path / "t.npz")
        with pytest.raises(ERRORS, match=r"cannot be read as npz \(it is an \.npy file"):
            read(Source(tmp_path / "t.npz"))

    @pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "npz"])
    def test_folder_instead_of_file(self, tmp_path, ending):
        path = tmp_path / f"t.{ending}"
        path.mkdir()
        with pytest.raises(ERRORS):
            read(Source(path))

    @pytest.mark.parametrize("rows", ["1,2\n3,4,5\n", "1,2,9\n3,4,9\n"])
    def test_ragged_csv(self, tmp_path, rows):
        path = tmp_path / "t.csv"
        path.write_text("a,b\n" + rows)
        with pytest.raises(ERRORS, match=r"line \d: 3 fields where there should be 2; '[59]' is"):
            read(Source(path))

    def test_empty_last_column_without_a_name_is_harmless(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a,b\n1,2,\n3,4,\n")
        np.testing.assert_array_equal(read(Source(path)).values, [[1, 2], [3, 4]])
        path.write_text("a,b\n" + "1,2,\n" * 200 + "3,4,5\n")
        with pytest.raises(ERRORS, match="line 202: 3 fields where there should be 2; '5' is bey"):
            read(Source(path))
        path.write_text("a,b\n" + "1,2,\n" * 200 + "3,4\n")
        with pytest.raises(ERRORS, match="line 202: 2 fields where there should be 3; column 'Unn"):
            read(Source(path))

    def test_a_stored_index_identifies_rows(self, tmp_path):
        NUMBERS.set_index(pd.Index([9, 7, 8], name="key")).to_parquet(tmp_path / "t.parquet")
        table = read(Source(tmp_path / "t.parquet", id_column="key"))
        assert (table.names, list(table.row_ids)) == (("a", "b", "flag"), [9, 7, 8])

    def test_columns_of_the_same_name(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a,a,b\n1,2,3\n")
        with pytest.raises(ERRORS, match="several columns 'a'"):
            read(Source(path))
        np.testing.assert_array_equal(read(Source(path, exclude=("a",))).values, [[3]])

    def test_pickled_arrays_are_not_executed(self, tmp_path):
        path = tmp_path / "t.npy"
        np.save(path, np.array([[{}]], dtype=object), allow_pickle=True)
        with pytest.raises(ERRORS, match="type object; give real numbers"):
            read(Source(path))


class TestFrames:
    memberships = sp.csr_array(([0.25, 0.75, 1.0, 0.0], [0, 2, 0, 1], [0, 2, 4]), shape=(2, 3))

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_round_trip(self, tmp_path, ending):
        centers = np.array([[0.1 + 0.2, 1e-300], [1.0, 2.0], [3.0, -4.0]])
        paths = [tmp_path / f"{name}.{ending}" for name in ("labels", "memberships", "centers")]
        results = [
            RowResults(
                np.array([name]), np.array([label]), self.memberships[[row]], np.array([0.5])
            )
            for row, (name, label) in enumerate([("x", 2), ("y, z", 0)])
        ]
        counts = write_rows(paths[:2], results, "who", len(centers))
        write_centers(paths[2], ("cluster", "a,b"), centers)
        assert (counts.sizes, counts.outliers, counts.sure) == ([1, 0, 1], 0, 2)
        read = pd.read_parquet if ending == "parquet" else read_exact
        labels, memberships, written = map(read, paths)
        assert labels.to_dict("list") == {
            "who": ["x", "y, z"],
            "label": [2, 0],
            "membership": [0.75, 1.0],
            "outlier": [False, False],
            "outlier_score": [0.5, 0.5],
        }
        assert memberships.to_dict("list") == {
            "who": ["x", "x", "y, z"],
            "cluster": [0, 2, 0],
            "membership": [0.25, 0.75, 1.0],
        }
        assert list(written.columns) == ["cluster_", "cluster", "a,b"]
        np.testing.assert_array_equal(written[["cluster", "a,b"]], centers)

    def test_outliers_have_no_memberships(self):
        """In any place: the first rows, the last, or all."""
        memberships = sp.csr_array(([0.25, 0.75], [0, 2], [0, 0, 2, 2]), shape=(3, 3))
        scores = np.array([5.0, 0.5, 1.1])
        for rows, largest in ((slice(0, 3), [0, 0.75, 0]), (slice(2, 3), [0])):
            count = len(largest)
            results = RowResults(
                np.arange(count), np.zeros(count, int), memberships[rows], scores[rows]
            )
            frame = labels_frame("row", results)
            assert frame["membership"].tolist() == largest
            assert frame["outlier"].tolist() == [share == 0 for share in largest]
            assert len(memberships_frame("row", results)) == 2 * (count > 1)

    def test_rows_are_numbered_without_identifiers(self):
        results = RowResults(as_ids(None, 5, 7), np.zeros(2, int), self.memberships, np.zeros(2))
        assert memberships_frame("row", results)["row"].tolist() == [5, 5, 6]

    def test_rows_are_counted_by_hand(self, tmp_path):
        """Sure, unsure, an outlier that would be sure, an outlier without memberships."""
        entries = ([0.7, 0.3, 0.6, 0.4, 1.0], [0, 1, 1, 0, 2], [0, 2, 4, 5, 5])
        memberships = sp.csr_array(entries, shape=(4, 3))
        scores = np.array([0.2, 1.0, 3.0, 9.0])
        results = RowResults(as_ids(None, 0, 4), np.array([0, 1, 2, 2]), memberships, scores)
        np.testing.assert_array_equal(results.largest, [0.7, 0.6, 1.0, 0.0])
        paths = [tmp_path / f"{name}.csv" for name in ("labels", "memberships")]
        counts = write_rows(paths, [results], "row", 3)
        assert (counts.sizes, counts.outliers, counts.sure) == ([1, 1, 0], 2, 1)
        assert counts.rows == 4

    def test_small_chunks_share_a_row_group(self, tmp_path):
        path = tmp_path / "t.parquet"
        with appending(path) as add:
            for begin in range(0, 300_000, 1000):
                add(pd.DataFrame({"a": np.arange(begin, begin + 1000)}))
        found = parquet.ParquetFile(path)
        sizes = [found.metadata.row_group(i).num_rows for i in range(found.num_row_groups)]
        assert sizes == [66_000] * 4 + [36_000]
        np.testing.assert_array_equal(found.read()["a"], np.arange(300_000))
