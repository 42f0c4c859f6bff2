"""The compiled core for this machine.

There is one extension per instruction-set level, with equal results up to rounding. The best that
the machine has is loaded; the environment variable ``SFUMATO_LEVEL`` names another. Type checkers
read ``_core.pyi``, which all levels share.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import joblib
from threadpoolctl import threadpool_limits

from sfumato import _cpu

if TYPE_CHECKING:
    from sfumato import _core as core

__all__ = ["core", "effective_threads", "single_blas_thread"]


def load_core() -> ModuleType:
    """Extension for the level in ``SFUMATO_LEVEL``, by default the best of this machine."""
    levels = _cpu.levels()
    level = os.environ.get("SFUMATO_LEVEL", levels[0])
    if level not in levels:
        raise ImportError(
            f"SFUMATO_LEVEL={level!r} cannot run on this machine; use one of {levels}."
        )
    return import_module(f"sfumato._core_{level}")


if not TYPE_CHECKING:
    core = load_core()


def effective_threads(n_threads: int | None) -> int:
    """Number of threads for a pass.

    None means as many as OpenMP would use (``OMP_NUM_THREADS`` and ``threadpool_limits``
    apply), and no more than the processors that this process may use.
    """
    if n_threads is not None:
        return int(n_threads)
    return max(1, min(core.max_threads(), joblib.cpu_count()))


_BLAS_LOCK = threading.RLock()
"""Held while the number of threads of BLAS, which belongs to the process, is limited."""


def _renew_lock() -> None:
    """Make a new lock: in a process made by fork, the thread that held the old one is missing."""
    global _BLAS_LOCK
    _BLAS_LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: idle ones would spin on the cores that the next pass needs."""
    with _BLAS_LOCK, threadpool_limits(1, user_api="blas"):
        yield
