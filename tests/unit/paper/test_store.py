"""Finished runs survive: whatever is cut off, and whoever asks again."""

import pytest
from numpy.testing import assert_array_equal

from sfumato.exceptions import UserError
from sfumato.paper.experiment import Cell, Parameters
from sfumato.paper.store import Outcome, Store

SETTING = {"sfumato": "1"}
OUTCOMES = [
    Outcome(Cell("yale", "K-Means", 0), 1.5, 0.4, 0.5),
    Outcome(Cell("yale", "REFCMFS", 3), 1.5, 0.4, 0.5, 174_294.25),
    Outcome(Cell("yale", "GMM", 0), 9.0, error='more than 9 s, "quoted"\nand in two lines'),
    Outcome(Cell("usps", "REFCMFS", 1, Parameters(3, 1.2, 5)), 0.1, 0.1, 1 / 3, 7.0, 0.7),
]


def test_what_goes_in_comes_out(tmp_path):
    store = Store(tmp_path / "new" / "cells.jsonl", SETTING)
    assert store.load() == {}
    for outcome in OUTCOMES:
        store.add(outcome)
    found = Store(store.path, SETTING).load()
    assert list(found) == [outcome.cell for outcome in OUTCOMES]
    for outcome in OUTCOMES:
        for name in ("seconds", "acc", "nmi", "objective", "spread", "error"):
            assert_array_equal(getattr(found[outcome.cell], name), getattr(outcome, name))


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_line_that_was_cut_off_is_run_again_and_hurts_no_other(tmp_path, cut):
    store = Store(tmp_path / "cells.jsonl", SETTING)
    for outcome in OUTCOMES[:2]:
        store.add(outcome)
    store.path.write_bytes(store.path.read_bytes()[:-cut])
    whole = [OUTCOMES[0].cell] if cut > 1 else [outcome.cell for outcome in OUTCOMES[:2]]
    assert list(store.load()) == whole
    store.add(OUTCOMES[2])
    assert list(store.load()) == [*whole, OUTCOMES[2].cell]


def test_results_of_another_version_are_refused(tmp_path):
    Store(tmp_path / "cells.jsonl", SETTING).add(OUTCOMES[0])
    with pytest.raises(UserError, match="another --output"):
        Store(tmp_path / "cells.jsonl", {"sfumato": "2"}).load()


@pytest.mark.parametrize("line", ["123", "{}", "[1", '{"data": "yale"}', "null"])
def test_a_line_that_is_no_run_is_named(tmp_path, line):
    store = Store(tmp_path / "cells.jsonl", SETTING)
    store.add(OUTCOMES[0])
    store.path.write_text(store.path.read_text() + line + "}\n")
    with pytest.raises(UserError, match="line 3: not a finished run"):
        store.load()


def test_a_file_without_its_first_line_is_refused(tmp_path):
    store = Store(tmp_path / "cells.jsonl", SETTING)
    store.add(OUTCOMES[0])
    store.path.write_text("\n".join(store.path.read_text().splitlines()[1:]))
    with pytest.raises(UserError, match="another --output"):
        store.load()


def test_a_folder_in_the_place_of_the_file(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        Store(tmp_path, SETTING).load()
    with pytest.raises(UserError, match="cannot be written"):
        Store(tmp_path, SETTING).add(OUTCOMES[0])
