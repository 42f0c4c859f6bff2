"""The same fit on an array, a stream and dask, whoever the scheduler is; results stay lazy."""

from __future__ import annotations

import os
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
import scipy.sparse as sp

from sfumato import REFCMFS, Capped, FuzzyClustering, Hard, Power, Simplex
from sfumato._data import Chunk
from sfumato._engines.dask import DaskRunner
from sfumato._engines.dask_graph import FAN_IN, TASKS_PER_THREAD, group_chunks, split_group
from sfumato._engines.passes import Total
from sfumato.streams import stream
from tests.catalogue import (
    blobs,
    each,
    every_loss,
    row_weights,
    sparse_blobs,
    start_near,
    whatever_results,
)
from tests.unit.engines.dask.clusters import idle

SIZES = (70, 1, 0, 129, 100)
"""Chunks of 300 rows."""
FEW_MEMBERSHIPS = [Hard(), Power(2, 1.5), Simplex(gamma=5.0), Simplex(n_active=2)]


def made(init: Any, **parameters: Any) -> FuzzyClustering:
    chosen = {"membership": Power(2, 1.5), "max_iter": 8, "tol": 1e-12, **parameters}
    return FuzzyClustering(len(init), init=init, **chosen)


def chunked(rows: Any) -> da.Array:
    return da.from_array(rows, chunks=(SIZES, -1))


def assert_same(one: Any, other: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=tolerance)
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=tolerance)


