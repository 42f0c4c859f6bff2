"""The preparation of tables in a model file: decisions about columns, as arrays."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from sfumato._persistence.archive import NewArchive
from sfumato._persistence.kinds import (
    Array,
    Kind,
    Names,
    Plain,
    Real,
    Source,
    Whole,
    read_fields,
    require,
    write_fields,
)
from sfumato._tables.decisions import KINDS, POWERS, Decision, Decisions
from sfumato._tables.preparer import CHOICES, TablePreparer

TEXTS = ("column", "kind", "action", "reason", "power", "date_format")
"""Fields of a decision that are text; all others but ``levels`` are numbers."""
NUMBERS = tuple(each.name for each in fields(Decision) if each.name not in (*TEXTS, "levels"))
LISTS = ("numbers", "categories", "dates", "drop")
"""Parameters that are names of columns."""


class Preparation(Kind):
    """A fitted :class:`TablePreparer`."""

    FIELDS: ClassVar[dict[str, Kind]] = {
        **{name: Plain(str) for name in (*CHOICES, "scale_")},
        "category_weight": Real(),
        "max_categories": Whole(1),
        **{name: Names(f"names in {name}") for name in LISTS},
        "feature_names_in_": Names("columns of the table"),
        "typical_rows_": Array("f8", "typical rows", "features", finite=True),
        **{f"decision_{name}": Names("decisions") for name in TEXTS},
        "decision_numbers": Array("f8", "decisions", "numbers of a decision"),
        "levels": Names("levels"),
        "levels_each": Array("i8", "decisions"),
    }

    def write(self, value: TablePreparer, archive: NewArchive) -> dict[str, Any]:
        decisions = value.decisions_
        plain = {name: getattr(value, name) for name in self.FIELDS if hasattr(value, name)}
        numbers = [[float(getattr(d, name)) for name in NUMBERS] for d in decisions]
        made = {
            **plain,
            **{f"decision_{name}": [getattr(d, name) for d in decisions] for name in TEXTS},
            "decision_numbers": np.array(numbers, dtype=np.float64),
            "levels": [level for d in decisions for level in d.levels],
            "levels_each": np.array([len(d.levels) for d in decisions], dtype=np.int64),
        }
        return write_fields(self.FIELDS, made, archive)

    def read(self, stored: Any, source: Source) -> TablePreparer:
        found = read_fields(self.FIELDS, stored, source)
        for name, allowed in CHOICES.items():
            require(found[name] in allowed, found[name], f"a value of {name}")
        parameters = {name: found[name] for name in (*CHOICES, "category_weight")}
        lists = {name: found[name].tolist() for name in LISTS}
        whole = found["max_categories"]
        preparer = TablePreparer(**parameters, **lists, max_categories=whole)
        preparer.feature_names_in_ = found["feature_names_in_"]
        decisions = _decisions(found)
        require(found["scale_"] in CHOICES["scale"], found["scale_"], "a scale")
        width = sum(len(d.levels) if d.is_category else 1 for d in decisions.used)
        fits = found["typical_rows_"].shape[1] == width > 0 and len(found["typical_rows_"]) > 0
        require(fits, found["typical_rows_"].shape, "rows that fit the decisions")
        preparer.set_fitted(decisions, found["scale_"], found["typical_rows_"])
        return preparer


def _decisions(found: dict[str, Any]) -> Decisions:
    """Decisions of the arrays of a file; raises ValueError if they could not be applied."""
    numbers, each = found["decision_numbers"], found["levels_each"]
    require(numbers.shape[1] == len(NUMBERS), numbers.shape, "numbers of decisions")
    require(bool((each >= 0).all()) and each.sum() == len(found["levels"]), each, "levels")
    ends = np.cumsum(each)
    made = []
    for row, end in enumerate(ends.tolist()):
        texts: dict[str, Any] = {name: str(found[f"decision_{name}"][row]) for name in TEXTS}
        levels = tuple(map(str, found["levels"][end - each[row] : end]))
        values: dict[str, Any] = dict(zip(NUMBERS, numbers[row].tolist(), strict=True))
        decision = Decision(**texts, **values, levels=levels)
        known = decision.kind in KINDS and decision.power in POWERS
        known = known and (decision.power != "asinh" or decision.shift > 0)
        scaled = decision.scale > 0 and np.isfinite([decision.scale, decision.center]).all()
        weighted = 0 <= decision.weight < np.inf and np.isfinite(decision.shift)
        coded = decision.is_category == bool(levels) and len(set(levels)) == len(levels)
        require(known and bool(scaled) and bool(weighted) and coded, decision, "a decision")
        made.append(decision)
    columns = [each.column for each in made]
    require(columns == found["feature_names_in_"].tolist(), columns, "the columns of the table")
    require(len(set(columns)) == len(columns), columns, "columns that differ")
    return Decisions(made)
