"""``python -m benchmarks [NAME ...] [--quick] [--write]`` runs all benchmarks, or those named.

A benchmark is a module of this package with a function ``run(quick)``. It prints its tables while
it measures, and returns a report, which is stored at once. ``docs/benchmarks.md`` is written from
the newest reports after a full run of all, or where ``--write`` asks for it. The exit code is 1 if
a limit was exceeded.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from benchmarks.harness.page import newest, write_page
from benchmarks.harness.setting import setting

NAMES = ("passes", "fits", "capped", "fcm", "growth", "memory", "imports", "restarts")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    kept = True
    for name in options.names or NAMES:
        print(f"## {name}{' (quick)' if options.quick else ''}\n", flush=True)
        report = importlib.import_module(f"benchmarks.{name}").run(options.quick)
        report.setting = setting()
        report.save()
        print(f"\n{report.verdicts()}".rstrip() + "\n", flush=True)
        kept &= report.kept
    if options.write or not (options.names or options.quick):
        write_page(newest(NAMES, with_quick=options.quick))
        print("Wrote docs/benchmarks.md")
    return 0 if kept else 1


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run benchmarks.")
    help_of_names = f"of {', '.join(NAMES)}; all by default"
    parser.add_argument("names", nargs="*", metavar="NAME", help=help_of_names)
    parser.add_argument("--quick", action="store_true", help="smaller and fewer, for a first look")
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks.md in the end")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; use one of {', '.join(NAMES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
