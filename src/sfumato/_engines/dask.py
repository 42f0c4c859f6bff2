"""Passes over dask collections: over the chunks of an array or the partitions of a frame."""

# mypy: allow-untyped-calls
# dask annotates some of its functions only.

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import dask
import dask.array as da
import joblib
import numpy as np
import scipy.sparse as sp
from dask.array.utils import meta_from_array
from dask.base import get_scheduler, is_dask_collection
from dask.core import flatten
from dask.delayed import delayed
from dask.highlevelgraph import HighLevelGraph
from dask.utils import parse_timedelta

from sfumato._checks import check_weights, raise_wrong_length
from sfumato._data import Chunk, csr_or_dense
from sfumato._engines.chunked import Runner
from sfumato._engines.dask_graph import PartialSum, Plan, group_chunks, make_plan, split_group
from sfumato._engines.passes import Map, Pass, map_chunk

PLAN_SECONDS = 5.0
"""Age in seconds at which a plan is compared with where chunks are held now. Chosen by hand."""
SPARSE_ROW_BYTES = 1200.0
"""Guessed bytes of a CSR row: a hundred entries."""
TIMEOUT = "sfumato.worker-timeout"
"""Key in dask's configuration: how long a pass waits while there is no worker; "30s" by default."""
FETCH_SECONDS = 60.0
"""Seconds for fetching a finished result before its worker is checked. Chosen by hand."""
TABLES = "give a dask.array of shape (n_samples, n_features), or a dask.dataframe"


