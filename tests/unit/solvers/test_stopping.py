"""When the loop stops, and in which words."""

import pytest

from sfumato._solvers.descent import Stopping, StopReason


def outcome_of(*objectives, repaired=False, tol=0.01, max_iter=100):
    return Stopping(max_iter=max_iter, tol=tol)(objectives, repaired)


def test_goes_on_while_the_objective_falls():
    assert outcome_of(10.0) is None
    assert outcome_of(10.0, 9.0) is None
    assert outcome_of(10.0, 9.0, 8.9) is None


def test_stops_when_the_fall_is_a_small_share_of_the_value():
    assert outcome_of(10.0, 9.0, 8.95) is StopReason.CONVERGED
    assert outcome_of(10.0, 9.0, 8.95, tol=0.001) is None


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_units_do_not_matter(scale):
    assert outcome_of(10 * scale, 9 * scale, 8.95 * scale) is StopReason.CONVERGED
    assert outcome_of(10 * scale, 9 * scale, 8.5 * scale) is None


def test_stops_when_the_objective_stands_still():
    assert outcome_of(10.0, 9.0, 9.0, tol=0.0) is StopReason.CONVERGED
    assert outcome_of(9.0, 9.0, tol=0.0) is StopReason.CONVERGED
    assert outcome_of(10.0, 9.0, 9.0 * (1 + 1e-7), tol=0.0) is StopReason.CONVERGED  # rounding


def test_a_rise_is_no_convergence():
    """Only a rule that minimizes nothing lets the objective rise: its centers still move."""
    assert outcome_of(10.0, 9.0, 9.5) is None
    assert outcome_of(10.0, 9.0, 9.5, 9.49) is None
    assert outcome_of(10.0, 9.0, 9.5, 9.4, 9.39) is StopReason.CONVERGED


def test_a_zero_objective_is_exact():
    assert outcome_of(0.0) is StopReason.EXACT
    assert outcome_of(5.0, 0.0, max_iter=1) is StopReason.EXACT


def test_a_repair_counts_as_progress():
    assert outcome_of(10.0, 9.0, 9.0, repaired=True) is None


def test_iterations_run_out():
    """The first objective is that of the start, before any iteration."""
    assert outcome_of(10.0, max_iter=1) is None
    assert outcome_of(10.0, 9.0, max_iter=1) is StopReason.OUT_OF_ITERATIONS
    assert outcome_of(10.0, 9.0, max_iter=2) is None
    assert outcome_of(10.0, 9.0, 8.0, max_iter=2) is StopReason.OUT_OF_ITERATIONS
    assert outcome_of(10.0, 9.0, 8.0, repaired=True, max_iter=2) is StopReason.OUT_OF_ITERATIONS


def test_convergence_in_the_last_iteration_counts():
    assert outcome_of(10.0, 9.0, 8.99, max_iter=2) is StopReason.CONVERGED


def test_falls_that_still_grow_are_no_convergence():
    """A center very near a row leaves it slowly at first, each step many times the last one."""
    assert outcome_of(10.0, 10.0 - 1e-9, tol=1e-7) is None
    assert outcome_of(10.0, 10.0 - 1e-9, 10.0 - 1e-8, tol=1e-7) is None
    assert outcome_of(10.0, 10.0 - 1e-9, 10.0 - 1.5e-9, tol=1e-7) is StopReason.CONVERGED


def test_outcomes_are_words():
    for outcome in StopReason:
        assert str(outcome) == outcome.value
        assert len(str(outcome).split()) > 3
    assert "raise `max_iter`" in str(StopReason.OUT_OF_ITERATIONS)
    assert StopReason.CONVERGED.converged
    assert StopReason.EXACT.converged
    assert not StopReason.OUT_OF_ITERATIONS.converged
    assert not StopReason.STOPPED_BY_CALLBACK.converged
