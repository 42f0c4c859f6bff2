"""The tables, ours beside the printed ones: as plain data, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sfumato.paper.experiment import GRID_METHOD, Experiment, Parameters, printed_active
from sfumato.paper.methods import FUZZIFIER
from sfumato.paper.results import (
    BETTER,
    BY_LABELS,
    REFERENCE,
    WITHIN,
    WITHOUT_LABELS,
    WORSE,
    Line,
    Results,
    chosen,
    rows_of,
    runs_of,
)

TITLES = {
    "orl": "ORL",
    "yale": "Yale",
    "coil20": "COIL20",
    "usps": "USPS",
    "yaleb": "YaleB",
    "coil100": "COIL100",
    "digits": "Digits",
}
"""Names of the data sets, as the paper writes them."""
SIGNS = {BETTER: "↑", WITHIN: "≈", WORSE: "↓"}
"""Signs of the verdicts, so that none rests on a color."""
NOTHING = "\N{EN DASH}"
"""Shown where there is no figure."""
MEANINGS = {
    BETTER: "above the printed mean by more than one printed standard deviation",
    WITHIN: "within one printed standard deviation",
    WORSE: "below by more than one",
}
"""What the verdicts mean, for the legends."""

TABLES = {
    "acc": (
        "Clustering accuracy (ACC), %",
        "Mean ± standard deviation over the runs; a single run has no deviation.",
    ),
    "nmi": (
        "Normalized mutual information (NMI), %",
        "Mean ± standard deviation over the runs; mutual information is divided by the larger "
        "entropy, as in the paper.",
    ),
    "ratio": (
        f"Run time, as a multiple of that of {REFERENCE}",
        f"Median of the runs over the median of {REFERENCE} on the same machine, one thread each; "
        "printed times over the printed time. Machines and programs differ: there is no verdict.",
    ),
}
"""Title and note of the tables with a row per method, by their measure."""


class Entry(NamedTuple):
    """A cell of a table, as text."""

    ours: str
    printed: str = ""
    verdict: str = ""
    reason: str = ""


class Table(NamedTuple):
    """A table as it is shown.

    ``corner`` names what the rows are; ``rows`` holds a name and its entries per row.
    """

    key: str
    title: str
    note: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Entry, ...]], ...]


def tables(results: Results, experiment: Experiment, given: Sequence[Line]) -> list[Table]:
    """The four tables: ACC, NMI, run times, and the parameters that were chosen.

    Parameters
    ----------
    results : Results
    experiment : Experiment
    given : sequence of Line
        Those of the results.

    Returns
    -------
    list of Table
        The last is left out where there is no grid.

    Examples
    --------
    >>> from sfumato.paper.experiment import Experiment
    >>> from sfumato.paper.results import Results, lines
    >>> from sfumato.paper.tables import tables
    >>> results, experiment = Results([]), Experiment(["yale"], ["K-Means"])
    >>> [table.key for table in tables(results, experiment, lines(results, experiment))]
    ['acc', 'nmi', 'ratio']
    """
    found = {(line.data, line.row, line.measure): line for line in given}
    shown = [_measured(found, experiment, key) for key in TABLES]
    if GRID_METHOD in experiment.methods:
        shown.append(_parameters(results, experiment, given))
    return shown


def markdown(shown: Sequence[Table]) -> str:
    """Tables as Markdown; the printed figure stands in brackets.

    Parameters
    ----------
    shown : sequence of Table

    Returns
    -------
    str

    Examples
    --------
    >>> from sfumato.paper.tables import Entry, Table, markdown
    >>> row = ("FCM", (Entry("21.00", "24.36", "worse"),))
    >>> table = Table("acc", "ACC", "In percent.", "method", ("Yale",), (row,))
    >>> markdown([table]).splitlines()[-1]
    '| FCM | 21.00 ↓ (24.36) |'
    """
    legend = ", ".join(f"{SIGNS[kind]} {meaning}" for kind, meaning in MEANINGS.items())
    parts = ["# Tables", f"In brackets, what the paper printed. Signs: {legend}."]
    for table in shown:
        head = [table.corner, *table.columns]
        body = [[name, *map(_text, entries)] for name, entries in table.rows]
        grid = [head, ["---"] * len(head), *body]
        parts += [f"## {_escaped(table.title)}", _escaped(table.note)]
        parts.append("\n".join(f"| {' | '.join(map(_escaped, cells))} |" for cells in grid))
    return "\n\n".join(parts) + "\n"


def _measured(
    found: dict[tuple[str, str, str], Line], experiment: Experiment, measure: str
) -> Table:
    """A table with a row per method and a column per set."""
    rows = []
    for row in rows_of(experiment):
        given = [found[data, row, measure] for data in experiment.sets]
        if measure == "ratio":
            entries = [_ratio_entry(line) for line in given]
        else:
            entries = [_score_entry(line, runs_of(experiment, row)) for line in given]
        rows.append((row, tuple(entries)))
    if measure == "ratio" and REFERENCE in experiment.methods:
        units = [_seconds_entry(found[data, REFERENCE, "seconds"]) for data in experiment.sets]
        rows.append((f"{REFERENCE}, seconds", tuple(units)))
    columns = tuple(TITLES.get(data, data) for data in experiment.sets)
    return Table(measure, *TABLES[measure], "method", columns, tuple(rows))


def _score_entry(line: Line, complete: int) -> Entry:
    theirs = NOTHING
    if line.printed_mean is not None:
        theirs = f"{line.printed_mean:.2f} ± {line.printed_std:.2f}"
    ours = NOTHING if line.mean is None else f"{line.mean:.2f}"
    if line.runs > 1:
        ours += f" ± {line.std:.2f}"
    if 0 < line.runs < complete:
        ours += f", {line.runs} of {complete} runs"
        ours += f" ({line.reason})" if line.reason else ""
    return Entry(ours, theirs, line.verdict, "" if line.runs else line.reason)


def _ratio_entry(line: Line) -> Entry:
    reason = line.reason if line.mean is None else ""
    return Entry(_ratio(line.mean), _ratio(line.printed_mean), reason=reason)


def _seconds_entry(line: Line) -> Entry:
    reason = line.reason if line.mean is None else ""
    return Entry(_seconds(line.mean), _seconds(line.printed_mean), reason=reason)


def _ratio(value: float | None) -> str:
    """Three digits, or all before the point."""
    if value is None:
        return NOTHING
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f}"


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4f} s"


def _parameters(results: Results, experiment: Experiment, given: Sequence[Line]) -> Table:
    """K~ and r per set: the paper's, those chosen, and among which."""
    rows = []
    for data in experiment.sets:
        active = printed_active(data)
        paper = None if active is None else Parameters(active, FUZZIFIER)
        tried = list(results.grid(data, "acc"))
        ours = [chosen(given, data, row) for row in (BY_LABELS, WITHOUT_LABELS)]
        pairs = [_pair(parameters) for parameters in (paper, *ours)]
        steps = [_values(p.n_active for p in tried), _values(p.fuzzifier for p in tried)]
        seeds = str(results.grid_seeds(data)) if tried else NOTHING
        entries = tuple(map(Entry, [*pairs, *steps, seeds]))
        rows.append((TITLES.get(data, data), entries))
    return Table(
        "parameters",
        "Parameters of REFCMFS: K~, r",
        "By labels: the highest mean ACC of the grid, as in the paper; a choice that only known "
        "classes allow, and scored on runs it was made by. Without labels: the parameters whose "
        "clusters are the most compact, by the mean distance of the rows to the mean of their "
        "cluster; and as many starts as bring the lowest objective within 0.1 % of the lowest "
        "seen. The steps of K~ are equal, up to rounding, from 2 to c - 1, with the paper's own "
        "value added; those of r are 0.1.",
        "set",
        ("paper", "by labels", "without labels", "K~ tried", "r tried", "seeds per cell"),
        tuple(rows),
    )


def _pair(parameters: Parameters | None) -> str:
    if parameters is None:
        return NOTHING
    starts = f", {parameters.starts} starts" if parameters.starts > 1 else ""
    return f"{parameters.n_active}, {parameters.fuzzifier:g}{starts}"


def _values(given: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(set(given))) or NOTHING


def _text(entry: Entry) -> str:
    """An entry on one line."""
    words = [entry.reason or entry.ours, SIGNS.get(entry.verdict, "")]
    words.append(f"({entry.printed})" if entry.printed else "")
    return " ".join(word for word in words if word)


def _escaped(text: str) -> str:
    """Text that a Markdown table shows as it is: ``K~`` must not strike through."""
    for mark in ("\\", "|", "~", "*", "_", "<", "`"):
        text = text.replace(mark, f"\\{mark}")
    return text
