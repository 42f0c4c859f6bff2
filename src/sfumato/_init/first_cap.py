"""First cap of a search: a generous radius of narrow clusters.

Around some rows, the probes, the radius is found that holds a tenth of an average cluster. Outliers
have few neighbors and so a large radius; the lower quartile of the radii gives the scale of narrow
clusters.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv

from sfumato._engines.base import ResidentEngine
from sfumato._outliers import PAIR_DISTANCE, row_weight
from sfumato._sampling import draw
from sfumato._typing import Floats

PROBES, MIN_PROBES, PROBE_VALUES = 128, 16, 1 << 22
"""Rows around which neighbors are counted: 128, or fewer in very many dimensions, such that they
have at most 4 million values (32 MB), but at least 16. Chosen by hand."""
CORE_SHARE = 0.1
"""Share of an average cluster within the radius of a probe, and the weight below which a cluster
does not count. Chosen by hand."""
MIN_CORE_ROWS = 4
"""Rows within the radius of a probe at least, the probe included. Chosen by hand."""
MAX_CORE_SHARE = 0.5
"""Share of an average cluster within the radius of a probe at most; otherwise clusters have too few
rows, and there is no cap. Chosen by hand."""
PROBE_QUANTILE = 0.25
"""Quantile of the radii that is the scale of narrow clusters: a quarter of the rows are assumed to
be deep inside one, however many outliers there are. Chosen by hand."""
COVERED = 0.999
"""Share of a Gaussian cluster within the first cap, before the margin. Chosen by hand."""
FIRST_CAP_MARGIN = 2.0
"""Factor of the first cap, which may shrink but not grow. Chosen by hand."""
DUPLICATE_RADIUS = 0.25
"""Radius of a probe that has only duplicates near, over the distance to the nearest other row.
Chosen by hand."""


def first_cap(sample: ResidentEngine, n_clusters: int, rng: np.random.RandomState) -> float:
    """Generous cap for narrow clusters, from the distances of some rows to their neighbors.

    The radius around a row that holds a share of a cluster is converted to the radius of the whole
    cluster by the chi-squared distribution, in the dimension that the growth of the radius with the
    share implies. Infinite where clusters have too few rows.
    """
    weights = sample.data.weights_or_ones()
    n_probes = int(np.clip(PROBE_VALUES // sample.n_features, MIN_PROBES, PROBES))
    probes = sample.take(draw(weights, sample.order(), n_probes, rng))
    distances = np.ascontiguousarray(sample.distances(probes).T, dtype=np.float64)
    cluster = float(weights.sum()) / n_clusters
    core = max(CORE_SHARE * cluster, MIN_CORE_ROWS * row_weight(weights))
    radii, inner = _probe_radii(distances, weights, (core, core / 2)).T
    if core > MAX_CORE_SHARE * cluster or not radii.any():
        return float(np.inf)
    growing = (radii <= np.median(radii)) & (inner > 0) & (inner < radii)
    dimension = float(sample.n_features)
    if growing.any():
        found = float(np.median(np.log(2.0) / np.log(radii[growing] / inner[growing])))
        dimension = float(np.clip(found, 1.0, dimension))
    # Quantiles of half the squared distance to the center: of almost all rows, and of the core.
    most, least = gammaincinv(dimension / 2, [COVERED, core / cluster])
    scale = float(np.quantile(radii[radii > 0], PROBE_QUANTILE))
    return FIRST_CAP_MARGIN * scale / PAIR_DISTANCE * float(np.sqrt(most / least))


def _probe_radii(distances: Floats, weights: Floats, masses: tuple[float, ...]) -> Floats:
    """Radii within which the weights of the rows add up to the given masses.

    ``distances`` has shape (n_probes, n_rows), the result (n_probes, n_masses). Where only
    duplicates of the probe are within, it is a share of the distance to the nearest other row.
    """
    if np.ptp(weights) == 0:
        places = np.searchsorted(np.cumsum(weights), masses).clip(max=len(weights) - 1)
        front = np.partition(distances, max(places), axis=1)[:, : max(places) + 1]
        radii = np.sort(front, axis=1)[:, places]
    else:
        order = np.argsort(distances, axis=1)
        mass = np.cumsum(weights[order], axis=1)
        places = np.array([np.searchsorted(row, masses) for row in mass]).clip(max=len(weights) - 1)
        radii = np.take_along_axis(distances, np.take_along_axis(order, places, axis=1), axis=1)
    if radii.all():
        return radii
    others = np.where(distances > 0, distances, np.inf).min(axis=1, keepdims=True)
    elsewhere = DUPLICATE_RADIUS * others
    return np.where((radii == 0) & (elsewhere < np.inf), elsewhere, radii)
