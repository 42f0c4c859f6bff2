"""Quality of a method: its clusters, its centers, its outlier scores and its false alarms."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import (
    adjusted_rand_score,
    average_precision_score,
    pairwise_distances_argmin,
    roc_auc_score,
)
from sklearn.metrics.pairwise import euclidean_distances

from benchmarks.robustness.cases import Sample
from benchmarks.robustness.peers import Found
from sfumato.metrics import clustering_accuracy

Measures = dict[str, float]
"""Values by name, without those that the method does not provide or the case has no truth for.

- ari, acc: of the inliers; ari_ratio: over that of assigning them to the true centers
- mean_error, largest_error: distances of the matched centers to the true ones
- mean_ratio, largest_ratio: the same, over those of a fit to the inliers alone
- auroc, precision: of the scores; alarms: share of the inliers that are called outliers
"""


def measure(sample: Sample, found: Found, clean: Found | None) -> Measures:
    """All measures.

    Parameters
    ----------
    sample : Sample
    found : Found
        On all rows of the sample.
    clean : Found or None
        By the same method, on the inliers alone.
    """
    measures = clusters(sample, found) | scores(sample, found)
    if sample.centers is not None and found.centers is not None and clean is not None:
        measures |= centers(sample.centers, found.centers, clean.centers)
    return measures


def clusters(sample: Sample, found: Found) -> Measures:
    """Agreement of the inliers' labels with their clusters."""
    if found.labels is None:
        return {}
    inliers = sample.inliers
    target, labels = sample.target[inliers], found.labels[inliers]
    ari = adjusted_rand_score(target, labels)
    measures = {"ari": ari, "acc": clustering_accuracy(target, labels)}
    if sample.centers is not None:
        ideal = pairwise_distances_argmin(sample.X[inliers], sample.centers)
        measures["ari_ratio"] = ari / adjusted_rand_score(target, ideal)
    return measures


def center_errors(true: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Distance of each true center to the one matched with it, such that their sum is least."""
    distances = euclidean_distances(true, found)
    return distances[linear_sum_assignment(distances)]


def centers(true: np.ndarray, found: np.ndarray, clean: np.ndarray) -> Measures:
    """Errors of the centers, and the same over those of a fit to clean rows."""
    errors, clean_errors = center_errors(true, found), center_errors(true, clean)
    return {
        "mean_error": errors.mean(),
        "largest_error": errors.max(),
        "mean_ratio": errors.mean() / clean_errors.mean(),
        "largest_ratio": errors.max() / clean_errors.max(),
    }


def ideal_auroc(sample: Sample) -> float:
    """AUROC of the distances to the true centers, in units of the true widths of the clusters."""
    assert sample.centers is not None, "pictures have no true centers"
    distances = euclidean_distances(sample.X, sample.centers)
    clusters = range(len(sample.centers))
    widths = [np.sqrt((distances[sample.target == k, k] ** 2).mean()) for k in clusters]
    return float(roc_auc_score(~sample.inliers, (distances / widths).min(axis=1)))


def scores(sample: Sample, found: Found) -> Measures:
    """Ranking of outliers before inliers, and false alarms at the default threshold."""
    outlying = ~sample.inliers
    measures = {}
    if found.scores is not None and outlying.any():
        measures["auroc"] = roc_auc_score(outlying, found.scores)
        measures["precision"] = average_precision_score(outlying, found.scores)
    if found.outliers is not None:
        measures["alarms"] = found.outliers[sample.inliers].mean()
    return measures
