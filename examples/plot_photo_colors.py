"""
The colors of a photograph
==========================

A photograph in eight colors: pixels are rows, colors are clusters. Soft memberships mix the eight
colors again, which brings shades back that hard labels lose.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from sfumato import REFCMFS

photo = load_sample_image("china.jpg")[::2, ::2] / 255
X = photo.reshape(-1, 3)
model = REFCMFS(n_clusters=8, n_active=3, random_state=0).fit(X)
palette = model.cluster_centers_
print(f"{len(X):,} pixels, {model.n_iter_} iterations, {model.outcome_}")

# %%
# Hard: the nearest color. Soft: the mean of three colors, by membership.
hard = palette[model.labels_]
soft = model.memberships_ @ palette
for name, colors in (("hard", hard), ("soft", soft)):
    print(f"{name}: mean error {np.abs(colors - X).mean():.4f}")

figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
titles = ["photograph", "nearest of 8 colors", "mixed by memberships"]
for panel, image, title in zip(axes.flat, (X, hard, soft), titles, strict=False):
    panel.imshow(np.clip(image, 0, 1).reshape(photo.shape))
    panel.set_title(title)
    panel.axis("off")
share = np.bincount(model.labels_, minlength=8) / len(X)
order = np.argsort(-share)
axes[1, 1].barh(range(8), share[order], color=palette[order], edgecolor="gray")
axes[1, 1].invert_yaxis()
axes[1, 1].set(title="the colors, by share of pixels", yticks=[])
axes[1, 1].xaxis.set_major_formatter("{x:.0%}")
plt.show()
