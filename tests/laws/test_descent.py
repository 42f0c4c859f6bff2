"""The objective never rises from one iteration to the next, for whatever parts and data."""

import numpy as np
import pytest

from sfumato import L21, REFCMFS, RSFKM, Capped, FuzzyCMeans, Power, Simplex, SimREFCMFS, Squared
from sfumato._solvers.descent import solve
from tests.catalogue import (
    CAP,
    INTEGER_DTYPES,
    N_CLUSTERS,
    STORAGES,
    USER_STORAGES,
    each,
    every_distinct_loss,
    every_dtype,
    every_minimizing_membership,
    every_setting,
    iterate,
    make_engine,
    rounding,
    row_weights,
    sparse_blobs,
    start_near,
    start_on,
    whatever_results,
)

N_ITERATIONS = 20
PARTS = [
    (Squared(), Power(2, 1.1)),
    (L21(), Power(3, 1.5)),
    (Capped(CAP), Power(N_CLUSTERS, 2.0)),
    (L21(), Simplex(gamma=1.0)),
]


def assert_never_rises(objectives, dtype):
    """Beyond the rounding of a sum over the rows, whose terms have the precision of the data."""
    objectives = np.array(objectives)
    assert np.isfinite(objectives).all()
    rises = np.diff(objectives)
    assert rises.max(initial=0) <= rounding(dtype) * objectives[0]


def objectives_of(engine, start):
    solution = solve(engine, start, iterate(N_ITERATIONS))
    return [record.objective for record in solution.history]


@every_setting
@pytest.mark.parametrize("storage", ["C", "csr32"])
@every_distinct_loss
@every_minimizing_membership
def test_objective_never_rises(setting, storage, loss, membership):
    engine_name, dtype = setting
    X = sparse_blobs().astype(dtype)
    engine = make_engine(engine_name, STORAGES[storage](X), loss, membership, row_weights(60))
    for start in (start_on(X), start_near(X), np.zeros((N_CLUSTERS, X.shape[1]))):
        assert_never_rises(objectives_of(engine, start.astype(np.float64)), dtype)


@every_dtype
@each("storage", USER_STORAGES, ids=str)
@each("parts", PARTS, ids=repr)
def test_objective_never_rises_in_any_storage(dtype, storage, parts):
    X = sparse_blobs(200).astype(dtype)
    engine = make_engine("auto", USER_STORAGES[storage](X), *parts)
    assert_never_rises(objectives_of(engine, start_on(X).astype(np.float64)), dtype)


@each("dtype", INTEGER_DTYPES, ids=lambda dtype: dtype.__name__)
@each("storage", STORAGES, ids=str)
@each("parts", PARTS, ids=repr)
def test_objective_never_rises_for_integers(dtype, storage, parts):
    X = np.abs(4 * sparse_blobs(200)).astype(dtype)
    engine = make_engine("auto", STORAGES[storage](X), *parts)
    assert_never_rises(objectives_of(engine, start_on(X).astype(np.float64)), np.float64)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@every_dtype
@every_distinct_loss
@every_minimizing_membership
def test_objective_never_rises_far_from_the_origin(offset, dtype, loss, membership):
    X = (sparse_blobs() + offset).astype(dtype)
    engine = make_engine("auto", X, loss, membership)
    assert_never_rises(objectives_of(engine, start_near(X.astype(np.float64))), dtype)


@whatever_results
@every_dtype
@pytest.mark.parametrize(
    "model",
    [REFCMFS(5), SimREFCMFS(5), FuzzyCMeans(5), RSFKM(5), RSFKM(5, loss="capped")],
    ids=repr,
)
def test_history_of_a_fit_never_rises(model, dtype):
    model.set_params(random_state=0).fit(sparse_blobs(300).astype(dtype))
    assert_never_rises([record.objective for record in model.history_], dtype)
