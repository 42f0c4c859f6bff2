"""WHERE a pass runs: engines that sweep over the data and return statistics that add up."""

from __future__ import annotations

from sfumato._checks import resolve_name
from sfumato._data import Data
from sfumato._engines.base import Engine, ResidentEngine
from sfumato._engines.chunked import ChunkedData, ChunkedEngine
from sfumato._engines.native import NativeEngine
from sfumato._engines.reference import ReferenceEngine
from sfumato._native import effective_threads
from sfumato._problem import Problem

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
