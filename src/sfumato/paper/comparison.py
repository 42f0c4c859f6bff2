"""Figures of ours beside the printed ones, one after the other, with a verdict each."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from sfumato.paper.expected import FUZZIFIER, Printed, printed, printed_active, printed_seconds
from sfumato.paper.experiment import GRID_METHOD, Experiment, Parameters
from sfumato.paper.methods import METHODS
from sfumato.paper.results import BY_LABELS, REFERENCE, WITHOUT_LABELS, Results

BETTER, WITHIN, WORSE = "better", "within", "worse"
"""Verdicts."""
DIGITS = 2
"""Decimals of the printed figures; a difference beyond them is not known."""


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
    >>> from sfumato.paper.expected import Printed
    >>> from sfumato.paper.comparison import verdict
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
    >>> from sfumato.paper.experiment import Cell, Experiment
    >>> from sfumato.paper.results import Results
    >>> from sfumato.paper.store import Outcome
    >>> from sfumato.paper.comparison import lines
    >>> results = Results([Outcome(Cell("yale", "K-Means", 0), 0.1, acc=0.5, nmi=0.6)])
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
    """Parameters that a row of chosen ones has, as the lines say; None if none was chosen.

    Parameters
    ----------
    given : iterable of Line
    data, row : str

    Returns
    -------
    Parameters or None

    Examples
    --------
    >>> from sfumato.paper.comparison import Line, chosen
    >>> from sfumato.paper.results import BY_LABELS
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
    >>> from sfumato.paper.comparison import Line, to_csv
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
