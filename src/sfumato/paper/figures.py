"""The paper's figures, redrawn. Each function returns a Figure and touches no global state.

Nothing rests on hue alone: bars are hatched, lines dashed, marked cells framed, and the color maps
grow evenly in lightness, so that they survive black-and-white print.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray

from sfumato import plotting as pictures
from sfumato.paper.experiment import Parameters
from sfumato.paper.illustrations import (
    ACCELERATED,
    EXAMPLE,
    EXAMPLE_ACTIVE,
    EXAMPLE_FUZZIFIERS,
    EXAMPLE_PRINTED,
    METHODS_SHOWN,
    PLAIN,
    Illustration,
    rank,
)
from sfumato.paper.tables import NOTHING, TITLES
from sfumato.plotting import INK, PALETTE

WIDTH = 8.0
"""Width of every figure, in inches. Chosen by hand."""
LARGE, SMALL, TINY = 9.5, 8, 7
"""Font sizes, in points. Chosen by hand."""
BELOW: dict[str, Any] = {
    "loc": "outside lower center",
    "ncols": 3,
    "frameon": False,
    "fontsize": SMALL,
}
"""Options of a legend below the whole figure."""
FEW = 60
"""Number of cells of a heat map up to which a number fits into each. Chosen by hand."""
SMALLEST = 1e-4
"""Lower end of the color scale of memberships. Chosen by hand; zeros are white."""
FADED = "#d0d0d0"
"""Color of bars of distances that are not kept."""


class Marks(NamedTuple):
    """Cells of a grid to be framed; None where there is none."""

    best: Parameters | None = None
    paper: Parameters | None = None
    chosen: Parameters | None = None


FRAMES: dict[str, tuple[str, Any, float]] = {
    "best": ("highest", "-", 0.02),
    "paper": ("chosen by the paper", (0, (3, 1.2)), 0.08),
    "chosen": ("chosen without labels", (0, (1, 1.2)), 0.14),
}
"""Name, dashes and inset of the frames, by the field of Marks; insets let frames coincide."""


def blank(height: float, width: float = WIDTH) -> Figure:
    """An empty figure, in inches."""
    layout = ConstrainedLayoutEngine(h_pad=0.06, w_pad=0.06, hspace=0.04, wspace=0.03)
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def multiples(number: int, columns: int) -> tuple[Figure, list[Axes]]:
    """A figure with ``number`` panels, in rows of ``columns``."""
    columns = min(columns, number)
    rows = -(-number // columns)
    figure = blank(2.3 * rows + 0.4, WIDTH if columns > 1 else WIDTH * 0.6)
    return figure, [figure.add_subplot(rows, columns, k + 1) for k in range(number)]


def finished(figure: Figure) -> Figure:
    """Set font sizes for small panels, and compute the layout.

    Sizes are set on the figure, since defaults are global. The layout takes longer than the
    drawing, so it is computed once, and not for every file.
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


def ranking() -> Figure:
    """How a row is divided among its nearest centers, on the paper's example.

    Returns
    -------
    Figure
        Distances as given, sorted, and the memberships for two fuzzifiers.

    Examples
    --------
    >>> from sfumato.paper.figures import ranking
    >>> [axes.get_title()[:2] for axes in ranking().axes]
    ['1.', '2.', '3.', '3.']
    """
    figure = blank(4.8)
    (given, ordered), bottom = figure.subplots(2, 2)
    found = [rank(EXAMPLE, EXAMPLE_ACTIVE, fuzzifier) for fuzzifier in EXAMPLE_FUZZIFIERS]
    distances, order = np.asarray(EXAMPLE), found[0].order
    kept = np.isin(np.arange(len(order)), order[:EXAMPLE_ACTIVE])
    _bars(given, distances, kept)
    _ticks(given, np.arange(len(order)))
    given.set(title="1. Distances of a row to five centers", xlabel="center", ylabel="distance h")
    _bars(ordered, distances[order], kept[order])
    _ticks(ordered, order)
    ordered.axvline(EXAMPLE_ACTIVE - 0.5, color=INK, linestyle="--", linewidth=1)
    ordered.set(
        title="2. Sorted; the three nearest are kept",
        xlabel="center, nearest first",
        ylabel="distance h",
    )
    for axes, fuzzifier, one in zip(bottom, EXAMPLE_FUZZIFIERS, found, strict=True):
        _shares(axes, one.memberships)
        _ticks(axes, order)
        axes.set(title=f"3. Memberships, r = {fuzzifier:g}", xlabel="center, nearest first")
        axes.set(ylabel="membership", ylim=(0, 1.15))
    return finished(figure)


