"""Summary of the finished runs: means, the grid and choices in it, beside the printed figures."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.paper.experiment import (
    GRID_METHOD,
    Experiment,
    Parameters,
    Printed,
    Run,
    printed,
    printed_active,
    printed_seconds,
)
from sfumato.paper.methods import FUZZIFIER, METHODS

BY_LABELS = "REFCMFS, chosen by labels"
WITHOUT_LABELS = "REFCMFS, chosen without labels"
REFERENCE = "K-Means"
"""Method to whose run time others are compared."""
WORTH = 1e-3
"""Relative decrease of the objective that is worth another start. Chosen by hand."""
BETTER, WITHIN, WORSE = "better", "within", "worse"
"""Verdicts on a figure of ours, against the printed one."""
DIGITS = 2
"""Decimals of the printed figures; smaller differences are rounding."""


class Score(NamedTuple):
    """Mean and standard deviation over runs, in percent."""

    mean: float
    deviation: float
    runs: int


class Results:
    """Finished runs, by data set and row of the tables.

    Parameters
    ----------
    runs : iterable of Run
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs: dict[tuple[str, str], list[Run]] = defaultdict(list)
        self._grids: dict[str, dict[Parameters, list[Run]]] = defaultdict(lambda: defaultdict(list))
        for run in sorted(runs, key=lambda run: (run.cell.seed, run.cell.parameters or ())):
            cell = run.cell
            if cell.parameters is None:
                self._runs[cell.data, cell.method].append(run)
            else:
                self._grids[cell.data][cell.parameters].append(run)
        self._by_labels = {data: self._most_accurate(data) for data in self._grids}
        self._without_labels = {data: self._most_compact(data) for data in self._grids}
        for row, choices in ((BY_LABELS, self._by_labels), (WITHOUT_LABELS, self._without_labels)):
            for data, chosen in choices.items():
                self._runs[data, row] = self._grids[data].get(chosen, []) if chosen else []

    def runs(self, data: str, row: str) -> list[Run]:
        """Runs of a row that did not fail."""
        return [run for run in self._runs[data, row] if not run.error]

    def score(self, data: str, row: str, measure: str) -> Score | None:
        """ACC or NMI; None if no run ended well."""
        values = 100 * _values(self.runs(data, row), measure)
        if not len(values):
            return None
        return Score(float(np.mean(values)), float(np.std(values)), len(values))

    def seconds(self, data: str, row: str) -> float | None:
        """Median time of a run."""
        values = [run.seconds for run in self.runs(data, row)]
        return float(np.median(values)) if values else None

    def reason(self, data: str, row: str) -> str:
        """Why runs of a row failed, in the words of the first; empty if none did."""
        return next((run.error for run in self._runs[data, row] if run.error), "")

    def grid_seeds(self, data: str) -> int:
        """Seeds of each cell of the grid, by which parameters are chosen."""
        return max((len(found) for found in self._single(data).values()), default=0)

    def grid(self, data: str, measure: str) -> dict[Parameters, float]:
        """Mean of a measure, in percent, for each K~ and r that was tried with single starts."""
        return {
            parameters: 100 * float(np.mean(_values(runs, measure)))
            for parameters, runs in self._single(data).items()
        }

    def chosen_by_labels(self, data: str) -> Parameters | None:
        """K~ and r of the highest mean ACC, as the paper chose them."""
        return self._by_labels.get(data)

    def chosen_without_labels(self, data: str) -> Parameters | None:
        """K~, r and the number of starts, by a rule that never sees a class.

        The parameters whose clusters are the most compact, by the mean distance of the rows to the
        mean of their cluster; and the starts of ``starts_needed``. The objective itself does not
        compare parameters: it decreases as memberships get softer.
        """
        return self._without_labels.get(data)

    def _most_accurate(self, data: str) -> Parameters | None:
        means = self.grid(data, "acc")
        return max(means, key=lambda parameters: means[parameters]) if means else None

    def _most_compact(self, data: str) -> Parameters | None:
        single = self._single(data)
        if not single:
            return None
        spreads = {p: np.mean(_values(found, "spread")) for p, found in single.items()}
        best = min(spreads, key=lambda parameters: spreads[parameters])
        starts = starts_needed(_values(single[best], "objective"))
        return best._replace(starts=starts)

    def _single(self, data: str) -> dict[Parameters, list[Run]]:
        """Runs of one start, from seeds that all cells of the grid have, of cells without fault.

        A cell that was chosen has more seeds; if they counted, it could lose the choice by them.
        """
        grid = {p: found for p, found in self._grids[data].items() if p.starts == 1}
        seeds = [{run.cell.seed for run in found} for found in grid.values()]
        shared = set.intersection(*seeds) if seeds else set()
        kept = {p: [run for run in found if run.cell.seed in shared] for p, found in grid.items()}
        return {p: runs for p, runs in kept.items() if runs and not any(run.error for run in runs)}


