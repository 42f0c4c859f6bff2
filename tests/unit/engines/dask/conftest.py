"""A cluster of two worker processes, started once."""

from __future__ import annotations

from collections.abc import Iterator

import distributed
import pytest


@pytest.fixture(scope="session")
def cluster() -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=":0",
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: distributed.LocalCluster) -> Iterator[distributed.Client]:
    """Client that is active during a test; its workers are there when it begins."""
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=180)
        yield client
