"""Defaults that can be trusted: one answer for one data set, whatever the seed and the outliers."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import RobustScaler

from sfumato import REFCMFS, CappedREFCMFS, FuzzyCMeans, SimREFCMFS
from sfumato._init.robust import RobustSeeds
from sfumato.datasets import make_blobs_with_outliers
from sfumato.exceptions import UnstableFitWarning
from tests.catalogue import csr, each

KINDS = ("uniform", "cauchy", "clumps")
SEEDS = range(5)
MODELS = {
    "REFCMFS": REFCMFS,
    "CappedREFCMFS": CappedREFCMFS,
    "SimREFCMFS": SimREFCMFS,
    "FuzzyCMeans": lambda *given, **options: FuzzyCMeans(*given, fuzzifier="auto", **options),
}
every_model = each("name", MODELS, ids=str)
pytestmark = pytest.mark.filterwarnings(
    # FuzzyCMeans and REFCMFS give outliers centers of their own, which is what they warn of.
    "ignore::sfumato.exceptions.ClusteringWarning"
)


def blobs_among(kind="uniform", contamination=0.0, n_features=5, n_rows=20_000, seed=0):
    return make_blobs_with_outliers(
        n_rows,
        n_features,
        n_clusters=8,
        outliers=kind,
        contamination=contamination,
        random_state=seed,
    )


def fuzzifier(name, X, n_clusters=8, seed=0, weights=None):
    """From short fits, as it is estimated before a fit begins."""
    model = MODELS[name](n_clusters, random_state=seed, max_iter=3, n_init=1)
    return model.fit(X, sample_weight=weights).fuzzifier_


# The fuzzifier.


@every_model
def test_the_fuzzifier_is_a_property_of_the_data(name):
    """Not of the seed, the order, the size of the data, or a few outliers."""
    rng = np.random.default_rng(0)
    X = blobs_among().data
    expected = fuzzifier(name, X)
    found = [
        *(fuzzifier(name, X, seed=seed) for seed in SEEDS[1:]),
        fuzzifier(name, X[rng.permutation(len(X))]),
        fuzzifier(name, X[rng.choice(len(X), 2000, replace=False)]),
        fuzzifier(name, blobs_among("uniform", 0.01).data),
        fuzzifier(name, blobs_among("cauchy", 0.3).data),
        *(fuzzifier(name, X, n_clusters) for n_clusters in (4, 12, 16)),
    ]
    assert found == pytest.approx([expected] * len(found), rel=0.02)


@pytest.mark.slow
@every_model
@each("kind", KINDS, ids=str)
@each("n_features", (2, 5, 20), ids=str)
def test_outliers_do_not_move_the_fuzzifier(name, kind, n_features):
    expected = fuzzifier(name, blobs_among(n_features=n_features).data)
    for contamination in (0.01, 0.05, 0.3):
        X = blobs_among(kind, contamination, n_features).data
        found = [fuzzifier(name, X, seed=seed) for seed in range(2)]
        assert found == pytest.approx([expected] * len(found), rel=0.02)
        # With 2,000 rows in all, of which 30 % are outliers, the standard error is above one per
        # cent where r is 2.
        tenth = X[np.random.default_rng(0).permutation(len(X))[:2000]]
        assert fuzzifier(name, tenth) == pytest.approx(expected, rel=0.04)


@pytest.mark.slow
@every_model
@each("n_features", (2, 5, 20), ids=str)
def test_the_number_of_clusters_hardly_moves_the_fuzzifier(name, n_features):
    """By the dimension, that is: a cap may need a smaller one where clusters share a center."""
    X = blobs_among("uniform", 0.05, n_features).data
    found = []
    for n_clusters in (4, 5, 6, 8, 10, 12, 14, 16):
        model = MODELS[name](n_clusters, random_state=0, max_iter=3, n_init=1).fit(X)
        found.append(1 + model.loss_.degree / model.intrinsic_dimension_)
    assert found == pytest.approx([found[3]] * len(found), rel=0.02)


@every_model
def test_all_estimators_have_one_dimension(name):
    X = blobs_among("cauchy", 0.05).data
    degree = 2 if name in ("SimREFCMFS", "FuzzyCMeans") else 1
    found = 1 + (fuzzifier(name, X) - 1) / degree
    assert found == pytest.approx(fuzzifier("REFCMFS", X), rel=0.02)


@every_model
def test_wide_rows_have_one_dimension(name):
    """Rows are projected onto as many coordinates as there are rows; clusters have more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 1500))[np.arange(80) % 4] + 2 * rng.normal(size=(80, 1500))
    degree = 2 if name in ("SimREFCMFS", "FuzzyCMeans") else 1
    found = (fuzzifier(name, X, 4) - 1) / degree
    assert found == pytest.approx(fuzzifier("REFCMFS", X, 4) - 1, rel=1e-6)
    assert found < 1 / 400


