"""Figures and axes of matplotlib, without its global state: ``pyplot`` is not used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sfumato.plotting._colors import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS_PER_INCH = 150
"""Resolution of PNG files; chosen by hand."""
GRID_COLOR = "#DDDDDD"


class Display:
    """Base of the displays: where to draw, and what is remembered of it.

    A subclass takes the data in its constructor, and draws in ``_draw``.
    """

    SIZE = (6.4, 4.0)
    """Inches of a figure of its own."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; nothing is computed from the estimator.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; axes of a new figure by default.

        Returns
        -------
        self : object
            With ``ax_`` and ``figure_``.
        """
        if ax is None:
            ax = new_figure(*self.SIZE).add_subplot()
        self._draw(ax)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def _repr_png_(self) -> bytes | None:
        """Picture for a notebook, once it is drawn."""
        from io import BytesIO

        if not hasattr(self, "figure_"):
            return None
        picture = BytesIO()
        self.figure_.savefig(picture, dpi=100, format="png")
        return picture.getvalue()


def new_figure(width: float, height: float, gap: float = 0.04) -> Figure:
    """A figure of some inches, which no other part of the program knows of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(h_pad=gap, w_pad=0.06))
    FigureCanvasAgg(figure)
    return figure


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
    >>> from sfumato.plotting import ConvergenceDisplay, save
    >>> display = ConvergenceDisplay({"a method": [4.0, 2.0, 1.5]}).plot()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "curve.png")
    ...     save(display.figure_, path)
    ...     print(path.read_bytes()[1:4])
    b'PNG'
    """
    figure.savefig(path, dpi=DOTS_PER_INCH, format="png")


def label_clusters(ax: Axes, centers: Any) -> None:
    """Write the number of each cluster at its center, readable on any color."""
    from matplotlib.patheffects import withStroke

    outline = [withStroke(linewidth=2.5, foreground="white")]
    for k, (x, y) in enumerate(centers):
        ax.annotate(
            str(k),
            (x, y),
            ha="center",
            va="center",
            color=INK,
            fontsize=9,
            fontweight="bold",
            path_effects=outline,
        )


def whole_numbers(ax: Axes) -> None:
    """Mark whole numbers alone on the horizontal axis."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
