"""One pass over all rows for the report: rows worth showing, counts, and a checksum, which add."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import Chunk
from sfumato._description import SURE
from sfumato._modeled_rows import (
    ModeledRows,
    Modeler,
    global_numbers,
    ids_of,
    joined,
    largest_memberships,
)
from sfumato._typing import Floats

TYPICAL = 3
"""Typical rows of each cluster."""
LISTED = 20
"""Rows between clusters, and outliers, that are listed."""
MEMBERSHIP_BINS = 20
"""Bins of the histogram of largest memberships."""


@dataclass(frozen=True)
class Picked:
    """Rows of the smallest keys, at most ``count`` in each group. Picks add up.

    Attributes
    ----------
    count : int
    groups, keys : ndarray of shape (n_rows,)
    places : ndarray of shape (n_rows, 2)
        Number of the chunk of each row, and its place there.
    rows : ndarray of shape (n_rows, n_features)
    labels, scores : ndarray of shape (n_rows,)
    memberships : csr_array of shape (n_rows, n_clusters)
    ids : ndarray of shape (n_rows,) or None
        Identifiers, if the data has any.
    """

    count: int
    groups: NDArray[np.integer]
    keys: Floats
    places: NDArray[np.int64]
    rows: Floats
    labels: NDArray[np.integer]
    scores: Floats
    memberships: Any
    ids: NDArray[np.object_] | None

    @classmethod
    def of(
        cls,
        count: int,
        modeled: ModeledRows,
        chunk: Chunk,
        chosen: NDArray[np.intp],
        keys: Floats,
        groups: NDArray[np.integer] | None = None,
    ) -> Picked:
        """Rows of a chunk with the smallest keys, among those that are chosen."""
        kinds = np.zeros(len(chosen), dtype=np.intp) if groups is None else groups
        kept = _smallest(keys, kinds, count)
        index = chosen[kept]
        rows = modeled.rows[index]
        dense = rows.toarray() if sp.issparse(rows) else rows
        return cls(
            count,
            kinds[kept],
            keys[kept],
            np.column_stack([np.full(len(index), chunk.number), modeled.numbers[index]]),
            np.array(dense, dtype=np.float64),
            modeled.labels[index],
            modeled.scores[index],
            modeled.memberships[index],
            ids_of(chunk, index),
        )

    def __add__(self, other: Picked) -> Picked:
        both: dict[str, Any] = {}
        for each in fields(self):
            if each.name in ("count", "memberships", "ids"):
                continue
            both[each.name] = np.concatenate([getattr(self, each.name), getattr(other, each.name)])
        memberships = sp.csr_array(sp.vstack([self.memberships, other.memberships]))
        kept = _smallest(both["keys"], both["groups"], self.count)
        taken = {name: values[kept] for name, values in both.items()}
        ids = joined(self.ids, other.ids)
        ids = None if ids is None else ids[kept]
        return Picked(count=self.count, memberships=memberships[kept], ids=ids, **taken)


def _smallest(keys: Floats, groups: NDArray[np.integer], count: int) -> NDArray[np.intp]:
    """Places of the ``count`` smallest keys of each group, by group and key; first ones win."""
    order = np.lexsort((keys, groups))
    ordered = groups[order]
    starts = np.searchsorted(ordered, ordered)
    return np.asarray(order[np.arange(len(order)) - starts < count])


@dataclass(frozen=True)
class Tally:
    """What the report needs to know of all rows. Tallies of chunks add up.

    Attributes
    ----------
    n_outliers, n_sure : int
        Outliers, and rows that are clearly in one cluster.
    histogram : ndarray of shape (n_bins,)
        Rows that are no outliers, by their largest membership.
    typical, between, outlying : Picked
        Rows nearest to the center of each cluster, rows whose two largest memberships differ least,
        and outliers of the largest scores.
    checksum : int
        Of all values; it does not depend on the order of the rows, on chunks or on storage.
    sizes : dict of int to int
        Rows of each chunk.
    """

    n_outliers: int
    n_sure: int
    histogram: NDArray[np.integer]
    typical: Picked
    between: Picked
    outlying: Picked
    checksum: int
    sizes: dict[int, int]

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.n_outliers + other.n_outliers,
            self.n_sure + other.n_sure,
            self.histogram + other.histogram,
            self.typical + other.typical,
            self.between + other.between,
            self.outlying + other.outlying,
            (self.checksum + other.checksum) % 2**64,
            self.sizes | other.sizes,
        )

    def numbers(self, picked: Picked) -> NDArray[np.int64]:
        """Places of picked rows in the data."""
        return global_numbers(picked.places, self.sizes)


@dataclass(frozen=True)
class TallyRows:
    """Pass that counts and picks rows."""

    modeler: Modeler

    description: ClassVar[str] = "writing the report"

    def __call__(self, chunk: Chunk) -> Tally:
        n_rows = chunk.rows.shape[0]
        modeled = self.modeler(chunk.rows, np.arange(n_rows))
        inside = np.flatnonzero(~modeled.outliers)
        outside = np.flatnonzero(modeled.outliers)
        largest = modeled.largest[inside]
        margins = largest - _second(modeled.memberships[inside])
        shared = margins < 1.0
        return Tally(
            len(outside),
            int(np.count_nonzero(largest >= SURE)),
            np.histogram(largest, MEMBERSHIP_BINS, (0.0, 1.0))[0],
            Picked.of(
                TYPICAL, modeled, chunk, inside, modeled.scores[inside], modeled.labels[inside]
            ),
            Picked.of(LISTED, modeled, chunk, inside[shared], margins[shared]),
            Picked.of(LISTED, modeled, chunk, outside, -modeled.scores[outside]),
            checksum(chunk.rows),
            {chunk.number: n_rows},
        )


def _second(memberships: Any) -> Floats:
    """Second largest membership of each row; 0 if there is none."""
    rest = memberships.copy()
    largest = largest_memberships(memberships)
    counts = np.diff(rest.indptr)
    owners = np.repeat(np.arange(len(counts)), counts)
    top = np.flatnonzero(rest.data == largest[owners])
    # Of equal memberships only the first is the largest.
    _, first = np.unique(owners[top], return_index=True)
    rest.data[top[first]] = 0.0
    return largest_memberships(rest)


def checksum(rows: Any) -> int:
    """Checksum of values, modulo 2**64: a sum over rows; zeros count as absent."""
    with np.errstate(over="ignore"):
        if sp.issparse(rows):
            found = sp.csr_array(rows)
            mixed = _mixed(np.asarray(found.data, dtype=np.float64), found.indices)
            sums = np.zeros(found.shape[0], dtype=np.uint64)
            owners = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
            np.add.at(sums, owners, mixed)
        else:
            dense = np.asarray(rows, dtype=np.float64)
            sums = _mixed(dense, np.arange(dense.shape[1])).sum(axis=1, dtype=np.uint64)
        return int(_scrambled(sums).sum(dtype=np.uint64))


def _mixed(values: Floats, columns: NDArray[np.integer]) -> NDArray[np.uint64]:
    """A number for each value in a column; 0 for zeros of either sign."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    salts = _scrambled(columns.astype(np.uint64) + np.uint64(1))
    return np.where(values == 0, np.uint64(0), _scrambled(bits ^ salts))


def _scrambled(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))
