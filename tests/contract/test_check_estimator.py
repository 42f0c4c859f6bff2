"""scikit-learn's own checks, none excused, for every public estimator and combinations of parts.

They pass with four clusters and two starts, and with the default parameters. Of the latter, two
cannot: for any estimator with ``predict_proba`` they expect four columns, for the four classes of a
target, and the default is eight clusters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import sfumato
from sfumato import (
    L21,
    REFCMFS,
    RSFKM,
    Capped,
    CappedREFCMFS,
    ClusterOutlierDetector,
    FuzzyClustering,
    FuzzyCMeans,
    KMedoids,
    LandmarkSpectralClustering,
    LandmarkSpectralEmbedding,
    Power,
    Simplex,
    SimREFCMFS,
    TablePreparer,
)
from tests.catalogue import whatever_results

SIZE = {"n_clusters": 4, "n_init": 2}
PRESETS = [
    REFCMFS(**SIZE),
    CappedREFCMFS(**SIZE),
    SimREFCMFS(**SIZE),
    RSFKM(**SIZE),
    FuzzyCMeans(**SIZE),
]
COMBINATIONS = [
    FuzzyClustering(**SIZE, loss=loss, membership=membership)
    for loss in ("squared", L21(), Capped(cap=2.0))
    for membership in ("hard", Power(fuzzifier=1.5), Simplex(gamma=0.5))
] + [
    FuzzyClustering(**SIZE),
    FuzzyClustering(**SIZE, loss="squared", membership="hard", init="random"),
    FuzzyClustering(**SIZE, loss="squared", membership="hard", init="robust"),
    RSFKM(**SIZE, loss="capped", gamma=0.5),
]
OTHERS = [
    ClusterOutlierDetector(),
    ClusterOutlierDetector(contamination=0.1),
    ClusterOutlierDetector(loss="capped"),
    KMedoids(4),
    KMedoids(4, init="random"),
    LandmarkSpectralClustering(3, n_init=2),
    LandmarkSpectralEmbedding(2),
    LandmarkSpectralEmbedding(2, landmarks="random", n_landmarks=8, normalize=False),
    TablePreparer(),
]


# On the checks' structureless data, fits are warned about.
@whatever_results
@parametrize_with_checks(PRESETS + COMBINATIONS + OTHERS)
def test_check(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)


DEFAULTS = [type(estimator)() for estimator in PRESETS] + [FuzzyClustering()]
FOUR_COLUMNS = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "expects as many columns of predict_proba as y has classes, though y is ignored",
)


# Some checks also give fewer distinct rows than the eight clusters.
@whatever_results
@parametrize_with_checks(DEFAULTS, expected_failed_checks=lambda _: FOUR_COLUMNS)
def test_check_of_defaults(
    estimator: BaseEstimator, check: Callable[[BaseEstimator], None]
) -> None:
    check(estimator)


@whatever_results
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("estimator", DEFAULTS, ids=lambda each: type(each).__name__)
def test_defaults_on_sparse_rows(estimator: BaseEstimator, container: Callable[..., Any]) -> None:
    """The two checks that cannot pass, with the columns that are right."""
    X = np.random.RandomState(0).uniform(size=(40, 3))
    X[X < 0.6] = 0
    model = clone(estimator).set_params(random_state=0).fit(container(X))
    assert model.predict(container(X)).shape == (40,)
    assert model.predict_proba(container(X)).shape == (40, 8)


def test_every_public_estimator_is_checked() -> None:
    public = {
        cls
        for cls in vars(sfumato).values()
        if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and hasattr(cls, "fit")
    }
    assert public == {type(estimator) for estimator in PRESETS + COMBINATIONS + OTHERS}
