"""Columns of a table on one scale: units, noise, spikes, counts and powers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

import sfumato
from sfumato import CappedREFCMFS, TablePreparer
from sfumato._tables.decisions import Decisions
from sfumato._tables.scaling import find_powers, near_spreads
from sfumato.exceptions import ModelFileError
from tests.unit.test_tables import table


def test_units_do_not_matter() -> None:
    frame, _ = table()
    other = frame.assign(age=frame["age"] * 365.25, income=frame["income"] / 1000)
    found, expected = (TablePreparer().fit_transform(each) for each in (other, frame))
    assert_allclose(found, expected, atol=0.05)


def test_a_column_of_noise_does_not_hide_clusters() -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(3, size=2000)
    columns = np.column_stack(
        [
            1000 * (10.0 * (place == 1) + rng.normal(size=2000)),
            10.0 * (place == 2) + rng.normal(size=2000),
            rng.normal(size=2000),
        ]
    )
    spreads = near_spreads(columns, np.random.default_rng(0))
    assert_allclose(spreads / spreads[2], [1000, 1, 1], rtol=0.25)


def test_most_rows_of_one_value_have_a_scale() -> None:
    column = np.where(np.arange(1000) % 10 == 0, np.linspace(1, 5, 1000), 0.0)
    other = np.random.default_rng(0).normal(size=1000)
    spreads = near_spreads(np.column_stack([column, other]), np.random.default_rng(0))
    assert spreads[0] == pytest.approx(np.std(column), rel=0.1)


def test_a_spike_does_not_weigh_more_than_other_columns() -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(3, size=3000)
    fees = np.where(rng.random(3000) < 0.6, rng.lognormal(3, 0.3, size=3000), 0.0)
    others = 8.0 * np.eye(3)[place] + rng.normal(size=(3000, 3))
    spreads = near_spreads(np.column_stack([fees, others]), np.random.default_rng(0))
    assert spreads[0] == pytest.approx(np.std(fees), rel=0.1)
    assert_allclose(spreads[1:], spreads[1:].mean(), rtol=0.2)


def test_small_counts_do_not_weigh_more_than_other_columns() -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(3, size=3000)
    counts = np.sqrt(rng.poisson(np.array([1.0, 3.0, 30.0])[place]))
    within = np.sqrt(np.mean([counts[place == k].var() for k in range(3)]))
    others = 8.0 * np.eye(3)[place] + rng.normal(size=(3000, 3))
    spreads = near_spreads(np.column_stack([counts, others]), np.random.default_rng(0))
    assert spreads[0] / spreads[1:].mean() > 0.8 * within


def test_counts_that_are_mostly_zero_tell_a_cluster_that_has_many() -> None:
    rng = np.random.default_rng(0)
    place = rng.choice(3, p=[0.5, 0.3, 0.2], size=3000)
    counts = np.sqrt(rng.poisson(np.array([0.3, 0.3, 16.0])[place]) + 3 / 8)
    assert np.mean(counts == counts.min()) > 0.5
    within = np.sqrt(np.mean([counts[place == k].var() for k in range(3)]))
    other = 8.0 * (place == 1) + rng.normal(size=3000)
    spreads = near_spreads(np.column_stack([counts, other]), np.random.default_rng(0))
    assert spreads[0] / spreads[1] == pytest.approx(within, rel=0.5)


@pytest.mark.parametrize("power", ["log", "sqrt", ""])
def test_powers_are_found_within_clusters(power: str) -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(3, size=3000)
    level = np.array([20.0, 80.0, 200.0])[place]
    made = {
        "log": level * np.exp(0.15 * rng.normal(size=3000)),
        "sqrt": rng.poisson(level).astype(float),
        "": level + 4 * rng.normal(size=3000),
    }
    beside = 9.0 * place + rng.normal(size=3000)
    columns = np.column_stack([made[power], beside])
    assert find_powers(columns, np.random.default_rng(0))[0] == power


def test_the_few_zeros_of_counts_are_near_the_ones() -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(3, size=6000)
    counts = rng.poisson(np.array([4.0, 12.0, 60.0])[place])
    assert 0 < np.mean(counts == 0) < 0.01
    frame = pd.DataFrame({"orders": counts, "age": 9.0 * place + rng.normal(size=6000)})
    found = TablePreparer(scale="robust").fit(frame)
    assert found.decisions_[0].power == "sqrt"
    prepared = found.transform(frame)[:, 0]
    within = prepared[place == 0].std()
    gap = prepared[counts == 1].min() - prepared[counts == 0].min()
    assert gap < 1.2 * within


def test_balances_on_both_sides_of_zero_are_leveled() -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(5, size=6000)
    middle = np.array([-800.0, 500, 3000, 9000, 20_000])[place]
    width = np.array([250.0, 200, 700, 1500, 2500])[place]
    balance = middle + width * rng.normal(size=6000)
    frame = pd.DataFrame({"balance": balance, "age": 9.0 * place + rng.normal(size=6000)})
    found = TablePreparer(scale="robust").fit(frame)
    assert found.decisions_[0].power == "asinh"
    assert "logarithm on either side of 0" in str(found.decisions_[0])
    prepared = found.transform(frame)
    spreads = [prepared[place == each, 0].std() for each in range(5)]
    assert max(spreads) < 2.5 * min(spreads)
    assert_allclose(found.to_units(prepared)[:, 0], balance)


def test_numbers_on_both_sides_of_zero_of_one_spread_stay() -> None:
    rng = np.random.default_rng(0)
    place = rng.integers(5, size=6000)
    columns = np.column_stack([9.0 * (place - 1) + rng.normal(size=6000), 9.0 * (place == 3)])
    columns[:, 1] += rng.normal(size=6000)
    assert find_powers(columns, np.random.default_rng(0)) == ["", ""]


def test_a_model_file_keeps_balances_and_refuses_a_division_by_zero(tmp_path: Path) -> None:
    place = np.arange(2000) % 4
    balance = np.array([-900.0, 400, 4000, 30_000])[place]
    balance *= 1 + 0.2 * np.random.default_rng(0).normal(size=2000)
    frame = pd.DataFrame({"balance": balance, "age": 9.0 * place + np.sin(np.arange(2000))})
    model = make_pipeline(TablePreparer("robust"), CappedREFCMFS(4, random_state=0)).fit(frame)
    first = model[0].decisions_[0]
    assert first.power == "asinh"
    sfumato.save(model, tmp_path / "right.sfumato")
    loaded = sfumato.load(tmp_path / "right.sfumato")
    assert_array_equal(loaded.transform(frame), model.transform(frame))
    model[0].decisions_ = Decisions([replace(first, shift=0.0), model[0].decisions_[1]])
    sfumato.save(model, tmp_path / "wrong.sfumato")
    with pytest.raises(ModelFileError, match="decision"):
        sfumato.load(tmp_path / "wrong.sfumato")
