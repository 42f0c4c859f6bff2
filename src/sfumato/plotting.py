"""Plots of clusterings by matplotlib, without its global state: ``pyplot`` is not used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import ArrayLike, NDArray

from sfumato._selection.choose import SMALLER
from sfumato._selection.record import Selection
from sfumato._typing import Floats

__all__ = [
    "INK",
    "PALETTE",
    "convergence",
    "criteria",
    "image_memberships",
    "mixed",
    "plane",
    "save",
]

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
"""Colors of clusters: those of Okabe and Ito, distinct under common kinds of color blindness."""
STYLES = ("-", "--", "-.", ":")
"""Line styles, one after the other."""
INK = "#222222"
"""Color of text and marks."""
GRAY = "#BBBBBB"
"""Color of rows that belong to no cluster. Chosen by hand."""
GRID_POINTS = 400
"""Samples of a plane along its longer side; chosen by hand, about the pixels of a panel. Time and
memory grow with the square."""
DOTS_PER_INCH = 150
"""Resolution of PNG files; chosen by hand."""


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG.

    Parameters
    ----------
    figure : Figure
    path : Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sfumato.plotting import convergence, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "curve.png")
    ...     save(convergence({"a method": [4.0, 2.0, 1.5]}), path)
    ...     print(path.read_bytes()[1:4])
    b'PNG'
    """
    figure.savefig(path, dpi=DOTS_PER_INCH, format="png")


