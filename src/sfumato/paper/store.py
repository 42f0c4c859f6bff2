"""File of the finished cells of an experiment: after a kill, they need not be run again.

Serves any experiment whose cells fit the ``Cell`` protocol.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from sfumato.exceptions import UserError, one_line
from sfumato.files import OutputFolder


class Cell(Protocol):
    """A run to be made: hashable and picklable; ``str(cell)`` names it in messages."""

    @property
    def kind(self) -> Hashable:
        """All but the seed. If a cell is too slow, others of its kind are not tried."""

    @property
    def group(self) -> Hashable:
        """Cells of a group take about the same time per unit of work."""

    @property
    def work(self) -> int:
        """Units of work, such as starts."""

    def record(self) -> dict[str, Any]:
        """JSON values by name; none is called "seconds" or "error"."""

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> Self:
        """Cell of a record, which may have further entries."""


C = TypeVar("C", bound=Cell)


@dataclass(frozen=True)
class Run(Generic[C]):
    """A finished cell.

    Parameters
    ----------
    cell : Cell
    seconds : float
        Time of the fit, or until it failed.
    measures : dict of str to float
        Results by name; those that are not finite are not stored.
    error : str
        Why the cell failed; empty if it did not.
    """

    cell: C
    seconds: float
    measures: dict[str, float] = field(default_factory=dict)
    error: str = ""

    def record(self) -> dict[str, Any]:
        """JSON values by name."""
        finite = {name: value for name, value in self.measures.items() if isfinite(value)}
        error = {"error": self.error} if self.error else {}
        return self.cell.record() | {"seconds": self.seconds} | finite | error

    @classmethod
    def of_record(cls, cell_type: type[C], record: dict[str, Any]) -> Run[C]:
        """Run of a record; raises KeyError, TypeError or ValueError if it is none."""
        cell = cell_type.of_record(record)
        others = {"seconds", "error", *cell.record()}
        measures = {name: float(record[name]) for name in record if name not in others}
        return Run(cell, record["seconds"], measures, record.get("error", ""))


class Store(Generic[C]):
    """File of finished cells: a line of JSON for the setting, then one for each.

    Parameters
    ----------
    path : Path
    setting : dict of str to str
        What results depend on besides the cells, such as versions. A file of another setting is
        refused.
    cell_type : type
        Class of the cells.
    """

    def __init__(self, path: Path, setting: dict[str, str], cell_type: type[C]) -> None:
        self.path = path
        self.setting = setting
        self.cell_type = cell_type

    def load(self) -> dict[C, Run[C]]:
        """Finished cells; a line that a kill cut off is left out."""
        found: dict[C, Run[C]] = {}
        for number, line in enumerate(self._lines(), start=1):
            try:
                record = json.loads(line)
                run = None if number == 1 else Run.of_record(self.cell_type, record)
            except (ValueError, KeyError, TypeError) as error:
                if number > 1 and not line.rstrip().endswith("}"):
                    continue
                raise UserError(
                    f"{self.path}, line {number}: not a finished run ({one_line(error)}); remove "
                    "the line, or use another folder."
                ) from error
            if run is not None:
                found[run.cell] = run
            elif record != self.setting:
                raise UserError(
                    f"{self.path} holds results of {record}, and this is {self.setting}; remove "
                    "the file, or use another folder."
                )
        return found

    def add(self, run: Run[C]) -> None:
        """Append a finished cell."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new = not self.path.exists() or self.path.stat().st_size == 0
            with self.path.open("a+b") as file:
                if new:
                    file.write(_line(self.setting))
                elif _is_cut_off(file):
                    file.write(b"\n")
                file.write(_line(run.record()))
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {one_line(error)}.") from error

    def forget(self, cells: Iterable[C]) -> None:
        """Drop cells, so that they are run again."""
        dropped = set(cells)
        kept = [run.record() for cell, run in self.load().items() if cell not in dropped]
        text = b"".join(map(_line, [self.setting, *kept]))
        folder = OutputFolder(self.path.parent, (self.path.name,), force=True)
        folder.write({self.path.name: lambda path: path.write_bytes(text)})

    def _lines(self) -> list[str]:
        if not self.path.exists():
            return []
        try:
            return self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise UserError(f"{self.path} cannot be read: {one_line(error)}.") from error


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _is_cut_off(file: Any) -> bool:
    file.seek(-1, 2)
    return bool(file.read(1) != b"\n")
