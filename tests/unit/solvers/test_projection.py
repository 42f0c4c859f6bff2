"""Wide data solved in its own span: the same answer, and equal rows stay equal."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info

from sfumato import REFCMFS, FuzzyCMeans, Power, Squared
from sfumato._data import Data
from sfumato._native import single_blas_thread
from sfumato._solvers import projection as span
from tests.catalogue import blobs, make_engine


def wide_data(dtype=np.float64, weights=None):
    X = np.concatenate([blobs(40, 300, 4), np.zeros((2, 300)), -np.zeros((1, 300))])
    X[5] = X[7]
    X = (X + 100).astype(dtype)
    return Data(X, weights, np.dtype(dtype), X.mean(axis=0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_stay_and_the_way_back_is_exact(dtype):
    data = wide_data(dtype)
    turned = span.project(data, 4)
    rows = data.dense(slice(None))
    assert turned.data.n_features == len(np.unique(rows, axis=0)) < data.n_features
    assert turned.data.dtype == np.float64
    assert_allclose(pdist(turned.data.rows), pdist(rows), rtol=1e-12)
    assert_allclose(turned.lift(turned.data.rows), rows, rtol=1e-12)


def test_equal_rows_stay_equal_to_the_bit():
    rows = span.project(wide_data(), 4).data.rows
    assert_array_equal(rows[5], rows[7])
    assert_array_equal(rows[-1], rows[-2])
    assert not np.array_equal(rows[5], rows[6])


def test_data_that_is_not_wide_enough_stays_as_it_is(monkeypatch):
    data = wide_data()
    narrow = Data(data.rows[:, :50], None, data.dtype, data.origin[:50])
    sparse = Data(sp.csr_array(data.rows), None, data.dtype, data.origin)
    assert span.project(narrow, 4).data is narrow
    assert span.project(sparse, 4).data is sparse
    assert span.project(data, 4).data is not data
    assert span.project(data, 1).data is data, "too many rows for so few clusters"
    monkeypatch.setattr(span, "MOST_BYTES", 1000)
    assert span.project(data, 4).data is data


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_finds_the_same(monkeypatch, engine, dtype, weighted):
    data = wide_data(dtype)
    weights = np.linspace(0, 2, data.n_rows) if weighted else None
    model = REFCMFS(4, fuzzifier=1.2, engine=engine, random_state=0)
    turned = model.fit(data.rows, sample_weight=weights)
    labels, objective = turned.labels_, turned.objective_
    assert turned.cluster_centers_.dtype == dtype
    monkeypatch.setattr(span, "MOST_BYTES", 0)
    plain = model.fit(data.rows, sample_weight=weights)
    assert_allclose(objective, plain.objective_, rtol=1e-7 if dtype == np.float64 else 1e-5)
    assert adjusted_rand_score(labels, plain.labels_) == 1


def test_given_centers_may_lie_outside_of_the_span():
    data = wide_data()
    start = np.random.default_rng(0).normal(100, 5, size=(3, 300))
    model = FuzzyCMeans(3, init=start, max_iter=1, tol=0)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(data.rows)
    engine = make_engine("reference", data.rows, Squared(), Power(3, 2.0))
    assert_allclose(model.history_[0].objective, engine.sweep(start).objective, rtol=1e-9)
    assert_allclose(model.cluster_centers_, engine.sweep(start).centers(start), rtol=1e-9)


def test_centers_on_rows_come_back_to_them():
    data = wide_data()
    turned = span.project(data, 4)
    assert_array_equal(turned.lift(turned.data.rows[[3, 7]]), data.dense(np.array([3, 7])))
    X = blobs(8, 300, 8)
    model = REFCMFS(8, fuzzifier=1.5, random_state=0).fit(X)
    assert model.objective_ == 0
    assert (model.transform(X).min(axis=1) == 0).all()


def test_the_dimension_is_limited_by_the_features_that_came():
    X = np.random.default_rng(0).normal(size=(60, 400))
    wide = REFCMFS(4, random_state=0).fit(X)
    span_only = REFCMFS(4, random_state=0, init=lambda X, c, random_state: X[:c]).fit(X)
    assert wide.intrinsic_dimension_ > 60
    assert span_only.intrinsic_dimension_ > 60


def test_one_thread_of_blas_at_a_time():
    """The limit is the process's: who is done first must not lift it for the other."""
    inside, seen = [], []

    def work():
        with single_blas_thread():
            inside.append(1)
            seen.append((len(inside), {i["num_threads"] for i in blas()}))
            time.sleep(0.01)
            inside.pop()

    def blas():
        return [info for info in threadpool_info() if info["user_api"] == "blas"]

    before = blas()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(1, {1})] * 4
    assert [i["num_threads"] for i in blas()] == [i["num_threads"] for i in before]
