"""Passes over chunks of the data, whose results add up.

A pass is a small object that is called with a chunk and returns something with ``+``. Passes and
their results can be pickled, so that a pass may run in another process or on another machine.
Random draws are seeded by the number of the chunk: the same chunks give the same draws everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import Chunk, Data
from sfumato._engines.base import CANDIDATES, Output, ResidentEngine, evaluate
from sfumato._inspection import check_range, summarize_range
from sfumato._problem import Assignment, Problem, Statistics
from sfumato._sampling import PrioritySample
from sfumato._typing import Floats

SWEEP = "measuring the result"
"""Description of a sweep. A progress bar that counts iterations recognizes their sweeps by it."""
DRAWING = "drawing rows"
MOVING = "moving an empty cluster"
COUNTING = "counting the rows of clusters"


class Pass(Protocol):
    """Function of a chunk, whose results add up over chunks."""

    description: ClassVar[str]
    """Purpose of the pass, for a progress bar."""

    def __call__(self, chunk: Chunk) -> Any:
        """Result of a chunk; it must have ``+``."""


@dataclass(frozen=True)
class EngineSpec:
    """What an engine on a chunk is made of: its type, problem, precision, origin, threads."""

    engine: type[ResidentEngine]
    problem: Problem
    dtype: np.dtype[np.floating]
    origin: Floats
    n_threads: int

    def on(self, chunk: Chunk) -> ResidentEngine:
        """Engine on a chunk."""
        data = Data(chunk.rows, chunk.weights, self.dtype, self.origin)
        return self.engine(data, self.problem, self.n_threads)

    def same_as(self, other: EngineSpec) -> bool:
        """Whether the engines of both give the same results."""
        mine, others = (
            (each.engine, each.problem, each.dtype, each.n_threads) for each in (self, other)
        )
        return mine == others and np.array_equal(self.origin, other.origin)


@dataclass(frozen=True)
class Sweep:
    """Statistics at given centers."""

    spec: EngineSpec
    centers: Floats

    description: ClassVar[str] = SWEEP

    def __call__(self, chunk: Chunk) -> Statistics:
        return self.spec.on(chunk).sweep(self.centers)


@dataclass(frozen=True)
class Map:
    """An output for each row of a chunk; results of chunks are not added."""

    spec: EngineSpec
    output: Output


def map_chunk(maps: Sequence[Map], chunk: Chunk, where: Callable[[int, int], str]) -> list[Any]:
    """Values of several maps for a chunk that was not inspected.

    Raises if a value is not finite or too large; ``where`` describes the place of a row and a
    column. The chunk is checked once, and maps of the same specification share one engine and one
    assignment.
    """
    first = maps[0].spec
    if not all(each.spec.same_as(first) for each in maps[1:]):
        return [value for each in maps for value in map_chunk([each], chunk, where)]
    found = summarize_range(chunk.rows)
    bad = found.bad
    place = None if bad is None else where(bad.row, bad.column)
    check_range(found, first.origin, first.dtype, where=place)
    return evaluate([each.output for each in maps], first.on(chunk))


@dataclass(frozen=True)
class DrawSample:
    """Priority sample in proportion to weights, or to weights times costs at some anchors.

    Parameters
    ----------
    spec : EngineSpec
    count : int
        Rows to draw.
    seed : int
    anchors : ndarray or None, default=None
        The cost of a row is its loss to the nearest of these points; None draws by weight alone.
    average : float, default=0
        Average cost, which is added to that of every row, so that all rows can be drawn.
    """

    spec: EngineSpec
    count: int
    seed: int
    anchors: Floats | None = None
    average: float = 0.0

    description: ClassVar[str] = DRAWING

    def __call__(self, chunk: Chunk) -> PrioritySample:
        engine = self.spec.on(chunk)
        costs: Floats | None = None
        if self.anchors is not None:
            costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
            engine.update_costs(costs, self.anchors)
        return self.by_cost(engine, chunk.number, costs)

    def by_cost(self, engine: ResidentEngine, number: int, costs: Floats | None) -> PrioritySample:
        """Sample of the rows of an engine, chunk ``number``, by their costs."""
        weights = np.array(engine.data.weights_or_ones())
        measures = weights
        if costs is not None:
            measures = weights * (costs.astype(np.float64) + self.average)
        rng = np.random.default_rng([self.seed, number])
        rows = engine.data.rows
        if engine.data.is_sparse:
            return PrioritySample.of(self.count, rows, weights, measures, rng)
        # Chunks may differ in dtype. Only the rows that are drawn are converted.
        kept = PrioritySample.of(self.count, np.arange(len(weights)), weights, measures, rng)
        return replace(kept, rows=np.asarray(rows[kept.rows]).astype(engine.dtype))


@dataclass(frozen=True)
class CoresetSample:
    """Rows drawn for a coreset, and the total weight of the rows nearest to each anchor."""

    drawn: PrioritySample
    masses: Floats

    def __add__(self, other: CoresetSample) -> CoresetSample:
        return CoresetSample(self.drawn + other.drawn, self.masses + other.masses)

    @classmethod
    def trimmed(cls, samples: Sequence[CoresetSample]) -> list[CoresetSample]:
        """Samples to be added, without rows that cannot be in their sum."""
        draws = PrioritySample.trimmed([sample.drawn for sample in samples])
        return [replace(one, drawn=drawn) for one, drawn in zip(samples, draws, strict=True)]


@dataclass(frozen=True)
class DrawCoreset:
    """Draw by weight and cost, and the total weight of the rows nearest to each anchor."""

    draw: DrawSample

    description: ClassVar[str] = DRAWING

    def __call__(self, chunk: Chunk) -> CoresetSample:
        anchors = self.draw.anchors
        assert anchors is not None
        engine = self.draw.spec.on(chunk)
        found = engine.assign(anchors, distances=True, memberships=False)
        costs = engine.problem.loss.value(found.distances.astype(np.float64) ** 2)
        weights = engine.data.weights_or_ones()
        masses: Floats = np.bincount(found.labels, weights, len(anchors)).astype(np.float64)
        return CoresetSample(self.draw.by_cost(engine, chunk.number, costs), masses)


@dataclass(frozen=True)
class Total:
    """A number or an array that adds."""

    value: Any

    def __add__(self, other: Total) -> Total:
        return Total(self.value + other.value)


@dataclass(frozen=True)
class WeightedSum:
    """Sum over the rows of their weights times an output of one dimension, and of the weights."""

    spec: EngineSpec
    output: Output

    description: ClassVar[str] = SWEEP

    def __call__(self, chunk: Chunk) -> Total:
        engine = self.spec.on(chunk)
        weights = engine.data.weights_or_ones()
        values = self.output(engine).astype(np.float64)
        return Total(np.array([weights @ values, weights.sum()]))


@dataclass(frozen=True)
class Cost:
    """Total loss to the nearest anchor, if each candidate alone were one more anchor."""

    spec: EngineSpec
    anchors: Floats
    candidates: Floats

    description: ClassVar[str] = MOVING

    def __call__(self, chunk: Chunk) -> Total:
        engine = self.spec.on(chunk)
        costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
        if len(self.anchors):
            engine.update_costs(costs, self.anchors)
        return Total(engine.candidate_costs(costs, self.candidates))


def rows_within_cutoff(
    engine: ResidentEngine, assignment: Assignment, n_clusters: int
) -> NDArray[np.integer]:
    """Rows of positive weight nearest to each center and nearer than the cutoff of the loss."""
    near = assignment.distances < engine.problem.loss.cutoff
    near &= engine.data.weights_or_ones() > 0
    return np.bincount(assignment.labels[near], minlength=n_clusters)


@dataclass(frozen=True)
class CountRows:
    """Rows of each cluster; see ``rows_within_cutoff``."""

    spec: EngineSpec
    centers: Floats

    description: ClassVar[str] = COUNTING

    def __call__(self, chunk: Chunk) -> Total:
        engine = self.spec.on(chunk)
        found = engine.assign(self.centers, distances=True, memberships=False)
        return Total(rows_within_cutoff(engine, found, len(self.centers)))


@dataclass(frozen=True)
class WorstRows:
    """Largest weighted loss of a row, and up to ``CANDIDATES`` rows that have it."""

    loss: float
    rows: Floats

    def __add__(self, other: WorstRows) -> WorstRows:
        if self.loss != other.loss:
            return self if self.loss > other.loss else other
        return WorstRows(self.loss, _thinned(np.concatenate([self.rows, other.rows])))


def _thinned(rows: Any) -> Any:
    """At most ``CANDIDATES`` of the rows, evenly spaced."""
    return rows[:: max(1, -(-len(rows) // CANDIDATES))]


@dataclass(frozen=True)
class FindWorstRows:
    """Rows with the largest weighted loss to their nearest center."""

    spec: EngineSpec
    centers: Floats

    description: ClassVar[str] = MOVING

    def __call__(self, chunk: Chunk) -> WorstRows:
        engine = self.spec.on(chunk)
        costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
        if len(self.centers):
            engine.update_costs(costs, self.centers)
        weights = engine.data.weights_or_ones()
        weighted = np.where(weights > 0, costs, 0) * weights
        largest = float(weighted.max())
        worst = np.flatnonzero(weighted == largest) if largest > 0 else np.array([], dtype=np.intp)
        return WorstRows(largest, engine.take(_thinned(worst)))


@dataclass(frozen=True)
class Taken:
    """Chosen rows of each chunk, with their weights."""

    rows: tuple[Any, ...] = ()
    weights: tuple[Floats | None, ...] = ()

    def __add__(self, other: Taken) -> Taken:
        return Taken(self.rows + other.rows, self.weights + other.weights)


@dataclass(frozen=True)
class Take:
    """Rows with the given indices, counting only rows of positive weight across all chunks."""

    spec: EngineSpec
    wanted: NDArray[np.integer]
    offsets: NDArray[np.integer] = field(repr=False)
    """Rows of positive weight before each chunk, and in all."""

    description: ClassVar[str] = DRAWING

    def __call__(self, chunk: Chunk) -> Taken:
        begin, end = self.offsets[chunk.number], self.offsets[chunk.number + 1]
        first, last = np.searchsorted(self.wanted, [begin, end])
        places = self.wanted[first:last] - begin
        weights = chunk.weights
        if weights is not None:
            places = np.flatnonzero(weights > 0)[places]
        rows = chunk.rows[places]
        if not sp.issparse(rows):
            rows = np.asarray(rows).astype(self.spec.dtype)
        return Taken((rows,), (None if weights is None else weights[places],))