class DaskRunner(Runner):
    """Passes over dask collections, by the active scheduler.

    With a ``distributed.Client``, passes run on its cluster, otherwise in threads, or as
    ``dask.config`` sets. The graphs of passes are described in ``dask_graph.py``; only the last sum
    comes to the client. Data that is not persisted is loaded again in every pass.

    If workers are lost, their results are computed again. If there is no worker for longer than
    ``sfumato.worker-timeout`` of dask's configuration ("30s" by default), a pass raises a
    RuntimeError and cancels its tasks.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        Chunks are dense or CSR. Their sizes may be unknown.
    sample_weight : dask array or series, or array-like of shape (n_rows,), optional
        A collection is rechunked like the rows if sizes are known; otherwise it must have as many
        chunks. For an array, unknown sizes are counted in a pass.
    """

    def __init__(self, X: Any, sample_weight: Any = None) -> None:
        self.rows, self.names = _rows_of(X)
        self.weights: Any = None
        self.n_features = int(self.rows.shape[1])
        self.dtype = self.rows.dtype
        self._planned: tuple[Any, Plan] | None = None
        self._planned_until = 0.0
        self._sizes: tuple[int, ...] | None = None
        if not np.isnan(self.rows.shape[0]):
            self._sizes = tuple(int(size) for size in self.rows.chunks[0])
        if sample_weight is not None:
            self.weights = self._chunked_weights(sample_weight)
            self.__dict__.pop("_data_graph", None)
            self._planned = None

    @property
    def n_rows(self) -> int | None:  # type: ignore[override] # known after a pass
        """Number of rows; None while sizes of chunks are not known."""
        return None if self._sizes is None else sum(self._sizes)

    def _chunked_weights(self, sample_weight: Any) -> Any:
        """Weights as a dask array, in chunks like those of the rows."""
        if is_dask_collection(sample_weight):
            return _weights_like(sample_weight, self.rows)
        if self._sizes is None:
            self.reduce(CountRows())
            assert self._sizes is not None
        weights = check_weights(sample_weight, sum(self._sizes))
        chunks = da.from_array(weights, chunks=(self._sizes,))
        if _client_of(get_scheduler(cls=da.Array)) is None:
            return chunks
        return chunks.persist()  # So that they are sent to the cluster once, not in every pass.

    @cached_property
    def _data_graph(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Optimized graph of all chunks, and those chunks in it that a cluster holds."""
        collections = [self.rows] if self.weights is None else [self.rows, self.weights]
        whole = HighLevelGraph.merge(*(each.__dask_graph__() for each in collections))
        keys = [key for each in collections for key in flatten(each.__dask_keys__())]
        futures = {key: step for key, step in whole.items() if _is_future(step)}
        return dict(self.rows.__dask_optimize__(whole, keys)), futures

    def _plan(self) -> Plan:
        """Plan of passes; a new one if chunks are held by other workers than before."""
        if self._planned is not None and time.monotonic() < self._planned_until:
            return self._planned[1]
        rows = list(flatten(self.rows.__dask_keys__()))
        graph, futures = self._data_graph
        threads, holders = _placement(get_scheduler(cls=da.Array), rows, futures)
        if self._planned is None or self._planned[0] != (threads, holders):
            weights = [] if self.weights is None else list(flatten(self.weights.__dask_keys__()))
            row_bytes = float(self.n_features * self.dtype.itemsize)
            if sp.issparse(meta_from_array(self.rows)):
                row_bytes = SPARSE_ROW_BYTES
            groups = [
                split_group(numbers, self._sizes, row_bytes)
                for numbers in group_chunks(len(rows), threads, holders)
            ]
            plan = make_plan(graph, futures, rows, weights, groups)
            self._planned = (threads, holders), plan
        self._planned_until = time.monotonic() + PLAN_SECONDS
        return self._planned[1]

    def reduce(self, function: Pass) -> Any:
        """Sum of the results of all chunks, added along a fixed tree."""
        # A unique name: dask takes results of the same name for the same.
        kind = getattr(function, "__name__", type(function).__name__).lower().strip("_")
        graph, key = self._plan().graph(function, f"{kind}-{uuid.uuid4().hex}")
        found: PartialSum = compute(graph, key)
        if self._sizes is None:  # The next plan groups chunks by their sizes.
            self._sizes = tuple(found.sizes[number] for number in range(found.n_chunks))
            self._planned = None
        return found.value

    def map(self, function: Map) -> Any:
        """Lazy dask array of the values for each row, in chunks like the rows."""
        output = function.output
        dtype = output.dtype(function.spec.dtype)
        token = uuid.uuid4().hex
        shape = () if output.n_columns is None else (output.n_columns,)
        empty: Any = sp.csr_array if output.sparse else np.empty
        meta = empty((0, *shape), dtype=dtype)
        places = Places(self.names, self._sizes)
        # One node for all chunks: centers go to each worker once.
        node = delayed(MapRows(function, places, meta), f"map-{token}", traverse=False)
        return da.map_blocks(
            _map_rows,
            self.rows,
            shared=node,
            name=f"{output.name}-{token}",
            chunks=(self._sizes or self.rows.chunks[0], *((size,) for size in shape)),
            drop_axis=[] if shape else 1,
            dtype=dtype,
            meta=meta,
        )

    def threads(self, wanted: int | None) -> int:
        """Threads per chunk: one by default, since dask works on many chunks at a time."""
        return int(wanted or 1)

    def where(self, number: int, row: int, column: int | None = None) -> str:
        return Places(self.names, self._sizes).describe(number, row, column)


class CountRows:
    """Pass without a result: a runner counts the rows of chunks in every pass."""

    description: ClassVar[str] = "counting rows"

    def __call__(self, chunk: Chunk) -> None:
        """Nothing to compute."""


@dataclass(frozen=True)
class Places:
    """Names of columns and sizes of chunks, as far as they are known."""

    names: Sequence[Any] | None
    sizes: Sequence[int] | None

    def describe(self, number: int, row: int, column: int | None = None) -> str:
        """Description of a place in a chunk, for messages."""
        words = f"chunk {number}, row {row} of it"
        if self.sizes is not None:
            words += f" (row {sum(self.sizes[:number]) + row} of all)"
        if column is None:
            return words
        name = column if self.names is None else repr(self.names[column])
        return f"{words}, column {name}"


@dataclass(frozen=True)
class MapRows:
    """What the tasks of a map share."""

    map: Map
    places: Places
    empty: Any
    """Values for a chunk without rows."""


def _map_rows(rows: Any, shared: MapRows, block_id: tuple[int, ...] = (0,)) -> Any:
    """Task: an output for a chunk. ``block_id`` is dask's name for its place."""
    chunk = Chunk(csr_or_dense(rows), None, number=block_id[0])
    expected = len(shared.map.spec.origin)
    if chunk.rows.ndim != 2 or chunk.rows.shape[1] != expected:
        raise ValueError(
            f"Chunk {chunk.number} of X has shape {chunk.rows.shape}, but must have {expected} "
            "columns; the chunks of X must have the shapes that X declares."
        )
    if not chunk.rows.shape[0]:
        return shared.empty
    return map_chunk([shared.map], chunk, partial(shared.places.describe, chunk.number))[0]


def _rows_of(X: Any) -> tuple[Any, tuple[Any, ...] | None]:
    """Array of the rows, in one chunk of columns, and the names of the columns if it has some."""
    names = None
    if type(X).__module__.startswith("dask.dataframe") and hasattr(X, "columns"):
        names, X = tuple(X.columns), _frame_rows(X)
    if not isinstance(X, da.Array):
        raise TypeError(f"X is a {type(X).__module__}.{type(X).__name__}; {TABLES}.")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got a dask array with {X.ndim} dimension(s) and shape {X.shape}; "
            f"{TABLES}. X.reshape(-1, 1) makes one feature of one dimension."
        )
    _check_kind("X", X)
    if np.isnan(X.shape[1]):
        raise ValueError(
            f"The number of columns of X is not known, its shape is {X.shape}; call "
            "X.compute_chunk_sizes() first."
        )
    if X.shape[1] == 0 or X.numblocks[0] == 0:
        raise ValueError(f"X has shape {X.shape}; at least one row and one column are required.")
    return (X.rechunk({1: -1}) if X.numblocks[1] > 1 else X), names


