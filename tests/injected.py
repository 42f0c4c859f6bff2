"""Ctrl-C at every moment: an interrupt that is raised where a trace function says.

Python handles signals when a function begins, after a call and in loops. These are: the beginnings
of all functions, and all lines of this package.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from inspect import CO_GENERATOR
from typing import Any


def interrupt_at(moment: int, action: Callable[[], Any]) -> bool:
    """Run an action, and raise KeyboardInterrupt at its n-th moment.

    Returns
    -------
    interrupted : bool
        False if the action ended before. A callback of the garbage collector may swallow one.
    """
    left = moment

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        ours = "/sfumato/" in frame.f_code.co_filename
        # An error in the trace of a generator that goes on would leave out its "finally".
        begins = event == "call" and not frame.f_code.co_flags & CO_GENERATOR
        if begins or (event == "line" and ours):
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace if ours else None

    gc.freeze()  # So that what follows is collected quickly.
    former = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(former)
        gc.collect()  # Frames of the exception may hold what is closed with them.
        gc.unfreeze()
    return left <= 0