def sensitivity(
    grids: Mapping[str, Mapping[Parameters, float]], marks: Mapping[str, Marks], measure: str
) -> Figure:
    """A measure over K~ and r, a heat map per data set.

    Parameters
    ----------
    grids : mapping of str to mapping of Parameters to float
        In percent, by data set; cells that are missing stay empty.
    marks : mapping of str to Marks
    measure : str
        Its name.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from sfumato.paper.experiment import Parameters
    >>> from sfumato.paper.figures import Marks, sensitivity
    >>> grid = {Parameters(2, 1.1): 60.0, Parameters(9, 1.1): 50.0}
    >>> figure = sensitivity({"yale": grid}, {"yale": Marks(best=Parameters(2, 1.1))}, "ACC")
    >>> figure.axes[0].get_title()
    'Yale: ACC, %'
    """
    figure, panels = multiples(len(grids), columns=2)
    for axes, (data, grid) in zip(panels, grids.items(), strict=True):
        _heat(axes, grid, marks.get(data, Marks()))
        axes.set_title(f"{TITLES.get(data, data)}: {measure}, %")
    used = [key for key in FRAMES if any(getattr(marks.get(data), key, None) for data in grids)]
    handles = [
        Patch(facecolor="none", edgecolor=INK, linestyle=FRAMES[key][1], label=FRAMES[key][0])
        for key in used
    ]
    if handles:
        figure.legend(handles=handles, **BELOW)
    return finished(figure)


def memberships(fitted: Mapping[str, Illustration]) -> Figure:
    """Memberships of rows, largest first: hard, dense and sparse; a line of pictures per data set.

    Parameters
    ----------
    fitted : mapping of str to Illustration

    Returns
    -------
    Figure
    """
    figure = blank(1.3 * len(fitted) + 0.8)
    panels = figure.subplots(len(fitted), len(METHODS_SHOWN), squeeze=False, sharey=True)
    # From its pale end on, but not so pale that it could be taken for none.
    shades = matplotlib.colormaps["YlGnBu"](np.linspace(0.2, 1.0, 256))
    colors = ListedColormap(shades).with_extremes(bad="white")
    image: Any = None
    for line, (data, illustration) in zip(panels, fitted.items(), strict=True):
        for axes, name in zip(line, METHODS_SHOWN, strict=True):
            shown = illustration.memberships[name]
            image = axes.imshow(
                np.ma.masked_equal(np.where(shown > 0, np.maximum(shown, SMALLEST), 0), 0),
                norm=LogNorm(SMALLEST, 1.0),
                cmap=colors,
                aspect="auto",
                interpolation="nearest",
                extent=(0.5, shown.shape[1] + 0.5, 100, 0),
            )
        line[0].set_ylabel(f"{TITLES.get(data, data)}\nrows, %")
    for axes, name in zip(panels[0], METHODS_SHOWN, strict=True):
        axes.set_title(name)
    for axes in panels[-1]:
        axes.set_xlabel("rank of the membership")
    bar = figure.colorbar(image, ax=panels, shrink=min(1.0, 2.5 / len(fitted)), pad=0.02)
    bar.set_label("membership (white: none)")
    return finished(figure)


