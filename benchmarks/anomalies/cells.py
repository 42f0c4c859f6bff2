"""Sets, detectors and cells of ``python -m benchmarks.anomalies``."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from threadpoolctl import threadpool_limits

from benchmarks.harness.shared import data_folder
from benchmarks.robustness.cells import Cell, Run
from sfumato import CappedREFCMFS, ClusterOutlierDetector

MOST_ROWS = 10_000
"""Rows of a set, at most, as in ADBench: drawn with seed 0. The same for every detector."""
QUICK_ROWS = 2000
"""Sets of more rows are left out of the quick form."""
SEEDS = 3


@dataclass(frozen=True)
class Detector:
    """A way to score rows.

    Attributes
    ----------
    scores : callable
        Takes rows and a seed; the larger a score, the more of an outlier is the row.
    which : str
        Description for the page.
    random : bool
        Whether several seeds are run; otherwise it is one.
    """

    scores: Callable[[np.ndarray, int], np.ndarray]
    which: str
    random: bool = True


def detector(X: np.ndarray, seed: int) -> np.ndarray:
    found = ClusterOutlierDetector(random_state=seed, n_threads=1).fit(X)
    scores: np.ndarray = -found.score_samples(X)
    return scores


def capped(X: np.ndarray, seed: int) -> np.ndarray:
    scores: np.ndarray = CappedREFCMFS(8, random_state=seed, n_threads=1).fit(X).outlier_scores_
    return scores


def forest(X: np.ndarray, seed: int) -> np.ndarray:
    scores: np.ndarray = -IsolationForest(random_state=seed).fit(X).score_samples(X)
    return scores


def local(X: np.ndarray, seed: int) -> np.ndarray:
    scores: np.ndarray = -LocalOutlierFactor().fit(X).negative_outlier_factor_
    return scores


def pyod(module: str, name: str, seeded: bool = False) -> Callable[[np.ndarray, int], np.ndarray]:
    """Detector of PyOD, as it comes; imported where it runs."""

    def scores(X: np.ndarray, seed: int) -> np.ndarray:
        made: Any = getattr(importlib.import_module(f"pyod.models.{module}"), name)
        options = {"random_state": seed} if seeded else {}
        found: np.ndarray = made(**options).fit(X).decision_scores_
        return found

    return scores


DETECTORS = {
    "ClusterOutlierDetector": Detector(detector, "`sfumato.ClusterOutlierDetector()`"),
    "CappedREFCMFS": Detector(
        capped, "`outlier_scores_` of `sfumato.CappedREFCMFS(8)`, one seed", random=False
    ),
    "IsolationForest": Detector(forest, "scikit-learn's `IsolationForest()`"),
    "LOF": Detector(local, "scikit-learn's `LocalOutlierFactor()`", random=False),
    "kNN": Detector(pyod("knn", "KNN"), "PyOD's `KNN()`", random=False),
    "ECOD": Detector(pyod("ecod", "ECOD"), "PyOD's `ECOD()`", random=False),
    "COPOD": Detector(pyod("copod", "COPOD"), "PyOD's `COPOD()`", random=False),
    "CBLOF": Detector(pyod("cblof", "CBLOF", seeded=True), "PyOD's `CBLOF()`"),
    "HBOS": Detector(pyod("hbos", "HBOS"), "PyOD's `HBOS()`", random=False),
    "PCA": Detector(pyod("pca", "PCA", seeded=True), "PyOD's `PCA()`", random=False),
    "OCSVM": Detector(pyod("ocsvm", "OCSVM"), "PyOD's `OCSVM()`", random=False),
}


def folder() -> Path:
    """Folder of the sets."""
    return data_folder() / "outliers"


def available(most: int | None = None) -> dict[str, Path]:
    """Files of the sets by their names, of at most so many rows if a number is given."""
    files = sorted(folder().glob("*.npz"), key=lambda path: path.stem.lower())
    if most is not None:
        files = [path for path in files if len(labels(path)) <= most]
    return {name_of(path): path for path in files}


def name_of(path: Path) -> str:
    """Name of a set, without the number that ADBench puts before it."""
    return path.stem.lstrip("0123456789").lstrip("_")


def labels(path: Path) -> np.ndarray:
    with np.load(path, allow_pickle=True) as file:
        return np.asarray(file["y"]).ravel().astype(int)


def rows(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a set, and which are anomalies: standardized columns, without constant ones."""
    with np.load(path, allow_pickle=True) as file:
        X, y = np.asarray(file["X"], dtype=np.float64), np.asarray(file["y"]).ravel().astype(int)
    if len(X) > MOST_ROWS:
        chosen = np.random.RandomState(0).choice(len(X), MOST_ROWS, replace=False)
        X, y = X[chosen], y[chosen]
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def run_cell(cell: Cell) -> Run:
    """Score the rows of a set in one thread, and count its seconds from the fit to the scores.

    They are those of the processor, as others may be at work on the machine.
    """
    X, y = rows(available()[cell.case])
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        DETECTORS[cell.method].scores(X[:200], 0)  # What is imported or compiled at first use.
        began = time.process_time()
        scores = DETECTORS[cell.method].scores(X, cell.seed)
        seconds = time.process_time() - began
    finite = np.nan_to_num(scores, nan=0.0)
    measures = {
        "auroc": float(roc_auc_score(y, finite)),
        "precision": float(average_precision_score(y, finite)),
        "rows": float(len(X)),
        "features": float(X.shape[1]),
        "anomalies": float(y.sum()),
    }
    return Run(cell, seconds, measures)
