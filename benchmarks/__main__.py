"""``python -m benchmarks [NAME ...] [--quick]`` runs all benchmarks, or those named.

A benchmark is a module of this package with a function ``run(quick)``. It prints a table, and
returns False if a limit was exceeded.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys

import benchmarks


def main() -> int:
    known = sorted(
        info.name
        for info in pkgutil.iter_modules(benchmarks.__path__)
        if not info.name.startswith("_")
    )
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {known}; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller data, for a first look")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; use one of {known}")
    passed = True
    for name in options.names or known:
        print(f"## {name}\n", flush=True)
        passed &= importlib.import_module(f"benchmarks.{name}").run(options.quick) is not False
        print(flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
