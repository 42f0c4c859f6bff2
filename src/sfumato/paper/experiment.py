"""Which cells the experiment has: methods, data sets, seeds, and the grid over K~ and r.

A grid cell is a run of REFCMFS with other parameters than the paper's.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from sfumato.datasets import load
from sfumato.paper.expected import FUZZIFIER, SETS, printed_active
from sfumato.paper.methods import METHODS, Task

GRID_METHOD = "REFCMFS"
FUZZIFIERS = (1.1, 1.2, 1.3, 1.4, 1.5)
LARGE = ("usps", "yaleb", "coil100")
"""Sets whose grid is coarser and has fewer seeds."""
GRID_POINTS, GRID_POINTS_LARGE, GRID_POINTS_QUICK = 9, 4, 4
"""Values of K~ between 2 and c - 1; the paper's own is one more."""
GRID_RUNS_LARGE, GRID_RUNS_QUICK = 3, 2
STAND_IN = " (stand-in)"
"""Ends the name of a set whose pictures are not those of the paper: no figure of it is compared."""
QUICK_SETS = ("yale", "orl", "digits")
QUICK_RUNS, RUNS = 3, 10
DEFAULT_ACTIVE = 5
"""Memberships per row where the paper says nothing."""


class Parameters(NamedTuple):
    """K~, r, and the number of starts of which the best is kept."""

    n_active: int
    fuzzifier: float
    starts: int = 1


@dataclass(frozen=True)
class Cell:
    """A run: a method on a data set from a seed, with parameters if they are not the paper's."""

    data: str
    method: str
    seed: int
    parameters: Parameters | None = None

    def task(self, n_clusters: int) -> Task:
        """What the method is set for."""
        parameters = self.parameters or paper_parameters(self.data, n_clusters)
        return Task(n_clusters, self.seed, *parameters)


class Sample(NamedTuple):
    """A data set with its true classes."""

    X: NDArray[np.floating]
    y: NDArray[np.integer]

    @property
    def n_clusters(self) -> int:
        """Number of classes, which every method is told."""
        return len(np.unique(self.y))


@cache
def sample_of(data: str) -> Sample:
    """Rows and classes of a data set, or of its stand-in; the digits are scikit-learn's."""
    if data == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if data.endswith(STAND_IN) else "default")
            X, y = load(data.removesuffix(STAND_IN), return_X_y=True)
    return Sample(np.ascontiguousarray(X, dtype=np.float64), y)


def paper_parameters(data: str, n_clusters: int) -> Parameters:
    """K~ and r of the paper; a few memberships for other data."""
    return Parameters(printed_active(data) or min(DEFAULT_ACTIVE, n_clusters), FUZZIFIER)


@dataclass(frozen=True)
class Experiment:
    """What is compared, and how often.

    Parameters
    ----------
    sets : sequence of str
        Data sets, of the paper's and "digits".
    methods : sequence of str
        Names of ``METHODS``.
    runs : int
        Seeds per method and set.
    quick : bool
        Whether the grid is only a taste.
    """

    sets: Sequence[str] = SETS
    methods: Sequence[str] = tuple(METHODS)
    runs: int = RUNS
    quick: bool = False

    def cells(self) -> list[Cell]:
        """Runs of the tables, and those of the grid; seed after seed, so that all rows grow."""
        return [*self._table(), *self._grid()]

    def _table(self) -> list[Cell]:
        return [
            Cell(data, method, seed)
            for seed in range(self.runs)
            for data in self.sets
            for method in self.methods
            if METHODS[method].random or seed == 0
        ]

    def _grid(self) -> list[Cell]:
        if GRID_METHOD not in self.methods:
            return []
        return [
            Cell(data, GRID_METHOD, seed, parameters)
            for seed in range(self.runs)
            for data in self.sets
            if seed < self.grid_runs(data)
            for parameters in self.grid(data)
        ]

    def chosen(self, data: str, parameters: Parameters) -> list[Cell]:
        """Runs with parameters that were chosen in the grid, from all seeds."""
        return [Cell(data, GRID_METHOD, seed, parameters) for seed in range(self.runs)]

    def grid_runs(self, data: str) -> int:
        """Seeds per cell of the grid."""
        few = GRID_RUNS_QUICK if self.quick else GRID_RUNS_LARGE if data in LARGE else self.runs
        return min(few, self.runs)

    def grid(self, data: str) -> list[Parameters]:
        """Cells of the grid: K~ over 2..c-1 in equal steps, rounded, and the paper's; all r."""
        large = GRID_POINTS_LARGE if data in LARGE else GRID_POINTS
        n_clusters = sample_of(data).n_clusters
        active = np.linspace(2, n_clusters - 1, GRID_POINTS_QUICK if self.quick else large)
        paper = paper_parameters(data, n_clusters).n_active
        return [
            Parameters(int(n_active), fuzzifier)
            for n_active in np.unique([*np.rint(active).astype(int), paper])
            for fuzzifier in FUZZIFIERS
        ]
