"""Outputs for each row: labels, memberships, distances and outlier scores.

A row is an outlier if its score, the distance to a center over the radius of its cluster, exceeds
``OUTLIER`` at every center. This is the only place where that is decided: labels of -1 and rows
without memberships follow from the same scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._engines.base import Evaluation, Output
from sfumato._typing import Floats

OUTLIER = 1.0
"""Outlier score above which a row is an outlier: a score is a distance in cluster radii. A row that
lies exactly on the border has a score of 1 and belongs to the cluster."""


@dataclass(frozen=True)
class Scores(Output):
    """Outlier scores: smallest ratio of the distance to a center and the radius of its cluster.

    Clusters of an unknown radius (NaN) are left out.
    """

    radii: Floats

    name = "outlier_score"

    def of(self, rows: Evaluation) -> Floats:
        known = ~np.isnan(self.radii)
        return rows.scaled_distances(self.centers[known], self.radii[known])


@dataclass(frozen=True)
class Labels(Output):
    """Nearest center of each row; -1 for outliers, if radii are given."""

    radii: Floats | None = None

    name = "label"

    def of(self, rows: Evaluation) -> NDArray[np.int32]:
        labels: NDArray[np.int32] = rows.assign(self.centers).labels
        if self.radii is None:
            return labels
        outlying = Scores(self.centers, self.radii).of(rows) > OUTLIER
        return np.where(outlying, np.int32(-1), labels)

    def dtype(self, precision: np.dtype[np.floating]) -> np.dtype[Any]:
        return np.dtype(np.int32)


@dataclass(frozen=True)
class Memberships(Output):
    """Memberships as a csr_array; outliers have none, if radii are given."""

    radii: Floats | None = None

    name = "membership"
    sparse = True
    uses_memberships = True

    def of(self, rows: Evaluation) -> Any:
        found = rows.assign(self.centers).memberships
        if self.radii is None:
            return found
        return without_entries(found, Scores(self.centers, self.radii).of(rows) > OUTLIER)

    @property
    def n_columns(self) -> int | None:
        return len(self.centers)


@dataclass(frozen=True)
class DenseMemberships(Memberships):
    """Memberships as a dense array; rows of outliers are zero, if radii are given."""

    sparse = False

    def of(self, rows: Evaluation) -> Floats:
        dense: Floats = super().of(rows).toarray()
        return dense


@dataclass(frozen=True)
class Distances(Output):
    """Distances to all centers."""

    name = "distance"

    def of(self, rows: Evaluation) -> Floats:
        return rows.engine.distances(self.centers)

    @property
    def n_columns(self) -> int | None:
        return len(self.centers)


def without_entries(memberships: sp.csr_array, emptied: NDArray[np.bool_]) -> sp.csr_array:
    """Memberships in which the chosen rows have no stored entries."""
    if not emptied.any():
        return memberships
    counts = np.diff(memberships.indptr)
    kept = np.repeat(~emptied, counts)
    indptr = np.zeros_like(memberships.indptr)
    np.cumsum(np.where(emptied, 0, counts), out=indptr[1:])
    entries = memberships.data[kept], memberships.indices[kept], indptr
    return sp.csr_array(entries, shape=memberships.shape)
