"""K-medoids: every kind of input, copies among the rows, given medoids, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sfumato import KMedoids
from sfumato.estimators._kmedoids import DistinctRows, drawn_rows
from tests.catalogue import (
    INTEGER_DTYPES,
    USER_STORAGES,
    blobs,
    checked,
    each,
    every_dtype,
    sparse_blobs,
)
from tests.unit.estimators.test_kmedoids import assert_same_clustering, every_init, every_kind

every_storage = each("storage", USER_STORAGES, ids=str)

# Storage and precision.


@every_storage
@every_dtype
def test_storage_does_not_matter(storage: str, dtype: type) -> None:
    X = sparse_blobs(80).astype(dtype)
    expected = KMedoids(5).fit(X.astype(np.float64))
    stored = USER_STORAGES[storage](X)
    model = KMedoids(5).fit(stored)
    assert_same_clustering(model, expected)
    assert model.cluster_centers_.dtype == model.transform(stored).dtype == dtype
    assert isinstance(model.cluster_centers_, np.ndarray)
    assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
    assert_array_equal(model.predict(stored), model.labels_)
    assert_array_equal(model.predict(X), model.labels_)
    assert model.labels_.dtype == np.int32
    assert type(model.inertia_) is float


@each("dtype", INTEGER_DTYPES, ids=lambda dtype: dtype.__name__)
def test_integers(dtype: type) -> None:
    X = (np.random.default_rng(0).random((60, 9)) < 0.5).astype(dtype)
    model = KMedoids(4).fit(X)
    assert_same_clustering(model, KMedoids(4).fit(X.astype(np.float64)))
    assert model.cluster_centers_.dtype == np.float64


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_tight_clusters_far_apart(offset: float) -> None:
    # Matrix products alone lose every digit of distances within these clusters.
    rng = np.random.default_rng(0)
    inside = np.round(rng.normal(size=(40, 3)) * 64) / 2**20
    far = np.repeat([[0.0], [4096.0]], 20, axis=0)
    model = KMedoids(2, init=[0, 39]).fit(inside + far + offset)
    for cluster, rows in enumerate([np.arange(20), np.arange(20, 40)]):
        assert_array_equal(model.labels_[rows], cluster)
        within = cdist(inside[rows], inside[rows])
        assert model.medoid_indices_[cluster] == rows[within.sum(axis=0).argmin()]
    own = inside[model.medoid_indices_[model.labels_]]
    assert_allclose(model.inertia_, np.linalg.norm(inside - own, axis=1).sum(), rtol=1e-6)


@every_kind
def test_rows_that_nearly_coincide_keep_their_own_medoids(kind: Callable[[Any], Any]) -> None:
    X = kind(np.array([[1.0], [1.0 + 1e-12], [2.0], [2.0 + 1e-12]]))
    model = KMedoids(4).fit(X)
    assert sorted(model.labels_) == [0, 1, 2, 3]
    assert model.inertia_ == 0.0
    assert_array_equal(model.transform(X)[model.medoid_indices_].diagonal(), 0.0)


# Copies.


@every_kind
def test_copies_of_a_central_row_are_one_seed(kind: Callable[[Any], Any]) -> None:
    # By the rule alone, all three seeds would be copies of the middle row.
    X = np.array([[5.0, 0.0]] * 6 + [[0.0, 0.0], [0.0, 1.0], [10.0, 0.0], [10.0, 1.0]])
    X[3] = [5.0, -0.0]
    model = KMedoids(3).fit(kind(X))
    assert len(np.unique(model.cluster_centers_, axis=0)) == 3
    assert_array_equal(np.unique(model.labels_), [0, 1, 2])
    assert_array_equal(model.labels_[:6], model.labels_[0])
    assert 0 in model.medoid_indices_


def test_a_stored_zero_is_no_other_row() -> None:
    X = sp.csr_array(([1.0, 0.0, 1.0, 2.0], [0, 1, 0, 1], [0, 2, 3, 4]), shape=(3, 2))
    assert X.nnz == 4, "the zero must be stored"
    assert_array_equal(np.sort(KMedoids(2).fit(X).medoid_indices_), [0, 2])
    with pytest.raises(ValueError, match="only 2 distinct rows"):
        KMedoids(3).fit(X)


@every_init
def test_as_many_clusters_as_distinct_rows(init: str) -> None:
    X = np.repeat(blobs(6, 2), 3, axis=0)
    model = KMedoids(6, init=init, random_state=0).fit(X)
    assert_array_equal(np.sort(model.medoid_indices_), np.arange(0, 18, 3))
    assert (model.inertia_, model.n_iter_) == (0.0, 1)


def test_one_row_that_counts() -> None:
    model = KMedoids(1).fit([[0.0], [3.0], [3.0]], sample_weight=[0, 1, 2])
    assert_array_equal(model.medoid_indices_, [1])
    assert model.inertia_ == 0.0


def test_integers_that_float64_cannot_tell_apart() -> None:
    X = np.array([[2**53], [2**53 + 1], [0]])
    model = KMedoids(3).fit(X)
    assert_array_equal(np.sort(model.medoid_indices_), [0, 1, 2])
    assert model.inertia_ == 0.0


# Given and random medoids.


def test_given_medoids_keep_their_order() -> None:
    X = blobs(60, 2)
    model = KMedoids(5).fit(X)
    given = model.medoid_indices_[[3, 1, 4, 0, 2]]
    again = KMedoids(5, init=given).fit(X)
    assert_array_equal(again.medoid_indices_, given)
    assert again.n_iter_ == 1


def test_a_copy_that_is_given_stands_for_the_first() -> None:
    X = np.array([[0.0], [9.0], [0.0], [9.0]])
    assert_array_equal(KMedoids(2, init=[3, 2]).fit(X).medoid_indices_, [1, 0])


def test_random_medoids_follow_the_seed_and_the_weights() -> None:
    X = np.arange(400.0)[:, None] ** 2
    weights = np.where(np.arange(400) < 100, 3.0, 1.0)
    weights[200:] = 0

    distinct = DistinctRows.of(checked(X, weights))

    def start(seed: int) -> np.ndarray:
        return distinct.index[drawn_rows(distinct.data, 4, np.random.RandomState(seed))]

    drawn = np.array([start(seed) for seed in range(500)])
    assert_array_equal(start(7), drawn[7])
    assert drawn.max() < 200
    assert all(len(set(row)) == 4 for row in drawn)
    assert abs((drawn < 100).mean() - 0.75) < 0.05  # Three standard deviations: 0.03.
    one, two, three = (
        KMedoids(4, init="random", random_state=seed).fit(X, sample_weight=weights)
        for seed in (1, 1, 2)
    )
    assert_array_equal(one.medoid_indices_, two.medoid_indices_)
    assert not np.array_equal(one.medoid_indices_, three.medoid_indices_)


# Errors and warnings.


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("park", "init='park' is not known; use 'park-jun', 'random'"),
        (None, r"init has shape \(\) and dtype object"),
        ([0, 1], r"init has shape \(2,\) .* 3 indices of different rows"),
        ([0.0, 1.0, 2.0], "dtype float64"),
        ([[0], [1, 2], [3]], "init is not an array"),
        ([0, 1, 9], "init holds 9, but rows are 0 to 5"),
        ([0, 1, -1], "init holds -1, but"),
        ([0, 1, 5], "init holds 5, a row of weight 0"),
        ([0, 1, 1], r"init holds \[1, 1\], which are equal"),
        ([0, 2, 4], r"init holds \[2, 4\], which are equal"),
    ],
)
def test_bad_init(init: Any, message: str) -> None:
    X = [[0.0], [1.0], [2.0], [3.0], [2.0], [7.0]]
    with pytest.raises(ValueError, match=message):
        KMedoids(3, init=init).fit(X, sample_weight=[1, 1, 1, 1, 1, 0])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters=0 must be at least 1"),
        ({"n_clusters": 2.0}, TypeError, "n_clusters=2.0 is not an integer"),
        ({"n_clusters": 7}, ValueError, "n_samples=6 is fewer than n_clusters=7"),
        ({"n_clusters": 4}, ValueError, "only 3 distinct rows of positive weight"),
        ({"max_iter": 0}, ValueError, "max_iter=0 must be at least 1"),
    ],
)
def test_bad_numbers(parameters: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        KMedoids(**parameters).fit([[0.0], [1.0], [2.0]] * 2)


def test_a_failed_fit_leaves_nothing_behind() -> None:
    model = KMedoids(3)
    with pytest.raises(ValueError, match="not known"):
        model.set_params(init="nonsense").fit(blobs(20, 2))
    with pytest.raises(NotFittedError):
        model.predict(blobs(20, 2))
    assert not hasattr(model, "objective_")
    assert not hasattr(model, "n_features_in_")
    model.set_params(init="park-jun").fit(blobs(20, 2))
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit([[np.nan] * 5] * 20)
    assert vars(model) == before


def test_stopping_at_max_iter_warns() -> None:
    X = blobs(150, 2, 9)
    with pytest.warns(ConvergenceWarning, match=r"KMedoids: Stopped at `max_iter`.*max_iter=1\."):
        model = KMedoids(9, max_iter=1).fit(X)
    assert model.n_iter_ == 1
    # An iteration that does not lower the sum ends the fit without a warning, even the last.
    assert KMedoids(9, max_iter=KMedoids(9).fit(X).n_iter_).fit(X).n_iter_ > 1
