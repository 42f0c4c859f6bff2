"""The same bits for any number of threads, on data large enough for several of them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sfumato import (
    L21,
    REFCMFS,
    RSFKM,
    Capped,
    CappedREFCMFS,
    FuzzyClustering,
    Hard,
    Power,
    Simplex,
    Squared,
)
from sfumato._engines.tails import Tails
from sfumato._native import core
from tests.catalogue import (
    STORAGES,
    blobs,
    each,
    every_dtype,
    make_engine,
    row_weights,
    sparse_blobs,
)

N_THREADS = (1, 2, 3, 7)
NARROW, WIDE = (90_000, 6), (6001, 96)
N_CLUSTERS = 24
"""With these shapes a pass uses 7 threads if it may: small passes use one, whatever is given."""
SHAPES = [(storage, WIDE) for storage in STORAGES] + [("C", NARROW), ("csr32", NARROW)]
PARTS = [
    (Squared(), Hard()),
    (L21(), Power(3, 1.1)),
    (Capped(12.0), Power(N_CLUSTERS, 2.0)),
    (L21(), Simplex(gamma=3.0)),
    (Squared(), Simplex(n_active=2)),
]
MODELS = [
    REFCMFS(N_CLUSTERS, n_active=2, max_iter=500),
    CappedREFCMFS(N_CLUSTERS, n_active=2, max_iter=500),
    RSFKM(N_CLUSTERS, max_iter=500),
    FuzzyClustering(N_CLUSTERS, loss="squared", membership="hard", init="random"),
]


def data(shape, dtype=np.float64):
    return sparse_blobs(*shape).astype(dtype)


def parallel(X, parts, n_threads, weights=None):
    """Engine whose passes really use so many threads."""
    engine = make_engine("native", X, *parts, weights, n_threads)
    assert core.threads_used(engine._rows, N_CLUSTERS, n_threads) == n_threads
    return engine


def assert_same_bits(results):
    """All results, each a sequence of arrays, equal the first in every bit."""
    first, *others = results
    for other in others:
        for expected, found in zip(first, other, strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)


def passes(engine):
    """Whatever an engine computes, as arrays."""
    n_rows = engine.n_rows
    centers = engine.take(np.arange(0, n_rows, n_rows // N_CLUSTERS)[:N_CLUSTERS]) + 0.25
    statistics, assignment = engine.sweep(centers), engine.assign(centers, distances=True)
    costs = np.full(n_rows, np.inf, dtype=engine.data.dtype)
    engine.update_costs(costs, centers)
    losses = np.empty((n_rows, N_CLUSTERS), dtype=engine.data.dtype)
    return [
        statistics.pull,
        statistics.weight,
        statistics.kink_force,
        np.float64(statistics.objective),
        assignment.labels,
        assignment.distances,
        assignment.memberships.data,
        assignment.memberships.indices,
        assignment.memberships.indptr,
        np.float64(assignment.objective),
        engine.distances(centers),
        engine.scaled_distances(centers, np.linspace(0.5, 3, N_CLUSTERS)),
        engine.rarity(centers, Tails(np.linspace(0.5, 3, N_CLUSTERS), np.ones(N_CLUSTERS))),
        costs,
        engine.candidate_costs(costs, centers - 0.5, losses),
        losses,
    ]


def test_a_pass_starts_as_many_threads_as_it_says():
    """Counted by the system, in a thread of Python that has not used OpenMP before."""
    engine = parallel(data(WIDE), PARTS[0], 7)
    centers = engine.take(np.arange(N_CLUSTERS))

    def started():
        before = len(list(Path("/proc/self/task").iterdir()))
        engine.sweep(centers)
        return len(list(Path("/proc/self/task").iterdir())) - before

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(started).result() == 7 - 1


@every_dtype
@pytest.mark.parametrize(("storage", "shape"), SHAPES)
@each("parts", PARTS, ids=repr)
def test_passes_are_the_same_bits(dtype, storage, shape, parts):
    X, weights = STORAGES[storage](data(shape, dtype)), row_weights(shape[0])
    assert_same_bits(passes(parallel(X, parts, n_threads, weights)) for n_threads in N_THREADS)


@every_dtype
@pytest.mark.parametrize("storage", ["C", "csr32"])
@each("loss", [Squared(), L21(), Capped(12.0)], ids=repr)
@each("rule", [Hard(), Power(3, 1.1), Simplex(gamma=3.0), Simplex(n_active=2)], ids=repr)
def test_every_loss_and_rule_without_weights(dtype, storage, loss, rule):
    X = STORAGES[storage](data(WIDE, dtype))
    assert_same_bits(passes(parallel(X, (loss, rule), n_threads)) for n_threads in (1, 3, 7))


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_passes_over_integers_are_the_same_bits(dtype):
    X = np.abs(10 * blobs(*NARROW)).astype(dtype)
    assert_same_bits(passes(parallel(X, PARTS[1], n_threads)) for n_threads in N_THREADS)


@each("parts", PARTS, ids=repr)
def test_repeated_passes_are_the_same_bits(parts):
    engine = parallel(data(WIDE), parts, max(N_THREADS))
    assert_same_bits(passes(engine) for _ in range(10))


@every_dtype
@pytest.mark.parametrize("storage", ["C", "csr32"])
@each("model", MODELS, ids=lambda model: type(model).__name__)
def test_fits_are_the_same_bits(dtype, storage, model):
    X = STORAGES[storage](data(WIDE, dtype))
    parallel(X, PARTS[0], max(N_THREADS))
    parameters = model.get_params(deep=False) | {"random_state": 0, "n_init": 2, "tol": 1e-4}
    fits = (
        type(model)(**parameters).set_params(n_threads=n_threads).fit(X) for n_threads in N_THREADS
    )
    assert_same_bits(
        [
            fit.cluster_centers_,
            fit.labels_,
            fit.memberships_.data,
            fit.memberships_.indices,
            np.array([record.objective for record in fit.history_]),
            np.float64(fit.objective_),
            fit.transform(X),
            np.float64(fit.cap_),
            fit.cluster_radii_,
            fit.outlier_scores_,
            fit.predict(X, mark_outliers=True),
        ]
        for fit in fits
    )