def _values(runs: Iterable[Run], measure: str) -> NDArray[np.float64]:
    return np.array([run.measures.get(measure, np.nan) for run in runs], dtype=np.float64)


def starts_needed(objectives: ArrayLike) -> int:
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


class Line(NamedTuple):
    """A figure of ours and the printed one; a line of the CSV file.

    ``measure`` is "acc" or "nmi", in percent; "seconds", the median of a run; "ratio", seconds
    over those of K-Means; or "n_active", "fuzzifier" and "starts", which were chosen. ``std`` and
    ``printed_std`` are standard deviations.
    """

    data: str
    row: str
    measure: str
    mean: float | None = None
    std: float | None = None
    runs: int = 0
    printed_mean: float | None = None
    printed_std: float | None = None
    verdict: str = ""
    reason: str = ""


def verdict(mean: float, against: Printed | None) -> str:
    """Where a mean of ours lies: above, within or below one printed standard deviation.

    Parameters
    ----------
    mean : float
        In percent.
    against : Printed or None

    Returns
    -------
    {"better", "within", "worse", ""}
        Empty if nothing is printed. The borders are within.

    Examples
    --------
    >>> from sfumato.paper.experiment import Printed
    >>> from sfumato.paper.results import verdict
    >>> [verdict(mean, Printed(50.0, 2.0)) for mean in (47.99, 48.0, 52.0, 52.01)]
    ['worse', 'within', 'within', 'better']
    """
    if against is None:
        return ""
    difference = round(mean - against.mean, DIGITS)
    if abs(difference) <= against.deviation:
        return WITHIN
    return BETTER if difference > 0 else WORSE


def rows_of(experiment: Experiment) -> list[str]:
    """Rows of the tables: the methods, then REFCMFS with chosen parameters if there is a grid."""
    chosen = [BY_LABELS, WITHOUT_LABELS] if GRID_METHOD in experiment.methods else []
    return [*experiment.methods, *chosen]


def printed_row(row: str) -> str | None:
    """Name of the paper's row that a row of ours is compared with."""
    return METHODS[row].printed if row in METHODS else METHODS[GRID_METHOD].printed


def runs_of(experiment: Experiment, row: str) -> int:
    """How many runs a complete row has: one if chance has no part in it."""
    return experiment.runs if row not in METHODS or METHODS[row].random else 1


def lines(results: Results, experiment: Experiment) -> list[Line]:
    """Every figure of the tables, one after the other.

    Parameters
    ----------
    results : Results
    experiment : Experiment
        Whose sets and methods are shown; what they lack has no mean.

    Returns
    -------
    list of Line

    Examples
    --------
    >>> from sfumato.paper.experiment import Cell, Experiment, Run
    >>> from sfumato.paper.results import Results, lines
    >>> run = Run(Cell("yale", "K-Means", 0), 0.1, {"acc": 0.5, "nmi": 0.6})
    >>> results = Results([run])
    >>> first = lines(results, Experiment(["yale"], ["K-Means"]))[0]
    >>> first.measure, first.mean, first.printed_mean, first.verdict
    ('acc', 50.0, 42.91, 'better')
    """
    found = []
    for data in experiment.sets:
        for row in rows_of(experiment):
            found += [_score(results, data, row, measure) for measure in ("acc", "nmi")]
            found += _times(results, data, row)
        if GRID_METHOD in experiment.methods:
            found += _chosen(results, data)
    return found


