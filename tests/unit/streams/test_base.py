"""Reading ahead of the consumer, and ending with it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from sfumato.streams import Stream, StreamError, stream
from sfumato.streams._base import AHEAD, Chunk, Location
from tests.injected import interrupt_at

LONG = 120.0
"""Seconds after which an event that must come counts as missed."""


class Watched(Stream):
    """Chunks whose reading can be followed: an event for each that is begun."""

    def __init__(self, count: int, error_at: int | None = None) -> None:
        self.n_features, self.source = 1, "the watched source"
        self.dtype = np.dtype(float)
        self.begun = [threading.Event() for _ in range(count + 1)]
        self.closed = threading.Event()
        self._error_at = error_at

    def _read(self) -> Iterator[Chunk]:
        try:
            for index, begun in enumerate(self.begun[:-1]):
                begun.set()
                if index == self._error_at:
                    raise StreamError("a bad row")
                yield Chunk(np.full((1, 1), float(index)), None, Location("here", index))
            self.begun[-1].set()
        finally:
            self.closed.set()


def readers() -> list[threading.Thread]:
    """Threads that read; after an interrupted start, Python may list one that has ended."""
    own = (t for t in threading.enumerate() if t.name == "sfumato-read-ahead")
    return [t for t in own if t.is_alive()]


def test_the_reader_is_ahead_while_the_consumer_works() -> None:
    source = Watched(10)
    passing = source.chunks()
    for index, _ in enumerate(passing):
        # The next chunk is waiting by now, or will be, and another one is being read, while this
        # one is in use.
        assert source.begun[min(index + 1 + AHEAD, 10)].wait(LONG)
    assert index == 9


def test_the_reader_is_not_far_ahead() -> None:
    source = Watched(50)
    passing = source.chunks()
    next(passing)
    assert source.begun[1 + AHEAD].wait(LONG)
    assert len(readers()) == 1
    # It could begin the chunk after that only once there is room, that is, after another next().
    assert not source.begun[2 + AHEAD].is_set()
    passing.close()
    assert not source.begun[2 + AHEAD].is_set()


def test_nothing_runs_before_the_first_chunk_is_asked_for_or_after_the_last() -> None:
    source = Watched(3)
    passing = source.chunks()
    assert readers() == []
    assert len(list(passing)) == 3
    assert readers() == []
    assert source.closed.is_set()


def test_leaving_early_ends_the_reader() -> None:
    source = Watched(100)
    for _ in source.chunks():
        break
    assert source.closed.wait(LONG)
    assert readers() == []
    source.closed.clear()
    passing = source.chunks()
    next(passing)
    passing.close()
    assert source.closed.is_set()
    assert readers() == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_of_the_consumer_ends_the_reader(error: type[BaseException]) -> None:
    source = Watched(100)

    def consume() -> None:
        for index, _ in enumerate(source.chunks()):
            if index == 3:
                raise error("enough")

    with pytest.raises(error):
        consume()
    assert source.closed.wait(LONG)
    assert readers() == []


def test_an_error_thrown_into_a_pass_ends_the_reader() -> None:
    source = Watched(100)
    passing = source.chunks()
    next(passing)
    with pytest.raises(KeyboardInterrupt):
        passing.throw(KeyboardInterrupt())
    assert source.closed.is_set()
    assert readers() == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_at_any_moment_ends_the_reader() -> None:
    """Also while the thread starts, and while it is waited for."""
    for moment in range(1, 10_000):
        source = Watched(3)
        try:
            if not interrupt_at(moment, lambda source=source: list(source.chunks())):
                break
        finally:
            deadline = time.monotonic() + LONG
            while readers():
                assert time.monotonic() < deadline
                time.sleep(0.001)
        assert not source.begun[0].is_set() or source.closed.is_set()
    assert moment > 50, "the whole pass was tried"


ABANDONED = """
import numpy as np
import pyarrow as pa
from pyarrow import parquet
from sfumato import stream

parquet.write_table(pa.table({"a": np.arange(200_000.0)}), "rows.parquet")
passing = stream("rows.parquet", chunk_rows=100).chunks()
next(passing)
print("ended", flush=True)
"""


def test_a_pass_that_is_left_open_does_not_outlive_the_program(tmp_path) -> None:
    command = [sys.executable, "-X", "dev", "-W", "ignore", "-c", ABANDONED]
    for _ in range(3):
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LONG)
        assert (found.returncode, found.stdout, found.stderr) == (0, "ended\n", "")


@pytest.mark.parametrize("at", [0, 1, 5, 9])
def test_an_error_of_the_reader_comes_after_the_chunks_before_it(at: int) -> None:
    source = Watched(10, error_at=at)
    seen: list[int] = []
    with pytest.raises(StreamError, match="a bad row"):
        seen.extend(chunk.location.first_row for chunk in source.chunks())
    assert seen == list(range(at))
    assert readers() == []
    assert source.n_rows is None


def test_a_chunk_stays_as_it_is_until_the_next_one_is_asked_for(tmp_path) -> None:
    rows = np.random.default_rng(1).normal(size=(1000, 4))
    np.save(tmp_path / "rows.npy", rows)
    source = stream(tmp_path / "rows.npy", chunk_rows=1)
    buffers = set()
    passing = source.chunks()
    for index, chunk in enumerate(passing):
        if index % 100 == 0:  # Give the reader time to do harm.
            assert threading.Event().wait(0.002) is False
        np.testing.assert_array_equal(chunk.rows, rows[[index]])
        buffers.add(chunk.rows.ctypes.data)
    assert index == 999
    assert len(buffers) == AHEAD + 2, "buffers are used in turn"


def test_two_passes_at_the_same_time_do_not_disturb_each_other(tmp_path) -> None:
    rows = np.arange(400.0).reshape(100, 4)
    np.save(tmp_path / "rows.npy", rows)
    source = stream(tmp_path / "rows.npy", chunk_rows=7)
    for first, second in zip(source.chunks(), source.chunks(), strict=True):
        np.testing.assert_array_equal(first.rows, second.rows)
    assert readers() == []
