"""Wide data, seen from its own span.

Rows with many more features than there are rows lie in a subspace of as many dimensions as rows.
Projection into it, all distances stay what they are, and every pass is cheaper by the ratio of the
two. Centers are turned back in the end: they are weighted means of rows, so they never leave it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr
from threadpoolctl import threadpool_limits

from sfumato._data import Data
from sfumato._typing import Floats

LEAST_FEATURES = 256
"""Below, a pass is short anyway."""
LEAST_RATIO = 2
"""Features per row from which a pass becomes cheap enough."""
ROWS_PER_CLUSTER = 16
"""Turning costs the square of the rows, a pass rows times clusters: beyond, it does not pay."""
MOST_BYTES = 1 << 26
"""Doubles that may be copied: data is not copied whole otherwise."""

_ONE_AT_A_TIME = threading.Lock()
"""Limits of BLAS belong to the process."""


class Projection(NamedTuple):
    """Data to solve on, and the way back for centers."""

    data: Any
    lift: Callable[[Floats], Floats]


def identity(data: Any) -> Projection:
    """Data as it is: for given centers, which may lie outside of the span."""
    return Projection(data, lambda centers: centers)


def project(data: Data, n_clusters: int) -> Projection:
    """Data in the coordinates of its span where that is worthwhile, or as it is."""
    wide = data.n_features >= max(LEAST_FEATURES, LEAST_RATIO * data.n_rows)
    small = data.n_rows <= ROWS_PER_CLUSTER * n_clusters
    small &= 8 * data.n_rows * data.n_features <= MOST_BYTES
    if data.is_sparse or not (wide and small):
        return identity(data)
    # Adding zero makes -0.0 and 0.0 the same bytes. Rows that are equal must stay so to the bit.
    rows = data.dense(slice(None)) - data.origin + 0.0
    places: dict[bytes, int] = {}
    which = np.array([places.setdefault(row.tobytes(), len(places)) for row in rows])
    distinct = np.empty((len(places), data.n_features))
    distinct[which] = rows
    # Threads of BLAS would go on spinning while a pass needs the processors.
    with _ONE_AT_A_TIME, threadpool_limits(1, user_api="blas"):
        basis, coordinates = qr(distinct.T, mode="economic", overwrite_a=True, check_finite=False)
    double = np.dtype(np.float64)
    turned = Data(coordinates.T[which], data.weights, double, np.zeros(len(places)))

    def lift(centers: Floats) -> Floats:
        full = centers @ basis.T + data.origin
        for k, center in enumerate(centers):  # Centers on a row stay there.
            near = np.flatnonzero(turned.rows[:, 0] == center[0])
            on = near[(turned.rows[near] == center).all(axis=1)]
            if len(on):
                full[k] = data.dense(on[:1])[0]
        return full

    return Projection(turned, lift)
