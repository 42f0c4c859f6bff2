"""The tier for the daily loop: ``pytest --tier check`` runs every test, on a few of its cases.

Laws are tested over the whole catalogue of parts, storages and precisions, which makes thousands of
cases of few functions. The tier keeps ``CASES`` evenly spaced ones of each function, and leaves out
what is marked slow: whole processes, clusters of machines, long fits.
"""

from __future__ import annotations

import signal
import sys
from collections import defaultdict
from collections.abc import Iterator

import pytest

CASES = 2
"""Cases of a parametrized test in the tier ``check``, evenly spaced over all of them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--tier",
        choices=["all", "check"],
        default="all",
        help="check: a few cases of every test, and none that is slow; under a minute",
    )


def pytest_configure() -> None:
    """Undo what `nohup`, or a shell that runs the tests in the background, hands down.

    A signal that is ignored is ignored by the processes that tests start, too.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--tier") == "all":
        return
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") is None:
            cases[item.nodeid.partition("[")[0]].append(item)
    kept = {id(item) for found in cases.values() for item in spaced(found)}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]


def spaced(cases: list[pytest.Item]) -> list[pytest.Item]:
    """Evenly spaced cases, the first and the last among them."""
    if len(cases) <= CASES:
        return cases
    return [cases[round(i * (len(cases) - 1) / (CASES - 1))] for i in range(CASES)]


@pytest.fixture(autouse=True)
def no_open_figures() -> Iterator[None]:
    """Closes figures that a test leaves open in pyplot: its state is that of the whole process."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")
