"""Weights are right where they are largest: in single precision, far from the origin, near rows."""

import numpy as np
import pytest

from sfumato import L21, Capped, Hard, Power, Simplex, Squared
from sfumato._data import Data
from sfumato._engines import ENGINES
from sfumato._problem import Problem
from tests.catalogue import (
    DTYPES,
    STORAGES,
    blobs,
    checked,
    each,
    every_distinct_loss,
    every_dtype,
    every_engine,
    make_engine,
)

OFFSET = 1e4
N_CLUSTERS = 5
STEP = float(np.spacing(np.float32(OFFSET)))
"""Distance of neighboring numbers at the offset in single precision, about 1/1000."""
RULES = [Hard(), Power(1, 1.5), Power(2, 2.0), Power(N_CLUSTERS, 1.5), Simplex(n_active=2)]
SHARP_AND_SOFT = [Power(3, 1.01), Power(3, 5.0), Power(N_CLUSTERS, 1.01), Power(N_CLUSTERS, 5.0)]


def far_rows(dtype=np.float32):
    """Rows at a large offset, of which some differ by single steps of the precision."""
    X = (blobs(40, 4) + OFFSET).astype(np.float32)
    X[1] = X[0]
    X[1, 0] += np.float32(STEP)
    X[2] = X[0]
    X[2, 1:3] -= np.float32(8 * STEP)
    return X.astype(dtype)


def centers_for(X):
    """Centers on a row, a hundredth from a row, between rows, and at a mean."""
    X = X.astype(np.float64)
    return np.array(
        [
            X[0],
            X[10] + 0.01 * np.array([0.6, 0.0, -0.8, 0.0]),
            (X[11] + X[12]) / 2,
            X[20:30].mean(axis=0),
            X[13] + np.pi * STEP,
        ]
    )


def direct_terms(X, centers, loss, rule):
    """Terms of each row by differences in double precision, spread over all centers."""
    sq_dist = ((X.astype(np.float64)[:, None] - centers) ** 2).sum(axis=2)
    terms = Problem(loss, rule).terms(sq_dist)
    pull, kink_force = np.zeros_like(sq_dist), np.zeros_like(sq_dist)
    np.put_along_axis(pull, terms.indices, terms.pull, axis=1)
    np.put_along_axis(kink_force, terms.indices, terms.kink_force, axis=1)
    return pull, kink_force, terms.objective


def row_by_row(engine_name, stored, centers, loss, rule):
    """Weight and kink_force of each row alone: all others have weight zero."""
    whole = checked(stored)
    engine_class = ENGINES[engine_name]
    for i in range(whole.n_rows):
        alone = np.zeros(whole.n_rows)
        alone[i] = 1
        data = Data(whole.rows, alone, whole.dtype, whole.origin)
        yield engine_class(data, Problem(loss, rule), 1).sweep(centers)


@every_engine
@pytest.mark.parametrize("storage", ["C", "F", "csr32"])
@every_distinct_loss
@each("rule", RULES)
def test_single_precision_weights_far_from_the_origin(engine_name, storage, loss, rule):
    X = far_rows()
    centers = centers_for(X)
    pull, kink_force, objective = direct_terms(X, centers, loss, rule)
    found = list(row_by_row(engine_name, STORAGES[storage](X), centers, loss, rule))
    weights = np.array([statistics.weight for statistics in found])
    largest = pull.max(axis=1, keepdims=True)
    assert (np.abs(weights - pull) <= 1e-3 * np.maximum(pull, 1e-2 * largest)).all()
    np.testing.assert_allclose([s.kink_force for s in found], kink_force, rtol=1e-6)
    np.testing.assert_allclose([s.objective for s in found], objective, rtol=1e-3, atol=1e-3 * STEP)


