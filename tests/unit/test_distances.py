"""Squared distances keep their digits in every storage."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from sfumato import _distances as distances
from sfumato._distances import squared_distances


@pytest.mark.parametrize("n_features", [3, 60, 300])
@pytest.mark.parametrize("kinds", ["dense dense", "csr csr", "csr dense"])
@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-7, 1e-3, 1.0])
def test_distances_keep_their_digits(n_features: int, kinds: str, gap: float) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, n_features)) * (rng.random((20, n_features)) < 0.5)
    A[:3] *= 1e6  # Outliers among the rows.
    # Some pairs are close: a row of B is one of A, and a little more.
    B = np.vstack(
        [A[::2] + gap * rng.normal(size=(10, n_features)), rng.normal(size=(5, n_features))]
    )
    make = {"dense": np.asarray, "csr": sp.csr_array}
    first, second = (make[kind](rows) for kind, rows in zip(kinds.split(), (A, B), strict=True))
    assert_allclose(squared_distances(first, second), cdist(A, B, "sqeuclidean"), rtol=1e-9)


def test_crowded_rows_are_measured_by_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 100))
    tight = np.vstack([1e9 + X[:15], -1e9 + X[15:]])
    assert_allclose(squared_distances(tight, tight), cdist(tight, tight, "sqeuclidean"), rtol=1e-12)
    # The same, one close pair after the other.
    monkeypatch.setattr(distances, "CROWDED", 1.0)
    assert_allclose(squared_distances(tight, tight), cdist(tight, tight, "sqeuclidean"), rtol=1e-9)
