"""``python -m benchmarks.stability`` fits estimators as they come, from many seeds.

A cell is a case, an estimator and a seed. Cells are stored as they end, and those that are stored
are not run again, except with ``--again``. ``--cases`` takes patterns, as in ``--cases "wine"``.
``--write`` renews ``docs/stability.md`` from all stored cells.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from rich.console import Console

from benchmarks.harness import command
from benchmarks.harness.report import STORE
from benchmarks.robustness.__main__ import matching
from benchmarks.robustness.cells import Cell, wanted
from benchmarks.stability.cases import all_cases
from benchmarks.stability.measures import METHODS, ORACLE, run_cell
from benchmarks.stability.page import PAGE, write_page
from sfumato.exceptions import UserError
from sfumato.paper import store
from sfumato.paper.runner import Display, run_missing

SEEDS, QUICK_SEEDS = 20, 2


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    sections = all_cases()
    cases = matching(
        {case.name: case for each in sections.values() for case in each}, options.cases
    )
    stored = store.Store(STORE.parent / "stability" / "cells.jsonl", {}, Cell)
    cells = wanted(list(cases.values()), METHODS, options.seeds)
    cells = [cell for cell in cells if cell.method != ORACLE or cell.seed == 0]
    if options.again:
        stored.forget(cells)
    with Display(Console(stderr=True)) as display:
        run = partial(run_cell, cases=cases)
        run_missing(cells, stored, run, jobs=options.jobs, report=display.show)
    runs = list(stored.load().values())
    print(write_page(runs, sections, options.write))
    if options.write:
        print(f"Wrote {PAGE}")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = command.parser("benchmarks.stability", "Compare results over seeds.", PAGE)
    add = parser.add_argument
    add("--cases", nargs="+", default=[], metavar="PATTERN", help='as in "customers *"')
    add("--jobs", type=command.count, default=2, help="processes, of one thread each")
    add("--seeds", type=command.count, help=f"{SEEDS} by default, {QUICK_SEEDS} with --quick")
    add("--again", action="store_true", help="run the chosen cells again if they are stored")
    options = parser.parse_args(arguments)
    if options.seeds is None:
        options.seeds = QUICK_SEEDS if options.quick else SEEDS
    return options


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"python -m benchmarks.stability: {error}")
