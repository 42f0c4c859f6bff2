"""
Faults of a sensor
==================

Power, temperature and vibration of a machine that has three modes. Outlier scores find the faults,
with a threshold that needs no tuning: above 1 is an outlier.
"""

# %%
# A day in steps of a minute: the machine idles, runs, or runs hard. A bearing fails slowly in the
# afternoon, and there are ten lost readings.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import RobustScaler

from sfumato import CappedREFCMFS
from sfumato.plotting import PALETTE

rng = np.random.default_rng(1)
minutes = np.arange(1440)
mode = np.repeat(rng.choice(3, size=48, p=[0.3, 0.45, 0.25]), 30)
levels = np.array([[4, 35, 0.3], [22, 52, 1.1], [41, 68, 1.9]])
readings = rng.normal(levels[mode], [1.2, 1.5, 0.12])
fault = slice(960, 1020)
readings[fault, 2] += np.linspace(0, 3, 60)
lost = rng.choice(900, size=10, replace=False)
readings[lost] = [0, 0, 0]

# %%
X = RobustScaler().fit_transform(readings)
model = CappedREFCMFS(n_clusters=3, random_state=0).fit(X)
out = model.outliers_
print(f"lost readings found: {out[lost].sum()} of 10")
print(
    f"minutes of the fault found: {out[fault].sum()} of 60, the first after {out[fault].argmax()}"
)
others = out.sum() - out[lost].sum() - out[fault].sum()
print(f"other rows called outliers: {others} of 1370")

# %%
figure, (top, bottom) = plt.subplots(2, 1, figsize=(10, 5.6), layout="constrained", sharex=True)
hours = minutes / 60
for column, (name, color) in enumerate(
    zip(("power, kW", "temperature, °C", "vibration, tenths of mm/s"), PALETTE, strict=False)
):
    scale = 10 if column == 2 else 1
    top.plot(hours, scale * readings[:, column], linewidth=0.8, color=color, label=name)
top.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
bottom.semilogy(hours, model.outlier_scores_, ".", markersize=2, color="#999999")
bottom.semilogy(hours[out], model.outlier_scores_[out], ".", markersize=5, color=PALETTE[5])
bottom.axhline(1, color="k", linewidth=0.8)
bottom.axvspan(16, 17, color=PALETTE[5], alpha=0.15, label="fault")
bottom.set(ylabel="outlier score", xlabel="hour of the day")
bottom.legend(loc="upper right")
plt.show()
