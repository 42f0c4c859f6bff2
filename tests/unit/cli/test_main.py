"""The command line: real runs, results read back, every way to fail."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from sfumato import CappedREFCMFS
from sfumato.cli import main as cli
from sfumato.metrics import clustering_accuracy

CENTERS = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
RESULTS = ["labels", "memberships", "centers"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def blobs():
    """Rows of three clusters, and which cluster each comes from."""
    rng = np.random.default_rng(0)
    origin = np.arange(90) % 3
    return CENTERS[origin] + rng.normal(scale=0.5, size=(90, 2)), origin


@pytest.fixture
def csv(blobs, tmp_path):
    frame = pd.DataFrame(blobs[0], columns=["width", "height"])
    frame.assign(name=[f"n{i:03}" for i in range(90)]).to_csv("blobs.csv", index=False)
    return tmp_path / "blobs.csv"


def names_here(folder="."):
    return sorted(path.name for path in Path(folder).iterdir())


def run(*arguments):
    result = CliRunner().invoke(cli.program(), [str(word) for word in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run_process(*arguments, **options):
    command = [sys.executable, "-m", "sfumato", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def assert_fails(result, *fragments):
    """One line on the error stream, exit code 2, nothing on the other stream."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("sfumato: ")
    for fragment in fragments:
        assert fragment in result.stderr
    assert "Traceback" not in result.stderr


class TestCluster:
    @pytest.mark.parametrize("file_format", ["csv", "parquet"])
    @pytest.mark.parametrize("source", ["csv", "parquet", "npy", "npz"])
    def test_results_read_back(self, blobs, source, file_format):
        X, origin = blobs
        frame = pd.DataFrame(X, columns=["x0", "x1"])
        {
            "csv": lambda: frame.to_csv("in.csv", index=False),
            "parquet": lambda: frame.to_parquet("in.parquet"),
            "npy": lambda: np.save("in.npy", X),
            "npz": lambda: np.savez("in.npz", X=X, origin=origin),
        }[source]()
        words = ["cluster", f"in.{source}", "--n-clusters", 3, "--n-active", 2, "--fuzzifier", 1.5]
        words += ["--output", "out", "--format", file_format]
        result = run(*words, *(["--key", "X"] if source == "npz" else []))
        assert result.exit_code == 0, result.output
        assert result.stderr == ""

        model = CappedREFCMFS(3, n_active=2, fuzzifier=1.5, random_state=0).fit(X)
        read = pd.read_parquet if file_format == "parquet" else pd.read_csv
        labels, memberships, centers = (read(f"out/{name}.{file_format}") for name in RESULTS)
        np.testing.assert_array_equal(labels["row"], np.arange(90))
        np.testing.assert_array_equal(labels["label"], model.labels_)
        largest = model.memberships_.max(axis=1).toarray().ravel()
        np.testing.assert_allclose(labels["membership"], largest)
        entries = memberships["membership"], (memberships["row"], memberships["cluster"])
        rebuilt = sp.csr_array(entries, shape=(90, 3))
        np.testing.assert_allclose(rebuilt.toarray(), model.memberships_.toarray())
        np.testing.assert_array_equal(centers["cluster"], [0, 1, 2])
        np.testing.assert_allclose(centers[["x0", "x1"]], model.cluster_centers_)

    def test_summary(self, csv):
        result = run("cluster", csv, "--n-clusters", 3, "--non-numeric", "ignore", "--seed", 7)
        summary = json.loads(Path("blobs-clusters/summary.json").read_text())
        model = CappedREFCMFS(3, random_state=7).fit(
            pd.read_csv(csv)[["width", "height"]].to_numpy()
        )
        assert summary["objective"] == pytest.approx(model.objective_)
        assert summary["iterations"] == model.n_iter_
        assert summary["fuzzifier"] == model.fuzzifier_
        assert summary["intrinsic_dimension"] == model.intrinsic_dimension_
        assert summary["converged"] is True
        assert summary["parameters"]["random_state"] == 7
        inside = model.labels_[~model.outliers_]
        assert summary["cluster_sizes"] == np.bincount(inside, minlength=3).tolist()
        assert summary["outliers"] == model.outliers_.sum()
        assert summary["warnings"] == []
        assert summary["input"]["ignored_columns"] == ["name"]
        assert set(summary["versions"]) == {"python", "sfumato", "numpy", "scipy", "scikit-learn"}
        assert names_here("blobs-clusters") == sorted(summary["files"])
        for fragment in ("90 rows, 2 features", "name", "%", "Converged", "blobs-clusters"):
            assert fragment in result.stdout

    def test_identifiers_take_the_place_of_row_numbers(self, csv):
        run("cluster", csv, "--n-clusters", 3, "--id-column", "name", "--output", "out")
        for name in ("labels", "memberships"):
            frame = pd.read_csv(f"out/{name}.csv")
            assert frame.columns[0] == "name"
            assert frame["name"].iloc[0] == "n000"
            assert frame["name"].nunique() == 90

    def test_columns_and_exclude(self, csv):
        run("cluster", csv, "--n-clusters", 2, "--columns", "height,width", "--output", "two")
        assert list(pd.read_csv("two/centers.csv")) == ["cluster", "height", "width"]
        words = ["--exclude", "name", "--exclude", "width"]
        run("cluster", csv, "--n-clusters", 2, *words, "--output", "one")
        assert list(pd.read_csv("one/centers.csv")) == ["cluster", "height"]

    def test_headless_file_separated_by_tabs(self, blobs):
        np.savetxt("t.csv", blobs[0], delimiter="\t")
        words = ["--no-header", "--separator", "\\t", "--n-clusters", 3]
        assert run("cluster", "t.csv", *words).exit_code == 0
        labels = pd.read_csv("t-clusters/labels.csv")["label"]
        assert clustering_accuracy(blobs[1], labels) == 1.0

    def test_same_answer_every_time(self, csv):
        for folder in ("one", "two"):
            run("cluster", csv, "--n-clusters", 4, "--exclude", "name", "--output", folder)
        for name in RESULTS:
            one, two = (Path(folder, f"{name}.csv").read_text() for folder in ("one", "two"))
            assert one == two

    def test_fit_that_runs_out_of_iterations_says_so(self, csv):
        words = ["--exclude", "name", "--max-iter", 1, "--n-init", 2, "--n-threads", 1]
        result = run("cluster", csv, "--n-clusters", 5, *words)
        assert result.exit_code == 0
        assert "raise --max-iter or loosen --tol" in result.stdout
        assert result.stderr == (
            "sfumato: warning: CappedREFCMFS: Stopped at --max-iter before the objective settled; "
            "raise --max-iter or loosen --tol.\n"
        )
        (warning,) = json.loads(Path("blobs-clusters/summary.json").read_text())["warnings"]
        assert warning["category"] == "NotConvergedWarning"
        assert "raise `max_iter`" in warning["message"]

    def test_many_clusters_are_not_all_listed(self, csv):
        result = run("cluster", csv, "--n-clusters", 30, "--exclude", "name")
        assert "10 smaller" in result.stdout

    def test_brackets_in_names_are_not_markup(self, csv):
        csv.rename("[red]t.csv")
        result = run("cluster", "[red]t.csv", "--n-clusters", 2, "--exclude", "name")
        assert "[red]t.csv: 90 rows" in result.stdout


