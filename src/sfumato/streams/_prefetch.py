"""Prefetching: an iterator that runs in a thread of its own, ahead of its consumer.

Every thread is joined: when the consumer ends, is interrupted or raises, and before the interpreter
shuts down. A thread that came later would be ended inside compiled code, which aborts the process.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Generator, Iterator
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Prefetcher(Generic[T]):
    """A thread that runs an iterator, at most ``ahead`` items before the consumer.

    The queues are those without Python code: an interrupt cannot leave a lock of theirs taken.

    Parameters
    ----------
    make : callable
        Returns the iterator; called in the thread.
    ahead : int
        Items that may wait.
    """

    def __init__(self, make: Callable[[], Iterator[T]], ahead: int) -> None:
        self._make = make
        self._closed = False
        # Pairs ("item", item), ("error", error) or ("end", None).
        self._results: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(ahead):
            self._room.put(None)
        # A daemon, since an open pass must not keep the interpreter alive; see ``_stop_all``.
        self._thread = Thread(target=self._run, name="sfumato-read-ahead", daemon=True)

    def start(self) -> None:
        """Start the thread; after an interrupt in here, ``stop`` still ends it."""
        _running.add(self)
        try:
            self._thread.start()
        except RuntimeError as error:
            raise error.__context__ or error from None  # An interrupt among its locks.

    def take(self) -> tuple[str, Any]:
        """Kind and value of the next result, waiting for one."""
        result = self._results.get()
        self._room.put(None)
        return result

    def stop(self) -> None:
        """Wait until the thread has ended, after the item that is being made."""
        self._closed = True
        self._room.put(None)
        # A thread that is not alive although its start was begun will find that all is closed.
        if self._thread.is_alive():
            self._thread.join()
        _running.discard(self)

    def _run(self) -> None:
        try:
            items = iter(()) if self._closed else self._make()
            try:
                for item in items:
                    self._room.get()
                    if self._closed:
                        return
                    self._results.put(("item", item))
                    del item  # Frees its memory while the next one is made.
            finally:
                close = getattr(items, "close", None)
                if close is not None:
                    close()
        except BaseException as error:
            self._results.put(("error", error))
        else:
            self._results.put(("end", None))


_running: set[Prefetcher[Any]] = set()
"""Prefetchers that may have a thread."""


@atexit.register
def _stop_all() -> None:
    """End passes that were left open, or whose end was interrupted."""
    for each in list(_running):
        each.stop()


def read_ahead(make: Callable[[], Iterator[T]], ahead: int) -> Generator[T, None, None]:
    """Items of an iterator that runs in its own thread and prefetches up to ``ahead`` items.

    An error of the iterator is raised here, after the items before it. Closing this generator
    closes the iterator, after the item that is being made.
    """
    prefetcher = Prefetcher(make, ahead)
    try:
        prefetcher.start()
        while True:
            kind, item = prefetcher.take()
            if kind == "end":
                return
            if kind == "error":
                raise item
            yield item
            del item  # Frees its memory before the next one is waited for.
    finally:
        prefetcher.stop()
