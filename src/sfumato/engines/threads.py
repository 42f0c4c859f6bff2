"""How many threads, and none of them inside a matrix product."""

from __future__ import annotations

from functools import cache
from threading import Lock
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


class SingleThreadedBlas:
    """Context in which a matrix product stays on the thread that calls it.

    A pass has its own threads, and products cut by another thread count could differ in rounding.
    The setting belongs to the process: of several fits in different threads, the first to enter
    sets it, and the last to leave restores it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _blas().limit(limits=1)  # Takes effect when it is made.
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


single_threaded_blas = SingleThreadedBlas()