def convergence(curves: Mapping[str, Sequence[float]]) -> Figure:
    """Plot the objective by iteration, as relative excess over its final value.

    Methods minimize different objectives, so each curve is relative to its own final value. Zero
    excess is left out, since the axis is logarithmic.

    Parameters
    ----------
    curves : mapping of str to sequence of float
        Objective after each iteration, by the name of the method.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from sfumato.plotting import convergence
    >>> figure = convergence({"a method": [4.0, 2.0, 1.5, 1.5]})
    >>> figure.axes[0].get_xlabel()
    'iteration'
    """
    figure = _figure(6.4, 4.0)
    axes = figure.add_subplot()
    for k, (name, objectives) in enumerate(curves.items()):
        values = np.asarray(objectives, dtype=np.float64)
        excess = (values - values[-1]) / abs(values[-1] or 1.0)
        iterations = np.arange(1, len(values) + 1)
        shown = excess > 0
        color, style = PALETTE[k % len(PALETTE)], STYLES[k % len(STYLES)]
        axes.plot(iterations[shown], excess[shown], style, color=color, linewidth=2, label=name)
    axes.set(
        yscale="log",
        xlabel="iteration",
        ylabel="objective above its final value (relative)",
        title="Convergence of the start that was kept",
    )
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def image_memberships(
    images: NDArray[np.generic],
    centers: NDArray[np.generic],
    memberships: sp.csr_array,
    names: Sequence[str],
) -> Figure:
    """Show images beside the centers of their clusters, by decreasing membership.

    Parameters
    ----------
    images : ndarray of shape (n_images, height, width)
        Gray values, larger is darker.
    centers : ndarray of shape (n_clusters, height, width)
    memberships : csr_array of shape (n_images, n_clusters)
        Memberships of the images.
    names : sequence of str
        Caption of each image.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from sfumato.plotting import image_memberships
    >>> images, centers = np.ones((1, 2, 2)), np.zeros((3, 2, 2))
    >>> memberships = csr_array([[0.25, 0.0, 0.75]])
    >>> figure = image_memberships(images, centers, memberships, ["an image"])
    >>> [axes.get_title() for axes in figure.axes]
    ['an image', '75%', '25%']
    """
    n_images, n_columns = len(images), int(np.diff(memberships.indptr).max())
    figure = _figure(1.25 * (n_columns + 1), 1.6 * n_images + 0.5, gap=0.1)
    grid = figure.subplots(n_images, n_columns + 1, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for row in range(n_images):
        _show(grid[row, 0], images[row], names[row])
        _frame(grid[row, 0])
        entries = slice(memberships.indptr[row], memberships.indptr[row + 1])
        clusters, shares = memberships.indices[entries], memberships.data[entries]
        for column, entry in enumerate(np.argsort(-shares, kind="stable"), start=1):
            share = float(shares[entry])
            _show(grid[row, column], centers[clusters[entry]], _percent(share))
            _bar(grid[row, column], share)
    figure.suptitle("Images (left), and the centers that each belongs to", color=INK)
    return figure


def plane(
    axes: Axes,
    points: NDArray[np.generic],
    memberships: Callable[[Floats], Floats],
    centers: NDArray[np.generic],
    title: str,
) -> None:
    """Plot points in two dimensions, and the plane behind them, in colors mixed by membership.

    Parameters
    ----------
    axes : Axes
        Where to draw.
    points : ndarray of shape (n_points, 2)
    memberships : callable
        Maps an array of shape (n, 2) to memberships of shape (n, n_clusters).
    centers : ndarray of shape (n_clusters, 2)
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from sfumato import REFCMFS
    >>> from sfumato.plotting import plane
    >>> X = np.array([[0.0, 0.0], [0.1, 0.0], [1.0, 1.0], [1.0, 0.9]])
    >>> model = REFCMFS(2, random_state=0).fit(X)
    >>> axes = Figure().add_subplot()
    >>> memberships = lambda points: model.predict_membership(points).toarray()
    >>> plane(axes, X, memberships, model.cluster_centers_, "Two clusters")
    >>> axes.get_title()
    'Two clusters'
    """
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.04 * (high - low)
    (left, bottom), (right, top) = low - margin, high + margin
    step = max(right - left, top - bottom) / GRID_POINTS
    x, y = np.meshgrid(np.arange(left, right, step), np.arange(bottom, top, step))
    ground = mixed(memberships(np.column_stack([x.ravel(), y.ravel()])))
    faded = 1 - 0.45 * (1 - ground.reshape(*x.shape, 3))
    axes.imshow(faded, origin="lower", extent=(left, right, bottom, top), interpolation="bilinear")
    colors = mixed(memberships(np.asarray(points, dtype=np.float64)))
    axes.scatter(points[:, 0], points[:, 1], c=colors, s=14, linewidths=0.3, edgecolors="white")
    axes.scatter(
        centers[:, 0], centers[:, 1], c=INK, s=70, marker="X", linewidths=0.8, edgecolors="white"
    )
    axes.set(title=title, xlabel="first feature", ylabel="second feature")


def mixed(memberships: ArrayLike) -> Floats:
    """Mix the colors of the clusters by membership.

    Parameters
    ----------
    memberships : array-like of shape (n, n_clusters)
        Rows sum to one, or to zero: outliers are gray. From the ninth cluster on, colors repeat.

    Returns
    -------
    colors : ndarray of shape (n, 3)
        Red, green and blue between 0 and 1.

    Examples
    --------
    >>> from sfumato.plotting import mixed
    >>> mixed([[1.0, 0.0], [0.5, 0.5]]).round(2)
    array([[0.  , 0.45, 0.7 ],
           [0.45, 0.54, 0.35]])
    """
    shares = np.asarray(memberships, dtype=np.float64)
    palette = np.array([to_rgb(PALETTE[k % len(PALETTE)]) for k in range(shares.shape[1])])
    unassigned = 1 - shares.sum(axis=1, keepdims=True)
    colors: Floats = np.clip(shares @ palette + unassigned * np.array(to_rgb(GRAY)), 0.0, 1.0)
    return colors


def _figure(width: float, height: float, gap: float = 0.04) -> Figure:
    layout = ConstrainedLayoutEngine(h_pad=gap, w_pad=0.06)
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def _show(axes: Axes, image: NDArray[np.generic], caption: str) -> None:
    axes.imshow(image, cmap="gray_r", interpolation="nearest")
    axes.set_title(caption, fontsize=10, color=INK, pad=6)


def _frame(axes: Axes) -> None:
    """Outline an image."""
    corners = [-0.02, 1.02, 1.02, -0.02, -0.02], [-0.02, -0.02, 1.02, 1.02, -0.02]
    axes.plot(*corners, color=INK, linewidth=1, transform=axes.transAxes, clip_on=False)


def _bar(axes: Axes, share: float) -> None:
    """Draw a bar below an image; its length is the share of the width."""
    bottom, height = -0.14, 0.08
    for length, color in ((1.0, "#e6e6e6"), (share, PALETTE[0])):
        axes.fill(
            [0, length, length, 0],
            [bottom, bottom, bottom + height, bottom + height],
            color=color,
            transform=axes.transAxes,
            clip_on=False,
            linewidth=0,
        )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 else "< 0.5%"


def criteria(selection: Selection) -> Figure:
    """Plot the criteria of a selection by the number of clusters.

    Each is scaled to its range, so that 1 is best; the chosen number is marked.

    Parameters
    ----------
    selection : Selection
        As :func:`sfumato.select_n_clusters` returns it.

    Returns
    -------
    figure : Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import select_n_clusters
    >>> from sfumato.plotting import criteria
    >>> X = np.random.RandomState(0).normal(size=(100, 1)) + 9 * np.arange(100)[:, None] % 27
    >>> criteria(select_n_clusters(X)).axes[0].get_xlabel()
    'number of clusters'
    """
    figure = Figure(figsize=(6, 3.5), layout=ConstrainedLayoutEngine())
    axes = figure.add_subplot()
    for place, (name, values) in enumerate(selection.scores.items()):
        scores = np.asarray(values, dtype=np.float64)
        scores = np.where(np.isfinite(scores), scores, np.nan)
        if np.isnan(scores).all():
            continue
        scores = -scores if name in SMALLER else scores
        extent = np.nanmax(scores) - np.nanmin(scores)
        shown = (scores - np.nanmin(scores)) / (extent if extent > 0 else 1)
        (line,) = axes.plot(selection.candidates, shown, marker=".", label=name.replace("_", " "))
        line.set(color=PALETTE[place % len(PALETTE)], linewidth=1 if place else 2)
    axes.axvline(selection.n_clusters, color=GRAY, zorder=0)
    axes.set_xlabel("number of clusters")
    axes.set_ylabel("criterion, scaled to its range")
    if axes.lines[:-1]:
        axes.legend(fontsize="small")
    return figure
