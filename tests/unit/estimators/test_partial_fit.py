"""``partial_fit``: batches of endless data, alone, after a fit, with and without decay."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone

from sfumato import L21, REFCMFS, CappedREFCMFS, FuzzyClustering, Hard, stream
from sfumato._native import core
from sfumato._problem import Problem
from sfumato._solvers.online import OnlineState
from tests.catalogue import blobs, make_engine, row_weights, whatever_results
from tests.contract.estimators import every_estimator, fitted_state

MIDDLES = np.array([[0.0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]])


def some(n_rows: int, seed: int = 0) -> np.ndarray:
    """Rows of four clusters that do not overlap."""
    rng = np.random.default_rng(seed)
    return MIDDLES[rng.integers(4, size=n_rows)] + rng.normal(size=(n_rows, 3))


def learned(estimator: BaseEstimator, batches: Any, **options: Any) -> Any:
    model = clone(estimator)
    for batch in batches:
        model.partial_fit(batch, **options)
    return model


def one_mean() -> FuzzyClustering:
    return FuzzyClustering(1, loss="squared", membership="hard")


def misses(model: Any, middles: np.ndarray = MIDDLES) -> float:
    """Largest distance of a true center to the nearest that was found."""
    gaps = np.linalg.norm(middles[:, None] - model.cluster_centers_[None], axis=2)
    return float(gaps.min(axis=1).max())


# Worked by hand.


def test_without_decay_one_center_is_the_mean_of_all_rows() -> None:
    model = one_mean().partial_fit([[0.0], [2.0]])
    assert_allclose(model.cluster_centers_, [[1.0]])
    assert_allclose(model.partial_fit([[7.0]]).cluster_centers_, [[3.0]])
    model.partial_fit([[1.0], [2.0]], sample_weight=[3, 0])
    assert_allclose(model.cluster_centers_, [[12 / 6]])
    assert (model.n_samples_seen_, model.n_batches_) == (4, 3)


def test_with_decay_it_is_the_exponentially_weighted_mean() -> None:
    model = one_mean().set_params(decay=0.25)
    batches = [np.array([[0.0], [2.0]]), np.array([[7.0]]), np.array([[4.0], [5.0], [9.0]])]
    total, mass = 0.0, 0.0
    for batch in batches:
        model.partial_fit(batch)
        total, mass = 0.75 * total + batch.sum(), 0.75 * mass + len(batch)
        assert_allclose(model.cluster_centers_, [[total / mass]])


def test_after_fit_the_rows_of_the_fit_count() -> None:
    model = one_mean().fit([[0.0], [2.0], [4.0]], sample_weight=[1, 0, 1])
    assert (model.n_samples_seen_, model.n_batches_) == (2, 0)
    model.partial_fit([[8.0]])
    assert_allclose(model.cluster_centers_, [[4.0]])
    assert (model.n_samples_seen_, model.n_batches_) == (3, 1)


def test_two_rows_one_after_the_other_meet_halfway() -> None:
    model = FuzzyClustering(1, loss="l21", membership="hard").partial_fit([[0.0]])
    assert 0 < model.partial_fit([[6.0]]).cluster_centers_[0, 0] < 6


# Laws.


@whatever_results
@every_estimator
def test_batches_come_near_a_fit_to_all_rows(estimator: BaseEstimator) -> None:
    X = blobs(5000, 3, 4, seed=1)
    model = learned(estimator, np.array_split(X, 50))
    problem = Problem(model.loss_, model.membership_)
    engine = make_engine("native", X, problem.loss, problem.membership)
    fitted = FuzzyClustering(
        4, loss=model.loss_, membership=model.membership_, random_state=0, max_iter=2000
    ).fit(X)
    ratio = engine.sweep(model.cluster_centers_.astype(float)).objective / fitted.objective_
    assert ratio < 1.004
    assert model.n_samples_seen_ == 5000


@every_estimator
def test_after_fit_batches_go_on(estimator: BaseEstimator) -> None:
    model = clone(estimator).fit(some(400))
    found = {name: repr(getattr(model, name)) for name in ("loss_", "membership_")}
    before, missed = model.cluster_centers_, misses(model)
    model.partial_fit(some(400, 1))
    assert 0 < np.abs(model.cluster_centers_ - before).max() < 0.3
    assert {name: repr(getattr(model, name)) for name in found} == found
    assert (model.n_iter_, model.history_, model.outcome_) == (0, (), None)
    assert misses(model) < missed + 0.2


def moving(model: Any) -> float:
    rng = np.random.default_rng(0)
    for time in range(100):
        middles = MIDDLES + 0.2 * time
        batch = middles[rng.integers(4, size=60)] + rng.normal(size=(60, 3))
        model.partial_fit(batch)
    return misses(model, middles)


def test_decay_follows_clusters_that_move() -> None:
    assert moving(REFCMFS(4, decay=0.4, random_state=0)) < 2
    assert moving(REFCMFS(4, random_state=0)) > 6


def test_decay_does_not_change_a_fit() -> None:
    plain, decaying = (REFCMFS(4, decay=decay, random_state=0).fit(some(200)) for decay in (0, 0.5))
    assert_array_equal(plain.cluster_centers_, decaying.cluster_centers_)


@pytest.mark.filterwarnings("ignore::sfumato.exceptions.MovedCentersWarning")
def test_a_cluster_that_appears_gets_a_center_once_another_is_forgotten() -> None:
    model = FuzzyClustering(4, loss="squared", membership="hard", decay=0.2, random_state=0)
    model.partial_fit(some(200))
    elsewhere = MIDDLES.copy()
    elsewhere[3] = [40, 40, 40]
    rng = np.random.default_rng(0)
    for _ in range(60):
        batch = elsewhere[rng.integers(4, size=80)] + rng.normal(size=(80, 3))
        model.partial_fit(batch)
    assert misses(model, elsewhere) < 1


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("n_rows", [20, 300])
def test_outliers_capture_no_center(decay: float, n_rows: int) -> None:
    rng = np.random.default_rng(3)

    def batch(size: int) -> np.ndarray:
        X = some(size, int(rng.integers(1 << 30)))
        far = rng.random(size) < 0.3
        X[far] = rng.uniform(-200, 200, size=(int(far.sum()), 3))
        return X

    model = CappedREFCMFS(4, decay=decay, random_state=0).partial_fit(batch(300))
    for _ in range(40):
        model.partial_fit(batch(n_rows))
    assert misses(model) < 0.8
    rows = batch(1000)
    far = np.linalg.norm(rows[:, None] - MIDDLES, axis=2).min(axis=1) > 8
    assert (model.score_outliers(rows)[far] > 1).all()
    assert (model.score_outliers(some(1000)) > 1).mean() < 0.02


@every_estimator
def test_a_weight_is_worth_copies_and_order_does_not_matter(estimator: BaseEstimator) -> None:
    X, weights = some(90, 2), np.arange(90) % 4
    model = clone(estimator).fit(some(100))
    weighted = pickle.loads(pickle.dumps(model)).partial_fit(X, sample_weight=weights)
    copies = pickle.loads(pickle.dumps(model)).partial_fit(np.repeat(X, weights, axis=0)[::-1])
    assert_allclose(weighted.cluster_centers_, copies.cluster_centers_, rtol=0, atol=1e-10)
    assert_allclose(weighted.objective_, copies.objective_, rtol=1e-10)


@every_estimator
def test_the_same_bits_for_any_number_of_threads(estimator: BaseEstimator) -> None:
    batches = [np.tile(some(6000, seed), 67) for seed in range(3)]
    engine = make_engine("native", batches[0], L21(), Hard())
    assert core.threads_used(engine._rows, 4, 3) == 3  # A smaller batch would use one.
    first, *others = (learned(estimator.set_params(n_threads=n), batches) for n in (1, 2, 3))
    for other in others:
        assert_array_equal(other.cluster_centers_, first.cluster_centers_)
        assert_array_equal(other.cluster_radii_, first.cluster_radii_)
    estimator.set_params(n_threads=None)


def test_radii_follow_the_batches() -> None:
    model = FuzzyClustering(4, loss="squared", membership="hard", random_state=0)
    model.partial_fit(some(1000))
    narrow = model.cluster_radii_
    for seed in range(40):
        model.partial_fit(MIDDLES.repeat(25, axis=0) + (some(100, seed) - some(100, seed).round()))
    assert (model.cluster_radii_ < narrow / 2).all()
    assert (model.cluster_radii_ > 0.3).all()


# Attributes.


@every_estimator
def test_attributes_are_those_of_the_last_batch(estimator: BaseEstimator) -> None:
    frame = pd.DataFrame(some(100), columns=["a", "b", "c"])
    model = clone(estimator).partial_fit(frame)
    assert model.n_iter_ == len(model.history_) - 1
    batch = pd.DataFrame(some(30, 1), columns=["a", "b", "c"])
    assert model.partial_fit(batch, sample_weight=row_weights(30)) is model
    assert_array_equal(model.labels_, model.predict(batch))
    assert_array_equal(model.memberships_.toarray(), model.predict_proba(batch))
    assert_array_equal(model.outlier_scores_, model.score_outliers(batch))
    assert_array_equal(model.outliers_, model.outlier_scores_ > 1)
    assert_allclose(model.objective_, model.objective(batch, sample_weight=row_weights(30)))
    assert model.transform(batch).shape == (30, 4)
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert type(model.n_samples_seen_) is type(model.n_batches_) is int


def test_fit_forgets_what_batches_taught() -> None:
    model = learned(REFCMFS(4, random_state=0), [some(100), some(50, 1)])
    model.fit(some(200, 2))
    fresh = REFCMFS(4, random_state=0).fit(some(200, 2))
    assert vars(model).keys() == vars(fresh).keys()
    assert_array_equal(model.cluster_centers_, fresh.cluster_centers_)
    assert_array_equal(
        model.partial_fit(some(50)).cluster_centers_, fresh.partial_fit(some(50)).cluster_centers_
    )


def test_pickled_in_the_middle_it_goes_on_and_a_clone_begins_anew() -> None:
    batches = [some(60, seed) for seed in range(6)]
    whole = learned(REFCMFS(4, random_state=0), batches)
    half = pickle.loads(pickle.dumps(learned(REFCMFS(4, random_state=0), batches[:3])))
    for batch in batches[3:]:
        half.partial_fit(batch)
    assert_array_equal(half.cluster_centers_, whole.cluster_centers_)
    assert not fitted_state(clone(whole))


@whatever_results
@every_estimator
def test_pickled_after_fit_it_goes_on_with_the_same_bits(estimator: BaseEstimator) -> None:
    model = clone(estimator).fit(some(300))
    loaded = pickle.loads(pickle.dumps(model)).partial_fit(some(50, 1))
    model.partial_fit(some(50, 1))
    for name in ("cluster_centers_", "cluster_radii_", "outlier_scores_"):
        assert_array_equal(getattr(loaded, name), getattr(model, name))


def test_what_only_partial_fit_needs_is_not_computed_by_fit(monkeypatch: Any) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr(OnlineState, "of", fail)
        model = REFCMFS(4, random_state=0).fit(some(300))
        with pytest.raises(AssertionError):
            model.partial_fit(some(50, 1))
    assert model.partial_fit(some(50, 1)).n_batches_ == 1


# Storage.


@pytest.mark.parametrize("made", [sp.csr_array, sp.csc_array, np.asfortranarray, pd.DataFrame])
def test_storages_agree(made: Any) -> None:
    batches = [some(80, seed) for seed in range(4)]
    model = FuzzyClustering(4, init=MIDDLES + 0.3, membership="hard")
    expected = learned(model, batches)
    found = learned(model, map(made, batches))
    assert_allclose(found.cluster_centers_, expected.cluster_centers_, atol=1e-9)


def test_the_first_batch_sets_the_precision() -> None:
    single, double = some(100).astype(np.float32), some(100, 1)
    assert (
        learned(REFCMFS(4, random_state=0), [single, double]).cluster_centers_.dtype == np.float32
    )
    assert learned(REFCMFS(4, random_state=0), [double, single]).cluster_centers_.dtype == float


def test_small_steps_are_not_lost_in_single_precision() -> None:
    X = 1000 + np.random.default_rng(0).normal(size=(3000, 1)).astype(np.float32)
    model = learned(one_mean(), np.array_split(X, 200))
    assert_allclose(model.cluster_centers_, X.mean(axis=0, keepdims=True, dtype=float), atol=1e-4)


def test_one_row_at_a_time() -> None:
    model = CappedREFCMFS(4, decay=0.01, random_state=0).partial_fit(some(100))
    for row in some(40, 1):
        model.partial_fit(row[None])
    assert model.labels_.shape == (1,)
    assert misses(model) < 1


def test_each_chunk_of_a_stream_is_a_batch() -> None:
    X, weights = some(300), row_weights(300)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = REFCMFS(4, random_state=0)
    slices = [slice(begin, begin + 100) for begin in (0, 100, 200)]
    expected = clone(model)
    for part in slices:
        expected.partial_fit(X[part], sample_weight=weights[part])
    found = clone(model).partial_fit(stream(frame, chunk_rows=100), sample_weight=weights)
    assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    assert (found.n_batches_, found.n_samples_seen_, len(found.labels_)) == (3, 300, 100)
    assert_array_equal(found.feature_names_in_, ["a", "b", "c"])
    found.partial_fit(stream(frame, chunk_rows=150)).partial_fit(frame)
    assert (found.n_batches_, found.n_samples_seen_) == (6, 900)


def test_after_a_fit_to_a_stream() -> None:
    model = REFCMFS(4, random_state=0).fit(stream(some(300), chunk_rows=70))
    model.partial_fit(some(100, 1))
    assert (model.n_samples_seen_, misses(model) < 0.6) == (400, True)
