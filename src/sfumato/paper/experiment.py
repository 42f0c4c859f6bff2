"""The experiment: which cells there are, how one is run, and what the paper printed for it.

A cell is a method on a data set from a seed. A grid cell is REFCMFS with other parameters than the
paper's.
"""

from __future__ import annotations

import time
import tomllib
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from sfumato.datasets import load
from sfumato.metrics import clustering_accuracy, nmi
from sfumato.paper import store
from sfumato.paper.methods import FUZZIFIER, METHODS, Task

SETS = ("orl", "yale", "coil20", "usps", "yaleb", "coil100")
"""Data sets, in the order of the paper's tables."""
GRID_METHOD = "REFCMFS"
FUZZIFIERS = (1.1, 1.2, 1.3, 1.4, 1.5)
"""Values of r in the grid."""
LARGE = ("usps", "yaleb", "coil100")
"""Sets with a coarser grid and fewer seeds, to save time."""
GRID_POINTS, GRID_POINTS_LARGE, GRID_POINTS_QUICK = 9, 4, 4
"""Values of K~ between 2 and c - 1, besides the paper's own. Chosen by hand, to save time."""
GRID_RUNS_LARGE, GRID_RUNS_QUICK = 3, 2
"""Seeds per grid cell. Chosen by hand, to save time."""
STAND_IN = " (stand-in)"
"""Suffix of a set whose images are not those of the paper: it is not compared with the paper."""
DIGITS = "digits"
"""A set that is always there: scikit-learn has it."""
QUICK_SETS = ("yale", "orl", DIGITS)
QUICK_RUNS, RUNS = 3, 10
"""Seeds per method and set. Chosen by hand."""
DEFAULT_ACTIVE = 5
"""Memberships per row, K~, where the paper gives none: the default of the estimators."""


class Printed(NamedTuple):
    """A printed mean and standard deviation, in percent."""

    mean: float
    deviation: float


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "expected.toml").read_text(encoding="utf-8"))


def printed(method: str, measure: str, data: str) -> Printed | None:
    """Printed ACC or NMI of a method on a data set; None if the paper has none.

    Parameters
    ----------
    method : str
        Name of the method in the paper.
    measure : {"acc", "nmi"}
    data : str
        Name of a data set.
    """
    rows = _tables()["methods"].get(method, {})
    if measure not in rows or data not in SETS:
        return None
    return Printed(*rows[measure][SETS.index(data)])


def printed_seconds(method: str, data: str) -> float | None:
    """Printed run time of a method on the authors' machine; None if the paper has none."""
    rows = _tables()["methods"].get(method, {})
    if "seconds" not in rows or data not in SETS:
        return None
    return float(rows["seconds"][SETS.index(data)])


def printed_active(data: str) -> int | None:
    """Memberships per row, K~, that the paper chose for a data set; None if it has none."""
    found = _tables()["n_active"].get(data)
    return None if found is None else int(found)


class Parameters(NamedTuple):
    """K~, r, and the number of starts of which the best is kept."""

    n_active: int
    fuzzifier: float
    starts: int = 1


def paper_parameters(data: str, n_clusters: int) -> Parameters:
    """K~ and r of the paper; ``DEFAULT_ACTIVE`` memberships for other data."""
    return Parameters(printed_active(data) or min(DEFAULT_ACTIVE, n_clusters), FUZZIFIER)


@dataclass(frozen=True)
class Cell:
    """A method on a data set from a seed, with parameters if they are not the paper's."""

    data: str
    method: str
    seed: int
    parameters: Parameters | None = None

    def __str__(self) -> str:
        return f"{self.method} on {self.data}, seed {self.seed}"

    @property
    def kind(self) -> Hashable:
        """All but the seed."""
        return self.data, self.method, self.parameters

    @property
    def group(self) -> Hashable:
        """Data set and method: they determine the time of a start."""
        return self.data, self.method

    @property
    def work(self) -> int:
        """Number of starts."""
        return 1 if self.parameters is None else self.parameters.starts

    def record(self) -> dict[str, Any]:
        """Fields by name; those of the parameters among them."""
        found = {"data": self.data, "method": self.method, "seed": self.seed}
        return found if self.parameters is None else found | self.parameters._asdict()

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> Self:
        """Inverse of ``record``."""
        parameters = None
        if "n_active" in record:
            parameters = Parameters(*(record[name] for name in Parameters._fields))
        return cls(record["data"], record["method"], record["seed"], parameters)

    def task(self, n_clusters: int) -> Task:
        """Parameters of the method for this cell."""
        parameters = self.parameters or paper_parameters(self.data, n_clusters)
        return Task(n_clusters, self.seed, *parameters)


Run: TypeAlias = store.Run[Cell]
"""A finished cell. Its measures:

- acc, nmi: between 0 and 1; the entropy that divides NMI is the larger one, as in the paper
- objective: of methods that have one
- spread: mean distance of the rows to the mean of their cluster, which involves no class
"""
Store: TypeAlias = store.Store[Cell]


class Sample(NamedTuple):
    """A data set with its true classes."""

    X: NDArray[np.floating]
    y: NDArray[np.integer]

    @property
    def n_clusters(self) -> int:
        """Number of classes, which every method gets as its number of clusters."""
        return len(np.unique(self.y))


@cache
def sample_of(data: str) -> Sample:
    """Rows and classes of a data set, or of its stand-in; "digits" is scikit-learn's."""
    if data == DIGITS:
        X, y = load_digits(return_X_y=True)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if data.endswith(STAND_IN) else "default")
            X, y = load(data.removesuffix(STAND_IN), return_X_y=True)
    return Sample(np.ascontiguousarray(X, dtype=np.float64), y)


def run_cell(cell: Cell) -> Run:
    """Fit in one thread, without the classes, and measure the labels."""
    sample = sample_of(cell.data)
    model = METHODS[cell.method].make(cell.task(sample.n_clusters))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        labels = np.asarray(model.fit_predict(sample.X))
        seconds = time.perf_counter() - began
    measures = {
        "acc": clustering_accuracy(sample.y, labels),
        "nmi": nmi(sample.y, labels, average="max"),
        "spread": spread(sample.X, labels),
    }
    if hasattr(model, "objective_"):
        measures["objective"] = float(model.objective_)
    return Run(cell, seconds, measures)


def spread(X: NDArray[np.floating], labels: NDArray[np.integer]) -> float:
    """Mean distance of the rows to the mean of their cluster."""
    _, members = np.unique(labels, return_inverse=True)
    rows = np.arange(len(X) + 1)
    belongs = csr_array((np.ones(len(X)), members, rows)).T
    means = (belongs @ X) / belongs.sum(axis=1)[:, None]
    return float(np.linalg.norm(X - means[members], axis=1).mean())


@dataclass(frozen=True)
class Experiment:
    """Data sets, methods and seeds of the tables.

    Parameters
    ----------
    sets : sequence of str
        Data sets, of the paper's and "digits".
    methods : sequence of str
        Names of ``METHODS``.
    runs : int
        Seeds per method and set.
    quick : bool
        Whether the grid is small.
    named : bool
        Whether the user has named the data sets.
    missing : sequence of str
        Data sets that could not be had, and were left out.
    """

    sets: Sequence[str] = SETS
    methods: Sequence[str] = tuple(METHODS)
    runs: int = RUNS
    quick: bool = False
    named: bool = False
    missing: Sequence[str] = ()

    def cells(self) -> list[Cell]:
        """Cells of the tables and of the grid, seed by seed, so that all rows grow together."""
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
        """Cells with parameters that were chosen in the grid, for all seeds."""
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
