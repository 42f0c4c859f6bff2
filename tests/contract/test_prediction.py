"""Prediction, and the places where fitted models end up: files, frames, pipelines."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import dask.array as da
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import REFCMFS, Hard, SimREFCMFS, stream
from sfumato.streams._lazy import LazyArray
from tests.catalogue import blobs, every_dtype, row_weights
from tests.contract.estimators import assert_labels_have_the_largest_share, every_estimator

# Prediction.


@every_estimator
@every_dtype
def test_training_rows_are_predicted_as_fitted(
    estimator: BaseEstimator, dtype: type, X: np.ndarray
) -> None:
    X = X.astype(dtype)
    model = clone(estimator).fit(X)
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(clone(estimator).fit_predict(X), model.labels_)
    predicted = model.predict_membership(X)
    assert isinstance(predicted, sp.csr_array)
    assert_array_equal(predicted.toarray(), model.memberships_.toarray())
    assert_array_equal(clone(estimator).fit_transform(X), model.transform(X))


@every_estimator
@every_dtype
def test_memberships_of_new_rows(estimator: BaseEstimator, dtype: type, X: np.ndarray) -> None:
    model = clone(estimator).fit(X.astype(dtype))
    new = blobs(33, 3, 4, seed=1).astype(dtype)
    dense = model.predict_proba(new)
    sparse = model.predict_membership(new)
    assert type(dense) is np.ndarray
    assert dense.dtype == sparse.dtype == dtype
    assert_array_equal(dense, sparse.toarray())
    tolerance = 1e-12 if dtype is np.float64 else 1e-6
    kept = ~(model.loss_.bounded & (model.score_outliers(new) > 1))
    assert_allclose(dense.sum(axis=1), kept, rtol=tolerance)
    assert_labels_have_the_largest_share(sparse, model.predict(new))
    entries = np.diff(sparse.indptr)
    n_active = 1 if isinstance(model.membership_, Hard) else model.n_active_
    assert (entries[kept] == n_active).all() if n_active else (entries[kept] >= 1).all()
    assert not entries[~kept].any()


@every_estimator
def test_fit_predict(estimator: BaseEstimator, X: np.ndarray) -> None:
    X = np.vstack([X, [[1e3, -1e3, 1e3]]])
    model = clone(estimator)
    weights = np.ones(len(X))
    weights[-1] = 1e-9
    assert_array_equal(model.fit_predict(X, sample_weight=weights), model.labels_)
    assert model.labels_.min() == 0
    marked = model.fit_predict(X, sample_weight=weights, mark_outliers=True)
    assert_array_equal(marked, np.where(model.outliers_, -1, model.labels_))
    assert marked[-1] == -1


@every_estimator
def test_transform_gives_distances(estimator: BaseEstimator, X: np.ndarray) -> None:
    model = clone(estimator).fit(X)
    new = blobs(20, 3, 4, seed=1)
    expected = np.linalg.norm(new[:, None] - model.cluster_centers_, axis=2)
    assert_allclose(model.transform(new), expected, rtol=1e-12)
    assert_array_equal(model.predict(new), expected.argmin(axis=1))


@every_estimator
def test_objective_of_other_rows(estimator: BaseEstimator, X: np.ndarray) -> None:
    weights = row_weights(len(X))
    for given in (None, weights):
        model = clone(estimator).fit(X, sample_weight=given)
        assert_allclose(model.objective(X, sample_weight=given), model.objective_, rtol=1e-12)
    assert not np.isclose(model.objective(X), model.objective(X, sample_weight=weights), rtol=1e-3)
    doubled = model.objective(X, sample_weight=2 * weights)
    assert_allclose(doubled, 2 * model.objective(X, sample_weight=weights), rtol=1e-12)


def test_weights_enter_fit_predict(X: np.ndarray) -> None:
    weights = (X[:, 0] > 0).astype(float)
    model = REFCMFS(3, fuzzifier=1.3, random_state=0)
    plain = model.fit_predict(X)
    weighted = model.fit_predict(X, sample_weight=weights)
    assert_array_equal(weighted, model.labels_)
    assert not np.array_equal(plain, weighted)
    alone = clone(model).fit(X[weights > 0])
    assert_allclose(model.cluster_centers_, alone.cluster_centers_, rtol=1e-6)


@every_estimator
def test_prediction_does_not_change_the_model(estimator: BaseEstimator, X: np.ndarray) -> None:
    model = clone(estimator).fit(X)
    before = pickle.dumps(model)
    for method in (model.predict, model.predict_proba, model.transform, model.score):
        method(X)
    assert pickle.dumps(model) == before


# Storage of models, frames and names.


@every_estimator
@pytest.mark.parametrize("library", ["pickle", "joblib", "joblib-mmap"])
def test_round_trips(estimator: BaseEstimator, library: str, X: np.ndarray, tmp_path: Any) -> None:
    model = clone(estimator).fit(X)
    if library == "pickle":
        loaded = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "model.joblib")
        mode = "r" if library == "joblib-mmap" else None
        loaded = joblib.load(tmp_path / "model.joblib", mmap_mode=mode)
    new = blobs(30, 3, 4, seed=1)
    assert_array_equal(loaded.predict(new), model.predict(new))
    assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert_array_equal(loaded.transform(new), model.transform(new))
    assert loaded.score(new) == model.score(new)
    assert loaded.outcome_ == model.outcome_
    assert loaded.history_ == model.history_
    assert_array_equal(loaded.fit(X).cluster_centers_, model.cluster_centers_)


def test_names_of_features(X: np.ndarray) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = REFCMFS(2, fuzzifier=1.5, random_state=0).fit(frame)
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert_array_equal(model.get_feature_names_out(), ["refcmfs0", "refcmfs1"])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["c", "b", "a"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize(("output", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(output: str, frame: Callable[..., Any], X: np.ndarray) -> None:
    plain = SimREFCMFS(2, fuzzifier=1.5, random_state=0)
    model = clone(plain).set_output(transform=output)
    distances = model.fit_transform(X)
    assert isinstance(distances, frame)
    assert list(distances.columns) == ["simrefcmfs0", "simrefcmfs1"]
    assert_array_equal(distances.to_numpy(), plain.fit(X).transform(X))
    if output == "pandas":
        index = pd.Index(range(100, 180))
        named = model.fit_transform(pd.DataFrame(X, columns=list("abc"), index=index))
        assert named.index.equals(index)


@pytest.mark.parametrize(("output", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
@every_estimator
def test_set_output_of_every_estimator(
    estimator: BaseEstimator, output: str, frame: Callable[..., Any], X: np.ndarray
) -> None:
    """Alone and in a pipeline, set before the fit, after it, or for all estimators."""
    model = clone(estimator).fit(X)
    expected = model.transform(X)
    names = list(model.get_feature_names_out())
    same = StandardScaler(with_mean=False, with_std=False)
    pipeline = make_pipeline(same, clone(estimator)).set_output(transform=output)
    found = [pipeline.fit_transform(X), pipeline.fit(X).transform(X)]
    found.append(clone(model).set_output(transform=output).fit(X).transform(X))
    found.append(model.set_output(transform=output).transform(X))
    with sklearn.config_context(transform_output=output):
        found.append(clone(estimator).fit_transform(X, sample_weight=np.ones(len(X))))
    for each in found:
        assert isinstance(each, frame)
        assert list(each.columns) == names
        assert_allclose(each.to_numpy(), expected, rtol=1e-6)  # A frame is stored by columns.
    assert type(model.set_output(transform="default").transform(X)) is np.ndarray


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_lazy_distances_stay_lazy(output: str, X: np.ndarray) -> None:
    """Frames hold their values, and distances of all rows need not fit into memory."""
    model = REFCMFS(3, n_active=2, random_state=0).fit(X)
    expected = model.transform(X)
    model.set_output(transform=output)
    for rows in (stream(X, chunk_rows=30), da.from_array(X, chunks=(30, -1))):
        lazy = model.transform(rows)
        assert isinstance(lazy, LazyArray | da.Array)
        assert_allclose(lazy.compute(), expected, rtol=1e-12)
        assert isinstance(clone(model).fit_transform(rows), LazyArray | da.Array)


# Pipelines and routing.


def test_pipeline(X: np.ndarray) -> None:
    pipeline = make_pipeline(StandardScaler(), REFCMFS(4, fuzzifier=1.3, random_state=0))
    labels = pipeline.fit_predict(X)
    alone = REFCMFS(4, fuzzifier=1.3, random_state=0).fit(StandardScaler().fit_transform(X))
    assert_array_equal(labels, alone.labels_)
    assert_array_equal(pipeline.predict(X), labels)
    assert_array_equal(pipeline.predict_proba(X), alone.memberships_.toarray())
    scaled = StandardScaler().fit_transform(X)
    assert_allclose(pipeline.score(X), alone.score(scaled), rtol=1e-12)
    assert_array_equal(pipeline.score_samples(X), alone.score_samples(scaled))
    assert_array_equal(pipeline.get_feature_names_out(), [f"refcmfs{k}" for k in range(4)])
    pipeline.set_params(refcmfs__n_active=1)
    assert pipeline.fit(X)[-1].n_active_ == 1
    first = Pipeline(
        [("soft", REFCMFS(4, fuzzifier=1.3, random_state=0)), ("scale", StandardScaler())]
    )
    assert first.fit_transform(X).shape == (80, 4)


def test_weights_through_a_pipeline(X: np.ndarray) -> None:
    weights = row_weights(len(X)) ** 4
    model = REFCMFS(4, fuzzifier=1.3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.fit(X, refcmfs__sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    expected = clone(model).fit(scaled, sample_weight=weights).cluster_centers_
    assert_array_equal(pipeline[-1].cluster_centers_, expected)


def test_metadata_routing(X: np.ndarray) -> None:
    weights = row_weights(len(X)) ** 4
    with sklearn.config_context(enable_metadata_routing=True):
        model = REFCMFS(4, fuzzifier=1.3, random_state=0)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            make_pipeline(model).fit(X, sample_weight=weights)
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(X, sample_weight=weights)
        scaled = StandardScaler().fit_transform(X)
        alone = clone(model).fit(scaled, sample_weight=weights)
        assert_array_equal(pipeline[-1].cluster_centers_, alone.cluster_centers_)
        assert_array_equal(pipeline.fit_predict(X, sample_weight=weights), alone.labels_)
        expected = np.average(alone.score_samples(scaled), weights=weights)
        assert_allclose(pipeline.score(X, sample_weight=weights), expected, rtol=1e-12)
        ignoring = clone(model).set_fit_request(sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        plain = make_pipeline(scaler, ignoring).fit(X, sample_weight=weights)
        scaled = StandardScaler().fit_transform(X, sample_weight=weights)
        assert_array_equal(plain[-1].cluster_centers_, clone(model).fit(scaled).cluster_centers_)
        search = GridSearchCV(model, {"n_active": [1, 4]}, cv=2, error_score="raise")
        search.fit(X, sample_weight=weights)
        best = search.best_estimator_
        assert_allclose(best.objective(X, sample_weight=weights), best.objective_, rtol=1e-12)