def _frame_rows(frame: Any) -> Any:
    """Values of a frame; nullable numbers become floats, NaN where they are missing."""
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

    types = dict(zip(frame.columns, frame.dtypes, strict=True))
    if len(types) != len(frame.columns):
        raise ValueError(f"Columns of X have the same name: {list(frame.columns)}; rename them.")
    wrong = {
        name: str(dtype)
        for name, dtype in types.items()
        if not (is_numeric_dtype(dtype) or is_bool_dtype(dtype)) or is_complex_dtype(dtype)
    }
    if wrong:
        raise ValueError(f"Columns of X are not of real numbers: {wrong}; drop or convert them.")
    nullable = {name: "float64" for name, t in types.items() if not isinstance(t, np.dtype)}
    return (frame.astype(nullable) if nullable else frame).to_dask_array()


def _weights_like(sample_weight: Any, rows: Any) -> Any:
    """Weights of a dask collection, in chunks like those of the rows."""
    weights = sample_weight
    if type(weights).__module__.startswith("dask.dataframe"):
        weights = weights.to_dask_array()
    if not isinstance(weights, da.Array):
        raise TypeError(f"sample_weight is a {type(weights)}; give a dask array or series.")
    _check_kind("sample_weight", weights)
    if sp.issparse(meta_from_array(weights)):
        raise ValueError("sample_weight is sparse; give a dense array.")
    n_rows = rows.shape[0]
    known = not np.isnan([n_rows, *weights.shape]).any()
    if weights.ndim != 1 or (known and weights.shape[0] != n_rows):
        raise_wrong_length(weights.shape, n_rows if known else None)
    if known:
        return weights.rechunk((rows.chunks[0],))
    if weights.numblocks != rows.numblocks[:1]:
        raise ValueError(
            f"X has {rows.numblocks[0]} chunks and sample_weight {weights.numblocks[0]}, and not "
            "all of their sizes are known; call compute_chunk_sizes() on both, or give weights in "
            "the same chunks."
        )
    return weights


