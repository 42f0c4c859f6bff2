"""Landmark spectral embedding and clustering: laws, a dense oracle, shapes that defeat K-Means."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline

from sfumato import REFCMFS, LandmarkSpectralClustering, LandmarkSpectralEmbedding
from sfumato.metrics import clustering_accuracy
from tests.catalogue import data_file


@pytest.fixture(scope="module")
def cloud():
    """Connected graph with a spectrum of distinct values, so that each coordinate is determined."""
    return np.random.default_rng(3).normal(size=(120, 3)) * [3.0, 2.0, 1.0]


def affinity_of(model, X):
    """Affinities of rows to landmarks by the definition, as a dense matrix."""
    distance = pairwise_distances(X, model.landmarks_)
    weight = np.exp(-(distance**2) / (2 * model.bandwidth_**2))
    farthest = np.sort(distance, axis=1)[:, model.n_neighbors_ - 1]
    weight[distance > farthest[:, None]] = 0
    return weight / weight.sum(axis=1, keepdims=True)


def scaled_affinity_of(model, X):
    Z = affinity_of(model, X)
    mass = Z.sum(axis=0)
    return Z[:, mass > 0] / np.sqrt(mass[mass > 0])


# The spectrum.


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_landmarks": 40},
        {"n_landmarks": 40, "landmarks": "random", "n_neighbors": 6},
        {"n_landmarks": 30, "n_neighbors": 30, "bandwidth": 2.5},
    ],
)
def test_coordinates_are_eigenvectors_of_the_graph(cloud, options):
    model = LandmarkSpectralEmbedding(5, normalize=False, random_state=0, **options).fit(cloud)
    scaled = scaled_affinity_of(model, cloud)
    graph = scaled @ scaled.T
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    values, vectors = np.linalg.eigh(graph)
    assert values[-1] == pytest.approx(1)
    np.testing.assert_allclose(model.singular_values_**2, values[-2:-7:-1], atol=1e-10)
    overlap = np.abs(model.embedding_.T @ vectors[:, -2:-7:-1])
    np.testing.assert_allclose(overlap, np.eye(5), atol=1e-7)


def test_coordinates_are_orthonormal_and_have_mean_zero(cloud):
    embedding = LandmarkSpectralEmbedding(6, normalize=False, random_state=0).fit_transform(cloud)
    np.testing.assert_allclose(embedding.T @ embedding, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(embedding.sum(axis=0), 0, atol=1e-9)


def test_four_rows_by_hand():
    # Two pairs far apart, each row connected to its pair alone: W has a block of halves for each
    # pair, and the only vector of value 1 that is not constant tells the pairs apart.
    X = [[0.0], [1.0], [100.0], [101.0]]
    model = LandmarkSpectralEmbedding(1, n_neighbors=2, normalize=False).fit(X)
    # Distances are 0 and 1, so the bandwidth is 1/2 and a row's weights are as 1 to exp(-2).
    assert model.bandwidth_ == pytest.approx(0.5)
    np.testing.assert_allclose(model.singular_values_, [1])
    np.testing.assert_allclose(np.abs(model.embedding_), 0.5)
    assert np.sign(model.embedding_.ravel()).tolist() in ([1, 1, -1, -1], [-1, -1, 1, 1])


def test_the_trivial_vector_is_left_out_of_a_disconnected_graph():
    X, y = make_blobs(90, centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    model = LandmarkSpectralEmbedding(2, normalize=False).fit(X)
    np.testing.assert_allclose(model.singular_values_, [1, 1])
    for component in range(3):
        rows = model.embedding_[y == component]
        np.testing.assert_allclose(rows, np.broadcast_to(rows[0], rows.shape), atol=1e-9)
    np.testing.assert_allclose(model.embedding_.sum(axis=0), 0, atol=1e-9)


def test_rows_have_length_one(cloud):
    model = LandmarkSpectralEmbedding(4, random_state=0).fit(cloud)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    plain = LandmarkSpectralEmbedding(4, normalize=False, random_state=0).fit_transform(cloud)
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    np.testing.assert_allclose(model.embedding_, plain)


def test_landmarks_without_rows_take_no_part(cloud):
    # Rows that are equal make landmarks that are equal, most of which are connected to no row.
    X = np.vstack([cloud, np.repeat(cloud[:1], 80, axis=0)])
    model = LandmarkSpectralEmbedding(3, n_landmarks=150, n_neighbors=3, random_state=0).fit(X)
    idle = (model.basis_ == 0).all(axis=1)
    assert idle.any()
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(model.transform(X), model.embedding_)


def test_a_spectrum_that_ends_early_leaves_zeros():
    X = np.repeat([[0.0], [1.0], [9.0]], 5, axis=0)
    model = LandmarkSpectralEmbedding(6, n_neighbors=4, normalize=False).fit(X)
    assert model.singular_values_[-1] == 0
    assert not model.embedding_[:, -1].any()
    assert np.isfinite(model.embedding_).all()


def test_equal_rows_are_embedded():
    embedding = LandmarkSpectralEmbedding(2).fit_transform(np.full((12, 2), 7.0))
    assert np.isfinite(embedding).all()


# New rows.


@pytest.mark.parametrize("n_landmarks", ["auto", 30])
@pytest.mark.parametrize("normalize", [True, False])
def test_the_training_rows_are_where_they_were(cloud, n_landmarks, normalize):
    model = LandmarkSpectralEmbedding(
        4, n_landmarks=n_landmarks, normalize=normalize, random_state=0
    )
    embedding = model.fit_transform(cloud)
    np.testing.assert_array_equal(embedding, model.embedding_)
    np.testing.assert_allclose(model.transform(cloud), embedding, rtol=1e-9, atol=1e-12)


def test_blocks_change_nothing(cloud, monkeypatch):
    whole = LandmarkSpectralEmbedding(4, n_landmarks=30, random_state=0).fit(cloud)
    monkeypatch.setattr("sfumato.estimators._landmark_graph.BLOCK_SIZE", 1)
    blocks = clone(whole).fit(cloud)
    np.testing.assert_allclose(blocks.landmarks_, whole.landmarks_)
    np.testing.assert_allclose(blocks.embedding_, whole.embedding_, atol=1e-9)


def test_a_sample_makes_the_landmarks_of_many_rows(cloud, monkeypatch):
    monkeypatch.setattr("sfumato.estimators._landmark_graph.ROWS_PER_LANDMARK", 2)
    sampled = LandmarkSpectralEmbedding(3, n_landmarks=20, random_state=0).fit(cloud)
    monkeypatch.undo()
    whole = clone(sampled).fit(cloud)
    assert sampled.embedding_.shape == whole.embedding_.shape
    assert not np.allclose(sampled.landmarks_, whole.landmarks_)


def test_far_rows_are_connected_to_their_nearest_landmark(cloud):
    model = LandmarkSpectralEmbedding(3, random_state=0).fit(cloud)
    far = model.transform([[1e6, 0.0, 0.0]])
    np.testing.assert_allclose(np.linalg.norm(far), 1)


# Laws.


def test_the_order_of_rows_changes_nothing(cloud):
    order = np.random.default_rng(0).permutation(len(cloud))
    before = LandmarkSpectralEmbedding(4).fit_transform(cloud)
    np.testing.assert_allclose(
        LandmarkSpectralEmbedding(4).fit_transform(cloud[order]), before[order], atol=1e-7
    )


@pytest.mark.parametrize("n_landmarks", ["auto", 30])
def test_units_change_nothing(cloud, n_landmarks):
    model = LandmarkSpectralEmbedding(4, n_landmarks=n_landmarks, random_state=0)
    small, large = clone(model).fit(cloud), clone(model).fit(cloud * 1024)
    np.testing.assert_array_equal(large.embedding_, small.embedding_)
    assert large.bandwidth_ == 1024 * small.bandwidth_


def test_an_offset_changes_nothing(cloud):
    model = LandmarkSpectralEmbedding(4, n_landmarks=30, random_state=0)
    before = clone(model).fit_transform(cloud)
    np.testing.assert_allclose(clone(model).fit_transform(cloud + 1e5), before, atol=1e-5)


@pytest.mark.parametrize("landmarks", ["k-means", "random"])
def test_seeds_are_repeatable_and_differ(cloud, landmarks):
    def fit(seed):
        model = LandmarkSpectralEmbedding(3, n_landmarks=20, landmarks=landmarks, random_state=seed)
        return model.fit_transform(cloud)

    np.testing.assert_array_equal(fit(1), fit(1))
    assert not np.allclose(fit(1), fit(2))


def test_signs_are_fixed(cloud):
    model = LandmarkSpectralEmbedding(5, n_landmarks=30, random_state=0).fit(cloud)
    mass = affinity_of(model, cloud).sum(axis=0)
    vectors = model.basis_ * np.sqrt(mass)[:, None]
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(5)] > 0).all()


@pytest.mark.parametrize("n_landmarks", ["auto", 30])
def test_sparse_rows_equal_dense_ones(cloud, n_landmarks):
    X = np.where(np.abs(cloud) < 0.5, 0, cloud)
    model = LandmarkSpectralEmbedding(4, n_landmarks=n_landmarks, random_state=0)
    dense, sparse = clone(model).fit(X), clone(model).fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-9)
    np.testing.assert_allclose(dense.transform(sp.csr_array(X)), dense.embedding_, atol=1e-9)


def test_single_precision_is_close_and_kept(cloud):
    model = LandmarkSpectralEmbedding(4, random_state=0)
    single = clone(model).fit_transform(cloud.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, clone(model).fit_transform(cloud), atol=1e-3)


# Defaults.


@pytest.mark.parametrize(
    ("n_rows", "n_components", "n_landmarks", "n_neighbors"),
    [
        (64, 8, 64, 4),  # 8 landmarks per component: 3, and the row itself
        (65, 8, 65, 5),
        (10, 8, 10, 4),  # never fewer than 3
        (1000, 2, 1000, 10),
        (1001, 2, 1000, 9),
        (3, 2, 3, 3),  # there are no more
        (1100, 54, 1080, 5),  # 20 landmarks per component
    ],
)
def test_numbers_that_are_chosen(n_rows, n_components, n_landmarks, n_neighbors):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    model = LandmarkSpectralEmbedding(n_components, landmarks="random", random_state=0).fit(X)
    assert (len(model.landmarks_), model.n_neighbors_) == (n_landmarks, n_neighbors)


def test_every_row_is_a_landmark_of_a_small_set(cloud):
    model = LandmarkSpectralEmbedding(3, random_state=0).fit(cloud)
    np.testing.assert_array_equal(model.landmarks_, cloud)


def test_the_bandwidth_is_the_mean_distance_to_the_landmarks_in_use(cloud):
    model = LandmarkSpectralEmbedding(3, n_landmarks=30, n_neighbors=4, random_state=0).fit(cloud)
    nearest = np.sort(pairwise_distances(cloud, model.landmarks_), axis=1)[:, :4]
    assert model.bandwidth_ == pytest.approx(nearest.mean())


def test_k_means_brings_landmarks_closer_than_chance(cloud):
    drawn, moved = (
        LandmarkSpectralEmbedding(3, n_landmarks=20, landmarks=way, random_state=0).fit(cloud)
        for way in ("random", "k-means")
    )
    cost = [
        (pairwise_distances(cloud, m.landmarks_).min(axis=1) ** 2).sum() for m in (drawn, moved)
    ]
    oracle = KMeans(20, init=drawn.landmarks_, n_init=1, max_iter=5, tol=0, algorithm="lloyd")
    np.testing.assert_allclose(cost[1], oracle.fit(cloud).inertia_)
    assert cost[1] < 0.8 * cost[0]


# Clusters.


@pytest.mark.parametrize(("n_rows", "n_landmarks"), [(300, "auto"), (1500, 200)])
@pytest.mark.parametrize(
    "shapes",
    [
        lambda n, seed: make_moons(n, noise=0.05, random_state=seed),
        lambda n, seed: make_circles(n, factor=0.5, noise=0.05, random_state=seed),
    ],
    ids=["moons", "rings"],
)
def test_shapes_that_defeat_k_means(shapes, n_rows, n_landmarks):
    X, y = shapes(n_rows, 0)
    model = LandmarkSpectralClustering(2, n_landmarks=n_landmarks, n_init=2, random_state=0)
    model.fit(X)
    assert clustering_accuracy(y, model.labels_) == 1
    assert clustering_accuracy(y, KMeans(2, n_init=3, random_state=0).fit_predict(X)) < 0.9
    new, truth = shapes(200, 1)
    assert clustering_accuracy(truth, model.predict(new)) > 0.98


def test_clustering_is_k_means_of_the_embedding(cloud):
    model = LandmarkSpectralClustering(4, n_landmarks=30, n_init=3, random_state=5).fit(cloud)
    embedding = LandmarkSpectralEmbedding(4, n_landmarks=30, random_state=5).fit_transform(cloud)
    np.testing.assert_array_equal(model.embedder_.embedding_, embedding)
    expected = KMeans(4, n_init=3, random_state=5).fit_predict(embedding)
    np.testing.assert_array_equal(model.labels_, expected)
    np.testing.assert_array_equal(model.predict(cloud), expected)
    assert model.embedder_.n_features_in_ == model.n_features_in_ == 3


def test_components_may_differ_from_clusters(cloud):
    model = LandmarkSpectralClustering(4, n_components=2, n_init=1, random_state=0).fit(cloud)
    assert model.embedder_.embedding_.shape == (120, 2)
    assert len(set(model.labels_)) == 4


def test_pipeline_with_soft_memberships():
    X, y = make_moons(300, noise=0.05, random_state=0)
    pipeline = make_pipeline(
        LandmarkSpectralEmbedding(2, random_state=0), REFCMFS(2, random_state=0)
    ).fit(X)
    assert clustering_accuracy(y, pipeline.predict(X)) == 1
    names = pipeline[0].get_feature_names_out().tolist()
    assert names == ["landmarkspectralembedding0", "landmarkspectralembedding1"]


@pytest.mark.slow
def test_images_are_separated_better_than_by_k_means():
    file = data_file("coil20")
    with np.load(file) as stored:
        X, y = stored["X"].astype(np.float64), stored["y"]
    labels = LandmarkSpectralClustering(20, n_landmarks=500, n_init=3, random_state=0).fit_predict(
        X
    )
    plain = KMeans(20, n_init=1, random_state=0).fit_predict(X)
    assert clustering_accuracy(y, labels) > clustering_accuracy(y, plain) + 0.05


# Errors.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components=0 must be at least 1"),
        ({"n_components": 120}, "n_components=120 needs at least 121 landmarks, but there are 120"),
        ({"n_components": 9, "n_landmarks": 9}, "needs at least 10 landmarks, but there are 9"),
        ({"n_landmarks": 121}, "n_landmarks=121 is more than n_samples=120; use n_landmarks <="),
        ({"n_landmarks": 1}, "n_landmarks=1 must be at least 2"),
        ({"n_landmarks": 20, "n_neighbors": 21}, "n_neighbors=21 is more than the 20 landmarks"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be at least 1"),
        ({"bandwidth": 0}, "bandwidth=0 must be larger than 0"),
        ({"landmarks": "kmeans"}, "landmarks='kmeans' is not known; use one of k-means, random"),
    ],
)
@pytest.mark.parametrize("kind", [LandmarkSpectralEmbedding, LandmarkSpectralClustering])
def test_errors_say_what_to_do(cloud, kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**options).fit(cloud)


def test_clustering_checks_its_own_numbers(cloud):
    with pytest.raises(ValueError, match="n_clusters=0 must be at least 1"):
        LandmarkSpectralClustering(0).fit(cloud)
    with pytest.raises(TypeError, match="n_init='auto' is not an integer"):
        LandmarkSpectralClustering(2, n_init="auto").fit(cloud)


@pytest.mark.parametrize("model", [LandmarkSpectralEmbedding(2), LandmarkSpectralClustering(2)])
def test_a_failed_fit_leaves_the_former_one(model):
    X = np.random.default_rng(0).normal(size=(40, 4))
    model = clone(model).set_params(random_state=0).fit(X)
    apply = model.transform if hasattr(model, "transform") else model.predict
    before = apply(X)
    with pytest.raises(ValueError, match="n_landmarks=41"):
        model.set_params(n_landmarks=41).fit(X[:, :2])
    np.testing.assert_array_equal(apply(X), before)
