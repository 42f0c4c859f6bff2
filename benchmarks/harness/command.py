"""What the commands of the benchmarks share: their options, and the loop over named benchmarks."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterable, Sequence

from benchmarks.harness.report import Report
from benchmarks.harness.setting import setting


def parser(
    module: str, description: str, page: str, names: Sequence[str] = ()
) -> argparse.ArgumentParser:
    """Parser of ``python -m module [NAME ...] [--quick] [--write]``; no NAME if there are none."""
    found = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    if names:
        known, words = one_of("benchmark", names), f"of {', '.join(names)}; all by default"
        found.add_argument("names", nargs="*", type=known, metavar="NAME", help=words)
    found.add_argument("--quick", action="store_true", help="fewer and smaller, for a first look")
    found.add_argument("--write", action="store_true", help=f"renew {page} in the end")
    return found


def one_of(what: str, names: Iterable[str]) -> Callable[[str], str]:
    """Type of an argument that is one of the names."""
    known = tuple(names)

    def checked(given: str) -> str:
        if given in known:
            return given
        raise argparse.ArgumentTypeError(
            f"no {what} is called {given}; use one of {', '.join(known)}"
        )

    return checked


def count(given: str) -> int:
    """Type of an argument that is an integer of at least 1."""
    if not given.isdecimal() or int(given) < 1:
        raise argparse.ArgumentTypeError(f"{given} is not an integer of at least 1; use 1 or more")
    return int(given)


def run_named(
    options: argparse.Namespace, package: str, names: Sequence[str], versions: tuple[str, ...] = ()
) -> bool:
    """Run the named benchmarks, or all; print and store their reports.

    A benchmark is a module of ``package`` with a function ``run(quick)`` that returns a Report;
    ``versions`` are the peers whose versions it holds. Returns whether all limits were kept.
    """
    kept = True
    for name in options.names or names:
        print(f"## {name}{' (quick)' if options.quick else ''}\n", flush=True)
        report: Report = importlib.import_module(f"{package}.{name}").run(options.quick)
        report.setting = setting(versions)
        report.save()
        print(f"\n{report.verdicts()}".rstrip() + "\n", flush=True)
        kept &= report.kept
    return kept
