"""
How many clusters?
==================

``n_clusters="auto"`` finds the number, outliers or not, and says why.
"""

# %%
# Seven clusters of sizes one to five, and 15 % of all points anywhere.
import matplotlib.pyplot as plt
import numpy as np

from sfumato import CappedREFCMFS

rng = np.random.default_rng(3)
middles = np.array([[0, 0], [7, 1], [14, 0], [3, 7], [10, 7], [1, 14], [13, 14]])
sizes = [100, 150, 200, 250, 300, 400, 500]
X = np.vstack([rng.normal(m, 0.9, size=(n, 2)) for m, n in zip(middles, sizes, strict=True)])
X = np.vstack([X, rng.uniform(-20, 35, size=(335, 2))])

model = CappedREFCMFS("auto", random_state=0).fit(X)
print(model.selection_)

# %%
# The criterion that decides is the Bayesian information criterion of clusters and outliers. Left:
# how far each number is below the best. Right: the clusters, and the points that belong to none.
bic = np.asarray(model.selection_.scores["bic"])
figure, (left, axes) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
left.plot(model.selection_.candidates, np.nanmax(bic) - bic + 1, "o-", color="#0072B2")
left.axvline(model.n_clusters_, color="#bbbbbb", zorder=0)
left.set(yscale="log", xlabel="number of clusters", ylabel="BIC below the best, plus 1")
axes.scatter(*X[model.outliers_].T, s=6, color="#bbbbbb", label="outliers")
found = ~model.outliers_
axes.scatter(*X[found].T, s=6, c=model.labels_[found], cmap="tab10")
axes.plot(*model.cluster_centers_.T, "kX", markeredgecolor="white", label="centers")
axes.set(aspect="equal", title=f"{model.n_clusters_} clusters")
axes.legend(loc="lower right")
plt.show()
