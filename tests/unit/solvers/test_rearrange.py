"""Centers are moved where one more saves most, and where one less is missed least."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from sfumato import L21, Capped, Hard, Squared
from sfumato._solvers.rearrange import Places, rearrange
from tests.catalogue import each, every_engine, make_engine

MIDDLES = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0], [30.0, 30.0], [36.0, 36.0]])
SHARED = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0], [33.0, 33.0], [0.5, 0.3]])
"""Two near clusters share a center, and two centers the first cluster."""


def rows(sizes: list[int], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.repeat(MIDDLES, sizes, axis=0) + rng.normal(size=(sum(sizes), 2))


def moved(engine: Any, centers: np.ndarray, seed: int = 0) -> np.ndarray:
    return rearrange(engine, centers, np.random.RandomState(seed))


def assert_found(centers: np.ndarray) -> None:
    assert cdist(MIDDLES, centers).min(axis=1).max() < 1


@every_engine
@each("loss", [Squared(), L21(), Capped(20.0)])
def test_two_clusters_that_share_a_center_are_parted(engine_name: str, loss: Any) -> None:
    engine = make_engine(engine_name, rows([200] * 5), loss, Hard())
    found = moved(engine, SHARED)
    assert_found(found)
    assert engine.sweep(found).objective < engine.sweep(SHARED).objective


@pytest.mark.parametrize("seed", range(5))
def test_two_centers_in_a_large_cluster_are_merged_for_a_small_one(seed: int) -> None:
    """Neither could be removed alone: the other is at the edge."""
    X = rows([1000, 100, 100, 100, 60], seed)
    poor = np.vstack([MIDDLES[:4], [[0.0, 2.0]]])
    poor[0] = [0.0, -2.0]
    assert_found(moved(make_engine("native", X, L21(), Hard()), poor, seed))


@pytest.mark.parametrize("n_features", [2, 64])
def test_in_many_dimensions_no_row_would_do(n_features: int) -> None:
    """Rows are farther from one another than from a center between two clusters."""
    rng = np.random.default_rng(0)
    middles = rng.normal(size=(8, n_features)) * 12 / np.sqrt(n_features)
    X = np.repeat(middles, 200, axis=0) + rng.normal(size=(1600, n_features))
    poor = np.vstack([middles[:6], middles[6:].mean(axis=0), middles[0] + 0.1])
    found = moved(make_engine("native", X, L21(), Hard()), poor)
    assert cdist(middles, found).min(axis=1).max() < 1


def test_with_nothing_to_gain_the_centers_themselves_come_back() -> None:
    engine = make_engine("native", rows([200] * 5), L21(), Hard())
    found = moved(engine, MIDDLES)
    assert found is MIDDLES
    assert moved(engine, MIDDLES[:1]) is not None
    same = np.zeros((50, 2))
    engine = make_engine("native", same, L21(), Hard())
    twice = same[:2]
    assert moved(engine, twice) is twice


def test_a_table_that_would_be_large_is_not_made(monkeypatch: Any) -> None:
    monkeypatch.setattr("sfumato._solvers.rearrange.MAX_TABLE", 100)
    assert moved(make_engine("native", rows([200] * 5), L21(), Hard()), SHARED) is SHARED


@pytest.mark.parametrize("weight", [0.25, 3.0])
def test_weights_scale_out(weight: float) -> None:
    X = rows([200] * 5)
    expected = moved(make_engine("native", X, L21(), Hard()), SHARED)
    engine = make_engine("native", X, L21(), Hard(), np.full(len(X), weight))
    assert_allclose(moved(engine, SHARED), expected)


def test_a_weight_of_three_is_three_copies_of_a_row() -> None:
    X = rows([80] * 5)
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    found = moved(make_engine("native", X, L21(), Hard(), weights), SHARED)
    copies = np.repeat(X, weights.astype(int), axis=0)
    assert_allclose(found, moved(make_engine("native", copies, L21(), Hard()), SHARED))


def test_places_after_changes_are_those_of_a_new_table() -> None:
    """Totals are never too low, and exact for an addition."""
    rng = np.random.default_rng(0)
    table, weights = rng.uniform(size=(60, 6)), rng.uniform(size=60)
    extra = rng.uniform(size=60)
    places = Places.of(table.copy())
    longer = places.extended(extra, 6)
    whole = Places.of(np.column_stack([table, extra]))
    for found, expected in zip(longer, whole, strict=True):
        assert_allclose(found, expected)
    for k in range(6):
        others = Places.of(np.delete(table, k, axis=1))
        assert_allclose(places.total(weights) + places.lost(weights, 6)[k], others.total(weights))
        shorter = places.without(k)
        assert_allclose(shorter.nearest, others.nearest)
        assert (shorter.second >= others.second).all()
    for pair in ((0, 1), (2, 5)):
        merged = np.column_stack([np.delete(table, pair, axis=1), extra])
        found = places.total(weights) + places.merged(pair, extra, weights)
        assert found >= Places.of(merged).total(weights)
