"""``sfumato cluster`` on data that is streamed: real runs, results read back, ways to fail."""

import json
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import zarr
from click.testing import CliRunner
from pyarrow import parquet
from sklearn.metrics import adjusted_rand_score

from sfumato.cli import cluster, memory
from sfumato.cli import main as cli
from sfumato.datasets import make_blobs_with_outliers
from tests.unit.cli.test_main import assert_fails, names_here

CENTERS = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]])
N_ROWS = 2000


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def frame():
    """Rows of four clusters, with names."""
    rng = np.random.default_rng(0)
    rows = CENTERS[np.arange(N_ROWS) % 4] + rng.normal(size=(N_ROWS, 3))
    made = pd.DataFrame(rows, columns=list("abc"))
    return made.assign(name=[f"n{i:05}" for i in range(N_ROWS)])


@pytest.fixture
def streaming(monkeypatch):
    """Stream whatever can be streamed, in chunks of few rows."""
    monkeypatch.setattr(cluster, "memory_of_whole", lambda *_: 1 << 60)
    monkeypatch.setattr(memory, "default_rows", lambda row_bytes: 300)


def run(*arguments, n_clusters=4):
    words = ["cluster", *map(str, arguments), "--n-clusters", str(n_clusters)]
    result = CliRunner().invoke(cli.program(), words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def results(folder, file_format="csv"):
    read = pd.read_parquet if file_format == "parquet" else pd.read_csv
    options = {"dtype": {"name": str}} if file_format == "csv" else {}
    names = ("labels", "memberships", "centers")
    found = [read(f"{folder}/{name}.{file_format}", **options) for name in names]
    return (*found, json.loads(Path(folder, "summary.json").read_text()))


def write(frame, kind):
    """The frame in a file of some kind; returns its path."""
    if kind == "csv":
        frame.to_csv("rows.csv", index=False)
    elif kind == "parquet":
        frame.to_parquet("rows.parquet", row_group_size=700)
    elif kind == "folder":
        Path("rows").mkdir()
        for index, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
            frame.iloc[part].to_parquet(f"rows/part-{index}.parquet")
    else:
        np.save("rows.npy", frame.assign(name=range(len(frame))).to_numpy(np.float64))
    return "rows" if kind == "folder" else f"rows.{kind}"


def assert_same_results(one, two, *words):
    """Two files are streamed, the first with some options, to the same results."""
    for path, options in ((one, words), (two, ())):
        result = run(path, *options)
        assert "Streamed in" in result.stdout, result.stderr
    for name in ("labels", "memberships", "centers"):
        first, second = (
            Path(f"{Path(f).stem}-clusters/{name}.csv").read_bytes() for f in (one, two)
        )
        assert first == second


class TestSameAsInMemory:
    @pytest.mark.parametrize("file_format", ["csv", "parquet"])
    @pytest.mark.parametrize("kind", ["csv", "parquet", "folder", "npy"])
    def test_results(self, frame, kind, file_format, request):
        path = write(frame, kind)
        identifier = "x3" if kind == "npy" else "name"
        words = ["--id-column", identifier, "--format", file_format]
        whole = path
        if kind == "folder":
            frame.to_parquet("whole.parquet")
            whole = "whole.parquet"
        printed = run(whole, *words, "--output", "whole-out")
        assert "Streamed" not in printed.stdout
        request.getfixturevalue("streaming")
        printed = run(path, *words)
        assert printed.exit_code == 0, printed.output
        assert printed.stderr == ""
        one, other = results("whole-out", file_format), results("rows-clusters", file_format)
        for ours, theirs in zip(one[:3], other[:3], strict=True):
            assert list(ours) == list(theirs)
            assert list(ours.dtypes) == list(theirs.dtypes)
        pd.testing.assert_series_equal(one[0][identifier], other[0][identifier])
        assert adjusted_rand_score(one[0]["label"], other[0]["label"]) == 1.0
        assert other[3]["objective"] == pytest.approx(one[3]["objective"], rel=0.01)
        assert other[3]["input"] == one[3]["input"] | {"file": path}
        assert f"Streamed in {other[3]['streamed']['passes']} passes" in printed.stdout
        assert other[3]["streamed"]["chunk_rows"] == 300
        assert set(other[3]) == {*one[3], "streamed"}

    @pytest.mark.usefixtures("streaming")
    def test_memberships_add_up(self, frame):
        run(write(frame, "parquet"), "--non-numeric", "ignore", "--fuzzifier", "1.5")
        labels, memberships, centers, summary = results("rows-clusters")
        np.testing.assert_array_equal(labels["row"], np.arange(N_ROWS))
        grouped = memberships.groupby("row")["membership"]
        np.testing.assert_allclose(grouped.sum(), 1)
        np.testing.assert_allclose(grouped.max(), labels["membership"])
        assert list(centers) == ["cluster", "a", "b", "c"]
        sizes = np.bincount(labels["label"][~labels["outlier"]], minlength=4).tolist()
        assert summary["cluster_sizes"] == sizes
        assert summary["input"]["ignored_columns"] == ["name"]

    def test_one_chunk_is_as_good_as_all_rows(self, frame, monkeypatch):
        """Seeds are drawn in another way, so the same minimum is found up to the tolerance."""
        path = write(frame, "parquet")
        words = ["--exclude", "name", "--n-init", "1", "--fuzzifier", "1.5", "--n-active", "2"]
        run(path, *words, "--output", "one")
        monkeypatch.setattr(cluster, "memory_of_whole", lambda *_: 1 << 60)
        run(path, *words, "--output", "two")
        one, two = results("one")[2], results("two")[2]
        gaps = np.abs(one.to_numpy()[:, None, 1:] - two.to_numpy()[None, :, 1:]).max(axis=2)
        assert gaps.min(axis=1).max() < 1e-3

    @pytest.mark.usefixtures("streaming")
    def test_outliers(self):
        made = make_blobs_with_outliers(1500, 3, n_clusters=3, contamination=0.1, random_state=1)
        pd.DataFrame(made.data, columns=list("abc")).to_csv("rows.csv", index=False)
        printed = run("rows.csv", n_clusters=3)
        labels, _, _, summary = results("rows-clusters")
        assert list(labels) == ["row", "label", "membership", "outlier", "outlier_score"]
        np.testing.assert_array_equal(labels["outlier"], labels["outlier_score"] > 1)
        assert summary["outliers"] == labels["outlier"].sum() >= 140
        sure = (~labels["outlier"] & (labels["membership"] >= 2 / 3)).sum()
        assert summary["sure"] == pytest.approx(sure / (~labels["outlier"]).sum())
        assert printed.stdout.splitlines()[-1] == f"Found: {summary['found']}"
        assert summary["found"].startswith(f"3 clusters, {summary['outliers']} outliers, sure of ")

    @pytest.mark.usefixtures("streaming")
    @pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
    @pytest.mark.slow
    def test_columns(self, frame, kind):
        names = ["x2", "x0"] if kind == "npy" else ["c", "a"]
        path = write(frame, kind)
        run(path, "--columns", ",".join(names), "--output", "chosen")
        assert list(results("chosen")[2]) == ["cluster", *names]
        left = [f"--exclude={name}" for name in ("x1", "x3", "b", "name")]
        left = left[:2] if kind == "npy" else left[2:]
        run(path, *left, "--output", "left")
        assert list(results("left")[2]) == ["cluster", *sorted(names)]

    @pytest.mark.usefixtures("streaming")
    def test_headless_file_separated_by_tabs(self, frame):
        frame.to_csv("t.csv", index=False, header=False, sep="\t")
        words = ["--no-header", "--separator", "\\t", "--id-column", "x3"]
        assert run("t.csv", *words).exit_code == 0
        labels = pd.read_csv("t-clusters/labels.csv", dtype={"x3": str})
        assert labels["x3"].tolist() == frame["name"].tolist()

    @pytest.mark.usefixtures("streaming")
    def test_identifiers_of_any_type(self, frame):
        """Missing ones, dates and large numbers are not changed by what else is in a chunk."""
        ids = pa.array([None, *range(2**60, 2**60 + N_ROWS - 1)], pa.int64())
        table = pa.table({"a": frame["a"], "key": ids})
        parquet.write_table(table, "rows.parquet")
        for file_format in ("csv", "parquet"):
            run("rows.parquet", "--id-column", "key", "--format", file_format, "--force")
        lines = Path("rows-clusters/labels.csv").read_text().splitlines()
        assert lines[0].startswith("key,label")
        assert lines[1].startswith(",")
        assert lines[2].startswith(f"{2**60},")
        assert lines[-1].startswith(f"{2**60 + N_ROWS - 2},")
        assert parquet.read_table("rows-clusters/labels.parquet")["key"].equals(
            pa.chunked_array([ids])
        )


class TestChoice:
    @pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
    def test_what_fits_is_not_streamed(self, frame, kind):
        printed = run(write(frame, kind), "--memory", "1GB", "--columns", "x0" if kind == "npy"
                      else "a")  # fmt: skip
        assert "Streamed" not in printed.stdout
        assert "streamed" not in results("rows-clusters")[3]

    @pytest.mark.parametrize(
        ("size", "expected"),
        [
            ("500MB", 5 * 10**8),
            ("2GB", 2 * 10**9),
            ("1.5GiB", 3 << 29),
            ("2 gb", 2 * 10**9),
            ("3G", 3 * 10**9),
            (".5TiB", 1 << 39),
            ("700000kB", 7 * 10**8),
            ("1000000000B", 10**9),
        ],
    )
    def test_sizes(self, size, expected):
        assert memory.parse_size(size) == expected

    @pytest.mark.parametrize("size", ["much", "2", "2XB", "-1GB", "0GB", "", "GB", "2GBs", "1iB"])
    def test_bad_sizes(self, frame, size):
        result = run(write(frame, "csv"), f"--memory={size}")
        assert_fails(result, "'--memory'", f"{size!r} is no size", "500MB, 2GB or 1.5GiB")

    @pytest.mark.usefixtures("streaming")
    def test_too_little_memory_says_what_is_enough(self, frame):
        path = write(frame, "parquet")
        result = run(path, "--exclude", "name", "--memory", "50MB")
        assert_fails(result, "--memory 50 MB is too little", "give --memory")
        enough = result.stderr.split("give --memory ")[1].split()[0]
        assert run(path, "--exclude", "name", "--memory", enough).exit_code == 0

    def test_chunks_shrink_by_halves(self):
        sizes = [memory.chunk_sizes(limit * 10**6, 128, 16, 8, 5)[0] for limit in (350, 500, 4000)]
        assert sizes[2] == 1 << 18
        assert sizes[0] < sizes[1] < sizes[2]
        assert all((1 << 18) % size == 0 for size in sizes)

    def test_what_reading_takes(self, frame):
        """More than its numbers for what is parsed, nothing for what is mapped but results."""
        from sfumato.cli.input import Source

        numbers = N_ROWS * 4 * 8
        for kind in ("csv", "parquet"):
            whole = memory.memory_of_whole(Source(Path(write(frame, kind))), 1) - memory.BASE
            assert 2 * numbers < whole < 10 * numbers
        path = Path(write(frame, "npy"))
        mapped = memory.memory_of_whole(Source(path), 1) - memory.BASE
        assert mapped == N_ROWS * 120
        assert memory.memory_of_whole(Source(path, exclude=("x0",)), 1) - memory.BASE > numbers

    @pytest.mark.parametrize("form", ["csc", "coo", "bsr", "dia"])
    def test_sparse_arrays_without_rows_are_loaded_or_refused(self, form):
        """A difference of 2 GB between a file and the memory that may be used is simulated."""
        sp.save_npz("rows.npz", sp.eye_array(900, 900).asformat(form))
        with mock.patch.object(cluster, "memory_of_whole", return_value=3 * 10**9):
            result = run("rows.npz", "--memory", "1GB")
        assert_fails(result, f"rows.npz holds a sparse array as {form.upper()}", "about 3 GB",
                     "tocsr()", "or give --memory 3.3GB")  # fmt: skip

    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    @pytest.mark.usefixtures("streaming")
    def test_npz_in_fortran_order_is_streamed(self, frame, save):
        rows = np.ascontiguousarray(frame[["a", "b", "c"]])
        save("one.npz", X=np.asfortranarray(rows))
        np.savez("two.npz", X=rows)
        assert_same_results("one.npz", "two.npz")

    def test_wide_sparse_rows_need_little_memory(self):
        """A row of 100,000 columns takes 800 kB if it is not sparse, 256 of them 200 MB."""
        columns = np.random.default_rng(0).integers(0, 30_000, size=(3000, 5))
        columns += 30_000 * (np.arange(3000) % 3)[:, None]
        rows = np.repeat(np.arange(3000), 5)
        values = sp.coo_array((np.ones(15_000), (rows, columns.ravel())), shape=(3000, 100_000))
        sp.save_npz("rows.npz", values.tocsr())
        with mock.patch.object(cluster, "_fits", return_value=False):
            result = run("rows.npz", "--memory", "1GB", "--max-iter", "3", "--n-init", "1")
        assert result.exit_code == 0, result.stderr
        assert "Streamed in" in result.stdout

    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    @pytest.mark.usefixtures("streaming")
    def test_npz_is_streamed_as_npy(self, frame, save):
        rows = np.ascontiguousarray(frame[["a", "b", "c"]])
        save("one.npz", X=rows, y=rows[:, 0])
        np.save("two.npy", rows)
        assert_same_results("one.npz", "two.npy", "--key", "X")

    def test_results_that_cannot_fit_are_refused_before_the_fit(self, frame, monkeypatch):
        monkeypatch.setattr(
            "shutil.disk_usage", lambda _: type("Usage", (), {"free": 10 * N_ROWS})()
        )
        result = run(write(frame, "folder"), "--exclude", "name")
        assert_fails(result, "has room for 20 kB", "2000 rows take more than", "--format parquet")
        assert run("rows", "--exclude", "name", "--format", "parquet").exit_code == 0


@pytest.mark.usefixtures("streaming")
class TestErrors:
    def check(self, path, *fragments, words=("--exclude", "name")):
        before = names_here()
        assert_fails(run(path, *words), *fragments)
        assert names_here() == before

    def test_truncated_parquet(self, frame):
        whole = Path(write(frame, "parquet")).read_bytes()
        Path("rows.parquet").write_bytes(whole[: len(whole) // 2])
        self.check("rows.parquet", "rows.parquet cannot be read as Parquet")

    def test_damaged_parquet(self, frame):
        parquet.write_table(pa.table(frame[["a", "b"]]), "rows.parquet", compression="zstd")
        content = bytearray(Path("rows.parquet").read_bytes())
        content[1000:9000] = bytes(8000)
        Path("rows.parquet").write_bytes(content)
        self.check("rows.parquet", "rows.parquet", "row group 0", words=())

    @pytest.mark.parametrize("line", [500, 1900])
    def test_csv_with_a_word(self, frame, line):
        frame["b"] = frame["b"].astype(object)
        frame.loc[line - 2, "b"] = "high"
        words = ("--exclude", "name", "--non-numeric", "error")
        expected = f"rows.csv, line {line}, column 'b': 'high' is no number"
        self.check(write(frame, "csv"), expected, "--exclude b", words=words)

    def test_csv_with_a_column_too_many(self, frame):
        lines = Path(write(frame, "csv")).read_text().splitlines()
        lines[1500] += ",5"
        Path("rows.csv").write_text("\n".join(lines))
        self.check("rows.csv", "rows.csv, line 1501: 5 fields where there should be 4")

    @pytest.mark.parametrize(
        ("kind", "where"),
        [
            ("csv", "rows.csv, line 1236, column 'c'"),
            ("parquet", "rows.parquet, row 1234 (counting from 0), column 'c'"),
            ("npy", "rows.npy, row 1234 (counting from 0), column 'x2'"),
            ("folder", "part-1.parquet, row 567 (counting from 0), column 'c'"),
        ],
    )
    def test_nan(self, frame, kind, where):
        frame.loc[1234, "c"] = np.nan
        words = ["--exclude", "x3" if kind == "npy" else "name", "--non-numeric", "error"]
        self.check(
            write(frame, kind), f"{where}: a missing value (NaN); fill in", "--exclude", words=words
        )

    def test_text_is_named_as_in_memory(self, frame):
        for kind in ("csv", "parquet", "folder"):
            path = write(frame, kind)
            words = ("--non-numeric", "error")
            self.check(path, "hold no numbers: 'name'", "--non-numeric ignore", words=words)
            self.check(path, "no column 'nme'; did you mean 'name'?", words=("--exclude", "nme"))

    def test_parameters_are_named_as_options(self, frame):
        path = write(frame, "folder")
        result = run(path, "--exclude", "name", "--n-active", "9")
        assert_fails(result, "--n-active 9 exceeds --n-clusters 4")

    def test_empty_folder_and_missing_file(self):
        Path("nothing").mkdir()
        self.check("nothing", "nothing holds no .parquet files", words=())
        self.check("none.csv", "none.csv does not exist", words=())
        self.check("none.parquet", "none.parquet does not exist", words=())
        self.check("rows.txt", "rows.txt", words=())

    def test_a_checkpoint_of_another_fit(self, frame):
        path = write(frame, "csv")
        words = ["--exclude", "name", "--checkpoint", "fit.ckpt"]
        assert run(path, *words, "--output", "one").exit_code == 0
        result = run(path, *words, "--seed", "3", "--output", "two")
        assert_fails(result, "--checkpoint 'fit.ckpt' is of another fit",
                     "--random-state was 0 and is 3")  # fmt: skip
        assert_fails(
            run(path, "--exclude", "name", "--checkpoint", "no/fit.ckpt"), "--checkpoint 'no/"
        )
        assert run(path, *words, "--output", "two").exit_code == 0
        for name in ("labels", "memberships", "centers"):
            one, two = (Path(folder, f"{name}.csv").read_bytes() for folder in ("one", "two"))
            assert one == two

    def test_a_word_for_a_file_that_is_there(self, frame):
        Path("rows-clusters").mkdir()
        Path("rows-clusters/labels.csv").write_text("precious")
        self.check(write(frame, "csv"), "already holds labels.csv", "--force")


@pytest.mark.parametrize("ending", ["csv.gz", "pq", "zarr"])
def test_other_kinds_of_files_are_streamed(ending, frame):
    name, columns = f"rows.{ending}", frame[list("abc")]
    if ending == "csv.gz":
        columns.to_csv(name, index=False)
    elif ending == "pq":
        columns.to_parquet(name)
    else:
        zarr.create_array(name, shape=columns.shape, chunks=(100, 3), dtype=float)[:] = (
            columns.to_numpy()
        )
    assert "Streamed in" in run(name).stdout