def assert_bits(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert one.objective_ == other.objective_


ignore_iterations = pytest.mark.filterwarnings(
    "ignore:FuzzyClustering.*max_iter:sklearn.exceptions.ConvergenceWarning"
)


@whatever_results
@ignore_iterations
@every_loss
@each("membership", FEW_MEMBERSHIPS)
def test_the_same_as_in_memory_and_from_a_stream(loss: Any, membership: Any) -> None:
    X, weights = blobs(300), row_weights(300)
    model = made(start_near(X), loss=loss, membership=membership)
    in_memory = model.fit(X, sample_weight=weights)
    parts = [part for part in np.split(X, np.cumsum(SIZES)[:-1]) if len(part)]
    streamed = made(start_near(X), loss=loss, membership=membership)
    streamed.fit(stream(lambda: iter(parts)), sample_weight=weights)
    model = made(start_near(X), loss=loss, membership=membership)
    with dask.config.set(scheduler="sync"):
        model.fit(chunked(X), sample_weight=da.from_array(weights, chunks=77))
    assert_same(model, in_memory)
    assert_same(model, streamed)


@ignore_iterations
@pytest.mark.slow
def test_the_same_bits_by_any_scheduler(client: distributed.Client) -> None:
    X = blobs(300)
    init = start_near(X)
    array = chunked(X)
    with dask.config.set(scheduler="sync"):
        expected = made(init).fit(array)
    with dask.config.set(scheduler="threads", num_workers=3):
        assert_bits(made(init).fit(array), expected)
    two = made(init).fit(array)
    assert_bits(two, expected)
    assert_bits(made(init).fit(array.persist()), expected)
    with dask.annotate(workers=[next(iter(client.nthreads()))]):
        assert_bits(made(init).fit(array), expected)
    np.testing.assert_array_equal(two.labels_.compute(), expected.labels_.compute())
    entries = two.memberships_.compute() - expected.memberships_.compute()
    assert entries.nnz == 0


@ignore_iterations
def test_partly_persisted_data_and_weights_at_hand(client: distributed.Client) -> None:
    X, weights = blobs(300), row_weights(300)
    expected = made(start_near(X)).fit(2 * X / 2, sample_weight=weights)
    partly = 2 * chunked(X).persist() / 2
    assert_same(made(start_near(X)).fit(partly, sample_weight=weights), expected)


def test_a_seeded_fit_repeats_to_the_bit(client: distributed.Client) -> None:
    array = chunked(blobs(300))
    first = REFCMFS(5, random_state=0).fit(array)
    with dask.config.set(scheduler="threads"):
        second = REFCMFS(5, random_state=0).fit(array)
    assert_bits(first, second)
    assert first.n_iter_ == second.n_iter_


@pytest.mark.slow
def test_seeds_from_sorted_chunks_are_as_good() -> None:
    """200 chunks sorted by cluster: the median final objective is that of a fit at hand."""
    rng = np.random.default_rng(0)
    middles = rng.uniform(-20, 20, size=(8, 2))
    X = np.concatenate([middle + rng.normal(size=(2500, 2)) for middle in middles])
    array = da.from_array(X, chunks=(100, 2))
    with dask.config.set(scheduler="sync"):
        apart = [REFCMFS(8, random_state=seed).fit(array).objective_ for seed in range(10)]
    in_memory = [REFCMFS(8, random_state=seed).fit(X).objective_ for seed in range(10)]
    assert np.median(apart) <= 1.01 * np.median(in_memory)


# Laziness.


def forbidden(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("something was computed")


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_results_are_lazy_and_chunked_like_the_rows(storage: Any) -> None:
    X = sparse_blobs(300)
    array = chunked(X).map_blocks(storage, dtype=X.dtype, meta=storage(np.empty((0, 6))))
    in_memory = FuzzyClustering(5, loss=Capped(4.0), init=start_near(X)).fit(storage(X))
    model = FuzzyClustering(5, loss=Capped(4.0), init=start_near(X)).fit(array)
    with dask.config.set(scheduler=forbidden):
        results = {
            "labels_": model.labels_,
            "memberships_": model.memberships_,
            "outlier_scores_": model.outlier_scores_,
            "outliers_": model.outliers_,
        }
        asked = ["predict", "predict_membership", "predict_proba", "transform", "score_outliers"]
        results |= {name: getattr(model, name)(array) for name in asked}
        marked = model.predict(array, mark_outliers=True)
    for name, lazy in results.items():
        expected = getattr(in_memory, name) if name.endswith("_") else getattr(in_memory, name)(X)
        assert isinstance(lazy, da.Array), name
        assert lazy.chunks[0] == SIZES, name
        assert lazy.shape == expected.shape, name
        assert lazy.dtype == expected.dtype, name
        found = lazy.compute(scheduler="sync")
        assert isinstance(found, type(expected)), name
        if sp.issparse(found):
            found, expected = found.toarray(), expected.toarray()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)
    np.testing.assert_array_equal(marked, in_memory.predict(X, mark_outliers=True))
    np.testing.assert_allclose(model.score(array), in_memory.score(X), rtol=1e-10)


def test_lazy_results_come_from_workers(client: distributed.Client) -> None:
    X = blobs(300)
    model = FuzzyClustering(5, init=start_near(X)).fit(X)
    array = chunked(X)
    np.testing.assert_array_equal(model.predict(array).compute(), model.labels_)
    found = model.predict_membership(array)[100:].compute()
    assert found.shape == (200, 5)


# What goes where.

received = 0
"""Copies of a heavy pass that came to this process."""


class Heavy:
    """A pass that counts how often it is unpacked."""

    def __reduce__(self) -> Any:
        return unpacked, ()

    def __call__(self, chunk: Chunk) -> Total:
        return Total([(os.getpid(), received)])


def unpacked() -> Heavy:
    global received
    received += 1
    return Heavy()


def test_centers_go_to_each_worker_once(client: distributed.Client) -> None:
    runner = DaskRunner(da.zeros((40, 1 << 17), chunks=(1, -1)))
    found = runner.reduce(Heavy()).value
    assert len(found) == 40, "a result per chunk"
    most = dict(sorted(found))
    assert len(most) == 2, "both workers had chunks"
    assert max(most.values()) <= 3, "and not a copy per chunk"
    assert idle(client)


# Groups and the order of adding.


def test_a_task_works_on_chunks_that_are_held_together() -> None:
    assert group_chunks(3, 1, None) == [[0], [1], [2]]
    assert group_chunks(9, 1, None) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert group_chunks(6, 1, "abaabb") == [[0, 2], [3], [1, 4], [5]]
    for n_threads in (1, 2, 40):
        groups = group_chunks(10_000, n_threads, None)
        assert len(groups) <= TASKS_PER_THREAD * n_threads
        assert [number for group in groups for number in group] == list(range(10_000))


def test_small_chunks_are_loaded_together() -> None:
    assert split_group([0, 1, 2], None, 1.0) == [[0], [1], [2]]
    assert split_group([0, 1, 2], [5, 5, 5], 1e6) == [[0], [1], [2]]
    assert split_group([0, 2], [5, 0, 5], 1.0) == [[0, 2]]
    assert split_group([0, 1, 2], [1, 1, 1], 5e5) == [[0, 1], [2]]
    assert [len(part) for part in split_group(range(130), [1] * 130, 1.0)] == [64, 64, 2]


class Order:
    """A sum that remembers how it was added."""

    def __call__(self, chunk: Chunk) -> Total:
        return Total([chunk.number])


class Nested:
    """Brackets of the sum: the order in which things were added."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __add__(self, other: Nested) -> Nested:
        return Nested(f"({self.words}+{other.words})")


def bracket(chunk: Chunk) -> Nested:
    return Nested(str(chunk.number))


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
@pytest.mark.parametrize("tasks", [1, 3, 100])
def test_the_order_of_adding_is_fixed(
    tasks: int, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen chunks, then such sums, whatever the number of tasks; chunk 3 has no rows."""
    monkeypatch.setattr("sfumato._engines.dask_graph.TASKS_PER_THREAD", tasks)
    sizes = [1 if number != 3 else 0 for number in range(20)]
    array = da.zeros((19, 2), chunks=(tuple(sizes), -1))

    def added(parts: list[str]) -> str:
        total = parts[0]
        for part in parts[1:]:
            total = f"({total}+{part})"
        return total

    first = [str(number) for number in range(FAN_IN) if sizes[number]]
    rest = [str(number) for number in range(FAN_IN, 20)]
    with dask.config.set(scheduler=scheduler):
        assert DaskRunner(array).reduce(bracket).words == added([added(first), added(rest)])


def test_blocks_keep_their_numbers() -> None:
    sizes = (0, 2, 0, 3) * 20
    array = da.ones((100, 2), chunks=(sizes, -1))
    found = DaskRunner(array).reduce(Order()).value
    assert found == [number for number, size in enumerate(sizes) if size]
