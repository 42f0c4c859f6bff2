"""Finished runs, a line of JSON each: what a killed run has finished is not run again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.exceptions import UserError, one_line
from sfumato.paper.experiment import Cell, Parameters

MEASURES = ("acc", "nmi", "objective", "spread")


@dataclass(frozen=True)
class Outcome:
    """What a run reached, or why it reached nothing.

    Parameters
    ----------
    cell : Cell
    seconds : float
        Of the fit.
    acc, nmi : float
        Between 0 and 1; NaN if the run failed.
    objective : float
        Of methods that have one; NaN of others.
    spread : float
        Mean distance of the rows to the mean of their cluster, which no class has a part in.
    error : str
        Why it failed; empty if it did not.
    """

    cell: Cell
    seconds: float
    acc: float = np.nan
    nmi: float = np.nan
    objective: float = np.nan
    spread: float = np.nan
    error: str = ""


class Store:
    """The file of finished runs.

    Parameters
    ----------
    path : Path
    setting : dict
        What the results depend on besides the cells, such as versions; a file of another setting
        is refused.
    """

    def __init__(self, path: Path, setting: dict[str, str]) -> None:
        self.path = path
        self.setting = setting

    def load(self) -> dict[Cell, Outcome]:
        """Finished runs; a last line that a kill has cut off is left out."""
        found: dict[Cell, Outcome] = {}
        lines = self._lines()
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                outcome = None if number == 1 else _decoded(record)
            except (ValueError, KeyError, TypeError) as error:
                if self._was_cut_off(number, lines):
                    continue
                raise UserError(
                    f"{self.path}, line {number}: not a finished run ({one_line(error)}); remove "
                    "the line, or give another --output."
                ) from error
            if outcome is None:
                self._check(record)
            else:
                found[outcome.cell] = outcome
        return found

    def _was_cut_off(self, number: int, lines: list[str]) -> bool:
        """Whether a line is the last, or one to which a run that followed a kill put an end."""
        return number > 1 and not lines[number - 1].rstrip().endswith("}")

    def add(self, outcome: Outcome) -> None:
        """Append a finished run."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new = not self.path.exists() or self.path.stat().st_size == 0
            with self.path.open("a+b") as file:
                if new:
                    file.write(json.dumps(self.setting).encode() + b"\n")
                elif _is_cut_off(file):
                    file.write(b"\n")
                file.write(json.dumps(_encoded(outcome)).encode() + b"\n")
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {one_line(error)}.") from error

    def _lines(self) -> list[str]:
        if not self.path.exists():
            return []
        try:
            return self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise UserError(f"{self.path} cannot be read: {one_line(error)}.") from error

    def _check(self, found: Any) -> None:
        if found != self.setting:
            raise UserError(
                f"{self.path} holds results of {found}, and this is {self.setting}; give another "
                "--output, or remove the file."
            )


def _is_cut_off(file: Any) -> bool:
    file.seek(-1, 2)
    return bool(file.read(1) != b"\n")


def _encoded(outcome: Outcome) -> dict[str, Any]:
    cell = outcome.cell
    record: dict[str, Any] = {"data": cell.data, "method": cell.method, "seed": cell.seed}
    if cell.parameters is not None:
        record |= cell.parameters._asdict()
    record["seconds"] = outcome.seconds
    if outcome.error:
        return record | {"error": outcome.error}
    measures = {name: getattr(outcome, name) for name in MEASURES}
    return record | {name: value for name, value in measures.items() if np.isfinite(value)}


def _decoded(record: dict[str, Any]) -> Outcome:
    parameters = None
    if "n_active" in record:
        parameters = Parameters(*(record[name] for name in Parameters._fields))
    return Outcome(
        Cell(record["data"], record["method"], record["seed"], parameters),
        record["seconds"],
        error=record.get("error", ""),
        **{name: record.get(name, np.nan) for name in MEASURES},
    )
