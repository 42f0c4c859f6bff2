"""Results from a cluster: waited for, but neither in vain nor for ever."""

# mypy: allow-untyped-calls
# dask annotates some of its functions only.

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import dask
import joblib
from dask.base import get_scheduler
from dask.utils import parse_timedelta

TIMEOUT = "sfumato.worker-timeout"
"""Name in dask's configuration: how long a pass may find no worker at all."""
PATIENCE = 60.0
"""Seconds after which the fetching of a result that is there is looked into."""


def compute(graph: Mapping[Any, Any], key: Any, cls: type) -> Any:
    """Value of a key, by whatever scheduler is active; ``cls`` has the one to fall back on."""
    schedule = get_scheduler(cls=cls)
    client = client_of(schedule)
    return schedule(graph, key) if client is None else _from_cluster(client, dict(graph), key)


def where_held(
    schedule: Any, keys: Sequence[Any], futures: Mapping[Any, Any]
) -> tuple[int, tuple[Any, ...] | None]:
    """Threads of whoever will do the work, and which worker holds each key, if all are held."""
    client = client_of(schedule)
    if client is None:
        return joblib.cpu_count(), None
    threads = sum(client.nthreads().values())
    if not all(key in futures for key in keys):
        return max(1, threads), None
    held = client.who_has([futures[key] for key in keys])
    names = {key: min(workers, default=None) for key, workers in held.items()}
    return max(1, threads), tuple(names.get(futures[key].key) for key in keys)


def client_of(schedule: Any) -> Any:
    """Client of a cluster whose scheduler this is; None for dask's own schedulers."""
    owner = getattr(schedule, "__self__", None)
    return owner if owner is not None and hasattr(owner, "scheduler_info") else None


def _from_cluster(client: Any, graph: dict[Any, Any], key: Any) -> Any:
    """Value of a key; whatever happens, nothing is left running for it."""
    limit = parse_timedelta(dask.config.get(TIMEOUT, "30s"))
    with _thread_given_up():
        future = client.get(graph, key, sync=False)
        try:
            return _wait(client, future, limit)
        except BaseException:
            # The scheduler may be what is lost. It must not hold up the news.
            with suppress(Exception):
                client.cancel([future], force=True)
            raise
        finally:
            future.release()


def _wait(client: Any, future: Any, limit: float) -> Any:
    from distributed import CancelledError

    pause = min(1.0, limit / 4)
    seen = time.monotonic()
    while True:
        try:
            return future.result(timeout=PATIENCE if future.done() else pause)
        except TimeoutError:
            if future.status == "error":
                raise  # The task's own.
        except CancelledError as error:
            raise RuntimeError(_lost(client)) from error
        if client.status not in ("running", "connecting"):
            raise RuntimeError(_lost(client))
        try:
            present = bool(client.nthreads())
        except (OSError, ValueError, RuntimeError) as error:
            raise RuntimeError(_lost(client)) from error
        now = time.monotonic()
        if present:
            seen = now
        elif now - seen > limit:
            raise RuntimeError(
                f"The cluster of {client} has had no workers for {limit:g} s, so that the pass "
                "cannot go on. Start workers and fit again; if they need longer to come back, "
                f"raise the limit with dask.config.set({{{TIMEOUT!r}: '5 minutes'}})."
            )


def _lost(client: Any) -> str:
    return (
        f"The scheduler of {client} is gone, or has cancelled the pass (its client is "
        f"{client.status}). Check that the scheduler runs, connect a new Client and fit again."
    )


@contextmanager
def _thread_given_up() -> Iterator[None]:
    """Inside a task, let another have its thread while it waits for tasks of its own."""
    from distributed import get_worker, rejoin, secede

    inside = True
    try:
        get_worker()
        secede()
    except ValueError:
        inside = False
    try:
        yield
    finally:
        if inside:
            rejoin()
