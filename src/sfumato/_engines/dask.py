"""Pieces from dask: blocks of an array or partitions of a frame, wherever they are."""

# mypy: allow-untyped-calls
# dask annotates some of its functions only.

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.base import get_scheduler, is_dask_collection
from dask.core import flatten
from dask.delayed import delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

from sfumato._data import Piece, csr_or_dense
from sfumato._engines.chunked import Runner
from sfumato._engines.dask_graph import Added, Plan, group_blocks, make_plan, split_group
from sfumato._engines.dask_input import array_weights, is_sparse, rows_of, weights_of
from sfumato._engines.dask_waiting import client_of, compute, where_held
from sfumato._engines.passes import Map, Pass

PLAN_SECONDS = 5.0
"""Time after which it is asked again who holds the blocks: the answer takes milliseconds."""
SPARSE_ROW_BYTES = 1200.0
"""Guess for a row of CSR: a hundred entries."""


class DaskRunner(Runner):
    """Passes over dask collections, by the scheduler that is active.

    With a ``distributed.Client``, passes run on its cluster, otherwise in threads, or as
    ``dask.config`` says. A task works on some blocks, one after the other: four tasks per thread,
    each where its blocks are, if a worker holds them. Results are added along a tree that depends
    on the number of blocks alone, so that the sum has the same bits for any number of workers and
    threads. Only the last sum comes to the client.

    The graph of the data is optimized once. Data that is not persisted is loaded again in every
    pass; ``X.persist()`` keeps it on the cluster.

    A pass waits for workers that are lost and come back, and what they had is computed again. If
    there is no worker at all for longer than ``sfumato.worker-timeout`` of dask's configuration
    ("30s" by default), it ends with a RuntimeError and cancels its tasks.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        Blocks are dense or CSR. Sizes of chunks need not be known.
    sample_weight : dask array or series, or array-like of shape (n_rows,), optional
        A collection is cut like the rows, where sizes are known; otherwise it must have as many
        chunks. For an array, sizes that are not known are found in a pass.
    """

    def __init__(self, X: Any, sample_weight: Any = None) -> None:
        self.rows, self.names = rows_of(X)
        self.weights: Any = None
        self.n_features = int(self.rows.shape[1])
        self.dtype = self.rows.dtype
        self._planned: tuple[Any, Plan] | None = None
        self._planned_until = 0.0
        self._sizes: tuple[int, ...] | None = None
        if not np.isnan(self.rows.shape[0]):
            self._sizes = tuple(int(size) for size in self.rows.chunks[0])
        if sample_weight is not None:
            self.weights = self._blocks_of(sample_weight)
            self.__dict__.pop("_data_graph", None)
            self._planned = None

    @property
    def n_rows(self) -> int | None:  # type: ignore[override] # known after a pass
        """Number of rows; None while sizes of blocks are not known."""
        return None if self._sizes is None else sum(self._sizes)

    def _blocks_of(self, sample_weight: Any) -> Any:
        """Weights in blocks like those of the rows."""
        if is_dask_collection(sample_weight):
            return weights_of(sample_weight, self.rows)
        if self._sizes is None:
            self.reduce(_count)
            assert self._sizes is not None
        weights = array_weights(sample_weight, list(self._sizes))
        if client_of(get_scheduler(cls=da.Array)) is None:
            return weights
        return weights.persist()  # So that they are sent to the cluster once, not in every pass.

    @cached_property
    def _data_graph(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Optimized graph of all blocks, and those blocks in it that a cluster holds."""
        collections = [self.rows] if self.weights is None else [self.rows, self.weights]
        whole = HighLevelGraph.merge(*(each.__dask_graph__() for each in collections))
        keys = [key for each in collections for key in flatten(each.__dask_keys__())]
        futures = {key: step for key, step in whole.items() if _is_future(step)}
        return dict(self.rows.__dask_optimize__(whole, keys)), futures

    def _plan(self) -> Plan:
        """What graphs of passes have in common; another one if blocks are held elsewhere now."""
        if self._planned is not None and time.monotonic() < self._planned_until:
            return self._planned[1]
        rows = list(flatten(self.rows.__dask_keys__()))
        graph, futures = self._data_graph
        threads, holders = where_held(get_scheduler(cls=da.Array), rows, futures)
        if self._planned is None or self._planned[0] != (threads, holders):
            weights = [] if self.weights is None else list(flatten(self.weights.__dask_keys__()))
            row_bytes = float(self.n_features * self.dtype.itemsize)
            if is_sparse(self.rows):
                row_bytes = SPARSE_ROW_BYTES
            groups = [
                split_group(numbers, self._sizes, row_bytes)
                for numbers in group_blocks(len(rows), threads, holders)
            ]
            plan = make_plan(graph, futures, rows, weights, groups)
            self._planned = (threads, holders), plan
        self._planned_until = time.monotonic() + PLAN_SECONDS
        return self._planned[1]

    def reduce(self, function: Pass) -> Any:
        """Sum over all blocks of what the function yields, added along a fixed tree."""
        # Never the name of another pass, whose result would be taken for this one's.
        kind = getattr(function, "__name__", type(function).__name__).lower().strip("_")
        graph, key = self._plan().graph(function, f"{kind}-{uuid.uuid4().hex}")
        added: Added = compute(graph, key, da.Array)
        if self._sizes is None:  # From now on, small blocks can be told from large ones.
            self._sizes = tuple(added.sizes[number] for number in range(added.n_blocks))
            self._planned = None
        return added.value

    def map(self, function: Map) -> Any:
        """What the function says of each row: a lazy dask array, in blocks like the rows."""
        output = function.output
        dtype = output.dtype(function.spec.dtype)
        token = uuid.uuid4().hex
        shape = () if output.n_columns is None else (output.n_columns,)
        meta: Any = np.empty((0, *shape), dtype=dtype)
        if output.sparse:
            meta = sp.csr_array((0, *shape), dtype=dtype)
        # One node for all blocks: centers go to each worker once.
        say = delayed(OnBlock(function, self._places(), meta), f"say-{token}", traverse=False)
        return da.map_blocks(
            _say,
            self.rows,
            say=say,
            name=f"{output.name}-{token}",
            chunks=(self._sizes or self.rows.chunks[0], *((size,) for size in shape)),
            drop_axis=[] if shape else 1,
            dtype=dtype,
            meta=meta,
        )

    def threads(self, wanted: int | None) -> int:
        """Threads per block: one, since dask works on many blocks at a time."""
        return wanted or 1

    def where(self, number: int, row: int, column: int | None = None) -> str:
        """Words for a place in a block."""
        return self._places().describe(number, row, column)

    def _places(self) -> Places:
        starts = None if self._sizes is None else np.concatenate([[0], np.cumsum(self._sizes)])
        return Places(self.names, starts)


def _count(piece: Piece) -> None:
    """Nothing: that blocks are counted is enough."""


def _is_future(step: Any) -> bool:
    """Whether something in a graph is a value that a cluster holds, told without its library."""
    return type(step).__module__.split(".")[0] == "distributed" and hasattr(step, "key")


@dataclass(frozen=True)
class Places:
    """Names of columns and first rows of blocks, as far as they are known."""

    names: Sequence[Any] | None
    starts: NDArray[np.integer] | None

    def describe(self, number: int, row: int, column: int | None = None) -> str:
        """Words for a place in a block."""
        words = f"chunk {number}, row {row} of it"
        if self.starts is not None:
            words += f" (row {self.starts[number] + row} of all)"
        if column is None:
            return words
        name = column if self.names is None else repr(self.names[column])
        return f"{words}, column {name}"


@dataclass(frozen=True)
class OnBlock:
    """An output as a function of a block."""

    say: Map
    places: Places
    nothing: Any
    """The output for a block without rows."""

    def __call__(self, rows: Any, number: int) -> Any:
        """Values for a block."""
        piece = Piece(csr_or_dense(rows), None, number)
        expected = len(self.say.spec.origin)
        if piece.rows.ndim != 2 or piece.rows.shape[1] != expected:
            raise ValueError(
                f"Chunk {number} of X has shape {piece.rows.shape}, where tables of {expected} "
                "columns belong; X must consist of what dask was told."
            )
        if not piece.rows.shape[0]:
            return self.nothing
        return self.say.of_unchecked(piece, partial(self.places.describe, number))


def _say(rows: Any, say: OnBlock, block_id: tuple[int, ...] = (0,)) -> Any:
    """Task: an output for a block."""
    return say(rows, block_id[0])
