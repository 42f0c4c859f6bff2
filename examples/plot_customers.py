"""
Customer segments, with typos in the table
==========================================

A table of customers with some slips of the keyboard. Segments come out as they are, and the slips
are handed back as rows to look at.
"""

# %%
# 3,000 customers in four segments; in 30 rows a number has two to four digits too many.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sfumato import CappedREFCMFS

rng = np.random.default_rng(1)
names = ["visits a month", "basket, EUR", "months since first order", "returns, %"]
segments = {  # Median of each column, and customers.
    "regulars": ([8, 35, 48, 3], 1200),
    "big baskets": ([2, 180, 30, 5], 800),
    "newcomers": ([3, 40, 2, 4], 700),
    "returners": ([4, 90, 20, 35], 300),
}
rows = [np.exp(rng.normal(np.log(m), 0.2, size=(n, 4))) for m, n in segments.values()]
table = pd.DataFrame(np.vstack(rows), columns=names)
slips = rng.choice(len(table), size=30, replace=False)
for row in slips:
    table.iloc[row, rng.integers(4)] *= 10 ** rng.uniform(2, 4)

# %%
# Amounts span orders of magnitude, so their logarithms are compared: ten percent more counts the
# same in every column.
model = CappedREFCMFS("auto", random_state=0).fit(np.log(table))
print(model.selection_)
print(f"{model.outliers_[slips].sum()} of 30 slips found, {model.outliers_.sum() - 30:+d} others")

# %%
# Rows to look at first.
table.assign(score=model.outlier_scores_).nlargest(5, "score").round(1)

# %%
# What makes a segment: medians of its customers, beside those of all.
inside = table[~model.outliers_]
medians = inside.groupby(model.labels_[~model.outliers_]).median()
sizes = np.bincount(model.labels_[~model.outliers_])
relative = np.log2(medians / inside.median())
figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
shown = axes.imshow(relative, cmap="RdBu_r", vmin=-3, vmax=3, aspect="auto")
axes.set_xticks(range(4), [name.replace(" since", "\nsince") for name in names])
axes.set_yticks(range(len(sizes)), [f"segment {k}: {n}" for k, n in enumerate(sizes)])
for (k, j), value in np.ndenumerate(medians.to_numpy()):
    color = "white" if abs(relative.iloc[k, j]) > 1.8 else "black"  # on dark cells
    axes.text(j, k, f"{value:.0f}", ha="center", va="center", color=color)
figure.colorbar(shown, label="times the median of all, log2")
axes.set_title("Medians of the segments")
plt.show()
