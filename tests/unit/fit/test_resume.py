"""Fits in processes that are killed with -9: started again, they end with the same bits."""

from __future__ import annotations

import multiprocessing
import random
import resource
import time
import warnings
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sfumato import REFCMFS
from sfumato._engines.native import NativeEngine
from sfumato._fit import checkpoint as checkpoints
from sfumato.streams import stream

# Real processes, forked from one that has imported everything and done nothing yet.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.unit.fit.test_resume"])
ROWS = np.random.default_rng(0).normal(size=(200, 3))
LONG = 400.0
"""Seconds after which an event that must come counts as missed."""
MOST_PASSES = 8
"""Passes after the first state that is written, of a fit that is to be killed. Some 150 are made in
all, so that it can be killed several times."""


def fit(kind: str, folder: Path, pause: float, resumable: bool, full: bool) -> None:
    """What a process does: passes are slow, and states are written after each of them."""
    checkpoints.LEAST_PAUSE = checkpoints.PAUSE_PER_WRITE = 0.0
    rows = folder / "rows.npy"
    sweep = NativeEngine.sweep
    path = folder / "state" if resumable else None
    before = stamp(folder / "state")
    passes = 0

    def slow(engine: NativeEngine, centers: Any) -> Any:
        nonlocal passes
        passes += stamp(folder / "state") != before
        # Whoever is to be killed waits for that, however slow the killer is.
        time.sleep(LONG if pause and passes > MOST_PASSES else pause)
        return sweep(engine, centers)

    NativeEngine.sweep = slow  # type: ignore[method-assign] # of this process alone
    model = REFCMFS(4, init="random", n_init=2, acceleration=None, fuzzifier=1.5, tol=1e-12)
    model.set_params(n_active=3, random_state=0, n_threads=1, checkpoint=path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if full:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        model.fit(np.load(rows) if kind == "array" else stream(rows, chunk_rows=100))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert full == any("cannot be written" in str(warning.message) for warning in caught)
    np.savez(folder / "found", centers=model.cluster_centers_, objective=model.objective_,
             objectives=[record.objective for record in model.history_])  # fmt: skip


def start(
    kind: str, folder: Path, pause: float = 0.0, resumable: bool = True, full: bool = False
) -> BaseProcess:
    """A fit in a process of its own."""
    process = PROCESSES.Process(target=fit, args=(kind, folder, pause, resumable, full))
    process.start()
    return process


def finish(process: BaseProcess, folder: Path) -> dict[str, Any]:
    """What a fit has found."""
    process.join(LONG)
    assert process.exitcode == 0
    with np.load(folder / "found.npz") as archive:
        found = dict(archive)
    (folder / "found.npz").unlink()
    return found


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        assert_array_equal(found[name], value, err_msg=name, strict=True)


def stamp(path: Path) -> Any:
    """Something that another write changes."""
    return (path.stat().st_mtime_ns, path.stat().st_ino) if path.exists() else None


def kill_after_progress(process: BaseProcess, folder: Path, wait: float) -> None:
    """Kill a fit, some time after it has written its state."""
    path = folder / "state"
    before, until = stamp(path), time.monotonic() + LONG
    try:
        while stamp(path) == before:
            assert process.is_alive(), "it ended before it could be killed"
            assert time.monotonic() < until
            time.sleep(0.002)
        time.sleep(wait)
        assert process.is_alive(), "it ended before it could be killed"
    finally:
        process.kill()
        process.join()
    assert not (folder / "found.npz").exists()


@pytest.mark.parametrize("kind", ["array", "stream"])
@pytest.mark.slow
def test_killed_fits_end_with_the_same_bits(kind: str, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", ROWS)
    expected = finish(start(kind, tmp_path, resumable=False), tmp_path)
    moments = random.Random(0)
    for _ in range(4):
        kill_after_progress(start(kind, tmp_path, 0.02), tmp_path, moments.uniform(0, 0.1))
    assert_same(finish(start(kind, tmp_path), tmp_path), expected)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_files_that_may_not_grow(tmp_path: Path) -> None:
    """As on a full disk: the fit goes on, and the former file is whole."""
    np.save(tmp_path / "rows.npy", ROWS)
    expected = finish(start("array", tmp_path, resumable=False), tmp_path)
    kill_after_progress(start("array", tmp_path, 0.02), tmp_path, 0.05)
    for left in tmp_path.glob(".*"):
        left.unlink()
    content = (tmp_path / "state").read_bytes()
    assert_same(finish(start("array", tmp_path, full=True), tmp_path), expected)
    assert (tmp_path / "state").read_bytes() == content
    assert not list(tmp_path.glob(".*"))
    assert_same(finish(start("array", tmp_path), tmp_path), expected)
