"""
Parameters by cross-validation, without labels
==============================================

``score`` is the log-likelihood of rows that the fit did not see, outliers included, so that
scikit-learn's searches can compare numbers of clusters and methods.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from sfumato import CappedREFCMFS
from sfumato.datasets import make_blobs_with_outliers
from sfumato.exceptions import UnstableFitWarning
from sfumato.metrics import silhouette_scorer
from sfumato.plotting import PALETTE

X = make_blobs_with_outliers(
    800, n_clusters=6, n_features=4, contamination=0.1, random_state=1
).data
numbers = np.arange(4, 9)


def log_likelihood(model, rows, y=None):
    """Score of the estimator, which is the default where nothing else is given."""
    return model.score(rows)


search = GridSearchCV(
    CappedREFCMFS(random_state=0),
    {"n_clusters": numbers},
    scoring={"log-likelihood": log_likelihood, "silhouette": silhouette_scorer},
    cv=3,
    refit=False,
)
with warnings.catch_warnings():  # A wrong number of clusters is often not stable.
    warnings.simplefilter("ignore", UnstableFitWarning)
    search.fit(X)

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for panel, name in zip(panels, ("log-likelihood", "silhouette"), strict=True):
    mean = search.cv_results_[f"mean_test_{name}"]
    spread = search.cv_results_[f"std_test_{name}"]
    best = numbers[mean.argmax()]
    print(f"{name}: {best} clusters")
    panel.errorbar(numbers, mean, spread, fmt="o-", color=PALETTE[0], capsize=3)
    panel.axvline(best, color=PALETTE[5], linestyle="--")
    panel.set(xlabel="number of clusters", title=name)
panels[0].set_ylabel("held-out score, three folds")
plt.show()
