"""Outputs for each row: labels, memberships, distances and outlier scores.

A row is an outlier if it lies beyond the radius of every cluster (``outlying``). This is the only
place where that is decided: scores above ``OUTLIER``, labels of -1 and rows without memberships
follow from it. Among outliers, and among all other rows, scores rank by a density (``Tails``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import row_blocks
from sfumato._engines.base import Evaluation, Output, ResidentEngine
from sfumato._engines.tails import Tails
from sfumato._typing import Floats

OUTLIER = 1.0
"""Outlier score above which a row is an outlier. One on the border of a cluster belongs to it."""


def ratios_to_radii(rows: Evaluation, centers: Floats, radii: Floats) -> Floats:
    """Distance to a center over the radius of its cluster, the smallest of all; unknown: NaN."""
    known = ~np.isnan(radii)
    return rows.scaled_distances(centers[known], radii[known])


def outlying(rows: Evaluation, centers: Floats, radii: Floats) -> NDArray[np.bool_]:
    """Whether rows are outliers: farther from every center than the radius of its cluster.

    Clusters of an unknown radius (NaN) are left out.
    """
    return np.asarray(ratios_to_radii(rows, centers, radii) > OUTLIER)


@dataclass(frozen=True)
class Rarity(Output):
    """How rare rows are under a density with heavy tails: 1 or more."""

    tails: Tails

    name = "rarity"

    def of(self, rows: Evaluation) -> Floats:
        return rows.engine.rarity(self.centers, self.tails).astype(rows.engine.dtype)


@dataclass(frozen=True)
class Scores(Output):
    """Outlier scores, by how rare a row is: ``1 - 1 / rarity``, and ``rarity`` for outliers.

    Without tails, as in model files of earlier versions, they are the distance to a center over the
    radius of its cluster, the smallest of all.
    """

    radii: Floats
    tails: Tails | None = None

    name = "outlier_score"

    def of(self, rows: Evaluation) -> Floats:
        ratios = ratios_to_radii(rows, self.centers, self.radii)
        if self.tails is None:
            return ratios
        scores, number = np.empty_like(ratios), ratios.dtype.type
        above, most = np.nextafter(number(OUTLIER), number(np.inf)), np.finfo(number).max
        for block, engine in _blocks(rows.engine):  # Rarities are doubles: few at a time.
            rarity = engine.rarity(self.centers, self.tails)
            beyond = np.flatnonzero(ratios[block] > OUTLIER)
            far = np.clip(rarity[beyond], above, most).astype(scores.dtype)
            np.divide(1, rarity, out=rarity)
            np.subtract(1, rarity, out=scores[block], casting="same_kind")
            scores[block][beyond] = far
        return scores


@dataclass(frozen=True)
class Beyond(Output):
    """Whether rows lie beyond the radius of every cluster."""

    radii: Floats

    name = "beyond"

    def of(self, rows: Evaluation) -> NDArray[np.bool_]:
        return outlying(rows, self.centers, self.radii)

    def dtype(self, precision: np.dtype[np.floating]) -> np.dtype[Any]:
        return np.dtype(np.bool_)


@dataclass(frozen=True)
class Labels(Output):
    """Nearest center of each row; -1 for outliers, if radii are given."""

    radii: Floats | None = None

    name = "label"

    def of(self, rows: Evaluation) -> NDArray[np.int32]:
        labels: NDArray[np.int32] = rows.assign(self.centers).labels
        if self.radii is None:
            return labels
        return np.where(outlying(rows, self.centers, self.radii), np.int32(-1), labels)

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
        return without_entries(found, outlying(rows, self.centers, self.radii))

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
class Probabilities(Memberships):
    """Largest membership of each row; 0 for outliers, if radii are given."""

    name = "probability"
    sparse = False

    def of(self, rows: Evaluation) -> Floats:
        return largest_entries(super().of(rows))

    @property
    def n_columns(self) -> int | None:
        return None


@dataclass(frozen=True)
class Distances(Output):
    """Distances to all centers."""

    name = "distance"

    def of(self, rows: Evaluation) -> Floats:
        return rows.engine.distances(self.centers)

    @property
    def n_columns(self) -> int | None:
        return len(self.centers)


def _blocks(engine: ResidentEngine) -> Iterator[tuple[slice, ResidentEngine]]:
    """Views of blocks of the rows; of sparse rows, which would be copied, all at once."""
    whole = slice(0, engine.n_rows)
    for block in [whole] if engine.data.is_sparse else row_blocks(engine.n_rows, 1):
        yield block, engine if block == whole else engine.only(block)


def largest_entries(memberships: sp.csr_array) -> Floats:
    """Largest membership of each row; 0 for a row without entries."""
    found = np.zeros(memberships.shape[0], dtype=memberships.dtype)
    for rows in row_blocks(len(found), 1):
        begin, end = memberships.indptr[:-1][rows], memberships.indptr[1:][rows]
        filled = begin < end
        if filled.any():
            entries = memberships.data[begin[0] : end[-1]]
            found[rows][filled] = np.maximum.reduceat(entries, begin[filled] - begin[0])
    return found


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
