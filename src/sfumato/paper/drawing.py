"""What all figures of the paper share: their size, their letters, and how they are saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from sfumato import plotting as pictures

WIDTH = 8.0
"""Of every figure, in inches."""
LARGE, SMALL, TINY = 9.5, 8, 7
"""Sizes of letters, in points."""
BELOW: dict[str, Any] = {
    "loc": "outside lower center",
    "ncols": 3,
    "frameon": False,
    "fontsize": SMALL,
}
"""Where legends of a whole figure go."""


def blank(height: float, width: float = WIDTH) -> Figure:
    """An empty figure, in inches."""
    layout = ConstrainedLayoutEngine(h_pad=0.06, w_pad=0.06, hspace=0.04, wspace=0.03)
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def multiples(number: int, columns: int) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, in rows."""
    columns = min(columns, number)
    rows = -(-number // columns)
    figure = blank(2.3 * rows + 0.4, WIDTH if columns > 1 else WIDTH * 0.6)
    return figure, [figure.add_subplot(rows, columns, k + 1) for k in range(number)]


def finished(figure: Figure) -> Figure:
    """Make letters fit small panels, and settle where everything goes.

    Letters are set on the figure, since defaults are global. The layout takes longer than the
    drawing, so it is found once, and not again for every file.
    """
    for axes in figure.axes:
        axes.title.set_fontsize(LARGE)
        axes.xaxis.label.set_fontsize(SMALL)
        axes.yaxis.label.set_fontsize(SMALL)
        axes.tick_params(labelsize=SMALL)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, or as SVG if the path ends so.

    Parameters
    ----------
    figure : Figure
    path : Path
    """
    if path.suffix != ".svg":
        pictures.save(figure, path)
        return
    # Without a salt and with a date, the same figure would be another file each time.
    with matplotlib.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
