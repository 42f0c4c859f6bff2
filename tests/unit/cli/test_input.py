"""Files in, files out."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sfumato.cli import tables
from sfumato.cli.tables import Source, Table
from sfumato.exceptions import UserError

NUMBERS = pd.DataFrame({"a": [1.5, 2.5, 0.1 + 0.2], "b": [4, 5, 6], "flag": [True, False, True]})
MIXED = NUMBERS.assign(name=["NA", "007", "x"])


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


class TestRead:
    @pytest.mark.parametrize("name", ["t.csv", "t.parquet", "T.CSV"])
    def test_frames(self, write, name):
        path = write(NUMBERS, name.lower())
        table = Source(path.rename(path.with_name(name))).read()
        np.testing.assert_array_equal(table.values, NUMBERS.to_numpy(float))
        assert table.names == ("a", "b", "flag")
        assert (table.row_name, list(table.row_ids)) == ("row", [0, 1, 2])

    def test_npy_is_mapped_and_keeps_its_type(self, write):
        values = np.arange(6, dtype=np.float32).reshape(3, 2)
        table = Source(write(values, "t.npy")).read()
        assert isinstance(table.values, np.memmap)
        assert table.values.dtype == np.float32
        assert table.names == ("x0", "x1")

    def test_npz(self, write):
        values = np.eye(3)
        one = write({"only": values}, "one.npz")
        np.testing.assert_array_equal(Source(one).read().values, values)
        two = write({"X": values, "y": np.ones(3)}, "two.npz")
        np.testing.assert_array_equal(Source(two, key="X").read().values, values)
        with pytest.raises(UserError, match=r"holds the arrays X, y; choose one with --key"):
            Source(two).read()
        with pytest.raises(UserError, match=r"holds the arrays X, y, not Z; choose"):
            Source(two, key="Z").read()

    def test_sparse_npz_stays_sparse(self, write):
        table = Source(write(sp.csc_array(np.eye(3)), "s.npz"), id_column="x2").read()
        assert table.values.format == "csr"
        np.testing.assert_array_equal(table.values.toarray(), np.eye(3)[:, :2])
        np.testing.assert_array_equal(table.row_ids, [0, 0, 1])

    def test_float32_parquet_stays_float32(self, write):
        table = Source(write(NUMBERS[["a"]].astype("float32"), "t.parquet")).read()
        assert table.values.dtype == np.float32

    def test_nullable_columns_are_numbers(self, write):
        table = Source(write(NUMBERS.convert_dtypes(), "t.parquet")).read()
        np.testing.assert_array_equal(table.values, NUMBERS.to_numpy(float))

    def test_columns_keep_the_order_asked_for(self, write):
        path = write(NUMBERS, "t.csv")
        assert Source(path, columns=("b", "a", "b")).read().names == ("b", "a")
        assert Source(path, exclude=("b", "flag")).read().names == ("a",)
        array = Source(write(np.arange(6.0).reshape(2, 3), "t.npy"), columns=("x2", "x0")).read()
        np.testing.assert_array_equal(array.values, [[2, 0], [5, 3]])

    def test_text_is_named_or_ignored(self, write):
        path = write(MIXED, "t.csv")
        with pytest.raises(UserError, match=r"'name'; leave them out with --non-numeric ignore"):
            Source(path).read()
        table = Source(path, ignore_text=True).read()
        assert (table.names, table.ignored) == (("a", "b", "flag"), ("name",))

    def test_text_asked_for_by_name_is_never_ignored(self, write):
        source = Source(write(MIXED, "t.csv"), columns=("a", "name"), ignore_text=True)
        with pytest.raises(UserError, match=r"'name'; leave them out of --columns"):
            source.read()

    @pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
    def test_identifiers_stay_as_written(self, write, name):
        table = Source(write(MIXED, name), id_column="name").read()
        assert (table.names, table.row_name) == (("a", "b", "flag"), "name")
        assert list(table.row_ids) == ["NA", "007", "x"]

    def test_identifiers_of_headless_csv(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("007,1.5\nNA,2.5\n")
        table = Source(path, header=False, id_column="x0").read()
        assert list(table.row_ids) == ["007", "NA"]
        assert table.names == ("x1",)

    def test_identifier_called_like_a_result(self, write):
        path = write(NUMBERS.rename(columns={"b": "label"}), "t.parquet")
        assert Source(path, id_column="label").read().row_name == "id"

    def test_separator(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a;b\n1;2\n3;4\n")
        np.testing.assert_array_equal(Source(path, separator=";").read().values, [[1, 2], [3, 4]])

    def test_first_line_of_numbers(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("1.5,1.5\n2.5,3.5\n")
        with pytest.raises(UserError, match=r"begins with a line of numbers.*--no-header"):
            Source(path).read()
        np.testing.assert_array_equal(
            Source(path, header=False).read().values, [[1.5, 1.5], [2.5, 3.5]]
        )

    def test_columns_that_pandas_numbered_are_names(self, write):
        path = write(pd.DataFrame(np.eye(2)), "t.csv")
        assert Source(path).read().names == ("0", "1")

    def test_a_column_of_row_numbers_is_not_taken_for_a_feature(self, tmp_path):
        path = tmp_path / "t.csv"
        NUMBERS.to_csv(path)
        with pytest.raises(UserError, match=r"first column without a name.*--exclude 'Unnamed: 0'"):
            Source(path).read()
        assert Source(path, exclude=("Unnamed: 0",)).read().names == ("a", "b", "flag")
        assert list(Source(path, id_column="Unnamed: 0").read().row_ids) == ["0", "1", "2"]

    @pytest.mark.parametrize("value", ["", "inf", "nan"])
    def test_missing_values_are_located(self, tmp_path, value):
        path = tmp_path / "t.csv"
        path.write_text(f"a,b\n1,2\n3,{value}\n")
        with pytest.raises(UserError, match=r"column 'b', row 1 counting from 0; .*--exclude b"):
            Source(path).read()

    @pytest.mark.parametrize("asked", [{"columns": ("flug",)}, {"exclude": ("flug",)}])
    def test_unknown_column_gets_the_nearest(self, write, asked):
        with pytest.raises(UserError, match=r"no column 'flug'; did you mean 'flag'\?"):
            Source(write(NUMBERS, "t.csv"), **asked).read()

    def test_unknown_column_unlike_any_gets_a_list(self, write):
        with pytest.raises(UserError, match=r"no column 'zzz'; its columns are 'a', 'b', 'flag'"):
            Source(write(NUMBERS, "t.csv"), id_column="zzz").read()

    def test_nothing_left(self, write):
        with pytest.raises(UserError, match="no numeric column left"):
            Source(write(NUMBERS, "t.csv"), exclude=("a", "b", "flag")).read()
        with pytest.raises(UserError, match="no numeric column left"):
            Source(write(np.eye(2), "t.npy"), exclude=("x0", "x1")).read()

    @pytest.mark.parametrize(
        "array", [np.ones(3), np.ones((2, 2, 2)), np.array([["a"]]), np.ones((2, 2), complex)]
    )
    def test_arrays_of_another_kind(self, write, array):
        with pytest.raises(UserError, match=r"shape .* and type .*; give real numbers in two"):
            Source(write(array, "t.npy")).read()

    def test_unknown_format(self, tmp_path):
        with pytest.raises(UserError, match=r"no known format; .*\.csv, \.parquet, \.npy, \.npz"):
            Source(tmp_path / "t.xlsx").read()

    @pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "npz"])
    def test_missing_file(self, tmp_path, ending):
        with pytest.raises(UserError, match="does not exist; check the path"):
            Source(tmp_path / f"t.{ending}").read()

    @pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "npz"])
    @pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00broken\n1,2,3\n"])
    def test_broken_file(self, tmp_path, ending, content):
        path = tmp_path / f"t.{ending}"
        path.write_bytes(content)
        with pytest.raises(UserError, match=f"cannot be read as {ending} .*; check the file"):
            Source(path).read()

    @pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "npz"])
    def test_folder_instead_of_file(self, tmp_path, ending):
        path = tmp_path / f"t.{ending}"
        path.mkdir()
        with pytest.raises(UserError):
            Source(path).read()

    @pytest.mark.parametrize("rows", ["1,2\n3,4,5\n", "1,2,9\n3,4,9\n"])
    def test_ragged_csv(self, tmp_path, rows):
        path = tmp_path / "t.csv"
        path.write_text("a,b\n" + rows)
        with pytest.raises(UserError, match="cannot be read as csv"):
            Source(path).read()

    def test_empty_last_column_without_a_name_is_harmless(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("a,b\n1,2,\n3,4,\n")
        np.testing.assert_array_equal(Source(path).read().values, [[1, 2], [3, 4]])

    def test_pickled_arrays_are_not_executed(self, tmp_path):
        path = tmp_path / "t.npy"
        np.save(path, np.array([[{}]], dtype=object), allow_pickle=True)
        with pytest.raises(UserError, match="cannot be read as npy"):
            Source(path).read()


class TestFrames:
    memberships = sp.csr_array(([0.25, 0.75, 1.0, 0.0], [0, 2, 0, 1], [0, 2, 4]), shape=(2, 3))
    table = Table(np.zeros((2, 2)), ("cluster", "a,b"), "who", ["x", "y, z"])

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_round_trip(self, tmp_path, ending):
        centers = np.array([[0.1 + 0.2, 1e-300], [1.0, 2.0], [3.0, -4.0]])
        frames = {
            "labels": tables.labels_frame(self.table, np.array([2, 0]), self.memberships, {}),
            "memberships": tables.memberships_frame(self.table, self.memberships),
            "centers": tables.centers_frame(self.table, centers),
        }
        back = {}
        for name, frame in frames.items():
            path = tmp_path / f"{name}.{ending}"
            tables.write_frame(frame, path)
            back[name] = pd.read_parquet(path) if ending == "parquet" else pd.read_csv(path)
        assert back["labels"].to_dict("list") == {
            "who": ["x", "y, z"],
            "label": [2, 0],
            "membership": [0.75, 1.0],
        }
        assert back["memberships"].to_dict("list") == {
            "who": ["x", "x", "y, z"],
            "cluster": [0, 2, 0],
            "membership": [0.25, 0.75, 1.0],
        }
        assert list(back["centers"].columns) == ["cluster_", "cluster", "a,b"]
        np.testing.assert_array_equal(back["centers"][["cluster", "a,b"]], centers)

    def test_rows_are_numbered_without_identifiers(self):
        table = Table(np.zeros((2, 2)), ("a", "b"), "row", range(2))
        frame = tables.memberships_frame(table, self.memberships)
        assert frame["row"].tolist() == [0, 0, 1]
