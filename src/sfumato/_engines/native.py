"""The compiled engine: the same passes as ``reference.py``, fused and threaded.

Everything is computed in the precision of the data and summed in double. Work is cut into strips by
the shape of the data, so that results are the same bits for any number of threads.
"""

from __future__ import annotations

import inspect
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sfumato._data import Data
from sfumato._engines.base import Assignment, ResidentEngine
from sfumato._native import core
from sfumato._problem import Problem, Statistics
from sfumato._typing import Floats


class NativeEngine(ResidentEngine):
    """C++ and OpenMP, in memory or memory-mapped."""

    def __init__(
        self, data: Data, problem: Problem, n_threads: int, rows: Any | None = None
    ) -> None:
        super().__init__(data, problem, n_threads)
        self._rows = _native_rows(data) if rows is None else rows

    @cached_property
    def _loss(self) -> Any:
        return twin(self.problem.loss)

    @cached_property
    def _membership(self) -> Any:
        return twin(self.problem.membership)

    def with_problem(self, problem: Problem) -> NativeEngine:
        """Return the engine for another problem on the same data."""
        engine = NativeEngine(self.data, problem, self.n_threads, self._rows)
        engine._order = self._order
        return engine

    def sweep(self, centers: Floats) -> Statistics:
        """One pass: statistics at the given centers."""
        pull, weight, kink_force = (
            np.empty(centers.shape),
            np.empty(len(centers)),
            np.empty(len(centers)),
        )
        objective = core.sweep(*self._pass(centers), pull, weight, kink_force)
        return Statistics(pull, weight, kink_force, objective)

    def assign(
        self, centers: Floats, *, distances: bool = False, memberships: bool = True
    ) -> Assignment:
        """Labels of all rows, with distances and memberships as wanted."""
        labels = np.empty(self.n_rows, dtype=np.int32)
        nearest = np.empty(self.n_rows, dtype=self.data.dtype) if distances else None
        if not memberships:
            objective = self._place(centers, labels=labels, distances=nearest)
            return Assignment(labels, nearest, None, objective)
        n_clusters = len(centers)
        n_entries = self.problem.membership.n_entries(n_clusters)
        if n_entries is not None:
            offsets, size = None, self.n_rows * n_entries
        else:  # One pass to count the entries of each row, another to write them.
            counts = np.empty(self.n_rows, dtype=np.int32)
            self._place(centers, counts=counts)
            offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            size = int(offsets[-1])
        indices = np.empty(size, dtype=np.int32)
        values = np.empty(size, dtype=self.data.dtype)
        objective = self._place(
            centers,
            labels=labels,
            distances=nearest,
            offsets=offsets,
            indices=indices,
            memberships=values,
        )
        dtype = np.int32 if size <= np.iinfo(np.int32).max else np.int64
        if offsets is None:
            offsets = np.arange(0, size + 1, n_entries, dtype=dtype)
        entries = (values, indices, offsets.astype(dtype, copy=False))
        sparse = sp.csr_array(entries, shape=(self.n_rows, n_clusters))
        return Assignment(labels, nearest, sparse, objective)

    def _place(self, centers: Floats, **places: Any) -> float:
        """Let a pass write the given arrays; returns the objective."""
        names = ("labels", "distances", "counts", "offsets", "indices", "memberships")
        wanted = [places.get(name) for name in names]
        return float(self._typed("assign")(*self._pass(centers), *wanted))

    def distances(self, centers: Floats) -> Floats:
        """Distances of all rows to all centers, in the precision of the data."""
        out = np.empty((self.n_rows, len(centers)), dtype=self.data.dtype)
        self._typed("distances")(self._rows, self._local(centers), self.n_threads, out)
        return out

    def scaled_distances(self, centers: Floats, units: Floats) -> Floats:
        """Smallest distance of each row to any center, each measured in that center's unit."""
        out = np.empty(self.n_rows, dtype=self.data.dtype)
        self._typed("scaled_distances")(
            self._rows, self._local(centers), units, self.n_threads, out
        )
        return out

    def update_costs(self, costs: Floats, centers: Floats) -> None:
        """Lower each row's cost, in place, to the smallest loss to any of the given centers."""
        self._typed("update_costs")(
            self._rows, self._local(centers), self._loss, self.n_threads, costs
        )

    def candidate_costs(
        self, costs: Floats, candidates: Floats, losses: Floats | None = None
    ) -> Floats:
        """Weighted total of the costs if each candidate alone were added to the centers."""
        totals = np.empty(len(candidates))
        self._typed("candidate_costs")(
            self._rows,
            self.data.weights,
            self._local(candidates),
            self._loss,
            self.n_threads,
            costs,
            totals,
            losses,
        )
        return totals

    def _typed(self, name: str) -> Any:
        """Return the compiled function that writes arrays of the data's precision."""
        return getattr(core, f"{name}_{self.data.dtype.name}")

    def _local(self, centers: Floats) -> Floats:
        """Centers measured from the origin of the data."""
        return np.ascontiguousarray(centers - self.data.origin, dtype=np.float64)

    def _pass(self, centers: Floats) -> tuple[Any, ...]:
        """Arguments that every pass with memberships begins with."""
        return (
            self._rows,
            self.data.weights,
            self._local(centers),
            self._loss,
            self._membership,
            self.n_threads,
        )


def twin(part: BaseEstimator) -> Any:
    """Compiled part of the same name and parameters."""
    kind: Any = type(part)
    return getattr(core, kind.__name__)(**{name: getattr(part, name) for name in _parameters(kind)})


@cache
def _parameters(kind: type) -> tuple[str, ...]:
    """Names of what the constructor takes; to look them up takes longer than a small pass."""
    return tuple(inspect.signature(kind).parameters)


def _native_rows(data: Data) -> Any:
    single = data.dtype == np.float32
    if data.is_sparse:
        arrays = (data.rows.data, data.rows.indices, data.rows.indptr)
        return core.Rows.csr(*map(np.ascontiguousarray, arrays), data.n_features, single)
    return core.Rows.dense(data.rows, data.origin, single)
