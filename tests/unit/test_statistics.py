"""Statistics: they add, they are the gradient, and their step is that of Vardi and Zhang."""

import numpy as np
import pytest

from sfumato import L21, Hard, Power, Squared
from sfumato._problem import Statistics
from tests.catalogue import (
    blobs,
    every_distinct_loss,
    every_engine,
    every_membership,
    every_minimizing_membership,
    make_engine,
    row_weights,
    start_near,
)


def assert_close(found, expected, rtol=1e-12):
    scale = np.abs(expected.weight).max() + 1
    np.testing.assert_allclose(found.pull, expected.pull, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(found.weight, expected.weight, rtol=rtol)
    np.testing.assert_allclose(found.kink_force, expected.kink_force, rtol=rtol)
    assert found.objective == pytest.approx(expected.objective, rel=rtol)


def one_center(rows, center, weights=None, loss=None):
    """Where one step takes a single center."""
    engine = make_engine("reference", np.array(rows, float), loss or L21(), Hard(), weights)
    current = np.array([center], dtype=float)
    return engine.sweep(current).centers(current)[0]


@every_engine
@every_distinct_loss
@every_membership
def test_parts_add_up_to_the_whole(engine_name, loss, membership):
    X, weights = blobs(), row_weights(60)
    centers = start_near(X)
    centers[1] = X[7]
    whole = make_engine(engine_name, X, loss, membership, weights).sweep(centers)
    first, second = (
        make_engine(engine_name, X[part], loss, membership, weights[part]).sweep(centers)
        for part in (slice(0, 23), slice(23, 60))
    )
    assert_close(first + second, whole)
    assert_close(Statistics.zero(*centers.shape) + whole, whole, rtol=0)


@every_engine
@every_distinct_loss
@every_minimizing_membership
def test_pull_is_minus_half_the_gradient(engine_name, loss, membership):
    X = blobs()
    engine = make_engine(engine_name, X, loss, membership, row_weights(60))
    centers = start_near(X)
    statistics = engine.sweep(centers)
    step = 1e-6
    for k, j in np.ndindex(centers.shape):
        ahead, behind = centers.copy(), centers.copy()
        ahead[k, j] += step
        behind[k, j] -= step
        slope = (engine.sweep(ahead).objective - engine.sweep(behind).objective) / (2 * step)
        assert -2 * statistics.pull[k, j] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_squared_loss_steps_to_the_weighted_mean():
    rows, weights = [[0, 0], [4, 0], [0, 8]], [1.0, 2.0, 1.0]
    np.testing.assert_allclose(one_center(rows, [9, 9], weights, Squared()), [2, 2], rtol=1e-14)


def test_l21_steps_to_the_mean_weighted_by_inverse_distances():
    """Distances 1 and 3 from the center give weights as 3 to 1."""
    np.testing.assert_allclose(one_center([[1, 0], [-3, 0]], [0, 0]), [0, 0], atol=1e-15)
    np.testing.assert_allclose(one_center([[1, 0], [0, 3]], [0, 0]), [0.75, 0.75], rtol=1e-14)


def test_held_center_moves_part_of_the_way():
    """Rows at (1,0) and (0,1) pull with resultant (1,1); the row on the center holds with 1.

    The mean of the others is (1/2, 1/2), and the center goes 1 - 1/sqrt(2) of the way.
    """
    found = one_center([[0, 0], [1, 0], [0, 1]], [0, 0])
    np.testing.assert_allclose(found, np.full(2, 0.5 * (1 - 1 / np.sqrt(2))), rtol=1e-14)


def test_hold_counts_weights():
    """A row of weight 1/2 on the center holds half as much."""
    found = one_center([[0, 0], [1, 0], [0, 1]], [0, 0], weights=[0.5, 1.0, 1.0])
    np.testing.assert_allclose(found, np.full(2, 0.5 * (1 - 0.5 / np.sqrt(2))), rtol=1e-14)


@pytest.mark.parametrize("weight", [1.0, 1.5])
def test_center_stays_where_the_hold_is_at_least_the_resultant(weight):
    np.testing.assert_array_equal(one_center([[0], [1]], [0], weights=[weight, 1.0]), [0])
    np.testing.assert_array_equal(one_center([[0], [-1], [1]], [0], [weight, 1.0, 1.0]), [0])


def test_hold_counts_memberships():
    """Two centers on one row share it: each is held by a^r = 1/4, and pulled by another row."""
    engine = make_engine("reference", np.array([[0.0], [1.0]]), L21(), Power(2, 2.0))
    statistics = engine.sweep(np.zeros((2, 1)))
    np.testing.assert_allclose(statistics.kink_force, [0.25, 0.25])
    np.testing.assert_allclose(statistics.weight, [0.125, 0.125])
    np.testing.assert_allclose(statistics.pull, [[0.125], [0.125]])


def test_squared_loss_has_no_hold():
    statistics = make_engine("reference", np.eye(2), Squared(), Hard()).sweep(np.eye(2))
    np.testing.assert_array_equal(statistics.kink_force, 0)
    np.testing.assert_array_equal(statistics.weight, 1)
    assert len(statistics.empty) == 0


def test_empty_centers_are_those_that_nothing_moves_or_holds():
    statistics = Statistics(
        pull=np.zeros((3, 2)),
        weight=np.array([0.0, 1.0, 0.0]),
        kink_force=np.array([0.0, 0.0, 2.0]),
        objective=1.0,
    )
    np.testing.assert_array_equal(statistics.empty, [0])


def test_centers_without_rows_stay():
    current = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(Statistics.zero(2, 2).centers(current), current)
