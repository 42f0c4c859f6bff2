"""Clusters that end without rows: refilled where that lowers the objective, within max_iter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sfumato import L21, REFCMFS, Capped, FuzzyClustering, Hard, Power, Simplex, Squared, stream
from sfumato._solvers import refill as module
from sfumato._solvers.descent import Descent, Stopping, StopReason
from sfumato._solvers.refill import REFILLED, nearly_empty, refill, rows_per_cluster
from tests.catalogue import each, every_engine, make_engine

SETTLE = Stopping(max_iter=300, tol=1e-7)


MIDDLES = np.array([[-20.0, 6.0], [-10.0, -6.0], [10.0, 6.0], [20.0, -6.0]])
STUCK = np.array([[-15.0, 0.0], [10.0, 6.0], [20.0, -6.0], [20.0, -6.0]])
"""Two clusters share a center, and two centers a cluster: soft memberships keep them together, and
the last is nearest to no row."""


def two_and_two(n_rows: int = 400, seed: int = 0) -> np.ndarray:
    """Four clusters, two at either side."""
    rng = np.random.default_rng(seed)
    return MIDDLES[np.arange(n_rows) % 4] + rng.normal(size=(n_rows, 2))


def assert_found(centers: np.ndarray) -> None:
    """Each cluster has a center."""
    ordered = centers[np.argsort(centers[:, 0])]
    assert np.abs(ordered - MIDDLES).max() < 1


def descended(engine: Any, stopping: Stopping = SETTLE, refilled: bool = True) -> Descent:
    descent = Descent(engine, STUCK, stopping)
    descent.refill = refill if refilled else None
    descent.run()
    return descent


@every_engine
@each("rule", [Power(4, 1.1), Power(4, 1.5), Simplex(gamma=0.5)])
@each("loss", [Squared(), L21(), Capped(100.0)])
def test_a_center_without_rows_is_moved_to_the_cluster_without_a_center(
    engine_name: str, loss: Any, rule: Any
) -> None:
    X = two_and_two()
    engine = make_engine(engine_name, X, loss, rule)
    descent = descended(engine)
    assert (rows_per_cluster(engine, descent.centers) == 100).all()
    assert descent.outcome is StopReason.CONVERGED
    objectives = [record.objective for record in descent.history]
    assert (np.diff(objectives) <= 1e-9 * objectives[0]).all()
    assert any(record.repairs for record in descent.history)
    assert descent.history[-1].repairs == ()


def test_without_refill_it_stays_without_rows() -> None:
    """The case is one that the descent does not leave by itself."""
    engine = make_engine("native", two_and_two(), L21(), Power(4, 1.5))
    descent = descended(engine, refilled=False)
    assert nearly_empty(rows_per_cluster(engine, descent.centers)).tolist() == [3]
    assert descended(engine).objective < 0.9 * descent.objective


def test_outliers_do_not_get_the_center() -> None:
    """A remote row has the largest loss, a cluster that shares its center the larger total."""
    X = np.concatenate([two_and_two(800), [[0.0, 900.0], [0.0, -900.0]]])
    assert_found(descended(make_engine("native", X, L21(), Power(4, 1.5))).centers)


def test_a_center_on_an_outlier_is_moved_only_if_the_objective_falls() -> None:
    X = np.concatenate([two_and_two(1000), [[0.0, 600.0]]])
    engine = make_engine("native", X, L21(), Hard())
    stays = descended(engine, refilled=False)
    assert 1 in rows_per_cluster(engine, stays.centers)
    assert_found(descended(engine).centers)
    X[-1, 1] = 1e6
    engine = make_engine("native", X, Squared(), Hard())
    kept = descended(engine)
    assert 1 in rows_per_cluster(engine, kept.centers)


@every_engine
@pytest.mark.parametrize("n_features", [2, 200])
def test_under_a_cap_a_center_on_an_outlier_is_moved_to_a_cluster(
    engine_name: str, n_features: int
) -> None:
    """Rows of a cluster are farther from each other than the cap, in many dimensions all of them,
    and few of the rows beyond the cap are of the cluster."""
    rng = np.random.default_rng(0)
    middles = 60.0 * rng.normal(size=(4, n_features))
    rows = np.repeat(middles, [100, 100, 100, 30], axis=0)
    noise = rng.normal(size=(330, n_features))
    far = 900.0 * rng.normal(size=(500, n_features))
    X = np.concatenate([rows + noise, far])
    cap = 1.2 * np.median(np.linalg.norm(noise, axis=1))
    engine = make_engine(engine_name, X, Capped(cap), Power(4, 1.05))
    centers = np.vstack([middles[:3], far[[0]]])
    found = refill(engine, centers)
    assert found is not None
    assert found[1] == (3,)
    assert np.linalg.norm(found[0] - middles, axis=1).max() < cap / 2


def test_of_clusters_of_a_hundred_rows_one_may_have_one() -> None:
    """That is no warning, but another place is tried."""
    rows = np.array([100, 100, 100, 1])
    assert (nearly_empty(rows).tolist(), nearly_empty(rows, REFILLED).tolist()) == ([], [3])
    X = np.concatenate([two_and_two(360), [[0.0, 300.0]]])
    engine = make_engine("native", X, L21(), Hard())
    assert 1 in rows_per_cluster(engine, descended(engine, refilled=False).centers)
    assert_found(descended(engine).centers)


def test_max_iter_is_kept() -> None:
    engine = make_engine("native", two_and_two(), L21(), Power(4, 1.5))
    settled = len(descended(engine, refilled=False).history)
    # The first record is at the initial centers, so that m iterations have m + 1.
    last = descended(engine, Stopping(settled - 1, 1e-7))
    assert (len(last.history), last.outcome) == (settled, StopReason.CONVERGED)
    next_to_last = descended(engine, Stopping(settled, 1e-7))
    assert len(next_to_last.history) == settled + 1
    assert next_to_last.objective < last.objective


def test_a_move_that_gains_nothing_is_undone_and_not_tried_again(monkeypatch: Any) -> None:
    engine = make_engine("native", two_and_two(), L21(), Power(4, 1.5))
    without = descended(engine, refilled=False)
    calls = []

    def harmful(engine: Any, centers: Any) -> Any:
        calls.append(centers)
        return np.zeros_like(centers) + np.arange(4)[:, None] * 1e-3, (3,)

    descent = Descent(engine, STUCK, SETTLE)
    descent.refill = harmful
    descent.run()
    assert len(calls) == 1
    assert_array_equal(descent.centers, without.centers)
    assert descent.history[-2].repairs == (3,)
    assert descent.history[-1].passes == 2
    assert descent.outcome is StopReason.CONVERGED


def test_with_nothing_to_gain_nothing_is_moved() -> None:
    X = np.array([[0.0], [0.0], [5.0]])
    engine = make_engine("reference", X, L21(), Hard())
    assert refill(engine, np.array([[0.0], [5.0], [1e6]])) is None
    assert refill(engine, np.array([[0.0], [5.0]])) is None


@every_engine
def test_centers_that_are_all_in_one_place_are_left_there(
    engine_name: str, monkeypatch: Any
) -> None:
    """A descent has drawn them together, and would again; two of three in one place are not all."""
    X = two_and_two()
    engine = make_engine(engine_name, X, Squared(), Power(3, 2.0))
    tried: list[Any] = []
    moved = module._moved

    def watched(*arguments: Any) -> Any:
        tried.append(arguments)
        return moved(*arguments)

    monkeypatch.setattr(module, "_moved", watched)
    assert refill(engine, np.zeros((3, 2))) is None
    assert not tried
    refill(engine, np.array([[0.0, 0.0], [0.0, 0.0], [20.0, -6.0]]))
    assert tried


def test_rows_of_weight_zero_and_beyond_the_cap_do_not_count() -> None:
    X = np.array([[0.0], [1.0], [9.0], [30.0]])
    engine = make_engine("native", X, Capped(3.0), Hard(), weights=[1.0, 0.0, 1.0, 1.0])
    assert rows_per_cluster(engine, np.array([[0.0], [10.0]])).tolist() == [1, 1]


@pytest.mark.parametrize("kind", ["array", "stream", "dask"])
def test_few_rows_in_a_sample_are_counted_among_all(kind: str, monkeypatch: Any) -> None:
    """A cluster of 6 rows in 2000, of which a sample of 50 has hardly any, is not empty."""
    monkeypatch.setattr(module, "sample_rows", lambda n_clusters: 50)
    X = np.concatenate([two_and_two(2000), np.full((6, 2), 99.0)])
    rng = np.random.default_rng(0)
    rng.shuffle(X)
    counts: list[Any] = []
    original = module.rows_per_cluster
    monkeypatch.setattr(
        module, "rows_per_cluster", lambda *given: counts.append(original(*given)) or counts[-1]
    )
    given: Any = X
    if kind == "stream":
        given = stream(X, chunk_rows=300)
    elif kind == "dask":
        given = pytest.importorskip("dask.array").from_array(X, chunks=(300, 2))
    start = np.concatenate([MIDDLES, [[99.0, 99.0]]])
    FuzzyClustering(5, membership="hard", init=start).fit(given)
    assert counts[-1].tolist() == [500, 500, 500, 500, 6]


@pytest.mark.parametrize("size", [100, 5000])
@pytest.mark.parametrize("kind", ["array", "stream", "dask"])
def test_an_estimator_refills_whatever_holds_the_rows(
    kind: str, size: int, monkeypatch: Any
) -> None:
    """The new place is found on a sample of the rows, or on all."""
    monkeypatch.setattr(module, "sample_rows", lambda n_clusters: size)
    X = two_and_two(2000)
    given: Any = X
    if kind == "stream":
        given = stream(X, chunk_rows=300)
    elif kind == "dask":
        given = pytest.importorskip("dask.array").from_array(X, chunks=(300, 2))
    model = REFCMFS(4, n_active=4, fuzzifier=1.5, init=STUCK).fit(given)
    assert np.bincount(np.asarray(model.labels_)).tolist() == [500] * 4
    assert any(record.repairs for record in model.history_)
    assert model.outcome_.warnings == ()
