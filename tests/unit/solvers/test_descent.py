"""The loop: what it records, when it hands over, and that it ends where nothing pulls."""

import numpy as np
import pytest

from sfumato import L21, Hard, Power, Squared
from sfumato._solvers.descent import Stopping, StopReason, solve
from tests.catalogue import (
    N_CLUSTERS,
    blobs,
    every_distinct_loss,
    every_engine,
    every_membership,
    every_minimizing_membership,
    iterate,
    make_engine,
    row_weights,
    settle,
    sparse_blobs,
    start_near,
    start_on,
)


def some_engine(X=None, loss=None, membership=None, name="reference"):
    return make_engine(
        name, blobs() if X is None else X, loss or L21(), membership or Power(2, 1.5)
    )


class Witness:
    """Observer that keeps what it is told, and may stop the loop."""

    def __init__(self, stop_after=None):
        self.records, self.centers = [], []
        self.stop_after = stop_after
        self.running = False

    def begin(self):
        assert not self.running
        self.running = True

    def end(self, record, centers):
        assert self.running
        self.running = False
        self.records.append(record)
        self.centers.append(centers.copy())
        return len(self.records) == self.stop_after


@every_engine
def test_history_tells_what_happened(engine_name):
    engine, witness = some_engine(name=engine_name), Witness()
    solution = solve(engine, start_near(blobs()), Stopping(300, 1e-7), witness)
    assert solution.outcome is StopReason.CONVERGED
    assert list(solution.history) == witness.records
    np.testing.assert_array_equal(solution.centers, witness.centers[-1])
    for record, centers in zip(solution.history, witness.centers, strict=True):
        assert record.objective == engine.sweep(centers).objective
    moved = np.diff(witness.centers, axis=0)
    shifts = np.sqrt((moved**2).sum(axis=2)).max(axis=1)
    np.testing.assert_allclose([r.shift for r in solution.history[:-1]], shifts, rtol=1e-12)
    assert solution.history[-1].shift == 0
    assert solution.objective == solution.history[-1].objective
    seconds = [record.seconds for record in solution.history]
    assert seconds[0] > 0
    assert seconds == sorted(seconds)


def test_step_is_that_of_the_statistics():
    engine, witness = some_engine(), Witness()
    solve(engine, start_near(blobs()), iterate(4), witness)
    for before, after in zip(witness.centers, witness.centers[1:], strict=False):
        np.testing.assert_array_equal(after, engine.sweep(before).centers(before))


def test_start_is_not_written_to():
    start = start_near(blobs())
    start.setflags(write=False)
    kept = start.copy()
    solve(some_engine(), start, Stopping(50, 1e-7))
    np.testing.assert_array_equal(start, kept)


def test_iterations_are_counted():
    solution = solve(some_engine(), start_near(blobs()), Stopping(3, 0.0))
    assert solution.outcome is StopReason.OUT_OF_ITERATIONS
    assert len(solution.history) == 4, "the first record is at the start"
    assert solution.history[-1].shift == 0
    assert all(record.shift > 0 for record in solution.history[:-1])


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_so_many_iterations_are_so_many_steps(count):
    engine, centers = some_engine(), start_near(blobs())
    solution = solve(engine, centers, Stopping(count, 0.0))
    for _ in range(count):
        centers = engine.sweep(centers).centers(centers)
    np.testing.assert_array_equal(solution.centers, centers)
    assert solution.objective == engine.sweep(centers).objective


def test_more_iterations_never_end_worse():
    ends = [
        solve(some_engine(), start_near(blobs()), Stopping(n, 0.0)).objective for n in range(1, 12)
    ]
    assert ends == sorted(ends, reverse=True)


@pytest.mark.parametrize("stop_after", [1, 3])
def test_an_observer_can_stop_the_loop(stop_after):
    witness = Witness(stop_after)
    solution = solve(some_engine(), start_near(blobs()), Stopping(300, 1e-7), witness)
    assert solution.outcome is StopReason.STOPPED_BY_CALLBACK
    # The step of the last iteration was not taken.
    assert solution.history[-1].shift == 0
    assert solution.history[-1].repairs == ()
    assert len(solution.history) == stop_after
    np.testing.assert_array_equal(solution.centers, witness.centers[-1])


@every_engine
@every_distinct_loss
def test_a_center_on_every_row_is_exact(engine_name, loss):
    X = blobs(N_CLUSTERS)
    engine = make_engine(engine_name, X, loss, Power(2, 1.5))
    solution = solve(engine, X.copy(), Stopping(300, 1e-7))
    assert solution.outcome is StopReason.EXACT
    assert solution.objective == 0
    assert len(solution.history) == 1


@every_engine
@every_distinct_loss
@every_minimizing_membership
def test_ends_where_nothing_pulls(engine_name, loss, membership):
    """At the end no center is pulled harder than it is held: a stationary point."""
    X = blobs()
    engine = make_engine(engine_name, X, loss, membership, row_weights(60))
    solution = settle(engine, start_on(X))
    assert solution.outcome is StopReason.CONVERGED
    statistics = engine.sweep(solution.centers)
    resultant = 2 * np.sqrt((statistics.pull**2).sum(axis=1))
    curvature = 2 * statistics.weight  # a resultant this large would move the center by 1
    assert (resultant <= statistics.kink_force + 1e-4 * curvature).all()


@every_distinct_loss
@every_membership
def test_ends_where_the_centers_are_still(loss, membership):
    """With the usual tolerance, and for rules that minimize no function too."""
    X = sparse_blobs(300, 8)
    engine = make_engine("auto", X, loss, membership)
    solution = solve(engine, start_on(X), Stopping(1000, 1e-7))
    assert solution.outcome is StopReason.CONVERGED
    step = engine.sweep(solution.centers).centers(solution.centers) - solution.centers
    assert np.abs(step).max() < 0.05  # of the width of a cluster


@every_engine
def test_the_same_run_twice_gives_the_same_bits(engine_name):
    first, second = (
        solve(some_engine(name=engine_name), start_near(blobs()), iterate(20)) for _ in range(2)
    )
    np.testing.assert_array_equal(first.centers, second.centers)
    assert [r.objective for r in first.history] == [r.objective for r in second.history]


def test_one_cluster_and_squared_loss_takes_one_step():
    X = blobs()
    solution = solve(some_engine(X, Squared(), Hard()), X[:1], Stopping(300, 1e-7))
    np.testing.assert_allclose(solution.centers[0], X.mean(axis=0), rtol=1e-12)
    assert len(solution.history) == 3