@every_engine
@every_dtype
@pytest.mark.parametrize("storage", ["C", "csr32"])
@every_distinct_loss
@each("rule", RULES + SHARP_AND_SOFT)
@pytest.mark.parametrize("offset", [0.0, OFFSET])
def test_rows_equal_to_centers_give_nothing_infinite(
    engine_name, dtype, storage, loss, rule, offset
):
    X = (blobs(60, 4) + offset).astype(dtype)
    X[:30] = X[30:]
    centers = X[:N_CLUSTERS].astype(np.float64)
    engine = make_engine(engine_name, STORAGES[storage](X), loss, rule)
    statistics, assignment = engine.sweep(centers), engine.assign(centers, distances=True)
    for numbers in (*vars(statistics).values(), assignment.memberships.data):
        assert np.isfinite(numbers).all()
    np.testing.assert_array_equal(assignment.distances[:N_CLUSTERS], 0)
    np.testing.assert_array_equal(assignment.distances[30 : 30 + N_CLUSTERS], 0)
    if loss.kink:
        assert (statistics.kink_force > 0).all()
    if loss.kink and not isinstance(rule, Simplex):
        np.testing.assert_array_equal(statistics.kink_force, 2)


@every_engine
@pytest.mark.parametrize("storage", ["C", "csr32"])
@each("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_distances_far_from_the_origin(engine_name, storage, dtype):
    X = far_rows(dtype)
    centers = centers_for(X)
    engine = make_engine(engine_name, STORAGES[storage](X), Squared(), Hard())
    expected = np.sqrt(((X.astype(np.float64)[:, None] - centers) ** 2).sum(axis=2))
    np.testing.assert_allclose(engine.distances(centers), expected, rtol=1e-3)
    assert engine.distances(centers)[0, 0] == 0


@every_engine
@each("rule", SHARP_AND_SOFT)
@each("loss", [Squared(), L21(), Capped(5.0)])
@every_dtype
def test_extreme_fuzzifiers_agree_with_a_direct_computation(engine_name, rule, loss, dtype):
    X = blobs(100, 4).astype(dtype)
    centers = centers_for(X)
    _, _, objective = direct_terms(X, centers, loss, rule)
    engine = make_engine(engine_name, X, loss, rule)
    rtol = 1e-10 if dtype == np.float64 else 1e-4
    assert engine.sweep(centers).objective == pytest.approx(objective.sum(), rel=rtol)


@every_engine
@every_distinct_loss
def test_double_precision_keeps_its_digits_at_a_large_offset(engine_name, loss):
    """At 1e6 the square of a coordinate has lost all digits of a distance of 1e-4."""
    near = blobs(40, 4)
    X = near + 1e6
    centers = X[:N_CLUSTERS] + 1e-4 * near[5 : 5 + N_CLUSTERS]
    pull, _, objective = direct_terms(X, centers, loss, Hard())
    statistics = make_engine(engine_name, X, loss, Hard()).sweep(centers)
    np.testing.assert_allclose(statistics.weight, pull.sum(axis=0), rtol=1e-5)
    assert statistics.objective == pytest.approx(objective.sum(), rel=1e-9)


@every_engine
@every_dtype
@pytest.mark.parametrize("storage", ["C", "csr32"])
@pytest.mark.parametrize("factor", [2.0**130, 2.0**-170], ids=["huge", "tiny"])
@pytest.mark.parametrize("rule", [Hard(), Power(2, 1.5), Power(N_CLUSTERS, 2.0)], ids=repr)
def test_weights_may_leave_the_range_of_the_rows(engine_name, dtype, storage, factor, rule):
    """float32 ends at 2**128, weights are doubles: only their ratios matter."""
    X = blobs(60, 4).astype(dtype)
    weights = np.linspace(0, 2, len(X))
    centers = X[:N_CLUSTERS].astype(np.float64) + 0.1
    expected = make_engine(engine_name, STORAGES[storage](X), L21(), rule, weights).sweep(centers)
    found = make_engine(engine_name, STORAGES[storage](X), L21(), rule, weights * factor).sweep(
        centers
    )
    np.testing.assert_array_equal(found.weight, expected.weight * factor)
    np.testing.assert_array_equal(found.pull, expected.pull * factor)
    assert found.objective == expected.objective * factor
