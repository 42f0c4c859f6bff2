"""Exchange of centers for rows: a local search that parts clusters which share a center.

A descent moves centers continuously, so that it cannot take one of two centers in a cluster to a
cluster without any. An exchange can [1]_.

References
----------
.. [1] S. Lattanzi, C. Sohler, "A better k-means++ algorithm via local search", ICML 2019.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from sfumato._engines.base import ResidentEngine
from sfumato._native import core
from sfumato._outliers import MIN_CLUSTER_ROWS, row_weight
from sfumato._sampling import draw
from sfumato._typing import Floats

CANDIDATES_BY_COST, CANDIDATES_BEYOND = 10, 40
"""Rows tried as a replacement of each center, per exchange: drawn in proportion to their losses,
and from those beyond the cap. More of the latter, with other changes, lost fewer small clusters
among outliers: 2 of 432 instead of 7."""
FAR_CANDIDATES, FAR_POWER = 20, 4
"""Further rows where there is no cap, drawn in proportion to a power of their losses: a small
cluster that is far away has few rows, but large losses. With them, one of 0.5 % of the rows was
found from 16 of 20 seeds in a first sample, without from 4 of 12; with a third power from 17, but
then missed once on a larger sample."""
COMPARED = 6
"""Of these rows, those for which the best center to give up is looked for. Chosen by hand."""
MAX_EXCHANGED = 5
"""Centers exchanged in one call. Chosen by hand."""
MAX_TABLE = 1 << 22
"""Losses (rows times clusters) above which no exchange is tried: 32 MB in double precision. Chosen
by hand."""
MIN_EXCHANGE_GAIN = 1e-9
"""Relative fall of the total below which an exchange counts as rounding."""


def exchange(
    engine: ResidentEngine, centers: Floats, rng: np.random.RandomState, cap: float = np.inf
) -> Floats:
    """Centers after some were exchanged for rows, as long as that lowers the total loss.

    Some rows are drawn, each is tried in the place of each center, and the best exchange is made.
    Rows drawn by their losses part clusters that share a center; rows beyond the cap find small
    clusters that have none. The total is that of the losses to the nearest centers. The centers
    themselves are returned if there is nothing to gain, or if the table of losses would be large.
    """
    n_clusters = len(centers)
    if n_clusters == 1 or engine.n_rows * n_clusters > MAX_TABLE:
        return centers
    weights = engine.data.weights_or_ones()
    losses = table_of_losses(engine, centers)[0]
    for _ in range(MAX_EXCHANGED):
        labels, nearest, second = _two_smallest(losses)
        if not (weights * nearest).any():
            break
        drawn = _drawn(engine, nearest, rng, cap)
        candidates, new, totals = _promising(engine, drawn, nearest)
        if not len(candidates):
            break
        # Total with each candidate added, plus what its rows lose with each center removed.
        rows = csc_array((weights, labels, np.arange(len(labels) + 1)), (n_clusters, len(labels)))
        left = np.minimum(np.maximum(new, nearest[:, None]), second[:, None])
        totals = totals + rows @ (left - nearest[:, None])
        if not totals.min() < (1 - MIN_EXCHANGE_GAIN) * (weights @ nearest):
            break
        worst, best = divmod(int(totals.argmin()), len(candidates))
        centers = centers.copy()
        centers[worst] = candidates[best]
        losses[:, worst] = new[:, best]
    return centers


def promising_rows(
    engine: ResidentEngine, nearest: Floats, rng: np.random.RandomState
) -> tuple[Floats, Floats]:
    """Rows that lower the total loss most as additional centers, of some, and their losses.

    ``nearest`` is the loss of each row to its nearest center.
    """
    drawn = _drawn(engine, nearest, rng)
    return _promising(engine, drawn, nearest)[:2]


def _drawn(
    engine: ResidentEngine, nearest: Floats, rng: np.random.RandomState, cap: float = np.inf
) -> NDArray[np.integer]:
    """Rows that are tried as centers, drawn by their losses, and far ones or those beyond a cap."""
    weights, order = engine.data.weights_or_ones(), engine.order()
    drawn = draw(weights, order, CANDIDATES_BY_COST, rng, nearest)
    beyond = weights * (nearest > cap)
    if np.isinf(cap):
        far = (nearest / nearest.max()) ** FAR_POWER
        return np.concatenate([drawn, draw(weights, order, FAR_CANDIDATES, rng, far)])
    if beyond.any():
        return np.concatenate([drawn, draw(beyond, order, CANDIDATES_BEYOND, rng)])
    return drawn


def _two_smallest(losses: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Column of the smallest value of each row, that value, and the next one."""
    columns = np.empty(len(losses), dtype=np.int64)
    nearest, second = np.empty((2, len(losses)), dtype=losses.dtype)
    core.two_smallest(losses, columns, nearest, second)
    return columns, nearest, second


def _promising(
    engine: ResidentEngine, drawn: NDArray[np.integer], nearest: Floats
) -> tuple[Floats, Floats, Floats]:
    """Rows that lower the total most as additional centers, their losses, and the totals.

    A lone row is none: a center there would stay for ever, and hold a cluster of one row.
    """
    candidates = engine.take(drawn)
    new, totals = table_of_losses(engine, candidates, nearest)
    weights = engine.data.weights_or_ones()
    enough = MIN_CLUSTER_ROWS * row_weight(weights)
    ordered = np.argsort(totals, kind="stable")
    held = (k for k in ordered if weights[new[:, k] < nearest].sum() >= enough)
    best = np.fromiter(islice(held, COMPARED), dtype=np.intp)
    return candidates[best], new[:, best], totals[best]


def table_of_losses(
    engine: ResidentEngine, centers: Floats, costs: Floats | None = None
) -> tuple[Floats, Floats]:
    """Losses of all rows to all centers, and per center the total of these or of lower costs."""
    losses = np.empty((engine.n_rows, len(centers)), dtype=engine.dtype)
    if costs is None:
        costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
    return losses, engine.candidate_costs(np.ascontiguousarray(costs), centers, losses)
