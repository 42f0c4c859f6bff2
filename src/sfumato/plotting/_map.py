"""A map of the rows: two dimensions, colors mixed by membership."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.decomposition import PCA, TruncatedSVD

from sfumato._modeled_rows import SAMPLE_ROWS, sample_of
from sfumato._typing import Floats
from sfumato.plotting._axes import Display, label_clusters
from sfumato.plotting._colors import GRAY, INK, cluster_colors, mixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID_POINTS = 400
"""Samples of the plane along its longer side; chosen by hand, about the pixels of a panel. Time and
memory grow with the square."""
MARGIN = 0.06
"""Width of the border around the rows that are no outliers, relative to their extent."""
LABELED = 40
"""Clusters up to which their numbers are written on the map. Chosen by hand."""


class Projection:
    """Projection of rows to the plane: their two features, or the first principal components.

    Components are those of the rows that are no outliers, so that no outlier turns the map.

    Parameters
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_features)
        Rows that are no outliers.
    """

    def __init__(self, rows: Any) -> None:
        n_rows, n_features = rows.shape
        self.names: tuple[str, str] = ("first feature", "second feature")
        self.components: Any = None
        self.explained: float | None = None
        if n_features > 2 and n_rows > 2:
            kind = TruncatedSVD if sp.issparse(rows) else PCA
            self.components = kind(2, random_state=0).fit(rows)
            self.names = ("first component", "second component")
            share = float(self.components.explained_variance_ratio_.sum())
            self.explained = share if np.isfinite(share) else None

    def __call__(self, rows: Any) -> Floats:
        """Points of rows in the plane; a single feature is the first coordinate."""
        if self.components is not None:
            found = self.components.transform(rows)
            return np.asarray(found, dtype=np.float64)
        dense = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
        return np.column_stack([dense, np.zeros(len(dense))])[:, :2]


def frame_of(points: Floats, outliers: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Lower and upper corner of the map: around all rows that are no outliers, if there are any."""
    inside = points if outliers.all() else points[~outliers]
    low, high = inside.min(axis=0), inside.max(axis=0)
    extent = np.where(high > low, high - low, 1.0)
    return low - MARGIN * extent, high + MARGIN * extent


