"""K-medoids: worked by hand, against brute force, and the laws it keeps."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sfumato import KMedoids
from sfumato.estimators import _kmedoids
from sfumato.estimators._kmedoids import distance_sums, seeding_values
from tests.catalogue import (
    blobs,
    data_file,
    each,
    row_weights,
    sparse_blobs,
)

every_kind = each("kind", [np.asarray, sp.csr_array], ids=lambda kind: kind.__name__)
every_init = each("init", ["park-jun", "random"], ids=str)


def brute_force(
    X: np.ndarray, k: int, weights: np.ndarray | None = None, seeds: Any = None
) -> tuple[np.ndarray, np.ndarray, float]:
    """Medoids, labels and total by the whole matrix of distances, for rows that all differ.

    Rounded to nine digits, so that ties are ties and the lowest index wins.
    """
    w = np.ones(len(X)) if weights is None else weights
    D = cdist(X, X)
    values = (w[:, None] * D / (D @ w)[:, None]).sum(axis=0)
    found = np.argsort(rounded(values), kind="stable")[:k] if seeds is None else np.array(seeds)
    best = found, np.zeros(len(X)), np.inf
    while True:
        labels = rounded(D[:, found]).argmin(axis=1)
        total = w @ D[np.arange(len(X)), found[labels]]
        if not rounded(total) < rounded(best[2]):
            return best
        best = found, labels, total
        members = [np.flatnonzero(labels == c) for c in range(k)]
        found = np.array([m[rounded(D[np.ix_(m, m)] @ w[m]).argmin()] for m in members])


def rounded(values: Any) -> np.ndarray:
    """Numbers whose last digits, those beyond about the tenth, are set to zero."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2**34), exponent)


