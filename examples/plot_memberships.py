"""
Hard labels and soft memberships
================================

Six clusters that overlap. K-means gives each point to one of them; :class:`~sfumato.REFCMFS` gives
it memberships in up to three, and colors are mixed in proportion to them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from sfumato import REFCMFS
from sfumato.plotting import ClusterMapDisplay

rng = np.random.default_rng(4)
middles = np.array([[0, 0], [4, 0.6], [8, -0.4], [1.6, 3.9], [5.8, 4.2], [9.6, 3.4]])
spreads = (1.0, 0.9, 1.1, 1.1, 1.2, 0.9)
X = np.vstack([rng.normal(m, s, size=(160, 2)) for m, s in zip(middles, spreads, strict=True)])

# %%
# The same initial centers for both, so that a cluster has the same color in both plots.
hard = KMeans(6, init=middles, n_init=1).fit(X)
soft = REFCMFS(6, n_active=3, init=middles).fit(X)
print(soft.memberships_[[0]].toarray().round(3))

# %%
# Crosses are centers. The plane behind the points has the memberships of its places.


def one_label(points):
    """Label of K-means as memberships: a one, and zeros."""
    return np.eye(6)[hard.predict(points)]


figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4.6), layout="constrained", sharex=True, sharey=True
)
ClusterMapDisplay.from_predictions(
    X, one_label(X), centers=hard.cluster_centers_, predict=one_label, ax=left
)
left.set_title("K-means: one label for each point")
ClusterMapDisplay.from_estimator(soft, X, ground=True, ax=right)
right.set_title("REFCMFS: 3 memberships for each point")
right.set_ylabel("")
plt.show()