class ClusterMapDisplay(Display):
    """Map of rows in the plane, in colors mixed by membership; outliers are open circles.

    Data of two features is shown as it is, other data in its first two principal components.
    Outliers beyond the frame of the other rows are drawn on its border.

    Parameters
    ----------
    points : array-like of shape (n_rows, 2)
    memberships : array-like or sparse array of shape (n_rows, n_clusters)
    centers : array-like of shape (n_clusters, 2), optional
        Centers, in the plane.
    outliers : array-like of shape (n_rows,), optional
        Whether a row is an outlier; by default, if it has no memberships.
    ground : ndarray of shape (height, width, 3), optional
        Colors of the plane behind the points, from the lower left of the frame.
    axis_names : tuple of 2 str

    Attributes
    ----------
    colors : ndarray of shape (n_rows, 3)
        Colors of the rows.
    ax_ : Axes
    figure_ : Figure
    scatter_ : PathCollection
        Rows that are no outliers.

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> from sfumato.plotting import ClusterMapDisplay
    >>> X = [[0.0, 0.0], [0.1, 0.0], [1.0, 1.0], [1.0, 0.9]]
    >>> model = REFCMFS(2, random_state=0).fit(X)
    >>> display = ClusterMapDisplay.from_estimator(model, X)
    >>> display.scatter_.get_offsets().shape
    (4, 2)
    """

    SIZE = (6.4, 5.2)

    def __init__(
        self,
        points: ArrayLike,
        memberships: Any,
        centers: ArrayLike | None = None,
        outliers: ArrayLike | None = None,
        ground: Floats | None = None,
        axis_names: tuple[str, str] = ("first feature", "second feature"),
    ) -> None:
        self.points: Floats = np.asarray(points, dtype=np.float64)
        self.memberships = sp.csr_array(memberships)
        self.centers: Floats | None = (
            None if centers is None else np.asarray(centers, dtype=np.float64)
        )
        empty = np.asarray(self.memberships.sum(axis=1)).ravel() == 0
        self.outliers = empty if outliers is None else np.asarray(outliers, dtype=bool)
        self.ground = ground
        self.axis_names = axis_names
        self.colors = mixed(self.memberships)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        max_rows: int = SAMPLE_ROWS,
        ground: bool = False,
        ax: Any = None,
    ) -> Self:
        """Plot rows and the centers of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
        X : array-like, sparse matrix, Stream or dask collection
        max_rows : int, default=5000
            Rows to draw at most, a sample that is the same in every call.
        ground : bool, default=False
            Whether to color the plane behind the points too; for data of two features.
        ax : Axes, optional

        Returns
        -------
        display : ClusterMapDisplay
        """
        sample = sample_of(estimator, X, max_rows)
        return cls.from_predictions(
            sample.rows,
            sample.memberships,
            centers=estimator.cluster_centers_,
            outliers=sample.outliers,
            predict=estimator.predict_proba if ground else None,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        X: Any,
        memberships: Any,
        *,
        centers: ArrayLike | None = None,
        outliers: ArrayLike | None = None,
        predict: Callable[[Floats], Any] | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot rows with known memberships.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_rows, n_features)
        memberships : array-like or sparse array of shape (n_rows, n_clusters)
        centers : array-like of shape (n_clusters, n_features), optional
        outliers : array-like of shape (n_rows,), optional
        predict : callable, optional
            Memberships of points of the plane, by which the ground is colored; for two features.
        ax : Axes, optional

        Returns
        -------
        display : ClusterMapDisplay
        """
        rows = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        if predict is not None and rows.shape[1] != 2:
            raise ValueError(
                f"X has {rows.shape[1]} features; the ground can be colored for 2 features alone."
            )
        display = cls(np.zeros((rows.shape[0], 2)), memberships, outliers=outliers)
        inside = np.flatnonzero(~display.outliers)
        project = Projection(rows[inside] if len(inside) else rows)
        display.points, display.axis_names = project(rows), project.names
        if centers is not None:
            display.centers = project(np.asarray(centers, dtype=np.float64))
        if predict is not None:
            display.ground = display._colored_plane(predict)
        return display.plot(ax)

    def _colored_plane(self, predict: Callable[[Floats], Any]) -> Floats:
        """Faint colors of the plane, by the memberships of its points."""
        low, high = frame_of(self.points, self.outliers)
        step = float((high - low).max()) / GRID_POINTS
        x, y = np.meshgrid(np.arange(low[0], high[0], step), np.arange(low[1], high[1], step))
        colors = mixed(predict(np.column_stack([x.ravel(), y.ravel()])))
        return np.asarray(1 - 0.45 * (1 - colors.reshape(*x.shape, 3)))

    def _draw(self, ax: Axes) -> None:
        low, high = frame_of(self.points, self.outliers)
        if self.ground is not None:
            extent = (low[0], high[0], low[1], high[1])
            ax.imshow(self.ground, origin="lower", extent=extent, interpolation="bilinear")
        inside = ~self.outliers
        style: dict[str, Any] = {"s": 14, "linewidths": 0.3}
        x, y = self.points[inside].T
        self.scatter_ = ax.scatter(x, y, c=self.colors[inside], edgecolors="white", **style)
        x, y = np.clip(self.points[self.outliers], low, high).T
        self.outlier_scatter_ = ax.scatter(x, y, s=18, facecolors="none", edgecolors=GRAY)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        ax.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        if self.centers is None:
            return
        colors = cluster_colors(len(self.centers))
        marks: dict[str, Any] = {"s": 70, "marker": "X", "linewidths": 0.8}
        x, y = self.centers.T
        ax.scatter(x, y, c=colors, edgecolors=INK, **marks)
        if len(self.centers) <= LABELED:
            offset = 0.035 * (high - low) * np.array([0.0, 1.0])
            label_clusters(ax, self.centers + offset)
