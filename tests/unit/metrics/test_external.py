"""Agreement with known classes."""

from itertools import combinations, permutations

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from sfumato.metrics import ari, clustering_accuracy, nmi


def best_by_enumeration(labels_true, labels_pred):
    """Accuracy over all one-to-one maps from clusters to classes: the definition itself."""
    classes, clusters = sorted(set(labels_true)), sorted(set(labels_pred))
    padded = classes + [None] * max(0, len(clusters) - len(classes))
    pairs = list(zip(labels_true, labels_pred, strict=True))
    return max(
        np.mean([dict(zip(clusters, chosen, strict=True))[p] == t for t, p in pairs])
        for chosen in permutations(padded, len(clusters))
    )


@pytest.mark.parametrize("n_classes", [1, 2, 4])
@pytest.mark.parametrize("n_clusters", [1, 3, 5])
def test_accuracy_is_the_best_of_all_matchings(n_classes, n_clusters):
    rng = np.random.default_rng(n_classes * 10 + n_clusters)
    labels_true = rng.integers(n_classes, size=40).tolist()
    labels_pred = rng.integers(n_clusters, size=40).tolist()
    assert clustering_accuracy(labels_true, labels_pred) == pytest.approx(
        best_by_enumeration(labels_true, labels_pred)
    )


@pytest.mark.parametrize("measure", [clustering_accuracy, nmi, ari])
def test_one_for_equal_partitions_under_any_names(measure):
    labels_true = np.array([3, 3, 9, 9, 9, -1])
    names = np.array(["x", "x", "b", "b", "b", "cc"])
    assert measure(labels_true, names) == pytest.approx(1.0)
    assert measure(names, labels_true) == pytest.approx(1.0)


def test_more_clusters_than_classes_cost_accuracy():
    assert clustering_accuracy([0, 0, 0, 0], [0, 0, 1, 2]) == 0.5
    assert clustering_accuracy([0, 1, 2, 2], [7, 7, 7, 7]) == 0.5


def test_any_number_of_labels_goes_with_any_number_of_clusters():
    names = np.array(["cat", "dog", "emu", "fox", "gnu"])
    labels_true = names[[0, 0, 0, 1, 1, 2, 3, 4]]
    # Three clusters for five classes: 3 cats, 2 dogs and one of the others can be matched.
    assert clustering_accuracy(labels_true, [7, 7, 7, -1, -1, 0, 0, 0]) == 6 / 8
    # Seven clusters for five classes: 1 cat, 1 dog, and one each of the others.
    assert clustering_accuracy(labels_true, [0, 1, 2, 3, 4, 5, 6, 6]) == 4 / 8
    assert clustering_accuracy(labels_true, np.arange(8)) == 5 / 8


@pytest.mark.parametrize(
    ("average", "mean"), [("arithmetic", 1.5), ("geometric", np.sqrt(2)), ("max", 2), ("min", 1)]
)
def test_nmi_divides_by_the_chosen_mean(average, mean):
    labels_true, labels_pred = [0, 0, 1, 1], [0, 1, 2, 3]
    # The cluster determines the class: I = H(y) = log 2, and the other entropy is 2 log 2.
    assert nmi(labels_true, labels_pred, average=average) == pytest.approx(1 / mean)


@pytest.mark.parametrize("average", ["arithmetic", "geometric", "max", "min"])
def test_nmi_is_that_of_scikit_learn(average):
    rng = np.random.default_rng(0)
    labels_true, labels_pred = rng.integers(3, size=60), rng.integers(5, size=60)
    expected = normalized_mutual_info_score(labels_true, labels_pred, average_method=average)
    assert nmi(labels_true, labels_pred, average=average) == expected
    assert nmi(labels_true, labels_pred) == normalized_mutual_info_score(labels_true, labels_pred)


def test_an_unknown_mean_is_named():
    with pytest.raises(
        ValueError, match=r"average='mean' is not a mean; use one of \('arithmetic'"
    ):
        nmi([0, 1], [0, 1], average="mean")


def test_nmi_is_zero_for_independent_labels():
    assert nmi([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(0.0, abs=1e-12)


def ari_by_pairs(labels_true, labels_pred):
    """The index from its definition, over all pairs of rows."""
    pairs = list(combinations(zip(labels_true, labels_pred, strict=True), 2))
    same_class = np.array([a[0] == b[0] for a, b in pairs])
    same_cluster = np.array([a[1] == b[1] for a, b in pairs])
    both, expected = np.sum(same_class & same_cluster), same_class.sum() * same_cluster.mean()
    return (both - expected) / ((same_class.sum() + same_cluster.sum()) / 2 - expected)


@pytest.mark.parametrize("n_clusters", [2, 3, 6])
def test_ari_counts_pairs(n_clusters):
    rng = np.random.default_rng(n_clusters)
    labels_true, labels_pred = rng.integers(3, size=30), rng.integers(n_clusters, size=30)
    labels_pred[:15] = labels_true[:15]
    assert ari(labels_true, labels_pred) == pytest.approx(ari_by_pairs(labels_true, labels_pred))


def test_ari_by_hand():
    # Of 6 pairs, 2 are in a class, 1 is in a cluster and in both; by chance, 2 * 1 / 6 are.
    assert ari([0, 0, 1, 1], [0, 0, 1, 2]) == pytest.approx((1 - 1 / 3) / (1.5 - 1 / 3))


def test_ari_is_zero_on_average_for_random_clusters():
    rng = np.random.default_rng(0)
    values = [ari(rng.integers(3, size=60), rng.integers(4, size=60)) for _ in range(100)]
    # Four standard errors of the mean.
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(100)
    assert min(values) < 0 < max(values)


@pytest.mark.parametrize("measure", [clustering_accuracy, nmi, ari])
@pytest.mark.parametrize(
    ("labels_true", "labels_pred"), [([], []), ([1, 2], [1]), ([[1, 2]], [[1, 2]]), (1, 1)]
)
def test_shapes_that_do_not_fit_are_named(measure, labels_true, labels_pred):
    with pytest.raises(ValueError, match=r"labels_true has shape .* labels_pred has shape"):
        measure(labels_true, labels_pred)