class TestOverwriting:
    def words(self, csv):
        return ["cluster", csv, "--n-clusters", 3, "--exclude", "name", "--output", "out"]

    def test_nothing_is_replaced_without_force(self, csv, monkeypatch):
        Path("out").mkdir()
        Path("out/centers.csv").write_text("precious")
        monkeypatch.setattr(CappedREFCMFS, "fit", lambda *_: pytest.fail("the check comes first"))
        assert_fails(run(*self.words(csv)), "out already holds centers.csv", "--force")
        assert names_here("out") == ["centers.csv"]
        assert Path("out/centers.csv").read_text() == "precious"

    def test_force_replaces_ours_and_keeps_others(self, csv):
        assert run(*self.words(csv)).exit_code == 0
        Path("out/notes.txt").write_text("theirs")
        Path("out/labels.csv").write_text("old")
        assert run(*self.words(csv), "--force").exit_code == 0
        assert len(pd.read_csv("out/labels.csv")) == 90
        assert Path("out/notes.txt").read_text() == "theirs"

    def test_failure_while_writing_leaves_nothing(self, csv, monkeypatch):
        written = pd.DataFrame.to_csv

        def full_disk(frame, path, **options):
            written(frame, path, **options)
            if str(path.name).endswith("memberships.csv"):
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(pd.DataFrame, "to_csv", full_disk)
        assert_fails(run(*self.words(csv)), "out cannot be written to", "No space left on device")
        assert names_here() == ["blobs.csv"]

    def test_output_that_is_a_file(self, csv):
        Path("out").write_text("")
        assert_fails(run(*self.words(csv)), "out is a file, not a folder", "--output")


