"""The report of ``sfumato cluster``: beside the results, on request without, and private."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from sfumato.cli.main import program


def run(*arguments):
    return CliRunner().invoke(program(), [str(argument) for argument in arguments])


@pytest.fixture
def customers(tmp_path, monkeypatch):
    """A table of two groups with identifiers, and a row far away."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)) + 12 * (np.arange(120) % 2)[:, None]
    X[7] = 123_456.75
    frame = pd.DataFrame(X, columns=["income", "<b>age"])
    frame["mail"] = [f"m{i}@example.org" for i in range(len(X))]
    frame.to_csv("customers.csv", index=False)
    return "customers.csv"


def page(folder="customers-clusters"):
    return Path(folder, "report.html").read_text(encoding="utf-8")


def test_a_report_is_written_beside_the_results(customers):
    result = run("cluster", customers, "--id-column", "mail", "-k", 2)
    assert result.exit_code == 0, result.output
    assert "report.html" in result.stdout
    text = page()
    assert "sfumato cluster customers.csv --n-clusters 2 --id-column mail" in text
    assert "120 rows fall into 2 clusters" in text
    assert "&lt;b&gt;age" in text
    assert "<b>" not in text
    files = json.loads(Path("customers-clusters/summary.json").read_text())["files"]
    assert files[-1] == "report.html"


def test_values_and_identifiers_of_rows_need_an_option(customers):
    run("cluster", customers, "--id-column", "mail", "-k", 2)
    run("cluster", customers, "--id-column", "mail", "-k", 2, "--show-rows", "--output", "shown")
    for secret in ("m7@example.org", "123,457"):
        assert secret not in page()
        assert secret in page("shown")


def test_no_report_is_written_on_request(customers):
    result = run("cluster", customers, "--id-column", "mail", "-k", 2, "--no-report")
    assert result.exit_code == 0, result.output
    assert not Path("customers-clusters/report.html").exists()
    assert Path("customers-clusters/model.sfumato").exists()


def test_a_stream_gives_the_same_report(customers, monkeypatch):
    options = ("cluster", customers, "--id-column", "mail", "-k", 2, "--show-rows")
    run(*options)
    monkeypatch.setattr("sfumato.cli.cluster._fits", lambda *_: False)
    result = run(*options, "--output", "streamed")
    assert "Streamed in" in result.stdout
    listed = [
        text.partition('<h2 id="h-outliers">')[2].partition("</table>")[0]
        for text in (page(), page("streamed"))
    ]
    assert "m7@example.org" in listed[0]
    assert listed[0] == listed[1]


def test_what_a_report_needs_is_asked_for_before_the_work(customers, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("cluster", customers, "--id-column", "mail", "-k", 2)
    assert result.exit_code == 2
    assert "sfumato[report]" in result.stderr
    assert run("cluster", customers, "--id-column", "mail", "-k", 2, "--no-report").exit_code == 0
