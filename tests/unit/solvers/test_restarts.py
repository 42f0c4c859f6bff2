"""Starts that are thinned out on the way, with objectives made up by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sfumato import REFCMFS
from sfumato._solvers.descent import StopReason
from sfumato._solvers.restarts import HALVING, Plan, Rung, Start, label_agreement, run_starts
from sfumato.cli.cluster import FitProgress
from tests.catalogue import blobs, needs_callbacks


class Scripted:
    """Stands in for a descent: its objectives are known beforehand."""

    def __init__(self, *objectives):
        self.objectives = objectives
        self.done = 0
        self.outcome = None
        self.centers = self

    def run(self, iterations=None):
        self.done = min(iterations or len(self.objectives), len(self.objectives))
        if self.done == len(self.objectives):
            self.outcome = StopReason.CONVERGED

    def stop(self):
        self.outcome = self.outcome or StopReason.STOPPED_BY_CALLBACK

    def is_running(self):
        return self.outcome is None

    @property
    def objective(self):
        return self.objectives[self.done - 1]


def collect(starts, rungs, stop_at=None):
    """Best start, and those that ended, in order."""
    ended = []

    def on_end(start):
        def end(best):
            ended.append(start)
            return start is stop_at

        return end

    numbered = [Start(start, number, on_end(start)) for number, start in enumerate(starts)]
    best, second = run_starts(iter(numbered), rungs)
    others = [start for start in starts if start.outcome and start is not best.descent]
    assert (second is None) == (not others)
    assert second is None or second.objective == pytest.approx(
        min(other.objective for other in others)
    )
    return best.descent, ended


def test_without_rungs_all_run_to_the_end():
    starts = [Scripted(9, 5), Scripted(8, 7, 4), Scripted(3, 3, 4.5)]
    best, ended = collect(starts, ())
    assert best is starts[1]
    assert ended == starts
    assert all(start.outcome is StopReason.CONVERGED for start in starts)


def test_the_worst_are_dropped_at_each_rung():
    slow, middle, good, short = Scripted(9, 1, 1), Scripted(5, 4, 3), Scripted(6, 2, 2), Scripted(7)
    best, ended = collect([slow, middle, good, short], (Rung(1, 3), Rung(2, 1)))
    # After one iteration 9 is the worst; after two, good has 2 and middle 4, and short stays at 7.
    assert best is good
    assert ended == [short, slow, middle, good]
    assert (slow.done, middle.done, good.done) == (1, 2, 3)


def test_few_are_kept_at_a_time():
    starts = [Scripted(float(n), 0.5) for n in range(9, 0, -1)]
    ended = []

    def end(best):
        ended.append(len([s for s in starts if s.done]))
        return False

    run_starts((Start(start, 0, end) for start in starts), (Rung(1, 2),))
    # From the third start on, one is dropped as soon as the next has run.
    assert ended[:7] == [3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("rungs", [(), (Rung(1, 1),), (Rung(1, 2), Rung(2, 1))])
def test_the_first_of_equals_wins(rungs):
    equals = [Scripted(2.0, 1.5, 1.0)]
    equals += [Scripted(*np.array([2.0, 1.5, 1.0]) * (1 - n * 1e-14)) for n in range(1, 6)]
    assert collect(equals, rungs)[0] is equals[0]


@pytest.mark.parametrize("rungs", [(), (Rung(1, 1),)])
def test_whoever_is_told_can_end_all(rungs):
    starts = [Scripted(5), Scripted(4, 3, 2), Scripted(6, 1)]
    best, ended = collect(starts, rungs, stop_at=starts[0])
    assert best is starts[0]
    assert ended == starts[:1]
    assert starts[1].done == 0, "nothing else was begun"


def test_all_end_in_the_middle_of_a_race():
    starts = [Scripted(5, 4, 4), Scripted(3, 2, 1)]
    best, ended = collect(starts, (Rung(1, 2), Rung(2, 2)), stop_at=None)
    assert best is starts[1]
    assert ended == starts
    starts = [Scripted(5, 4), Scripted(3, 2, 1)]
    best, ended = collect(starts, (Rung(1, 2), Rung(2, 2)), stop_at=starts[0])
    assert best is starts[1], "it is lower, though it waits for its turn"
    assert ended == starts, "both have ended"
    assert best.outcome is StopReason.STOPPED_BY_CALLBACK


def test_auto_races_and_a_number_does_not():
    X = blobs(200, 3, 6)
    assert Plan.of("auto", random=True) == HALVING
    assert Plan.of(3, random=True) == Plan(3)
    assert Plan.of("auto", random=False) == Plan.of(3, random=False) == Plan(1)
    raced = REFCMFS(6, fuzzifier=1.5, random_state=0).fit(X)
    everyone = REFCMFS(6, fuzzifier=1.5, n_init=HALVING.starts, random_state=0).fit(X)
    np.testing.assert_allclose(raced.objective_, everyone.objective_, rtol=1e-6)
    assert raced.outcome_.converged


class Watched(FitProgress):
    """Writes down where the bar stands whenever a task ends."""

    def __init__(self):
        super().__init__(1e-7)
        self.stands = []

    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        task = self.bar.tasks[self.task]
        self.stands.append((task.completed, task.total))


@needs_callbacks
def test_the_bar_of_several_starts_only_goes_forward_and_ends_full():
    watched = Watched()
    REFCMFS(6, fuzzifier=1.5, random_state=0).set_callbacks(watched).fit(blobs(200, 3, 6))
    completed, totals = np.array(watched.stands).T
    assert (np.diff(completed) >= 0).all()
    assert totals[-1] == HALVING.total
    np.testing.assert_allclose(completed[-1], totals[-1])
    assert completed[len(completed) // 4] < totals[-1]


@pytest.mark.parametrize("n_labels", [(1, 1), (2, 5), (7, 7), (30, 3)])
def test_agreement_is_the_adjusted_rand_index(n_labels):
    rng = np.random.default_rng(0)
    for n_rows in (1, 2, 50, 3000):
        first, second = (rng.integers(n, size=n_rows).astype(np.int32) for n in n_labels)
        second[: n_rows // 2] = first[: n_rows // 2] % n_labels[1]
        expected = adjusted_rand_score(first, second)
        assert label_agreement(first, second) == pytest.approx(expected, abs=1e-12)
        assert label_agreement(first, first) == 1
        assert label_agreement(first, n_labels[0] - 1 - first) == 1, "whatever their names"


def test_two_that_agree_are_enough():
    """The second of the exchanged starts agrees with the first: the others are never begun."""
    exchanged = [Scripted(9, 5, 3), Scripted(8, 5, 3.1), Scripted(1, 1, 1)]
    plain = [Scripted(0.5)]
    starts = [Start(each, n, lambda best: False) for n, each in enumerate(exchanged)]
    others = (Start(each, 3 + n, lambda best: False) for n, each in enumerate(plain))
    best, second = run_starts(others, (Rung(1, 1),), iter(starts), lambda a, b: True)
    assert best is starts[0]
    assert second is exchanged[1]
    assert exchanged[2].done == plain[0].done == 0


def test_no_others_are_begun_where_rows_cannot_tell():
    """None of the exchanged starts agree, but the best two are alike."""
    exchanged, plain = [Scripted(9, 5, 3), Scripted(8, 5, 2), Scripted(7, 6, 5)], Scripted(0.5)
    starts = [Start(each, n, lambda best: False) for n, each in enumerate([*exchanged, plain])]
    asked = []

    def alike(best, second):
        asked.append((best, second))
        return True

    best, second = run_starts(
        starts[3:], (Rung(1, 1),), iter(starts[:3]), lambda a, b: False, alike
    )
    assert asked == [(starts[1], starts[0])]
    assert best is starts[1]
    assert second is exchanged[0]
    assert plain.done == 0
    assert all(start.has_ended for start in starts[:3])


def test_without_agreement_all_compete():
    exchanged, plain = (
        [Scripted(9, 5, 3), Scripted(8, 5, 4)],
        [Scripted(7, 6, 2), Scripted(9, 9, 9)],
    )
    starts = [Start(each, n, lambda best: False) for n, each in enumerate([*exchanged, *plain])]
    best, _ = run_starts(iter(starts[2:]), (Rung(1, 2), Rung(2, 1)), iter(starts[:2]))
    assert best is starts[2]
    assert all(start.has_ended for start in starts)


def test_a_start_near_the_best_one_is_tried_until_it_is_no_better():
    starts = [Start(Scripted(5.0), 0, lambda best: False)]
    near = iter([Scripted(4.0), Scripted(3.0), Scripted(6.0), Scripted(1.0)])
    tried = []

    def improved(best):
        tried.append(best.descent.objective)
        return Start(next(near), len(tried), lambda best: False)

    best, _ = run_starts(starts, improved=improved)
    assert best.descent.objective == 3.0
    assert tried == [5.0, 4.0, 3.0], "the fourth is not begun"
