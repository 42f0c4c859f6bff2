"""The compiled core for this machine.

There is one extension per instruction-set level, with equal results up to rounding. The environment
variable ``SFUMATO_LEVEL`` chooses another level than the best.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import joblib
from threadpoolctl import threadpool_limits

from sfumato import _cpu


def load_core() -> Any:
    """Extension for the best level that this machine has, or for the level that is asked for."""
    levels = _cpu.levels()
    wanted = os.environ.get("SFUMATO_LEVEL", levels[0])
    if wanted not in levels:
        raise ImportError(
            f"SFUMATO_LEVEL={wanted!r} cannot run on this machine; use one of {levels}."
        )
    return import_module(f"sfumato._core_{wanted}")


core = load_core()


def effective_threads(n_threads: int | None) -> int:
    """Number of threads for a pass.

    None means as many as OpenMP would use (``OMP_NUM_THREADS`` and ``threadpool_limits``
    are heeded), and no more than the processors that this process may use.
    """
    if n_threads is not None:
        return n_threads
    return max(1, min(core.max_threads(), joblib.cpu_count()))


_BLAS_LOCK = threading.RLock()
"""Held while the number of threads of BLAS, which belongs to the process, is limited."""


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, whose others would go on spinning while a pass needs the cores."""
    with _BLAS_LOCK, threadpool_limits(1, user_api="blas"):
        yield
