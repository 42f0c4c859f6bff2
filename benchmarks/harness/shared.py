"""What several benchmarks share: the paper's data sets, the clock, and passes of the engine."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from sfumato import L21, Power
from sfumato._engines.native import NativeEngine
from sfumato._native import effective_threads
from sfumato._problem import Problem
from sfumato._validation import check_fit_data

PAPER = {  # data set: clusters, active clusters
    "yale": (15, 9),
    "orl": (40, 10),
    "coil20": (20, 13),
    "usps": (10, 5),
    "yaleb": (38, 3),
    "coil100": (100, 75),
}
FUZZIFIER = 1.1
LARGE = ("yaleb", "coil100")
"""Sets that the quick form leaves out."""


def data_folder() -> Path:
    """Folder of the paper's data sets: the one that SFUMATO_DATA names, or an empty name."""
    return Path(os.environ.get("SFUMATO_DATA", ""))


def paper_sets(quick: bool) -> Iterator[tuple[str, np.ndarray | None, int, int]]:
    """Name, rows, clusters, active clusters; no rows where the file is missing."""
    for name, (n_clusters, n_active) in PAPER.items():
        if quick and name in LARGE:
            continue
        path = data_folder() / f"{name}.npz"
        yield name, load(path) if path.exists() else None, n_clusters, n_active


def load(path: Path) -> np.ndarray:
    """Rows of a file as floats, so that no fit has to convert them."""
    X = np.load(path)["X"]
    return X if X.dtype.kind == "f" else X.astype(np.float64)


SPINNING = 0.05
"""Seconds after which threads of other libraries, such as BLAS, have stopped spinning."""


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that a call takes, and what it returns; warnings are silenced.

    Threads of whatever ran before, above all those of BLAS, spin for some time: it waits for them.
    """
    time.sleep(SPINNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        result = call()
        return time.perf_counter() - began, result


def geometric_mean(values: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(values)))))


def native_engine(X: np.ndarray, n_active: int) -> NativeEngine:
    """Engine of REFCMFS on the given rows."""
    data = check_fit_data(KMeans(), X, None)
    problem = Problem(L21(), Power(n_active, FUZZIFIER))
    return NativeEngine(data, problem, effective_threads(None))


def seconds_per_pass(engine: NativeEngine, centers: np.ndarray, passes: int) -> float:
    """Seconds of a pass and of the step after it.

    Threads of whatever ran before spin for some milliseconds, so the first passes do not count.
    """
    began = time.perf_counter()
    while time.perf_counter() - began < SPINNING:
        engine.sweep(centers)
    began = time.perf_counter()
    for _ in range(passes):
        centers = engine.sweep(centers).centers(centers)
    return (time.perf_counter() - began) / passes
