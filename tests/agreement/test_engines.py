"""Every engine computes what the reference engine, the readable specification, computes.

Rows that an engine may decide either way within its precision (between two centers, or at a cap)
are left out of the data, so that all others must agree closely.
"""

import numpy as np
import pytest

from sfumato import L21, Capped, Hard, Power, Simplex, Squared
from sfumato._engines.tails import Tails
from tests.catalogue import (
    CAP,
    ENGINES,
    INTEGER_DTYPES,
    STORAGES,
    each,
    every_dtype,
    every_loss,
    every_membership,
    make_engine,
)

TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-4}
MARGIN = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-4}
"""Relative difference of distances below which an engine may prefer either."""
SIZES = [1, 255, 256, 257, 10_000]
COUNTS = [1, 2, 33]
FEATURES = [1, 2, 3, 17, 64, 200]
every_other_engine = each("engine_name", [e for e in ENGINES if e != "reference"], ids=str)


def active_counts(n_clusters):
    """Numbers of active centers worth trying, in order and without repeats."""
    wanted = (1, 2, 3, 5, n_clusters - 1, n_clusters)
    return sorted({n for n in wanted if 1 <= n <= n_clusters})


def is_clear(distances, dtype):
    """Rows whose distances differ clearly from one another, from the cap, and from zero if not."""
    ordered, margin = np.sort(distances, axis=1), MARGIN[dtype]
    tie = np.diff(ordered, axis=1) <= margin * ordered[:, 1:]
    at_cap = np.abs(distances - CAP) < margin * CAP
    # How a rounded distance very near a center must behave is for laws/test_precision.py.
    near = (distances > 0) & (distances < 100 * margin)
    return ~(tie.any(axis=1) | at_cap.any(axis=1) | near.any(axis=1))


def rows_and_centers(n_rows, n_features, n_clusters, dtype=np.float64, density=1.0, seed=0):
    """So many clear rows around centers, some of which lie on rows, at moderate distances."""
    rng = np.random.default_rng(seed)
    precision = np.dtype(np.float32 if dtype == np.float32 else np.float64)
    spread = 40.0 if np.dtype(dtype).kind in "iu" else 2.0
    X = np.empty((0, n_features))
    centers = None
    while len(X) < n_rows:
        more = rng.normal(spread / 2, spread, size=(2 * n_rows + 40, n_features))
        more[rng.random(more.shape) > density] = 0
        more = np.abs(more).astype(dtype).astype(np.float64)
        if centers is None:
            centers = rng.normal(spread / 2, spread, size=(n_clusters, n_features))
            if np.dtype(dtype).kind == "f":
                centers[::3] = more[: len(centers[::3])]
        distances = np.sqrt(((more[:, None] - centers) ** 2).sum(axis=2))
        X = np.vstack([X, more[is_clear(distances, precision)]])
    return X[:n_rows].astype(dtype), centers


def some_weights(n_rows):
    """Weights of varied size, every tenth of them zero."""
    weights = np.random.default_rng(5).uniform(0.1, 3, size=n_rows)
    weights[9::10] = 0
    return weights


def assert_engines_agree(name, X, centers, loss, membership, weights=None):
    engine = make_engine(name, X, loss, membership, weights)
    reference = make_engine("reference", X, loss, membership, weights)
    tolerance = TOLERANCE[engine.data.dtype]
    assert_sweeps_agree(engine, reference, centers, tolerance)
    assert_assignments_agree(
        engine.assign(centers, distances=True), reference.assign(centers, distances=True), tolerance
    )
    assert_verbs_agree(engine, reference, centers, tolerance)


def assert_sweeps_agree(engine, reference, centers, tolerance):
    found, expected = engine.sweep(centers), reference.sweep(centers)
    np.testing.assert_allclose(
        found.weight, expected.weight, rtol=tolerance, atol=tolerance * expected.weight.max()
    )
    np.testing.assert_allclose(found.kink_force, expected.kink_force, rtol=tolerance)
    reach = reference.distances(centers).max()
    np.testing.assert_allclose(
        found.pull, expected.pull, rtol=tolerance, atol=tolerance * reach * expected.weight.max()
    )
    assert found.objective == pytest.approx(expected.objective, rel=tolerance)


