"""Memory that allocators keep after it was freed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any


def give_back() -> None:
    """Return what Arrow and the C library keep to the system.

    Threads that read ahead have heaps of their own, which grow pass by pass otherwise, and with
    them the process, beyond a limit that was given for it.
    """
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], Any] | None:
    """Function of the GNU C library that returns free pages; other systems have none."""
    try:
        found: Callable[[int], Any] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):  # Windows has no library without a name.
        return None
    return found
