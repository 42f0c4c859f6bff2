"""``python -m benchmarks.robustness`` compares clusterings on contaminated data.

A cell is a case, a method and a seed. Cells are stored as they end, and those that are stored are
not run again, except with ``--again``. ``--cases`` takes patterns, as in
``--cases "uniform-30-*" "digits-*"``. ``--write`` renews ``docs/robustness.md`` from the stored
cells of all pictures, and of blobs that every method has finished. The exit code is 1 if a goal was
missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial

from rich.console import Console

from benchmarks.harness import command
from benchmarks.harness.page import section
from benchmarks.harness.setting import setting
from benchmarks.robustness.cases import Case, all_cases
from benchmarks.robustness.cells import run_cell, stored_cells, wanted
from benchmarks.robustness.page import reports, write_page
from benchmarks.robustness.peers import PEERS
from benchmarks.robustness.summary import Summary, complete
from sfumato.exceptions import UserError
from sfumato.paper.runner import Display, run_missing

SEEDS, QUICK_SEEDS = 10, 2
PAGE = "docs/robustness.md"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    cases = all_cases(options.quick)
    chosen = matching(cases, options.cases)
    methods = options.methods or list(PEERS)
    store = stored_cells(options.quick)
    cells = wanted(list(chosen.values()), methods, options.seeds)
    if options.again:
        store.forget(cells)
    with Display(Console(stderr=True)) as display:
        run = partial(run_cell, cases=chosen)
        run_missing(cells, store, run, jobs=options.jobs, report=display.show)
    # Only the chosen cells are printed; the page has all.
    stored = store.load().values()
    asked = Summary((run for run in stored if run.cell.method in methods), chosen)
    found = reports(asked, {}, options.quick)
    for report in found:
        print(section(report))
    if options.write:
        write_page(Summary(complete(stored, cases), cases), setting(), options.quick)
        print(f"Wrote {PAGE}")
    return 0 if all(report.kept for report in found) else 1


def matching(cases: dict[str, Case], patterns: Sequence[str]) -> dict[str, Case]:
    """Cases whose names match a pattern; all of them if there is none."""
    return {
        name: case
        for name, case in cases.items()
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    }


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = command.parser("benchmarks.robustness", "Compare clusterings under outliers.", PAGE)
    add, method = parser.add_argument, command.one_of("method", PEERS)
    add("--cases", nargs="+", default=[], metavar="PATTERN", help='as in "uniform-30-*"')
    add("--methods", nargs="+", type=method, metavar="NAME", help=f"of {', '.join(PEERS)}")
    add("--jobs", type=command.count, default=2, help="processes, of one thread each")
    add("--seeds", type=command.count, help=f"{SEEDS} by default, {QUICK_SEEDS} with --quick")
    add("--again", action="store_true", help="run the chosen cells again if they are stored")
    options = parser.parse_args(arguments)
    if options.seeds is None:
        options.seeds = QUICK_SEEDS if options.quick else SEEDS
    cases = all_cases(options.quick)
    if not matching(cases, options.cases):
        known = f"use patterns for names such as {next(iter(cases))}"
        parser.error(f"no case matches {' '.join(options.cases)}; {known}")
    return options


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"python -m benchmarks.robustness: {error}")
