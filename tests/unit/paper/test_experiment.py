"""Which cells there are, and what the paper printed."""

import numpy as np
import pytest

from sfumato.paper.experiment import (
    FUZZIFIERS,
    GRID_METHOD,
    SETS,
    Cell,
    Experiment,
    Parameters,
    paper_parameters,
    printed,
    printed_active,
    printed_seconds,
    sample_of,
    spread,
)
from sfumato.paper.methods import METHODS

DIGITS = Experiment(("digits",), ("K-Means", "K-Medoids", GRID_METHOD), runs=3, quick=True)


def test_a_few_printed_figures():
    assert printed("REFCMFS", "acc", "orl") == (60.50, 2.95)
    assert printed("K-Means", "nmi", "coil100") == (75.69, 0.67)
    assert printed("FCM", "acc", "digits") is None
    assert printed("RSFKM (capped)", "acc", "orl") is None
    assert printed_seconds("GMM", "usps") == 946.8664
    assert printed_seconds("LSC", "usps") is None
    assert [printed_active(data) for data in SETS] == [10, 9, 13, 5, 3, 75]
    assert printed_active("digits") is None


@pytest.mark.parametrize("name", METHODS)
def test_rows_of_the_paper_have_all_their_figures(name):
    row = METHODS[name].printed
    if row is not None:
        for measure in ("acc", "nmi"):
            assert all(printed(row, measure, data) is not None for data in SETS)


def test_every_method_runs_from_every_seed_but_those_without_chance_once():
    table = [cell for cell in DIGITS.cells() if cell.parameters is None]
    assert table == [
        Cell("digits", "K-Means", 0),
        Cell("digits", "K-Medoids", 0),
        Cell("digits", GRID_METHOD, 0),
        Cell("digits", "K-Means", 1),
        Cell("digits", GRID_METHOD, 1),
        Cell("digits", "K-Means", 2),
        Cell("digits", GRID_METHOD, 2),
    ]


def test_the_grid_spans_all_memberships():
    grid = DIGITS.grid("digits")
    assert {p.fuzzifier for p in grid} == set(FUZZIFIERS)
    active = sorted({p.n_active for p in grid})
    assert active[0] == 2
    assert active[-1] == 9
    assert paper_parameters("digits", 10).n_active in active
    assert len(set(grid)) == len(grid)
    assert all(p.starts == 1 for p in grid)


def test_no_grid_without_its_method():
    assert all(cell.parameters is None for cell in Experiment(("digits",), ("K-Means",)).cells())


def test_no_cell_twice():
    cells = DIGITS.cells()
    assert len(set(cells)) == len(cells)


def test_a_cell_says_what_to_fit():
    task = Cell("yale", GRID_METHOD, 7).task(15)
    assert (task.n_clusters, task.seed, task.n_active, task.fuzzifier, task.starts) == (
        15,
        7,
        9,
        1.1,
        1,
    )
    chosen = Cell("yale", GRID_METHOD, 7, Parameters(4, 1.3, 5)).task(15)
    model = METHODS[GRID_METHOD].make(chosen)
    assert (model.n_active, model.fuzzifier, model.n_init, model.random_state) == (4, 1.3, 5, 7)


def test_digits():
    sample = sample_of("digits")
    assert sample.X.shape == (1797, 64)
    assert sample.X.dtype == np.float64
    assert sample.n_clusters == 10


def test_spread_by_hand():
    """Two rows 1 from their mean, one alone, and the names of the clusters do not matter."""
    X = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 5.0]])
    assert spread(X, np.array([7, 7, -1])) == pytest.approx(2 / 3)
