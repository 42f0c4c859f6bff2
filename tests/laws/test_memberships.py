"""Memberships as engines and estimators give them: few, honest, ordered by distance."""

import numpy as np
import pytest
from sklearn.base import clone

from sfumato import REFCMFS, RSFKM, Capped, FuzzyClustering, FuzzyCMeans, Power, Simplex, SimREFCMFS
from tests.catalogue import (
    EVERY_MEMBERSHIP,
    N_CLUSTERS,
    USER_STORAGES,
    blobs,
    each,
    every_distinct_loss,
    every_dtype,
    every_engine,
    every_membership,
    every_setting,
    make_engine,
    row_weights,
    sparse_blobs,
    start_near,
    whatever_results,
)

SUM_TOLERANCE = {np.float64: 1e-12, np.float32: 1e-6}
PRESETS = [
    REFCMFS(N_CLUSTERS, n_active=1),
    REFCMFS(N_CLUSTERS, n_active=2),
    REFCMFS(N_CLUSTERS),
    SimREFCMFS(N_CLUSTERS, n_active=3, fuzzifier=1.01),
    FuzzyCMeans(N_CLUSTERS, fuzzifier=5.0),
    RSFKM(N_CLUSTERS),
    RSFKM(N_CLUSTERS, loss=Capped(2.0), gamma=0.1),
]
FIXED = [rule for rule in EVERY_MEMBERSHIP if rule.n_entries(N_CLUSTERS)]


def assert_honest(memberships, dtype, total=1):
    """Sorted indices without repeats, values in 0..1, and rows that sum to one, or as given."""
    assert memberships.dtype == dtype
    assert memberships.has_canonical_format
    assert (memberships.data >= 0).all()
    assert (memberships.data <= 1).all()
    totals = memberships.astype(np.float64).sum(axis=1)
    np.testing.assert_allclose(totals, total, rtol=0, atol=SUM_TOLERANCE[dtype])


def ranked(memberships, distances):
    """Memberships of each row, by the distance of the center."""
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(memberships.toarray(), order, axis=1)


# Engines.


@every_setting
@pytest.mark.parametrize("storage", ["C", "csr32"])
@every_distinct_loss
@every_membership
def test_memberships_are_honest(setting, storage, loss, membership):
    engine_name, dtype = setting
    X = sparse_blobs(100).astype(dtype)
    engine = make_engine(engine_name, USER_STORAGES[storage](X), loss, membership)
    centers = start_near(X)
    centers[2] = X[17]
    assignment = engine.assign(centers)
    assert_honest(assignment.memberships, dtype)
    counts = np.diff(assignment.memberships.indptr)
    n_entries = membership.n_entries(N_CLUSTERS)
    if n_entries is None:
        assert (assignment.memberships.data > 0).all()
        assert (counts >= 1).all()
    else:
        np.testing.assert_array_equal(counts, n_entries)


@every_setting
@every_distinct_loss
@every_membership
def test_nearer_centers_get_no_less(setting, loss, membership):
    engine_name, dtype = setting
    X = blobs(100).astype(dtype)
    engine = make_engine(engine_name, X, loss, membership)
    centers = start_near(X)
    assignment = engine.assign(centers, distances=True)
    shares = ranked(assignment.memberships, engine.distances(centers))
    assert (np.diff(shares, axis=1) <= 0).all()
    np.testing.assert_array_equal(assignment.labels, engine.distances(centers).argmin(axis=1))
    np.testing.assert_allclose(assignment.distances, engine.distances(centers).min(axis=1))


@every_engine
@each("membership", FIXED)
def test_the_nearest_centers_are_stored(engine_name, membership):
    X = blobs(100)
    engine = make_engine(engine_name, X, Capped(2.0), membership)
    centers = start_near(X)
    n_active = membership.n_entries(N_CLUSTERS)
    stored = engine.assign(centers).memberships.indices.reshape(-1, n_active)
    nearest = np.argsort(engine.distances(centers), axis=1)[:, :n_active]
    np.testing.assert_array_equal(stored, np.sort(nearest, axis=1))


@every_setting
@pytest.mark.parametrize("storage", ["C", "F", "csr32"])
@each("membership", FIXED)
def test_lowest_index_wins_ties(setting, storage, membership):
    """Rows at equal distance from all centers, on the diagonal between unit vectors."""
    engine_name, dtype = setting
    X = np.outer(np.arange(-3, 40), np.ones(N_CLUSTERS)).astype(dtype)
    engine = make_engine(engine_name, USER_STORAGES[storage](X), Capped(np.inf), membership)
    assignment = engine.assign(np.eye(N_CLUSTERS))
    n_active = membership.n_entries(N_CLUSTERS)
    np.testing.assert_array_equal(assignment.labels, 0)
    stored = assignment.memberships.indices.reshape(-1, n_active)
    np.testing.assert_array_equal(stored, np.tile(np.arange(n_active), (len(X), 1)))
    np.testing.assert_allclose(assignment.memberships.data, 1 / n_active, rtol=1e-6)


