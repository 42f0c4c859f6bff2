"""Starts, randomness and precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone

from sfumato import REFCMFS, Capped, FuzzyClustering, Simplex
from sfumato._solvers.restarts import HALVING
from tests.catalogue import blobs, every_dtype, start_near, whatever_results
from tests.contract.estimators import every_estimator

# Starts and randomness.


def test_n_init_keeps_the_best(X: np.ndarray) -> None:
    X = blobs(120, 2, 12)
    rng = np.random.RandomState(0)
    model = REFCMFS(9, n_active=1, fuzzifier=1.5, init="random", n_init=1)
    singles = [clone(model).set_params(random_state=rng).fit(X).objective_ for _ in range(6)]
    best = model.set_params(n_init=6, random_state=np.random.RandomState(0)).fit(X)
    assert len({round(single, 6) for single in singles}) > 2, "starts must differ"
    assert_allclose(best.objective_, min(singles), rtol=1e-10)


def test_n_init_auto(X: np.ndarray) -> None:
    calls = []

    def init(X: Any, n_clusters: int, random_state: np.random.RandomState) -> np.ndarray:
        calls.append(n_clusters)
        return start_near(X, n_clusters, seed=random_state.randint(1000))

    REFCMFS(3, fuzzifier=1.5, init=init, random_state=0).fit(X)
    assert calls == [3] * len(calls)
    assert 2 <= len(calls) <= HALVING.exchanged, "two of these starts agree"
    calls.clear()
    noise = np.random.default_rng(0).normal(size=(90, 5))
    REFCMFS(9, fuzzifier=1.2, init=init, random_state=0).fit(noise)
    assert calls == [9] * HALVING.compared
    calls.clear()
    REFCMFS(3, fuzzifier=1.5, init=init, n_init=2, random_state=0).fit(X)
    assert calls == [3, 3]


def test_given_centers_are_used_once(X: np.ndarray) -> None:
    start = start_near(X, 4)
    model = FuzzyClustering(4, loss="squared", membership="hard", init=start, n_init=10).fit(X)
    assert_allclose(
        model.history_[0].objective,
        (np.linalg.norm(X[:, None] - start, axis=2).min(axis=1) ** 2).sum(),
        rtol=1e-12,
    )
    listed = FuzzyClustering(4, loss="squared", membership="hard", init=start.tolist()).fit(X)
    sparse = FuzzyClustering(4, loss="squared", membership="hard", init=sp.csr_array(start)).fit(X)
    assert_array_equal(listed.cluster_centers_, model.cluster_centers_)
    assert_array_equal(sparse.cluster_centers_, model.cluster_centers_)


def test_a_callable_gets_the_users_data(X: np.ndarray) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    seen = []

    def init(X: Any, n_clusters: int, random_state: np.random.RandomState) -> Any:
        seen.append((X, n_clusters, random_state))
        return X.iloc[:n_clusters]

    model = FuzzyClustering(4, loss="squared", membership="hard", init=init).fit(frame)
    assert all(given is frame and n_clusters == 4 for given, n_clusters, _ in seen)
    assert isinstance(seen[0][2], np.random.RandomState)
    given = FuzzyClustering(4, loss="squared", membership="hard", init=X[:4]).fit(X)
    assert_allclose(model.cluster_centers_, given.cluster_centers_, rtol=1e-12)


@pytest.mark.parametrize("init", ["auto", "k-means++", "random"])
def test_the_same_seed_gives_the_same_bits(init: str, X: np.ndarray) -> None:
    first, second = (REFCMFS(4, init=init, random_state=3).fit(X) for _ in range(2))
    assert_array_equal(first.cluster_centers_, second.cluster_centers_)
    assert_array_equal(first.memberships_.data, second.memberships_.data)
    assert first.objective_ == second.objective_
    state = np.random.RandomState(3)
    assert_array_equal(
        REFCMFS(4, init=init, random_state=state).fit(X).cluster_centers_, first.cluster_centers_
    )


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_other_seeds_give_other_starts(init: str, X: np.ndarray) -> None:
    firsts = {
        REFCMFS(4, fuzzifier=1.5, init=init, n_init=1, random_state=seed)
        .fit(X)
        .history_[0]
        .objective
        for seed in range(5)
    }
    assert len(firsts) > 1


def test_the_global_generator_is_left_alone(X: np.ndarray) -> None:
    np.random.seed(5)
    expected = np.random.get_state()[1].copy()
    model = REFCMFS(4, random_state=0).fit(X)
    model.predict(X)
    assert_array_equal(np.random.get_state()[1], expected)


@every_estimator
def test_the_order_of_the_rows_does_not_matter(estimator: BaseEstimator, X: np.ndarray) -> None:
    order = np.random.RandomState(0).permutation(len(X))
    model, shuffled = clone(estimator).fit(X), clone(estimator).fit(X[order])
    assert_allclose(shuffled.cluster_centers_, model.cluster_centers_, rtol=1e-9)
    assert_array_equal(shuffled.labels_, model.labels_[order])


@every_estimator
def test_copies_and_weights_are_seeded_alike(estimator: BaseEstimator, X: np.ndarray) -> None:
    counts = np.random.RandomState(0).randint(0, 4, size=len(X))
    weighted = clone(estimator).fit(X, sample_weight=counts)
    copied = clone(estimator).fit(X.repeat(counts, axis=0)[::-1])
    assert_allclose(copied.cluster_centers_, weighted.cluster_centers_, rtol=1e-9)


def test_offset_and_scale_do_not_change_the_seeds(X: np.ndarray) -> None:
    model = REFCMFS(4, random_state=0).fit(X)
    moved = REFCMFS(4, random_state=0).fit(32 * X - 8)
    assert_allclose(moved.cluster_centers_, 32 * model.cluster_centers_ - 8, rtol=1e-9)


# Precision.


@every_estimator
@every_dtype
def test_floats_keep_their_precision(estimator: BaseEstimator, dtype: type, X: np.ndarray) -> None:
    model = clone(estimator).fit(X.astype(dtype))
    assert model.cluster_centers_.dtype == dtype
    assert model.memberships_.dtype == dtype
    assert model.transform(X.astype(dtype)).dtype == dtype
    assert model.predict_proba(X.astype(dtype)).dtype == dtype
    assert type(model.objective_) is float


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.bool_])
def test_integers_become_float64(dtype: type, X: np.ndarray) -> None:
    X = (10 * (X - X.min())).astype(dtype) if dtype is not np.bool_ else X > 0
    model = REFCMFS(3, fuzzifier=1.5, random_state=0).fit(X)
    assert model.cluster_centers_.dtype == np.float64
    assert model.transform(X).dtype == np.float64
    expected = REFCMFS(3, fuzzifier=1.5, random_state=0).fit(X.astype(np.float64))
    assert_array_equal(model.cluster_centers_, expected.cluster_centers_)


def test_float32_is_close_to_float64(X: np.ndarray) -> None:
    start = start_near(X, 4)
    double, single = (
        REFCMFS(4, fuzzifier=1.5, init=start).fit(X.astype(dtype)) for dtype in (float, np.float32)
    )
    assert_allclose(single.cluster_centers_, double.cluster_centers_, atol=1e-2)
    assert_allclose(single.objective_, double.objective_, rtol=1e-5)


@whatever_results
@pytest.mark.parametrize("seed", range(5))
def test_random_starts_end_even_if_rounding_makes_rows_equal(seed: int) -> None:
    rows = np.array([[2**53], [2**53 + 1]])  # As doubles, they are one row.
    model = REFCMFS(2, init="random", fuzzifier=1.5, random_state=seed).fit(rows)
    assert model.objective_ == 0


def test_a_fitted_model_does_not_change_with_its_parameters() -> None:
    rows = np.random.default_rng(0).normal(size=(100, 2))
    model = FuzzyClustering(3, loss=Capped(1.0), membership=Simplex(gamma=0.5), random_state=0)
    score = model.fit(rows).score(rows)
    model.set_params(loss__cap=0.1, membership__gamma=9.0)
    assert model.score(rows) == score
