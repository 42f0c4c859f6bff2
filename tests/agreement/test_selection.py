"""Many active centers and exact ties: of centers equally far, the lowest indices are chosen.

Rows and centers are small integers, measured from an origin that is an integer too, so that squared
distances are exact in every precision and ties are real.
"""

import numpy as np
import pytest

from sfumato import L21, Hard, Power, Simplex, Squared
from tests.agreement.test_engines import (
    assert_engines_agree,
    every_other_engine,
    rows_and_centers,
    some_weights,
)
from tests.catalogue import STORAGES, each, every_dtype, make_engine, rounding

N_CLUSTERS = 20
MANY_ACTIVE = [7, 8, 11, 16, N_CLUSTERS - 1, N_CLUSTERS]
FEW_ROWS = [1, 2, 7]
FEATURES = [1, 3, 600, 1024]


def tied_rows(n_rows, n_features, dtype=np.float64, seed=0):
    """Rows of -1, 0 and 1 in pairs that cancel, so that their mean is zero without rounding."""
    rng = np.random.default_rng(seed)
    half = rng.integers(-1, 2, size=(n_rows // 2, n_features))
    rest = rng.integers(-1, 2, size=(1, n_features)) if n_rows == 1 else np.zeros((1, n_features))
    return np.vstack([half, -half, rest])[:n_rows].astype(dtype)


def tied_centers(n_clusters, n_features, seed=1):
    """Centers of -2..2, of which every third repeats an earlier one."""
    rng = np.random.default_rng(seed)
    centers = rng.integers(-2, 3, size=(n_clusters, n_features)).astype(np.float64)
    for k in range(2, n_clusters, 3):
        centers[k] = centers[rng.integers(k)]
    return centers


def exact_squares(X, centers):
    return np.array([((X - center) ** 2).sum(axis=1) for center in centers]).T


def chosen(sq_dist, n_active):
    """Indices of the nearest, the lowest first among equals; each row ascending."""
    return np.sort(np.argsort(sq_dist, axis=1, kind="stable")[:, :n_active], axis=1)


def tied_at_threshold(sq_dist, n_active):
    """Rows of which the last chosen and the first rejected center are equally far."""
    ordered = np.sort(sq_dist, axis=1)
    return ordered[:, n_active - 1] == ordered[:, n_active]


def assert_selected(name, stored, X, centers, n_active, loss):
    """The chosen centers are the lowest nearest ones, and the memberships those of the reference.

    The power rule selects by threshold; the simplex rule needs its centers in order.
    """
    sq_dist = exact_squares(X.astype(np.float64), centers)
    steps = rounding(X.dtype, 64)
    for rule in (Power(n_active, 1.5), Power(n_active, 1.37), Simplex(n_active=n_active)):
        found = make_engine(name, stored, loss, rule).assign(centers, distances=True)
        expected = make_engine("reference", stored, loss, rule).assign(centers, distances=True)
        np.testing.assert_array_equal(found.labels, sq_dist.argmin(axis=1))
        np.testing.assert_array_equal(found.distances, np.sqrt(sq_dist.min(axis=1)).astype(X.dtype))
        entries = found.memberships.indices.reshape(len(X), n_active)
        if isinstance(rule, Power):
            np.testing.assert_array_equal(entries, chosen(sq_dist, n_active))
        np.testing.assert_array_equal(found.memberships.indices, expected.memberships.indices)
        np.testing.assert_allclose(found.memberships.data, expected.memberships.data, atol=steps)
        assert found.objective == pytest.approx(expected.objective, rel=steps)


@every_other_engine
@every_dtype
@each("storage", STORAGES, ids=str)
@pytest.mark.parametrize("n_active", MANY_ACTIVE)
def test_ties_at_the_threshold(engine_name, dtype, storage, n_active):
    X, centers = tied_rows(301, 3, dtype), tied_centers(N_CLUSTERS, 3)
    if n_active < N_CLUSTERS:
        assert tied_at_threshold(exact_squares(X, centers), n_active).sum() > 20
    for loss in (L21(), Squared()):
        assert_selected(engine_name, STORAGES[storage](X), X, centers, n_active, loss)


@every_other_engine
@every_dtype
@pytest.mark.parametrize("storage", ["C", "F", "strided", "csr32"])
@pytest.mark.parametrize("n_features", FEATURES)
@pytest.mark.parametrize("n_active", [7, N_CLUSTERS])
def test_ties_of_narrow_and_wide_rows(engine_name, dtype, storage, n_features, n_active):
    X, centers = tied_rows(65, n_features, dtype), tied_centers(N_CLUSTERS, n_features)
    if n_active < N_CLUSTERS:
        assert tied_at_threshold(exact_squares(X, centers), n_active).any()
    assert_selected(engine_name, STORAGES[storage](X), X, centers, n_active, L21())


@every_other_engine
@every_dtype
@pytest.mark.parametrize("storage", ["C", "F", "strided", "csr32"])
@pytest.mark.parametrize("n_rows", FEW_ROWS)
def test_ties_of_few_rows(engine_name, dtype, storage, n_rows):
    """Fewer rows than a tile has lanes: what lies behind them must not matter."""
    for n_features in (1, 2, 9):
        X, centers = tied_rows(n_rows, n_features, dtype), tied_centers(9, n_features)
        for n_active in (7, 8, 9):
            assert_selected(engine_name, STORAGES[storage](X), X, centers, n_active, L21())


@every_other_engine
@every_dtype
@pytest.mark.parametrize("n_active", [1, 6, 7, 12])
def test_all_centers_equal(engine_name, dtype, n_active):
    X = tied_rows(40, 3, dtype)
    centers = np.ones((12, 3))
    assert_selected(engine_name, X, X, centers, n_active, L21())


@every_other_engine
@pytest.mark.parametrize("n_clusters", [8, 65])
@pytest.mark.slow
def test_every_number_of_active_centers(engine_name, n_clusters):
    X, centers = tied_rows(41, 2), tied_centers(n_clusters, 2)
    for n_active in range(1, n_clusters + 1):
        assert_selected(engine_name, X, X, centers, n_active, Squared())


@every_other_engine
@every_dtype
@pytest.mark.parametrize("storage", ["C", "F", "strided", "csr32"])
@pytest.mark.parametrize("n_features", [1, 600, 1024])
def test_wide_and_narrow_rows(engine_name, dtype, storage, n_features):
    # More centers on one line are too close for single precision to tell apart.
    n_clusters = 4 if n_features == 1 else 9
    X, centers = rows_and_centers(100, n_features, n_clusters, dtype)
    for rule in (Power(2, 1.5), Power(n_clusters, 2.0), Power(n_clusters - 1, 1.37), Hard()):
        stored = STORAGES[storage](X)
        assert_engines_agree(engine_name, stored, centers, L21(), rule, some_weights(100))


@every_other_engine
@every_dtype
@pytest.mark.parametrize("storage", ["C", "F", "strided", "csr32"])
@pytest.mark.parametrize("n_rows", FEW_ROWS)
def test_few_rows(engine_name, dtype, storage, n_rows):
    X, centers = rows_and_centers(n_rows, 17, 9, dtype)
    for n_active in range(1, 10):
        for rule in (Power(n_active, 1.5), Simplex(n_active=n_active)):
            assert_engines_agree(engine_name, STORAGES[storage](X), centers, L21(), rule)
