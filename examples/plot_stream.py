"""
A file that is not read into memory
===================================

A fit to a file, chunk by chunk: the same estimator, and nearly the same answer as in memory.
"""

# %%
# 400,000 rows in an .npy file; Parquet, CSV and Zarr files work alike.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sfumato
from sfumato.plotting import PALETTE

rng = np.random.default_rng(0)
middles = rng.uniform(-30, 30, size=(6, 2))
X = rng.normal(middles[rng.integers(6, size=400_000)], 2.0).astype("float32")
X[rng.random(len(X)) < 0.02] *= 8

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "big.npy")
    np.save(path, X)
    rows = sfumato.stream(path, chunk_rows=50_000)
    model = sfumato.CappedREFCMFS(6, random_state=0).fit(rows)
    print(model.labels_)  # Lazy: nothing is computed yet.
    labels = model.predict(rows, mark_outliers=True).compute()

# %%
in_memory = sfumato.CappedREFCMFS(6, random_state=0).fit(X)
print(f"objective over that of a fit in memory: {model.objective_ / in_memory.objective_:.6f}")

# %%
figure, axes = plt.subplots(figsize=(7, 6), layout="constrained")
shown = slice(None, None, 40)
colors = np.array([*PALETTE[:6], "#bbbbbb"])[labels[shown]]  # -1, outliers, are gray.
axes.scatter(*X[shown].T, s=3, c=colors)
axes.plot(*model.cluster_centers_.T, "kX", markersize=9, markeredgecolor="w", label="stream")
axes.plot(*in_memory.cluster_centers_.T, "ko", fillstyle="none", markersize=15, label="in memory")
axes.set(aspect="equal", xlim=(-60, 60), ylim=(-60, 60), title="Centers of both fits")
axes.legend(loc="upper left")
plt.show()
