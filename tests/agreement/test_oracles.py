"""Special cases that others have solved before: K-means, fuzzy c-means, the geometric median."""

import numpy as np
import pytest
import skfuzzy
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from sfumato import (
    L21,
    REFCMFS,
    Capped,
    FuzzyClustering,
    FuzzyCMeans,
    Hard,
    Power,
    Simplex,
    SimREFCMFS,
    Squared,
)
from sfumato._solvers.descent import solve
from tests.catalogue import (
    N_CLUSTERS,
    STORAGES,
    blobs,
    csr,
    each,
    every_engine,
    every_loss,
    iterate,
    make_engine,
    row_weights,
    settle,
    sparse_blobs,
    start_near,
    start_on,
)

# K-means.


def k_means(X, start, weights=None):
    model = KMeans(len(start), init=start, n_init=1, tol=0, max_iter=1000, algorithm="lloyd")
    return model.fit(X, sample_weight=weights)


def assert_is_k_means(model, X, start, weights=None, rtol=1e-10, stored=np.asarray):
    expected = k_means(X, start, weights)
    model.set_params(init=start, tol=0, max_iter=1000).fit(stored(X), sample_weight=weights)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    atol = rtol * np.abs(expected.cluster_centers_).max()
    np.testing.assert_allclose(
        model.cluster_centers_, expected.cluster_centers_, rtol=rtol, atol=atol
    )
    if not isinstance(model.membership_, Simplex):  # whose objective has a penalty besides
        assert model.objective_ == pytest.approx(expected.inertia_, rel=rtol)


@every_engine
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("start", [start_on, start_near])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_one_active_center_and_squared_loss_is_k_means(engine_name, seed, start, weighted):
    X = blobs(500, 4, seed=seed)
    weights = row_weights(500) if weighted else None
    model = SimREFCMFS(N_CLUSTERS, n_active=1, fuzzifier=2.0, engine=engine_name)
    assert_is_k_means(model, X, start(X, seed=seed), weights)


@pytest.mark.parametrize("membership", [Hard(), Power(1, 1.1), Simplex(n_active=1)], ids=repr)
@each("storage", STORAGES, ids=str)
def test_every_hard_rule_is_k_means_in_every_storage(membership, storage):
    X = sparse_blobs(500, 8)
    model = FuzzyClustering(N_CLUSTERS, loss="squared", membership=membership)
    assert_is_k_means(model, X, start_on(X), stored=STORAGES[storage])


def test_k_means_on_digits():
    X = load_digits().data
    model = SimREFCMFS(10, n_active=1, fuzzifier=2.0)
    assert_is_k_means(model, X, start_near(X, 10))


def test_k_means_in_single_precision():
    X = blobs(500, 4).astype(np.float32)
    model = SimREFCMFS(N_CLUSTERS, n_active=1, fuzzifier=2.0)
    assert_is_k_means(model, X, start_on(X), rtol=1e-5)


# Fuzzy c-means.


