"""``sfumato cluster`` and ``predict`` on tables with text, dates, gaps, typos and identifiers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.tables import make_table
from click.testing import CliRunner
from sklearn.metrics import adjusted_rand_score

import sfumato
from sfumato.cli import cluster, memory
from sfumato.cli import main as cli
from sfumato.cli.output import harmless, without_formulas


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: Any) -> Any:
    result = CliRunner().invoke(cli.program(), [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def summary(folder: str) -> Any:
    return json.loads(Path(folder, "summary.json").read_text())


@pytest.fixture
def segments() -> Any:
    """A table of customers in a file; returns the segments."""
    table, found = make_table(3, 3000)
    table.to_csv("customers.csv", index=False)
    return found


@pytest.mark.parametrize("seed", [1, 8])
def test_segments_are_found_without_options(seed: int) -> None:
    table, segments = make_table(seed, 4000)
    table.to_csv("customers.csv", index=False)
    result = run("cluster", "customers.csv", "--quiet")
    assert result.exit_code == 0, result.output
    labels = pd.read_csv("customers-clusters/labels.csv")
    assert summary("customers-clusters")["n_clusters"] == 5
    assert adjusted_rand_score(segments, labels["label"]) > 0.95
    assert adjusted_rand_score(segments, labels["label"].where(~labels["outlier"], -1)) > 0.95


def test_every_decision_is_printed_and_written(segments: Any) -> None:
    result = run("cluster", "customers.csv", "-k", 5)
    given = summary("customers-clusters")["input"]
    table = pd.read_csv("customers.csv", dtype=str)
    assert given["scale"] == "robust"
    assert [each["column"] for each in given["columns"]] == list(table.columns)
    for each in given["columns"]:
        assert f"  {each['column']}: {each['kind']}, {each['action']}" in result.stdout
        if each["kind"] == "category":
            assert each["missing"] == pytest.approx(table[each["column"]].isna().mean())
    kinds = {each["column"]: each["kind"] for each in given["columns"]}
    assert kinds["customer_id"] == "identifier"
    assert kinds["signup"] == "date"
    assert kinds["city"] == kinds["channel"] == "category"


def test_centers_are_in_the_units_of_the_table(segments: Any) -> None:
    run("cluster", "customers.csv", "-k", 5)
    centers = pd.read_csv("customers-clusters/centers.csv")
    labels = pd.read_csv("customers-clusters/labels.csv")
    table = pd.read_csv("customers.csv", dtype=str)
    rating = pd.to_numeric(table["rating"], errors="coerce").where(lambda x: x.between(0, 10))
    assert np.allclose(centers["rating"], rating.groupby(labels["label"]).mean(), atol=0.1)
    shares = table["city"].eq("Paris").groupby(labels["label"]).mean()
    assert np.allclose(centers["city_Paris"], shares, atol=0.05)
    days = pd.to_datetime(table["signup"]).groupby(labels["label"]).median()
    assert (abs(pd.to_datetime(centers["signup"]) - days) < pd.Timedelta("60D")).all()


def test_a_table_is_streamed_by_the_same_decisions(
    segments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("cluster", "customers.csv", "-k", 5, "--output", "whole")
    pd.read_csv("customers.csv", dtype=str).to_parquet("customers.parquet", row_group_size=700)
    monkeypatch.setattr(cluster, "_fits", lambda *_: False)
    monkeypatch.setattr(memory, "default_rows", lambda row_bytes: 256)
    for name in ("customers.csv", "customers.parquet"):
        result = run("cluster", name, "-k", 5, "--output", name[-3:])
        assert "Streamed in" in result.stdout, result.output
        assert summary(name[-3:])["input"]["columns"] == summary("whole")["input"]["columns"]
        one, two = (pd.read_csv(f"{folder}/labels.csv") for folder in ("whole", name[-3:]))
        assert adjusted_rand_score(one["label"], two["label"]) > 0.99


def test_predictions_apply_the_preparation(segments: Any) -> None:
    run("cluster", "customers.csv", "-k", 5)
    folder, model = Path("customers-clusters"), "customers-clusters/model.sfumato"
    assert run("predict", model, "customers.csv", "--output", "again").exit_code == 0
    for name in ("labels.csv", "memberships.csv"):
        assert Path("again", name).read_bytes() == (folder / name).read_bytes()
    table = pd.read_csv("customers.csv", dtype=str)
    loaded = sfumato.load(model)
    labels = pd.read_csv("again/labels.csv")["label"]
    assert (loaded.predict(table) == labels).all()
    new = table.iloc[:50, ::-1].assign(city="Oslo", extra=1)
    new.to_csv("new.csv", index=False)
    assert run("predict", model, "new.csv", "--id-column", "customer_id").exit_code == 0
    found = pd.read_csv("new-predictions/labels.csv", dtype=str)
    assert found["customer_id"].tolist() == table["customer_id"][:50].tolist()
    new.drop(columns="rating").to_csv("fewer.csv", index=False)
    result = run("predict", model, "fewer.csv")
    assert result.exit_code == 2
    assert "fewer.csv has no column 'rating', to which" in result.stderr


def test_decisions_are_overridden_by_options(segments: Any) -> None:
    words = ["--scale", "standard", "--category", "rating", "--exclude", "city"]
    words += ["--number", "customer_id", "--absurd", "keep", "--missing", "median"]
    assert run("cluster", "customers.csv", "-k", 2, *words).exit_code in (0,)
    given = summary("customers-clusters")["input"]
    kinds = {each["column"]: each["kind"] for each in given["columns"]}
    assert kinds["rating"] == "category"
    assert kinds["customer_id"] == "number"
    assert "city" not in kinds
    assert given["scale"] == "standard"
    assert not any(each["absurd"] for each in given["columns"])


def test_numbers_of_one_unit_are_taken_as_they_are() -> None:
    rows = np.random.default_rng(0).normal(size=(300, 3)) + 9 * np.eye(3)[np.arange(300) % 3]
    pd.DataFrame(rows, columns=list("abc")).to_csv("plain.csv", index=False)
    run("cluster", "plain.csv", "-k", 3)
    given = summary("plain-clusters")["input"]
    assert (given["scale"], given["columns"]) == ("none", [])
    assert isinstance(sfumato.load("plain-clusters/model.sfumato"), sfumato.CappedREFCMFS)
    pd.DataFrame(rows * [1, 1, 1000], columns=list("abc")).to_csv("units.csv", index=False)
    run("cluster", "units.csv", "-k", 3)
    assert summary("units-clusters")["input"]["scale"] == "robust"
    one, two = (pd.read_csv(f"{name}-clusters/labels.csv")["label"] for name in ("plain", "units"))
    assert adjusted_rand_score(one, two) == 1


FORMULAS = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1"]
PLAIN = ["-5", "+3.5", "-1e-9", "x=1", "", "a-b", "'=1"]


def test_no_text_is_a_formula() -> None:
    for text in FORMULAS:
        assert harmless(text) == f"'{text}"
    for text in PLAIN:
        assert harmless(text) == text
    frame = pd.DataFrame({"=id": [*FORMULAS, *PLAIN], "x": -1.5})
    found = without_formulas(frame)
    assert list(found.columns) == ["'=id", "x"]
    assert found["x"].tolist() == frame["x"].tolist()
    assert found["'=id"].tolist() == [*(f"'{text}" for text in FORMULAS), *PLAIN]


def test_identifiers_that_are_formulas_are_harmless(segments: Any) -> None:
    table = pd.read_csv("customers.csv", dtype=str)
    table["customer_id"] = [FORMULAS[row % 4] for row in range(len(table))]
    table.rename(columns={"rating": "=rating"}).to_csv("evil.csv", index=False)
    words = ["--id-column", "customer_id", "--output", "out"]
    assert run("cluster", "evil.csv", "-k", 5, *words).exit_code == 0
    for name in ("labels", "memberships", "centers"):
        lines = Path("out", f"{name}.csv").read_text().splitlines()
        cells = [cell.strip('"') for line in lines for cell in line.split(",")]
        assert not [c for c in cells if c.startswith(("=", "@")) or c[:4] in ("+cmd", "-2+3")]
