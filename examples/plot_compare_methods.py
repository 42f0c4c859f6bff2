"""
Methods side by side
====================

Six methods on four data sets, told the number of clusters where they ask for it. None is best
everywhere: round clusters with outliers are for :class:`~sfumato.CappedREFCMFS`, interlocked ones
for :class:`~sfumato.LandmarkSpectralClustering` or HDBSCAN.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs, make_moons

import sfumato
from sfumato.datasets import make_blobs_with_outliers
from sfumato.plotting import PALETTE

rng = np.random.default_rng(0)
uneven = np.vstack(
    [rng.normal(m, s, size=(n, 2)) for m, s, n in [(0, 1.5, 300), (7, 0.5, 25), (-6, 0.5, 40)]]
)
data = {
    "blobs": (make_blobs(400, centers=4, random_state=6)[0], 4),
    "outliers, 20 %": (make_blobs_with_outliers(400, n_clusters=4, random_state=2).data, 4),
    "sizes 1:12": (uneven, 3),
    "moons": (make_moons(400, noise=0.06, random_state=0)[0], 2),
}
methods = {
    "KMeans": lambda k: KMeans(k, n_init=10, random_state=0),
    "FuzzyCMeans": lambda k: sfumato.FuzzyCMeans(k, random_state=0),
    "REFCMFS": lambda k: sfumato.REFCMFS(k, random_state=0),
    "CappedREFCMFS": lambda k: sfumato.CappedREFCMFS(k, random_state=0),
    "Landmark spectral": lambda k: sfumato.LandmarkSpectralClustering(k, random_state=0),
    "HDBSCAN": lambda k: HDBSCAN(min_cluster_size=15, copy=True),
}

# %%
# Gray points belong to no cluster.
figure, axes = plt.subplots(4, 6, figsize=(12, 8), layout="constrained")
for i, (name, (X, k)) in enumerate(data.items()):
    for panel, (method, make) in zip(axes[i], methods.items(), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sfumato.exceptions.ClusteringWarning)
            model = make(k).fit(X)
        labels = np.array(model.labels_)
        if method == "CappedREFCMFS":
            labels[model.outliers_] = -1
        colors = np.array([*PALETTE, "#cccccc"])[np.where(labels < 0, -1, labels % len(PALETTE))]
        panel.scatter(*X.T, s=3, c=colors)
        panel.set(xticks=[], yticks=[])
        if i == 0:
            panel.set_title(method, fontsize=10)
    axes[i, 0].set_ylabel(name)
plt.show()
