"""Silhouettes of rows, cluster by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from sfumato._modeled_rows import sample_of
from sfumato.metrics import fuzzy_silhouette_samples
from sfumato.plotting._axes import Display
from sfumato.plotting._colors import INK, cluster_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SILHOUETTE_ROWS = 2000
"""Rows of the sample: time grows with its square. Chosen by hand."""
GAP = 0.02
"""Space between clusters, relative to all rows."""


class SilhouetteDisplay(Display):
    """Silhouettes of the rows of each cluster in decreasing order, faint where memberships are.

    The dashed line is the fuzzy silhouette: their mean, in which clear memberships count more.

    Parameters
    ----------
    silhouettes : array-like of shape (n_rows,)
        Silhouettes; NaN for outliers, which are left out.
    labels : array-like of shape (n_rows,)
    clearness : array-like of shape (n_rows,)
        Difference of the two largest memberships of each row.

    Attributes
    ----------
    mean : float
        The fuzzy silhouette.
    ax_ : Axes
    figure_ : Figure
    bars_ : dict of int to BarContainer
        By cluster.

    Examples
    --------
    >>> from sfumato.plotting import SilhouetteDisplay
    >>> X = [[0.0], [1.0], [5.0], [9.0], [10.0]]
    >>> memberships = [[1, 0], [1, 0], [0.5, 0.5], [0, 1], [0, 1]]
    >>> display = SilhouetteDisplay.from_predictions(X, memberships)
    >>> round(display.mean, 3)
    0.781
    """

    SIZE = (6.4, 5.2)

    def __init__(self, silhouettes: ArrayLike, labels: ArrayLike, clearness: ArrayLike) -> None:
        self.silhouettes = np.asarray(silhouettes, dtype=np.float64)
        self.labels = np.asarray(labels)
        self.clearness = np.asarray(clearness, dtype=np.float64)
        known = ~np.isnan(self.silhouettes)
        weights = self.clearness[known]
        total = float(weights.sum())
        self.mean = float(weights @ self.silhouettes[known]) / total if total > 0 else 0.0

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, max_rows: int = SILHOUETTE_ROWS, ax: Any = None
    ) -> Self:
        """Plot the silhouettes of rows in the clusters of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
        X : array-like, sparse matrix, Stream or dask collection
        max_rows : int, default=2000
            Rows of a sample that is the same in every call; time grows with its square.
        ax : Axes, optional

        Returns
        -------
        display : SilhouetteDisplay
        """
        sample = sample_of(estimator, X, max_rows)
        return cls.from_predictions(sample.rows, sample.memberships, ax=ax)

    @classmethod
    def from_predictions(cls, X: Any, memberships: Any, *, ax: Any = None) -> Self:
        """Plot the silhouettes of rows with known memberships.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_rows, n_features)
        memberships : array-like or sparse array of shape (n_rows, n_clusters)
            At least two clusters must have members.
        ax : Axes, optional

        Returns
        -------
        display : SilhouetteDisplay
        """
        silhouettes = fuzzy_silhouette_samples(X, memberships)
        dense = memberships.toarray() if sp.issparse(memberships) else np.asarray(memberships)
        second, first = np.partition(dense, dense.shape[1] - 2, axis=1)[:, -2:].T
        return cls(silhouettes, dense.argmax(axis=1), first - second).plot(ax)

    def _draw(self, ax: Axes) -> None:
        known = ~np.isnan(self.silhouettes)
        clusters = np.unique(self.labels[known])
        colors = cluster_colors(int(clusters.max(initial=0)) + 1)
        start, gap = 0.0, GAP * max(1, int(known.sum()))
        self.bars_: dict[int, Any] = {}
        middles: list[float] = []
        for cluster in clusters:
            rows = np.flatnonzero(known & (self.labels == cluster))
            rows = rows[np.argsort(-self.silhouettes[rows], kind="stable")]
            places = start + np.arange(len(rows))
            values = self.silhouettes[rows]
            bars = ax.barh(places, values, 1.0, color=colors[cluster], linewidth=0)
            for bar, clear in zip(bars, self.clearness[rows], strict=True):
                bar.set_alpha(0.35 + 0.65 * float(np.clip(clear, 0, 1)))
            self.bars_[int(cluster)] = bars
            middles.append(start + len(rows) / 2)
            start += len(rows) + gap
        ax.axvline(self.mean, color=INK, linestyle="--", linewidth=1)
        ax.set_yticks(middles, [str(cluster) for cluster in clusters], fontsize=8)
        ax.set(xlabel="silhouette", ylabel="rows of each cluster", ylim=(start, -gap))
        ax.set_title(f"Fuzzy silhouette {self.mean:.2f}")
