"""``python -m benchmarks.anomalies`` compares detectors on sets with labelled anomalies.

The sets are the .npz files, with ``X`` and ``y``, of the folder ``outliers`` in the folder that
SFUMATO_DATA names: those of ADBench. A cell is a set, a detector and a seed. Cells are stored as
they end, and those that are stored are not run again, except with ``--again``. ``--sets`` takes
patterns, as in ``--sets "*wine"``, ``--methods`` names. ``--write`` renews ``docs/anomalies.md``
from all stored cells.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import product

from rich.console import Console

from benchmarks.anomalies.cells import DETECTORS, QUICK_ROWS, SEEDS, available, run_cell
from benchmarks.anomalies.page import PAGE, page_of
from benchmarks.harness import command
from benchmarks.harness.page import DOCS
from benchmarks.harness.report import STORE
from benchmarks.robustness.__main__ import matching
from benchmarks.robustness.cells import Cell
from sfumato.exceptions import UserError
from sfumato.paper import store
from sfumato.paper.runner import Display, run_missing


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    sets = matching(available(QUICK_ROWS if options.quick else None), options.sets)
    if not sets:
        sys.exit("No sets: SFUMATO_DATA must name a folder that has a folder called outliers.")
    cells = [
        Cell(name, method, seed)
        for name, (method, detector) in product(sets, DETECTORS.items())
        for seed in range(options.seeds if detector.random else 1)
        if method in options.methods
    ]
    stored = store.Store(STORE.parent / "anomalies" / "cells.jsonl", {}, Cell)
    if options.again:
        stored.forget(cells)
    with Display(Console(stderr=True)) as display:
        run_missing(cells, stored, run_cell, jobs=options.jobs, report=display.show)
    text = page_of(stored.load().values())
    print(text)
    if options.write:
        (DOCS / "anomalies.md").write_text(text, encoding="utf-8")
        print(f"Wrote {PAGE}")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = command.parser("benchmarks.anomalies", "Compare detectors of outliers.", PAGE)
    add = parser.add_argument
    add("--sets", nargs="+", default=[], metavar="PATTERN", help='as in "*wine"')
    add("--methods", nargs="+", default=list(DETECTORS), choices=DETECTORS, help="all by default")
    add("--jobs", type=command.count, default=1, help="processes, of one thread each")
    add("--seeds", type=command.count, default=SEEDS, help=f"{SEEDS} by default")
    add("--again", action="store_true", help="run the chosen cells again if they are stored")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"python -m benchmarks.anomalies: {error}")