class TestErrors:
    @pytest.mark.parametrize(
        ("words", "fragments"),
        [
            (["--non-numeric", "error"], ["'name'", "--non-numeric ignore", "--exclude"]),
            (["--n-clusters", "many"], ["'many' is neither a whole number nor auto"]),
            (["--n-clusters", 3, "--color", "red"], ["--color", "see sfumato cluster --help"]),
            (
                ["--n-clusters", 3, "--n-active", "few"],
                ["'few' is neither a whole number nor auto"],
            ),
            (["--n-clusters", 3, "--fuzzifier", "x"], ["'x' is neither a number nor auto"]),
            (["--n-clusters", 3, "--seed", -1], ["--seed"]),
            (["--n-clusters", 3, "--format", "xlsx"], ["'xlsx'", "'csv'", "'parquet'"]),
            (["--n-clusters", 3, "--separator", "::"], ["--separator '::' is not one character"]),
            (["--n-clusters", 3, "--scale", "minmax"], ["'minmax'", "'robust'"]),
            (["--n-clusters", 3, "--number", "nme"], ["no column 'nme'; did you mean 'name'?"]),
            (["--n-clusters", 3, "--exclude", "nme"], ["no column 'nme'; did you mean 'name'?"]),
        ],
        ids=lambda words: " ".join(map(str, words[-2:])) or "nothing",
    )
    def test_misuse(self, csv, words, fragments):
        assert_fails(run("cluster", csv, *words), *fragments)
        assert names_here() == ["blobs.csv"]

    @pytest.mark.parametrize(
        ("words", "fragments"),
        [
            ([91], ["n_samples=90 is fewer than --n-clusters 91", "use --n-clusters <= 90"]),
            ([3, "--n-active", 4], ["--n-active 4 exceeds --n-clusters 3", "1 <= --n-active <="]),
        ],
        ids=lambda words: " ".join(map(str, words[-2:])),
    )
    def test_parameters_are_named_as_options(self, csv, words, fragments):
        assert_fails(run("cluster", csv, "--exclude", "name", "-k", *words), *fragments)
        assert names_here() == ["blobs.csv"]

    @pytest.mark.parametrize("memory", ["1GB", "350MB"], ids=["in memory", "streamed"])
    def test_words_of_the_user_are_not_changed(self, blobs, memory, monkeypatch):
        """A path and columns that are called like parameters."""
        monkeypatch.setattr("sfumato.cli.cluster.memory_of_whole", lambda *_: 4 * 10**8)
        Path("tol").mkdir()
        frame = pd.DataFrame(blobs[0], columns=["max_iter", "checkpoint"])
        frame.loc[3, "checkpoint"] = np.nan
        frame.to_csv("tol/n_init.csv", index=False)
        words = ["-k", 2, "--memory", memory, "--non-numeric", "error"]
        result = run("cluster", "tol/n_init.csv", *words)
        assert_fails(result, " tol/n_init.csv", "column 'checkpoint'")
        assert "--tol" not in result.stderr
        assert "--checkpoint" not in result.stderr

    def test_missing_value_in_an_array(self):
        np.save("t.npy", np.array([[1.0, 2.0], [3.0, np.nan]]))
        result = run("cluster", "t.npy", "--n-clusters", 2)
        assert_fails(result, "t.npy, row 1 (counting from 0), column 1: a missing")

    def test_missing_file(self):
        assert_fails(run("cluster", "none.csv", "--n-clusters", 2), "none.csv does not exist")

    def test_unknown_command_and_none(self):
        assert_fails(run("clutser"), "clutser", "sfumato --help")
        with pytest.raises(SystemExit) as caught:
            cli.main([])
        assert caught.value.code == 0

    @pytest.mark.parametrize(
        ("absent", "extra", "words"),
        [
            ("click", "cli", ["--help"]),
            ("rich.console", "cli", ["cluster", "t.npy", "--n-clusters", "2"]),
            ("pandas", "io", ["cluster", "t.npy", "--n-clusters", "2"]),
            ("pyarrow", "io", ["cluster", "t.npy", "--n-clusters", "2", "--format", "parquet"]),
            ("pyarrow", "io", ["cluster", "t.parquet", "--n-clusters", "2"]),
            ("matplotlib.axes", "plot", ["demo"]),
        ],
    )
    def test_missing_package_names_its_extra(self, absent, extra, words, monkeypatch, capsys):
        np.save("t.npy", np.eye(3))
        for module in ("cli.cluster", "cli.progress", "cli.report", "cli.demo", "plotting"):
            monkeypatch.delitem(sys.modules, f"sfumato.{module}", raising=False)
            monkeypatch.delattr(f"sfumato.{module}", raising=False)
        monkeypatch.setitem(sys.modules, absent, None)
        with pytest.raises(SystemExit) as caught:
            cli.main(words)
        assert caught.value.code == 2
        package = absent.partition(".")[0]
        assert capsys.readouterr().err == (
            f"sfumato: {package} is not installed, which this needs; run: "
            f'pip install "sfumato[{extra}]"\n'
        )

    def test_other_missing_modules_are_bugs(self, monkeypatch):
        monkeypatch.delitem(sys.modules, "sfumato.cli.cluster", raising=False)
        monkeypatch.setitem(sys.modules, "sfumato.files", None)
        with pytest.raises(ModuleNotFoundError, match=r"sfumato\.files"):
            cli.main(["cluster", "t.npy", "--n-clusters", "2"])


