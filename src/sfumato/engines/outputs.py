"""What may be said of rows, row by row: labels, memberships, distances, scores.

An output is a function of a resident engine. Who calls it, on all rows or on chunk after chunk,
here or on other machines, and who puts the pieces together, is up to ``Engine.map``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.base import Output, ResidentEngine

Floats = NDArray[np.floating]

OUTLIER = 1.0
"""Outlier score above which a row belongs to no cluster: beyond the reach of all."""


@dataclass(frozen=True)
class Labels(Output):
    """Nearest center of each row; -1 for outliers, where there are units to measure them by."""

    units: Floats | None = None

    name = "label"

    def __call__(self, engine: ResidentEngine) -> NDArray[np.int32]:
        """Labels."""
        labels: NDArray[np.int32] = engine.assign(self.centers, memberships=False).labels
        if self.units is not None:
            labels[Scores(self.centers, self.units)(engine) > OUTLIER] = -1
        return labels

    def dtype(self, precision: np.dtype[np.floating]) -> np.dtype[Any]:
        """32-bit integers."""
        return np.dtype(np.int32)


@dataclass(frozen=True)
class Memberships(Output):
    """Memberships, sparse."""

    name = "membership"
    sparse = True

    def __call__(self, engine: ResidentEngine) -> Any:
        """Memberships as CSR."""
        return engine.assign(self.centers).memberships

    @property
    def n_columns(self) -> int | None:
        """One per center."""
        return len(self.centers)


@dataclass(frozen=True)
class DenseMemberships(Memberships):
    """Memberships, zeros and all."""

    sparse = False

    def __call__(self, engine: ResidentEngine) -> Floats:
        """Memberships as an array."""
        dense: Floats = engine.assign(self.centers).memberships.toarray()
        return dense


@dataclass(frozen=True)
class Distances(Output):
    """Distances to all centers."""

    name = "distance"

    def __call__(self, engine: ResidentEngine) -> Floats:
        """Distances."""
        return engine.distances(self.centers)

    @property
    def n_columns(self) -> int | None:
        """One per center."""
        return len(self.centers)


@dataclass(frozen=True)
class Scores(Output):
    """Smallest distance to a center over the reach of its cluster, NaN reaches left out."""

    reaches: Floats

    name = "outlier_score"

    def __call__(self, engine: ResidentEngine) -> Floats:
        """Scores."""
        known = ~np.isnan(self.reaches)
        return engine.relative(self.centers[known], self.reaches[known])