def tally(given: Iterable[Line]) -> Counter[str]:
    """Number of verdicts of each kind, over the rows that the paper has by the same name."""
    same = [line for line in given if printed_row(line.row) == line.row]
    return Counter(line.verdict for line in same if line.verdict)


def chosen(given: Iterable[Line], data: str, row: str) -> Parameters | None:
    """Chosen parameters of a row, from its lines; None if none was chosen.

    Parameters
    ----------
    given : iterable of Line
    data, row : str

    Returns
    -------
    Parameters or None

    Examples
    --------
    >>> from sfumato.paper.results import BY_LABELS, Line, chosen
    >>> named = {"n_active": 9, "fuzzifier": 1.1, "starts": 4}
    >>> given = [Line("yale", BY_LABELS, name, value) for name, value in named.items()]
    >>> chosen(given, "yale", BY_LABELS)
    Parameters(n_active=9, fuzzifier=1.1, starts=4)
    """
    values: dict[str, Any] = {
        line.measure: line.mean
        for line in given
        if line[:2] == (data, row) and line.measure in Parameters._fields
    }
    if not values or None in values.values():
        return None
    return Parameters(**values)


def to_csv(given: Iterable[Line]) -> str:
    """Lines as CSV with a header; an empty field is one that is not known.

    Parameters
    ----------
    given : iterable of Line

    Returns
    -------
    str

    Examples
    --------
    >>> from sfumato.paper.results import Line, to_csv
    >>> print(to_csv([Line("yale", "K-Means", "acc", 50.0, 1.5, 2)]).splitlines()[1])
    yale,K-Means,acc,50.0,1.5,2,,,,
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Line._fields)
    writer.writerows(given)
    return text.getvalue()


def _score(results: Results, data: str, row: str, measure: str) -> Line:
    name = printed_row(row)
    against = printed(name, measure, data) if name else None
    score = results.score(data, row, measure)
    line = Line(data, row, measure, reason=results.reason(data, row))
    if against is not None:
        line = line._replace(printed_mean=against.mean, printed_std=against.deviation)
    if score is None:
        return line
    return line._replace(
        mean=score.mean,
        std=score.deviation,
        runs=score.runs,
        verdict=verdict(score.mean, against),
    )


def _times(results: Results, data: str, row: str) -> list[Line]:
    """Seconds, and their ratio to those of the reference."""
    name = printed_row(row)
    ours, unit = results.seconds(data, row), results.seconds(data, REFERENCE)
    theirs = printed_seconds(name, data) if name else None
    their_unit = printed_seconds(REFERENCE, data)
    line = Line(
        data, row, "seconds", runs=len(results.runs(data, row)), reason=results.reason(data, row)
    )
    return [
        line._replace(mean=ours, printed_mean=theirs),
        line._replace(
            measure="ratio",
            mean=ours / unit if ours is not None and unit else None,
            printed_mean=theirs / their_unit if theirs is not None and their_unit else None,
        ),
    ]


def _chosen(results: Results, data: str) -> list[Line]:
    """Parameters as chosen by labels and without."""
    active = printed_active(data)
    theirs = {} if active is None else {"n_active": active, "fuzzifier": FUZZIFIER}
    found = []
    for row, parameters in (
        (BY_LABELS, results.chosen_by_labels(data)),
        (WITHOUT_LABELS, results.chosen_without_labels(data)),
    ):
        ours = {} if parameters is None else parameters._asdict()
        found += [
            Line(data, row, measure, mean=ours.get(measure), printed_mean=theirs.get(measure))
            for measure in Parameters._fields
        ]
    return found
