"""Indices of memberships, and of compactness and separation."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf, log
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import skfuzzy
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from sfumato import FuzzyCMeans
from sfumato.metrics import (
    _inputs as inputs,
)
from sfumato.metrics import (
    fukuyama_sugeno,
    fuzzy_silhouette,
    modified_partition_coefficient,
    partition_coefficient,
    partition_entropy,
    xie_beni,
)

CRISPNESS = [partition_coefficient, partition_entropy, modified_partition_coefficient]
COMPACTNESS = [xie_beni, fukuyama_sugeno]
FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]

every_crispness = pytest.mark.parametrize("index", CRISPNESS)
every_compactness = pytest.mark.parametrize("index", COMPACTNESS)


def random_memberships(n_rows: int = 60, n_clusters: int = 4, seed: int = 0) -> np.ndarray:
    """Memberships with some zeros, as sparse rules make them."""
    rng = np.random.default_rng(seed)
    drawn = rng.dirichlet(np.full(n_clusters, 0.7), size=n_rows)
    drawn[drawn < 0.05] = 0
    return drawn / drawn.sum(axis=1, keepdims=True)


def random_case(n_features: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, n_features)) * (rng.random((60, n_features)) < 0.6)
    return X, random_memberships(seed=seed), rng.normal(size=(4, n_features))


def hard(labels: Any, n_clusters: int) -> np.ndarray:
    return np.eye(n_clusters)[np.asarray(labels)]


# Values worked out by hand.


def test_crispness_by_hand() -> None:
    memberships = [[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]
    # Squares: 1/4 + 1/4 = 1/2, and 1/16 + 1/16 + 1/4 = 3/8; their mean is 7/16.
    assert partition_coefficient(memberships) == pytest.approx(7 / 16)
    assert modified_partition_coefficient(memberships) == pytest.approx(1 - 3 / 2 * 9 / 16)
    # Entropies: log 2, and (1/2) log 4 + (1/2) log 2 = (3/2) log 2; their mean is (5/4) log 2.
    assert partition_entropy(memberships) == pytest.approx(1.25 * log(2))


@pytest.mark.parametrize("fuzzifier", [1.5, 2.0, 3.0])
def test_compactness_by_hand(fuzzifier: float) -> None:
    X = [[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]]
    centers = [[0.0, 0.0], [4.0, 3.0]]
    memberships = [[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]
    m = fuzzifier
    # Squared distances: 0 and 25; 16 and 9; 13 and 4. Between the centers: 25.
    scatter = 0.5**m * 16 + 0.5**m * 9 + 0.25**m * 13 + 0.75**m * 4
    assert xie_beni(X, memberships, centers, fuzzifier=m) == pytest.approx(scatter / (3 * 25))
    # The mean is (2, 1): the centers are 5 and 8 from it, squared.
    mass = 1 + 0.5**m + 0.25**m, 0.5**m + 0.75**m
    apart = mass[0] * 5 + mass[1] * 8
    assert fukuyama_sugeno(X, memberships, centers, fuzzifier=m) == pytest.approx(scatter - apart)


def test_the_fuzzifier_is_two_unless_said_otherwise() -> None:
    X, memberships, centers = random_case()
    for index in COMPACTNESS:
        assert index(X, memberships, centers) == index(X, memberships, centers, fuzzifier=2)


# Other libraries, and definitions written out.


@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_the_partition_coefficient_is_that_of_scikit_fuzzy(n_clusters: int) -> None:
    X = load_iris().data
    _, memberships, *_, fpc = skfuzzy.cmeans(X.T, n_clusters, 2.0, 1e-6, 500, seed=0)
    assert partition_coefficient(memberships.T) == pytest.approx(fpc, rel=1e-12)


@pytest.mark.parametrize("n_features", [1, 3, 100])
@pytest.mark.parametrize("fuzzifier", [1.1, 2.0, 4.0])
def test_compactness_equals_its_definition(n_features: int, fuzzifier: float) -> None:
    X, memberships, centers = random_case(n_features)
    scatter = apart = 0.0
    for x, row in zip(X, memberships, strict=True):
        for center, share in zip(centers, row, strict=True):
            scatter += share**fuzzifier * ((x - center) ** 2).sum()
            apart += share**fuzzifier * ((center - X.mean(axis=0)) ** 2).sum()
    gap = min(((a - b) ** 2).sum() for i, a in enumerate(centers) for b in centers[:i])
    found = [index(X, memberships, centers, fuzzifier) for index in COMPACTNESS]
    assert_allclose(found, [scatter / (len(X) * gap), scatter - apart], rtol=1e-11)


def test_memberships_of_a_model_are_welcome() -> None:
    X = load_iris().data.astype(np.float32)
    model = FuzzyCMeans(n_clusters=3, random_state=0).fit(X)
    plain = model.memberships_.toarray()
    for index in CRISPNESS:
        assert index(model.memberships_) == pytest.approx(index(plain), rel=1e-12)
    for index in COMPACTNESS:
        found = index(X, model.memberships_, model.cluster_centers_)
        assert found == pytest.approx(index(X, plain, model.cluster_centers_), rel=1e-12)


def test_indices_prefer_the_right_number_of_clusters() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]], 40, axis=0)
    X += rng.normal(size=X.shape)
    models = [FuzzyCMeans(n_clusters=c, random_state=0).fit(X) for c in range(2, 8)]
    best = 4 - 2
    crisp = [modified_partition_coefficient(model.memberships_) for model in models]
    assert np.argmax(crisp) == best
    for index in COMPACTNESS:
        values = [index(X, model.memberships_, model.cluster_centers_) for model in models]
        assert np.argmin(values) == best
    assert np.argmax([fuzzy_silhouette(X, model.memberships_) for model in models]) == best


# Limits.


@pytest.mark.parametrize("n_clusters", [2, 5, 30])
def test_limits_of_crispness(n_clusters: int) -> None:
    crisp = hard(np.arange(40) % n_clusters, n_clusters)
    assert partition_coefficient(crisp) == 1
    assert modified_partition_coefficient(crisp) == 1
    assert partition_entropy(crisp) == 0
    assert not np.signbit(partition_entropy(crisp))
    uniform = np.full((40, n_clusters), 1 / n_clusters)
    assert partition_coefficient(uniform) == pytest.approx(1 / n_clusters)
    assert modified_partition_coefficient(uniform) == pytest.approx(0, abs=1e-12)
    assert partition_entropy(uniform) == pytest.approx(log(n_clusters))


def test_one_cluster_is_crisp() -> None:
    assert partition_coefficient(np.ones((5, 1))) == 1
    assert partition_entropy(np.ones((5, 1))) == 0
    # Its center is the mean: what is left is the scatter.
    assert fukuyama_sugeno([[0.0], [4.0]], [[1.0], [1.0]], [[2.0]]) == pytest.approx(8)


@pytest.mark.parametrize("seed", range(5))
def test_crispness_lies_between_its_limits(seed: int) -> None:
    memberships = random_memberships(seed=seed)
    assert 1 / 4 < partition_coefficient(memberships) < 1
    assert 0 < modified_partition_coefficient(memberships) < 1
    assert 0 < partition_entropy(memberships) < log(4)


def test_coincident_centers_are_infinitely_bad() -> None:
    X, memberships, centers = random_case()
    centers[2] = centers[0]
    assert xie_beni(X, memberships, centers) == inf
    assert xie_beni(np.zeros((2, 1)), np.eye(2), np.zeros((2, 1))) == inf


def test_rows_on_their_centers_cost_nothing() -> None:
    centers = np.array([[0.1, 0.2], [3.3, 4.7], [-8.0, 1e-3]])
    X = centers[[0, 1, 2, 1, 0]]
    assert xie_beni(X, hard([0, 1, 2, 1, 0], 3), centers) == 0


# Storage.


@pytest.mark.parametrize("storage", FORMATS)
def test_any_sparse_memberships_equal_dense_ones(storage: str) -> None:
    X, memberships, centers = random_case()
    sparse = sp.coo_array(memberships).asformat(storage)
    for index in CRISPNESS:
        assert index(sparse) == pytest.approx(index(memberships), rel=1e-12)
    for index in COMPACTNESS:
        expected = index(X, memberships, centers)
        assert index(X, sparse, centers) == pytest.approx(expected, rel=1e-12)


def test_duplicate_entries_add_up_and_stay() -> None:
    # The row (1, 0), its 1 stored as two halves.
    halves = sp.csr_array((np.array([0.5, 0.5, 1.0]), np.array([0, 0, 1]), np.array([0, 2, 3])))
    assert partition_coefficient(halves) == 1
    assert halves.nnz == 3, "the caller's array is not changed"


@every_compactness
@pytest.mark.parametrize("n_features", [3, 100])
@pytest.mark.parametrize(
    "convert",
    [sp.csr_array, sp.csr_matrix, sp.csc_array, np.ndarray.tolist, np.asfortranarray],
)
def test_any_storage_of_rows(
    index: Callable[..., float], n_features: int, convert: Callable[..., Any]
) -> None:
    X, memberships, centers = random_case(n_features)
    expected = index(X, memberships, centers)
    assert index(convert(X), memberships, centers) == pytest.approx(expected, rel=1e-11)
    assert index(convert(X), memberships.tolist(), centers.tolist()) == pytest.approx(expected)


@every_compactness
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_single_precision_is_summed_in_double(
    index: Callable[..., float], convert: Callable[..., Any]
) -> None:
    X, memberships, centers = random_case(100)
    X = X.astype(np.float32)
    expected = index(X.astype(np.float64), memberships, centers)
    assert index(convert(X), memberships, centers) == pytest.approx(expected, rel=1e-12)


@every_compactness
@pytest.mark.parametrize("numbers", [1, 7, 100, 10**9])
def test_any_block_size_gives_the_same(
    index: Callable[..., float], numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, memberships, centers = random_case(100)
    expected = index(X, memberships, centers)
    monkeypatch.setattr(inputs, "NUMBERS", numbers)
    for rows in (X, sp.csr_array(X)):
        assert index(rows, memberships, centers) == pytest.approx(expected, rel=1e-12)


# Laws.


def test_order_of_rows_and_clusters_does_not_matter() -> None:
    X, memberships, centers = random_case()
    rng = np.random.default_rng(1)
    rows, clusters = rng.permutation(len(X)), rng.permutation(len(centers))
    moved = memberships[rows][:, clusters]
    for index in CRISPNESS:
        assert index(moved) == pytest.approx(index(memberships), rel=1e-12)
    for index in COMPACTNESS:
        expected = index(X, memberships, centers)
        assert index(X[rows], moved, centers[clusters]) == pytest.approx(expected, rel=1e-12)


def test_copies_of_all_rows_change_means_not_and_sums_in_proportion() -> None:
    X, memberships, centers = random_case()
    X3, memberships3 = np.tile(X, (3, 1)), np.tile(memberships, (3, 1))
    for index in CRISPNESS:
        assert index(memberships3) == pytest.approx(index(memberships), rel=1e-12)
    for index, times in zip(COMPACTNESS, [1, 3], strict=True):
        expected = times * index(X, memberships, centers)
        assert index(X3, memberships3, centers) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 3.0, 1e6])
@pytest.mark.parametrize("n_features", [3, 100])
def test_scale_and_shift(scale: float, n_features: int) -> None:
    X, memberships, centers = random_case(n_features)
    shift = np.linspace(-20, 50, n_features)
    moved = scale * (X + shift), memberships, scale * (centers + shift)
    assert xie_beni(*moved) == pytest.approx(xie_beni(X, memberships, centers), rel=1e-9)
    expected = scale**2 * fukuyama_sugeno(X, memberships, centers)
    assert fukuyama_sugeno(*moved) == pytest.approx(expected, rel=1e-9)


# Errors.


def refused(index: Callable[..., float], memberships: Any) -> pytest.ExceptionInfo[ValueError]:
    data = () if index in CRISPNESS else (np.zeros((2, 3)),)
    last = (np.zeros((2, 3)),) if index in COMPACTNESS else ()
    with pytest.raises(ValueError, match="memberships") as error:
        index(*data, memberships, *last)
    return error


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("index", [*CRISPNESS, *COMPACTNESS, fuzzy_silhouette])
@pytest.mark.parametrize(
    ("memberships", "words"),
    [
        ([[1.0, 0.0], [0.7, 0.2]], "do not sum to one, as row 1, which sums to 0.9; divide each"),
        ([[1.0, 0.5], [0.0, 0.5]], "as row 0, which sums to 1.5; its columns do: give its transp"),
        ([[1.0, 0.0], [1.25, -0.25]], "has negative values, down to -0.25; give shares"),
        ([[1.0, 0.0], [np.nan, 1.0]], "Input memberships contains NaN"),
        ([[1.0, 0.0], [np.inf, 1.0]], "Input memberships contains infinity"),
    ],
)
def test_memberships_that_are_none_are_refused(
    index: Callable[..., float], memberships: Any, words: str, convert: Callable[..., Any]
) -> None:
    assert words in str(refused(index, convert(memberships)).value)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("index", [*CRISPNESS, *COMPACTNESS, fuzzy_silhouette])
def test_outliers_are_left_out(index: Callable[..., float], convert: Callable[..., Any]) -> None:
    """Rows of zeros, as a fit with a capped loss gives them to outliers."""
    memberships = random_memberships()
    X = np.random.default_rng(0).normal(size=(len(memberships), 3))
    with_zeros = np.insert(memberships, [0, 5, len(memberships)], 0.0, axis=0)
    with_rows = np.insert(X, [0, 5, len(memberships)], 1e3, axis=0)
    last = (X[: memberships.shape[1]],) if index in COMPACTNESS else ()
    given, all_given = (() if index in CRISPNESS else (rows,) for rows in (X, with_rows))
    expected = index(*given, memberships, *last)
    assert index(*all_given, convert(with_zeros), *last) == pytest.approx(expected, rel=1e-12)
    assert "zero everywhere" in str(refused(index, convert(np.zeros((2, 2)))).value)


def test_rounding_of_memberships_is_no_mistake() -> None:
    memberships = random_memberships().astype(np.float32)
    assert partition_coefficient(memberships) == pytest.approx(
        partition_coefficient(random_memberships()), rel=1e-6
    )
    slightly_more = np.array([[1 + 1e-6, 0.0]])
    assert partition_entropy(slightly_more) == 0


@pytest.mark.parametrize("index", [modified_partition_coefficient, xie_beni, fuzzy_silhouette])
def test_one_cluster_cannot_be_compared(index: Callable[..., float]) -> None:
    said = str(refused(index, np.ones((2, 1))).value)
    assert "memberships has shape (2, 1); this index compares clusters" in said


@every_compactness
@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"X": np.zeros((3, 2))}, ValueError, "X has shape (3, 2) and memberships has shape (2, 2"),
        ({"X": [[0.0, np.nan], [0.0, 0.0]]}, ValueError, "Input X contains NaN"),
        (
            {"centers": np.zeros((3, 2))},
            ValueError,
            "centers has shape (3, 2), but X has 2 columns",
        ),
        ({"centers": np.zeros((2, 1))}, ValueError, "center for each column of memberships, shape"),
        ({"centers": [[0.0, np.inf], [0, 0]]}, ValueError, "Input centers contains infinity"),
        ({"fuzzifier": 1.0}, ValueError, "fuzzifier=1.0 must be larger than 1; use 2, or that of"),
        ({"fuzzifier": np.nan}, ValueError, "fuzzifier=nan must be larger than 1"),
        ({"fuzzifier": inf}, ValueError, "fuzzifier=inf must be finite"),
        ({"fuzzifier": "auto"}, TypeError, "fuzzifier='auto' is not a number"),
    ],
    ids=str,
)
def test_bad_input_is_named(
    index: Callable[..., float], given: dict[str, Any], error: type[Exception], words: str
) -> None:
    good = {"X": np.zeros((2, 2)), "memberships": np.eye(2), "centers": np.eye(2)}
    index(**good)
    with pytest.raises(error, match=re.escape(words)):
        index(**(good | given))
