"""Curves: the objective by iteration, and criteria by the number of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sfumato._selection.record import SMALLER, Selection
from sfumato._typing import Floats
from sfumato.plotting._axes import GRID_COLOR, Display, whole_numbers
from sfumato.plotting._colors import GRAY, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = ("-", "--", "-.", ":")
"""Line styles, one after the other."""


class ConvergenceDisplay(Display):
    """The objective by iteration, as relative excess over its final value.

    Methods minimize different objectives, so each curve is relative to its own final value. Zero
    excess is left out, since the axis is logarithmic.

    Parameters
    ----------
    curves : mapping of str to array-like
        Objective after each iteration, by the name of the method.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : list of Line2D

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> from sfumato.plotting import ConvergenceDisplay
    >>> model = REFCMFS(2, random_state=0).fit([[0.0], [1.0], [7.0], [9.0]])
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'iteration'
    """

    def __init__(self, curves: Mapping[str, ArrayLike]) -> None:
        self.curves = {name: np.asarray(v, dtype=np.float64) for name, v in curves.items()}

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Any = None) -> Self:
        """Plot the history of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``history_``.
        name : str, optional
            Name of the curve; that of the class by default.
        ax : Axes, optional

        Returns
        -------
        display : ConvergenceDisplay
        """
        curve = [record.objective for record in estimator.history_]
        return cls({name or type(estimator).__name__: curve}).plot(ax)

    @classmethod
    def from_predictions(cls, objectives: ArrayLike, *, name: str = "fit", ax: Any = None) -> Self:
        """Plot values of an objective.

        Parameters
        ----------
        objectives : array-like of shape (n_iterations,)
        name : str, default="fit"
        ax : Axes, optional

        Returns
        -------
        display : ConvergenceDisplay
        """
        return cls({name: objectives}).plot(ax)

    def excess(self, name: str) -> tuple[Floats, Floats]:
        """Iterations of a curve and its excess over the final value, where it is positive.

        Parameters
        ----------
        name : str

        Returns
        -------
        iterations, excess : ndarray
        """
        values = self.curves[name]
        if not len(values):
            return np.empty(0), np.empty(0)
        excess = (values - values[-1]) / abs(values[-1] or 1.0)
        shown = excess > 0
        return np.arange(1, len(values) + 1)[shown], excess[shown]

    def _draw(self, ax: Axes) -> None:
        self.lines_: list[Any] = []
        for k, name in enumerate(self.curves):
            color, style = PALETTE[k % len(PALETTE)], STYLES[k % len(STYLES)]
            options: dict[str, Any] = {"color": color, "linewidth": 2, "label": name}
            self.lines_ += ax.plot(*self.excess(name), style, **options)
        ax.set(
            yscale="log",
            xlabel="iteration",
            ylabel="objective above its final value (relative)",
            title="Convergence of the start that was kept",
        )
        whole_numbers(ax)
        ax.grid(color=GRID_COLOR, linewidth=0.6)
        if self.lines_:
            ax.legend(frameon=False)


class SelectionDisplay(Display):
    """Criteria of a choice of the number of clusters, each scaled to its range: 1 is best.

    Parameters
    ----------
    candidates : sequence of int
        Numbers of clusters that were compared.
    scores : mapping of str to array-like
        Values of each criterion, one for each candidate; NaN where it has none.
    n_clusters : int
        Number that was chosen.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    lines_ : list of Line2D

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import select_n_clusters
    >>> from sfumato.plotting import SelectionDisplay
    >>> X = np.random.RandomState(0).normal(size=(100, 1)) + 9 * np.arange(100)[:, None] % 27
    >>> display = SelectionDisplay.from_selection(select_n_clusters(X))
    >>> display.ax_.get_xlabel()
    'number of clusters'
    """

    SIZE = (6.0, 3.5)

    def __init__(
        self, candidates: Sequence[int], scores: Mapping[str, ArrayLike], n_clusters: int
    ) -> None:
        self.candidates = tuple(candidates)
        self.scores = {name: np.asarray(v, dtype=np.float64) for name, v in scores.items()}
        self.n_clusters = n_clusters

    @classmethod
    def from_selection(cls, selection: Selection, *, ax: Any = None) -> Self:
        """Plot a selection.

        Parameters
        ----------
        selection : Selection
            As :func:`sfumato.select_n_clusters` returns it.
        ax : Axes, optional

        Returns
        -------
        display : SelectionDisplay
        """
        return cls(selection.candidates, selection.scores, selection.n_clusters).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot the selection of an estimator that was fitted with ``n_clusters="auto"``.

        Parameters
        ----------
        estimator : estimator
        ax : Axes, optional

        Returns
        -------
        display : SelectionDisplay
        """
        if estimator.selection_ is None:
            raise ValueError(
                f"{type(estimator).__name__} was fitted with n_clusters={estimator.n_clusters}, so "
                "that no number was selected; use n_clusters='auto', or select_n_clusters(X)."
            )
        return cls.from_selection(estimator.selection_, ax=ax)

    def scaled(self) -> dict[str, Floats]:
        """Criteria scaled to their ranges, so that 1 is best; those without values are left out.

        Returns
        -------
        scaled : dict of str to ndarray
        """
        found = {}
        for name, values in self.scores.items():
            scores = np.where(np.isfinite(values), values, np.nan)
            if np.isnan(scores).all():
                continue
            scores = -scores if name in SMALLER else scores
            extent = np.nanmax(scores) - np.nanmin(scores)
            found[name] = (scores - np.nanmin(scores)) / (extent if extent > 0 else 1)
        return found

    def _draw(self, ax: Axes) -> None:
        self.lines_: list[Any] = []
        for place, (name, values) in enumerate(self.scaled().items()):
            (line,) = ax.plot(self.candidates, values, marker=".", label=name.replace("_", " "))
            color, style = PALETTE[place % len(PALETTE)], STYLES[place % len(STYLES)]
            line.set(color=color, linestyle=style, linewidth=1 if place else 2)
            self.lines_.append(line)
        whole_numbers(ax)
        ax.axvline(self.n_clusters, color=GRAY, zorder=0)
        ax.set(xlabel="number of clusters", ylabel="criterion, scaled to its range")
        if self.lines_:
            ax.legend(fontsize="small", frameon=False)