@every_engine
@pytest.mark.parametrize("fuzzifier", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("n_features", [2, 5])
def test_all_active_centers_and_squared_loss_is_fuzzy_c_means(engine_name, fuzzifier, n_features):
    X = blobs(200, n_features)
    start = start_near(X)
    rule = Power(N_CLUSTERS, fuzzifier)
    engine = make_engine(engine_name, X, Squared(), rule)
    # Scikit-fuzzy has columns for rows, and starts from memberships instead of centers.
    memberships = engine.assign(start).memberships.toarray().T
    expected = skfuzzy.cmeans(
        X.T, N_CLUSTERS, fuzzifier, error=1e-12, maxiter=5000, init=memberships
    )
    centers, expected_memberships, _, _, objectives, n_iterations, _ = expected
    assert n_iterations < 5000
    found = settle(engine, start, tol=0.0)
    np.testing.assert_allclose(found.centers, centers, atol=1e-6)
    assignment = engine.assign(found.centers)
    np.testing.assert_allclose(assignment.memberships.toarray(), expected_memberships.T, atol=1e-6)
    assert assignment.objective == pytest.approx(objectives[-1], rel=1e-9)


def test_fuzzy_c_means_step_by_step():
    """Not only the end agrees, but the objective of every iteration."""
    X = blobs(100)
    engine = make_engine("auto", X, Squared(), Power(N_CLUSTERS, 2.0))
    start = start_near(X)
    ours = [record.objective for record in solve(engine, start, iterate(8)).history]
    memberships = engine.assign(start).memberships.toarray().T
    theirs = skfuzzy.cmeans(X.T, N_CLUSTERS, 2.0, error=0, maxiter=8, init=memberships)[4]
    # Theirs is the objective of old memberships at new centers: between two of ours.
    for before, between, after in zip(ours, theirs, ours[1:], strict=False):
        assert before * (1 + 1e-12) >= between >= after * (1 - 1e-12)


def test_the_preset_is_fuzzy_c_means():
    X = blobs(200)
    start = start_near(X)
    model = FuzzyCMeans(N_CLUSTERS, init=start).fit(X)
    parts = FuzzyClustering(
        N_CLUSTERS, loss=Squared(), membership=Power(N_CLUSTERS, 2.0), init=start
    ).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, parts.cluster_centers_)
    memberships = model.predict_membership(X).toarray().T
    centers = skfuzzy.cmeans(X.T, N_CLUSTERS, 2.0, error=1e-12, maxiter=5000, init=memberships)[0]
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-2)


# The geometric median.


def geometric_median(X, weights):
    """Minimizer of the weighted sum of distances, by Newton's method; or the row that is it."""
    for row in X:
        difference = X - row
        distance = np.sqrt((difference**2).sum(axis=1))
        others = distance > 0
        pull = (weights[others, None] * difference[others] / distance[others, None]).sum(axis=0)
        if np.linalg.norm(pull) <= weights[~others].sum():
            return row
    center = X.mean(axis=0)
    start = minimize(lambda b: total_distance(b, X, weights), center, method="Nelder-Mead")
    center = start.x
    for _ in range(50):
        gradient, hessian = derivatives(center, X, weights)
        center = center - np.linalg.solve(hessian, gradient)
    assert np.linalg.norm(derivatives(center, X, weights)[0]) < 1e-10 * weights.sum()
    return center


def total_distance(center, X, weights):
    return weights @ np.sqrt(((X - center) ** 2).sum(axis=1))


def derivatives(center, X, weights):
    """Gradient and Hessian of the total distance away from rows."""
    difference = center - X
    distance = np.sqrt((difference**2).sum(axis=1))
    unit = difference / distance[:, None]
    across = weights / distance
    hessian = across.sum() * np.eye(X.shape[1]) - (unit * across[:, None]).T @ unit
    return weights @ unit, hessian


def median_engine(engine_name, X, weights):
    return make_engine(engine_name, X, L21(), Power(1, 2.0), weights)


def heavy_tail(n_features, seed):
    """Rows with a heavy tail, as a median deserves."""
    return np.random.default_rng(seed).standard_t(2, size=(60, n_features))


