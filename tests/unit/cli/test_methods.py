"""``--method``: laws over all methods of the command."""

import inspect
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from sfumato import stream
from sfumato.cli import cluster, memory
from sfumato.cli import main as cli
from sfumato.cli.methods import (
    DEFAULT,
    METHODS,
    PARAMETERS,
    make_model,
    name_of,
    option_of,
    parameters_of,
)
from sfumato.cli.report import OPTIONS
from sfumato.datasets import make_blobs_with_outliers

OWN = {"n_active": 2, "fuzzifier": 1.5, "cap": 3.0, "gamma": 2.0}
"""Parameters that some methods have."""
KEYWORDS = inspect.signature(stream).parameters.keys() - {"source", "weights"}
"""Keyword arguments of ``stream`` that have an option."""


@pytest.fixture(autouse=True)
def file_of_blobs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = make_blobs_with_outliers(600, 3, n_clusters=3, contamination=0.05, random_state=1)
    pd.DataFrame(made.data, columns=list("abc")).to_csv("rows.csv", index=False)


def run(*words):
    command = ["cluster", "rows.csv", "-k", "3", "--force", "--output", "out", *map(str, words)]
    return CliRunner().invoke(cli.program(), command)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("streamed", [False, True])
def test_every_method_runs_and_tells_what_it_found(method, streamed, monkeypatch):
    if streamed:
        monkeypatch.setattr(cluster, "memory_of_whole", lambda *_: 1 << 60)
        monkeypatch.setattr(memory, "default_rows", lambda row_bytes: 256)
    result = run("--method", method)
    assert result.exit_code == 0
    if method == "k-means":  # Far outliers take one of its centers, one seed this, one seed that.
        assert "searches from independent seeds ended with different clusters" in result.stderr
    else:
        assert result.stderr == ""
    assert ("Streamed" in result.stdout) is streamed
    summary = json.loads(Path("out/summary.json").read_text())
    labels = pd.read_csv("out/labels.csv")
    inside = labels[~labels["outlier"]]
    assert summary["method"] == method
    assert summary["outliers"] == labels["outlier"].sum()
    assert summary["cluster_sizes"] == np.bincount(inside["label"], minlength=3).tolist()
    assert result.stdout.splitlines()[-1] == f"Found: {summary['found']}"
    if method == "k-means":
        assert summary["sure"] is None
    else:
        assert summary["sure"] == pytest.approx((inside["membership"] >= 2 / 3).mean())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", OWN)
def test_options_reach_the_method_or_are_refused(method, name):
    result = run("--method", method, option_of(name), OWN[name])
    if name in parameters_of(method):
        assert result.exit_code == 0, result.stderr
        summary = json.loads(Path("out/summary.json").read_text())
        assert summary["parameters"][name] == OWN[name]
        return
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(
        f"sfumato: {option_of(name)} is no option of --method {method}; "
    )
    assert result.stderr.count("\n") == 1
    assert "choose --method " in result.stderr


@pytest.mark.parametrize("method", METHODS)
def test_names_and_models_are_one_to_one(method):
    assert name_of(make_model(method, {"n_clusters": 3})) == method
    assert parameters_of(method) >= set(PARAMETERS) - set(OWN)


def test_the_default_is_the_robust_method():
    assert DEFAULT == "capped-refcmfs"
    assert run().exit_code == 0
    assert json.loads(Path("out/summary.json").read_text())["estimator"] == "CappedREFCMFS"


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["--method", "kmeans"], ["'kmeans' is no method", *METHODS, "; did you mean 'k-means'?"]),
        (["--method", "qqqq"], ["'qqqq' is no method; use one of", *METHODS]),
        (["--robust"], ["--robust is gone", "--method capped-refcmfs", "leave it out"]),
    ],
)
def test_unknown_methods_are_refused_in_one_line(words, fragments):
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    for fragment in fragments:
        assert fragment in result.stderr


def test_names_may_be_written_in_capitals():
    assert run("--method", "REFCMFS").exit_code == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_file_of_equal_rows_is_said_to_be_one(method, streamed, monkeypatch):
    if streamed:
        monkeypatch.setattr(cluster, "memory_of_whole", lambda *_: 1 << 60)
    Path("rows.csv").write_text("a,b\n" + 40 * "1,2\n")
    refused = run("--method", method)
    assert refused.exit_code == 2
    assert "a: constant" in refused.stderr
    assert "Name columns in --number or --category" in refused.stderr
    result = run("--method", method, "--number", "a", "--number", "b")
    assert result.exit_code == 0
    assert result.stderr.count("warning:") == 1
    assert "only 1 distinct row of positive weight, fewer than --n-clusters 3" in result.stderr
    assert "use --n-clusters <= 1" in result.stderr
    assert ("Streamed" in result.stdout) is streamed
    (warning,) = json.loads(Path("out/summary.json").read_text())["warnings"]
    assert warning["category"] == "FewRowsWarning"


def test_every_option_that_messages_name_is_known():
    options = cli.program().commands["cluster"].params
    known = {word for option in options for word in (*option.opts, *option.secondary_opts)}
    assert set(OPTIONS.values()) <= known
    assert {*PARAMETERS, *KEYWORDS} <= OPTIONS.keys()


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_an_error_of_every_parameter_names_its_option(parameter):
    option = option_of(parameter)
    bad = "no/such.ckpt" if parameter == "checkpoint" else -1
    method = next(name for name in METHODS if parameter in parameters_of(name))
    result = run(option, bad, "--method", method)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert option in result.stderr
    assert f"{parameter}=" not in result.stderr
    assert f"`{parameter}`" not in result.stderr


@pytest.mark.parametrize("words", [[], ["--n-clusters", "auto"]], ids=["default", "auto"])
def test_the_number_of_clusters_is_found(words):
    command = ["cluster", "rows.csv", "--output", "out", *words]
    printed = CliRunner().invoke(cli.program(), command).stdout
    summary = json.loads(Path("out/summary.json").read_text())
    assert summary["parameters"]["n_clusters"] == "auto"
    assert summary["n_clusters"] == summary["selection"]["n_clusters"] == 3
    assert f"Number of clusters: {summary['selection']['reason']}" in printed
    for other in summary["selection"]["alternatives"]:
        assert f"or --n-clusters {other['n_clusters']}: {other['reason']}" in printed


def test_a_streamed_file_has_the_same_number():
    command = ["cluster", "rows.csv", "--output", "out", "--memory", "350MB", "--seed", "3"]
    cli_result = CliRunner().invoke(cli.program(), command)
    assert cli_result.exit_code == 0, cli_result.output
    assert json.loads(Path("out/summary.json").read_text())["n_clusters"] == 3


def test_a_given_number_has_no_selection():
    assert "Number of clusters" not in run().stdout
    assert json.loads(Path("out/summary.json").read_text())["selection"] is None
