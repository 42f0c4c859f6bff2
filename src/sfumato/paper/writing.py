"""Writes tables, figures and the page; a file appears whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from sfumato.files import OutputFolder
from sfumato.paper.comparison import Line, chosen, lines, tally, to_csv
from sfumato.paper.drawing import save
from sfumato.paper.expected import FUZZIFIER, printed_active
from sfumato.paper.experiment import GRID_METHOD, Experiment, Parameters
from sfumato.paper.figures import Marks, convergence, memberships, sensitivity
from sfumato.paper.illustrations import illustrate
from sfumato.paper.page import page
from sfumato.paper.ranking import ranking
from sfumato.paper.results import WITHOUT_LABELS, Results
from sfumato.paper.tables import markdown, tables

FIGURES = "figures"
"""Folder of the figures, within that of the results."""
MEASURES = ("acc", "nmi")
"""Measures with a figure of their own."""


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
