"""
Clusters among outliers
=======================

A quarter of these points lie anywhere, and nobody is told which. K-means spends centers on them
and joins clusters. :class:`~sfumato.CappedREFCMFS` finds the five clusters, and says which points
belong to none.
"""

# %%
# 1,000 points: five clusters, and 250 outliers.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from sfumato import CappedREFCMFS
from sfumato.datasets import make_blobs_with_outliers
from sfumato.plotting import INK, PALETTE

X = make_blobs_with_outliers(1000, n_clusters=5, contamination=0.25, random_state=0).data
model = CappedREFCMFS(n_clusters=5, random_state=0).fit(X)
kmeans = KMeans(n_clusters=5, n_init=10, random_state=0).fit(X)
print(f"{model.outliers_.sum()} outliers; cap {model.cap_:.2f}")

# %%
# Open circles are outliers, crosses are centers.


def scatter(axes, labels, centers, title):
    """Points in the colors of their clusters, outliers (-1) as open circles, centers as crosses."""
    out = labels < 0
    axes.scatter(*X[~out].T, s=9, c=np.array(PALETTE)[labels[~out]], linewidths=0)
    if out.any():
        name = f"outliers ({out.sum()})"
        axes.scatter(
            *X[out].T, s=16, facecolors="none", edgecolors="#888888", linewidths=0.7, label=name
        )
    axes.plot(*centers.T, "X", color=INK, markersize=7, markeredgecolor="white", label="centers")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.22), ncols=2, frameon=False)
    axes.set(title=title, xlabel="first feature", ylabel="second feature", aspect="equal")


figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 5.6), layout="constrained", sharex=True, sharey=True
)
scatter(left, kmeans.labels_, kmeans.cluster_centers_, "K-means, best of 10 starts")
labels = np.where(model.outliers_, -1, model.labels_)
scatter(right, labels, model.cluster_centers_, "CappedREFCMFS")
right.set_ylabel("")
plt.show()
