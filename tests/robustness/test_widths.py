"""Clusters of unlike widths, heavy rows, rows in one place: what cap and radii must live with."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sfumato import REFCMFS, Capped, CappedREFCMFS, Hard
from sfumato._solvers.exchange import exchange
from tests.catalogue import each, make_engine

WIDTHS = [(1, 1, 1, 5, 5, 5), (1, 1, 1, 1, 1, 5)]


def unlike(n_features, widths, contamination, seed=0):
    """Rows of six far clusters of the given widths, then outliers; clusters of the former."""
    rng = np.random.default_rng(seed)
    centers = 40.0 * np.array([[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]])
    centers = np.pad(centers, ((0, 0), (0, n_features - 2)))
    labels = np.arange(900) % 6
    X = centers[labels] + np.array(widths)[labels, None] * rng.normal(size=(900, n_features))
    outliers = rng.uniform(-400, 400, size=(int(contamination * 900), n_features))
    return np.concatenate([X, outliers]), labels


@each("widths", WIDTHS, ids=str)
@each("n_features", (2, 10, 50), ids=str)
@each("contamination", (0.0, 0.2), ids=str)
def test_wide_clusters_beside_narrow_ones(n_features, widths, contamination):
    X, labels = unlike(n_features, widths, contamination)
    model = CappedREFCMFS(6, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_[:900]) > 0.95
    wide = np.array(widths)[labels] > 1
    assert model.outliers_[:900][wide].mean() < 0.03
    assert model.outliers_[900:].sum() >= 0.9 * (len(X) - 900)


def test_a_heavy_row_leaves_the_cap_finite():
    rng = np.random.default_rng(0)
    blobs = rng.normal(size=(40, 2)) + np.repeat([[0], [20]], 20, axis=0)
    X = np.concatenate([blobs, rng.uniform(-1000, 1000, size=(6, 2))])
    weights = np.ones(46)
    weights[0] = 6
    model = CappedREFCMFS(2, random_state=0).fit(X, sample_weight=weights)
    copies = CappedREFCMFS(2, random_state=0).fit(np.repeat(X, weights.astype(int), axis=0))
    np.testing.assert_allclose(model.cap_, copies.cap_, rtol=0.1)
    assert model.outliers_[40:].all()


def test_a_row_with_half_of_the_weight_leaves_its_cluster_a_reach():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + np.repeat([[0], [20]], 20, axis=0)
    weights = np.ones(40)
    weights[0] = 25
    model = REFCMFS(2, random_state=0).fit(X, sample_weight=weights)
    assert np.isfinite(model.cluster_radii_).all()
    assert model.outliers_.sum() <= 2


@pytest.mark.parametrize("spread", [1.0, 0.0], ids=["integers", "two places"])
def test_ties(spread):
    rng = np.random.default_rng(0)
    places = np.repeat([[0.0, 0.0], [10.0, 10.0]], 100, axis=0)
    rows = np.rint(places + spread * rng.normal(size=places.shape))
    X = np.concatenate([rows, rng.uniform(-1000, 1000, size=(20, 2))])
    model = CappedREFCMFS(2, random_state=0).fit(X)
    assert np.isfinite(model.cap_)
    assert model.outliers_[200:].all()
    assert model.outliers_[:200].sum() <= 2
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), [0, 10], atol=0.5)


def test_an_outlier_does_not_set_the_reach_of_rows_in_one_place():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.zeros(60), rng.normal(size=40), [1e6]])[:, None]
    model = CappedREFCMFS(1, random_state=0).fit(X)
    assert model.outliers_[100]
    assert not model.outliers_[:60].any()
    assert model.outliers_[:100].sum() <= 25, "the tails of a cluster with a spike, beyond the cap"
    assert model.cluster_radii_ == model.cap_


@each("cap", (0.1, 1.0, 3.0), ids=str)
def test_clusters_reach_no_farther_than_a_given_cap(cap):
    rng = np.random.default_rng(0)
    blobs = rng.normal(size=(60, 2)) + np.repeat([[0], [9]], 30, axis=0)
    X = np.concatenate([blobs, rng.uniform(200, 300, size=(6, 2))])
    model = CappedREFCMFS(2, cap=cap, random_state=0).fit(X)
    assert model.outliers_[60:].all()
    distances = model.transform(X).min(axis=1)
    if cap < 3:  # Less than the clusters are wide: it decides.
        np.testing.assert_array_equal(model.outliers_, distances > cap)
    else:
        assert model.outliers_[:60].sum() <= 2


def test_two_clusters_that_share_a_center_are_parted():
    """No row is beyond the cap; one center serves two clusters, and two serve one."""
    spread = np.linspace(-1, 1, 50)
    X = np.concatenate([spread, 10 + spread, 100 + spread])[:, None]
    engine = make_engine("native", X, Capped(40.0), Hard())
    found = exchange(engine, np.array([[5.0], [99.5], [100.5]]), np.random.RandomState(0), 30.0)
    assert (np.abs(found[:, 0] - 100) < 2).sum() == 1
