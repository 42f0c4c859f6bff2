"""How many threads, and none of them inside a matrix product."""

from __future__ import annotations

from functools import cache

import joblib
from threadpoolctl import ThreadpoolController

from sfumato import _core


def effective_threads(n_threads: int | None) -> int:
    """Number of threads for a pass.

    None means as many as OpenMP would use (``OMP_NUM_THREADS`` and ``threadpool_limits``
    are heeded), and no more than the processors that this process may use.
    """
    if n_threads is not None:
        return n_threads
    return max(1, min(_core.max_threads(), joblib.cpu_count()))


@cache
def blas_controller() -> ThreadpoolController:
    """Libraries of this process whose threads can be limited; looking for them is slow."""
    return ThreadpoolController()
