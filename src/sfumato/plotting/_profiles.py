"""What sets clusters apart, feature by feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sfumato._description import Description, describe
from sfumato._typing import Floats
from sfumato.plotting._axes import Display, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN_FEATURES = 20
"""Features of a profile, those with the largest differences. Chosen by hand, for one page."""
LONGEST_NAME = 24
"""Characters of a name on an axis."""
LARGEST = 3.0
"""Differences at the ends of the color scale, in standard deviations."""


class ClusterProfileDisplay(Display):
    """Differences of each cluster from the rest, a line per cluster and a column per feature.

    Blue is below the rest, orange above, in standard deviations of the feature.

    Parameters
    ----------
    differences : array-like of shape (n_clusters, n_features)
        Differences from the rest, in standard deviations; NaN where there is none.
    feature_names : sequence of str
    max_features : int, default=20
        Features to draw, those with the largest differences.

    Attributes
    ----------
    shown : ndarray of shape (n_shown,)
        Features that are drawn, the one with the largest difference first.
    ax_ : Axes
    figure_ : Figure
    image_ : AxesImage

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> from sfumato.plotting import ClusterProfileDisplay
    >>> X = [[0.0, 5.0], [1.0, 6.0], [8.0, 5.0], [9.0, 6.0]]
    >>> model = REFCMFS(2, random_state=0).fit(X)
    >>> display = ClusterProfileDisplay.from_estimator(model, X, ["income", "age"])
    >>> [label.get_text() for label in display.ax_.get_xticklabels()]
    ['income', 'age']
    """

    def __init__(
        self,
        differences: ArrayLike,
        feature_names: Sequence[str],
        max_features: int = SHOWN_FEATURES,
    ) -> None:
        self.differences = np.asarray(differences, dtype=np.float64)
        self.feature_names = [str(name) for name in feature_names]
        self.max_features = max_features
        largest = np.abs(np.nan_to_num(self.differences)).max(axis=0)
        self.shown = np.argsort(-largest, kind="stable")[:max_features]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        feature_names: Sequence[str] | None = None,
        *,
        max_features: int = SHOWN_FEATURES,
        ax: Any = None,
    ) -> Self:
        """Plot what sets the clusters of a fitted estimator apart; all rows are read, once.

        Parameters
        ----------
        estimator : estimator
        X : array-like, sparse matrix, Stream or dask collection
        feature_names : sequence of str, optional
        max_features : int, default=20
        ax : Axes, optional

        Returns
        -------
        display : ClusterProfileDisplay
        """
        found = describe(estimator, X, feature_names)
        return cls.from_description(found, max_features=max_features, ax=ax)

    @classmethod
    def from_description(
        cls, description: Description, *, max_features: int = SHOWN_FEATURES, ax: Any = None
    ) -> Self:
        """Plot a description.

        Parameters
        ----------
        description : Description
            As :func:`sfumato.describe` returns it.
        max_features : int, default=20
        ax : Axes, optional

        Returns
        -------
        display : ClusterProfileDisplay
        """
        frame = description.features
        first = frame[frame["cluster"] == 0]
        places = {key: i for i, key in enumerate(map(tuple, first[["feature", "category"]].values))}
        names = [
            str(name) if category is None else f"{name}: {category}" for name, category in places
        ]
        differences = np.full((len(description.clusters), len(names)), np.nan)
        keys = frame[["cluster", "feature", "category"]].itertuples(index=False)
        for (cluster, *key), value in zip(keys, frame["difference"], strict=True):
            differences[cluster, places[tuple(key)]] = value
        return cls(differences, names, max_features).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        X: ArrayLike,
        labels: ArrayLike,
        feature_names: Sequence[str] | None = None,
        *,
        max_features: int = SHOWN_FEATURES,
        ax: Any = None,
    ) -> Self:
        """Plot what sets clusters apart, from the labels of the rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        labels : array-like of shape (n_rows,)
            Clusters of the rows; -1 for outliers, which are left out.
        feature_names : sequence of str, optional
        max_features : int, default=20
        ax : Axes, optional

        Returns
        -------
        display : ClusterProfileDisplay
        """
        rows, found = np.asarray(X, dtype=np.float64), np.asarray(labels)
        rows, found = rows[found >= 0], found[found >= 0]
        names = feature_names or [f"x{i}" for i in range(rows.shape[1])]
        spread = rows.std(axis=0) if len(rows) else np.ones(rows.shape[1])
        n_clusters = int(found.max(initial=-1)) + 1
        lines = [_difference(rows, found == k, spread) for k in range(n_clusters)]
        return cls(np.array(lines).reshape(n_clusters, -1), names, max_features).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; nothing is computed from the estimator.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; axes of a new figure by default, large enough for all clusters.

        Returns
        -------
        self : object
        """
        if ax is None:
            height = 1.8 + 0.28 * len(self.differences)
            ax = new_figure(2.4 + 0.42 * max(3, len(self.shown)), height).add_subplot()
        return super().plot(ax)

    def _draw(self, ax: Axes) -> None:
        values = self.differences[:, self.shown]
        options: dict[str, Any] = {"cmap": "PuOr_r", "vmin": -LARGEST, "vmax": LARGEST}
        self.image_ = ax.imshow(values, aspect="auto", interpolation="nearest", **options)
        names = [self.feature_names[i] for i in self.shown]
        short = [n if len(n) <= LONGEST_NAME else f"{n[: LONGEST_NAME - 1]}…" for n in names]
        ax.set_xticks(range(len(short)), short, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(values)), [str(k) for k in range(len(values))])
        ax.set_ylabel("cluster")
        bar = ax.figure.colorbar(self.image_, ax=ax, extend="both")
        bar.set_label("difference from the rest (standard deviations)")


def _difference(rows: Floats, members: Any, spread: Floats) -> Floats:
    """Difference of the mean of some rows from that of the others, in standard deviations."""
    if members.all() or not members.any():
        return np.full(rows.shape[1], np.nan)
    gap = rows[members].mean(axis=0) - rows[~members].mean(axis=0)
    return np.asarray(np.where(spread > 0, gap / np.where(spread > 0, spread, 1.0), 0.0))
