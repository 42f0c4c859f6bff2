"""Centers are exchanged for rows while that lowers the total loss."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sfumato import L21, Capped, Hard
from sfumato._solvers.exchange import exchange
from tests.catalogue import N_CLUSTERS, blobs, every_engine, make_engine, row_weights
from tests.robustness.test_robust import contaminated, total


@every_engine
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_swaps_lower_the_total(engine_name, weighted):
    X = contaminated().data
    weights = row_weights(600) if weighted else None
    engine = make_engine(engine_name, X, Capped(8.0), Hard(), weights)
    rng = np.random.RandomState(0)
    lower = 0
    for seed in range(10):
        centers = X[np.random.default_rng(seed).choice(600, 6, replace=False)]
        given = centers.copy()
        found = exchange(engine, centers, rng, 5.0)
        assert_array_equal(centers, given)
        before, after = (
            total(X, C, 8.0, 1.0 if weights is None else weights) for C in (centers, found)
        )
        assert after < before or np.array_equal(found, centers)
        lower += after < before
    assert lower >= 5


def test_the_best_exchange_of_all_is_taken():
    """A cluster without a center, and two centers in another: one of these two goes there."""
    X = np.concatenate([np.linspace(-1, 1, 50), 100 + np.linspace(-1, 1, 50), [900.0]])[:, None]
    engine = make_engine("native", X, Capped(4.0), Hard())
    found = exchange(engine, np.array([[-0.5], [0.5]]), np.random.RandomState(0), 3.0)
    assert sorted(np.round(found[:, 0], -2)) == [0, 100]


@every_engine
def test_nothing_to_swap(engine_name):
    X = blobs()
    state = np.random.RandomState(0)
    before = state.get_state()[2]
    places = np.repeat(X[:N_CLUSTERS], 20, axis=0)
    engine = make_engine(engine_name, places, Capped(1e4), Hard())
    assert_array_equal(exchange(engine, X[:N_CLUSTERS], state, 1e3), X[:N_CLUSTERS])
    assert state.get_state()[2] == before, "nothing was drawn, as all rows are on centers"


def test_lone_outliers_are_no_place_for_a_center():
    X = np.concatenate([np.zeros(50), np.full(50, 100.0), [900.0, -700.0]])[:, None]
    engine = make_engine("native", X, Capped(4.0), Hard())
    centers = np.array([[0.0], [100.0]])
    assert_array_equal(exchange(engine, centers, np.random.RandomState(0), 3.0), centers)


def test_rows_of_weight_zero_are_no_reason_to_swap():
    X = np.concatenate([np.zeros(50), np.full(50, 100.0), np.full(300, 900.0)])[:, None]
    weights = np.repeat([1.0, 1.0, 0.0], [50, 50, 300])
    engine = make_engine("native", X, Capped(4.0), Hard(), weights)
    centers = np.array([[0.0], [100.0]])
    assert_array_equal(exchange(engine, centers, np.random.RandomState(0), 3.0), centers)


def test_without_a_cap_a_far_row_alone_gets_no_center():
    """It would stay there for ever, although that lowers the total."""
    X = np.concatenate([np.linspace(-1, 1, 50), 10 + np.linspace(-1, 1, 50), [900.0]])[:, None]
    engine = make_engine("native", X, L21(), Hard())
    centers = np.array([[0.0], [10.0]])
    for seed in range(5):
        assert_array_equal(exchange(engine, centers, np.random.RandomState(seed)), centers)


def test_without_a_cap_a_small_far_cluster_gets_a_center():
    X = np.concatenate([np.linspace(-1, 1, 2000), 100 + np.linspace(-1, 1, 10)])[:, None]
    engine = make_engine("native", X, L21(), Hard())
    for seed in range(5):
        found = exchange(engine, np.array([[-0.5], [0.5]]), np.random.RandomState(seed))
        assert np.round(found.max(), -2) == 100
