"""Reading ahead: a thread makes the next items while the present one is in use."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class BoundedQueue(Generic[T]):
    """A queue with room for few items, at which nobody waits once it is closed."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, item: T) -> bool:
        """Add an item as soon as there is room; False if the shelf was closed instead."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._room)
            if not self._closed:
                self._items.append(item)
                self._changed.notify_all()
            return not self._closed

    def take(self) -> T:
        """The oldest item, as soon as there is one."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._items) > 0)
            self._changed.notify_all()
            return self._items.popleft()

    def close(self) -> None:
        """Drop the items, and let nobody wait for room."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()


def read_ahead(make: Callable[[], Iterator[T]], ahead: int) -> Generator[T, None, None]:
    """Items of an iterator that runs in a thread of its own, up to ``ahead`` of them waiting.

    What the iterator raises is raised here, after the items before it. Closing this generator
    closes the iterator, at the latest when the item is made that is being made.
    """
    # An item, an error, or the end, told apart by their first entry.
    shelf: BoundedQueue[tuple[str, Any]] = BoundedQueue(ahead)
    thread = threading.Thread(
        target=_fill, args=(shelf, make), name="sfumato-read-ahead", daemon=True
    )
    thread.start()
    try:
        while True:
            kind, item = shelf.take()
            if kind == "end":
                return
            if kind == "error":
                raise item
            yield item
            del item  # Its memory is free while the next one is waited for.
    finally:
        shelf.close()
        thread.join()


def _fill(shelf: BoundedQueue[tuple[str, Any]], make: Callable[[], Iterator[T]]) -> None:
    """Put the items on the shelf, then the end or the error; stop if the shelf is closed."""
    try:
        items = make()
        try:
            for item in items:
                if not shelf.put(("item", item)):
                    return
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()
    except BaseException as error:
        shelf.put(("error", error))
    else:
        shelf.put(("end", None))
