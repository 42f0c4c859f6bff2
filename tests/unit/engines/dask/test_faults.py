"""Workers that die, pause or never come back, tasks that fail, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
import pytest

from sfumato import FuzzyClustering
from sfumato._data import Chunk
from sfumato._engines.dask import DaskRunner
from tests.catalogue import blobs, start_near
from tests.unit.engines.dask.clusters import idle

N_CHUNKS = 12
X = blobs(600, 40)
# What is said about workers and connections that a test ends is no fault of the fit.
pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning",
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning",
)


def slowly(block: Any, seconds: float = 0.1) -> Any:
    time.sleep(seconds)
    return block


def slow_rows(seconds: float = 0.1) -> da.Array:
    """Rows that take a while to load, in every pass."""
    array = da.from_array(X, chunks=(len(X) // N_CHUNKS, -1))
    return array.map_blocks(slowly, seconds, dtype=X.dtype, meta=np.empty((0, 40)))


def fitted(array: Any) -> FuzzyClustering:
    return FuzzyClustering(5, membership="hard", init=start_near(X), tol=0.1).fit(array)


@pytest.fixture(autouse=True)
def one_block_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there is something left to do for every worker."""
    monkeypatch.setattr("sfumato._engines.dask_graph.TASKS_PER_THREAD", 1000)


@pytest.fixture(scope="module")
def expected() -> Any:
    with pytest.MonkeyPatch.context() as patch, dask.config.set(scheduler="sync"):
        patch.setattr("sfumato._engines.dask_graph.TASKS_PER_THREAD", 1000)
        return fitted(slow_rows(0.0))


def assert_bits(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert one.objective_ == other.objective_
    np.testing.assert_array_equal(one.labels_.compute(), other.labels_.compute(scheduler="sync"))


def later(seconds: float, action: Callable[[], Any]) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


# Workers that come back.


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_pass(
    client: distributed.Client, expected: FuzzyClustering
) -> None:
    pids = client.run(os.getpid)
    victim = next(iter(pids.values()))
    timer = later(0.6, lambda: os.kill(victim, signal.SIGKILL))
    found = fitted(slow_rows(0.05))
    assert not timer.is_alive(), "the fit was over before the worker was killed"
    assert_bits(found, expected)
    client.wait_for_workers(2, timeout=180)
    assert victim not in client.run(os.getpid).values()


@pytest.mark.slow
def test_persisted_chunks_of_a_killed_worker(
    client: distributed.Client, expected: FuzzyClustering
) -> None:
    array = slow_rows(0.02).persist()
    distributed.wait(array)
    victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, signal.SIGKILL)
    assert_bits(fitted(array), expected)
    client.wait_for_workers(2, timeout=180)


@pytest.mark.slow
def test_a_worker_paused_for_seconds(client: distributed.Client, expected: FuzzyClustering) -> None:
    victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, signal.SIGSTOP)
    timer = later(3, lambda: os.kill(victim, signal.SIGCONT))
    try:
        assert_bits(fitted(slow_rows(0.02)), expected)
    finally:
        timer.join()


# Workers that do not.


