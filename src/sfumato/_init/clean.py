"""A look at the data before a search: clusters that are alike, and no row far from them.

Such data has nothing to be robust against, and a search by likelihood, which takes many short fits,
would find what ordinary fits do. Anything else is left to the search: clusters of unlike width or
weight, of which one may consist of outliers, and rows beyond their cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._engines.base import Engine, ResidentEngine
from sfumato._engines.outputs import Beyond
from sfumato._init.base import PILOT_FIT, KMeansPlusPlus
from sfumato._outliers import row_weight, trimmed_radii, weighted_median
from sfumato._problem import Problem
from sfumato._solvers.descent import solve
from sfumato._solvers.exchange import exchange
from sfumato._typing import Floats
from sfumato.losses import L21
from sfumato.memberships import Hard

CAP_DEVIATIONS = 4.0
"""Robust standard deviations above the median at which the cap lies, on the scale of
``_outliers``. One in 30,000 rows of a Gaussian cluster lies beyond."""
FARTHEST = 1.1
"""Distance of a row over the cap up to which it is not far. Chosen by hand: of 100,000 rows of a
Gaussian cluster the farthest lies some 5 % beyond the cap."""
WIDEST, NARROWEST = 1.25, 0.5
"""Median distance in a cluster over the typical one, between which clusters are alike. Chosen by
hand: 1.6 for unit vectors in any direction beside topics."""
HEAVIEST, LIGHTEST = 2.0, 0.5
"""Weight of a cluster over the average one, between which clusters are alike. Chosen by hand."""
FEWEST_ROWS = 20
"""Rows of an average cluster, below which there is no telling. Chosen by hand."""


class PlainFit(NamedTuple):
    """A fit without a cap.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_features)
    labels : ndarray of shape (n_rows,)
        Nearest center of each row.
    distances : ndarray of shape (n_rows,)
        Distance to that center.
    """

    centers: Floats
    labels: NDArray[np.integer]
    distances: Floats


def clean_fits(
    sample: ResidentEngine, n_clusters: int, rng: np.random.RandomState
) -> list[PlainFit]:
    """Two independent fits to a sample, the better one first; none if the data is not clean."""
    weights = sample.data.weights_or_ones()
    if float(weights.sum()) < FEWEST_ROWS * n_clusters * row_weight(weights):
        return []
    hard = sample.with_problem(Problem(L21(), Hard()))
    found: list[PlainFit] = []
    for _ in range(2):
        seeds = KMeansPlusPlus().centers(hard, n_clusters, rng)
        centers = solve(hard, exchange(hard, seeds, rng), PILOT_FIT).centers
        fit = plain_fit(hard, centers)
        if not is_clean(fit, weights):
            return []
        found.append(fit)
    return sorted(found, key=lambda fit: float(weights @ fit.distances))


def plain_fit(engine: ResidentEngine, centers: Floats) -> PlainFit:
    """Nearest center of each row, and the distance to it."""
    seen = engine.assign(centers, distances=True, memberships=False)
    assert seen.distances is not None
    return PlainFit(centers, seen.labels, np.asarray(seen.distances, dtype=np.float64))


def is_clean(fit: PlainFit, weights: Floats) -> bool:
    """Whether clusters are alike in width and weight, and no row lies far from its cluster."""
    radii = trimmed_radii(fit.distances, fit.labels, weights, len(fit.centers), np.inf)
    medians, caps = radii(0.0), radii(CAP_DEVIATIONS)
    if not (medians > 0).all():  # NaN where rows are few.
        return False
    masses = np.bincount(fit.labels, weights, len(medians)).astype(np.float64)
    widths = medians / weighted_median(medians, masses)
    shares = masses / masses.mean()
    alike = widths.min() >= NARROWEST and widths.max() <= WIDEST
    alike = alike and shares.min() >= LIGHTEST and shares.max() <= HEAVIEST
    far = (weights > 0) & (fit.distances > FARTHEST * caps[fit.labels])
    return bool(alike and not far.any())


def clean_cap(engine: Engine, sample: ResidentEngine, centers: Floats) -> float | None:
    """Largest radius of the clusters of clean data; None if a row is far from all centers.

    The radii are those of a sample, the rows all of the engine.
    """
    fit = plain_fit(sample.with_problem(Problem(L21(), Hard())), centers)
    weights = sample.data.weights_or_ones()
    radii = trimmed_radii(fit.distances, fit.labels, weights, len(centers), np.inf)
    cap = float(np.nanmax(radii(CAP_DEVIATIONS)))
    far = Beyond(centers, np.full(len(centers), FARTHEST * cap))
    return None if engine.mean(far) > 0 else cap
