"""Signals that end the command: one line, an exit code, and no unfinished files.

The handler ends the process. An exception in its place would come as an ImportError from a module
that is being loaded, be lost in callbacks of the garbage collector, or wait for threads.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

ENDINGS = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "ended with its terminal",
}
"""Signals that end the command, and what they do to it."""

RESTORED_TERMINAL = "\r\x1b[J\x1b[?25h"
"""Erases a progress bar from the present line on, and shows the cursor."""


def ending_line(number: int) -> str:
    """What is printed when the command is ended by a signal."""
    return f"sfumato: {ENDINGS[signal.Signals(number)]}; no unfinished files are left.\n"


def end_on_signals() -> None:
    """From now on, end this process at a signal; signals that are ignored stay so, as by nohup."""
    if threading.current_thread() is not threading.main_thread():
        return  # Handlers are for the main thread to set; the caller's stay.
    for number in ENDINGS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, frame: Any) -> None:
    for other in ENDINGS:
        signal.signal(other, signal.SIG_IGN)  # The first one counts.
    # Not imported here: it may be what is being imported, and has then written nothing.
    undo = getattr(sys.modules.get("sfumato.files"), "undo_unfinished", None)
    if undo is not None:
        undo()
    with suppress(OSError):  # There may be no terminal any more.
        os.write(2, ((RESTORED_TERMINAL if os.isatty(2) else "") + ending_line(number)).encode())
    os._exit(128 + number)
