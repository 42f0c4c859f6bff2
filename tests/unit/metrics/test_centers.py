"""Indices of clusters around centers, agreement of soft clusterings, and scorers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn import metrics as oracle
from sklearn.model_selection import GridSearchCV

from sfumato import REFCMFS, CappedREFCMFS
from sfumato._selection.indices import ClusterSums
from sfumato.metrics import _inputs as inputs
from sfumato.metrics import (
    calinski_harabasz,
    davies_bouldin,
    fuzzy_ari,
    fuzzy_jaccard,
    fuzzy_rand,
    pbm,
    silhouette_scorer,
    simplified_silhouette,
)

INDICES = [simplified_silhouette, calinski_harabasz, davies_bouldin, pbm]
COMPARISONS = [fuzzy_rand, fuzzy_jaccard, fuzzy_ari]
BAD = {"one": [[0.0, 0, 0]], "narrow": [[0.0], [1]], "equal": [[0.0, 0, 0], [0, 0, 0]]}

every_index = pytest.mark.parametrize("index", INDICES)
every_comparison = pytest.mark.parametrize("index", COMPARISONS)


def case(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels and means that are nearest to their own rows."""
    rng = np.random.default_rng(seed)
    centers = 10 * rng.normal(size=(4, 3))
    labels = rng.integers(4, size=80)
    X = centers[labels] + rng.normal(size=(80, 3))
    means = np.array([X[labels == k].mean(axis=0) for k in range(4)])
    labels = cdist(X, means).argmin(axis=1)
    return X, labels, np.array([X[labels == k].mean(axis=0) for k in range(4)])


@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_scikit_learn_for_means(seed: int) -> None:
    X, labels, means = case(seed)
    assert calinski_harabasz(X, means) == pytest.approx(oracle.calinski_harabasz_score(X, labels))
    assert davies_bouldin(X, means) == pytest.approx(oracle.davies_bouldin_score(X, labels))


@pytest.mark.parametrize("seed", range(3))
def test_by_definition(seed: int) -> None:
    X, _, means = case(seed)
    nearest, second = np.sort(cdist(X, means), axis=1)[:, :2].T
    assert simplified_silhouette(X, means) == pytest.approx((1 - nearest / second).mean())
    spread = np.linalg.norm(X - X.mean(axis=0), axis=1).sum()
    by_hand = (spread / nearest.sum() * cdist(means, means).max() / 4) ** 2
    assert pbm(X, means) == pytest.approx(by_hand)


@every_index
def test_blocks_and_storage_change_nothing(
    index: Callable[..., float], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _, means = case()
    X[np.abs(X) < 1] = 0
    expected = index(X, means)
    assert index(sp.csr_array(X), means) == pytest.approx(expected)
    monkeypatch.setattr(inputs, "NUMBERS", 30)
    assert index(X, means) == pytest.approx(expected)


@every_index
@pytest.mark.parametrize("centers", BAD.values(), ids=BAD)
def test_bad_centers_are_an_error(index: Callable[..., float], centers: Any) -> None:
    with pytest.raises(ValueError, match=r"^centers has .*; give"):
        index(case()[0], centers)


def test_sums_add_up() -> None:
    distances, weights = np.random.default_rng(0).random((20, 3)), np.arange(20.0)
    whole = ClusterSums.of(distances, weights)
    parts = ClusterSums.of(distances[:7], weights[:7]) + ClusterSums.of(distances[7:], weights[7:])
    for name, value in vars(whole).items():
        np.testing.assert_allclose(value, getattr(parts, name))
    assert parts.total == weights.sum()


def hard(labels: np.ndarray) -> np.ndarray:
    return np.eye(labels.max() + 1)[labels]


@pytest.mark.parametrize("seed", range(5))
def test_hard_memberships_have_the_plain_indices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(3, size=30), rng.integers(4, size=30)
    mine, its = hard(first), hard(second)
    assert fuzzy_ari(mine, its) == pytest.approx(oracle.adjusted_rand_score(first, second))
    assert fuzzy_rand(mine, its) == pytest.approx(oracle.rand_score(first, second))
    pairs = [(first[i] == first[j], second[i] == second[j]) for i, j in combinations(range(30), 2)]
    both, either = sum(a and b for a, b in pairs), sum(a or b for a, b in pairs)
    assert fuzzy_jaccard(mine, sp.csr_array(its)) == pytest.approx(both / either)


@every_comparison
def test_names_of_clusters_and_order_do_not_matter(index: Callable[..., float]) -> None:
    rng = np.random.default_rng(0)
    mine, its = rng.dirichlet([1, 1, 1], size=20), rng.dirichlet([1, 1], size=20)
    assert index(mine, its) == pytest.approx(index(its, mine[:, [2, 0, 1]]))


@every_comparison
def test_outliers_are_left_out(index: Callable[..., float]) -> None:
    rng = np.random.default_rng(0)
    mine, its = rng.dirichlet([1, 1, 1], size=20), rng.dirichlet([1, 1], size=20)
    with_zeros = np.vstack([mine, np.zeros((1, 3))])
    longer = np.vstack([its, [[0.3, 0.7]]])
    assert index(with_zeros, longer) == pytest.approx(index(mine, its))


@every_comparison
def test_other_rows_are_an_error(index: Callable[..., float]) -> None:
    with pytest.raises(ValueError, match="of the same rows"):
        index([[1.0]], [[1.0], [1.0]])
    with pytest.raises(ValueError, match="fewer than two rows"):
        index([[1.0]], [[1.0]])


def test_the_scorer_finds_the_clusters() -> None:
    corners = 9 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    X = np.random.RandomState(0).normal(size=(200, 2)) + corners[np.arange(200) % 4]
    grid = {"n_clusters": [1, 3, 4, 5]}
    model = REFCMFS(random_state=0)
    search = GridSearchCV(model, grid, scoring=silhouette_scorer, cv=2, error_score="raise").fit(X)
    assert search.best_params_ == {"n_clusters": 4}
    assert search.cv_results_["mean_test_score"][0] == 0  # One cluster.


def test_a_cluster_left_out_as_outliers_is_a_loss() -> None:
    X = np.concatenate([np.linspace(c, c + 1, 20) for c in (0, 10, 100)])[:, None]
    two = CappedREFCMFS(2, cap=5.0, random_state=0).fit(X)
    assert two.outliers_.sum() == 20
    three = CappedREFCMFS(3, cap=5.0, random_state=0).fit(X)
    assert silhouette_scorer(three, X) > silhouette_scorer(two, X) + 0.2


def test_scorers_take_lists() -> None:
    X = [[0.0], [2.0], [9.0], [11.0]]
    model = CappedREFCMFS(2, cap=5.0, random_state=0).fit(X)
    assert silhouette_scorer(model, X) == pytest.approx(silhouette_scorer(model, np.array(X)))
