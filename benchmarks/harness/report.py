"""Report of a benchmark: tables, printed row by row, and goals, kept or missed.

A report goes to a file as JSON and comes back from it, so that the page of all benchmarks can be
made without measuring again.
"""

from __future__ import annotations

import json
import operator
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

STORE = Path(__file__).parents[2] / "build" / "benchmarks"
SENSES: dict[str, Callable[[float, float], bool]] = {
    "at most": operator.le,
    "at least": operator.ge,
    "below": operator.lt,
}


@dataclass
class Goal:
    """A number and its limit."""

    what: str
    value: float
    limit: float
    sense: str = "at most"
    plotted: bool = False
    """Whether the plot shows this goal beside the cells, whose unit it has."""

    @property
    def kept(self) -> bool:
        return SENSES[self.sense](self.value, self.limit)

    def __str__(self) -> str:
        verdict = "kept" if self.kept else "**missed**"
        return f"{verdict}: {self.what} {self.value:.5g}, {self.sense} {self.limit:g}"


@dataclass
class Curve:
    """Seconds over a size, of a fit, a pass or an iteration."""

    axis: str
    sizes: list[float]
    seconds: list[float]
    slope: float
    of: str


@dataclass
class Table:
    """Rows of text under a header; a row is printed when it is added."""

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        if not self.rows:
            print("\n".join(self.head()))
        self.rows.append(list(cells))
        print(line(cells), flush=True)

    def head(self) -> list[str]:
        return [line(self.header), line(["---"] * len(self.header))]

    def __str__(self) -> str:
        return "\n".join([*self.head(), *map(line, self.rows)])


@dataclass
class Report:
    """What a benchmark measured."""

    name: str
    title: str
    how: str
    quick: bool
    axis: str = ""
    """Label of the axis of the cells; empty where there is nothing to plot."""
    tables: list[Table] = field(default_factory=list)
    cells: list[Goal] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    setting: dict[str, str] = field(default_factory=dict)
    """Machine and versions."""

    def begin(self, *header: str) -> Table:
        """Begin a table; the first one comes with the sentences on how it was measured."""
        print("" if self.tables else f"{self.how}\n")
        self.tables.append(Table(list(header)))
        return self.tables[-1]

    @property
    def kept(self) -> bool:
        return all(goal.kept for goal in [*self.cells, *self.goals])

    def verdicts(self) -> str:
        """One line per goal, one for all cells, and one for each cell beyond its limit."""
        lines = [str(goal) for goal in self.goals]
        if self.cells:
            n_kept = sum(cell.kept for cell in self.cells)
            lines.append(f"{n_kept} of {len(self.cells)} cells keep their limits")
        lines += [str(cell) for cell in self.cells if not cell.kept]
        return "\n".join(f"- {text}" for text in lines)

    def save(self) -> None:
        STORE.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1)
        path_of(self.name, self.quick).write_text(text + "\n", encoding="utf-8")


def path_of(name: str, quick: bool) -> Path:
    """File of a report; a quick one never replaces a full one."""
    return STORE / f"{name}{'.quick' if quick else ''}.json"


def load(path: Path) -> Report:
    """Report that was saved."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    parts = {"tables": Table, "cells": Goal, "goals": Goal, "curves": Curve}
    for key, part in parts.items():
        found[key] = [part(**values) for values in found[key]]
    return Report(**found)


def line(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def measuring(what: str) -> None:
    """Print what is being measured, on the error stream."""
    print(f"... {what}", file=sys.stderr, flush=True)
