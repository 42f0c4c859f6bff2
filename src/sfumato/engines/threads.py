"""How many threads, and none of them inside a matrix product."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

from sfumato.engines.core import core


def effective_threads(n_threads: int | None) -> int:
    """Number of threads for a pass.

    None means as many as OpenMP would use (``OMP_NUM_THREADS`` and ``threadpool_limits``
    are heeded), and no more than the processors that this process may use.
    """
    if n_threads is not None:
        return n_threads
    return max(1, min(core.max_threads(), joblib.cpu_count()))


@cache
def _blas() -> ThreadpoolController:
    """BLAS libraries of this process; looking for them takes longer than a small pass."""
    return ThreadpoolController().select(user_api="blas")


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Context in which a matrix product stays on the thread that calls it.

    A pass has its own threads, and products cut by another thread count could differ in rounding.
    The setting belongs to the process, so fits in several Python threads at once share it.
    """
    limit: AbstractContextManager[Any] = _blas().limit(limits=1)
    return limit
