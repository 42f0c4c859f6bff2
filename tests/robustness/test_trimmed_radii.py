"""Trimmed radii of the core beside the same in NumPy."""

import numpy as np
import pytest

from sfumato._outliers import trimmed_radii
from tests.robustness.test_radii import sorted_median


def plain_spreads(distances, labels, weights, n_groups, limit):
    """Medians and deviations as ``trimmed_radii`` has them, in NumPy."""
    counted = (distances < limit) & (weights > 0)
    distances, labels, weights = distances[counted], labels[counted], weights[counted]
    limits = np.full(n_groups, np.inf)
    while True:
        powers = np.cbrt(distances**2)
        median = sorted_median(powers, labels, weights, n_groups)
        off = np.abs(powers - median[labels])
        deviation = 1.4826 * sorted_median(off, labels, weights, n_groups)
        masses = np.bincount(labels, weights, n_groups)
        rest = off > 0
        other = 1.4826 * sorted_median(off[rest], labels[rest], weights[rest], n_groups)
        enough = np.bincount(labels[rest], weights[rest], n_groups) >= 0.25 * masses
        deviation = np.where((deviation == 0) & enough, other, deviation)
        deviation = np.maximum(deviation, 1e-4 * median)
        few = masses < 5 * min(1.0, weights.mean())
        edges = (median + 3 * deviation) ** 1.5
        limits = np.where(few, limits, np.fmin(limits, edges))
        inside = distances <= limits[labels]
        if inside.all():
            return np.where(few, np.nan, median), deviation
        distances, labels, weights = distances[inside], labels[inside], weights[inside]


@pytest.mark.parametrize("limit", [np.inf, 6.0])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("n_groups", [1, 4, 60])
def test_trimmed_radii_are_those_of_numpy(n_groups, weighted, limit):
    """With far rows, groups of few rows, and groups of which half lie at one distance."""
    rng = np.random.default_rng(n_groups)
    distances, labels = rng.chisquare(5, size=600), rng.integers(n_groups, size=600)
    distances[::20] *= 30
    distances[labels % 3 == 0] = np.where(rng.uniform(size=(labels % 3 == 0).sum()) < 0.6, 2.0, 5.0)
    weights = rng.integers(0, 4, size=600) / 2 if weighted else np.ones(600)
    found = trimmed_radii(distances, labels, weights, n_groups, limit)
    medians, deviations = plain_spreads(distances, labels, weights, n_groups, limit)
    for number in (0.0, 3.0):
        np.testing.assert_allclose(
            found(number), (medians + number * deviations) ** 1.5, rtol=1e-12, equal_nan=True
        )
