"""Graphs of ONNX, run by onnxruntime, say what the estimators say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sfumato
from sfumato import REFCMFS, Capped, CappedREFCMFS, FuzzyClustering, KMedoids
from sfumato.losses import Loss
from sfumato.memberships import Membership
from tests.catalogue import (
    N_CLUSTERS,
    blobs,
    each,
    every_dtype,
    every_loss,
    every_membership,
    whatever_results,
)
from tests.contract.estimators import ESTIMATORS, describe

onnxruntime = pytest.importorskip("onnxruntime")

METHODS = {
    "label": "predict",
    "memberships": "predict_proba",
    "distances": "transform",
    "outlier_score": "score_outliers",
}
TOLERANCES = {"float64": (1e-9, 1e-12), "float32": (1e-4, 2e-5)}
"""Relative and absolute difference that is allowed."""


def run(model: Any, X: np.ndarray, **options: Any) -> dict[str, np.ndarray]:
    content = sfumato.to_onnx(model, **options).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return dict(zip(METHODS, session.run(list(METHODS), {"X": X}), strict=True))


def assert_agree(found: dict[str, np.ndarray], model: Any, X: np.ndarray) -> None:
    final = model.steps[-1][1] if hasattr(model, "steps") else model
    rows = model[:-1].transform(X) if hasattr(model, "steps") else X
    relative, absolute = TOLERANCES[X.dtype.name]
    for name, method in METHODS.items():
        expected = getattr(final, method)(rows)
        if name == "label":
            assert_array_equal(found[name], expected)
        else:
            assert found[name].dtype == X.dtype
            assert_allclose(found[name], expected, rtol=relative, atol=absolute)


@each("estimator", ESTIMATORS, ids=lambda e: "-".join(describe(e)))
@every_dtype
@whatever_results
def test_every_estimator(estimator: BaseEstimator, dtype: type) -> None:
    X = np.vstack([blobs(80), 50 * blobs(5, seed=2)]).astype(dtype)
    model = clone(estimator).fit(X)
    new = blobs(60, seed=1).astype(dtype)
    assert_agree(run(model, new), model, new)
    assert_agree(run(model, X), model, X)


@every_loss
@every_membership
@whatever_results
def test_every_loss_and_rule(loss: Loss, membership: Membership) -> None:
    X = blobs(60)
    model = FuzzyClustering(
        N_CLUSTERS, loss=loss, membership=membership, n_init=1, max_iter=5, random_state=0
    ).fit(X)
    # Rows that coincide with centers, too.
    new = np.vstack([blobs(40, seed=1), model.cluster_centers_])
    assert_agree(run(model, new), model, new)


@every_dtype
@whatever_results
def test_behind_a_scaler(dtype: type) -> None:
    X = (blobs(120) * [1, 100, 1e-3] + [0, 1e4, 5]).astype(dtype)
    for scalers in ([StandardScaler()], [StandardScaler(with_mean=False), StandardScaler()]):
        model = make_pipeline(*scalers, CappedREFCMFS(5, random_state=0)).fit(X)
        new = (blobs(60, seed=1) * [1, 100, 1e-3] + [0, 1e4, 5]).astype(dtype)
        assert_agree(run(model, new), model, new)
    X = blobs(120).astype(dtype)
    without = make_pipeline(StandardScaler(with_std=False), REFCMFS(5, random_state=0)).fit(X)
    assert_agree(run(without, X), without, X)


@whatever_results
def test_one_cluster_no_rows_and_another_precision() -> None:
    X = blobs(60)
    one = REFCMFS(1, random_state=0).fit(X)
    assert_agree(run(one, X), one, X)
    model = CappedREFCMFS(3, random_state=0).fit(X)
    found = run(model, np.empty((0, 3)))
    assert found["memberships"].shape == found["distances"].shape == (0, 3)
    assert found["label"].shape == found["outlier_score"].shape == (0,)
    single = run(model, X.astype(np.float32), dtype="float32")
    assert_array_equal(single["label"], model.predict(X))
    assert single["memberships"].dtype == np.float32


@whatever_results
def test_outliers_have_no_memberships() -> None:
    model = CappedREFCMFS(3, random_state=0).fit(blobs(90, n_clusters=3))
    found = run(model, np.full((1, 3), 1e4))
    assert found["outlier_score"][0] > 1
    assert not found["memberships"].any()


class OwnLoss(Capped):
    pass


@whatever_results
def test_what_cannot_be_converted_is_said() -> None:
    X = blobs(60)
    with pytest.raises(TypeError, match=r"KMedoids.* cannot be converted; give an estimator of a"):
        sfumato.to_onnx(KMedoids(3).fit(X))
    with pytest.raises(TypeError, match=r"PCA.* cannot be converted; only StandardScaler"):
        sfumato.to_onnx(make_pipeline(PCA(2), REFCMFS(3, random_state=0)).fit(X))
    own = FuzzyClustering(3, loss=OwnLoss(3.0), engine="reference", random_state=0).fit(X)
    with pytest.raises(TypeError, match=r"OwnLoss.* of a class that cannot be converted"):
        sfumato.to_onnx(own)
    with pytest.raises(TypeError, match="dtype='float16' is not known"):
        sfumato.to_onnx(REFCMFS(3, random_state=0).fit(X), dtype="float16")
    with pytest.raises(NotFittedError):
        sfumato.to_onnx(REFCMFS(3))
