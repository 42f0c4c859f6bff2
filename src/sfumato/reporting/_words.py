"""Words of the report: numbers, names and sentences."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

NOTHING, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
"""Signs for a number that is not there, and for a negative one."""
LONGEST_NAME = 60
"""Characters of a name that are shown. Chosen by hand, for a line of a card."""
LONGEST_TEXT = 300
"""Characters of other texts of the user that are shown."""
NOTABLE = 0.5
"""Difference from the rest, in standard deviations, from which on a feature names a cluster: a
medium effect in the words of J. Cohen, "Statistical power analysis for the behavioral sciences",
1988."""
NAMED_FEATURES = 2
"""Features in the name of a cluster."""


def clean(text: Any, longest: int = LONGEST_TEXT) -> str:
    """Text in one line without control characters, shortened."""
    found = " ".join(
        "".join(
            " " if unicodedata.category(c)[0] == "C" else c for c in str(text)[: 4 * longest]
        ).split()
    )
    shortened = len(found) > longest or len(str(text)) > 4 * longest
    return f"{found[: longest - 1]}…" if shortened else found or "(no name)"


def clean_names(names: Sequence[Any]) -> list[str]:
    """Names of features to show: short, in one line, and all different."""
    shown: list[str] = []
    seen: set[str] = set()
    for i, name in enumerate(names):
        text = clean(name, LONGEST_NAME)
        if text in seen:
            text = f"{text} (column {i})"
        seen.add(text)
        shown.append(text)
    return shown


def number(value: Any) -> str:
    """A number of three or four digits, for people."""
    found = float(value)
    if not np.isfinite(found):
        return NOTHING
    if found == 0:
        return "0"
    if 1000 <= abs(found) < 1e9:
        return f"{found:,.0f}".replace("-", MINUS)
    text = f"{found:.3g}"
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def score(value: Any) -> str:
    """An outlier score: two decimals, so that those of a column compare."""
    found = float(value)
    return f"{found:.2f}" if abs(found) < 100 else number(found)


def count(value: float, what: str) -> str:
    """A number of things."""
    shown = f"{value:,.0f}" if float(value).is_integer() else number(value)
    return f"{shown} {what}{'' if value == 1 else 's'}"


def percent(share: float) -> str:
    """Share in percent; 0 and 100 % are exact."""
    if not np.isfinite(share):
        return NOTHING
    if 0 < share < 0.001:
        return "less than 0.1 %"
    if share < 0.1:
        return f"{100 * share:.1f} %".replace(".0 %", " %")
    if 0.995 <= share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def signed(difference: float) -> str:
    """A difference in standard deviations, with its sign."""
    if not np.isfinite(difference):
        return NOTHING
    return f"{'+' if difference >= 0 else MINUS}{abs(difference):.1f}"


def trait(name: str, category: str | None, difference: float, kind: str = "number") -> str:
    """A feature as a part of the name of a cluster."""
    if category is not None:
        return f"{name}: {category}" if difference > 0 else f"{name}: not {category}"
    if kind == "boolean":
        return f"{name}: {'yes' if difference > 0 else 'no'}"
    low, high = ("early", "late") if kind == "date" else ("low", "high")
    return f"{high if difference > 0 else low} {name}"


def listed(items: Sequence[str]) -> str:
    """Items with commas and a last "and"."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def answer(
    n_rows: float, n_outliers: float, n_sure: int, sizes: Any, names: Sequence[str]
) -> list[str]:
    """The result in three sentences."""
    filled = int(np.count_nonzero(sizes))
    inside = n_rows - n_outliers
    if not inside:
        return [
            f"All {count(n_rows, 'row')} are outliers.",
            "None is near enough to a center to belong to its cluster.",
            "The clusters are not those of these rows, or there are too few rows to tell.",
        ]
    largest = int(np.argmax(sizes))
    called = f" ({names[largest]})" if names[largest] else ""
    first = (
        f"All {count(n_rows, 'row')} are in one cluster: no groups were told apart."
        if filled == 1
        else f"{count(n_rows, 'row')} fall into {filled} clusters; the largest, cluster {largest}"
        f"{called}, has {percent(sizes[largest] / n_rows)} of them."
    )
    second = (
        "Every row in a cluster belongs clearly to one alone."
        if n_sure == inside
        else f"{percent(n_sure / inside)} of the rows in clusters belong clearly to one of them, "
        "the others are shared between neighbors."
    )
    third = (
        "No row is an outlier: each is near a center."
        if not n_outliers
        else f"{count(n_outliers, 'row')} ({percent(n_outliers / n_rows)}) "
        f"{'belongs' if n_outliers == 1 else 'belong'} to no cluster: "
        f"{'it is an outlier' if n_outliers == 1 else 'they are outliers'}."
    )
    return [first, second, third]
