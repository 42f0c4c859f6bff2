"""The first pass over data in pieces: sizes, extent, types, and whatever is wrong, and where."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sfumato._data import Data, Piece, checksum, distinct_rows
from sfumato._survey import NotFinite, RangeSummary, summarize_range


class Wrong(NamedTuple):
    """What is wrong with a piece: a value, a weight, or the whole."""

    piece: int
    value: NotFinite | None = None
    weight: tuple[int, float] | None = None
    """Row, and its weight."""
    problem: str = ""


@dataclass(frozen=True)
class Inspection:
    """What was seen; it adds."""

    survey: RangeSummary
    sizes: tuple[tuple[int, int, int], ...]
    """Number of each piece, its rows, and those of positive weight."""
    dtypes: frozenset[str]
    sparse: frozenset[bool]
    heaviest: float
    enough: int
    """Different rows that are enough."""
    checksums: tuple[int, ...] = ()
    distinct: frozenset[bytes] = frozenset()
    """Digests of some different rows of positive weight, as many as were asked for."""
    wrong: Wrong | None = None

    def __add__(self, other: Inspection) -> Inspection:
        if self.wrong or other.wrong or self.sparse != other.sparse:
            both = self.survey  # Of no use any more.
        else:
            both = self.survey + other.survey
        return Inspection(
            both,
            self.sizes + other.sizes,
            self.dtypes | other.dtypes,
            self.sparse | other.sparse,
            max(self.heaviest, other.heaviest),
            self.enough,
            self.checksums + other.checksums,
            self.distinct if len(self.distinct) >= self.enough else self.distinct | other.distinct,
            self.wrong or other.wrong,
        )


@dataclass(frozen=True)
class Inspect:
    """Inspect at a piece; with a checksum, if it is to be recognized another time."""

    n_features: int
    n_distinct: int = 0
    checksum: bool = False

    def __call__(self, piece: Piece) -> Inspection:
        """What is seen in a piece."""
        rows, weights = piece.rows, piece.weights
        wrong = self._wrong(piece)
        found = summarize_range(rows, weights) if wrong is None else _nothing(self.n_features)
        if wrong is None and found.bad is not None:
            wrong = Wrong(piece.number, value=found.bad)
        counted = rows.shape[0] if weights is None else int((weights > 0).sum())
        return Inspection(
            found,
            ((piece.number, rows.shape[0], counted),),
            frozenset([rows.dtype.str]),
            frozenset([bool(sp.issparse(rows))]),
            1.0 if weights is None else float(np.max(weights)),
            self.n_distinct,
            (checksum(rows, weights),) if self.checksum else (),
            self._digests(piece) if wrong is None else frozenset(),
            wrong,
        )

    def _digests(self, piece: Piece) -> frozenset[bytes]:
        """Digests of some different rows."""
        if not self.n_distinct:
            return frozenset()
        exact = np.dtype(np.float64)
        data = Data(piece.rows, piece.weights, exact, np.zeros(self.n_features))
        found = distinct_rows(data, self.n_distinct)
        some = list(found)[: self.n_distinct]
        return frozenset(blake2b(row, digest_size=8).digest() for row in some)

    def _wrong(self, piece: Piece) -> Wrong | None:
        rows, weights = piece.rows, piece.weights
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            expected = f"{self.n_features} columns, as the first piece has them"
            return Wrong(piece.number, problem=f"has shape {rows.shape}, where {expected}, belong")
        if rows.dtype.kind not in "biuf":
            return Wrong(piece.number, problem=f"is of dtype {rows.dtype}, not of real numbers")
        if weights is None:
            return None
        if weights.shape != rows.shape[:1]:
            problem = f"has {rows.shape[0]} rows and weights of shape {weights.shape}"
            return Wrong(piece.number, problem=problem)
        bad = ~(np.isfinite(weights) & (weights >= 0))
        if bad.any():
            row = int(np.argmax(bad))
            return Wrong(piece.number, weight=(row, float(weights[row])))
        return None


def _nothing(n_features: int) -> RangeSummary:
    empty = np.zeros(n_features)
    return RangeSummary(empty, empty, empty, 0)
