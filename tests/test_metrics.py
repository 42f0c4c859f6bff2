"""Agreement with known classes."""

from itertools import permutations

import numpy as np
import pytest

from sfumato.metrics import accuracy, nmi


def best_by_enumeration(y_true, y_pred):
    """Accuracy over all one-to-one maps from clusters to classes: the definition itself."""
    classes, clusters = sorted(set(y_true)), sorted(set(y_pred))
    padded = classes + [None] * max(0, len(clusters) - len(classes))
    pairs = list(zip(y_true, y_pred, strict=True))
    return max(
        np.mean([dict(zip(clusters, chosen, strict=True))[p] == t for t, p in pairs])
        for chosen in permutations(padded, len(clusters))
    )


@pytest.mark.parametrize("n_classes", [1, 2, 4])
@pytest.mark.parametrize("n_clusters", [1, 3, 5])
def test_accuracy_is_the_best_of_all_matchings(n_classes, n_clusters):
    rng = np.random.default_rng(n_classes * 10 + n_clusters)
    y_true = rng.integers(n_classes, size=40).tolist()
    y_pred = rng.integers(n_clusters, size=40).tolist()
    assert accuracy(y_true, y_pred) == pytest.approx(best_by_enumeration(y_true, y_pred))


@pytest.mark.parametrize("measure", [accuracy, nmi])
def test_one_for_equal_partitions_under_any_names(measure):
    y_true = np.array([3, 3, 9, 9, 9, -1])
    names = np.array(["x", "x", "b", "b", "b", "cc"])
    assert measure(y_true, names) == pytest.approx(1.0)
    assert measure(names, y_true) == pytest.approx(1.0)


def test_more_clusters_than_classes_cost_accuracy():
    assert accuracy([0, 0, 0, 0], [0, 0, 1, 2]) == 0.5
    assert accuracy([0, 1, 2, 2], [7, 7, 7, 7]) == 0.5


def test_nmi_divides_by_the_larger_entropy():
    y_true, y_pred = [0, 0, 1, 1], [0, 1, 2, 3]
    # Knowing the cluster tells the class: I = H(y) = log 2, and the larger entropy is log 4.
    assert nmi(y_true, y_pred) == pytest.approx(np.log(2) / np.log(4))


def test_nmi_is_zero_for_independent_labels():
    assert nmi([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("measure", [accuracy, nmi])
@pytest.mark.parametrize(
    ("y_true", "y_pred"), [([], []), ([1, 2], [1]), ([[1, 2]], [[1, 2]]), (1, 1)]
)
def test_shapes_that_do_not_fit_are_named(measure, y_true, y_pred):
    with pytest.raises(ValueError, match=r"y_true has shape .* y_pred has shape"):
        measure(y_true, y_pred)
