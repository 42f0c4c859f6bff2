"""The protocol of an engine: what a fit asks of whoever passes over the data.

There are two kinds. A resident engine has all rows at hand; a chunked one (``chunked.py``) sees
them a piece at a time, here or elsewhere, and adds up what it learns of each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._data import Data
from sfumato._problem import Problem, Statistics
from sfumato._sampling import draw, fixed_draw, ranking
from sfumato._typing import Floats
from sfumato.losses import Squared
from sfumato.memberships import Hard

CANDIDATES = 32
"""Rows that are tried where many need a center equally."""


@dataclass(frozen=True)
class Assignment:
    """Where each row belongs. From a chunked engine, arrays are lazy and chunked as the rows are.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,), int32
        Nearest center; the lowest index wins a tie.
    distances : ndarray of shape (n_rows,) or None
        Distance to it, if wanted.
    memberships : csr_array of shape (n_rows, n_clusters) or None
        If wanted; sorted by center within a row. Rules with ``n_active`` store that many entries in
        every row, zeros included.
    objective : float
    """

    labels: Any
    distances: Any
    memberships: Any
    objective: float


@dataclass(frozen=True)
class Output(ABC):
    """A function of rows, at some centers."""

    centers: Floats

    name = "value"
    """Header of a column of it."""
    sparse = False
    """Whether it comes as CSR."""

    @abstractmethod
    def __call__(self, engine: ResidentEngine) -> Any:
        """Values for the rows of an engine."""

    def dtype(self, precision: np.dtype[np.floating]) -> np.dtype[Any]:
        """Type of the values for data of the given precision."""
        return precision

    @property
    def n_columns(self) -> int | None:
        """Values per row; None if the result has one dimension."""
        return None


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
        """Labels of all rows, with distances and memberships as wanted."""

    @abstractmethod
    def map(self, output: Output) -> Any:
        """What the output says of every row."""

    @abstractmethod
    def worst_fitted_rows(self, centers: Floats, count: int) -> Floats:
        """Rows that most need a center beside the given ones, one after the other, at most so many.

        Each is the row with the largest weighted loss to its nearest center, those chosen before
        included. Where many rows have it, as behind the cap of a bounded loss, the one of some of
        them that lowers the total most: an outlier lowers it by itself alone.
        """

    @abstractmethod
    def subsample(self, max_rows: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on at most ``max_rows`` rows of positive weight.

        Where there are more, each row is drawn as its weight says: a weight of 3 like 3 copies.
        """

    @abstractmethod
    def coreset(self, n_clusters: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on rows to choose seeds from: all, or some that stand for all."""

    @abstractmethod
    def fixed_sample(self, size: int) -> ResidentEngine:
        """Rows of positive weight drawn at random, the same ones each time; all, if few."""

    @abstractmethod
    def with_problem(self, problem: Problem) -> Engine:
        """Return the engine for another problem on the same data."""


class ResidentEngine(Engine):
    """Passes over rows at hand, in memory or mapped into it.

    Seeding, tuning and looking at clusters need more than the passes of a fit: distances, costs per
    row, rows by their number.

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
        self._order: list[NDArray[np.integer]] = []  # Shared by engines on the same data.

    @abstractmethod
    def distances(self, centers: Floats) -> Floats:
        """Distances of all rows to all centers, in the precision of the data."""

    @abstractmethod
    def scaled_distances(self, centers: Floats, units: Floats) -> Floats:
        """Smallest distance of each row to any center, each measured in that center's unit.

        ``units`` are positive float64. The result has the precision of the data.
        """

    @abstractmethod
    def update_costs(self, costs: Floats, centers: Floats) -> None:
        """Lower each row's cost, in place, to the smallest loss to any of the given centers.

        Costs have the precision of the data.
        """

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
        """What the output says of every row."""
        return output(self)

    def worst_fitted_rows(self, centers: Floats, count: int) -> Floats:
        """Rows that most need a center beside the given ones, at most so many."""
        needs = np.full(self.n_rows, np.inf, dtype=self.dtype)
        if len(centers):
            self.update_costs(needs, centers)
        weights = self.data.weights_or_ones()
        chosen = np.empty((count, self.n_features))
        for number in range(count):
            needed = np.where(weights > 0, needs, 0) * weights
            if not needed.any():
                return chosen[:number]  # Every row lies on a center already.
            chosen[number] = self._worst_row(needs, needed)
            self.update_costs(needs, chosen[[number]])
        return chosen

    def _worst_row(self, needs: Floats, needed: Floats) -> Floats:
        """The row that needs a center most; of many alike, the best of some."""
        alike = np.flatnonzero(needed == needed.max())
        if len(alike) == 1:
            return self.take(alike)[0]
        ordered = self.order()[np.isin(self.order(), alike)]
        candidates = self.take(ordered[:: -(-len(ordered) // CANDIDATES)])
        best: Floats = candidates[int(np.argmin(self.candidate_costs(needs, candidates)))]
        return best

    def with_problem(self, problem: Problem) -> ResidentEngine:
        """Return the engine for another problem on the same data."""
        engine = type(self)(self.data, problem, self.n_threads)
        engine._order = self._order
        return engine

    def order(self) -> NDArray[np.integer]:
        """Rows by their distance from the mean, found once.

        Draws that go by this order do not depend on the order in which the rows came, nor on an
        offset, a scale or a rotation of the data.
        """
        if not self._order:
            start = self.data.origin[None]
            mean = self.with_problem(Problem(Squared(), Hard())).sweep(start).centers(start)
            self._order.append(ranking(self.distances(mean)[:, 0]))
        return self._order[0]

    def subsample(self, max_rows: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on at most ``max_rows`` rows of positive weight.

        Where there are more, rows are drawn in proportion to their weights, with replacement, and
        then count alike.
        """
        weights = self.data.weights_or_ones()
        positive = np.flatnonzero(weights > 0)
        if len(positive) == self.n_rows <= max_rows:
            return self
        if len(positive) <= max_rows:
            return self._on(self.data.take(positive))
        drawn = np.sort(draw(weights, self.order(), max_rows, rng))
        return self._on(replace(self.data.take(drawn), weights=None))

    def coreset(self, n_clusters: int, rng: np.random.RandomState) -> ResidentEngine:
        """All rows: they are at hand."""
        return self

    def fixed_sample(self, size: int) -> ResidentEngine:
        """Rows of positive weight drawn at random, the same ones each time; all, if few."""
        weights = self.data.weights
        positive = None if weights is None else np.flatnonzero(weights > 0)
        count = self.n_rows if positive is None else len(positive)
        if count <= size:
            return self
        drawn = fixed_draw(count, size)
        return self._on(self.data.take(drawn if positive is None else positive[drawn]))

    def _on(self, data: Data) -> ResidentEngine:
        """Engine of the same kind on other data."""
        return type(self)(data, self.problem, self.n_threads)


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
    """Smallest distance to a center over the reach of its cluster, NaN radii left out."""

    radii: Floats

    name = "outlier_score"

    def __call__(self, engine: ResidentEngine) -> Floats:
        """Scores."""
        known = ~np.isnan(self.radii)
        return engine.scaled_distances(self.centers[known], self.radii[known])
