"""The protocol of an engine, and of the outputs that it computes for each row.

There are two kinds. A resident engine has all rows in memory. A chunked engine (``chunked.py``)
passes over one chunk after the other, here or on other machines, and adds up the results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato._data import Data
from sfumato._engines.tails import Tails
from sfumato._origin import far_from_origin
from sfumato._problem import Assignment, Problem, Statistics
from sfumato._sampling import PrioritySample, draw, fixed_draw, lightweight_coreset, ranking
from sfumato._typing import Floats
from sfumato.losses import Squared
from sfumato.memberships import Hard

SORTED_ROWS = 1 << 15
"""Rows that are sorted to draw samples; of more, this many are drawn first. Chosen by hand."""
KEPT_SHARE = 5
"""Fixed samples of at most this fraction of the rows are kept: a fit asks for the same ones several
times, and its memory stays within a fifth of the data. Chosen by hand."""
CANDIDATES = 32
"""Rows of equal, largest loss that are compared by the total cost that each would leave as a
center. Chosen by hand; each costs one column of ``candidate_costs``."""


@dataclass(frozen=True)
class Output(ABC):
    """Values for each row, at some centers."""

    centers: Floats

    name: ClassVar[str] = "value"
    """Header of a column of these values."""
    sparse: ClassVar[bool] = False
    """Whether the values are a csr_array."""
    uses_memberships: ClassVar[bool] = False
    """Whether the values are made from the memberships of an assignment."""

    def __call__(self, engine: ResidentEngine) -> Any:
        """Values for the rows of an engine."""
        return evaluate([self], engine)[0]

    @abstractmethod
    def of(self, rows: Evaluation) -> Any:
        """Values for the rows of an engine."""

    def dtype(self, precision: np.dtype[np.floating]) -> np.dtype[Any]:
        """Type of the values for data of the given precision."""
        return precision

    @property
    def n_columns(self) -> int | None:
        """Values per row; None if the result has one dimension."""
        return None


class Evaluation:
    """Rows of an engine, for outputs that share assignments and scaled distances.

    Parameters
    ----------
    engine : ResidentEngine
    memberships : bool
        Whether assignments have memberships.
    """

    def __init__(self, engine: ResidentEngine, memberships: bool) -> None:
        self.engine = engine
        self._memberships = memberships
        self._assigned: list[tuple[Floats, Assignment]] = []
        self._scaled: list[tuple[Floats, Floats, Floats]] = []

    def assign(self, centers: Floats) -> Assignment:
        """Assignment at some centers, computed once."""
        for known, assignment in self._assigned:
            if np.array_equal(known, centers):
                return assignment
        found = self.engine.assign(centers, memberships=self._memberships)
        self._assigned.append((centers, found))
        return found

    def scaled_distances(self, centers: Floats, units: Floats) -> Floats:
        """Smallest distance to a center over its unit, computed once; see ``ResidentEngine``."""
        for known, known_units, distances in self._scaled:
            if np.array_equal(known, centers) and np.array_equal(known_units, units):
                return distances
        found = self.engine.scaled_distances(centers, units)
        self._scaled.append((centers, units, found))
        return found


def evaluate(outputs: Sequence[Output], engine: ResidentEngine) -> list[Any]:
    """Values of several outputs for the rows of an engine."""
    rows = Evaluation(engine, any(output.uses_memberships for output in outputs))
    return [output.of(rows) for output in outputs]


class Engine(ABC):
    """Passes over some data for some problem.

    All centers that go in or come out are float64 in the coordinates of the user's data. For given
    data and centers, results do not depend on the number of threads.
    """

    data: Any
    problem: Problem
    n_threads: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        found: int = self.data.n_rows
        return found

    @property
    def n_features(self) -> int:
        """Number of features."""
        found: int = self.data.n_features
        return found

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """Precision of the computation and of its results."""
        found: np.dtype[np.floating] = self.data.dtype
        return found

    @property
    def origin(self) -> Floats:
        """Point from which coordinates are measured inside a pass."""
        found: Floats = self.data.origin
        return found

    @abstractmethod
    def sweep(self, centers: Floats) -> Statistics:
        """One pass: statistics at the given centers."""

    @abstractmethod
    def assign(
        self, centers: Floats, *, distances: bool = False, memberships: bool = True
    ) -> Assignment:
        """Labels of all rows, with distances to the nearest center and memberships if chosen."""

    @abstractmethod
    def map(self, output: Output) -> Any:
        """Values of the output for all rows."""

    @abstractmethod
    def mean(self, output: Output) -> float:
        """Weighted mean over the rows of an output of one dimension."""

    @abstractmethod
    def worst_fitted_rows(self, centers: Floats, count: int) -> Floats:
        """At most ``count`` rows with the largest weighted loss, chosen one after the other.

        Each is the row with the largest weighted loss to its nearest center, those chosen before
        included. Ties, common beyond the cutoff of a bounded loss, are broken by the total loss: up
        to ``CANDIDATES`` tied rows are tried as a center, and the best is taken.
        """

    @abstractmethod
    def subsample(self, max_rows: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on at most ``max_rows`` rows of positive weight.

        If there are more, rows are drawn in proportion to their weights: 3 is like 3 copies.
        """

    @abstractmethod
    def coreset(self, n_clusters: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on all rows, or on a weighted coreset, to choose seeds from."""

    @abstractmethod
    def fixed_sample(self, size: int) -> ResidentEngine:
        """Return an engine on about ``size`` rows of positive weight, the same in every call.

        All rows, if there are no more.
        """

    @abstractmethod
    def with_problem(self, problem: Problem) -> Engine:
        """Return the engine for another problem on the same data."""


class ResidentEngine(Engine):
    """Passes over rows in memory, or mapped into it.

    Beside the passes of a fit it has what seeding, tuning and outlier scores use: distances, costs
    of each row, rows by their number.

    Parameters
    ----------
    data : Data
    problem : Problem
    n_threads : int
    """

    def __init__(self, data: Data, problem: Problem, n_threads: int) -> None:
        self.data = data
        self.problem = problem
        self.n_threads = n_threads
        # Shared by engines on the same data, whatever the problem.
        self._order: list[NDArray[np.integer]] = []
        self._samples: dict[int, ResidentEngine] = {}

    @abstractmethod
    def distances(self, centers: Floats) -> Floats:
        """Distances of all rows to all centers, in the precision of the data."""

    @abstractmethod
    def scaled_distances(self, centers: Floats, units: Floats) -> Floats:
        """Smallest distance of each row to any center, each divided by that center's unit.

        ``units`` are positive float64. The result has the precision of the data.
        """

    @abstractmethod
    def rarity(self, centers: Floats, tails: Tails) -> Floats:
        """How rare rows are, float64; see ``Tails.rarity``."""

    @abstractmethod
    def mean_shift(self, points: Floats, mass: float) -> tuple[Floats, Floats]:
        """Mean of the rows nearest to each point, of a weight ``mass``, and their radius."""

    @abstractmethod
    def update_costs(self, costs: Floats, centers: Floats) -> None:
        """Lower costs in place to the smallest loss to any center, in the precision of the data."""

    @abstractmethod
    def candidate_costs(
        self, costs: Floats, candidates: Floats, losses: Floats | None = None
    ) -> Floats:
        """Weighted total of the costs if each candidate alone were added to the centers.

        ``losses``, (n_rows, n_candidates) in the precision of the data, is filled if given.
        """

    def take(self, index: NDArray[np.integer]) -> Floats:
        """Chosen rows, dense float64."""
        return self.data.dense(index)

    def map(self, output: Output) -> Any:
        return output(self)

    def mean(self, output: Output) -> float:
        values = output(self).astype(np.float64)
        return float(np.average(values, weights=self.data.weights_or_ones()))

    def worst_fitted_rows(self, centers: Floats, count: int) -> Floats:
        costs = np.full(self.n_rows, np.inf, dtype=self.dtype)
        if len(centers):
            self.update_costs(costs, centers)
        weights = self.data.weights_or_ones()
        chosen = np.empty((count, self.n_features))
        for number in range(count):
            weighted = np.where(weights > 0, costs, 0) * weights
            if not weighted.any():
                return chosen[:number]  # Every row lies on a center already.
            chosen[number] = self._worst_row(costs, weighted)
            self.update_costs(costs, chosen[[number]])
        return chosen

    def _worst_row(self, costs: Floats, weighted: Floats) -> Floats:
        """Row of the largest weighted cost; of several, the one that leaves the least total cost.

        If there are more than ``CANDIDATES``, that many are tried, evenly spaced in ``order``.
        """
        worst = np.flatnonzero(weighted == weighted.max())
        if len(worst) == 1:
            return self.take(worst)[0]
        ordered = self.order()[np.isin(self.order(), worst)]
        candidates = self.take(ordered[:: -(-len(ordered) // CANDIDATES)])
        best: Floats = candidates[int(np.argmin(self.candidate_costs(costs, candidates)))]
        return best

    def with_problem(self, problem: Problem) -> ResidentEngine:
        return self._sharing(type(self)(self.data, problem, self.n_threads))

    def _sharing(self, engine: Any) -> Any:
        """Engine on the same data, which shares what was found of them."""
        engine._order, engine._samples = self._order, self._samples
        return engine

    def order(self) -> NDArray[np.integer]:
        """Rows by their distance from the central row, computed once.

        Draws that go by this order do not depend on the order in which the rows came, nor on an
        offset, a scale or a rotation of the data.
        """
        if not self._order:
            self._order.append(ranking(self.distances(self.central_row()[None])[:, 0]))
        return self._order[0]

    def central_row(self) -> Floats:
        """Weighted mean of the rows, without those that are very far from all others."""
        start = self.data.origin[None]
        hard = self.with_problem(Problem(Squared(), Hard()))
        distances = self.distances(start)[:, 0]
        limit = far_from_origin(distances, self.data.weights)
        if distances.max(initial=0) > limit:
            weights = np.where(distances <= limit, self.data.weights_or_ones(), 0.0)
            hard = hard._weighted(weights)
        return hard.sweep(start).centers(start)[0]

    def _weighted(self, weights: Floats) -> ResidentEngine:
        """Engine on the same rows with other weights."""
        return self._on(replace(self.data, weights=weights))

    def only(self, index: slice | NDArray[np.integer]) -> ResidentEngine:
        """Return an engine on some of the rows."""
        return self._on(self.data.take(index))

    def subsample(self, max_rows: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on at most ``max_rows`` rows of positive weight.

        If there are more, they are drawn in proportion to their weights, with replacement; the
        weights of the sample are equal. Of very many rows, a fixed sample is drawn from.
        """
        source = self.fixed_sample(max(SORTED_ROWS, max_rows))
        if source is not self:
            return source.subsample(max_rows, rng)
        weights = self.data.weights
        positive = None if weights is None else np.flatnonzero(weights > 0)
        count = self.n_rows if positive is None else len(positive)
        if count > max_rows:
            return self.resample(max_rows, rng)
        return self if positive is None or count == self.n_rows else self.only(positive)

    def resample(self, count: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on rows drawn with replacement by weight, all of weight one."""
        drawn = np.sort(draw(self.data.weights_or_ones(), self.order(), count, rng))
        return self._on(replace(self.data.take(drawn), weights=None))

    def coreset(self, n_clusters: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return the engine itself: all rows are in memory."""
        return self

    def nested_coresets(
        self, sizes: Sequence[int], rng: np.random.RandomState
    ) -> list[ResidentEngine]:
        """Return engines on weighted coresets of ascending sizes, each within the next.

        They are lightweight coresets [1]_ by the loss of the problem: half of the chance to be
        drawn is the same for all rows, and half is in proportion to their losses to the middle of
        the data. So a few far rows, which may be most of the objective, are in every coreset, with
        a small weight. Weights are 1 on average.

        References
        ----------
        .. [1] O. Bachem, M. Lucic, A. Krause, "Scalable k-means clustering via lightweight
           coresets", KDD 2018.
        """
        losses = np.full(self.n_rows, np.inf, dtype=self.dtype)
        self.update_costs(losses, self.data.origin[None])
        drawn = lightweight_coreset(losses, self.data.weights, sizes[-1], rng)
        return [self._on_coreset(drawn.fewer(size)) for size in sizes]

    def _on_coreset(self, sample: PrioritySample) -> ResidentEngine:
        rows, weights = sample.weighted_rows()
        scaled = None if weights is None else weights / weights.mean()
        return self._on(replace(self.data.take(rows), weights=scaled))

    def fixed_sample(self, size: int) -> ResidentEngine:
        weights = self.data.weights
        positive = None if weights is None else np.flatnonzero(weights > 0)
        count = self.n_rows if positive is None else len(positive)
        if count <= size:
            return self
        if size in self._samples:
            return self._samples[size].with_problem(self.problem)
        drawn = fixed_draw(count, size)
        sample = self.only(drawn if positive is None else positive[drawn])
        if size * KEPT_SHARE <= self.n_rows:
            self._samples[size] = sample
        return sample

    def _on(self, data: Data) -> ResidentEngine:
        """Engine of the same kind on other data."""
        return type(self)(data, self.problem, self.n_threads)
