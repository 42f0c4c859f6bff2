"""Engines: passes over the data, whose results add up. Data is in memory, a stream, or in dask."""

from __future__ import annotations

from typing import Any

from sfumato._checks import resolve_name
from sfumato._data import Data
from sfumato._engines.base import Engine, ResidentEngine
from sfumato._engines.chunked import ChunkedData, ChunkedEngine, Runner
from sfumato._engines.native import NativeEngine
from sfumato._engines.reference import ReferenceEngine
from sfumato._engines.stream import StreamRunner
from sfumato._native import effective_threads
from sfumato._problem import Problem
from sfumato.streams._base import Stream
from sfumato.streams._lazy import LazyArray

ENGINES: dict[str, type[ResidentEngine]] = {
    "auto": NativeEngine,
    "native": NativeEngine,
    "reference": ReferenceEngine,
}
"""Engines by the names that estimators take."""


def make_engine(
    name: str, data: Data | ChunkedData, problem: Problem, n_threads: int | None
) -> Engine:
    """Engine of that name on the data; chunked data gets one that makes it for every chunk."""
    resident: type[ResidentEngine] = resolve_name("engine", name, ENGINES)
    if isinstance(data, ChunkedData):
        return ChunkedEngine(data, problem, data.runner.threads(n_threads), resident)
    return resident(data, problem, effective_threads(n_threads))


def is_chunked(X: Any) -> bool:
    """Whether data comes in chunks: a stream, or a dask collection."""
    return isinstance(X, Stream) or is_dask(X)


def is_dask(X: Any) -> bool:
    """Whether this is a dask collection; does not import dask."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def is_lazy(value: Any) -> bool:
    """Whether this is a lazy array: of a stream, or of dask."""
    return isinstance(value, LazyArray) or is_dask(value)


def find_runner(X: Any, sample_weight: Any) -> Runner:
    """Runner of passes over data in chunks."""
    if isinstance(X, Stream):
        return StreamRunner(X, sample_weight)
    from sfumato._engines.dask import DaskRunner

    return DaskRunner(X, sample_weight)
