"""Empty clusters: repaired, written down, and never to the objective's harm."""

import numpy as np
import pytest

from sfumato import L21, Capped, Hard, Power, Simplex, Squared
from sfumato._solvers.descent import Stopping, repair, solve
from tests.catalogue import (
    CAP,
    N_CLUSTERS,
    blobs,
    each,
    every_engine,
    iterate,
    make_engine,
    minimizes,
    rounding,
    start_near,
)

FAR = 1e6
EMPTYING = [
    (Squared(), Hard()),
    (L21(), Hard()),
    (Capped(CAP), Hard()),
    (Squared(), Power(2, 1.5)),
    (L21(), Power(3, 1.1)),
    (L21(), Power(N_CLUSTERS, 1.01)),  # far centers' memberships underflow to zero
    (Capped(CAP), Power(N_CLUSTERS, 2.0)),  # rows beyond the cap move nothing
    (Squared(), Simplex(gamma=0.05)),
    (L21(), Simplex(gamma=5.0)),
    (Capped(CAP), Simplex(gamma=0.05)),
    (L21(), Simplex(n_active=2)),
]
"""Parts under which a center far from all rows is used by none."""


def with_far_centers(X, which):
    """Centers of which some are far from every row."""
    start = start_near(X)
    for k in which:
        start[k] = FAR * (k + 1)
    return start


def repaired_once(engine, centers):
    """Centers after one repair of the step from the given ones, and which were moved."""
    statistics = engine.sweep(centers)
    return repair(engine, centers, statistics.centers(centers), statistics)


@every_engine
@each("parts", EMPTYING, ids=repr)
@pytest.mark.parametrize("which", [[0], [3], [1, 4]], ids=str)
def test_empty_clusters_are_repaired_and_recorded(engine_name, parts, which):
    X = blobs()
    engine = make_engine(engine_name, X, *parts)
    solution = solve(engine, with_far_centers(X, which), iterate(15))
    assert set(which) <= set(solution.history[0].repairs)
    assert solution.history[0].shift > FAR / 2
    assert (np.abs(solution.centers) < FAR / 2).all()
    assert len(engine.sweep(solution.centers).empty) == 0
    if minimizes(parts[1]):
        objectives = np.array([record.objective for record in solution.history])
        assert (np.diff(objectives) <= rounding(np.float64) * objectives[0]).all()


@every_engine
@each("loss", [Squared(), L21()])
def test_one_center_left(engine_name, loss):
    X = blobs()
    engine = make_engine(engine_name, X, loss, Hard())
    solution = solve(engine, with_far_centers(X, [0, 1, 2, 3]), Stopping(300, 1e-7))
    assert solution.history[0].repairs == (0, 1, 2, 3)
    assert (np.bincount(engine.assign(solution.centers).labels, minlength=N_CLUSTERS) > 0).all()


@every_engine
def test_of_two_equal_centers_a_hard_rule_empties_the_second(engine_name):
    X = blobs()
    start = start_near(X)
    start[3] = start[1]
    _, moved = repaired_once(make_engine(engine_name, X, L21(), Hard()), start)
    assert moved == (3,)


def test_all_go_to_different_rows():
    X = blobs()
    centers, moved = repaired_once(
        make_engine("reference", X, L21(), Hard()), with_far_centers(X, [1, 2, 4])
    )
    assert moved == (1, 2, 4)
    places = centers[list(moved)]
    assert len(np.unique(places, axis=0)) == 3
    assert all((place == X).all(axis=1).any() for place in places)


def test_the_neediest_row_gets_the_center():
    """Need is the weighted loss to the centers in use: 4, 12, then 5 once 12 is served."""
    X = np.array([[0.0], [4.0], [6.0], [5.0]])
    engine = make_engine("reference", X, L21(), Hard(), weights=[1.0, 1.0, 2.0, 0.5])
    centers, moved = repaired_once(engine, np.array([[0.0], [FAR], [2 * FAR]]))
    assert moved == (1, 2)
    np.testing.assert_array_equal(centers[1:], [[6.0], [4.0]])


