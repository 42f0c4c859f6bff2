"""What the finished runs say: means and deviations, reasons, the grid, and choices in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from sfumato.paper.experiment import Parameters
from sfumato.paper.store import Outcome

BY_LABELS = "REFCMFS, chosen by labels"
WITHOUT_LABELS = "REFCMFS, chosen without labels"
REFERENCE = "K-Means"
"""Method to whose run time others are compared."""


WORTH = 1e-3
"""Relative fall of the objective that is worth another start."""


class Score(NamedTuple):
    """Mean and standard deviation over runs, in percent."""

    mean: float
    deviation: float
    runs: int


class Results:
    """Finished runs, by data set and row of the tables.

    Parameters
    ----------
    outcomes : iterable of Outcome
    """

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._runs: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
        self._grids: dict[str, dict[Parameters, list[Outcome]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for outcome in sorted(outcomes, key=lambda o: (o.cell.seed, o.cell.parameters or ())):
            cell = outcome.cell
            if cell.parameters is None:
                self._runs[cell.data, cell.method].append(outcome)
            else:
                self._grids[cell.data][cell.parameters].append(outcome)
        self._by_labels = {data: self._most_accurate(data) for data in self._grids}
        self._without_labels = {data: self._most_compact(data) for data in self._grids}
        for row, choices in ((BY_LABELS, self._by_labels), (WITHOUT_LABELS, self._without_labels)):
            for data, chosen in choices.items():
                self._runs[data, row] = self._grids[data].get(chosen, []) if chosen else []

    def runs(self, data: str, row: str) -> list[Outcome]:
        """Runs of a row that did not fail."""
        return [outcome for outcome in self._runs[data, row] if not outcome.error]

    def score(self, data: str, row: str, measure: str) -> Score | None:
        """ACC or NMI; None if no run ended well."""
        values = [100 * getattr(outcome, measure) for outcome in self.runs(data, row)]
        if not values:
            return None
        return Score(float(np.mean(values)), float(np.std(values)), len(values))

    def seconds(self, data: str, row: str) -> float | None:
        """Median time of a run."""
        values = [outcome.seconds for outcome in self.runs(data, row)]
        return float(np.median(values)) if values else None

    def reason(self, data: str, row: str) -> str:
        """Why runs of a row failed, in the words of the first; empty if none did."""
        return next((outcome.error for outcome in self._runs[data, row] if outcome.error), "")

    def grid_seeds(self, data: str) -> int:
        """Seeds of each cell of the grid, by which parameters are chosen."""
        return max((len(found) for found in self._single(data).values()), default=0)

    def grid(self, data: str, measure: str) -> dict[Parameters, float]:
        """Mean of a measure, in percent, for each K~ and r that was tried with single starts."""
        return {
            parameters: 100 * float(np.mean([getattr(outcome, measure) for outcome in outcomes]))
            for parameters, outcomes in self._single(data).items()
        }

    def chosen_by_labels(self, data: str) -> Parameters | None:
        """K~ and r of the highest mean ACC, as the paper chose them."""
        return self._by_labels.get(data)

    def chosen_without_labels(self, data: str) -> Parameters | None:
        """K~, r and the number of starts, by a rule that never sees a class.

        The parameters whose clusters are the most compact, by the mean distance of the rows to the
        mean of their cluster; and as many starts as their objectives ask for. The objective itself
        says nothing here: it falls as memberships get softer.
        """
        return self._without_labels.get(data)

    def _most_accurate(self, data: str) -> Parameters | None:
        means = self.grid(data, "acc")
        return max(means, key=lambda parameters: means[parameters]) if means else None

    def _most_compact(self, data: str) -> Parameters | None:
        single = self._single(data)
        if not single:
            return None
        spreads = {p: np.mean([outcome.spread for outcome in found]) for p, found in single.items()}
        best = min(spreads, key=lambda parameters: spreads[parameters])
        starts = starts_needed([outcome.objective for outcome in single[best]])
        return best._replace(starts=starts)

    def _single(self, data: str) -> dict[Parameters, list[Outcome]]:
        """Runs of one start, from seeds that all cells of the grid have, of cells without fault.

        A cell that was chosen has more seeds; if they counted, it could lose the choice by them.
        """
        grid = {p: found for p, found in self._grids[data].items() if p.starts == 1}
        seeds = [{outcome.cell.seed for outcome in found} for found in grid.values()]
        shared = set.intersection(*seeds) if seeds else set()
        kept = {p: [o for o in found if o.cell.seed in shared] for p, found in grid.items()}
        return {p: found for p, found in kept.items() if found and not any(o.error for o in found)}


def starts_needed(objectives: Sequence[float]) -> int:
    """Starts of which the lowest objective is expected within 0.1 % of the lowest of all.

    The expected minimum of k of the given ones, drawn without replacement.
    """
    ordered = np.sort(objectives)
    n = len(ordered)
    for k in range(1, n):
        chances = np.array([comb(n - 1 - i, k - 1) for i in range(n)]) / comb(n, k)
        if chances @ ordered <= (1 + WORTH) * ordered[0]:
            return k
    return n
