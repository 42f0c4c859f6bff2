"""What finished runs say, worked out by hand; and that the choice without labels sees none."""

from dataclasses import replace

import numpy as np
import pytest

from sfumato.paper.experiment import GRID_METHOD, Cell, Parameters, Run
from sfumato.paper.results import BY_LABELS, WITHOUT_LABELS, Results, starts_needed

COMPACT, ACCURATE = Parameters(3, 1.1), Parameters(5, 1.1)
SPREAD = {COMPACT: 2.0, ACCURATE: 3.0}
ACC = {COMPACT: [0.5, 0.6, 0.7], ACCURATE: [0.8, 0.8, 0.8]}


def run(parameters=None, seed=0, method=GRID_METHOD, *, seconds=1.0, error="", **measures):
    return Run(Cell("toy", method, seed, parameters), seconds, {"objective": 1.0} | measures, error)


def grid(acc=ACC, objectives=(1.0, 1.0, 1.0)):
    return [
        run(p, seed, acc=acc[p][seed], nmi=0.5, spread=SPREAD[p], objective=objectives[seed])
        for p in ACC
        for seed in range(3)
    ]


def test_means_and_deviations():
    results = Results([run(acc=0.5, nmi=0.25), run(seed=1, acc=0.7, nmi=0.25, seconds=3.0)])
    score = results.score("toy", GRID_METHOD, "acc")
    assert score.mean == pytest.approx(60)
    assert score.deviation == pytest.approx(10)
    assert score.runs == 2
    assert results.score("toy", GRID_METHOD, "nmi") == pytest.approx((25, 0, 2))
    assert results.seconds("toy", GRID_METHOD) == 2.0
    assert results.reason("toy", GRID_METHOD) == ""
    assert results.score("toy", "GMM", "acc") is None
    assert results.seconds("toy", "GMM") is None


def test_failed_runs_do_not_count_unless_all_failed():
    failed = run(seed=1, error="more than 3 s")
    assert Results([run(acc=0.5, nmi=0.5), failed]).score("toy", GRID_METHOD, "acc").runs == 1
    assert Results([run(acc=0.5, nmi=0.5), failed]).reason("toy", GRID_METHOD) == "more than 3 s"
    alone = Results([failed])
    assert alone.score("toy", GRID_METHOD, "acc") is None
    assert alone.reason("toy", GRID_METHOD) == "more than 3 s"


def test_labels_choose_the_highest_accuracy():
    results = Results(grid())
    assert results.chosen_by_labels("toy") == ACCURATE
    assert results.score("toy", BY_LABELS, "acc").mean == pytest.approx(80)
    assert results.grid("toy", "acc")[COMPACT] == pytest.approx(60)


def test_without_labels_the_most_compact_is_chosen():
    results = Results(grid())
    assert results.chosen_without_labels("toy") == COMPACT
    assert results.score("toy", WITHOUT_LABELS, "acc").mean == pytest.approx(60)


def test_the_choice_without_labels_does_not_depend_on_them():
    rng = np.random.default_rng(0)
    for _ in range(20):
        acc = {p: rng.uniform(size=3) for p in ACC}
        runs = [replace(o, measures=o.measures | {"nmi": rng.uniform()}) for o in grid(acc)]
        rng.shuffle(runs)
        assert Results(runs).chosen_without_labels("toy") == COMPACT


def test_ties_do_not_depend_on_the_order_in_which_runs_ended():
    alike = grid({p: [0.5, 0.5, 0.5] for p in ACC})
    expected = Results(alike).chosen_by_labels("toy")
    assert Results(alike[::-1]).chosen_by_labels("toy") == expected


def test_runs_of_the_chosen_number_of_starts():
    runs = grid(objectives=(1.0, 1.1, 1.1))
    chosen = COMPACT._replace(starts=3)
    assert Results(runs).chosen_without_labels("toy") == chosen
    again = [run(chosen, seed, acc=0.9, nmi=0.9, spread=1.0) for seed in range(2)]
    results = Results(runs + again)
    assert results.score("toy", WITHOUT_LABELS, "acc") == pytest.approx((90, 0, 2))
    assert results.chosen_without_labels("toy") == chosen, "more starts are no part of the grid"


@pytest.mark.parametrize("more", [COMPACT, ACCURATE])
def test_more_seeds_of_a_chosen_cell_do_not_change_the_choice(more):
    extra = [run(more, seed, acc=0.0, nmi=0.5, spread=9.0) for seed in (3, 4)]
    results = Results(grid() + extra)
    assert results.chosen_by_labels("toy") == ACCURATE
    assert results.chosen_without_labels("toy") == COMPACT
    assert results.grid_seeds("toy") == 3


def test_parameters_with_a_failed_run_are_not_chosen():
    runs = [
        run(o.cell.parameters, o.cell.seed, error="no") if o.cell == grid()[0].cell else o
        for o in grid()
    ]
    assert Results(runs).chosen_without_labels("toy") == ACCURATE


def test_starts_needed_by_hand():
    """Of 1, 2, 2, 2 one start has the lowest with a chance of 1/4, k of them with k/4."""
    assert starts_needed([1.0, 1.0, 1.0]) == 1
    assert starts_needed([2.0, 1.0, 2.0, 2.0]) == 4
    # One: (1 + 1.0015 + 1.003) / 3 > 1.001; the lower of two: (1 + 1 + 1.0015) / 3 < 1.001.
    assert starts_needed([1.003, 1.0, 1.0015]) == 2
    assert starts_needed([5.0]) == 1


def test_no_results():
    results = Results([])
    assert results.chosen_by_labels("toy") is None
    assert results.chosen_without_labels("toy") is None
    assert results.score("toy", BY_LABELS, "acc") is None
