"""Wide data, projected onto its own span.

``n`` rows with many more than ``n`` features lie in a subspace of at most ``n`` dimensions. In an
orthonormal basis of it all distances are the same, and a pass is cheaper by the ratio of the
dimensions. Centers are weighted means of rows, so they lie in the subspace too and are lifted back
at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr

from sfumato._data import Data
from sfumato._native import single_blas_thread
from sfumato._typing import Floats

LEAST_FEATURES = 256
"""Features below which data is not projected, since a pass is short anyway; chosen by hand."""
LEAST_RATIO = 2
"""Features per row below which data is not projected, since little is gained; chosen by hand."""
ROWS_PER_CLUSTER = 16
"""Rows per cluster above which data is not projected: the QR factorization costs the square of the
rows, a pass rows times clusters. Chosen by hand."""
MOST_BYTES = 1 << 26
"""Bytes of the rows as float64 above which they are not copied, and so not projected; chosen by
hand."""


class Projection(NamedTuple):
    """Data to solve on, and the map of its centers back to the user's coordinates."""

    data: Any
    lift: Callable[[Floats], Floats]


def identity(data: Any) -> Projection:
    """Data as it is."""
    return Projection(data, lambda centers: centers)


def project(data: Data, n_clusters: int) -> Projection:
    """Data in the coordinates of its span where that makes passes cheaper, or as it is."""
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
    with single_blas_thread():
        basis, coordinates = qr(distinct.T, mode="economic", overwrite_a=True, check_finite=False)
    double = np.dtype(np.float64)
    projected = Data(coordinates.T[which], data.weights, double, np.zeros(len(places)))

    def lift(centers: Floats) -> Floats:
        full = centers @ basis.T + data.origin
        for k, center in enumerate(centers):  # A center on a row is lifted to exactly that row.
            near = np.flatnonzero(projected.rows[:, 0] == center[0])
            on = near[(projected.rows[near] == center).all(axis=1)]
            if len(on):
                full[k] = data.dense(on[:1])[0]
        return full

    return Projection(projected, lift)
