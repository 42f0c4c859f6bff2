"""Empty clusters: a center that no row needs is moved to the row that needs one most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.base import Engine
from sfumato.solve.statistics import Statistics

Floats = NDArray[np.floating]


def repair(
    engine: Engine, centers: Floats, stepped: Floats, statistics: Statistics
) -> tuple[Floats, tuple[int, ...]]:
    """Move the centers of empty clusters; return the centers and which were moved.

    Each empty center goes to the row that is worst served by the others, one after the other, so
    that no two go to the same place. A center that no row uses adds nothing to the objective, and
    one more center to choose from can only lower it.
    """
    empty = statistics.empty
    if not len(empty):
        return stepped, ()
    served = np.setdiff1d(np.arange(len(centers)), empty)
    rows = engine.worst_served(centers[served], len(empty))
    repaired = stepped.copy()
    moved = empty[: len(rows)]
    repaired[moved] = rows
    return repaired, tuple(map(int, moved))
