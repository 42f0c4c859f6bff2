"""What must not matter does not: copies or weights, order, units, and the axes of the space."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group
from sklearn.base import clone

from sfumato import L21, REFCMFS, RSFKM, Capped, FuzzyClustering, FuzzyCMeans, Hard, SimREFCMFS
from sfumato._solvers.descent import solve
from tests.catalogue import (
    CAP,
    N_CLUSTERS,
    blobs,
    csr,
    each,
    every_distinct_loss,
    every_engine,
    every_membership,
    every_minimizing_membership,
    every_setting,
    iterate,
    make_engine,
    row_weights,
    scaled,
    settle,
    sparse_blobs,
    start_near,
    start_on,
)

N_ITERATIONS = 8
TOLERANCE = {np.float64: 1e-9, np.float32: 1e-3}
"""Relative to the width of the clusters, after some iterations that carry rounding along."""
STARTS = {"on rows": start_on, "near rows": start_near}
every_start = each("start", STARTS, ids=str)
MODELS = [
    REFCMFS(N_CLUSTERS, n_active=2),
    SimREFCMFS(N_CLUSTERS, n_active=3, fuzzifier=1.5),
    FuzzyCMeans(N_CLUSTERS),
    RSFKM(N_CLUSTERS, gamma=1.0),
    FuzzyClustering(N_CLUSTERS, loss=Capped(CAP), membership=Hard()),
]
every_model = each("model", MODELS, ids=repr)


def run(engine_name, X, parts, start, weights=None):
    """Engine, and the solution after a fixed number of iterations."""
    engine = make_engine(engine_name, X, *parts, weights)
    return engine, solve(engine, np.asarray(start, dtype=np.float64), iterate(N_ITERATIONS))


def assert_same_solution(found, expected, dtype=np.float64):
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(found.centers, expected.centers, rtol=0, atol=tolerance)
    objectives = [[record.objective for record in s.history] for s in (found, expected)]
    np.testing.assert_allclose(*objectives, rtol=tolerance)


def assert_same_fit(found, expected, rows=slice(None), atol=1e-6):
    """Equal centers, and equal memberships of those rows of the first fit."""
    np.testing.assert_allclose(found.cluster_centers_, expected.cluster_centers_, atol=atol)
    memberships = found.memberships_.toarray()[rows]
    np.testing.assert_allclose(memberships, expected.memberships_.toarray(), atol=atol)
    np.testing.assert_array_equal(found.labels_[rows], expected.labels_)
    assert found.objective_ == pytest.approx(expected.objective_, rel=atol)


def fitted(model, X, weights=None):
    """Clone of the model, fitted from a repeatable start."""
    parameters = model.get_params(deep=False) | {"random_state": 0}
    return type(model)(**parameters).fit(X, sample_weight=weights)


# Weights.


@every_setting
@every_start
@every_distinct_loss
@every_membership
def test_a_weight_of_three_is_three_copies(setting, start, loss, membership):
    engine_name, dtype = setting
    X = blobs().astype(dtype)
    copies = np.random.default_rng(1).integers(1, 4, size=60)
    begin = STARTS[start](X)
    _, weighted = run(engine_name, X, (loss, membership), begin, copies)
    _, repeated = run(engine_name, np.repeat(X, copies, axis=0), (loss, membership), begin)
    assert_same_solution(weighted, repeated, dtype)


@every_setting
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@every_distinct_loss
@every_membership
def test_a_weight_of_zero_is_absence(setting, sparse, loss, membership):
    engine_name, dtype = setting
    X, weights = sparse_blobs().astype(dtype), row_weights(60)
    begin = start_on(X)
    absent = np.isin(np.arange(75), np.arange(0, 75, 5))
    padded, padded_weights = np.empty((75, X.shape[1]), dtype), np.zeros(75)
    padded[absent], padded[~absent] = 1e12, X
    padded[0] = begin[0]  # a row without weight on a center does not hold it
    padded_weights[~absent] = weights
    storage = csr if sparse else np.asarray
    parts = loss, membership
    engine, expected = run(engine_name, storage(X), parts, begin, weights)
    engine_padded, found = run(engine_name, storage(padded), parts, begin, padded_weights)
    assert_same_solution(found, expected, dtype)
    np.testing.assert_array_equal(
        engine_padded.assign(expected.centers).labels[~absent],
        engine.assign(expected.centers).labels,
    )
    memberships = engine_padded.assign(expected.centers).memberships
    assert np.isfinite(memberships.data).all()
    np.testing.assert_allclose(memberships.sum(axis=1), 1, atol=1e-6)


@every_engine
@every_distinct_loss
@every_membership
def test_scaling_all_weights_scales_only_the_objective(engine_name, loss, membership):
    X, weights = blobs(), row_weights(60)
    _, light = run(engine_name, X, (loss, membership), start_on(X), weights)
    _, heavy = run(engine_name, X, (loss, membership), start_on(X), 1e6 * weights)
    np.testing.assert_allclose(heavy.centers, light.centers, atol=1e-9)
    assert heavy.objective == pytest.approx(1e6 * light.objective, rel=1e-9)


@every_engine
@every_distinct_loss
@every_membership
def test_unit_weights_are_no_weights(engine_name, loss, membership):
    X = blobs()
    _, none = run(engine_name, X, (loss, membership), start_on(X))
    _, ones = run(engine_name, X, (loss, membership), start_on(X), np.ones(60))
    np.testing.assert_array_equal(ones.centers, none.centers)


@every_model
def test_fits_to_weights_and_to_copies_are_equal(model):
    X = blobs(100)
    copies = np.random.default_rng(1).integers(0, 4, size=100)
    precise = clone(model).set_params(tol=1e-14, max_iter=2000)
    weighted = fitted(precise, X, copies)
    repeated = fitted(precise, np.repeat(X, copies, axis=0))
    # Robust seeds count rows, so that the clusters may come in another order.
    there, here = weighted.cluster_centers_, repeated.cluster_centers_
    which = cdist(there, here).argmin(axis=1)
    assert len(set(which)) == N_CLUSTERS
    np.testing.assert_allclose(there, here[which], atol=1e-6)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)


@every_model
def test_fits_ignore_rows_of_weight_zero(model):
    X = blobs(100)
    wild = np.vstack([X, np.full((20, 3), 1e12), X[:20]])
    weights = np.repeat([1.0, 0.0], [100, 40])
    assert_same_fit(fitted(model, wild, weights), fitted(model, X), rows=slice(0, 100))


# Order.


@every_setting
@every_distinct_loss
@every_membership
def test_row_order_does_not_matter(setting, loss, membership):
    engine_name, dtype = setting
    X, weights = blobs().astype(dtype), row_weights(60)
    order = np.random.default_rng(2).permutation(60)
    begin, parts = start_on(X), (loss, membership)
    engine, expected = run(engine_name, X, parts, begin, weights)
    shuffled, found = run(engine_name, X[order], parts, begin, weights[order])
    assert_same_solution(found, expected, dtype)
    np.testing.assert_allclose(
        shuffled.assign(expected.centers).memberships.toarray(),
        engine.assign(expected.centers).memberships.toarray()[order],
        atol=TOLERANCE[dtype],
    )


@every_setting
@every_distinct_loss
@every_membership
def test_column_order_does_not_matter(setting, loss, membership):
    engine_name, dtype = setting
    X, parts = blobs(n_features=6).astype(dtype), (loss, membership)
    order = np.random.default_rng(3).permutation(6)
    _, expected = run(engine_name, X, parts, start_on(X))
    _, found = run(engine_name, X[:, order], parts, start_on(X)[:, order])
    np.testing.assert_allclose(found.centers, expected.centers[:, order], atol=TOLERANCE[dtype])
    assert found.objective == pytest.approx(expected.objective, rel=TOLERANCE[dtype])


@every_setting
@every_distinct_loss
@every_membership
def test_center_order_permutes_the_result(setting, loss, membership):
    engine_name, dtype = setting
    X, parts = blobs().astype(dtype), (loss, membership)
    order = np.array([3, 0, 4, 1, 2])
    engine, expected = run(engine_name, X, parts, start_near(X))
    _, found = run(engine_name, X, parts, start_near(X)[order])
    np.testing.assert_allclose(found.centers, expected.centers[order], atol=TOLERANCE[dtype])
    np.testing.assert_allclose(
        engine.assign(expected.centers[order]).memberships.toarray(),
        engine.assign(expected.centers).memberships.toarray()[:, order],
        atol=TOLERANCE[dtype],
    )


@every_model
def test_fits_to_shuffled_rows_are_equal(model):
    X, weights = blobs(100), row_weights(100)
    order = np.random.default_rng(2).permutation(100)
    found, expected = fitted(model, X[order], weights[order]), fitted(model, X, weights)
    assert_same_fit(found, expected, rows=np.argsort(order))


# Units and axes.


@every_engine
@every_distinct_loss
@every_membership
def test_shifting_the_data_shifts_the_centers(engine_name, loss, membership):
    X, parts, shift = blobs(), (loss, membership), np.array([1000.0, -300.0, 0.25])
    _, expected = run(engine_name, X, parts, start_near(X))
    _, found = run(engine_name, X + shift, parts, start_near(X) + shift)
    np.testing.assert_allclose(found.centers, expected.centers + shift, rtol=0, atol=1e-8)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)


@every_setting
@pytest.mark.parametrize("scale", [1e-3, 1e5])
@every_distinct_loss
@every_membership
def test_scaling_the_data_scales_the_centers(setting, scale, loss, membership):
    engine_name, dtype = setting
    X = blobs().astype(dtype)
    _, expected = run(engine_name, X, (loss, membership), start_near(X))
    parts = tuple(scaled(part, scale, loss.degree) for part in (loss, membership))
    _, found = run(engine_name, (scale * X).astype(dtype), parts, scale * start_near(X))
    np.testing.assert_allclose(found.centers / scale, expected.centers, atol=TOLERANCE[dtype])
    assert found.objective / scale**loss.degree == pytest.approx(
        expected.objective, rel=TOLERANCE[dtype]
    )


@every_engine
@every_distinct_loss
@every_membership
def test_rotating_the_data_rotates_the_centers(engine_name, loss, membership):
    X, parts = blobs(n_features=4), (loss, membership)
    rotation = ortho_group.rvs(4, random_state=0)
    _, expected = run(engine_name, X, parts, start_near(X))
    _, found = run(engine_name, X @ rotation, parts, start_near(X) @ rotation)
    np.testing.assert_allclose(found.centers, expected.centers @ rotation, atol=1e-9)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


@every_model
def test_fits_move_with_the_data(model):
    X = blobs(100)
    rotation, shift = ortho_group.rvs(3, random_state=0), np.array([100.0, -30.0, 0.25])
    expected = fitted(model, X)
    found = fitted(model, X @ rotation + shift)
    centers = expected.cluster_centers_ @ rotation + shift
    np.testing.assert_allclose(found.cluster_centers_, centers, atol=1e-6)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


@every_engine
@every_distinct_loss
@every_membership
def test_a_column_of_zeros_changes_nothing(engine_name, loss, membership):
    X, parts = blobs(), (loss, membership)
    wider, begin = np.hstack([X, np.zeros((60, 2))]), np.hstack([start_on(X), np.zeros((5, 2))])
    _, expected = run(engine_name, X, parts, start_on(X))
    _, found = run(engine_name, wider, parts, begin)
    np.testing.assert_allclose(found.centers[:, :3], expected.centers, atol=1e-9)
    np.testing.assert_array_equal(found.centers[:, 3:], 0)


# Optima.


@every_engine
@every_distinct_loss
@every_minimizing_membership
def test_starting_at_an_optimum_stays_there(engine_name, loss, membership):
    X = blobs()
    engine = make_engine(engine_name, X, loss, membership, row_weights(60))
    optimum = settle(engine, start_on(X))
    again = solve(engine, optimum.centers, iterate(4))
    np.testing.assert_allclose(again.centers, optimum.centers, atol=1e-5)
    assert again.objective == pytest.approx(optimum.objective, rel=1e-10)


@every_model
def test_a_fit_that_starts_at_its_end_stays_there(model):
    X = blobs(100)
    first = fitted(clone(model).set_params(tol=1e-9), X)
    parameters = model.get_params(deep=False) | {"init": first.cluster_centers_}
    if first.intrinsic_dimension_ is not None:
        parameters["fuzzifier"] = first.fuzzifier_
    again = type(model)(**parameters).fit(X)
    assert again.n_iter_ <= 3
    assert_same_fit(again, first, atol=1e-3)
    assert again.objective_ <= first.objective_ * (1 + 1e-12)


def test_an_optimum_at_a_row_is_kept_exactly():
    """The geometric median of a triangle with a very obtuse angle is the corner there."""
    X = np.array([[0.0, 0.0], [1.0, 0.1], [-1.0, 0.1]])
    engine = make_engine("auto", X, L21(), Hard())
    solution = solve(engine, np.zeros((1, 2)), iterate(5))
    np.testing.assert_array_equal(solution.centers, 0)