class TestDemo:
    @pytest.mark.slow
    def test_demo(self):
        result = run("demo")
        assert result.exit_code == 0, result.output
        for fragment in ("REFCMFS", "FuzzyCMeans", "KMeans", "ACC", "NMI", "objective", "seconds"):
            assert fragment in result.stdout
        for name in ("convergence.png", "memberships.png"):
            picture = Path("sfumato-demo", name)
            assert str(picture) in result.stdout
            assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        for name in ("digits.html", "customers.html"):
            page = Path("sfumato-demo", name)
            assert str(page) in result.stdout
            assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        assert len(names_here("sfumato-demo")) == 5
        assert_fails(run("demo"), "sfumato-demo already holds convergence.png, memberships.png")

    def test_demo_opens_its_reports(self, monkeypatch):
        opened = []
        monkeypatch.setattr("webbrowser.open", opened.append)
        result = run("demo", "--open")
        assert result.exit_code == 0, result.output
        assert [address.rpartition("/")[2] for address in opened] == [
            "digits.html",
            "customers.html",
        ]
        assert all(address.startswith("file://") for address in opened)


class TestProcess:
    @pytest.mark.slow
    def test_cluster(self, csv):
        result = run_process("cluster", csv, "--n-clusters", 3, "--exclude", "name")
        assert result.returncode == 0
        assert "\x1b" not in result.stderr, "no bar where nobody watches"
        assert len(pd.read_csv("blobs-clusters/labels.csv")) == 90

    @pytest.mark.slow
    def test_error(self):
        result = run_process("cluster", "none.csv", "--n-clusters", 2)
        assert result.returncode == 2
        assert result.stderr == "sfumato: none.csv does not exist; check the path.\n"

    def test_version(self):
        assert run("--version").stdout == "sfumato, version 0.1.0\n"

    @pytest.mark.slow
    def test_ctrl_c_during_a_long_fit(self):
        """With the error stream on a terminal, so that the bar shows when the fit has begun."""
        np.save("t.npy", np.random.default_rng(0).normal(size=(20_000, 10)))
        ours, theirs = pty.openpty()
        words = ["t.npy", "--n-clusters", "50", "--n-init", "100000", "--tol", "0"]
        process = subprocess.Popen(
            [sys.executable, "-m", "sfumato", "cluster", *words],
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        try:
            os.close(theirs)
            shown = read_until(ours, b"start 1 of 100000", seconds=180)
            process.send_signal(signal.SIGINT)
            shown += read_until(ours, b"interrupted; no unfinished files are left", seconds=120)
            assert process.wait(120) == 130
            assert b"Traceback" not in shown
            assert process.stdout.read() == b""
            assert names_here() == ["t.npy"]
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            os.close(ours)


def read_until(descriptor, fragment, seconds):
    """What comes out of a terminal, up to and including a fragment."""
    deadline, text = time.monotonic() + seconds, b""
    while fragment not in text:
        assert time.monotonic() < deadline, text
        try:
            text += os.read(descriptor, 4096)
        except OSError:  # How Linux says that the other end is closed.
            pytest.fail(f"ended without {fragment!r}: {text!r}")
    return text
