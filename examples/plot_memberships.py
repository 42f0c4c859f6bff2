"""Hard labels of K-means beside sparse memberships of REFCMFS, a picture of the README.

Six overlapping clusters in the plane. K-means assigns each point to one cluster; REFCMFS assigns
memberships in up to three clusters, and colors are mixed in proportion to them.

Run from the top of the repository::

    python examples/plot_memberships.py docs/images/memberships.png
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import KMeans

from sfumato import REFCMFS
from sfumato.plotting import plane, save

CENTERS = np.array([[0, 0], [4, 0.6], [8, -0.4], [1.6, 3.9], [5.8, 4.2], [9.6, 3.4]])
SPREADS = (1.0, 0.9, 1.1, 1.1, 1.2, 0.9)


def six_clusters(seed: int = 4) -> np.ndarray:
    """Sample points of six Gaussian clusters that overlap."""
    rng = np.random.default_rng(seed)
    groups = zip(CENTERS, SPREADS, strict=True)
    return np.vstack([rng.normal(center, spread, size=(160, 2)) for center, spread in groups])


def main(path: Path) -> None:
    """Fit both methods and plot them side by side."""
    X = six_clusters()
    # The same initial centers for both, so that a cluster has the same color in both plots.
    hard = KMeans(6, init=CENTERS, n_init=1).fit(X)
    soft = REFCMFS(6, n_active=3, init=CENTERS).fit(X)
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    plane(
        left,
        X,
        lambda points: np.eye(6)[hard.predict(points)],
        hard.cluster_centers_,
        "K-means: one label for each point",
    )
    plane(
        right,
        X,
        soft.predict_proba,
        soft.cluster_centers_,
        f"REFCMFS: {soft.n_active_} memberships for each point",
    )
    right.set_ylabel("")
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/memberships.png"))