def assert_assignments_agree(found, expected, tolerance):
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=tolerance)
    np.testing.assert_allclose(
        found.memberships.toarray(), expected.memberships.toarray(), rtol=0, atol=tolerance
    )
    assert found.objective == pytest.approx(expected.objective, rel=tolerance)
    assert found.labels.dtype == expected.labels.dtype
    assert found.distances.dtype == expected.distances.dtype
    assert found.memberships.dtype == expected.memberships.dtype


def assert_verbs_agree(engine, reference, centers, tolerance):
    found, expected = engine.distances(centers), reference.distances(centers)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance)
    units = np.geomspace(0.01, 100, len(centers))
    found, expected = (
        engine.scaled_distances(centers, units),
        reference.scaled_distances(centers, units),
    )
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance)
    tails = Tails(units, np.linspace(1, 3, len(units)) / (2 * len(units)))
    found, expected = engine.rarity(centers, tails), reference.rarity(centers, tails)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance)
    costs = np.full(engine.n_rows, np.inf, dtype=engine.data.dtype)
    costs_expected = costs.copy()
    for part in (centers[:1], centers[-2:]):
        engine.update_costs(costs, part)
        reference.update_costs(costs_expected, part)
        np.testing.assert_allclose(costs, costs_expected, rtol=2 * tolerance)
    np.testing.assert_allclose(
        engine.candidate_costs(costs, centers),
        reference.candidate_costs(costs_expected, centers),
        rtol=2 * tolerance,
    )


@every_other_engine
@every_dtype
@pytest.mark.parametrize("n_clusters", COUNTS)
@pytest.mark.parametrize("n_rows", SIZES)
def test_sizes_and_active_centers(engine_name, dtype, n_clusters, n_rows):
    X, centers = rows_and_centers(n_rows, 3, n_clusters, dtype)
    for n_active in active_counts(n_clusters):
        for rule in (Power(n_active, 1.5), Simplex(n_active=n_active)):
            assert_engines_agree(engine_name, X, centers, L21(), rule, some_weights(n_rows))


@every_other_engine
@every_dtype
@pytest.mark.parametrize("n_clusters", COUNTS)
@pytest.mark.parametrize("n_rows", SIZES)
def test_sizes_of_sparse_rows(engine_name, dtype, n_clusters, n_rows):
    X, centers = rows_and_centers(n_rows, 17, n_clusters, dtype, density=0.3)
    rule = Power(min(3, n_clusters), 1.5)
    assert_engines_agree(engine_name, STORAGES["csr32"](X), centers, L21(), rule)


@every_other_engine
@every_dtype
@pytest.mark.parametrize("storage", ["C", "csr32"])
@pytest.mark.parametrize("n_features", FEATURES)
@every_loss
def test_numbers_of_features(engine_name, dtype, storage, n_features, loss):
    X, centers = rows_and_centers(257, n_features, 33, dtype)
    assert_engines_agree(engine_name, STORAGES[storage](X), centers, loss, Power(5, 2.0))


@every_other_engine
@every_dtype
@pytest.mark.parametrize("storage", ["C", "csr32"])
@every_loss
@every_membership
def test_every_loss_and_membership(engine_name, dtype, storage, loss, membership):
    X, centers = rows_and_centers(257, 3, 5, dtype)
    if dtype == np.float32 and getattr(membership, "fuzzifier", 2) < 1.1:
        # A rounding error of a distance counts a hundredfold in such memberships.
        X = X[:, :1]
        centers = centers[:, :1]
    assert_engines_agree(
        engine_name, STORAGES[storage](X), centers, loss, membership, some_weights(257)
    )


@every_other_engine
@every_dtype
@each("storage", STORAGES, ids=str)
@pytest.mark.parametrize("n_features", [1, 17])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_storages(engine_name, dtype, storage, n_features, weighted):
    X, centers = rows_and_centers(700, n_features, 6, dtype, density=0.6)
    weights = some_weights(700) if weighted else None
    stored = STORAGES[storage](X)
    for parts in ((L21(), Power(3, 1.5)), (Squared(), Hard()), (Capped(CAP), Simplex(gamma=0.7))):
        assert_engines_agree(engine_name, stored, centers, *parts, weights)


