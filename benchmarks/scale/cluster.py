"""A dask cluster on this machine, and data on its workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.scale.files import N_CLUSTERS, N_FEATURES, true_centers


@contextmanager
def workers(count: int) -> Iterator[Any]:
    """Client of a cluster of ``count`` single-thread processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def block(number: int, size: int) -> np.ndarray:
    """Rows of a chunk, float32; the same wherever they are made."""
    rng = np.random.default_rng([2, number])
    rows = rng.standard_normal((size, N_FEATURES), dtype=np.float32)
    rows += true_centers()[rng.integers(N_CLUSTERS, size=size)]
    return rows


def chunk_sizes(n_rows: int, n_chunks: int) -> list[int]:
    return np.diff(np.linspace(0, n_rows, n_chunks + 1).astype(int)).tolist()


def rows_on_workers(n_rows: int, n_chunks: int) -> Any:
    """Dask array whose chunks are in the memory of the workers."""
    import dask.array as da
    from dask import delayed
    from distributed import wait

    make = delayed(block, pure=True)
    sizes = chunk_sizes(n_rows, n_chunks)
    parts = [
        da.from_delayed(make(number, size), (size, N_FEATURES), dtype=np.float32)
        for number, size in enumerate(sizes)
    ]
    rows = da.concatenate(parts).persist()
    wait(rows)
    return rows


def rows_here(n_rows: int, n_chunks: int) -> np.ndarray:
    """The same rows in this process."""
    sizes = chunk_sizes(n_rows, n_chunks)
    return np.concatenate([block(number, size) for number, size in enumerate(sizes)])
