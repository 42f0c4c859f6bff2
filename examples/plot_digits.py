"""
Digits that look like two
=========================

Handwritten digits, clustered without their labels. The memberships of a smeared digit say what
else it might be.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from sfumato import REFCMFS
from sfumato.metrics import clustering_accuracy

digits = load_digits()
model = REFCMFS(n_clusters=10, random_state=0).fit(digits.data)
print(f"accuracy {clustering_accuracy(digits.target, model.labels_):.3f}")
print(f"{model.memberships_.nnz / len(digits.data):.0f} memberships a row, of 10 clusters")

# %%
# The digits whose two largest memberships are most alike, each beside the two centers.
proba = np.sort(model.predict_proba(digits.data), axis=1)
order = np.argsort(proba[:, -1] - proba[:, -2])[:6]
figure, axes = plt.subplots(3, 6, figsize=(9, 5), layout="constrained")
for column, row in enumerate(order):
    memberships = model.memberships_[[row]].toarray().ravel()
    first, second = np.argsort(-memberships)[:2]
    pictures = [digits.data[row], model.cluster_centers_[first], model.cluster_centers_[second]]
    captions = [f"a {digits.target[row]}", *(f"{memberships[k]:.0%}" for k in (first, second))]
    for panel, picture, caption in zip(axes[:, column], pictures, captions, strict=True):
        panel.imshow(picture.reshape(8, 8), cmap="gray_r")
        panel.set_title(caption, fontsize=10)
        panel.axis("off")
figure.suptitle("Digits between two clusters, and the centers of these")
plt.show()