@every_other_engine
@each("dtype", INTEGER_DTYPES, ids=lambda dtype: dtype.__name__)
@each("storage", STORAGES, ids=str)
def test_integers(engine_name, dtype, storage):
    X, centers = rows_and_centers(300, 9, 6, dtype, density=0.6)
    stored = STORAGES[storage](X)
    for parts in ((L21(), Power(3, 1.5)), (Squared(), Hard())):
        assert_engines_agree(engine_name, stored, centers, *parts)


@every_other_engine
@every_dtype
@pytest.mark.parametrize("n_features", FEATURES)
def test_one_row_one_center(engine_name, dtype, n_features):
    X, centers = rows_and_centers(1, n_features, 1, dtype)
    for storage in STORAGES.values():
        for rule in (Hard(), Power(1, 1.5), Simplex(n_active=1), Simplex(gamma=1.0)):
            assert_engines_agree(engine_name, storage(X), centers, L21(), rule)
            assert_engines_agree(engine_name, storage(X), X.astype(np.float64), L21(), rule)


@every_other_engine
def test_empty_sparse_rows(engine_name):
    """Rows without a stored value are the origin, and may lie on a center."""
    X, centers = rows_and_centers(300, 5, 4, density=0.5)
    X[::3] = 0
    centers[2] = 0
    assert_engines_agree(engine_name, STORAGES["csr64"](X), centers, L21(), Power(2, 1.5))


@every_other_engine
@every_dtype
@pytest.mark.parametrize("storage", ["C", "csr32"])
@pytest.mark.parametrize("n_active", [1, 2, 3, 5, 6, 7, 12])
def test_coinciding_centers(engine_name, dtype, storage, n_active):
    """Of equal centers the lowest index comes first, whichever centers come between them."""
    X, centers = rows_and_centers(300, 3, 12, dtype)
    centers[[4, 7, 9]] = centers[[1, 1, 0]]
    for rule in (Power(n_active, 1.5), Simplex(n_active=n_active), Simplex(gamma=1.0)):
        assert_engines_agree(engine_name, STORAGES[storage](X), centers, L21(), rule)


@every_other_engine
@pytest.mark.parametrize("n_clusters", [65, 300])
def test_many_clusters(engine_name, n_clusters):
    X, centers = rows_and_centers(300, 4, n_clusters)
    for rule in (Power(7, 1.3), Power(n_clusters, 2.0), Simplex(gamma=1.0), Hard()):
        assert_engines_agree(engine_name, X, centers, L21(), rule)


# The helper that leaves out rows must leave out the right ones.


def test_rows_near_a_tie_the_cap_or_a_center_are_not_clear():
    clear = np.array([[1.0, 3.0], [0.0, 1.0]])
    unclear = np.array([[1.0, 1 + 1e-12], [CAP * (1 - 1e-12), 5.0], [1e-9, 1.0]])
    assert is_clear(clear, np.dtype(np.float64)).all()
    assert not is_clear(unclear, np.dtype(np.float64)).any()


@every_dtype
@each("n_features", (8, 16, 24), ids=str)
def test_rows_that_are_read_in_place(dtype, n_features):
    """Whole vectors of the right type are not loaded first; the bits are those of any storage."""
    # Integers, whose mean does not depend on the order in which they are added.
    X = np.random.default_rng(0).integers(-9, 10, size=(203, n_features)).astype(dtype)
    storages = (X, np.asfortranarray(X), np.hstack([X, X])[:, :n_features], X[::-1].copy()[::-1])
    expected, *others = (
        make_engine("native", rows, Squared(), Power(5, 2.0)).sweep(X[:5].astype(float) + 0.25)
        for rows in storages
    )
    for found in others:
        np.testing.assert_array_equal(found.pull, expected.pull)
        assert found.objective == expected.objective
