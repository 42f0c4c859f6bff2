"""What the paper printed, for comparison."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

SETS = ("orl", "yale", "coil20", "usps", "yaleb", "coil100")
"""In the order of the paper's tables."""
FUZZIFIER = 1.1
"""That of all its results."""


class Printed(NamedTuple):
    """A mean and a standard deviation, in percent."""

    mean: float
    deviation: float


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "expected.toml").read_text(encoding="utf-8"))


def printed(method: str, measure: str, data: str) -> Printed | None:
    """ACC or NMI of a method on a data set; None if the paper has none.

    Parameters
    ----------
    method : str
        As the paper calls it.
    measure : {"acc", "nmi"}
    data : str
        Name of a data set.
    """
    rows = _tables()["methods"].get(method, {})
    if measure not in rows or data not in SETS:
        return None
    return Printed(*rows[measure][SETS.index(data)])


def printed_seconds(method: str, data: str) -> float | None:
    """Run time of a method on the authors' machine; None if the paper has none."""
    rows = _tables()["methods"].get(method, {})
    if "seconds" not in rows or data not in SETS:
        return None
    return float(rows["seconds"][SETS.index(data)])


def printed_active(data: str) -> int | None:
    """Memberships per row, K~, that the paper chose for a data set."""
    found = _tables()["n_active"].get(data)
    return None if found is None else int(found)