def start_worker(address: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
    return subprocess.Popen(
        [*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


@pytest.fixture
def lonely() -> Iterator[distributed.Client]:
    """Client of a cluster that nobody starts workers for."""
    with (
        distributed.LocalCluster(
            n_workers=0, processes=True, host="127.0.0.1", dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_all_workers_gone(lonely: distributed.Client) -> None:
    worker = start_worker(lonely.scheduler.address)
    try:
        lonely.wait_for_workers(1, timeout=180)
        killed: list[float] = []

        def kill() -> None:
            worker.kill()
            killed.append(time.monotonic())

        later(0.7, kill)
        with (
            dask.config.set({"sfumato.worker-timeout": "2s"}),
            pytest.raises(RuntimeError, match=r"no workers for 2 s.*sfumato\.worker-timeout"),
        ):
            fitted(slow_rows(0.3))
        assert time.monotonic() - killed[0] < 2 + 90  # The limit, and a slow machine.
        assert idle(lonely)
    finally:
        worker.kill()
        worker.wait()


@pytest.mark.slow
def test_workers_that_come_in_time(lonely: distributed.Client, expected: FuzzyClustering) -> None:
    workers: list[subprocess.Popen[bytes]] = []
    timer = later(0.5, lambda: workers.append(start_worker(lonely.scheduler.address)))
    try:
        assert_bits(fitted(slow_rows(0.0)), expected)
    finally:
        timer.join()
        for worker in workers:
            worker.kill()
            worker.wait()


LONELY_SCHEDULER = """
import asyncio
from distributed import Scheduler

async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()

asyncio.run(main())
"""


@pytest.mark.slow
def test_the_scheduler_gone() -> None:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", LONELY_SCHEDULER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
            distributed.Client(address, timeout="90s") as client,
        ):
            later(0.7, process.kill)
            began = time.monotonic()
            with pytest.raises(RuntimeError, match=r"scheduler of .* is gone"):
                DaskRunner(slow_rows()).reduce(first)
            assert time.monotonic() - began < 120
            assert client.status != "running"
    finally:
        process.kill()
        process.communicate()


def first(chunk: Chunk) -> Any:
    return float(chunk.rows[0, 0])


# Errors of tasks.


class BrokenError(Exception):
    """An error of the user's own."""


def failing(block: Any, block_id: Any = (0, 0)) -> Any:
    if block_id[0] == 7:
        raise BrokenError("chunk 7 cannot be read")
    return block


@pytest.mark.parametrize("scheduler", ["sync", "threads", "distributed"])
def test_an_error_inside_a_task(client: distributed.Client, scheduler: str) -> None:
    array = slow_rows(0.0).map_blocks(failing, dtype=float, meta=np.empty((0, 40)))
    with (
        dask.config.set(scheduler=scheduler),
        pytest.raises(BrokenError, match="chunk 7 cannot be read"),
    ):
        fitted(array)
    assert idle(client)


def test_a_timeout_of_a_task_is_its_own(client: distributed.Client) -> None:
    def late(block: Any) -> Any:
        raise TimeoutError("the disk is asleep")

    with pytest.raises(TimeoutError, match="the disk is asleep"):
        fitted(slow_rows(0.0).map_blocks(late, dtype=float, meta=np.empty((0, 40))))


@pytest.mark.slow
def test_a_fit_inside_a_task(client: distributed.Client, expected: FuzzyClustering) -> None:
    """With as many such fits as workers, each waits for tasks that need a thread."""
    array = slow_rows(0.0)

    def inside(array: Any, number: int) -> Any:
        return fitted(array).objective_

    futures = [client.submit(inside, array, number, pure=False) for number in range(2)]
    found = client.gather(futures)
    np.testing.assert_allclose(found, expected.objective_, rtol=1e-10)


# Ctrl-C.

INTERRUPTED = """
import os, sys, time
import dask.array as da, numpy as np
from distributed import Client, LocalCluster
from sfumato import FuzzyClustering

def slowly(block):
    time.sleep(0.2)
    return block

if __name__ == "__main__":
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1"}
    with LocalCluster(**options, dashboard_address=":0") as cluster, Client(cluster) as client:
        print(*client.run(os.getpid).values(), flush=True)
        rows = da.ones((4_000_000, 16), chunks=(20_000, 16)).map_blocks(slowly, dtype=float)
        try:
            FuzzyClustering(2, init=np.zeros((2, 16))).fit(rows)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            assert not client.futures
            for _ in range(1200):
                if not any(client.processing().values()):
                    break
                time.sleep(0.05)
            print(sum(map(len, client.processing().values())), flush=True)
    print("closed", flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_is_prompt_and_leaves_nothing_running(tmp_path: Any) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        workers = [int(pid) for pid in process.stdout.readline().split()]
        assert len(workers) == 2
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - sent < 60
        assert process.stdout.readline() == "0\n", "tasks are left on the cluster"
        out, err = process.communicate(timeout=180)
    finally:
        process.kill()
        process.wait()
    assert out == "closed\n", err
    assert not [pid for pid in workers if alive(pid)]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