@every_engine
@pytest.mark.parametrize("n_lone", [1, 40])
def test_of_many_rows_beyond_the_cap_a_group_gets_the_center(engine_name, n_lone):
    """All cost the cap. A lone outlier lowers the total by itself alone, whichever comes first."""
    lone = 1e4 * np.arange(1, n_lone + 1)
    group = 500 + np.linspace(-1, 1, 31)
    X = np.concatenate([lone, np.linspace(-1, 1, 30), group, -lone])[:, None]
    centers, moved = repaired_once(
        make_engine(engine_name, X, Capped(CAP), Hard()), np.array([[0.0], [FAR * 10]])
    )
    assert moved == (1,)
    assert abs(centers[1, 0] - 500) <= 1


def test_groups_are_served_by_size_and_no_two_centers_go_to_one():
    groups = [np.full(1, 9e4), 500 + np.linspace(-0.1, 0.1, 10), -500 + np.linspace(-0.1, 0.1, 20)]
    X = np.concatenate([[0.0], *groups])[:, None]
    engine = make_engine("reference", X, Capped(CAP), Hard())
    centers, moved = repaired_once(engine, np.array([[0.0], [FAR], [2 * FAR], [3 * FAR]]))
    assert moved == (1, 2, 3)
    np.testing.assert_allclose(centers[1:, 0], [-500, 500, 9e4], atol=0.1)


@every_engine
def test_the_order_of_rows_that_need_alike_does_not_matter(engine_name):
    X = np.concatenate([np.linspace(-1, 1, 30), 500 + np.linspace(-3, 3, 99), [7e3, 9e4]])[:, None]
    shuffled = np.random.default_rng(0).permutation(len(X))
    found, expected = (
        repaired_once(
            make_engine(engine_name, rows, Capped(CAP), Hard()), np.array([[0.0], [FAR]])
        )[0]
        for rows in (X[shuffled], X)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_weight_counts_where_rows_need_alike():
    """Three rows of equal weight need most; two of them are near one another."""
    X = np.array([[0.0], [300.0], [100.0], [101.0], [200.0], [201.0], [201.5]])
    weights = [1.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0]
    engine = make_engine("reference", X, Capped(CAP), Hard(), weights)
    centers, moved = repaired_once(engine, np.array([[0.0], [FAR]]))
    assert moved == (1,)
    assert centers[1, 0] in (100, 101)


def test_rows_of_weight_zero_need_nothing():
    X = np.array([[0.0], [1.0], [100.0]])
    engine = make_engine("reference", X, L21(), Hard(), weights=[1.0, 1.0, 0.0])
    centers, moved = repaired_once(engine, np.array([[0.0], [FAR]]))
    assert moved == (1,)
    np.testing.assert_array_equal(centers[1], [1.0])


def test_with_nothing_to_gain_nothing_is_moved():
    X = np.array([[0.0], [0.0], [5.0]])
    engine = make_engine("reference", X, L21(), Hard())
    start = np.array([[0.0], [5.0], [FAR]])
    centers, moved = repaired_once(engine, start)
    assert moved == ()
    np.testing.assert_array_equal(centers, start)


def test_without_empty_clusters_the_step_is_taken_as_it_is():
    X = blobs()
    engine = make_engine("reference", X, L21(), Power(2, 1.5))
    start = start_near(X)
    statistics = engine.sweep(start)
    stepped = statistics.centers(start)
    centers, moved = repair(engine, start, stepped, statistics)
    assert centers is stepped
    assert moved == ()


@every_engine
def test_all_centers_empty(engine_name):
    """Every center is beyond the cap of every row, so that nothing moves any of them."""
    X = blobs()
    engine = make_engine(engine_name, X, Capped(CAP), Hard())
    solution = solve(engine, with_far_centers(X, range(N_CLUSTERS)), Stopping(300, 1e-7))
    assert solution.history[0].objective == pytest.approx(CAP * len(X))
    assert solution.history[0].repairs == tuple(range(N_CLUSTERS))
    assert solution.outcome.converged
    assert solution.objective <= CAP * (len(X) - N_CLUSTERS)


@pytest.mark.parametrize("loss", [Squared(), L21()], ids=repr)
def test_the_last_record_repairs_nothing(loss):
    X = blobs()
    engine = make_engine("reference", X, loss, Hard())
    solution = solve(engine, with_far_centers(X, [2]), Stopping(0, 1e-7))
    assert solution.history[-1].repairs == ()
    np.testing.assert_array_equal(solution.centers, with_far_centers(X, [2]))
