"""
Bent clusters: a spectral embedding
===================================

Clusters that are not round become round on the leading axes of a graph of neighbors. Landmarks
make that linear in the rows, and new rows can be embedded, too.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline

from sfumato import REFCMFS, LandmarkSpectralEmbedding
from sfumato.exceptions import UnitNormWarning
from sfumato.metrics import ari
from sfumato.plotting import PALETTE

X, moon = make_moons(2000, noise=0.07, random_state=0)
new, new_moon = make_moons(500, noise=0.07, random_state=1)

# %%
# The embedding is a transformer, so any clustering can follow it. Its rows have length 1, which is
# as it should be, and a fit warns of it.
warnings.simplefilter("ignore", UnitNormWarning)
embedding = LandmarkSpectralEmbedding(n_components=2, random_state=0)
bent = make_pipeline(embedding, REFCMFS(2, random_state=0)).fit(X)
round_ones = REFCMFS(2, random_state=0).fit(X)
print(f"adjusted Rand index, new rows: {ari(new_moon, bent.predict(new)):.3f}")

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for panel, labels, title in zip(
    panels, (round_ones.labels_, bent[-1].labels_), ("REFCMFS", "on the embedding"), strict=True
):
    panel.scatter(*X.T, s=4, c=np.array(PALETTE)[labels])
    panel.set(aspect="equal", xticks=[], yticks=[])
    panel.set_title(f"{title}: adjusted Rand index {ari(moon, labels):.2f}")
plt.show()
