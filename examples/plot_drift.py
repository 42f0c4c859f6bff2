"""
Tomorrow's rows: saving a model, and seeing drift
=================================================

A model is fitted once, saved, and scores the rows of the following days. The share of outliers
shows when the data has moved away; ``partial_fit`` follows it.
"""

# %%
# Day 0 is the training data. From day 10 on, one of the clusters moves.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sfumato
from sfumato.plotting import PALETTE

middles = np.array([[0.0, 0.0], [10.0, 0.0], [5.0, 8.0]])


def day(number):
    """500 rows of a day."""
    rng = np.random.default_rng(number)
    shift = np.zeros((3, 2))
    shift[2] = [0, 0.45 * max(0, number - 10)]
    return rng.normal((middles + shift)[rng.integers(3, size=500)])


model = sfumato.CappedREFCMFS(3, decay=0.3, random_state=0).fit(day(0))
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "model.sfumato")
    sfumato.save(model, path)
    fixed, following = sfumato.load(path), sfumato.load(path)

# %%
# One copy stays as it is; the other learns each day after it has scored it.
days = range(1, 31)
shares = {"fixed": [], "partial_fit": []}
ways = []
for number in days:
    rows = day(number)
    shares["fixed"].append((fixed.score_outliers(rows) > 1).mean())
    shares["partial_fit"].append((following.score_outliers(rows) > 1).mean())
    following.partial_fit(rows)
    ways.append(following.cluster_centers_.copy())

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for (name, share), color in zip(shares.items(), (PALETTE[5], PALETTE[2]), strict=True):
    left.plot(days, share, "o-", color=color, markersize=4, label=name)
left.axvline(10, color="gray", linewidth=0.8)
left.yaxis.set_major_formatter("{x:.0%}")
left.set(xlabel="day", ylabel="share of outliers", title="The data moves from day 10 on")
left.legend()
right.scatter(*day(0).T, s=4, color="#bbbbbb", label="day 0")
right.scatter(*day(30).T, s=4, color=PALETTE[4], label="day 30")
for k in range(3):
    right.plot(*np.array(ways)[:, k].T, "-", color="k", linewidth=2)
right.plot(*fixed.cluster_centers_.T, "kX", markersize=9, markeredgecolor="w", label="centers")
right.set(aspect="equal", title="Centers that follow")
right.legend()
plt.show()
