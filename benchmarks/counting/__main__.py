"""``python -m benchmarks.counting`` compares ways to find the number of clusters.

A cell is a case, a method and a seed, which draws the data too. Cells are stored as they end, and
those that are stored are not run again, except with ``--again``. ``--cases`` takes patterns, as in
``--cases "box*"``, ``--methods`` names. ``--write`` renews ``docs/how-many-clusters.md`` from all
stored cells.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from itertools import product

from rich.console import Console

from benchmarks.counting.cells import METHODS, all_cases, run_cell
from benchmarks.counting.page import PAGE, page_of
from benchmarks.harness import command
from benchmarks.harness.page import DOCS
from benchmarks.harness.report import STORE
from benchmarks.robustness.__main__ import matching
from benchmarks.robustness.cells import Cell
from sfumato.exceptions import UserError
from sfumato.paper import store
from sfumato.paper.runner import Display, run_missing

SEEDS, QUICK_SEEDS = 10, 1


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    sections = all_cases()
    everything = {name: make for cases in sections.values() for name, make in cases.items()}
    cases = matching(everything, options.cases)
    stored = store.Store(STORE.parent / "counting" / "cells.jsonl", {}, Cell)
    fixed = set(sections["Real data"])
    cells = [
        Cell(case, method, seed)
        for case, method, seed in product(cases, options.methods, range(options.seeds))
        if seed == 0 or case not in fixed
    ]
    if options.again:
        stored.forget(cells)
    with Display(Console(stderr=True)) as display:
        run = partial(run_cell, cases=cases)
        run_missing(cells, stored, run, jobs=options.jobs, report=display.show)
    text = page_of(stored.load().values(), sections)
    print(text)
    if options.write:
        (DOCS / "how-many-clusters.md").write_text(text, encoding="utf-8")
        print(f"Wrote {PAGE}")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = command.parser("benchmarks.counting", "Compare numbers of clusters.", PAGE)
    add = parser.add_argument
    add("--cases", nargs="+", default=[], metavar="PATTERN", help='as in "box*"')
    add("--methods", nargs="+", default=list(METHODS), choices=METHODS, help="all by default")
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
        sys.exit(f"python -m benchmarks.counting: {error}")
