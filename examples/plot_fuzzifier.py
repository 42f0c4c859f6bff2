"""
How soft are memberships?
=========================

The fuzzifier r makes memberships softer, ``n_active`` bounds their number. Both have automatic
values, which the data gives.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from sfumato import REFCMFS
from sfumato.plotting import ClusterMapDisplay

rng = np.random.default_rng(2)
middles = np.array([[0, 0], [3.4, 0], [1.7, 2.9], [5.1, 2.9]])
X = np.vstack([rng.normal(m, 0.75, size=(150, 2)) for m in middles])

auto = REFCMFS(4, init=middles).fit(X)
print(f"automatic fuzzifier: {auto.fuzzifier_:.3f}")
print(f"intrinsic dimension of the clusters: {auto.intrinsic_dimension_:.2f}")

# %%
# Left to right softer, top to bottom more clusters for a point.
figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained", sharex=True, sharey=True)
for row, n_active in enumerate((2, 4)):
    for column, fuzzifier in enumerate((1.1, "auto", 2.0)):
        model = REFCMFS(4, n_active=n_active, fuzzifier=fuzzifier, init=middles).fit(X)
        title = f"r = {model.fuzzifier_:.2f}{' (auto)' * (fuzzifier == 'auto')}, {n_active} active"
        panel = axes[row, column]
        ClusterMapDisplay.from_estimator(model, X, ground=True, ax=panel)
        panel.set_title(title)
        panel.label_outer()
plt.show()
