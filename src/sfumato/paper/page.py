"""The page that shows everything: one file, without scripts, that asks nothing of the network."""

from __future__ import annotations

import base64
import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from sfumato.paper.comparison import rows_of
from sfumato.paper.experiment import GRID_METHOD, Experiment
from sfumato.paper.methods import METHODS
from sfumato.paper.ranking import EXAMPLE_FUZZIFIERS, EXAMPLE_PRINTED
from sfumato.paper.results import BY_LABELS, REFERENCE, WITHOUT_LABELS
from sfumato.paper.tables import MEANINGS, NOTHING, SIGNS, TITLES, Table

TEMPLATE = "page.html"
"""File of the package that holds the page's words and looks."""
LIBRARIES = ("sfumato", "scikit-learn", "numpy", "scipy")
"""Whose versions the figures depend on."""
HOW_CHOSEN = {
    BY_LABELS: "K~ and r of the highest mean ACC in the grid: the classes choose, as in the paper",
    WITHOUT_LABELS: "K~ and r by how compact clusters are, starts by their worth: without classes",
}
"""How the rows are set that no method stands for."""


def page(
    experiment: Experiment,
    shown: Sequence[Table],
    verdicts: Mapping[str, int],
    figures: Mapping[str, bytes],
) -> str:
    """The page as HTML.

    Parameters
    ----------
    experiment : Experiment
        Whose sets and methods are shown.
    shown : sequence of Table
    verdicts : mapping of str to int
        How many figures of ours are better, within or worse.
    figures : mapping of str to bytes
        Figures as SVG by their names: "ranking", "acc", "nmi", "memberships", "convergence".
        One that is not given is not shown.

    Returns
    -------
    str

    Examples
    --------
    >>> from sfumato.paper.experiment import Experiment
    >>> from sfumato.paper.page import page
    >>> page(Experiment(["yale"], ["K-Means"]), [], {}, {}).splitlines()[0]
    '<!DOCTYPE html>'
    """
    source = (files(__package__) / TEMPLATE).read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(source).render(
        tables=shown,
        tally={verdict: verdicts.get(verdict, 0) for verdict in MEANINGS},
        figures={name: inline(svg) for name, svg in figures.items()},
        **_setting(experiment),
    )


def _setting(experiment: Experiment) -> dict[str, Any]:
    """What the template asks for besides results."""
    return {
        "signs": SIGNS,
        "meanings": MEANINGS,
        "nothing": NOTHING,
        "words": words,
        "methods": {row: how(row) for row in rows_of(experiment)},
        "experiment": experiment,
        "has_grid": GRID_METHOD in experiment.methods,
        "sets": [TITLES.get(data, data) for data in experiment.sets],
        "grid_runs": sorted({experiment.grid_runs(data) for data in experiment.sets}),
        "versions": {"Python": platform.python_version()} | {n: version(n) for n in LIBRARIES},
        "reference": REFERENCE,
        "printed_sum": f"{sum(EXAMPLE_PRINTED):.2f}",
        "printed_shares": ", ".join(map(str, EXAMPLE_PRINTED)),
        "fuzzifiers": EXAMPLE_FUZZIFIERS,
    }


def words(name: str) -> list[str]:
    """Pieces of a name, between which a line may end: words that were written as one.

    Parameters
    ----------
    name : str

    Returns
    -------
    list of str

    Examples
    --------
    >>> from sfumato.paper.page import words
    >>> words("LandmarkEmbedding + REFCMFS")
    ['Landmark', 'Embedding + REFCMFS']
    """
    return re.split(r"(?<=[a-z])(?=[A-Z])", name)


def how(row: str) -> str:
    """How a row of the tables is set.

    Parameters
    ----------
    row : str

    Returns
    -------
    str

    Examples
    --------
    >>> from sfumato.paper.page import how
    >>> how("FCM")
    'r = 2, from random rows'
    """
    return METHODS[row].how if row in METHODS else HOW_CHOSEN[row]


def inline(svg: bytes) -> str:
    """Address that holds the picture itself.

    Names within one picture stay apart from those of the others, as they would not if the
    pictures were parts of the page.

    Parameters
    ----------
    svg : bytes

    Returns
    -------
    str

    Examples
    --------
    >>> from sfumato.paper.page import inline
    >>> inline(b"<svg/>")
    'data:image/svg+xml;base64,PHN2Zy8+'
    """
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