@every_engine
@pytest.mark.parametrize("n_features", [2, 3, 10])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_one_cluster_is_the_geometric_median(engine_name, n_features, seed, sparse):
    X, weights = heavy_tail(n_features, seed), row_weights(60, seed)
    expected = geometric_median(X, weights)
    engine = median_engine(engine_name, csr(X) if sparse else X, weights)
    for start in (X.mean(axis=0), X[7]):
        found = solve(engine, start[None], iterate(200)).centers[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("n_features", [2, 3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_of_one_cluster_is_the_geometric_median(n_features, seed):
    """As far as the objective tells: it is flat to 1e-16 within about 1e-8 of its minimum."""
    X, weights = heavy_tail(n_features, seed), row_weights(60, seed)
    expected = geometric_median(X, weights)
    for init in ("k-means++", X.mean(axis=0)[None]):
        model = REFCMFS(1, init=init, fuzzifier=2.0, tol=0, random_state=0)
        model.fit(X, sample_weight=weights)
        assert model.objective_ == pytest.approx(total_distance(expected, X, weights), rel=1e-14)
        np.testing.assert_allclose(model.cluster_centers_[0], expected, rtol=0, atol=1e-7)


@every_engine
@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_the_geometric_median_may_be_a_row(engine_name, n_features):
    """A row of large weight holds the center that other rows pull at."""
    X = np.random.default_rng(3).normal(size=(30, n_features))
    weights = np.ones(30)
    weights[11] = 25.0
    np.testing.assert_array_equal(geometric_median(X, weights), X[11])
    engine = median_engine(engine_name, X, weights)
    for start in (X.mean(axis=0), X[0], X[11], X[11] + 1e-3):
        found = settle(engine, start[None], tol=0).centers[0]
        np.testing.assert_allclose(found, X[11], rtol=0, atol=1e-8)


@every_engine
def test_the_median_of_numbers_is_their_median(engine_name):
    X = np.random.default_rng(0).normal(size=(31, 1))
    engine = median_engine(engine_name, X, None)
    for start in (X.mean(axis=0), X[0]):
        found = settle(engine, start[None], tol=0).centers[0]
        np.testing.assert_allclose(found, np.median(X), rtol=0, atol=1e-8)


def test_the_oracle_for_the_median_is_a_minimum():
    X, weights = blobs(40, 3), row_weights(40)
    center = geometric_median(X, weights)
    smallest = total_distance(center, X, weights)
    for step in 1e-3 * np.random.default_rng(0).normal(size=(100, 3)):
        assert total_distance(center + step, X, weights) > smallest


# Parts that coincide.


def run(engine_name, X, loss, membership):
    engine = make_engine(engine_name, X, loss, membership, row_weights(len(X)))
    solution = solve(engine, start_on(X), iterate(10))
    return solution, engine.assign(solution.centers)


def assert_identical(first, second):
    """Two runs that are the same in every bit."""
    (solution, assignment), (other, other_assignment) = first, second
    np.testing.assert_array_equal(solution.centers, other.centers)
    assert [r.objective for r in solution.history] == [r.objective for r in other.history]
    np.testing.assert_array_equal(assignment.labels, other_assignment.labels)
    np.testing.assert_array_equal(
        assignment.memberships.toarray(), other_assignment.memberships.toarray()
    )


@every_engine
@pytest.mark.parametrize(
    "rule", [Hard(), Power(3, 1.5), Simplex(gamma=1.0), Simplex(n_active=2)], ids=repr
)
def test_an_infinite_cap_is_l21(engine_name, rule):
    X = blobs()
    assert_identical(run(engine_name, X, Capped(np.inf), rule), run(engine_name, X, L21(), rule))


@every_engine
@every_loss
@pytest.mark.parametrize("fuzzifier", [1.01, 2.0])
def test_power_with_one_active_center_is_hard(engine_name, loss, fuzzifier):
    X = blobs()
    one = run(engine_name, X, loss, Power(1, fuzzifier))
    assert_identical(one, run(engine_name, X, loss, Hard()))


@every_engine
@every_loss
def test_simplex_with_one_active_center_is_hard(engine_name, loss):
    X = blobs()
    solution, assignment = run(engine_name, X, loss, Simplex(n_active=1))
    hard, hard_assignment = run(engine_name, X, loss, Hard())
    np.testing.assert_array_equal(solution.centers, hard.centers)
    np.testing.assert_array_equal(assignment.labels, hard_assignment.labels)
    np.testing.assert_array_equal(
        assignment.memberships.toarray(), hard_assignment.memberships.toarray()
    )


@every_engine
@every_loss
def test_a_tiny_gamma_is_hard(engine_name, loss):
    X = blobs()
    soft, hard = (run(engine_name, X, loss, rule) for rule in (Simplex(gamma=1e-12), Hard()))
    np.testing.assert_allclose(soft[0].centers, hard[0].centers, atol=1e-9)
    np.testing.assert_array_equal(soft[1].labels, hard[1].labels)
