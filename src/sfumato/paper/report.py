"""The files of a report: tables, figures, and a page, one HTML file without scripts or requests."""

from __future__ import annotations

import base64
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from matplotlib.figure import Figure

from sfumato.files import OutputFolder
from sfumato.paper.experiment import GRID_METHOD, Experiment, Parameters, printed_active
from sfumato.paper.figures import Marks, convergence, memberships, ranking, save, sensitivity
from sfumato.paper.illustrations import EXAMPLE_FUZZIFIERS, EXAMPLE_PRINTED, illustrate
from sfumato.paper.methods import FUZZIFIER, METHODS
from sfumato.paper.results import (
    BY_LABELS,
    REFERENCE,
    WITHOUT_LABELS,
    Line,
    Results,
    chosen,
    lines,
    rows_of,
    tally,
    to_csv,
)
from sfumato.paper.tables import MEANINGS, NOTHING, SIGNS, TITLES, Table, markdown, tables

TEMPLATE = "page.html"
"""Template of the page, in this package."""
LIBRARIES = ("sfumato", "scikit-learn", "numpy", "scipy")
"""Libraries whose versions the page shows: results depend on them."""
HOW_CHOSEN = {
    BY_LABELS: "K~ and r of the highest mean ACC in the grid: the classes choose, as in the paper",
    WITHOUT_LABELS: "K~ and r by how compact clusters are, starts by their worth: without classes",
}
"""Choice of parameters in the rows that are not methods."""
FIGURES = "figures"
"""Folder of the figures, within that of the results."""
MEASURES = ("acc", "nmi")
"""Measures with a figure of their own."""


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
    >>> from sfumato.paper.report import page
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
    """Variables of the template besides the results."""
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
    """Words of a name in camel case, between which a line may break.

    Parameters
    ----------
    name : str

    Returns
    -------
    list of str

    Examples
    --------
    >>> from sfumato.paper.report import words
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
    >>> from sfumato.paper.report import how
    >>> how("FCM")
    'r = 2, from random rows'
    """
    return METHODS[row].how if row in METHODS else HOW_CHOSEN[row]


def inline(svg: bytes) -> str:
    """Picture as a data URL.

    SVG elements in the page itself would share one space of ids.

    Parameters
    ----------
    svg : bytes

    Returns
    -------
    str

    Examples
    --------
    >>> from sfumato.paper.report import inline
    >>> inline(b"<svg/>")
    'data:image/svg+xml;base64,PHN2Zy8+'
    """
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def write_all(results: Results, experiment: Experiment, output: Path) -> None:
    """Write ``index.html``, ``tables.md``, ``tables.csv`` and the figures as PNG and SVG.

    Files of these names are replaced. Where results are missing, an en dash stands in the tables,
    and a figure that would be empty is left out.

    Parameters
    ----------
    results : Results
    experiment : Experiment
        Whose sets and methods are shown.
    output : Path
        Folder of the results; made if it does not exist.
    """
    found = lines(results, experiment)
    drawn = {
        f"{name}{ending}": figure
        for name, figure in draw(results, experiment, found, output).items()
        for ending in (".png", ".svg")
    }
    folder = output / FIGURES
    OutputFolder(folder, tuple(drawn), force=True).write(
        {name: partial(save, figure) for name, figure in drawn.items()}
    )
    pictures = {
        Path(name).stem: (folder / name).read_bytes() for name in drawn if name.endswith(".svg")
    }
    shown = tables(results, experiment, found)
    texts = {
        "tables.md": markdown(shown),
        "tables.csv": to_csv(found),
        "index.html": page(experiment, shown, tally(found), pictures),
    }
    writers: dict[str, Callable[[Path], object]] = {
        name: partial(_write, text) for name, text in texts.items()
    }
    OutputFolder(output, tuple(texts), force=True).write(writers)


def draw(
    results: Results, experiment: Experiment, found: Sequence[Line], output: Path
) -> dict[str, Figure]:
    """Figures by name; those that have nothing to show are left out.

    Parameters
    ----------
    results : Results
    experiment : Experiment
    found : sequence of Line
        Those of the results.
    output : Path
        Where the fits of the illustrations are kept.

    Returns
    -------
    dict of str to Figure
    """
    drawn = {"ranking": ranking()}
    if GRID_METHOD not in experiment.methods:
        return drawn
    for measure in MEASURES:
        grids = {data: grid for data in experiment.sets if (grid := results.grid(data, measure))}
        if grids:
            marks = {data: _marks(found, data, grid) for data, grid in grids.items()}
            drawn[measure] = sensitivity(grids, marks, measure.upper())
    fitted = {data: illustrate(data, output) for data in experiment.sets}
    if fitted:
        drawn |= {"memberships": memberships(fitted), "convergence": convergence(fitted)}
    return drawn


def _marks(found: Sequence[Line], data: str, grid: dict[Parameters, float]) -> Marks:
    """Cells worth finding: the highest, the paper's, and the one chosen without labels."""
    active = printed_active(data)
    return Marks(
        max(grid, key=lambda parameters: grid[parameters]),
        None if active is None else Parameters(active, FUZZIFIER),
        chosen(found, data, WITHOUT_LABELS),
    )


def _write(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
