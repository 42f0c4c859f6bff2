"""The rule that decides what is done with each column of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sfumato._tables.columns import Found, find_kind
from sfumato._tables.decisions import POWERS, Decision, percent
from sfumato._tables.scaling import find_bounds, find_powers, near_spreads, shift_of
from sfumato._typing import Floats
from sfumato.exceptions import shown

SAMPLE_ROWS, FEWEST_ROWS, SAMPLE_VALUES = 50_000, 5000, 1 << 18
"""Rows from which decisions are made, at most; of wide tables fewer, such that they have a
quarter of a million values (2 MB), of which several copies are made, but at least 5000. Chosen by
hand."""
RARE = 0.01
"""Share of the rows below which a category has no column: most are misspelled, and a column that
hardly ever differs from zero says nothing about clusters. Chosen by hand."""
ALIKE = 4.0
"""Ratio of the largest scale of the columns to the smallest, up to which a table of nothing but
numbers is taken to have one unit. Chosen by hand."""


class Rules(NamedTuple):
    """Parameters of :class:`TablePreparer` that decisions depend on."""

    scale: str
    skewed: str
    absurd: str
    category_weight: float
    max_categories: int
    decimal: str
    forced: Mapping[str, str]
    """Kinds that the user has given, by columns; "left out" for columns to leave out."""


def sample_size(n_columns: int) -> int:
    """Rows from which decisions about so many columns are made."""
    return max(FEWEST_ROWS, min(SAMPLE_ROWS, SAMPLE_VALUES // max(1, n_columns)))


def chosen_rows(n_rows: int, count: int) -> Any:
    """Numbers of the rows of a sample in ascending order, the same in every call."""
    if n_rows <= count:
        return np.arange(n_rows)
    keys = row_keys(0, n_rows)
    return np.sort(np.argpartition(keys, count - 1)[:count])


def row_keys(begin: int, end: int) -> Any:
    """Pseudorandom keys of rows by their numbers; a sample is the rows with the smallest ones.

    So a file that is read chunk by chunk has the same sample as one that is read whole. The
    numbers are mixed as in SplitMix64, of G. L. Steele, D. Lea, C. H. Flood, "Fast splittable
    pseudorandom number generators", OOPSLA 2014.
    """
    keys = np.arange(begin, end, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def decide(frame: Any, rules: Rules) -> tuple[list[Decision], str]:
    """Decisions about the columns of a frame, and the scale: "auto" becomes one of the others."""
    decisions, values = [], {}
    for name in frame.columns:
        forced = rules.forced.get(name)
        if forced == "left out":
            decisions.append(Decision(name, "left out", "not used", "as you said"))
            continue
        found = find_kind(frame[name], forced, rules.decimal)
        decisions.append(_first(name, found, rules))
        values[name] = found.values
    scale = rules.scale
    if scale == "auto":
        scale = _automatic(decisions, values)
        if scale == "none" and _is_plain(decisions):
            return [replace(d, reason=f"{d.reason}, all columns alike") for d in decisions], scale
    return _scaled(decisions, values, scale, rules), scale


def _first(name: str, found: Found, rules: Rules) -> Decision:
    """Decision about a column on its own."""
    import pandas as pd

    gone = float(pd.isna(found.values).mean()) if len(found.values) else 0.0
    made = Decision(name, found.kind, "not used", found.reason, gone, float(found.unreadable))
    if found.kind == "category":
        least = 0.0 if name in rules.forced else RARE
        return _coded(made, pd.Series(found.values).dropna().value_counts(), least, rules)
    if not made.used:
        return made
    actions = {"number": "as it is", "date": "days since 1970-01-01", "boolean": "0 and 1"}
    return replace(made, action=actions[found.kind], date_format=found.date_format)


def _coded(decision: Decision, counts: Any, least: float, rules: Rules) -> Decision:
    """Decision about categories, from the number of rows of each, the commonest first."""
    common = counts.index[counts >= least * counts.sum()][: rules.max_categories]
    if not len(common):
        why = f"{decision.reason}, none of {len(counts)} values is in {percent(RARE)} of the rows"
        return replace(decision, kind="left out", reason=why)
    weight = float(rules.category_weight)
    what = f"{len(common)} categories, one-hot, weight {weight:.3g}"
    if len(counts) > len(common):
        what = f"the {len(common)} commonest of {len(counts)} categories, one-hot, weight "
        what += f"{weight:.3g}"
    return replace(decision, action=what, levels=tuple(map(str, common)), weight=weight)


def _is_plain(decisions: Sequence[Decision]) -> bool:
    """Whether there is nothing to do: numbers alone, all of them there."""
    return all(each.kind == "number" and not each.missing for each in decisions)


def _automatic(decisions: Sequence[Decision], values: Mapping[str, Any]) -> str:
    """Return "none" for a table of numbers of one unit, otherwise "robust"."""
    if any(each.used and each.kind != "number" for each in decisions):
        return "robust"
    columns = [values[each.column] for each in decisions if each.kind == "number"]
    if len(columns) < 2:
        return "none"
    spreads = near_spreads(np.column_stack(columns), np.random.default_rng(0))
    return "robust" if spreads.max() > ALIKE * spreads.min() else "none"


def _scaled(
    decisions: Sequence[Decision], values: Mapping[str, Any], scale: str, rules: Rules
) -> list[Decision]:
    """Decisions with logarithms, bounds, centers and scales of numbers."""
    powers: dict[str, str] = {}
    numeric = [each.column for each in decisions if each.kind == "number"]
    if numeric and scale == "robust" and rules.skewed == "level":
        columns = np.column_stack([values[name] for name in numeric])
        found = find_powers(columns, np.random.default_rng(0))
        powers = dict(zip(numeric, found, strict=True))
    made = [_bounded(each, values, powers.get(each.column, ""), rules) for each in decisions]
    chosen = [each for each in made if each.kind in ("number", "date")]
    if chosen and scale != "none":
        columns = np.column_stack([read_numbers(each, values[each.column]) for each in chosen])
        if scale == "robust":
            scales = near_spreads(columns, np.random.default_rng(0))
            centers = np.nanmedian(columns, axis=0)
        else:
            scales, centers = np.nanstd(columns, axis=0), np.nanmean(columns, axis=0)
        scales = np.where(scales > 0, scales, 1.0)
        places = {each.column: place for place, each in enumerate(chosen)}
        made = [
            _with_scale(each, centers[places[each.column]], scales[places[each.column]], scale)
            if each.column in places
            else each
            for each in made
        ]
    return [_with_boolean(each, scale, rules) for each in made]


def _bounded(decision: Decision, values: Mapping[str, Any], power: str, rules: Rules) -> Decision:
    """Decision about numbers with their power and bounds."""
    if decision.kind not in ("number", "date"):
        return decision
    column = values[decision.column]
    there = column[~np.isnan(column)]
    shift = shift_of(there, power) if power else 0.0
    decision = replace(decision, power=power, shift=shift)
    if rules.absurd == "missing":
        low, high = find_bounds(decision.leveled(there))
        decision = replace(decision, low=low, high=high)
    read = read_numbers(decision, column)
    absurd = float(np.mean(np.isnan(read) & ~np.isnan(column)))
    return replace(decision, absurd=absurd, missing=decision.missing + absurd)


def _with_scale(decision: Decision, center: float, scale: float, rule: str) -> Decision:
    """Decision about numbers with its scale, in words."""
    spread = "spread among near rows" if rule == "robust" else "standard deviation"
    words = f"divided by {shown(float(f'{scale:.3g}'))}, the {spread}"
    if decision.kind == "date":
        words = f"days, {words}"
    if decision.power:
        words = f"{POWERS[decision.power]}, {words}"
    if decision.absurd:
        words += f"; {percent(decision.absurd)} absurd values taken as missing"
    if decision.unreadable:
        words += f"; {percent(decision.unreadable)} unreadable ones too"
    return replace(decision, action=words, center=float(center), scale=float(scale))


def _with_boolean(decision: Decision, scale: str, rules: Rules) -> Decision:
    """Yes and no are as far apart as two categories."""
    if decision.kind != "boolean" or scale == "none":
        return decision
    weight = float(rules.category_weight * np.sqrt(2))
    return replace(decision, scale=1 / weight, action=f"0 and 1, weight {weight:.3g}")


def read_numbers(decision: Decision, numbers: Floats) -> Floats:
    """Numbers of a column before they are scaled; NaN for absurd ones."""
    found = decision.leveled(numbers)
    return np.where((found >= decision.low) & (found <= decision.high), found, np.nan)
