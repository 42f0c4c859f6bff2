"""What was decided about each column of a table, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from sfumato._typing import Floats

USED = ("number", "date", "boolean", "category")
"""Kinds of columns that are used."""
KINDS = (*USED, "identifier", "constant", "empty", "left out")
POWERS = {
    "": "",
    "sqrt": "square root",
    "log": "logarithm",
    "asinh": "logarithm on either side of 0",
}
"""Functions of numbers, and their names."""


@dataclass(frozen=True)
class Decision:
    """What a column of a table is, and what is done with it.

    Attributes
    ----------
    column : str
    kind : {"number", "date", "boolean", "category", "identifier", "constant", "empty", "left out"}
        Columns of the last four kinds are not used.
    action, reason : str
        What is done, and why.
    missing : float
        Share of missing values, those that cannot be read included.
    unreadable : float
        Share of values that are not of the kind, such as a word among numbers.
    absurd : float
        Share of numbers that are too far from all others to be believed.
    power : {"", "sqrt", "log", "asinh"}
        Whether square roots, logarithms or inverse hyperbolic sines of the numbers are used.
    shift : float
        Added to numbers before the logarithm or root is taken; with "asinh", what divides them.
    low, high : float
        Bounds of the numbers, roots or logarithms, beyond which they are absurd.
    center, scale : float
        Subtracted from the numbers, and divided by.
    date_format : str
        How dates are written; "" for others.
    levels : tuple of str
        Categories that have a column of their own.
    weight : float
        Factor of the columns of a category.
    """

    column: str
    kind: str
    action: str
    reason: str
    missing: float = 0.0
    unreadable: float = 0.0
    absurd: float = 0.0
    power: str = ""
    shift: float = 0.0
    low: float = -np.inf
    high: float = np.inf
    center: float = 0.0
    scale: float = 1.0
    date_format: str = ""
    levels: tuple[str, ...] = ()
    weight: float = 1.0

    @property
    def used(self) -> bool:
        """Whether the column is used."""
        return self.kind in USED

    @property
    def is_category(self) -> bool:
        """Whether each of its values has a column."""
        return self.kind == "category"

    def leveled(self, numbers: Floats) -> Floats:
        """Numbers, or a function of them, as ``power`` says; NaN where there is none."""
        if not self.power:
            return numbers
        if self.power == "asinh":
            return np.arcsinh(numbers / self.shift)
        shifted = numbers + self.shift
        if self.power == "sqrt":
            return np.sqrt(np.where(shifted >= 0, shifted, np.nan))
        return np.log(np.where(shifted > 0, shifted, np.nan))

    def in_units(self, leveled: Floats) -> Floats:
        """Numbers from what ``leveled`` makes of them."""
        if not self.power:
            return leveled
        if self.power == "asinh":
            return np.sinh(leveled) * self.shift
        if self.power == "sqrt":
            return np.maximum(leveled, 0.0) ** 2 - self.shift
        return np.exp(leveled) - self.shift

    def __str__(self) -> str:
        text = f"{self.column}: {self.kind}, {self.action} ({self.reason})"
        if self.used and self.missing:
            text += f"; {percent(self.missing)} missing"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return what a person wants to know, as plain values."""
        shares = {name: float(getattr(self, name)) for name in ("missing", "unreadable", "absurd")}
        return {
            "column": self.column,
            "kind": self.kind,
            "action": self.action,
            "reason": self.reason,
            **shares,
        }


class Decisions(Sequence[Decision]):
    """Decisions about the columns of a table, in their order.

    Parameters
    ----------
    decisions : sequence of Decision
    """

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self._all = tuple(decisions)

    @overload
    def __getitem__(self, index: int) -> Decision: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Decision]: ...

    def __getitem__(self, index: int | slice) -> Decision | Sequence[Decision]:
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self._all)

    def of(self, column: str) -> Decision:
        """Return the decision about a column."""
        return next(each for each in self._all if each.column == column)

    @property
    def used(self) -> list[Decision]:
        """Decisions about the columns that are used."""
        return [each for each in self._all if each.used]

    def to_frame(self) -> Any:
        """Return the decisions as a pandas frame, with one row for each column."""
        import pandas as pd

        return pd.DataFrame([each.to_dict() for each in self._all])

    def to_list(self) -> list[dict[str, Any]]:
        """Return the decisions as plain values, e.g. for JSON."""
        return [each.to_dict() for each in self._all]

    def __str__(self) -> str:
        return "\n".join(map(str, self._all))

    def __repr__(self) -> str:
        return f"<Decisions about {len(self)} columns, {len(self.used)} used>\n{self}"


def percent(share: float) -> str:
    """Share as text."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    return f"{100 * share:.1f} %".replace(".0 %", " %")