@every_setting
@pytest.mark.parametrize("storage", ["C", "csr32"])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@each("rule", [Power(2, 1.01), Power(3, 1.5), Power(N_CLUSTERS, 5.0), Simplex(gamma=0.01)])
@every_distinct_loss
def test_a_row_on_a_center_belongs_to_it_alone(setting, storage, offset, rule, loss):
    engine_name, dtype = setting
    X = (sparse_blobs() + offset).astype(dtype)
    centers = X[[4, 9, 14, 19, 24]].astype(np.float64)
    engine = make_engine(engine_name, USER_STORAGES[storage](X), loss, rule)
    assignment = engine.assign(centers, distances=True)
    on_centers = assignment.memberships[[4, 9, 14, 19, 24]].toarray()
    np.testing.assert_array_equal(on_centers, np.eye(N_CLUSTERS))
    np.testing.assert_array_equal(assignment.distances[[4, 9, 14, 19, 24]], 0)
    if loss.kink:
        np.testing.assert_array_equal(engine.sweep(centers).kink_force, 1)


@every_setting
@pytest.mark.parametrize("storage", ["C", "csr32"])
@each("rule", [Power(2, 1.1), Power(N_CLUSTERS, 2.0), Simplex(gamma=1.0), Simplex(n_active=2)])
@every_distinct_loss
def test_coinciding_centers_share(setting, storage, rule, loss):
    """Rows are 1/8 from the twins 1 and 3, or on them, and far from all others."""
    engine_name, dtype = setting
    X = np.concatenate([np.eye(4) / 8, np.zeros((3, 4))]).astype(dtype) + 1
    centers = np.full((N_CLUSTERS, 4), 100.0)
    centers[[0, 2]] *= np.array([[-1], [-2]])
    centers[[1, 3]] = 1
    engine = make_engine(engine_name, USER_STORAGES[storage](X), loss, rule)
    assignment = engine.assign(centers)
    np.testing.assert_array_equal(assignment.labels, 1)
    shares = assignment.memberships.toarray()
    np.testing.assert_array_equal(shares[:, 1], shares[:, 3])
    assert (shares[:, 1] > 0.3).all()
    if isinstance(rule, Power):
        np.testing.assert_array_equal(shares[4:, [1, 3]], 0.5)
    statistics = engine.sweep(centers)
    assert statistics.kink_force[1] == statistics.kink_force[3]
    np.testing.assert_array_equal(statistics.pull[1], statistics.pull[3])


@every_setting
@pytest.mark.parametrize("fuzzifier", [1.01, 5.0])
@pytest.mark.parametrize("n_active", [1, 3, N_CLUSTERS])
def test_extreme_fuzzifiers_neither_over_nor_underflow(setting, fuzzifier, n_active):
    """Distances from 1e-6 to 1e6, in single precision too."""
    engine_name, dtype = setting
    X = np.geomspace(1e-6, 1e6, 60)[:, None].astype(dtype)
    centers = np.array([[0.0], [1e-5], [1.0], [1e5], [2e6]])
    for loss in (Capped(np.inf), Capped(10.0)):
        engine = make_engine(engine_name, X, loss, Power(n_active, fuzzifier))
        assignment, statistics = engine.assign(centers), engine.sweep(centers)
        assert_honest(assignment.memberships, dtype)
        assert 0 < assignment.objective < np.inf
        for sums in (statistics.pull, statistics.weight, statistics.kink_force):
            assert np.isfinite(sums).all()


# Estimators.


@every_dtype
@each("model", PRESETS, ids=repr)
def test_fitted_memberships_are_honest(model, dtype):
    X = blobs(150).astype(dtype)
    model = type(model)(**model.get_params(deep=False)).set_params(random_state=0).fit(X)
    kept = ~(model.loss_.bounded & model.outliers_)
    assert_honest(model.memberships_, dtype, kept)
    assert_honest(model.predict_membership(X), dtype, kept)
    np.testing.assert_array_equal(
        model.predict_membership(X).toarray(), model.memberships_.toarray()
    )
    np.testing.assert_array_equal(model.predict_proba(X), model.memberships_.toarray())
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    shares = ranked(model.memberships_, model.transform(X))
    assert (np.diff(shares, axis=1) <= 0).all()
    if model.n_active_ is not None:
        assert model.memberships_.nnz == kept.sum() * model.n_active_


@whatever_results
@every_dtype
@each("storage", USER_STORAGES, ids=str)
def test_storage_does_not_change_memberships(storage, dtype):
    # Ten iterations: where `tol` stops a fit, rounding decides on one more or less, which moves
    # centers by 1e-3 here.
    X = sparse_blobs(100).astype(dtype)
    model = REFCMFS(N_CLUSTERS, n_active=3, fuzzifier=1.5, init=start_near(X), tol=0, max_iter=10)
    plain, stored = (clone(model).fit(rows) for rows in (X, USER_STORAGES[storage](X)))
    atol = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(stored.cluster_centers_, plain.cluster_centers_, atol=atol)
    np.testing.assert_allclose(
        stored.memberships_.toarray(), plain.memberships_.toarray(), atol=atol
    )
    np.testing.assert_array_equal(stored.labels_, plain.labels_)


@whatever_results
@every_membership
@every_distinct_loss
def test_new_rows_get_memberships_by_the_same_rule(membership, loss):
    X = blobs()
    model = FuzzyClustering(N_CLUSTERS, loss=loss, membership=membership, init=start_near(X))
    model.set_params(tol=1e-3).fit(X, sample_weight=row_weights(60))
    new = blobs(30, seed=1)
    alone = np.vstack([model.predict_proba(row[None]) for row in new])
    np.testing.assert_allclose(model.predict_proba(new), alone, atol=1e-12)
    engine = make_engine("reference", new, loss, membership)
    expected = engine.assign(model.cluster_centers_).memberships.toarray()
    if loss.bounded:
        expected[model.score_outliers(new) > 1] = 0
    np.testing.assert_allclose(alone, expected, atol=1e-9)
