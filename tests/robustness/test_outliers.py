"""From data with outliers to clusters and outliers: how good, how often wrong, and the contract."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import t as student_t
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import REFCMFS, RSFKM, CappedREFCMFS, FuzzyClustering
from sfumato._outliers import FALSE_ALARMS
from sfumato.datasets import make_blobs_with_outliers
from sfumato.exceptions import EmptyClusterWarning
from tests.catalogue import USER_STORAGES, blobs, csr, each, every_dtype, every_engine
from tests.contract.estimators import every_estimator

KINDS = ("uniform", "cauchy", "clumps")
every_kind = pytest.mark.parametrize("kind", KINDS)
every_dimension = pytest.mark.parametrize("n_features", [2, 10, 50])
SLACK = 0.05
"""Of the error of a center, in widths of a cluster: what is nothing is not 1.3 times nothing."""


def contaminated(kind="uniform", n_features=2, n_rows=1000, seed=0, **options):
    """Six clusters, and outliers that are 30 % of all rows."""
    return make_blobs_with_outliers(
        n_rows, n_features, outliers=kind, contamination=0.3, random_state=seed, **options
    )


def fitted(X, weights=None, **options):
    return CappedREFCMFS(6, random_state=0, **options).fit(X, sample_weight=weights)


def errors(centers, truth):
    """Distance of each true center from the one that was found for it."""
    distances = cdist(truth, centers)
    return distances[linear_sum_assignment(distances)]


# How good.


@every_kind
@every_dimension
@pytest.mark.parametrize("seed", [0, 1])
def test_a_third_of_the_rows_may_be_anything(kind, n_features, seed):
    sample = contaminated(kind, n_features, seed=seed)
    inliers = sample.target >= 0
    X, truth = sample.data[inliers], sample.target[inliers]
    model, clean = fitted(sample.data), fitted(X)
    best = adjusted_rand_score(truth, cdist(X, sample.centers).argmin(axis=1))
    assert adjusted_rand_score(truth, model.labels_[inliers]) >= 0.95 * best
    assert roc_auc_score(~inliers, model.outlier_scores_) >= 0.99
    found, expected = (errors(m.cluster_centers_, sample.centers) for m in (model, clean))
    assert found.max() <= 1.3 * expected.max() + SLACK
    assert found.mean() <= 1.3 * expected.mean() + SLACK


@every_kind
def test_clusters_of_different_widths_and_sizes(kind):
    sample = contaminated(kind, 5, n_rows=2000, width_ratio=2.0, size_ratio=3.0)
    model, inliers = fitted(sample.data), sample.target >= 0
    assert adjusted_rand_score(sample.target[inliers], model.labels_[inliers]) >= 0.95
    assert roc_auc_score(~inliers, model.outlier_scores_) >= 0.99
    nearest = cdist(sample.centers, model.cluster_centers_).argmin(axis=1)
    radii = model.cluster_radii_[nearest] / sample.widths
    assert radii.max() < 1.3 * radii.min()


@every_dimension
def test_which_rows_are_outliers(n_features):
    sample = contaminated("uniform", n_features)
    outliers = fitted(sample.data).outliers_
    assert outliers[sample.target == -1].mean() >= 0.99
    assert outliers[sample.target >= 0].mean() <= 0.02


@pytest.mark.parametrize("n_features", [2, 10, 50, 200])
def test_false_alarms_are_as_many_as_promised(n_features):
    X = make_blobs_with_outliers(20_000, n_features, contamination=0.0, random_state=0).data
    share = fitted(X).outliers_.mean()
    assert FALSE_ALARMS / 2 <= share <= 2 * FALSE_ALARMS


def clean(n_rows, n_features, n_clusters, seed, freedom=np.inf):
    """Clusters of so many rows each, on a wide circle: Gaussian, or Student-t of some degrees."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_clusters, n_rows, n_features))
    if np.isfinite(freedom):
        X /= np.sqrt(rng.chisquare(freedom, size=(n_clusters, n_rows, 1)) / freedom)
    angles = 2 * np.pi * np.arange(n_clusters)[:, None] / n_clusters
    X[..., 0] += 50 * n_clusters * np.cos(angles)
    X[..., 1] += 50 * n_clusters * np.sin(angles)
    return X.reshape(-1, n_features)


