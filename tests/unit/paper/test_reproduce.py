"""The command: what it is asked for, and what it answers to nonsense."""

import fcntl
import warnings
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils.estimator_checks import parametrize_with_checks

from sfumato.cli.main import main
from sfumato.datasets import download, originals
from sfumato.exceptions import UserError
from sfumato.paper import experiment as experiments
from sfumato.paper import reproduce as module
from sfumato.paper.experiment import (
    SETS,
    Cell,
    Experiment,
    Parameters,
    Run,
    Store,
    run_cell,
    sample_of,
)
from sfumato.paper.methods import METHODS, SelfTuningSpectralClustering
from sfumato.paper.reproduce import checked, found, planned


@pytest.mark.parametrize("method", METHODS)
def test_every_method_clusters_the_digits(method):
    measures = run_cell(Cell("digits", method, 0)).measures
    assert 0.1 < measures["acc"] <= 1
    assert 0 < measures["nmi"] <= 1


@pytest.mark.parametrize("method", METHODS)
def test_methods_never_see_the_classes(method, monkeypatch):
    """Other classes, the same labels."""
    whole = sample_of("digits")
    some = np.concatenate([np.flatnonzero(whole.y == digit)[:60] for digit in range(10)])
    sample = whole._replace(X=whole.X[some], y=whole.y[some])
    seen = []
    monkeypatch.setattr(
        experiments, "clustering_accuracy", lambda classes, labels: seen.append(labels) or 0.0
    )
    for classes in (sample.y, sample.y[::-1]):
        monkeypatch.setattr(experiments, "sample_of", lambda _, c=classes: sample._replace(y=c))
        run_cell(Cell("digits", method, 0, Parameters(3, 1.1)))
    np.testing.assert_array_equal(*seen)


@parametrize_with_checks([SelfTuningSpectralClustering(3, random_state=0)])
def test_the_spectral_baseline_is_an_estimator(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_what_options_ask_for():
    assert planned((), (), None, quick=False) == Experiment()
    quick = planned((), (), None, quick=True)
    assert (quick.sets, quick.runs) == (("yale", "orl", "digits"), 3)
    chosen = planned(("YALE,digits", "yale"), ("k-means", "RSFKM (capped)"), 2, quick=False)
    assert chosen.sets == ("yale", "digits")
    assert chosen.methods == ("K-Means", "RSFKM (capped)")
    assert chosen.runs == 2


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--sets", "yael"], "did you mean 'yale'?"),
        (["--methods", "kmeans"], "did you mean 'K-Means'?"),
        (["--sets", ","], "names nothing"),
        (["--runs", "0"], "--runs"),
        (["--time-limit", "-1"], "--time-limit"),
        (["--output", "file"], "is a file"),
        (["--output", "file/sub"], "is a file"),
        (["--write-only"], "holds no finished runs"),
    ],
)
def test_nonsense_is_answered_in_a_line(words, answer, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    given = words if "--sets" in words else ["--sets", "digits", *words]
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", *given])
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert answer in said
    assert said.count("\n") == 1


def test_missing_data_is_answered_in_a_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(SystemExit):
        main(["reproduce", "--sets", "yale", "--output", str(tmp_path / "out")])
    assert "yale.npz" in capsys.readouterr().err


def test_two_commands_in_a_folder(tmp_path, capsys):
    with (tmp_path / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SystemExit):
            main(["reproduce", "--sets", "digits", "--output", str(tmp_path)])
    assert "Another command is running" in capsys.readouterr().err


def test_stand_ins_are_called_so_and_compared_with_nothing(monkeypatch):
    def load(name):
        if name == "orl":
            warnings.warn("orl is a stand-in", stacklevel=2)

    monkeypatch.setattr(module, "load", load)
    said = []
    experiment = checked(Experiment(("yale", "orl")), said.append)
    assert experiment.sets == ("yale", "orl (stand-in)")
    assert said == ["orl is a stand-in"]
    assert experiment.sets[1] not in SETS


def test_sets_that_cannot_be_had_are_named_and_left_out(monkeypatch):
    def load(name):
        if name != "orl":
            raise OSError(f"There is no file {name}.npz.")

    monkeypatch.setattr(module, "load", load)
    said = []
    experiment = checked(Experiment(("yale", "orl")), said.append)
    assert experiment.sets == ("orl", "digits"), "digits take the place of others"
    assert said == ["Left out: yale. There is no file yale.npz."]
    assert checked(planned((), (), None, quick=True), said.append).sets == ("orl", "digits")
    assert checked(planned((), (), None, quick=False), said.append).sets == ("orl", "digits")
    assert checked(planned(["yale,orl"], (), None, quick=True), said.append).sets == ("orl",)
    with pytest.raises(
        UserError, match=r"None of the data sets yale, usps can be had; leave --set"
    ):
        checked(planned(["yale,usps"], (), None, quick=True), said.append)


def test_a_page_without_a_network(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(originals, "GITHUB", "http://127.0.0.1:9")
    monkeypatch.setattr(download, "PAUSES", ())

    def offline(**_):
        raise URLError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_olivetti_faces", offline)
    words = ["--quick", "--methods", "K-Means", "--runs", "1", "--output", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", *words])
    assert not ended.value.code
    told = " ".join(capsys.readouterr().err.split())
    assert "Left out: yale." in told
    assert "Left out: orl." in told
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "digits" in page.lower()
    assert "Left out, since the data could not be had: yale, orl." in page


def test_results_of_other_grids_and_seeds_are_left_out(tmp_path):
    experiment = Experiment(("digits",), ("REFCMFS",), runs=2, quick=True)
    inside, outside = experiment.grid("digits")[0], Parameters(3, 1.15)
    store = Store(tmp_path / "cells.jsonl", {}, Cell)
    measures = dict.fromkeys(("acc", "nmi", "objective", "spread"), 0.5)
    for parameters, seed in ((inside, 0), (inside, 1), (inside, 2), (outside, 0)):
        store.add(Run(Cell("digits", "REFCMFS", seed, parameters), 1, measures))
    results = found(experiment, store)
    assert list(results.grid("digits", "acc")) == [inside]
    assert results.grid_seeds("digits") == 2
