"""Engines to time: the same problem on rows in memory, in a file, on workers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.harness.shared import FUZZIFIER
from benchmarks.scale.files import N_CLUSTERS
from sfumato import L21, REFCMFS, Power
from sfumato import _validation as validation
from sfumato._engines import make_engine
from sfumato._engines.base import Engine
from sfumato._problem import Problem

N_ACTIVE = 3


def engine_on(X: Any) -> Engine:
    """Engine of REFCMFS with 50 clusters and 3 active ones, on data of any kind."""
    model = REFCMFS(N_CLUSTERS, n_active=N_ACTIVE, fuzzifier=FUZZIFIER)
    data = validation.fit_input(model, X, None)
    return make_engine("auto", data, Problem(L21(), Power(N_ACTIVE, FUZZIFIER)), None)


def seconds_of_a_pass(engine: Engine, centers: np.ndarray) -> float:
    began = time.perf_counter()
    engine.sweep(centers)
    return time.perf_counter() - began
