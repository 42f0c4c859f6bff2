"""The mathematics of learning from batches: counts, proximal term, windows, free centers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sfumato import L21, Capped, Hard, Power, Squared
from sfumato._outliers import cluster_radii
from sfumato._solvers.online import (
    WINDOW,
    WINDOW_PER_CLUSTER,
    AssignedSample,
    CenterCounts,
    OnlineState,
    Window,
    count_rows,
    learn,
    proximal_term,
    proximal_weight,
)
from sfumato.losses import Loss
from sfumato.memberships import Membership
from tests.catalogue import (
    blobs,
    every_loss,
    every_minimizing_membership,
    make_engine,
    row_weights,
    start_near,
)

DOUBLE = np.dtype(np.float64)


def known(count: list[float], spread: list[float]) -> CenterCounts:
    return CenterCounts(np.array(count, dtype=float), np.array(spread, dtype=float))


def state(centers: list[list[float]], past: CenterCounts) -> OnlineState:
    return OnlineState(np.array(centers), past, Window.empty())


def counted(engine: Any, centers: np.ndarray, typical: np.ndarray) -> CenterCounts:
    seen = engine.assign(centers, distances=True)
    return count_rows(engine.problem, seen, engine.data.weights_or_ones(), typical)


def after_fit(engine: Any, centers: np.ndarray, n_rows: int) -> OnlineState:
    seen = engine.assign(centers, distances=True)
    sample = AssignedSample(seen, engine.data.weights_or_ones())
    return OnlineState.of(sample, centers, engine.problem, n_rows)


# Counts.


def test_counts_of_rows_and_their_distances() -> None:
    X, centers = np.array([[1.0], [2.0], [9.0]]), np.array([[0.0], [10.0]])
    engine = make_engine("native", X, Squared(), Hard(), [1.0, 2.0, 3.0])
    found = counted(engine, centers, np.full(2, np.inf))
    assert_array_equal(found.count, [3, 3])
    assert_array_equal(found.spread, [1 + 2 * 2, 3])
    assert_allclose(found.means(), [5 / 3, 1])
    # Half a unit is typical of the first center, so that two units is as far as it gets.
    assert_array_equal(counted(engine, centers, np.array([0.5, np.inf])).spread, [6 - 1, 3])
    assert_array_equal(counted(engine, centers, np.array([0.25, np.inf])).spread, [1 + 2, 3])


def test_rows_beyond_a_cap_are_not_counted_and_rows_on_a_center_are() -> None:
    X, centers = np.array([[0.0], [1.0], [50.0]]), np.array([[0.0], [10.0]])
    engine = make_engine("native", X, Capped(2.0), Power(2, 1.5))
    found = counted(engine, centers, np.full(2, np.inf))
    assert 1 < found.count[0] <= 2
    assert found.count[1] < 0.5


def test_a_center_without_distances_takes_the_mean_of_all() -> None:
    assert_array_equal(known([2, 4, 0], [4, 0, 0]).means(), [2, 4 / 6, 4 / 6])
    assert_array_equal(known([2, 4], [0, 0]).means(), [0, 0])
    assert_array_equal(known([2, 4], [0, 0]).typical(), [np.inf, np.inf])
    assert_array_equal(known([1, 1], [1, 5]).typical(), [3, 5])


# The proximal term.


def test_proximal_weight_is_that_of_rows_at_the_mean_distance() -> None:
    past = known([4.0, 10.0], [8.0, 5.0])
    assert_allclose(proximal_weight(past, past.means(), L21()), [4 / (2 * 2), 10 / (2 * 0.5)])
    assert_allclose(proximal_weight(past, past.means(), Squared()), [4, 10])


def test_pull_of_the_proximal_term_is_its_gradient() -> None:
    rng = np.random.default_rng(0)
    home, here, stiff = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.uniform(size=3)
    found = proximal_term(stiff, home, here)
    step = 1e-6 * rng.normal(size=(3, 2))
    change = (
        proximal_term(stiff, home, here + step).objective
        - proximal_term(stiff, home, here - step).objective
    )
    assert_allclose(change / 2, (-2 * found.pull * step).sum(), rtol=1e-6)
    assert_allclose(found.centers(here), home)


@every_loss
@every_minimizing_membership
def test_steps_lower_objective_and_proximal_term(loss: Loss, membership: Membership) -> None:
    X = blobs(60)
    start = start_near(X)
    engine = make_engine("native", X, loss, membership, row_weights(60))
    past = CenterCounts(np.full(5, 10.0), np.full(5, 15.0))
    before = OnlineState(start, past, Window.empty())
    learned = learn(engine, before, 0.0, DOUBLE).state
    seen = counted(engine, start, past.typical())
    stiff = proximal_weight(past, (past + seen).means(), loss)
    energy = proximal_term(stiff, start, learned.centers).objective
    assert engine.sweep(learned.centers).objective + energy < engine.sweep(start).objective
    assert (learned.past.count >= past.count).all()


def test_a_row_next_to_a_center_does_not_hold_it_forever() -> None:
    X = np.array([[1e-12], [1.0], [-1.0], [0.7]])
    first = make_engine("native", X, L21(), Hard())
    assert first.sweep(np.zeros((1, 1))).weight > 1e11
    learned = after_fit(first, np.zeros((1, 1)), 4)
    for _ in range(30):
        learned = learn(make_engine("native", X + 5, L21(), Hard()), learned, 0.0, DOUBLE).state
    assert learned.centers[0, 0] > 4


@pytest.mark.parametrize("far", [1e2, 1e6, 1e12])
def test_a_far_row_moves_a_center_no_more_than_the_loss_says(far: float) -> None:
    rows = np.random.default_rng(0).normal(size=(100, 2))
    start = after_fit(make_engine("native", rows, L21(), Hard()), np.zeros((1, 2)), 100)
    outlier = make_engine("native", np.array([[far, 0.0]]), L21(), Hard())
    moved = learn(outlier, start, 0.0, DOUBLE).state.centers
    assert 0 < moved[0, 0] < 0.02


# Centers that are free.


def test_a_center_that_never_had_a_row_goes_where_it_is_needed() -> None:
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    engine = make_engine("native", X, Squared(), Hard())
    start = state([[0.0], [99.0]], known([10, 0], [1, 0]))
    learned = learn(engine, start, 0.0, DOUBLE).state
    assert_allclose(learned.centers[1], 5.05)
    assert_array_equal(learned.past.count, [12, 2])


@pytest.mark.parametrize(("decay", "count", "moves"), [(0, 1e-9, 0), (0.1, 1e-9, 1), (0.1, 1, 0)])
def test_only_what_is_forgotten_is_free(decay: float, count: float, moves: bool) -> None:
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    engine = make_engine("native", X, Squared(), Hard())
    start = state([[0.0], [99.0]], known([10, count], [1, count]))
    learned = learn(engine, start, decay, DOUBLE).state
    assert (learned.centers[1, 0] < 10) == moves


def test_a_small_cluster_that_has_rows_stays() -> None:
    X = np.concatenate([np.zeros((5000, 1)) + np.linspace(0, 1, 5000)[:, None], [[9.0]]])
    engine = make_engine("native", X, Squared(), Hard())
    start = state([[0.5], [9.2]], known([1e5, 1.0], [1e5, 1.0]))
    assert learn(engine, start, 0.1, DOUBLE).state.centers[1, 0] > 9


# State after a fit, and windows.


def test_state_of_a_sample_stands_for_all_rows() -> None:
    X = blobs(400)
    centers = start_near(X)
    engine = make_engine("native", X, L21(), Hard())
    exact = after_fit(engine, centers, 400)
    assert exact.past.count.sum() == 400
    sampled = after_fit(engine, centers, 4000)
    assert_allclose(sampled.past.count, 10 * exact.past.count)
    assert_allclose(sampled.past.means(), exact.past.means())
    absent = np.vstack([centers, np.full((1, 3), 1e3)])
    assert after_fit(engine, absent, 400).past.count[-1] == 0
    assert after_fit(engine, absent, 4000).past.count[-1] == 5


def test_a_window_holds_the_latest_batches() -> None:
    most = WINDOW + WINDOW_PER_CLUSTER * 5
    centers = start_near(blobs(60))
    window = Window.empty()
    for number in range(12):
        X = blobs(700, seed=number)
        engine = make_engine("native", X, L21(), Hard())
        window = window.then(engine.assign(centers, distances=True), np.arange(700) % 2, 5)
        assert len(window.labels) == min(350 * (number + 1), -(-most // 350) * 350)
        assert window.batches[-1] == number
        assert (window.weights > 0).all()
    large = make_engine("native", blobs(9000), L21(), Hard())
    window = window.then(large.assign(centers, distances=True), np.ones(9000), 5)
    assert most / 2 < len(window.labels) < 2 * most


def test_radii_of_a_window_are_those_of_a_fit() -> None:
    X = blobs(500)
    engine = make_engine("native", X, L21(), Hard())
    centers = start_near(X)
    found = after_fit(engine, centers, 500).window.radii(5, np.inf)
    assert_array_equal(found, cluster_radii(engine, centers))
