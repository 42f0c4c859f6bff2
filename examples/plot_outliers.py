"""K-means beside CappedREFCMFS on data with outliers, the first picture of the README.

Five clusters, and a quarter of the points uniform in a square. K-means places centers on outliers
and merges clusters; CappedREFCMFS finds the clusters and marks the outliers. The data and the fit
are those of the code beside the picture.

Run from the top of the repository::

    python examples/plot_outliers.py docs/images/outliers.png
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.cluster import KMeans

from sfumato import CappedREFCMFS
from sfumato.datasets import make_blobs_with_outliers
from sfumato.plotting import INK, PALETTE, save


def scatter(axes: Axes, X: np.ndarray, labels: np.ndarray, centers: np.ndarray, title: str) -> None:
    """Points in the colors of their clusters, outliers (-1) as open circles, centers as crosses."""
    out = labels < 0
    colors = np.array(PALETTE)[labels[~out]]
    axes.scatter(*X[~out].T, s=9, c=colors, linewidths=0)
    if out.any():
        axes.scatter(
            *X[out].T,
            s=16,
            facecolors="none",
            edgecolors="#888888",
            linewidths=0.7,
            label=f"outliers ({out.sum()})",
        )
    axes.plot(*centers.T, "X", color=INK, markersize=7, markeredgecolor="white", label="centers")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.22), ncols=2, frameon=False)
    axes.set(title=title, xlabel="first feature", ylabel="second feature", aspect="equal")


def main(path: Path) -> None:
    """Fit both methods and plot them side by side."""
    X = make_blobs_with_outliers(1000, n_clusters=5, contamination=0.25, random_state=0).data
    model = CappedREFCMFS(n_clusters=5, random_state=0).fit(X)
    kmeans = KMeans(n_clusters=5, n_init=10, random_state=0).fit(X)
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    scatter(left, X, kmeans.labels_, kmeans.cluster_centers_, "K-means, best of 10 starts")
    found = np.where(model.outliers_, -1, model.labels_)
    scatter(right, X, found, model.cluster_centers_, "CappedREFCMFS")
    right.set_ylabel("")
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/outliers.png"))
