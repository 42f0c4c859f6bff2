"""The compiled core for this machine.

There is one extension per instruction-set level, with equal results up to rounding. The environment
variable ``SFUMATO_LEVEL`` chooses another level than the best.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import joblib

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