@pytest.mark.parametrize("n_features", [2, 10, 50, 200])
@pytest.mark.parametrize("n_rows", [50, 100])
def test_small_clusters_raise_as_few_false_alarms(n_rows, n_features):
    """By chance alone, the count of 12,000 rows has a standard deviation of a quarter."""
    shares = [
        REFCMFS(20, init=clean(1, n_features, 20, 0), random_state=0)
        .fit(clean(n_rows, n_features, 20, seed))
        .outliers_.mean()
        for seed in range(12_000 // (20 * n_rows))
    ]
    assert FALSE_ALARMS / 2 <= np.mean(shares) <= 2 * FALSE_ALARMS


@pytest.mark.parametrize("n_features", [2, 10, 50, 200])
@pytest.mark.parametrize("make", [CappedREFCMFS, REFCMFS])
def test_heavy_tails_of_clean_clusters_are_hardly_outliers(make, n_features):
    """The radius of a Gaussian cluster would leave 2 to 4 % of such rows outside."""
    model = make(4, random_state=0)
    shares = [
        model.fit(clean(1000, n_features, 4, seed, freedom=5)).outliers_.mean() for seed in range(4)
    ]
    assert np.mean(shares) < 0.02


def test_rows_of_two_clusters_in_turn():
    """Twice as many as are looked at, so that half of them must not be those of one cluster."""
    X = np.random.default_rng(0).normal(size=(33_000, 2))
    X[1::2] += 20
    model = CappedREFCMFS(2, random_state=0).fit(X)
    assert model.outliers_.mean() <= 2 * FALSE_ALARMS


def test_a_loss_without_a_cap_gives_outliers_centers():
    """What the cap is for: otherwise the tests above would test nothing."""
    sample = contaminated("cauchy", 10)
    with pytest.warns(EmptyClusterWarning, match="cluster . has 1 row, .*use CappedREFCMFS"):
        model = REFCMFS(6, random_state=0).fit(sample.data)
    inliers = sample.target >= 0
    assert adjusted_rand_score(sample.target[inliers], model.labels_[inliers]) < 0.9


def test_clusters_of_rows_that_are_all_alike():
    """Discrete data: a place where a hundred rows are is a cluster, and no outlier."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.repeat(10.0 * np.eye(4)[:3], 100, axis=0), rng.normal(size=(100, 4))])
    model = REFCMFS(4, random_state=0).fit(X)
    assert not model.outliers_[:300].any()
    assert model.outliers_.mean() < 0.05


# What scores and marks mean.


@every_estimator
@every_dtype
def test_attributes_of_every_estimator(estimator, dtype):
    X = blobs(80, 3, 4).astype(dtype)
    model = clone(estimator).fit(X)
    assert model.outlier_scores_.shape == model.outliers_.shape == (80,)
    assert model.outlier_scores_.dtype == dtype
    assert model.outliers_.dtype == bool
    assert model.cluster_radii_.shape == (4,)
    assert_array_equal(model.outliers_, model.outlier_scores_ > 1)
    assert_array_equal(model.score_outliers(X), model.outlier_scores_)
    assert model.labels_.min() >= 0
    assert model.cap_ == model.loss_.cutoff


@every_estimator
def test_outliers_are_beyond_every_radius_and_scores_rank_by_a_student_mixture(estimator):
    model = clone(estimator).fit(blobs(80, 3, 4))
    new = 3 * blobs(50, 3, 4, seed=1)
    distances = model.transform(new)
    outlying = np.nanmin(distances / model.cluster_radii_, axis=1) > 1
    scales, shares = model._tails_
    # That of 6 degrees in one dimension falls as that of 4 degrees in three does.
    tails = student_t(df=6).pdf(distances / scales * np.sqrt(6 / 4)) / scales**3
    density = (shares * tails).sum(axis=1)
    scores = model.score_outliers(new)
    assert_array_equal(scores > 1, outlying)
    for rows in (outlying, ~outlying):
        assert_array_equal(np.argsort(scores[rows]), np.argsort(-density[rows]))


@every_engine
@every_dtype
def test_marks_are_where_scores_are_above_one(engine_name, dtype):
    sample = contaminated("cauchy", 3, n_rows=400)
    model = fitted(sample.data.astype(dtype), engine=engine_name)
    new = contaminated("uniform", 3, n_rows=300, seed=1).data.astype(dtype)
    for X in (sample.data.astype(dtype), new):
        labels, marked = model.predict(X), model.predict(X, mark_outliers=True)
        beyond = model.score_outliers(X) > 1
        assert 0 < beyond.sum() < len(X)
        assert_array_equal(marked, np.where(beyond, -1, labels))
        assert marked.dtype == labels.dtype == np.int32
        assert labels.min() >= 0
    assert model.labels_.min() >= 0
    assert_array_equal(model.predict(sample.data.astype(dtype), mark_outliers=False), model.labels_)


def test_marks_are_asked_for_by_name():
    model = fitted(contaminated().data)
    with pytest.raises(TypeError):
        model.predict(contaminated().data, True)


def test_scores_of_single_precision_are_close():
    X = contaminated("cauchy", 5).data
    double, single = fitted(X), fitted(X.astype(np.float32))
    assert single.cap_ == pytest.approx(double.cap_, rel=1e-3)
    assert_allclose(single.outlier_scores_, double.outlier_scores_, rtol=1e-3)
    clear = np.abs(double.outlier_scores_ - 1) > 1e-3
    assert_array_equal(single.outliers_[clear], double.outliers_[clear])


@each("storage", USER_STORAGES, ids=str)
def test_storage_does_not_matter(storage):
    X = contaminated("clumps", 3).data
    X[np.abs(X) < 1] = 0
    expected, found = fitted(X), fitted(USER_STORAGES[storage](X))
    assert found.cap_ == pytest.approx(expected.cap_, rel=1e-9)
    assert_allclose(found.cluster_radii_, expected.cluster_radii_, rtol=1e-6)
    assert_allclose(found.outlier_scores_, expected.outlier_scores_, rtol=1e-6)
    assert_array_equal(found.outliers_, expected.outliers_)
    assert_array_equal(
        expected.predict(csr(X), mark_outliers=True), expected.predict(X, mark_outliers=True)
    )


def test_units_place_and_order_do_not_matter():
    X = contaminated("cauchy", 3).data
    shuffled = np.random.default_rng(0).permutation(len(X))
    expected = fitted(X).outlier_scores_
    assert_allclose(fitted(1024 * X).outlier_scores_, expected, rtol=1e-6)
    assert_allclose(fitted(X + 100).outlier_scores_, expected, rtol=1e-5)
    assert_allclose(fitted(X[shuffled]).outlier_scores_, expected[shuffled], rtol=1e-6)


def test_integer_weights_are_nearly_copies():
    """Nearly: a small cluster borrows by the number of its rows, not by their weights."""
    X = contaminated("uniform", 3).data
    weights = np.random.default_rng(1).integers(1, 3, size=len(X))
    weighted, repeated = fitted(X, weights), fitted(np.repeat(X, weights, axis=0))
    assert weighted.cap_ == pytest.approx(repeated.cap_, rel=1e-6)
    assert_allclose(
        np.repeat(weighted.outlier_scores_, weights), repeated.outlier_scores_, rtol=0.01
    )


def test_rows_of_weight_zero_change_nothing_and_are_scored():
    X = contaminated("cauchy", 3).data
    expected = fitted(X)
    weights = np.repeat([1.0, 0.0], [len(X), 200])
    found = fitted(np.vstack([X, X[:200] + 0.1]), weights)
    assert found.outlier_scores_.shape == (1200,)
    assert_allclose(found.cluster_radii_, expected.cluster_radii_, rtol=1e-9)
    assert_allclose(found.outlier_scores_[:1000], expected.outlier_scores_, rtol=1e-9)


# Where fitted models end up.


def test_frames():
    sample = contaminated("uniform", 3)
    frame = pd.DataFrame(sample.data, columns=["a", "b", "c"])
    model, expected = fitted(frame), fitted(sample.data)
    # A frame stores columns, and sums over them are rounded otherwise.
    assert_allclose(model.outlier_scores_, expected.outlier_scores_, rtol=1e-9)
    assert_array_equal(model.score_outliers(frame), model.outlier_scores_)
    assert type(model.predict(frame, mark_outliers=True)) is np.ndarray
    with pytest.raises(ValueError, match="feature names"):
        model.score_outliers(frame.rename(columns={"a": "z"}))


def test_pickles_keep_them():
    X = contaminated("uniform", 3).data
    model = fitted(X)
    again = pickle.loads(pickle.dumps(model))
    for name in ("outlier_scores_", "outliers_", "cluster_radii_", "cap_"):
        assert_array_equal(getattr(again, name), getattr(model, name))
    assert_array_equal(again.predict(X, mark_outliers=True), model.predict(X, mark_outliers=True))


def test_a_refit_replaces_them():
    one, other = contaminated("uniform", 3).data, 10 * contaminated("uniform", 4, 500, seed=1).data
    model = fitted(one).fit(other)
    fresh = fitted(other)
    for name in ("outlier_scores_", "outliers_", "cluster_radii_", "cap_"):
        assert_array_equal(getattr(model, name), getattr(fresh, name))


def test_a_refit_without_a_cap_has_none():
    X = blobs(100)
    model = FuzzyClustering(3, loss="capped", random_state=0).fit(X)
    assert 0 < model.cap_ < np.inf
    assert model.set_params(loss="l21").fit(X).cap_ == np.inf


def test_a_pipeline_marks_outliers():
    X = contaminated("uniform", 3).data * [1.0, 100.0, 0.01]
    pipeline = make_pipeline(StandardScaler(), CappedREFCMFS(6, random_state=0)).fit(X)
    marked = pipeline.predict(X, mark_outliers=True)
    assert_array_equal(marked == -1, pipeline[-1].outliers_)
    assert pipeline.transform(X).shape == (1000, 6)


def test_frames_come_out_if_asked_for():
    X = contaminated("uniform", 3).data
    model = CappedREFCMFS(6, random_state=0).set_output(transform="pandas")
    distances = model.fit_transform(X)
    assert isinstance(distances, pd.DataFrame)
    assert list(distances.columns) == [f"cappedrefcmfs{k}" for k in range(6)]
    assert type(model.score_outliers(X)) is np.ndarray


def test_a_cap_that_is_given_is_kept():
    model = fitted(contaminated("uniform", 3).data, cap=7)
    assert model.cap_ == model.loss_.cap == 7


def test_the_preset_is_the_parts_it_names():
    X = contaminated("cauchy", 3).data
    preset = fitted(X)
    parts = FuzzyClustering(6, loss="capped", membership="power", random_state=0).fit(X)
    assert_array_equal(preset.cluster_centers_, parts.cluster_centers_)
    assert_array_equal(preset.outlier_scores_, parts.outlier_scores_)
    capped = RSFKM(6, loss="capped", random_state=0).fit(X)
    assert capped.cap_ == preset.cap_
