"""Passes over pieces of data: what each yields adds up, whoever does the adding.

A pass is a small object that is called with a piece and returns something with ``+``. Passes and
their results can be pickled, so that a pass may run in another process or on another machine.
Draws are seeded by the number of the piece: the same pieces give the same draws everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato.data import Data
from sfumato.engines.base import CANDIDATES, Output, ResidentEngine
from sfumato.problem import Problem
from sfumato.solve.statistics import Statistics
from sfumato.survey import survey

Floats = NDArray[np.floating]

LEAST_UNIFORM = 2.0**-53
"""Stands for a draw of exactly zero."""


class Piece(NamedTuple):
    """Some rows of the data: any real dtype, dense or CSR, with weights or none."""

    rows: Any
    weights: Floats | None
    number: int
    """Place among all pieces, from zero on."""


class Pass(Protocol):
    """Whatever is done with each piece."""

    def __call__(self, piece: Piece) -> Any:
        """What a piece yields; it must have ``+``."""


@dataclass(frozen=True)
class Frame:
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

    frame: Frame
    centers: Floats

    def __call__(self, piece: Piece) -> Statistics:
        """Statistics of a piece."""
        return self.frame.on(piece).sweep(self.centers)


@dataclass(frozen=True)
class Say:
    """An output for each row; pieces are kept apart, so nothing is added."""

    frame: Frame
    output: Output

    def __call__(self, piece: Piece) -> Any:
        """Values for a piece."""
        return self.output(self.frame.on(piece))

    def of_new(self, piece: Piece, where: Callable[[int, int], str]) -> Any:
        """Values for a piece that nobody has looked at; raises about those that are no numbers.

        ``where`` has the words for a row and a column of it.
        """
        found = survey(piece.rows, None)
        if found.bad is not None:
            raise found.bad.error(where(found.bad.row, found.bad.column))
        error = found.too_far("X", self.frame.origin, self.frame.dtype)
        if error is not None:
            raise error
        return self(piece)


@dataclass(frozen=True)
class Drawn:
    """Rows drawn so that those of larger measure come more often; the sum is drawn from all.

    Each row has a priority, its measure over a uniform number, and the rows of highest priority are
    kept [1]_. With one more, whose priority is the threshold, every weighted sum over all rows has
    an unbiased estimate: row ``i`` counts ``w_i / min(1, measure_i / threshold)``.

    References
    ----------
    .. [1] N. Duffield, C. Lund, M. Thorup, "Priority sampling for estimation of arbitrary subset
       sums", Journal of the ACM 54, 2007.
    """

    count: int
    rows: Any
    weights: Floats
    measures: Floats
    priorities: Floats

    @classmethod
    def of(
        cls, count: int, rows: Any, weights: Floats, measures: Floats, rng: np.random.Generator
    ) -> Drawn:
        """Draw from rows; those of measure zero never come."""
        uniform = np.maximum(rng.random(len(measures)), LEAST_UNIFORM)
        priorities = measures / uniform
        kept = _highest(priorities, count + 1)
        kept = kept[priorities[kept] > 0]
        return cls(count, rows[kept], weights[kept], measures[kept], priorities[kept])

    def __add__(self, other: Drawn) -> Drawn:
        if not len(other.priorities):
            return self
        if not len(self.priorities):
            return other
        stack: Any = sp.vstack if sp.issparse(self.rows) else np.concatenate
        rows = stack([self.rows, other.rows])
        weights = np.concatenate([self.weights, other.weights])
        measures = np.concatenate([self.measures, other.measures])
        priorities = np.concatenate([self.priorities, other.priorities])
        kept = _highest(priorities, self.count + 1)
        rows = sp.csr_array(rows)[kept] if sp.issparse(rows) else rows[kept]
        return Drawn(self.count, rows, weights[kept], measures[kept], priorities[kept])

    @classmethod
    def trimmed(cls, draws: Sequence[Drawn]) -> list[Drawn]:
        """Draws that will be added, without rows that will not be among the highest of all."""
        together = np.concatenate([each.priorities for each in draws])
        most = draws[0].count + 1
        if len(together) <= most:
            return list(draws)
        least = np.partition(together, -most)[-most]
        return [each._only(np.flatnonzero(each.priorities >= least)) for each in draws]

    def _only(self, kept: NDArray[np.intp]) -> Drawn:
        return replace(
            self,
            rows=self.rows[kept],
            weights=self.weights[kept],
            measures=self.measures[kept],
            priorities=self.priorities[kept],
        )

    def fewer(self, count: int) -> Drawn:
        """Smaller draw, of those of highest priority."""
        kept = _highest(self.priorities, count + 1)
        return Drawn(
            count, self.rows[kept], self.weights[kept], self.measures[kept], self.priorities[kept]
        )

    def standing(self) -> tuple[Any, Floats | None]:
        """Rows, and what each of them stands for; None where all stand for the same."""
        if self._whole:
            return self.rows, None if np.all(self.weights == 1) else self.weights
        kept, threshold = self._split()
        weights = self.weights[kept] / np.minimum(1.0, self.measures[kept] / threshold)
        return self.rows[kept], None if np.ptp(weights) == 0 else weights

    def total(self) -> float:
        """Estimate of the sum of the measures of all rows."""
        if self._whole:
            return float(self.measures.sum())
        kept, threshold = self._split()
        return float(np.maximum(self.measures[kept], threshold).sum())

    @property
    def _whole(self) -> bool:
        """Whether these are all rows that there are."""
        return len(self.priorities) <= self.count

    def _split(self) -> tuple[NDArray[np.intp], float]:
        """Which rows are kept, and the threshold."""
        last = int(np.argmin(self.priorities))
        return np.delete(np.arange(len(self.priorities)), last), float(self.priorities[last])


def _highest(priorities: Floats, count: int) -> NDArray[np.intp]:
    """Where the highest are, in the order in which they came."""
    if len(priorities) <= count:
        return np.arange(len(priorities))
    return np.sort(np.argpartition(-priorities, count - 1)[:count])


@dataclass(frozen=True)
class Draw:
    """A draw in proportion to the weights, or by what rows cost at some anchors.

    Parameters
    ----------
    frame : Frame
    count : int
        Rows to draw.
    seed : int
    anchors : ndarray or None, default=None
        Points by whose nearest each row is judged; None draws by weight alone.
    average : float, default=0
        Average cost; it is added to that of every row, so that all have their chance.
    """

    frame: Frame
    count: int
    seed: int
    anchors: Floats | None = None
    average: float = 0.0

    def __call__(self, piece: Piece) -> Drawn:
        """Draw from a piece."""
        engine = self.frame.on(piece)
        costs: Floats | None = None
        if self.anchors is not None:
            costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
            engine.lower(costs, self.anchors)
        return self.by_cost(engine, piece.number, costs)

    def by_cost(self, engine: ResidentEngine, number: int, costs: Floats | None) -> Drawn:
        """Draw from the rows of an engine, a piece of the given number, by what they cost."""
        weights = np.array(engine.data.weights_or_ones())
        measures = weights
        if costs is not None:
            measures = weights * (costs.astype(np.float64) + self.average)
        rng = np.random.default_rng([self.seed, number])
        rows = engine.data.rows
        if engine.data.is_sparse:
            return Drawn.of(self.count, rows, weights, measures, rng)
        # In one dtype, whatever that of the piece; of those rows alone that are kept.
        kept = Drawn.of(self.count, np.arange(len(weights)), weights, measures, rng)
        return replace(kept, rows=np.asarray(rows[kept.rows]).astype(engine.dtype))


@dataclass(frozen=True)
class Represented:
    """Rows drawn to stand for all, and the weight around each anchor."""

    drawn: Drawn
    masses: Floats

    def __add__(self, other: Represented) -> Represented:
        return Represented(self.drawn + other.drawn, self.masses + other.masses)

    @classmethod
    def trimmed(cls, parts: Sequence[Represented]) -> list[Represented]:
        """Parts that will be added, without rows that will not be among the highest of all."""
        draws = Drawn.trimmed([part.drawn for part in parts])
        return [replace(part, drawn=drawn) for part, drawn in zip(parts, draws, strict=True)]


@dataclass(frozen=True)
class Represent:
    """A draw by weight and cost, and what the surroundings of each anchor weigh."""

    draw: Draw

    def __call__(self, piece: Piece) -> Represented:
        """Draw from a piece, and weigh it."""
        anchors = self.draw.anchors
        assert anchors is not None
        engine = self.draw.frame.on(piece)
        seen = engine.assign(anchors, distances=True, memberships=False)
        costs = engine.problem.loss.value(seen.distances.astype(np.float64) ** 2)
        weights = engine.data.weights_or_ones()
        masses: Floats = np.bincount(seen.labels, weights, len(anchors)).astype(np.float64)
        return Represented(self.draw.by_cost(engine, piece.number, costs), masses)


@dataclass(frozen=True)
class Total:
    """A number, or several, that add."""

    value: Any

    def __add__(self, other: Total) -> Total:
        return Total(self.value + other.value)


@dataclass(frozen=True)
class Cost:
    """Weighted total of the losses to the nearest anchor, if each candidate alone were one more."""

    frame: Frame
    anchors: Floats
    candidates: Floats

    def __call__(self, piece: Piece) -> Total:
        """Totals of a piece."""
        engine = self.frame.on(piece)
        costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
        if len(self.anchors):
            engine.lower(costs, self.anchors)
        return Total(engine.potentials(costs, self.candidates))


@dataclass(frozen=True)
class Needy:
    """The largest need of a row, and some rows that have it."""

    need: float
    rows: Floats

    def __add__(self, other: Needy) -> Needy:
        if self.need != other.need:
            return self if self.need > other.need else other
        return Needy(self.need, _thinned(np.concatenate([self.rows, other.rows])))


def _thinned(rows: Any) -> Any:
    return rows[:: max(1, -(-len(rows) // CANDIDATES))]


@dataclass(frozen=True)
class Neediest:
    """Rows with the largest weighted loss to their nearest center."""

    frame: Frame
    centers: Floats

    def __call__(self, piece: Piece) -> Needy:
        """The neediest rows of a piece."""
        engine = self.frame.on(piece)
        needs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
        if len(self.centers):
            engine.lower(needs, self.centers)
        weights = engine.data.weights_or_ones()
        needed = np.where(weights > 0, needs, 0) * weights
        largest = float(needed.max())
        alike = np.flatnonzero(needed == largest) if largest > 0 else np.array([], dtype=np.intp)
        return Needy(largest, engine.take(_thinned(alike)) if len(alike) else engine.take(alike))


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

    frame: Frame
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
            rows = np.asarray(rows).astype(self.frame.dtype)
        return Taken((rows,), (None if weights is None else weights[places],))
