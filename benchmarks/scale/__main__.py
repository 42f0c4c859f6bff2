"""``python -m benchmarks.scale [NAME ...] [--quick] [--write]``: larger than memory, or a machine.

Of streaming, distributed, seeding, model: all by default. A report is stored as soon as it is
there; ``--write`` renews ``docs/scale.md`` from the newest ones. The full form keeps two files of
6.4 GB each under ``build/scale``. The exit code is 1 if a limit was exceeded.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from benchmarks.harness.page import newest
from benchmarks.harness.setting import setting
from benchmarks.scale.page import write_page

NAMES = ("streaming", "distributed", "seeding", "model")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    kept = True
    for name in options.names or NAMES:
        print(f"## {name}{' (quick)' if options.quick else ''}\n", flush=True)
        report = importlib.import_module(f"benchmarks.scale.{name}").run(options.quick)
        report.setting = setting(("dask", "distributed", "pyarrow", "dask-ml"))
        report.save()
        print(f"\n{report.verdicts()}".rstrip() + "\n", flush=True)
        kept &= report.kept
    if options.write:
        write_page(newest(NAMES, with_quick=options.quick))
        print("Wrote docs/scale.md")
    return 0 if kept else 1


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description="Time passes over files and on clusters."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="smaller, for a first look")
    parser.add_argument("--write", action="store_true", help="renew docs/scale.md in the end")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; use one of {', '.join(NAMES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
