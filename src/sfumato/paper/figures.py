"""The paper's figures, redrawn. Each function returns a Figure and touches no global state.

Nothing rests on hue alone: bars are hatched, lines dashed, marked cells framed, and the color maps
grow evenly in lightness, so that they survive black-and-white print.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike, NDArray

from sfumato.paper.drawing import BELOW, TINY, blank, finished, multiples
from sfumato.paper.experiment import Parameters
from sfumato.paper.illustrations import ACCELERATED, METHODS_SHOWN, PLAIN, Illustration
from sfumato.paper.tables import NOTHING, TITLES
from sfumato.plotting import INK, PALETTE

FEW = 60
"""Cells of a heat map up to which each can hold its number."""
SMALLEST = 1e-4
"""Membership at which the color scale ends; smaller ones, but for zeros, look like it."""


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
