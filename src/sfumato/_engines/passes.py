"""Passes over pieces of data: what each yields adds up, whoever does the adding.

A pass is a small object that is called with a piece and returns something with ``+``. Passes and
their results can be pickled, so that a pass may run in another process or on another machine.
Draws are seeded by the number of the piece: the same pieces give the same draws everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import Data, Piece
from sfumato._engines.base import CANDIDATES, Output, ResidentEngine
from sfumato._problem import Problem, Statistics
from sfumato._sampling import PrioritySample
from sfumato._survey import summarize_range
from sfumato._typing import Floats


class Pass(Protocol):
    """Whatever is done with each piece."""

    def __call__(self, piece: Piece) -> Any:
        """What a piece yields; it must have ``+``."""


@dataclass(frozen=True)
class EngineSpec:
    """How pieces are computed with: precision, origin, problem, and by which engine."""

    engine: type[ResidentEngine]
    problem: Problem
    dtype: np.dtype[np.floating]
    origin: Floats
    n_threads: int

    def on(self, piece: Piece) -> ResidentEngine:
        """Engine on a piece."""
        data = Data(piece.rows, piece.weights, self.dtype, self.origin)
        return self.engine(data, self.problem, self.n_threads)


@dataclass(frozen=True)
class Sweep:
    """Statistics at given centers."""

    spec: EngineSpec
    centers: Floats

    def __call__(self, piece: Piece) -> Statistics:
        """Statistics of a piece."""
        return self.spec.on(piece).sweep(self.centers)


@dataclass(frozen=True)
class Map:
    """An output for each row; pieces are kept apart, so nothing is added."""

    spec: EngineSpec
    output: Output

    def __call__(self, piece: Piece) -> Any:
        """Values for a piece."""
        return self.output(self.spec.on(piece))

    def of_unchecked(self, piece: Piece, where: Callable[[int, int], str]) -> Any:
        """Values for a piece that nobody has looked at; raises about those that are no numbers.

        ``where`` has the words for a row and a column of it.
        """
        found = summarize_range(piece.rows, None)
        if found.bad is not None:
            raise found.bad.error(where(found.bad.row, found.bad.column))
        error = found.too_far("X", self.spec.origin, self.spec.dtype)
        if error is not None:
            raise error
        return self(piece)


@dataclass(frozen=True)
class DrawSample:
    """A draw in proportion to the weights, or by what rows cost at some anchors.

    Parameters
    ----------
    spec : EngineSpec
    count : int
        Rows to draw.
    seed : int
    anchors : ndarray or None, default=None
        Points by whose nearest each row is judged; None draws by weight alone.
    average : float, default=0
        Average cost; it is added to that of every row, so that all have their chance.
    """

    spec: EngineSpec
    count: int
    seed: int
    anchors: Floats | None = None
    average: float = 0.0

    def __call__(self, piece: Piece) -> PrioritySample:
        """DrawSample from a piece."""
        engine = self.spec.on(piece)
        costs: Floats | None = None
        if self.anchors is not None:
            costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
            engine.update_costs(costs, self.anchors)
        return self.by_cost(engine, piece.number, costs)

    def by_cost(self, engine: ResidentEngine, number: int, costs: Floats | None) -> PrioritySample:
        """DrawSample from the rows of an engine, a piece of the given number, by what they cost."""
        weights = np.array(engine.data.weights_or_ones())
        measures = weights
        if costs is not None:
            measures = weights * (costs.astype(np.float64) + self.average)
        rng = np.random.default_rng([self.seed, number])
        rows = engine.data.rows
        if engine.data.is_sparse:
            return PrioritySample.of(self.count, rows, weights, measures, rng)
        # In one dtype, whatever that of the piece; of those rows alone that are kept.
        kept = PrioritySample.of(self.count, np.arange(len(weights)), weights, measures, rng)
        return replace(kept, rows=np.asarray(rows[kept.rows]).astype(engine.dtype))


@dataclass(frozen=True)
class CoresetSample:
    """Rows drawn to stand for all, and the weight around each anchor."""

    drawn: PrioritySample
    masses: Floats

    def __add__(self, other: CoresetSample) -> CoresetSample:
        return CoresetSample(self.drawn + other.drawn, self.masses + other.masses)

    @classmethod
    def trimmed(cls, parts: Sequence[CoresetSample]) -> list[CoresetSample]:
        """Parts that will be added, without rows that will not be among the highest of all."""
        draws = PrioritySample.trimmed([part.drawn for part in parts])
        return [replace(part, drawn=drawn) for part, drawn in zip(parts, draws, strict=True)]


@dataclass(frozen=True)
class DrawCoreset:
    """A draw by weight and cost, and what the surroundings of each anchor weigh."""

    draw: DrawSample

    def __call__(self, piece: Piece) -> CoresetSample:
        """DrawSample from a piece, and weigh it."""
        anchors = self.draw.anchors
        assert anchors is not None
        engine = self.draw.spec.on(piece)
        seen = engine.assign(anchors, distances=True, memberships=False)
        costs = engine.problem.loss.value(seen.distances.astype(np.float64) ** 2)
        weights = engine.data.weights_or_ones()
        masses: Floats = np.bincount(seen.labels, weights, len(anchors)).astype(np.float64)
        return CoresetSample(self.draw.by_cost(engine, piece.number, costs), masses)


@dataclass(frozen=True)
class Total:
    """A number, or several, that add."""

    value: Any

    def __add__(self, other: Total) -> Total:
        return Total(self.value + other.value)


@dataclass(frozen=True)
class Cost:
    """Weighted total of the losses to the nearest anchor, if each candidate alone were one more."""

    spec: EngineSpec
    anchors: Floats
    candidates: Floats

    def __call__(self, piece: Piece) -> Total:
        """Totals of a piece."""
        engine = self.spec.on(piece)
        costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
        if len(self.anchors):
            engine.update_costs(costs, self.anchors)
        return Total(engine.candidate_costs(costs, self.candidates))


@dataclass(frozen=True)
class WorstRows:
    """The largest need of a row, and some rows that have it."""

    need: float
    rows: Floats

    def __add__(self, other: WorstRows) -> WorstRows:
        if self.need != other.need:
            return self if self.need > other.need else other
        return WorstRows(self.need, _thinned(np.concatenate([self.rows, other.rows])))


def _thinned(rows: Any) -> Any:
    return rows[:: max(1, -(-len(rows) // CANDIDATES))]


@dataclass(frozen=True)
class FindWorstRows:
    """Rows with the largest weighted loss to their nearest center."""

    spec: EngineSpec
    centers: Floats

    def __call__(self, piece: Piece) -> WorstRows:
        """The find_worst_rows rows of a piece."""
        engine = self.spec.on(piece)
        needs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
        if len(self.centers):
            engine.update_costs(needs, self.centers)
        weights = engine.data.weights_or_ones()
        needed = np.where(weights > 0, needs, 0) * weights
        largest = float(needed.max())
        alike = np.flatnonzero(needed == largest) if largest > 0 else np.array([], dtype=np.intp)
        return WorstRows(
            largest, engine.take(_thinned(alike)) if len(alike) else engine.take(alike)
        )


@dataclass(frozen=True)
class Taken:
    """Rows that were asked for, with their weights."""

    rows: tuple[Any, ...] = ()
    weights: tuple[Floats | None, ...] = ()

    def __add__(self, other: Taken) -> Taken:
        return Taken(self.rows + other.rows, self.weights + other.weights)


@dataclass(frozen=True)
class Take:
    """Rows of positive weight by their number among all of these."""

    spec: EngineSpec
    wanted: NDArray[np.integer]
    offsets: NDArray[np.integer] = field(repr=False)
    """Rows of positive weight before each piece, and in all."""

    def __call__(self, piece: Piece) -> Taken:
        """Those in a piece."""
        begin, end = self.offsets[piece.number], self.offsets[piece.number + 1]
        first, last = np.searchsorted(self.wanted, [begin, end])
        places = self.wanted[first:last] - begin
        weights = piece.weights
        if weights is not None:
            places = np.flatnonzero(weights > 0)[places]
        rows = piece.rows[places]
        if not sp.issparse(rows):
            rows = np.asarray(rows).astype(self.spec.dtype)
        return Taken((rows,), (None if weights is None else weights[places],))