def fit_quietly(model: KMedoids, X: Any, **options: Any) -> KMedoids:
    """Fit that may stop at ``max_iter``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, **options)


def assert_same_clustering(one: KMedoids, other: KMedoids) -> None:
    assert_array_equal(one.medoid_indices_, other.medoid_indices_)
    assert_array_equal(one.labels_, other.labels_)
    assert one.n_iter_ == other.n_iter_
    assert_allclose(one.inertia_, other.inertia_, rtol=1e-6)


# Worked by hand.


def test_seeding_values_of_three_rows() -> None:
    # Distances 1, 3 and 2; sums 4, 3 and 5.
    expected = [1 / 3 + 3 / 5, 1 / 4 + 2 / 5, 3 / 4 + 2 / 3]
    assert_allclose(seeding_values(np.array([[0.0], [1.0], [3.0]]), np.ones(3)), expected)


def test_weighted_seeding_values_of_three_rows() -> None:
    # The last row counts twice; sums 7, 5 and 5.
    expected = [1 / 5 + 2 * 3 / 5, 1 / 7 + 2 * 2 / 5, 3 / 7 + 2 / 5]
    values = seeding_values(np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 1.0, 2.0]))
    assert_allclose(values, expected)


def test_seeds_are_the_rows_of_smallest_value_in_that_order() -> None:
    # Values 0.93, 0.65 and 1.42: the second row, then the first; nothing can be better.
    model = KMedoids(2).fit([[0.0], [1.0], [3.0]])
    # Total 2: rows 1 and 2 share the first cluster, tie, and the lower index stays.
    assert_array_equal(model.medoid_indices_, [1, 0])
    assert_array_equal(model.labels_, [1, 0, 0])
    assert (model.inertia_, model.n_iter_) == (2.0, 1)


def test_iterations_of_six_rows() -> None:
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    # Iteration 1: {0} and the rest, whose sums are 30, 28, 20, 21, 24: row 3; the total falls to 6.
    model = fit_quietly(KMedoids(2, init=[0, 1], max_iter=1), X)
    assert_array_equal(model.medoid_indices_, [0, 3])
    assert model.inertia_ == model.objective_ == 6.0
    # Iteration 2: the middles of both triples, total 4. Iteration 3 finds nothing better.
    model = KMedoids(2, init=[0, 1]).fit(X)
    assert_array_equal(model.medoid_indices_, [1, 4])
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])
    assert (model.inertia_, model.n_iter_) == (4.0, 3)
    assert_array_equal(model.transform([[4.0]]), [[3.0, 7.0]])
    assert_array_equal(model.predict([[6.0], [6.5], [-5.0]]), [0, 1, 0])


# Oracles.


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_brute_force_finds_the_same(seed: int, weighted: bool) -> None:
    X = blobs(90 + seed, 1 + seed, 4, seed)
    weights = row_weights(len(X), seed) if weighted else None
    for k in (1, 2, 5, 20):
        model = KMedoids(k).fit(X, sample_weight=weights)
        found, labels, total = brute_force(X, k, weights)
        assert_array_equal(model.medoid_indices_, found)
        assert_array_equal(model.labels_, labels)
        assert_allclose(model.inertia_, total, rtol=1e-12)


@pytest.mark.parametrize("shape", [(5, 7), (6, 6), (1, 40)])
def test_ties_go_to_the_lowest_index(shape: tuple[int, int]) -> None:
    # On a grid most sums and many distances tie.
    X = np.argwhere(np.ones(shape)).astype(float) / 3
    X = X[np.random.default_rng(0).permutation(len(X))]
    for k in (2, 3, 4):
        model = KMedoids(k).fit(X)
        found, labels, _ = brute_force(X, k)
        assert_array_equal(model.medoid_indices_, found)
        assert_array_equal(model.labels_, labels)


@pytest.mark.parametrize("name", ["yale", "orl"])
def test_brute_force_finds_the_same_faces(name: str) -> None:
    file = data_file(name)
    with np.load(file) as arrays:
        X, k = arrays["X"], len(np.unique(arrays["y"]))
    assert len(np.unique(X, axis=0)) == len(X), "the oracle needs rows that differ"
    model = KMedoids(k).fit(X)
    found, labels, total = brute_force(X.astype(np.float64), k)
    assert_array_equal(model.medoid_indices_, found)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.inertia_, total, rtol=1e-12)


def test_the_best_of_all_pairs_stays() -> None:
    X = blobs(14, 2, 2, seed=3)
    D = cdist(X, X)
    pairs = list(combinations(range(len(X)), 2))
    totals = [D[:, pair].min(axis=1).sum() for pair in pairs]
    best = pairs[int(np.argmin(totals))]
    model = KMedoids(2, init=best).fit(X)
    assert_array_equal(model.medoid_indices_, best)
    assert_allclose(model.inertia_, min(totals))
    assert KMedoids(2).fit(X).inertia_ >= min(totals) * (1 - 1e-12)


def test_transform_is_the_distance_to_the_medoids() -> None:
    X, new = blobs(50, 4), blobs(30, 4, seed=9)
    model = KMedoids(6).fit(X)
    expected = cdist(new, X[model.medoid_indices_])
    assert_allclose(model.transform(new), expected, rtol=1e-12)
    assert_array_equal(model.predict(new), expected.argmin(axis=1))
    assert_array_equal(model.fit_transform(X)[model.medoid_indices_].diagonal(), 0.0)
    assert model.get_feature_names_out()[5] == "kmedoids5"


def test_distance_sums() -> None:
    X, weights = blobs(41, 3), row_weights(41)
    assert_allclose(distance_sums(X, weights), cdist(X, X) @ weights, rtol=1e-12)
    assert_allclose(distance_sums(sp.csr_array(X), weights), cdist(X, X) @ weights, rtol=1e-12)


# Laws.


@every_init
@pytest.mark.parametrize("seed", range(4))
def test_the_total_never_rises(init: str, seed: int) -> None:
    X = blobs(150, 2, 9, seed)
    last = KMedoids(9, init=init, random_state=seed).fit(X)
    assert last.n_iter_ > 2, "there must be something to compare"
    models = [
        fit_quietly(KMedoids(9, init=init, random_state=seed, max_iter=m), X)
        for m in range(1, last.n_iter_ + 1)
    ]
    totals = np.array([model.inertia_ for model in models])
    assert (np.diff(totals[:-1]) < 0).all()
    assert totals[-1] == totals[-2] == last.inertia_
    for model in models:
        expected = cdist(X, X[model.medoid_indices_]).min(axis=1).sum()
        assert_allclose(model.inertia_, expected, rtol=1e-12)


@every_init
def test_no_member_would_be_a_better_medoid(init: str) -> None:
    X, weights = blobs(120, 3, seed=2), row_weights(120)
    model = KMedoids(7, init=init, random_state=1).fit(X, sample_weight=weights)
    for cluster, medoid in enumerate(model.medoid_indices_):
        members = np.flatnonzero(model.labels_ == cluster)
        sums = cdist(X[members], X[members]) @ weights[members]
        assert members[sums.argmin()] == medoid


@every_init
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_does_not_matter(init: str, seed: int) -> None:
    X, weights = blobs(100, 3, seed=seed), row_weights(100)
    order = np.random.default_rng(seed).permutation(100)
    model = KMedoids(6, init=init, random_state=5).fit(X, sample_weight=weights)
    shuffled = clone(model).fit(X[order], sample_weight=weights[order])
    assert_array_equal(order[shuffled.medoid_indices_], model.medoid_indices_)
    assert_array_equal(shuffled.labels_, model.labels_[order])


@every_init
@every_kind
def test_weights_equal_copies(init: str, kind: Callable[[Any], Any]) -> None:
    X = sparse_blobs(70)
    counts = np.random.default_rng(1).integers(0, 4, size=70)
    rows = np.repeat(np.arange(70), counts)
    weighted = KMedoids(5, init=init, random_state=3).fit(kind(X), sample_weight=counts)
    copied = KMedoids(5, init=init, random_state=3).fit(kind(X[rows]))
    assert_array_equal(rows[copied.medoid_indices_], weighted.medoid_indices_)
    assert_array_equal(copied.labels_, weighted.labels_[rows])
    assert_allclose(copied.inertia_, weighted.inertia_, rtol=1e-12)
    assert copied.n_iter_ == weighted.n_iter_
    left_out = np.flatnonzero(counts == 0)
    assert not np.isin(weighted.medoid_indices_, left_out).any()
    assert_array_equal(weighted.labels_[left_out], weighted.predict(kind(X[left_out])))


@every_init
def test_scale_shift_and_units_of_weight_do_not_matter(init: str) -> None:
    # Multiples of 1/256, which a large offset leaves as they are.
    X, weights = np.round(blobs(80, 3) * 256) / 256, row_weights(80)
    model = KMedoids(5, init=init, random_state=0)
    expected = clone(model).fit(X, sample_weight=weights)
    scaled = clone(model).fit(X * 1024, sample_weight=weights)
    assert_allclose(scaled.inertia_, 1024 * expected.inertia_, rtol=1e-12)
    weighed = clone(model).fit(X, sample_weight=8 * weights)
    assert_allclose(weighed.inertia_, 8 * expected.inertia_, rtol=1e-12)
    shifted = clone(model).fit(X + 2.0**32, sample_weight=weights)
    assert_allclose(shifted.inertia_, expected.inertia_, rtol=1e-6)
    for other in (scaled, weighed, shifted):
        assert_array_equal(other.medoid_indices_, expected.medoid_indices_)
        assert_array_equal(other.labels_, expected.labels_)


@pytest.mark.parametrize("numbers", [1, 100, 1000])
@every_kind
def test_the_size_of_blocks_does_not_matter(
    numbers: int, kind: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, weights = kind(sparse_blobs(40)), row_weights(40)
    assert _kmedoids.BLOCK_SIZE > 40 * 40, "the other fit must have one block"
    expected = KMedoids(4).fit(X, sample_weight=weights)
    distances = expected.transform(X)
    monkeypatch.setattr(_kmedoids, "BLOCK_SIZE", numbers)
    assert_same_clustering(KMedoids(4).fit(X, sample_weight=weights), expected)
    assert_allclose(expected.transform(X), distances, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
def test_the_square_matrix_is_never_held(monkeypatch: pytest.MonkeyPatch) -> None:
    X = blobs(2000, 2, 3)
    monkeypatch.setattr(_kmedoids, "BLOCK_SIZE", 1 << 16)
    tracemalloc.start()
    KMedoids(3).fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2000 * 2000 * 8 / 8