@every_model
def test_a_weight_of_three_is_three_copies_of_a_row(name):
    X = blobs_among("uniform", 0.05, n_rows=1200).data
    expected = fuzzifier(name, np.repeat(X, 3, axis=0))
    assert fuzzifier(name, X, weights=np.full(1200, 3.0)) == pytest.approx(expected, rel=1e-6)


@every_model
def test_sparse_data_have_the_same_fuzzifier(name):
    X = blobs_among("uniform", 0.05, n_rows=1200).data
    assert fuzzifier(name, csr(X)) == pytest.approx(fuzzifier(name, X), rel=1e-6)


def beside_a_small_one(seed=0):
    """A cluster of 4 %, beside the largest of five Gaussians in 3 dimensions, and the truth."""
    rng = np.random.default_rng(seed)
    middles = np.array([[0, 0, 0], [12, 0, 0], [0, 12, 0], [0, 0, 12], [-2.6, -2.6, -2.6]])
    truth = np.repeat(np.arange(5), [1950, 1650, 1350, 810, 240])
    return middles[truth] + rng.normal(size=(len(truth), 3)), truth


def test_a_small_cluster_beside_a_large_one_is_kept_by_a_smaller_fuzzifier(monkeypatch):
    """With the fuzzifier of the dimension, rows of the large one pull the small one's center."""
    X, truth = beside_a_small_one()
    model = CappedREFCMFS(5, random_state=0).fit(X)
    assert model.fuzzifier_ < 1 + 0.6 / model.intrinsic_dimension_
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    monkeypatch.setattr(RobustSeeds, "keeps_clusters", lambda *_: True)
    lost = CappedREFCMFS(5, random_state=0).fit(X)
    assert lost.fuzzifier_ == 1 + 1 / lost.intrinsic_dimension_
    assert adjusted_rand_score(truth, lost.labels_) < 0.9


# The same answer from every seed.


def customers(seed=0):
    """Five segments, one of 4 %, in columns of unlike units that are log-normal; eight typos.

    Returns the scaled table, the segments (-1 for typos), and their number of rows.
    """
    rng = np.random.default_rng(seed)
    revenue_orders_days_returns = np.array(
        [
            [120, 3, 40, 1.0],
            [400, 9, 20, 2.2],
            [60, 1.6, 200, 1.1],
            [900, 5, 90, 5.5],
            [4000, 30, 6, 3.5],
        ]
    )
    truth = np.repeat(np.arange(5), [1300, 1100, 900, 540, 160])
    table = revenue_orders_days_returns[truth] * np.exp(0.15 * rng.normal(size=(len(truth), 4)))
    typos = rng.choice(len(truth), 8, replace=False)
    table[typos, rng.integers(4, size=8)] *= 100
    truth[typos] = -1
    return RobustScaler().fit_transform(table), truth


@each("number", range(2), ids=str)
def test_a_table_of_customers_has_one_answer(number):
    X, truth = customers(number)
    known = truth >= 0
    models = [CappedREFCMFS(5, random_state=seed).fit(X) for seed in SEEDS]
    scores = [adjusted_rand_score(truth[known], model.labels_[known]) for model in models]
    caps = [model.cap_ for model in models]
    assert min(scores) > 0.95
    assert np.ptp(scores) <= 0.02
    assert np.ptp(caps) <= 0.05 * min(caps)
    for model in models:
        assert model.outliers_[~known].all()
        assert max(model.outliers_[truth == k].mean() for k in range(5)) < 0.05
        assert model.stability_ > 0.98


@each("size_ratio", (1.0, 10.0, 30.0), ids=str)
@each("kind", KINDS, ids=str)
def test_blobs_of_unlike_sizes_have_one_answer(kind, size_ratio):
    sample = make_blobs_with_outliers(
        3000, 4, outliers=kind, contamination=0.05, size_ratio=size_ratio, random_state=1
    )
    known = sample.target >= 0
    models = [CappedREFCMFS(6, random_state=seed).fit(sample.data) for seed in range(3)]
    scores = [adjusted_rand_score(sample.target[known], model.labels_[known]) for model in models]
    assert min(scores) > 0.97
    assert np.ptp([model.cap_ for model in models]) <= 0.05 * models[0].cap_


