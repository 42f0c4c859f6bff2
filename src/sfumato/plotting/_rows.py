"""Displays of what a model says about rows: their memberships, and their outlier scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from sfumato._engines.outputs import OUTLIER
from sfumato._modeled_rows import SAMPLE_ROWS, largest_memberships, sample_of
from sfumato._typing import Floats
from sfumato.plotting._axes import GRID_COLOR, Display
from sfumato.plotting._colors import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 20
"""Bars of a histogram of memberships."""
SCORE_BINS = 40
"""Bars of a histogram of outlier scores."""


class MembershipDisplay(Display):
    """How clearly rows belong: a histogram of the largest membership of each row.

    Rows at 1 are in one cluster alone, rows at 1/2 and below are shared. Outliers, which have no
    memberships, are counted in the title.

    Parameters
    ----------
    memberships : array-like or sparse array of shape (n_rows, n_clusters)
        Rows sum to one, or to zero for outliers.

    Attributes
    ----------
    largest : ndarray of shape (n_rows,)
        Largest membership of each row; 0 for outliers.
    ax_ : Axes
    figure_ : Figure
    bars_ : BarContainer

    Examples
    --------
    >>> from sfumato.plotting import MembershipDisplay
    >>> display = MembershipDisplay([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8], [0.0, 0.0]])
    >>> display.largest
    array([1. , 0.5, 0.8, 0. ])
    >>> display.plot().ax_.get_title()
    '3 rows with memberships, 1 without'
    """

    def __init__(self, memberships: Any) -> None:
        self.memberships = sp.csr_array(memberships)
        self.largest = largest_memberships(self.memberships)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, max_rows: int = SAMPLE_ROWS, ax: Any = None
    ) -> Self:
        """Plot the memberships of rows in the clusters of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
        X : array-like, sparse matrix, Stream or dask collection
        max_rows : int, default=5000
            Rows to draw at most, a sample that is the same in every call.
        ax : Axes, optional

        Returns
        -------
        display : MembershipDisplay
        """
        return cls(sample_of(estimator, X, max_rows).memberships).plot(ax)

    @classmethod
    def from_predictions(cls, memberships: Any, *, ax: Any = None) -> Self:
        """Plot memberships.

        Parameters
        ----------
        memberships : array-like or sparse array of shape (n_rows, n_clusters)
        ax : Axes, optional

        Returns
        -------
        display : MembershipDisplay
        """
        return cls(memberships).plot(ax)

    def _draw(self, ax: Axes) -> None:
        inside = self.largest[self.largest > 0]
        heights, edges = np.histogram(inside, BINS, (0.0, 1.0))
        width = edges[1] - edges[0]
        self.bars_ = ax.bar(edges[:-1] + width / 2, heights, 0.9 * width, color=PALETTE[0])
        ax.set(
            xlabel="largest membership of a row",
            ylabel="rows",
            xlim=(0, 1),
            title=f"{len(inside)} rows with memberships, {len(self.largest) - len(inside)} without",
        )
        ax.grid(axis="y", color=GRID_COLOR, linewidth=0.6)
        ax.set_axisbelow(True)


class OutlierScoreDisplay(Display):
    """Histogram of outlier scores, with the score from which on a row is an outlier.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
    threshold : float, default=1.0
        Rows above it are outliers.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    bars_ : list of BarContainer
        Of the rows inside, and of the outliers.

    Examples
    --------
    >>> from sfumato.plotting import OutlierScoreDisplay
    >>> display = OutlierScoreDisplay.from_predictions([0.2, 0.5, 0.4, 3.0])
    >>> display.ax_.get_title()
    '1 of 4 rows is an outlier'
    """

    def __init__(self, scores: ArrayLike, threshold: float = OUTLIER) -> None:
        self.scores = np.asarray(scores, dtype=np.float64)
        self.threshold = float(threshold)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, max_rows: int = SAMPLE_ROWS, ax: Any = None
    ) -> Self:
        """Plot the outlier scores of rows by a fitted estimator.

        Parameters
        ----------
        estimator : estimator
        X : array-like, sparse matrix, Stream or dask collection
        max_rows : int, default=5000
            Rows to draw at most, a sample that is the same in every call.
        ax : Axes, optional

        Returns
        -------
        display : OutlierScoreDisplay
        """
        return cls(sample_of(estimator, X, max_rows).scores).plot(ax)

    @classmethod
    def from_predictions(
        cls, scores: ArrayLike, *, threshold: float = OUTLIER, ax: Any = None
    ) -> Self:
        """Plot outlier scores.

        Parameters
        ----------
        scores : array-like of shape (n_rows,)
        threshold : float, default=1.0
        ax : Axes, optional

        Returns
        -------
        display : OutlierScoreDisplay
        """
        return cls(scores, threshold).plot(ax)

    def histogram(self) -> tuple[Floats, Floats]:
        """Rows in bins of equal ratio, such that the threshold is an edge.

        Returns
        -------
        counts : ndarray of shape (n_bins,)
        edges : ndarray of shape (n_bins + 1,)
        """
        known = self.scores[np.isfinite(self.scores) & (self.scores > 0)]
        if not len(known):
            return np.zeros(2), self.threshold * np.array([0.5, 1.0, 2.0])
        low = min(float(np.quantile(known, 0.01)), self.threshold / 2)
        high = max(float(known.max()), 2 * self.threshold)
        ratio = (high / low) ** (1 / SCORE_BINS)
        below = int(np.ceil(np.log(self.threshold / low) / np.log(ratio)))
        above = int(np.ceil(np.log(high / self.threshold) / np.log(ratio)))
        edges = self.threshold * ratio ** np.arange(-below, above + 1)
        places = np.searchsorted(edges, np.clip(known, edges[0], None), side="left") - 1
        counts = np.bincount(np.clip(places, 0, len(edges) - 2), minlength=len(edges) - 1)
        return counts.astype(np.float64), edges

    def _draw(self, ax: Axes) -> None:
        counts, edges = self.histogram()
        inside = edges[1:] <= self.threshold * (1 + 1e-9)
        self.bars_ = [
            ax.bar(edges[:-1][part], counts[part], np.diff(edges)[part], align="edge", color=color)
            for part, color in ((inside, PALETTE[0]), (~inside, PALETTE[5]))
        ]
        ax.axvline(self.threshold, color=INK, linewidth=1, linestyle="--")
        n_outliers = int((self.scores > self.threshold).sum())
        verb = "is an outlier" if n_outliers == 1 else "are outliers"
        ax.set(
            xscale="log",
            xlabel="outlier score",
            ylabel="rows",
            title=f"{n_outliers} of {len(self.scores)} rows {verb}",
        )
