"""``python -m benchmarks.robustness`` compares clusterings on contaminated data.

A cell is a case, a method and a seed. Cells are stored as they end, and those that are stored are
not run again, unless ``--again`` asks for it. ``--cases`` takes patterns, as in
``--cases "uniform-30-*" "digits-*"``. ``docs/robustness.md`` is written where ``--write`` asks for
it, from the stored cells of all pictures, and of blobs that every method has been through. The exit
code is 1 if a goal was missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase

from benchmarks.harness.page import section
from benchmarks.harness.report import measuring
from benchmarks.harness.setting import setting
from benchmarks.robustness.cases import Case, all_cases
from benchmarks.robustness.cells import Store, run_missing, wanted
from benchmarks.robustness.page import reports, write_page
from benchmarks.robustness.peers import PEERS
from benchmarks.robustness.summary import Summary, complete

SEEDS, QUICK_SEEDS = 10, 2


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    cases = all_cases(options.quick)
    chosen = matching(cases, options.cases)
    methods = [name for name in options.methods or PEERS if PEERS[name].available]
    for name in sorted(set(options.methods or PEERS) - set(methods)):
        measuring(f"{name} is not there yet, and left out")
    store = Store.usual(options.quick)
    cells = wanted(list(chosen.values()), methods, options.seeds)
    if options.again:
        store.forget((case.name, method, seed) for case, method, seed in cells)
    run_missing(cells, store, options.jobs)
    # What is printed is what was asked for; the page has everything.
    stored = store.load().values()
    asked = Summary((c for c in stored if c.method in methods), chosen)
    found = reports(asked, {}, options.quick)
    for report in found:
        print(section(report))
    if options.write:
        write_page(Summary(complete(stored, cases), cases), setting(), options.quick)
        print("Wrote docs/robustness.md")
    return 0 if all(report.kept for report in found) else 1


def matching(cases: dict[str, Case], patterns: Sequence[str]) -> dict[str, Case]:
    """Cases whose names match a pattern; all of them if there is none."""
    return {
        name: case
        for name, case in cases.items()
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    }


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.robustness", description="Compare clusterings under outliers."
    )
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases, two seeds")
    parser.add_argument(
        "--cases", nargs="+", default=[], metavar="PATTERN", help='as in "uniform-30-*"'
    )
    parser.add_argument(
        "--methods", nargs="+", choices=PEERS, metavar="NAME", help=", ".join(PEERS)
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--seeds", type=int, help=f"{SEEDS} by default")
    parser.add_argument("--again", action="store_true", help="forget what is stored of the chosen")
    parser.add_argument("--write", action="store_true", help="renew docs/robustness.md in the end")
    options = parser.parse_args(arguments)
    if options.seeds is None:
        options.seeds = QUICK_SEEDS if options.quick else SEEDS
    if not matching(all_cases(options.quick), options.cases):
        parser.error(f"no case matches {' '.join(options.cases)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
