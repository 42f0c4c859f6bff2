"""Estimators that the contract is tested on, and what their tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from sfumato import (
    REFCMFS,
    RSFKM,
    Capped,
    CappedREFCMFS,
    FuzzyClustering,
    FuzzyCMeans,
    Power,
    Simplex,
    SimREFCMFS,
)
from tests.catalogue import each

ESTIMATORS = [
    REFCMFS(4, n_active=3, random_state=0),
    CappedREFCMFS(4, random_state=0),
    SimREFCMFS(4, n_active=2, random_state=0),
    RSFKM(4, gamma=2.0, random_state=0),
    FuzzyCMeans(4, random_state=0),
    FuzzyClustering(4, loss=Capped(3.0), membership=Power(2, 1.3), random_state=0),
    FuzzyClustering(4, loss="squared", membership="hard", random_state=0),
    FuzzyClustering(4, loss="l21", membership=Simplex(n_active=2), random_state=0, max_iter=1000),
]
METHODS = (
    "predict",
    "predict_membership",
    "predict_proba",
    "transform",
    "score",
    "score_samples",
    "score_outliers",
    "outlier_probability",
    "objective",
)
"""Methods of fitted estimators that take rows."""
every_estimator = each("estimator", ESTIMATORS, ids=lambda e: "-".join(describe(e)))


def describe(estimator: BaseEstimator) -> list[str]:
    """Name of the estimator and of its parts."""
    parts = [getattr(estimator, name, "") for name in ("loss", "membership")]
    names = [part if isinstance(part, str) else type(part).__name__ for part in parts]
    return [type(estimator).__name__, *(n for n in names if n not in ("", "method"))]


def fitted_state(estimator: BaseEstimator) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}


def assert_labels_have_the_largest_share(memberships: sp.csr_array, labels: np.ndarray) -> None:
    """Not the only one, where a capped loss makes several centers alike."""
    dense = memberships.toarray()
    assert_array_equal(dense[np.arange(len(labels)), labels], dense.max(axis=1))
