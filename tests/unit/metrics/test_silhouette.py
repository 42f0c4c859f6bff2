"""The fuzzy silhouette."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.metrics import silhouette_samples

from sfumato.metrics import _inputs as inputs
from sfumato.metrics import fuzzy_silhouette

STORAGES = [np.asarray, sp.csr_array]

every_storage = pytest.mark.parametrize("storage", STORAGES, ids=["dense", "csr"])
every_width = pytest.mark.parametrize("n_features", [1, 4, 100])


def case(
    n_features: int = 4, n_rows: int = 90, n_clusters: int = 5, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with many zeros, and memberships that have something to do with them."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_clusters, size=n_rows)
    X = rng.normal(size=(n_rows, n_features)) + rng.normal(size=(n_clusters, n_features))[labels]
    X[rng.random(X.shape) < 0.3] = 0
    memberships = rng.dirichlet(np.ones(n_clusters), size=n_rows)
    return X, (memberships + 0.5 * np.eye(n_clusters)[labels]) / 1.5


def by_definition(X: np.ndarray, memberships: np.ndarray, alpha: float) -> float:
    """The index, from the silhouettes of scikit-learn and the two largest memberships."""
    silhouettes = silhouette_samples(X, memberships.argmax(axis=1))
    second, first = np.sort(memberships, axis=1)[:, -2:].T
    return float(np.average(silhouettes, weights=(first - second) ** alpha))


# Values worked out by hand, and other libraries.


def test_by_hand() -> None:
    X = [[0.0], [2.0], [6.0], [9.0]]
    memberships = [[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]]
    # Own cluster: 2, 2, 3, 3. Other cluster: (6 + 9)/2, (4 + 7)/2, (6 + 4)/2, (9 + 7)/2.
    silhouettes = np.array([5.5 / 7.5, 3.5 / 5.5, 2 / 5, 5 / 8])
    weights = np.array([0.8, 0.4, 0.2, 0.6])
    assert fuzzy_silhouette(X, memberships) == pytest.approx(silhouettes @ weights / 2)
    squares = weights**2
    expected = silhouettes @ squares / squares.sum()
    assert fuzzy_silhouette(X, memberships, alpha=2) == pytest.approx(expected)
    assert fuzzy_silhouette(X, memberships, alpha=0) == pytest.approx(silhouettes.mean())


def test_three_clusters_by_hand() -> None:
    X = [[0.0], [1.0], [4.0], [6.0]]
    memberships = [[0.8, 0.1, 0.1], [0.6, 0.4, 0.0], [0.1, 0.5, 0.4], [0.0, 0.3, 0.7]]
    # The last two are alone in their clusters. The first two: own 1 and 1, nearest 4 and 3.
    expected = (0.7 * 3 / 4 + 0.2 * 2 / 3) / (0.7 + 0.2 + 0.1 + 0.4)
    assert fuzzy_silhouette(X, memberships) == pytest.approx(expected)


@every_storage
@every_width
@pytest.mark.parametrize("alpha", [0.0, 1.0, 3.5])
def test_hard_memberships_give_the_plain_silhouette(
    n_features: int, alpha: float, storage: Callable[..., Any]
) -> None:
    X, memberships = case(n_features)
    labels = memberships.argmax(axis=1)
    expected = silhouette_samples(X, labels).mean()
    found = fuzzy_silhouette(storage(X), np.eye(5)[labels], alpha=alpha)
    assert found == pytest.approx(expected, rel=1e-9)


@every_storage
@every_width
@pytest.mark.parametrize("alpha", [0, 0.5, 1, 3])
def test_equals_its_definition(n_features: int, alpha: float, storage: Callable[..., Any]) -> None:
    X, memberships = case(n_features)
    found = fuzzy_silhouette(storage(X), memberships, alpha=alpha)
    assert found == pytest.approx(by_definition(X, memberships, alpha), rel=1e-9)


# Laws.


@every_storage
@pytest.mark.parametrize("n_features", [4, 100])
@pytest.mark.parametrize("numbers", [1, 7 * 1000, 15 * 1000, 10**9])
def test_any_block_size_gives_the_same(
    n_features: int, numbers: int, storage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, memberships = case(n_features, n_rows=30)
    expected = fuzzy_silhouette(X, memberships)
    monkeypatch.setattr(inputs, "NUMBERS", numbers)
    assert fuzzy_silhouette(storage(X), memberships) == pytest.approx(expected, rel=1e-11)


def test_sparse_memberships_equal_dense_ones() -> None:
    X, memberships = case()
    memberships[memberships < 0.15] = 0
    memberships /= memberships.sum(axis=1, keepdims=True)
    assert (memberships == 0).any()
    for storage in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, np.ndarray.tolist):
        assert fuzzy_silhouette(X, storage(memberships)) == fuzzy_silhouette(X, memberships)


@every_width
def test_order_of_rows_and_clusters_does_not_matter(n_features: int) -> None:
    X, memberships = case(n_features)
    rng = np.random.default_rng(1)
    rows, clusters = rng.permutation(len(X)), rng.permutation(memberships.shape[1])
    found = fuzzy_silhouette(X[rows], memberships[rows][:, clusters])
    assert found == pytest.approx(fuzzy_silhouette(X, memberships), rel=1e-11)


@every_width
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scale_and_shift_do_not_matter(n_features: int, scale: float) -> None:
    X, memberships = case(n_features)
    found = fuzzy_silhouette(scale * (X + np.linspace(1, 9, n_features)), memberships)
    assert found == pytest.approx(fuzzy_silhouette(X, memberships), rel=1e-9)


def test_empty_clusters_do_not_matter() -> None:
    X, memberships = case()
    wider = np.insert(memberships, [0, 3, 5], 0.0, axis=1)
    assert fuzzy_silhouette(X, wider) == fuzzy_silhouette(X, memberships)


def test_single_precision_is_measured_in_double() -> None:
    X, memberships = case(100)
    X = X.astype(np.float32)
    expected = fuzzy_silhouette(X.astype(np.float64), memberships)
    for storage in STORAGES:
        assert fuzzy_silhouette(storage(X), memberships) == pytest.approx(expected, rel=1e-12)


def test_rows_between_clusters_count_less() -> None:
    X = [[0.0], [1.0], [5.0], [9.0], [10.0]]
    clear = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
    unclear = [[1, 0], [1, 0], [0.55, 0.45], [0, 1], [0, 1]]
    assert fuzzy_silhouette(X, unclear) > fuzzy_silhouette(X, clear) + 0.1
    assert fuzzy_silhouette(X, unclear, alpha=0) == fuzzy_silhouette(X, clear)


# Limits.


def test_best_and_worst() -> None:
    X = [[0.0], [0.0], [1.0], [1.0]]
    assert fuzzy_silhouette(X, np.eye(2)[[0, 0, 1, 1]]) == 1
    # Each row has a twin in the other cluster and a stranger in its own: own 1, other 1/2.
    assert fuzzy_silhouette(X, np.eye(2)[[0, 1, 0, 1]]) == pytest.approx(-1 / 2)


@pytest.mark.parametrize("n_features", [2, 100])
@every_storage
def test_equal_rows_in_two_clusters_say_nothing(
    n_features: int, storage: Callable[..., Any]
) -> None:
    # Rounding errors of the distances, if any were left, would be compared with one another.
    X = np.tile(np.linspace(0.1, 77.7, n_features), (6, 1))
    X[-2:] *= 1e4
    memberships = np.eye(3)[[0, 0, 1, 1, 2, 2]]
    assert fuzzy_silhouette(storage(X), memberships) == pytest.approx(2 / 6)


def test_no_row_is_clear() -> None:
    X = [[0.0], [1.0], [2.0]]
    memberships = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0]]
    assert fuzzy_silhouette(X, memberships) == 0
    labels = [0, 1, 0]  # Of equal memberships, the first.
    expected = silhouette_samples(X, labels).mean()
    assert fuzzy_silhouette(X, memberships, alpha=0) == pytest.approx(expected)


def test_every_row_alone() -> None:
    assert fuzzy_silhouette([[0.0], [1.0], [5.0]], np.eye(3)) == 0


def test_memory_does_not_grow_with_the_square_of_the_rows() -> None:
    X, memberships = case(2, n_rows=4000)
    tracemalloc.start()
    fuzzy_silhouette(X, memberships)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6, "all distances would be 128 MB"


# Errors.


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (
            {"X": np.zeros((3, 1))},
            ValueError,
            "X has shape (3, 1) and memberships has shape (2, 2)",
        ),
        ({"X": [[0.0], [np.nan]]}, ValueError, "Input X contains NaN"),
        ({"alpha": -0.5}, ValueError, "alpha=-0.5 must be finite and at least 0; use 1."),
        ({"alpha": np.inf}, ValueError, "alpha=inf must be finite and at least 0"),
        ({"alpha": np.nan}, ValueError, "alpha=nan must be finite and at least 0"),
        ({"alpha": "auto"}, TypeError, "alpha='auto' is not a number"),
        ({"alpha": True}, TypeError, "alpha=True is not a number"),
        (
            {"memberships": [[0.4, 0.6], [0.1, 0.9]]},
            ValueError,
            "has its largest value in column 1 in every row; a silhouette compares clusters",
        ),
    ],
    ids=str,
)
def test_bad_input_is_named(given: dict[str, Any], error: type[Exception], words: str) -> None:
    good = {"X": [[0.0], [1.0]], "memberships": np.eye(2), "alpha": 1}
    fuzzy_silhouette(**good)
    with pytest.raises(error, match=re.escape(words)):
        fuzzy_silhouette(**(good | given))


def test_rows_are_not_changed() -> None:
    X, memberships = case(100)
    before = X.copy(), memberships.copy()
    fuzzy_silhouette(X, memberships)
    assert_array_equal(X, before[0])
    assert_array_equal(memberships, before[1])
