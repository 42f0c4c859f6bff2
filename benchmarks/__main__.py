"""``python -m benchmarks [NAME ...] [--quick] [--write]`` runs all benchmarks, or those named.

A benchmark is a module of this package with a function ``run(quick)``. It prints its tables while
it measures, and returns a report, which is stored at once. ``docs/benchmarks.md`` is written from
the newest reports after a full run of all, or with ``--write``. The exit code is 1 if a limit was
exceeded.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.harness.command import parser, run_named
from benchmarks.harness.page import newest, write_page

NAMES = (
    "defaults",
    "passes",
    "fits",
    "capped",
    "fcm",
    "growth",
    "memory",
    "imports",
    "restarts",
    "steps",
    "selection",
    "tables",
)
PAGE = "docs/benchmarks.md"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("benchmarks", "Run benchmarks.", PAGE, NAMES).parse_args(arguments)
    kept = run_named(options, "benchmarks", NAMES)
    if options.write or not (options.names or options.quick):
        write_page(newest(NAMES, with_quick=options.quick))
        print(f"Wrote {PAGE}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
