"""No empty cluster is returned in silence: whatever the loss, the rule, the storage, the start."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sfumato import FuzzyClustering, stream
from sfumato.exceptions import (
    CoincidentCentersWarning,
    CollapseWarning,
    EmptyClusterWarning,
)
from tests.catalogue import (
    N_CLUSTERS,
    blobs,
    every_distinct_loss,
    every_membership,
    sparse_blobs,
    start_near,
)

SAID = (EmptyClusterWarning, CoincidentCentersWarning, CollapseWarning)
STORAGES = {
    "dense": lambda X: X,
    "csr": sp.csr_array,
    "stream": lambda X: stream(X, chunk_rows=17),
}


def shared(X: np.ndarray, seed: int) -> np.ndarray:
    """Centers of which three are almost one, and one is far away."""
    start = start_near(X, seed=seed)
    start[1:3] = start[0] + 1e-3 * np.arange(1, 3)[:, None]
    start[4] = X.mean(axis=0) + 30.0
    return start


@pytest.mark.parametrize("storage", STORAGES)
@every_distinct_loss
@every_membership
def test_an_empty_cluster_is_said(storage: str, loss: Any, membership: Any) -> None:
    for seed in range(3):
        X = (sparse_blobs if storage == "csr" else blobs)(60, 4, seed=seed)
        model = FuzzyClustering(
            N_CLUSTERS, loss=loss, membership=membership, init=shared(X, seed), max_iter=1000
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(STORAGES[storage](X))
        if (np.bincount(np.asarray(model.labels_), minlength=N_CLUSTERS) == 0).any():
            assert any(issubclass(each.category, SAID) for each in caught)
            assert any(each.category in SAID for each in model.outcome_.warnings)


@pytest.mark.parametrize("storage", STORAGES)
@every_distinct_loss
def test_a_hard_fit_has_no_empty_cluster(storage: str, loss: Any) -> None:
    for seed in range(5):
        X = (sparse_blobs if storage == "csr" else blobs)(60, 4, seed=seed)
        model = FuzzyClustering(N_CLUSTERS, loss=loss, membership="hard", init=shared(X, seed))
        labels = np.asarray(model.fit(STORAGES[storage](X)).labels_)
        assert (np.bincount(labels, minlength=N_CLUSTERS) > 0).all()
