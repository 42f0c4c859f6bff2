"""A second bounded loss, Tukey's biweight, written here alone: nothing else knows of it.

It seeds robustly, finds its own cutoff and names outliers, as the loss of the library does.
"""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sfumato import Capped, FuzzyClustering
from sfumato._init import search
from sfumato.datasets import make_blobs_with_outliers
from sfumato.losses import Loss
from tests.catalogue import each, every_membership


class Tukey(Loss):
    """Tukey's biweight: ``c^2 / 6 * (1 - (1 - (h/c)^2)^3)`` up to ``c``, constant beyond."""

    kink = 0.0
    degree = 2
    bounded = True

    def __init__(self, c="auto"):
        self.c = c

    @property
    def cutoff(self):
        return np.inf if self.c == "auto" else float(self.c)

    def with_cutoff(self, cutoff):
        return type(self)(c=cutoff)

    def value(self, sq_dist):
        if np.isinf(self.cutoff):
            return sq_dist / 2
        return self.cutoff**2 / 6 * (1 - self._inside(sq_dist) ** 3)

    def weight(self, sq_dist):
        return self._inside(sq_dist) ** 2 / 2

    def _inside(self, sq_dist):
        return np.maximum(0, 1 - sq_dist / self.cutoff**2)


def far_uniform(n_features=3, seed=0):
    """Six clusters of width 1, and a fifth of all rows drawn uniformly from a large box.

    A row of the box that lies in a cluster by chance would be no outlier, and is left out.
    """
    made = make_blobs_with_outliers(
        600, n_features, contamination=0.2, outliers="uniform", random_state=seed
    )
    near = cdist(made.data, made.centers).min(axis=1) < 3 * np.sqrt(n_features) + 3
    kept = near == (made.target >= 0)
    return made.data[kept], made.target[kept]


def fitted(X, loss, **options):
    model = FuzzyClustering(6, loss=loss, engine="reference", random_state=0, **options)
    return model.fit(X)


def test_the_weight_is_the_derivative_of_the_value():
    t = np.linspace(0.01, 30, 200)
    loss = Tukey(4.0)
    slope = (loss.value(t + 1e-6) - loss.value(t - 1e-6)) / 2e-6
    assert_allclose(loss.weight(t), slope, atol=1e-7)


@pytest.mark.parametrize("n_features", [3, 10])
@pytest.mark.parametrize("seed", range(2))
def test_clusters_and_outliers_are_found_with_nothing_given(n_features, seed):
    X, target = far_uniform(n_features, seed)
    model = fitted(X, Tukey())
    inliers = target >= 0
    assert adjusted_rand_score(target[inliers], model.labels_[inliers]) == 1
    assert_array_equal(model.outliers_[~inliers], True)
    assert model.outliers_[inliers].mean() < 0.01
    assert model.loss.c == "auto", "parameters are the user's"
    assert isinstance(model.loss_, Tukey)


def test_the_outliers_are_the_planted_ones():
    X, target = far_uniform(seed=3)
    assert_array_equal(fitted(X, Tukey()).outliers_, target < 0)


def test_the_cutoff_is_the_cap_that_would_be_found():
    """The search knows only that the loss is bounded."""
    X, _ = far_uniform()
    assert fitted(X, Tukey()).loss_.c == fitted(X, Capped()).loss_.cap
    for init in ("k-means++", "random", X[:6]):
        assert fitted(X, Tukey(), init=init, tol=0.5).loss_.cutoff < np.inf


@pytest.fixture
def seeded(monkeypatch) -> Iterator[list[int]]:
    """Short capped fits that were made."""
    made, capped_fit = [], search.capped_fit

    def spy(sample, cap, *others):
        made.append(cap)
        return capped_fit(sample, cap, *others)

    monkeypatch.setattr(search, "capped_fit", spy)
    return made


@each("c", ("auto", 6.0), ids=str)
def test_seeds_are_robust_by_themselves(c, seeded):
    X, target = far_uniform()
    model = fitted(X, Tukey(c), n_init=1)
    assert seeded
    inliers = target >= 0
    assert adjusted_rand_score(target[inliers], model.labels_[inliers]) == 1
    seeded.clear()
    fitted(X, Tukey(6.0), init="k-means++", n_init=1)
    assert not seeded


def test_the_fuzzifier_fits_the_degree():
    X, _ = far_uniform(10)
    model = fitted(X, Tukey())
    assert model.fuzzifier_ == 1 + 2 / model.intrinsic_dimension_
    assert 7 <= model.intrinsic_dimension_ <= 10


@every_membership
def test_every_membership_rule_goes_with_it(membership):
    X, _ = far_uniform()
    model = fitted(X, Tukey(), membership=clone(membership), max_iter=20, tol=1e-3)
    assert np.isfinite(model.cluster_centers_).all()
    assert_allclose(model.memberships_.sum(axis=1), ~model.outliers_)


def test_clean_data_leave_out_hardly_a_row():
    X = np.random.default_rng(0).uniform(size=(300, 4))
    model = fitted(X, Tukey())
    assert np.isfinite(model.loss_.cutoff)
    assert model.outliers_.mean() < 0.02


def test_rows_without_a_scale_have_no_cutoff():
    X = np.random.default_rng(0).normal(size=(10, 2))
    model = fitted(X, Tukey())
    assert model.loss_.cutoff == np.inf
    assert np.isfinite(model.cluster_centers_).all()


def test_the_compiled_engine_names_what_is_missing():
    with pytest.raises(TypeError, match=r"has no compiled twin.*engine='reference'"):
        FuzzyClustering(2, loss=Tukey(3.0), engine="native").fit([[0.0], [1.0], [5.0]])
