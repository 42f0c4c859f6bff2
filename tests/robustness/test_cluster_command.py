"""``sfumato cluster``: outliers are named, and move nothing."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from sfumato import CappedREFCMFS
from sfumato.cli import main as cli
from sfumato.datasets import make_blobs_with_outliers


def run(folder, *options):
    made = make_blobs_with_outliers(400, 3, n_clusters=3, contamination=0.1, random_state=1)
    path = folder / "rows.csv"
    pd.DataFrame(made.data, columns=list("abc")).to_csv(path, index=False)
    output = folder / "results"
    words = ["cluster", str(path), "--n-clusters", "3", "--output", str(output), *options]
    result = CliRunner().invoke(cli.program(), words)
    assert result.exit_code == 0, result.output
    labels = pd.read_csv(output / "labels.csv")
    return made, labels, json.loads((output / "summary.json").read_text()), result.output


def test_outliers_are_written(tmp_path):
    made, labels, summary, printed = run(tmp_path)
    model = CappedREFCMFS(3, random_state=0).fit(made.data)
    np.testing.assert_array_equal(labels["outlier"], model.outliers_)
    np.testing.assert_allclose(labels["outlier_score"], model.outlier_scores_)
    assert (summary["method"], summary["estimator"]) == ("capped-refcmfs", "CappedREFCMFS")
    assert summary["cap"] == pytest.approx(model.cap_)
    assert summary["outliers"] == model.outliers_.sum() >= 40
    assert f"Found: 3 clusters, {summary['outliers']} outliers, sure of " in printed


def test_another_method_has_the_same_columns(tmp_path):
    _, labels, summary, printed = run(tmp_path, "--method", "refcmfs")
    assert list(labels) == ["row", "label", "membership", "outlier", "outlier_score"]
    assert summary["method"] == "refcmfs"
    assert summary["cap"] is None
    assert summary["outliers"] == labels["outlier"].sum()
    assert f"Found: {summary['found']}" in printed


def test_a_cap_that_is_infinite_is_null(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"a": [0.0, 0.1, 5.0, 5.2, 9.0]}).to_csv(path, index=False)
    words = ["cluster", str(path), "--n-clusters", "2", "--output", str(tmp_path / "o")]
    assert CliRunner().invoke(cli.program(), words).exit_code == 0
    assert json.loads((tmp_path / "o" / "summary.json").read_text())["cap"] is None
