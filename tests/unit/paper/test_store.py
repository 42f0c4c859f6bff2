"""Finished runs survive: whatever is cut off, and whoever asks again."""

from dataclasses import replace
from math import inf, nan

import pytest

from sfumato.exceptions import UserError
from sfumato.paper.experiment import Cell, Parameters, Run, Store

SETTING = {"sfumato": "1"}
RUNS = [
    Run(Cell("yale", "K-Means", 0), 1.5, {"acc": 0.4, "nmi": 0.5}),
    Run(Cell("yale", "REFCMFS", 3), 1.5, {"acc": 0.4, "objective": 174_294.25}),
    Run(Cell("yale", "GMM", 0), 9.0, error='more than 9 s, "quoted"\nand in two lines'),
    Run(Cell("usps", "REFCMFS", 1, Parameters(3, 1.2, 5)), 0.1, {"acc": 0.1, "nmi": 1 / 3}),
]


def test_what_goes_in_comes_out(tmp_path):
    store = Store(tmp_path / "new" / "cells.jsonl", SETTING, Cell)
    assert store.load() == {}
    for run in RUNS:
        store.add(run)
    found = Store(store.path, SETTING, Cell).load()
    assert list(found.items()) == [(run.cell, run) for run in RUNS]


def test_measures_that_are_not_finite_are_left_out(tmp_path):
    store = Store(tmp_path / "cells.jsonl", SETTING, Cell)
    store.add(replace(RUNS[0], measures={"acc": 0.4, "nmi": nan, "spread": inf}))
    assert store.load()[RUNS[0].cell].measures == {"acc": 0.4}


def test_forgotten_cells_are_gone_and_others_stay(tmp_path):
    store = Store(tmp_path / "cells.jsonl", SETTING, Cell)
    for run in RUNS:
        store.add(run)
    store.forget([RUNS[1].cell, Cell("orl", "GMM", 7)])
    assert list(store.load().values()) == [RUNS[0], *RUNS[2:]]
    store.add(RUNS[1])
    assert set(store.load()) == {run.cell for run in RUNS}


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_line_that_was_cut_off_is_run_again_and_hurts_no_other(tmp_path, cut):
    store = Store(tmp_path / "cells.jsonl", SETTING, Cell)
    for run in RUNS[:2]:
        store.add(run)
    store.path.write_bytes(store.path.read_bytes()[:-cut])
    whole = [RUNS[0].cell] if cut > 1 else [run.cell for run in RUNS[:2]]
    assert list(store.load()) == whole
    store.add(RUNS[2])
    assert list(store.load()) == [*whole, RUNS[2].cell]


def test_results_of_another_version_are_refused(tmp_path):
    Store(tmp_path / "cells.jsonl", SETTING, Cell).add(RUNS[0])
    with pytest.raises(UserError, match="use another folder"):
        Store(tmp_path / "cells.jsonl", {"sfumato": "2"}, Cell).load()


@pytest.mark.parametrize("line", ["123", "{}", "[1", '{"data": "yale"}', "null"])
def test_a_line_that_is_no_run_is_named(tmp_path, line):
    store = Store(tmp_path / "cells.jsonl", SETTING, Cell)
    store.add(RUNS[0])
    store.path.write_text(store.path.read_text() + line + "}\n")
    with pytest.raises(UserError, match="line 3: not a finished run"):
        store.load()


def test_a_file_without_its_first_line_is_refused(tmp_path):
    store = Store(tmp_path / "cells.jsonl", SETTING, Cell)
    store.add(RUNS[0])
    store.path.write_text("\n".join(store.path.read_text().splitlines()[1:]))
    with pytest.raises(UserError, match="use another folder"):
        store.load()


def test_a_folder_in_the_place_of_the_file(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        Store(tmp_path, SETTING, Cell).load()
    with pytest.raises(UserError, match="cannot be written"):
        Store(tmp_path, SETTING, Cell).add(RUNS[0])
