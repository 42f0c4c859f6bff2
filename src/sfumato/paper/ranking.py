"""The paper's example of how a row is divided among its nearest centers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from sfumato.memberships import Power
from sfumato.paper.drawing import SMALL, TINY, blank, finished
from sfumato.paper.expected import FUZZIFIER
from sfumato.plotting import INK, PALETTE

EXAMPLE = (2.4, 3.5, 0.6, 7.8, 1.9)
"""Distances of the paper's example."""
EXAMPLE_ACTIVE = 3
"""How many of them it keeps."""
EXAMPLE_PRINTED = (0.39, 0.33, 0.18)
"""Memberships that the paper gives for it."""
EXAMPLE_FUZZIFIERS = (2.0, FUZZIFIER)
"""One at which three memberships can be seen, and the one of the paper's results."""
FADED = "#d0d0d0"
"""Color of bars that are not kept."""


class Ranking(NamedTuple):
    """Order of the centers of a row, nearest first, and memberships in that order."""

    order: NDArray[np.intp]
    memberships: NDArray[np.floating]


def rank(distances: ArrayLike, n_active: int, fuzzifier: float) -> Ranking:
    """Sort the distances of a row, keep the nearest, and divide the row among them.

    Parameters
    ----------
    distances : array-like of shape (n_clusters,)
    n_active : int
        How many are kept.
    fuzzifier : float

    Returns
    -------
    Ranking

    Examples
    --------
    >>> from sfumato.paper.ranking import rank
    >>> order, memberships = rank([2.4, 3.5, 0.6, 7.8, 1.9], n_active=3, fuzzifier=2.0)
    >>> order + 1
    array([3, 5, 1, 2, 4])
    >>> memberships.round(3)
    array([0.639, 0.202, 0.16 , 0.   , 0.   ])
    """
    values = np.asarray(distances, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    memberships = np.zeros_like(values)
    nearest = values[order[:n_active]]
    memberships[:n_active] = Power(n_active, fuzzifier).solve(nearest[np.newaxis])[0][0]
    return Ranking(order, memberships)


def ranking() -> Figure:
    """How a row is divided among its nearest centers, on the paper's example.

    Returns
    -------
    Figure
        Distances as given, sorted, and the memberships for two fuzzifiers.

    Examples
    --------
    >>> from sfumato.paper.ranking import ranking
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
