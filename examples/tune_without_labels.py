"""Tune parameters without labels: all numbers of clusters, then how soft and how robust the fit is.

Run as ``python examples/tune_without_labels.py``. A grid search compares numbers of clusters by a
criterion that counts outliers and can prefer one cluster. A halving search then compares caps,
fuzzifiers and numbers of active clusters by the log-likelihood of rows that were left out,
``estimator.score``: first on few rows, and those that did best on more. What may not be compared is
``objective``: other parameters are other problems.
"""

from __future__ import annotations

from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV

from sfumato import CappedREFCMFS, select_n_clusters
from sfumato.datasets import make_blobs_with_outliers
from sfumato.metrics import ari, bic_scorer


def tune(n_samples: int = 1000) -> dict[str, float]:
    """Parameters that were found, and the agreement of the tuned fit with the true clusters."""
    blobs = make_blobs_with_outliers(
        n_samples, n_clusters=5, contamination=0.2, width_ratio=2, random_state=0
    )
    X = blobs.data
    model = CappedREFCMFS(random_state=0)
    counts = GridSearchCV(model, {"n_clusters": range(1, 9)}, scoring=bic_scorer, cv=3).fit(X)
    n_clusters = counts.best_params_["n_clusters"]
    rest = {"cap": ["auto", 2.0, 8.0], "fuzzifier": ["auto", 2.0], "n_active": [2, 3]}
    halving = HalvingGridSearchCV(counts.best_estimator_, rest, cv=3, random_state=0).fit(X)
    inside = blobs.target >= 0
    agreement = ari(blobs.target[inside], halving.best_estimator_.predict(X[inside]))
    return {"n_clusters": n_clusters, **halving.best_params_, "ari": agreement}


def main() -> None:
    """Print what was found, and what ``select_n_clusters`` says about the same rows."""
    for name, value in tune().items():
        print(f"{name}: {value}")
    X = make_blobs_with_outliers(
        1000, n_clusters=5, contamination=0.2, width_ratio=2, random_state=0
    ).data
    print(select_n_clusters(X))


if __name__ == "__main__":
    main()
