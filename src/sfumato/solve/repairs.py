"""Empty clusters: a center that no row needs is moved to the row that needs one most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.base import Engine
from sfumato.solve.statistics import Statistics

Floats = NDArray[np.floating]

CANDIDATES = 32
"""Rows that are tried where many need a center equally."""


def repair(
    engine: Engine, centers: Floats, stepped: Floats, statistics: Statistics
) -> tuple[Floats, tuple[int, ...]]:
    """Move the centers of empty clusters; return the centers and which were moved.

    Each empty center goes to the row with the largest weighted loss to its nearest center, one
    after the other, so that no two go to the same place. Where many rows have it, as behind the cap
    of a bounded loss, to the one of them that lowers the total most: an outlier lowers it by itself
    alone. A center that no row uses adds nothing to the objective, and one more center to choose
    from can only lower it.
    """
    empty = statistics.empty
    if not len(empty):
        return stepped, ()
    served = np.setdiff1d(np.arange(len(centers)), empty)
    needs = np.full(engine.n_rows, np.inf, dtype=engine.data.dtype)
    if len(served):
        engine.lower(needs, centers[served])
    weights = engine.data.weights_or_ones()
    repaired = stepped.copy()
    moved = []
    for k in empty:
        needed = np.where(weights > 0, needs, 0) * weights
        if not needed.any():
            break  # Every row lies on a center already: there is nothing to gain.
        repaired[k] = _neediest(engine, needs, needed)
        engine.lower(needs, repaired[[k]])
        moved.append(int(k))
    return repaired, tuple(moved)


def _neediest(engine: Engine, needs: Floats, needed: Floats) -> Floats:
    """The row that needs a center most; of many alike, the best of some."""
    alike = np.flatnonzero(needed == needed.max())
    if len(alike) == 1:
        return engine.take(alike)[0]
    ordered = engine.order()[np.isin(engine.order(), alike)]
    candidates = engine.take(ordered[:: -(-len(ordered) // CANDIDATES)])
    best: Floats = candidates[int(np.argmin(engine.potentials(needs, candidates)))]
    return best