def convergence(fitted: Mapping[str, Illustration]) -> Figure:
    """Objective of REFCMFS by passes over the data, as excess over the lowest of both loops.

    Parameters
    ----------
    fitted : mapping of str to Illustration

    Returns
    -------
    Figure
    """
    columns = 3
    figure, panels = multiples(len(fitted), columns)
    for axes, (data, illustration) in zip(panels, fitted.items(), strict=True):
        curves = excess(illustration.curves)
        for name, style, color in ((PLAIN, "--", PALETTE[5]), (ACCELERATED, "-", PALETTE[0])):
            axes.plot(*curves[name], style, color=color, linewidth=1.6, label=f"{name} loop")
        axes.set(title=TITLES.get(data, data), yscale="log", xlabel="passes over the data")
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[::columns]:
        axes.set_ylabel("objective above the\nlowest found (relative)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, **BELOW)
    return finished(figure)


def excess(
    curves: Mapping[str, ArrayLike],
) -> dict[str, tuple[NDArray[np.floating], NDArray[np.floating]]]:
    """How far each loop was above the lowest objective that any reached, as a share of that.

    Parameters
    ----------
    curves : mapping of str to array-like of shape (n_iterations, 2)
        Passes over the data so far, and the objective.

    Returns
    -------
    dict of str to pair of ndarray of shape (n_shown,)
        Passes and excess, without the lowest itself, which has no place on a logarithmic axis.

    Examples
    --------
    >>> from sfumato.paper.figures import excess
    >>> excess({"one": [[1, 3.0], [3, 2.0]], "two": [[1, 3.0], [2, 1.0]]})["one"]
    (array([1., 3.]), array([2., 1.]))
    """
    lowest = min(np.asarray(curve)[:, 1].min() for curve in curves.values())
    found = {}
    for name, curve in curves.items():
        passes, objective = np.asarray(curve, dtype=np.float64).T
        above = (objective - lowest) / (lowest or 1.0)
        found[name] = passes[above > 0], above[above > 0]
    return found


def _heat(axes: Axes, grid: Mapping[Parameters, float], marks: Marks) -> None:
    """A heat map with K~ to the right and r upwards, each value that was tried a step."""
    active = sorted({cell.n_active for cell in grid})
    fuzzifiers = sorted({cell.fuzzifier for cell in grid})
    places = {
        Parameters(k, r): (x, y) for x, k in enumerate(active) for y, r in enumerate(fuzzifiers)
    }
    values = np.full((len(fuzzifiers), len(active)), np.nan)
    for cell, value in grid.items():
        x, y = places[cell]
        values[y, x] = value
    image = axes.imshow(values, cmap="viridis", origin="lower", aspect="auto")
    if values.size <= FEW:
        _numbers(axes, values)
    else:
        axes.figure.colorbar(image, ax=axes)
    axes.set_xticks(range(len(active)), [str(k) for k in active])
    axes.set_yticks(range(len(fuzzifiers)), [f"{r:g}" for r in fuzzifiers])
    axes.set(xlabel=r"memberships per row, $\tilde{K}$", ylabel="fuzzifier r")
    axes.spines[:].set_visible(False)
    for key, cell in marks._asdict().items():
        if cell is not None and cell[:2] in {place[:2] for place in places}:
            _frame(axes, places[Parameters(*cell[:2])], *FRAMES[key][1:])


def _numbers(axes: Axes, values: NDArray[np.floating]) -> None:
    """Write the values into their cells, in white where the color is dark."""
    low, high = np.nanmin(values), np.nanmax(values)
    for (y, x), value in np.ndenumerate(values):
        is_dark = value < low + 0.6 * (high - low)
        axes.text(
            x,
            y,
            f"{value:.1f}" if np.isfinite(value) else NOTHING,
            ha="center",
            va="center",
            fontsize=TINY,
            color="white" if is_dark else "black",
        )


def _frame(axes: Axes, place: tuple[int, int], dashes: Any, inset: float) -> None:
    """Outline a cell, in white on black so that it shows on every color."""
    x, y = place
    frame = Rectangle(
        (x - 0.5 + inset / 3, y - 0.5 + inset),
        1 - inset * 2 / 3,  # Less at the sides, where the number needs the room.
        1 - 2 * inset,
        fill=False,
        edgecolor="white",
        linestyle=dashes,
        linewidth=1.5,
        clip_on=False,
        path_effects=[withStroke(linewidth=3, foreground="black")],
    )
    axes.add_patch(frame)


def _bars(axes: Axes, heights: NDArray[np.floating], kept: NDArray[np.bool_]) -> None:
    """Bars with their numbers; those that are not kept are pale and hatched."""
    bars = axes.bar(range(len(heights)), heights, color=PALETTE[0], edgecolor=INK, linewidth=0.8)
    for bar, is_kept in zip(bars, kept, strict=True):
        if not is_kept:
            bar.set(facecolor=FADED, hatch="///")
    axes.bar_label(bars, [f"{height:.1f}" for height in heights], padding=2, fontsize=SMALL)
    axes.margins(y=0.18)


def _shares(axes: Axes, ours: NDArray[np.floating]) -> None:
    """Memberships of ours and the printed ones, side by side."""
    printed = np.pad(EXAMPLE_PRINTED, (0, len(ours) - len(EXAMPLE_PRINTED)))
    looks: tuple[dict[str, Any], ...] = (
        {"color": PALETTE[0]},
        {"color": "white", "hatch": "xxx"},
    )
    for values, side, name, look in zip(
        (ours, printed), (-0.2, 0.2), ("by the formula", "printed"), looks, strict=True
    ):
        label = f"{name}; they sum to {values.sum():.2f}"
        places = np.arange(len(values)) + side
        bars = axes.bar(places, values, 0.38, label=label, edgecolor=INK, linewidth=0.8, **look)
        axes.bar_label(bars, [_share(value) for value in values], padding=2, fontsize=TINY)
    axes.legend(loc="upper right", frameon=False, fontsize=SMALL)


def _share(value: float) -> str:
    return (
        "0"
        if value == 0
        else f"{value:.2f}"
        if value >= 0.005
        else f"{value:.0e}".replace("e-0", "e-")
    )


def _ticks(axes: Axes, centers: NDArray[np.intp]) -> None:
    axes.set_xticks(range(len(centers)), [str(center + 1) for center in centers])
    axes.spines[["top", "right"]].set_visible(False)
