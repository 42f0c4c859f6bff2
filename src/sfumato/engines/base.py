"""The protocol of an engine, and what an assignment holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato.data import Data, draw, ranking
from sfumato.problem import Hard, Problem, Squared
from sfumato.solve.statistics import Statistics

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Assignment:
    """Where each row belongs.

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

    labels: NDArray[np.int32]
    distances: Floats | None
    memberships: sp.csr_array | None
    objective: float


class Engine(ABC):
    """Passes over some data for some problem.

    All centers that go in or come out are float64 in the coordinates of the user's data. For given
    data and centers, results do not depend on the number of threads.

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

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.data.n_rows

    @abstractmethod
    def sweep(self, centers: Floats) -> Statistics:
        """One pass: statistics at the given centers."""

    @abstractmethod
    def assign(
        self, centers: Floats, *, distances: bool = False, memberships: bool = True
    ) -> Assignment:
        """Labels of all rows, with distances and memberships as wanted."""

    @abstractmethod
    def distances(self, centers: Floats) -> Floats:
        """Distances of all rows to all centers, in the precision of the data."""

    @abstractmethod
    def relative(self, centers: Floats, units: Floats) -> Floats:
        """Smallest distance of each row to any center, each measured in that center's unit.

        ``units`` are positive float64. The result has the precision of the data.
        """

    @abstractmethod
    def lower(self, costs: Floats, centers: Floats) -> None:
        """Lower each row's cost, in place, to the smallest loss to any of the given centers.

        Costs have the precision of the data.
        """

    @abstractmethod
    def potentials(self, costs: Floats, candidates: Floats, losses: Floats | None = None) -> Floats:
        """Weighted total of the costs if each candidate alone were added to the centers.

        ``losses``, (n_rows, n_candidates) in the precision of the data, is filled if given.
        """

    def take(self, index: NDArray[np.integer]) -> Floats:
        """Chosen rows, dense float64."""
        return self.data.dense(index)

    def with_problem(self, problem: Problem) -> Engine:
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

    def sampled(self, max_rows: int, rng: np.random.RandomState) -> Engine:
        """Return an engine on at most ``max_rows`` rows of positive weight.

        Where there are more, rows are drawn in proportion to their weights, with replacement, and
        then count alike: a weight of 3 is drawn like 3 copies.
        """
        weights = self.data.weights_or_ones()
        positive = np.flatnonzero(weights > 0)
        if len(positive) == self.n_rows <= max_rows:
            return self
        if len(positive) <= max_rows:
            sample = self.data.take(positive)
        else:
            drawn = np.sort(draw(weights, self.order(), max_rows, rng))
            sample = replace(self.data.take(drawn), weights=None)
        return type(self)(sample, self.problem, self.n_threads)
