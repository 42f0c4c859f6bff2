"""
Wines between two cultivars
===========================

Thirteen measurements of 178 wines. Clusters agree with the three cultivars, which the fit never
sees, and memberships show which wines lie between two of them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from sfumato import REFCMFS
from sfumato.metrics import ari, clustering_accuracy
from sfumato.plotting import mixed

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
model = REFCMFS(n_clusters=3, random_state=0).fit(X)
print(f"accuracy {clustering_accuracy(wine.target, model.labels_):.3f}")
print(f"adjusted Rand index {ari(wine.target, model.labels_):.3f}")

# %%
# Left: colors mix by membership; rings are wines whose largest membership is below 60 %. Right:
# what the clusters are made of, the centers, in standard deviations from the mean wine.
proba = model.predict_proba(X)
between = proba.max(axis=1) < 0.6
axes2d = PCA(2).fit(X)
plane = axes2d.transform(X)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for k, marker in enumerate("o^s"):
    rows = wine.target == k
    left.scatter(*plane[rows].T, c=mixed(proba[rows]), marker=marker, label=wine.target_names[k])
left.scatter(*plane[between].T, s=120, facecolors="none", edgecolors="k", label="between two")
left.plot(*axes2d.transform(model.cluster_centers_).T, "kX", markersize=9, markeredgecolor="w")
left.set(xlabel="first principal axis", ylabel="second principal axis", title="178 wines")
left.legend()
width = 0.27
places = np.arange(X.shape[1])
for k, center in enumerate(model.cluster_centers_):
    color = mixed(np.eye(3)[[k]])[0]
    right.barh(places + width * (k - 1), center, width, color=color, label=f"cluster {k}")
right.set_yticks(places, wine.feature_names)
right.axvline(0, color="gray", linewidth=0.8)
right.set(title="Centers", xlabel="standard deviations from the mean")
right.legend()
plt.show()
