"""The compiled engine: the same passes as ``reference.py``, fused and threaded.

Everything is computed in the precision of the data and summed in double. Work is cut into strips by
the shape of the data, so that results are the same bits for any number of threads.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sfumato._data import Data
from sfumato._engines.base import ResidentEngine
from sfumato._engines.tails import FREEDOM, TAIL_POWER, Tails
from sfumato._native import core
from sfumato._problem import Assignment, Problem, Statistics
from sfumato._typing import Floats

NativeRows: TypeAlias = "core.RowsFloat32 | core.RowsFloat64"
NativeLoss: TypeAlias = "core.Squared | core.L21 | core.Capped"
NativeMembership: TypeAlias = "core.Hard | core.Power | core.Simplex"


class NativeEngine(ResidentEngine):
    """C++ and OpenMP, in memory or memory-mapped."""

    def __init__(
        self, data: Data, problem: Problem, n_threads: int, rows: NativeRows | None = None
    ) -> None:
        super().__init__(data, problem, n_threads)
        self._rows = _native_rows(data) if rows is None else rows

    @cached_property
    def _loss(self) -> NativeLoss:
        return compiled(self.problem.loss)

    @cached_property
    def _membership(self) -> NativeMembership:
        return compiled(self.problem.membership)

    def with_problem(self, problem: Problem) -> NativeEngine:
        engine: NativeEngine = self._sharing(
            NativeEngine(self.data, problem, self.n_threads, self._rows)
        )
        return engine

    def _weighted(self, weights: Floats) -> NativeEngine:
        data = replace(self.data, weights=weights)
        return NativeEngine(data, self.problem, self.n_threads, self._rows)

    def sweep(self, centers: Floats) -> Statistics:
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
        labels = np.empty(self.n_rows, dtype=np.int32)
        nearest = np.empty(self.n_rows, dtype=self.data.dtype) if distances else None
        if not memberships:
            objective = core.assign(*self._pass(centers), labels, nearest)
            return Assignment(labels, nearest, None, objective)
        n_clusters = len(centers)
        n_entries = self.problem.membership.n_entries(n_clusters)
        if n_entries is not None:
            offsets, size = None, self.n_rows * n_entries
        else:  # One pass to count the entries of each row, another to write them.
            counts = np.empty(self.n_rows, dtype=np.int32)
            core.assign(*self._pass(centers), counts=counts)
            offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            size = int(offsets[-1])
        indices = np.empty(size, dtype=np.int32)
        values = np.empty(size, dtype=self.data.dtype)
        objective = core.assign(
            *self._pass(centers), labels, nearest, None, offsets, indices, values
        )
        dtype = np.int32 if size <= np.iinfo(np.int32).max else np.int64
        if offsets is None:
            offsets = np.arange(0, size + 1, n_entries, dtype=dtype)
        entries = (values, indices, offsets.astype(dtype, copy=False))
        sparse = sp.csr_array(entries, shape=(self.n_rows, n_clusters))
        return Assignment(labels, nearest, sparse, objective)

    def distances(self, centers: Floats) -> Floats:
        out = np.empty((self.n_rows, len(centers)), dtype=self.data.dtype)
        core.distances(self._rows, self._local(centers), self.n_threads, out)
        return out

    def scaled_distances(self, centers: Floats, units: Floats) -> Floats:
        out = np.empty(self.n_rows, dtype=self.data.dtype)
        core.scaled_distances(self._rows, self._local(centers), units, self.n_threads, out)
        return out

    def rarity(self, centers: Floats, tails: Tails) -> Floats:
        out = np.empty(self.n_rows)
        scales, weights = np.sqrt(FREEDOM) * tails.scales, tails.weights
        core.rarities(
            *(self._rows, self._local(centers), scales, weights),
            *(TAIL_POWER, self.n_threads, out),
        )
        return out

    def mean_shift(self, points: Floats, mass: float) -> tuple[Floats, Floats]:
        means, radii = np.empty(points.shape), np.empty(len(points))
        near = (self._rows, self.data.weights, self._local(points), mass, self.n_threads)
        core.mean_shift(*near, means, radii)
        return means + self.data.origin, radii

    def update_costs(self, costs: Floats, centers: Floats) -> None:
        core.update_costs(self._rows, self._local(centers), self._loss, self.n_threads, costs)

    def candidate_costs(
        self, costs: Floats, candidates: Floats, losses: Floats | None = None
    ) -> Floats:
        totals = np.empty(len(candidates))
        core.candidate_costs(
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

    def _local(self, centers: Floats) -> Floats:
        """Centers measured from the origin of the data."""
        return np.ascontiguousarray(centers - self.data.origin, dtype=np.float64)

    def _pass(
        self, centers: Floats
    ) -> tuple[NativeRows, Floats | None, Floats, NativeLoss, NativeMembership, int]:
        """Arguments that every pass with memberships begins with."""
        return (
            self._rows,
            self.data.weights,
            self._local(centers),
            self._loss,
            self._membership,
            self.n_threads,
        )


def compiled(part: BaseEstimator) -> Any:
    """Class of the core with the same name and parameters as a loss or a membership rule."""
    kind: Any = type(part)
    twin = getattr(core, kind.__name__, None)
    if twin is None:
        raise TypeError(
            f"{part} has no compiled twin in native/; use engine='reference', or write one "
            "(CONTRIBUTING.md, Add a loss)."
        )
    return twin(**{name: getattr(part, name) for name in _parameters(kind)})


@cache
def _parameters(kind: type) -> tuple[str, ...]:
    """Names of what the constructor takes; to look them up takes longer than a small pass."""
    return tuple(inspect.signature(kind).parameters)


def _native_rows(data: Data) -> NativeRows:
    kind = core.RowsFloat32 if data.dtype == np.float32 else core.RowsFloat64
    if data.is_sparse:
        csr = data.rows
        values, indices, indptr = map(np.ascontiguousarray, (csr.data, csr.indices, csr.indptr))
        return kind.csr(values, indices, indptr, data.n_features)
    return kind.dense(data.rows, data.origin)
