"""``python -m benchmarks.scale [NAME ...] [--quick] [--write]``: larger than memory, or a machine.

Of streaming, distributed, seeding, model: all by default. A report is stored as soon as it is
there; ``--write`` renews ``docs/scale.md`` from the newest ones. The full form keeps two files of
6.4 GB each under ``build/scale``. The exit code is 1 if a limit was exceeded.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.harness.command import parser, run_named
from benchmarks.harness.page import newest
from benchmarks.scale.page import write_page

NAMES = ("streaming", "distributed", "seeding", "model")
PAGE = "docs/scale.md"
VERSIONS = ("dask", "distributed", "pyarrow", "dask-ml")
"""Packages whose versions a report holds instead of those of the usual peers."""


def main(arguments: Sequence[str] | None = None) -> int:
    description = "Time passes over files and on clusters."
    options = parser("benchmarks.scale", description, PAGE, NAMES).parse_args(arguments)
    kept = run_named(options, "benchmarks.scale", NAMES, VERSIONS)
    if options.write:
        write_page(newest(NAMES, with_quick=options.quick))
        print(f"Wrote {PAGE}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
