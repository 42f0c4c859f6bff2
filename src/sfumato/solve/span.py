"""Wide data, seen from its own span.

Rows with many more features than there are rows lie in a subspace of as many dimensions as rows.
Turned into it, all distances stay what they are, and every pass is cheaper by the ratio of the
two. Centers are turned back in the end: they are weighted means of rows, so they never leave it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from threadpoolctl import threadpool_limits

from sfumato.data import Data

Floats = NDArray[np.floating]

LEAST_FEATURES = 256
"""Below, a pass is short anyway."""
LEAST_RATIO = 2
"""Features per row from which turning pays for itself within one start."""
MOST_ROWS = 1024
"""Rows up to which it does: its price grows with their square."""


class Turned(NamedTuple):
    """Data to solve on, and the way back for centers."""

    data: Data
    back: Callable[[Floats], Floats]


def stay(data: Data) -> Turned:
    """Data as it is: for given centers, which may lie outside of the span."""
    return Turned(data, lambda centers: centers)


def turn(data: Data) -> Turned:
    """Data in the coordinates of its span where that is worthwhile, or as it is."""
    wide = data.n_features >= max(LEAST_FEATURES, LEAST_RATIO * data.n_rows)
    if data.is_sparse or not wide or data.n_rows > MOST_ROWS:
        return stay(data)
    # Adding zero makes -0.0 and 0.0 the same bytes. Rows that are equal must stay so to the bit.
    rows = data.dense(slice(None)) - data.origin + 0.0
    places: dict[bytes, int] = {}
    which = [places.setdefault(row.tobytes(), len(places)) for row in rows]
    distinct = np.empty((len(places), data.n_features))
    distinct[which] = rows
    with threadpool_limits(1, user_api="blas"):  # Its threads would spin while a pass needs theirs.
        basis, coordinates = qr(distinct.T, mode="economic", overwrite_a=True, check_finite=False)
    double = np.dtype(np.float64)
    turned = Data(coordinates.T[which], data.weights, double, np.zeros(len(places)))
    return Turned(turned, lambda centers: centers @ basis.T + data.origin)
