"""``sfumato predict``: the model that ``cluster`` wrote scores files of any kind and size."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from pandas.testing import assert_frame_equal

import sfumato
from sfumato.cli import main as cli
from sfumato.cli import memory
from tests.tables import read_exact
from tests.unit.cli.test_main import assert_fails, names_here

MODEL = "train-clusters/model.sfumato"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def frame():
    """Rows of three clusters, with names."""
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
    rows = centers[np.arange(900) % 3] + rng.normal(size=(900, 3))
    rows[::100] += 100
    return pd.DataFrame(rows, columns=list("abc"))


def run(*words):
    result = CliRunner().invoke(cli.program(), [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def trained(frame):
    frame.to_csv("train.csv", index=False)
    result = run("cluster", "train.csv", "-k", 3, "--quiet")
    assert result.exit_code == 0, result.output
    return sfumato.load(MODEL)


def written(folder, kind="csv"):
    paths = [f"{folder}/{name}.{kind}" for name in ("labels", "memberships")]
    if kind == "parquet":
        return [pd.read_parquet(path) for path in paths]
    return [read_exact(path) for path in paths]


class TestPredict:
    def test_the_training_rows_get_the_same_bits(self, frame, trained):
        result = run("predict", MODEL, "train.csv")
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
        for found, expected in zip(
            written("train-predictions"), written("train-clusters"), strict=True
        ):
            assert_frame_equal(found, expected)
        assert "Found: 3 clusters, 9 outliers" in result.stdout
        assert "Written to train-predictions: labels.csv, memberships.csv" in result.stdout

    @pytest.mark.parametrize("file_format", ["csv", "parquet"])
    @pytest.mark.parametrize("kind", ["csv", "tsv.gz", "parquet", "folder"])
    def test_columns_are_matched_by_name(self, frame, trained, kind, file_format, monkeypatch):
        monkeypatch.setattr(memory, "default_rows", lambda row_bytes: 256)
        names = [f"r{number:03}" for number in range(len(frame))]
        other = frame[["c", "a", "b"]].assign(word="x", name=names)
        if kind == "folder":
            Path("new.folder").mkdir()
            other[:400].to_parquet("new.folder/1.parquet")
            other[400:].to_parquet("new.folder/2.parquet")
        elif kind == "parquet":
            other.to_parquet("new.parquet")
        else:
            other.to_csv(f"new.{kind}", index=False, sep="\t" if "tsv" in kind else ",")
        options = ["--id-column", "name", "--format", file_format, "--output", "out"]
        result = run("predict", MODEL, f"new.{kind}", *options)
        assert result.exit_code == 0, result.output
        labels, memberships = written("out", file_format)
        assert labels["name"].tolist() == names
        X = frame.to_numpy()
        assert labels["label"].tolist() == trained.predict(X).tolist()
        assert labels["outlier_score"].tolist() == trained.score_outliers(X).tolist()
        assert len(memberships) == (trained.predict_membership(X).data > 0).sum()

    def test_a_model_from_python_with_and_without_names(self, frame):
        sfumato.save(sfumato.REFCMFS(3, random_state=0).fit(frame), "named.sfumato")
        sfumato.save(sfumato.REFCMFS(3, random_state=0).fit(frame.to_numpy()), "plain.sfumato")
        frame[["b", "c", "a"]].to_csv("turned.csv", index=False)
        np.save("rows.npy", frame.to_numpy())
        np.savez("sparse.npz", **_parts(frame))
        assert run("predict", "named.sfumato", "turned.csv", "--output", "1").exit_code == 0
        assert run("predict", "plain.sfumato", "rows.npy", "--output", "2").exit_code == 0
        assert run("predict", "plain.sfumato", "sparse.npz", "--output", "3").exit_code == 0
        assert_frame_equal(written("1")[0], written("2")[0])
        assert_frame_equal(written("3")[0]["label"].to_frame(), written("2")[0]["label"].to_frame())

    @pytest.mark.parametrize(
        "model", [sfumato.KMedoids(3), sfumato.LandmarkSpectralClustering(3, random_state=0)]
    )
    def test_models_without_memberships(self, frame, model, monkeypatch):
        monkeypatch.setattr(memory, "default_rows", lambda row_bytes: 256)
        sfumato.save(model.fit(frame.to_numpy()), "m.sfumato")
        np.save("rows.npy", frame.to_numpy())
        result = run("predict", "m.sfumato", "rows.npy", "--output", "out")
        assert result.exit_code == 0, result.output
        assert [path.name for path in Path("out").iterdir()] == ["labels.csv"]
        labels = pd.read_csv("out/labels.csv")
        assert labels["label"].tolist() == model.predict(frame.to_numpy()).tolist()
        assert labels["row"].tolist() == list(range(len(frame)))


def _parts(frame):
    rows = sp.csr_array(frame.to_numpy())
    shape = np.array(rows.shape)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
    return {**parts, "shape": shape, "format": np.array(b"csr")}


class TestFailures:
    def test_columns(self, frame, trained):
        frame[["a", "c"]].to_csv("fewer.csv", index=False)
        fails = "fewer.csv has no column 'b', to which train-clusters/model.sfumato was fitted"
        assert_fails(run("predict", MODEL, "fewer.csv"), fails, "needs the columns 'a', 'b', 'c'")
        frame.astype({"b": str}).assign(b="word").to_csv("text.csv", index=False)
        assert_fails(
            run("predict", MODEL, "text.csv"), "hold no numbers", "give numbers", "was fitted to"
        )
        np.save("rows.npy", frame.to_numpy())
        assert_fails(run("predict", MODEL, "rows.npy"), "rows.npy has no column 'a'")
        frame.assign(b=np.nan).to_csv("missing.csv", index=False)
        assert_fails(run("predict", MODEL, "missing.csv"), "missing.csv", "missing value")
        assert not [name for name in names_here() if "predictions" in name]

    def test_numbers_of_columns(self, frame):
        sfumato.save(sfumato.KMedoids(3).fit(frame.to_numpy()[:, :2]), "m.sfumato")
        frame.to_csv("rows.csv", index=False)
        result = run("predict", "m.sfumato", "rows.csv")
        assert_fails(result, "rows.csv has 3 columns", "m.sfumato was fitted to 2", "--exclude")
        assert run("predict", "m.sfumato", "rows.csv", "--exclude", "c").exit_code == 0

    def test_models(self, frame, trained):
        Path("bad.sfumato").write_bytes(Path(MODEL).read_bytes()[:-40])
        assert_fails(run("predict", "bad.sfumato", "train.csv"), "bad.sfumato is no model file")
        assert_fails(run("predict", "none.sfumato", "train.csv"), "none.sfumato does not exist")
        assert_fails(run("predict", ".", "train.csv"), "is no file")
        sfumato.save(sfumato.LandmarkSpectralEmbedding(2).fit(frame), "e.sfumato")
        assert_fails(run("predict", "e.sfumato", "train.csv"), "no labels to predict")
        assert_fails(run("predict", MODEL, "none.csv"), "none.csv")
        assert_fails(run("predict", MODEL), "Missing argument 'FILE'", "sfumato predict --help")

    def test_results_that_are_there(self, trained):
        assert run("predict", MODEL, "train.csv").exit_code == 0
        assert_fails(run("predict", MODEL, "train.csv"), "already holds labels.csv", "--force")
        assert run("predict", MODEL, "train.csv", "--force").exit_code == 0
