"""scikit-learn's own checks, none excused, for every public estimator and combinations of parts.

The instances have four clusters and two starts. scikit-learn checks its clusterers with few, too:
some checks pass data with four distinct rows, where more clusters are an error by design. And for
any estimator with ``predict_proba`` one check expects four columns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import sfumato
from sfumato import (
    L21,
    REFCMFS,
    RSFKM,
    Capped,
    CappedREFCMFS,
    FuzzyClustering,
    FuzzyCMeans,
    KMedoids,
    LandmarkSpectralClustering,
    LandmarkSpectralEmbedding,
    Power,
    Simplex,
    SimREFCMFS,
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
    KMedoids(4),
    KMedoids(4, init="random"),
    LandmarkSpectralClustering(3, n_init=2),
    LandmarkSpectralEmbedding(2),
    LandmarkSpectralEmbedding(2, landmarks="random", n_landmarks=8, normalize=False),
]


# On the checks' structureless data some combinations need more than the default iterations.
@pytest.mark.filterwarnings("ignore:.*Stopped at `max_iter`")
@whatever_results
@parametrize_with_checks(PRESETS + COMBINATIONS + OTHERS)
def test_check(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)


def test_every_public_estimator_is_checked() -> None:
    public = {
        cls
        for cls in vars(sfumato).values()
        if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and hasattr(cls, "fit")
    }
    assert public == {type(estimator) for estimator in PRESETS + COMBINATIONS + OTHERS}
