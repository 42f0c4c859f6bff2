"""Which data comes in pieces, and who passes over them."""

from __future__ import annotations

from typing import Any

from sfumato._engines.chunked import Runner
from sfumato._engines.stream import StreamRunner
from sfumato.streams._base import Stream
from sfumato.streams._lazy import LazyArray


def is_chunked(X: Any) -> bool:
    """Whether data comes in pieces: a stream, or a dask collection."""
    return isinstance(X, Stream) or is_dask(X)


def is_dask(X: Any) -> bool:
    """Whether this is an array or a frame of dask's, told without importing it."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def is_lazy(value: Any) -> bool:
    """Whether this is a result that is computed when it is asked for."""
    return isinstance(value, LazyArray) or is_dask(value)


def find_runner(X: Any, sample_weight: Any) -> Runner:
    """Whoever passes over the data."""
    if isinstance(X, Stream):
        return StreamRunner(X, sample_weight)
    from sfumato._engines.dask import DaskRunner

    return DaskRunner(X, sample_weight)