# Stability.


def test_searches_that_agree_are_stable():
    model = CappedREFCMFS(8, random_state=0).fit(blobs_among("uniform", 0.1, n_rows=2000).data)
    assert model.stability_ == 1
    assert model.outcome_.stability == 1
    assert not any(each.category is UnstableFitWarning for each in model.outcome_.warnings)


@pytest.mark.filterwarnings("default::sfumato.exceptions.UnstableFitWarning")
@each("model", (REFCMFS(12), CappedREFCMFS(12), CappedREFCMFS(12, cap=1.0)), ids=repr)
def test_noise_is_unstable(model):
    X = np.random.default_rng(0).uniform(size=(600, 5))
    with pytest.warns(UnstableFitWarning, match="different clusters.*n_clusters"):
        model.set_params(random_state=0).fit(X)
    assert model.stability_ < 0.9
    assert model.outcome_.stability == model.stability_
    assert [each.category for each in model.outcome_.warnings].count(UnstableFitWarning) == 1


def test_one_start_says_nothing_about_stability():
    model = REFCMFS(3, n_init=1, random_state=0).fit(blobs_among(n_rows=500).data)
    assert model.stability_ is None


def test_two_centers_in_one_large_cluster_are_not_returned_in_silence():
    """Soft memberships pay less for them than for a center of a cluster a thirtieth as large."""
    sample = make_blobs_with_outliers(
        4000, 2, n_clusters=6, contamination=0.0, size_ratio=30.0, random_state=0
    )
    for seed in range(4):
        model = REFCMFS(6, random_state=seed).fit(sample.data)
        right = adjusted_rand_score(sample.target, model.labels_) > 0.98
        assert right or model.stability_ < 0.9


# Unit vectors.


def topics(n_features, off_topic, n_topics=10, n_rows=2000, seed=0):
    """Unit vectors around some directions, and in random ones; the topics, -1 for none."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_topics, size=n_rows)
    truth[rng.random(n_rows) < off_topic] = -1
    directions = rng.normal(size=(n_topics, n_features)) / np.sqrt(n_features)
    X = directions[truth] + rng.normal(size=(n_rows, n_features)) / np.sqrt(n_features)
    off = truth < 0
    X[off] = rng.normal(size=(np.count_nonzero(off), n_features))
    return X / np.linalg.norm(X, axis=1, keepdims=True), truth


@each("off_topic", (0.02, 0.08, 0.15), ids=str)
@pytest.mark.parametrize("n_features", [64, pytest.param(384, marks=pytest.mark.slow)])
def test_random_directions_among_topics_are_found(n_features, off_topic):
    X, truth = topics(n_features, off_topic)
    model = CappedREFCMFS(10, random_state=0).fit(X)
    assert model.outliers_[truth < 0].mean() >= 0.9
    assert model.outliers_[truth >= 0].mean() <= 0.03
    known = truth >= 0
    assert adjusted_rand_score(truth[known], model.labels_[known]) > 0.98


@pytest.mark.slow
def test_small_topics_beside_off_topic_rows_keep_their_centers():
    """In many dimensions two rows of a topic are farther apart than its radius."""
    rng = np.random.default_rng(1)
    sizes = np.repeat([20, 60, 120, 240], 8)
    truth = np.concatenate([np.repeat(np.arange(32), sizes), np.full(500, -1)])
    directions = rng.normal(size=(33, 768))
    directions[-1] = 0
    X = directions[truth] + 0.9 * rng.normal(size=(len(truth), 768))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = CappedREFCMFS(32, random_state=0).fit(X)
    assert max(model.outliers_[truth == k].mean() for k in range(32)) < 0.2
    assert model.outliers_[truth < 0].mean() > 0.98


def test_topics_are_the_same_from_every_seed():
    """Two that share a center are parted by dividing: a row would be too far from the others."""
    rng = np.random.default_rng(2)
    truth = rng.choice(40, 4000, p=rng.dirichlet(np.full(40, 5.0)))
    directions = rng.normal(size=(40, 64))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    X = directions[truth] + 0.1 * rng.normal(size=(4000, 64))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for seed in range(3):
        model = REFCMFS(40, random_state=seed).fit(X)
        assert adjusted_rand_score(truth, model.labels_) > 0.995


def test_clean_topics_stay_as_they_are():
    X, truth = topics(64, 0.0)
    model = CappedREFCMFS(10, random_state=0).fit(X)
    assert model.outliers_.mean() <= 0.03
    assert adjusted_rand_score(truth, model.labels_) > 0.98