def _check_kind(name: str, array: Any) -> None:
    """Raise unless the chunks are dense or CSR, of real numbers."""
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} is of dtype {array.dtype}, not of real numbers; convert it, e.g. with "
            f"{name}.astype(float)."
        )
    meta = meta_from_array(array)
    if isinstance(meta, np.ma.MaskedArray):
        raise ValueError(f"{name} is masked; fill it in, e.g. with dask.array.ma.filled.")
    if not (isinstance(meta, np.ndarray) or sp.issparse(meta)):
        raise TypeError(
            f"{name} consists of {type(meta).__module__}.{type(meta).__name__}; convert its chunks "
            f"to NumPy arrays or to CSR, e.g. with {name}.map_blocks."
        )


def compute(graph: Mapping[Any, Any], key: Any) -> Any:
    """Value of a key, computed by the active scheduler; on a cluster, with a time-out."""
    schedule = get_scheduler(cls=da.Array)
    client = _client_of(schedule)
    return schedule(graph, key) if client is None else _from_cluster(client, dict(graph), key)


def _client_of(schedule: Any) -> Any:
    """Client of a cluster whose scheduler this is; None for dask's own schedulers."""
    owner = getattr(schedule, "__self__", None)
    return owner if owner is not None and hasattr(owner, "scheduler_info") else None


def _is_future(step: Any) -> bool:
    """Whether a node of a graph is a value that a cluster holds; does not import distributed."""
    return type(step).__module__.split(".")[0] == "distributed" and hasattr(step, "key")


def _placement(
    schedule: Any, keys: Sequence[Any], futures: Mapping[Any, Any]
) -> tuple[int, tuple[Any, ...] | None]:
    """Number of threads, and the worker that holds each key; None unless all keys are held."""
    client = _client_of(schedule)
    if client is None:
        return joblib.cpu_count(), None
    threads = max(1, sum(client.nthreads().values()))
    if not all(key in futures for key in keys):
        return threads, None
    held = client.who_has([futures[key] for key in keys])
    names = {key: min(workers, default=None) for key, workers in held.items()}
    return threads, tuple(names.get(futures[key].key) for key in keys)


def _from_cluster(client: Any, graph: dict[Any, Any], key: Any) -> Any:
    """Value of a key; after an error, all tasks for it are cancelled."""
    limit = parse_timedelta(dask.config.get(TIMEOUT, "30s"))
    with _seceded():
        future = client.get(graph, key, sync=False)
        try:
            return _wait(client, future, limit)
        except BaseException:
            with suppress(Exception):  # The scheduler may be lost; the first error counts.
                client.cancel([future], force=True)
            raise
        finally:
            future.release()


def _wait(client: Any, future: Any, limit: float) -> Any:
    from distributed import CancelledError

    pause = min(1.0, limit / 4)
    seen = time.monotonic()
    while True:
        try:
            return future.result(timeout=FETCH_SECONDS if future.done() else pause)
        except TimeoutError:
            if future.status == "error":
                raise  # The task's own.
        except CancelledError as error:
            raise RuntimeError(_lost(client)) from error
        if client.status not in ("running", "connecting"):
            raise RuntimeError(_lost(client))
        try:
            present = bool(client.nthreads())
        except (OSError, ValueError, RuntimeError) as error:
            raise RuntimeError(_lost(client)) from error
        if present:
            seen = time.monotonic()
        elif time.monotonic() - seen > limit:
            raise RuntimeError(
                f"The cluster of {client} has had no workers for {limit:g} s, so that the pass "
                "cannot go on. Start workers and fit again; if they need longer to come back, "
                f"raise the limit with dask.config.set({{{TIMEOUT!r}: '5 minutes'}})."
            )


def _lost(client: Any) -> str:
    return (
        f"The scheduler of {client} is gone, or has cancelled the pass (its client is "
        f"{client.status}). Check that the scheduler runs, connect a new Client and fit again."
    )


@contextmanager
def _seceded() -> Iterator[None]:
    """Inside a task, give its thread to other tasks while it waits for tasks of its own."""
    from distributed import rejoin, secede

    try:
        secede()
    except ValueError:  # Not inside a task.
        yield
        return
    try:
        yield
    finally:
        rejoin()
