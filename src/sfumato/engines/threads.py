"""How many threads a pass uses."""

from __future__ import annotations

import joblib

from sfumato.engines.core import core


def effective_threads(n_threads: int | None) -> int:
    """Number of threads for a pass.

    None means as many as OpenMP would use (``OMP_NUM_THREADS`` and ``threadpool_limits``
    are heeded), and no more than the processors that this process may use.
    """
    if n_threads is not None:
        return n_threads
    return max(1, min(core.max_threads(), joblib.cpu_count()))
