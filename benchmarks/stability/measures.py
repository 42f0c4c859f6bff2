"""Cells: a case, an estimator as it comes, and a seed each; or a start from the true centers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin
from threadpoolctl import threadpool_limits

import sfumato
from benchmarks.robustness.cases import Sample
from benchmarks.robustness.cells import Cell, Run
from benchmarks.stability.cases import Case
from sfumato.exceptions import ClusteringWarning

ORACLE = "oracle"
"""Method that starts from the true centers."""
METHODS = ("CappedREFCMFS", "REFCMFS", ORACLE)


@lru_cache(maxsize=2)
def _sample(case: Case) -> Sample:
    return case.make()


def run_cell(cell: Cell, cases: Mapping[str, Case]) -> Run:
    """Fit and measure, in one thread."""
    sample = _sample(cases[cell.case])
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        began = time.perf_counter()
        measures = (
            oracle(sample) if cell.method == ORACLE else measure(sample, cell.method, cell.seed)
        )
        seconds = time.perf_counter() - began
    for name in {
        each.category.__name__ for each in caught if issubclass(each.category, ClusteringWarning)
    }:
        measures[f"warned: {name}"] = 1.0
    return Run(cell, seconds, measures)


def measure(sample: Sample, method: str, seed: int) -> dict[str, float]:
    """Figures of a fit with all parameters as they come, but the number of clusters."""
    estimator = getattr(sfumato, method)(sample.n_clusters, random_state=seed)
    model = estimator.fit(sample.X)
    inliers = sample.inliers
    stability = model.stability_
    return {
        "ari": float(adjusted_rand_score(sample.target[inliers], model.labels_[inliers])),
        "fuzzifier": float(model.fuzzifier_),
        "cap": float(model.cap_) if np.isfinite(model.cap_) else -1.0,
        "outliers": float(model.outliers_.mean()),
        "found": float(model.outliers_[~inliers].mean()) if not inliers.all() else -1.0,
        "alarms": float(model.outliers_[inliers].mean()),
        "stability": -1.0 if stability is None else float(stability),
        "lost": lost(sample, model),
    }


def lost(sample: Sample, model: sfumato.FuzzyClustering) -> float:
    """Largest share of the rows of a true cluster that are called outliers."""
    clusters = np.unique(sample.target[sample.inliers])
    return float(max(model.outliers_[sample.target == k].mean() for k in clusters))


def oracle(sample: Sample) -> dict[str, float]:
    """A fit from the true centers; ``kept`` compares its labels with those it started from."""
    inliers, target = sample.inliers, sample.target
    clusters = np.unique(target[inliers])
    if len(clusters) < sample.n_clusters:
        return {"kept": -1.0, "ari": -1.0}
    centers = np.array([np.median(sample.X[target == k], axis=0) for k in clusters])
    model = sfumato.CappedREFCMFS(sample.n_clusters, init=centers, random_state=0).fit(sample.X)
    before = pairwise_distances_argmin(sample.X, centers)
    return {
        "kept": float(adjusted_rand_score(before[inliers], model.labels_[inliers])),
        "ari": float(adjusted_rand_score(target[inliers], model.labels_[inliers])),
    }
