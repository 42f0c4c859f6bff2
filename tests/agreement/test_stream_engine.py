"""Data in chunks: every pass agrees with the native engine on all rows at once.

Sums over chunks are rounded in another order, the mean of the rows too, from which coordinates are
measured; so results are compared closely. With the origin of a fit, predictions are the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sfumato import L21, REFCMFS, Capped, Hard, Power, Squared
from sfumato._engines import ENGINES, make_engine
from sfumato._engines.chunked import ChunkedEngine
from sfumato._engines.outputs import DenseMemberships, Distances, Labels, Memberships, Scores
from sfumato._engines.passes import SWEEP, Cost, FindWorstRows
from sfumato._problem import Problem
from sfumato._sampling import PrioritySample
from sfumato._validation import fit_input
from sfumato.losses import Loss
from sfumato.memberships import Membership
from sfumato.streams import LazyArray, stream
from tests.agreement.test_engines import rows_and_centers, some_weights
from tests.catalogue import EVERY_MEMBERSHIP, N_CLUSTERS, blobs, csr, each, every_loss, row_weights
from tests.contract.estimators import every_estimator

SIZES = (1, 7, 60)
"""Rows per chunk: one, some, all."""
TOLERANCE, SINGLE = 1e-10, 2e-5
"""In float32, in which pulls are rounded, and added within blocks that chunks cut otherwise."""
STORAGES: dict[str, Callable[[Any], Any]] = {
    "float64": lambda rows: rows,
    "float32": lambda rows: rows.astype(np.float32),
    "csr": csr,
}
every_storage = pytest.mark.parametrize("storage", STORAGES)
X = blobs(60)


def in_chunks(
    rows: Any, loss: Loss, membership: Membership, size: int, weights: Any = None, threads: int = 1
) -> Any:
    """Engine on a stream of the rows."""
    data = fit_input(REFCMFS(N_CLUSTERS), stream(rows, chunk_rows=size), weights)
    return make_engine("native", data, Problem(loss, membership), threads)


def in_memory(rows: Any, loss: Loss, membership: Membership, weights: Any = None) -> Any:
    data = fit_input(REFCMFS(N_CLUSTERS), rows, weights)
    return make_engine("native", data, Problem(loss, membership), 1)


@cache
def clear_rows(storage: str) -> tuple[Any, Any]:
    """Rows of which rounding does not decide where they belong, and centers."""
    dtype = np.float32 if storage == "float32" else np.float64
    rows, centers = rows_and_centers(60, 3, N_CLUSTERS, dtype, 0.5 if storage == "csr" else 1.0)
    return STORAGES[storage](rows), centers


def bits(statistics: Any) -> bytes:
    sums = (statistics.pull, statistics.weight, statistics.kink_force, statistics.objective)
    return b"".join(np.asarray(value).tobytes() for value in sums)


@every_storage
@every_loss
@pytest.mark.slow
def test_sweeps_agree(storage: str, loss: Loss) -> None:
    rows, centers = clear_rows(storage)
    weights, tolerance = some_weights(60), SINGLE if storage == "float32" else TOLERANCE
    for membership in EVERY_MEMBERSHIP:
        expected = in_memory(rows, loss, membership, weights).sweep(centers)
        heaviest = expected.weight.max()
        for size in SIZES:
            engine = in_chunks(rows, loss, membership, size, weights)
            assert isinstance(engine, ChunkedEngine)
            found = engine.sweep(centers)
            close = {"rtol": tolerance, "err_msg": f"{membership}, chunks of {size}"}
            assert_allclose(found.weight, expected.weight, atol=tolerance * heaviest, **close)
            assert_allclose(found.kink_force, expected.kink_force, **close)
            assert_allclose(found.pull, expected.pull, atol=20 * tolerance * heaviest, **close)
            assert_allclose(found.objective, expected.objective, **close)


@every_storage
@every_loss
def test_passes_repeat_to_the_bit_whatever_the_threads(storage: str, loss: Loss) -> None:
    rows, centers = clear_rows(storage)
    for size in SIZES[1:]:
        engines = [in_chunks(rows, loss, Power(3, 1.5), size, threads=n) for n in (1, 2, 3)]
        assert len({bits(engine.sweep(centers)) for engine in engines for _ in range(2)}) == 1


@every_storage
@each("membership", [Hard(), Power(2, 1.5)])
def test_outputs_agree(storage: str, membership: Membership) -> None:
    rows, centers = clear_rows(storage)
    radii = np.array([1.0, 0.5, np.nan, 2.0, 1.5])
    whole = in_memory(rows, L21(), membership)
    outputs = (
        *(Labels(centers), Labels(centers, radii), Scores(centers, radii)),
        *(Distances(centers), Memberships(centers), DenseMemberships(centers)),
    )
    for size in SIZES:
        engine = in_chunks(rows, L21(), membership, size)
        for output in outputs:
            lazy, expected = engine.map(output), whole.map(output)
            assert isinstance(lazy, LazyArray)
            found = lazy.compute()
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert (lazy.dtype, lazy.shape) == (expected.dtype, expected.shape)
            assert sp.issparse(found) == sp.issparse(expected)
            if sp.issparse(found):
                assert_array_equal(found.indices, expected.indices)
                found, expected = found.toarray(), expected.toarray()
            # The origin is a mean, which may be rounded otherwise.
            assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_assignments_are_lazy_but_for_the_objective() -> None:
    rows, centers = clear_rows("float64")
    expected = in_memory(rows, L21(), Power(2, 1.5)).assign(centers)
    found = in_chunks(rows, L21(), Power(2, 1.5), 7).assign(centers)
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    assert isinstance(found.labels, LazyArray)
    assert_array_equal(found.labels.compute(), expected.labels)
    assert found.distances is None
    assert in_chunks(rows, L21(), Hard(), 7).assign(centers, memberships=False).memberships is None


@every_storage
@pytest.mark.parametrize("size", SIZES)
def test_the_worst_served_rows(storage: str, size: int) -> None:
    rows, centers = clear_rows(storage)
    weights = some_weights(60)
    for loss in (Squared(), L21()):
        expected = in_memory(rows, loss, Hard(), weights).worst_fitted_rows(centers[:2], 4)
        found = in_chunks(rows, loss, Hard(), size, weights).worst_fitted_rows(centers[:2], 4)
        assert_array_equal(found, expected)


def test_the_worst_served_where_many_are_alike() -> None:
    """Behind a cap all cost the same: the one is taken that serves most, not an outlier."""
    rows = np.vstack(
        [np.zeros((5, 2)), np.eye(2)[[0]] * 50, 20 + 0.1 * blobs(20, 2, 1), [[-90, 0]]]
    )
    for size in (1, 4, 40):
        found = in_chunks(rows, Capped(2.0), Hard(), size).worst_fitted_rows(np.zeros((1, 2)), 1)
        assert (found > 10).all()


def test_no_more_rows_than_need_a_center() -> None:
    rows = np.array([[0.0], [1.0], [1.0], [0.0], [2.0], [0.5]])
    engine = in_chunks(rows, L21(), Hard(), 2, [1, 1, 1, 1, 1, 0])
    assert_array_equal(engine.worst_fitted_rows(np.array([[0.0], [1.0]]), 3), [[2.0]])


# Draws.


def test_few_rows_are_all_taken() -> None:
    for engine in (in_chunks(X, L21(), Hard(), 7), in_chunks(csr(X), L21(), Hard(), 7)):
        for taken in (engine.subsample(60, np.random.RandomState(0)), engine.fixed_sample(60),
                      engine.coreset(3, np.random.RandomState(0))):  # fmt: skip
            assert_array_equal(taken.take(np.arange(60)), X)
            assert taken.data.weights is None


def test_rows_of_weight_zero_never_come() -> None:
    weights = row_weights(60)
    weights[::3] = 0
    left_out = {tuple(row) for row in X[::3]}
    engine = in_chunks(X, L21(), Hard(), 7, weights)
    for seed in range(20):
        rng = np.random.RandomState(seed)
        for taken in (engine.subsample(20, rng), engine.fixed_sample(20), engine.coreset(3, rng)):
            rows = taken.take(np.arange(taken.n_rows))
            assert not left_out & {tuple(row) for row in rows}
            assert (taken.data.weights_or_ones() > 0).all()
    assert in_chunks(X, L21(), Hard(), 7, weights).fixed_sample(60).n_rows == 40


def test_samples_stand_for_all_rows() -> None:
    """Weighted totals over a sample have the right mean over many, and heavy rows stay."""
    weights = row_weights(60)
    weights[17] = 500.0  # More than all others together.
    totals = []
    for seed in range(150):
        engine = in_chunks_again(weights)
        engine._drawn[:] = [engine._draw(20, np.random.RandomState(seed))]
        sample = engine.subsample(20, np.random.RandomState(0))
        assert sample.n_rows == 20
        rows, own = sample.take(np.arange(20)), sample.data.weights_or_ones()
        assert own[(rows == X[17]).all(axis=1)] == 500.0
        totals.append([own.sum(), *(own @ rows)])
    expected = [weights.sum(), *(weights @ X)]
    error = np.std(totals, axis=0) / np.sqrt(len(totals))
    assert (np.abs(np.mean(totals, axis=0) - expected) < 4 * error + 1e-9).all()


@cache
def _weighted_chunks(weights: bytes) -> Any:
    return in_chunks(X, L21(), Hard(), 7, np.frombuffer(weights))


def in_chunks_again(weights: Any) -> Any:
    """An engine that has drawn nothing, without another look at the data."""
    known = _weighted_chunks(weights.tobytes())
    return ChunkedEngine(known.data, known.problem, 1, known.inner)


@pytest.mark.slow
def test_stand_ins_stand_for_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A far cluster is there in every draw, however few its rows; sums are right on average.

    An anchor that stands for its surroundings where nothing was drawn from them adds a little.
    """
    monkeypatch.setattr("sfumato._engines.chunked.CORESET_ROWS", 85)
    monkeypatch.setattr("sfumato._engines.chunked.CORESET_ROWS_PER_CLUSTER", 5)
    rows = np.vstack([blobs(2000, 2, 2), 300 + blobs(3, 2, 1)])
    data = fit_input(REFCMFS(3), stream(rows, chunk_rows=500), None)
    totals = []
    for seed in range(80):
        engine = ChunkedEngine(data, Problem(L21(), Hard()), 1, ENGINES["native"])
        found = engine.coreset(3, np.random.RandomState(seed))
        assert 100 <= found.n_rows <= 105
        taken = found.take(np.arange(found.n_rows))
        own = found.data.weights_or_ones()
        assert own[taken[:, 0] > 100].sum() > 0
        totals.append([own.sum(), own[taken[:, 0] > 100].sum(), *(own @ taken)])
    expected = np.array([2003, 3, *rows.sum(axis=0)])
    error = np.std(totals, axis=0) / np.sqrt(len(totals))
    off = np.abs(np.mean(totals, axis=0) - expected)
    assert (off < 4 * error + 0.02 * np.abs(expected)).all()


def test_stand_ins_do_not_depend_on_the_unit_of_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato._engines.chunked.CORESET_ROWS", 5)
    monkeypatch.setattr("sfumato._engines.chunked.CORESET_ROWS_PER_CLUSTER", 5)
    weights = row_weights(60)
    drawn = []
    for unit in (1.0, 1024.0, 1 / 1024):
        engine = in_chunks(X, L21(), Hard(), 7, unit * weights)
        found = engine.coreset(3, np.random.RandomState(0))
        drawn.append((found.take(np.arange(found.n_rows)), found.data.weights / unit))
    for rows, own in drawn[1:]:
        assert_array_equal(rows, drawn[0][0])
        assert_allclose(own, drawn[0][1], rtol=1e-12)


def test_draws_add_in_any_grouping() -> None:
    rng = np.random.default_rng(0)
    parts = [
        PrioritySample.of(4, X[i : i + 6], np.ones(6), rng.random(6), rng) for i in range(0, 18, 6)
    ]
    left, right = (parts[0] + parts[1]) + parts[2], parts[0] + (parts[1] + parts[2])
    assert_array_equal(left.rows, right.rows)
    assert_array_equal(left.priorities, right.priorities)
    assert len(left.priorities) == 5


# Fits.


def start_of(estimator: Any) -> Any:
    return blobs(400, 3, 4)[: estimator.n_clusters]


@every_estimator
def test_fits_agree(estimator: Any) -> None:
    rows, weights = blobs(400, 3, 4), row_weights(400)
    weights[::7] = 0
    estimator = clone(estimator).set_params(init=start_of(estimator), n_threads=1)
    expected = clone(estimator).fit(rows, sample_weight=weights)
    found = clone(estimator).fit(stream(rows, chunk_rows=64), sample_weight=weights)
    scale = np.abs(expected.cluster_centers_).max()
    assert_allclose(found.cluster_centers_, expected.cluster_centers_, rtol=0, atol=1e-10 * scale)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-10)
    assert_allclose(found.cluster_radii_, expected.cluster_radii_, rtol=1e-8)
    for name in ("labels_", "memberships_", "outlier_scores_", "outliers_"):
        assert isinstance(getattr(found, name), LazyArray), name
    assert_array_equal(np.asarray(found.labels_), expected.labels_)
    assert_array_equal(np.asarray(found.outliers_), expected.outliers_)
    assert_allclose(np.asarray(found.outlier_scores_), expected.outlier_scores_, rtol=1e-8)
    shares = found.memberships_.compute().toarray()
    assert_allclose(shares, expected.memberships_.toarray(), rtol=0, atol=1e-8)


@every_estimator
def test_predictions_agree(estimator: Any) -> None:
    rows, new = blobs(400, 3, 4), blobs(100, 3, 4, seed=1)
    model = clone(estimator).set_params(init=start_of(estimator), n_threads=1).fit(rows)
    source = stream(new, chunk_rows=30)
    for name in ("predict", "predict_proba", "transform", "score_outliers", "score_samples"):
        found, expected = getattr(model, name)(source), getattr(model, name)(new)
        assert isinstance(found, LazyArray)
        assert found.dtype == expected.dtype
        assert_array_equal(np.asarray(found), expected, err_msg=name)
    assert_array_equal(
        np.asarray(model.predict(source, mark_outliers=True)),
        model.predict(new, mark_outliers=True),
    )
    found, expected = model.predict_membership(source).compute(), model.predict_membership(new)
    assert_array_equal(found.toarray(), expected.toarray())
    weights = row_weights(100)
    for value in (model.score, model.objective):
        for given in (None, weights):
            expected = value(new, sample_weight=given)
            assert value(source, sample_weight=given) == pytest.approx(expected, rel=1e-12)


class Observer:
    """Descriptions of the passes over a stream, and the results of sweeps."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.objectives: list[float] = []

    def begin(self, what: str, n_rows: int | None) -> None:
        self.begun.append(what)

    def advance(self, rows: int) -> None:
        pass

    def end(self, rows: int) -> None:
        pass

    def found(self, result: Any) -> None:
        if hasattr(result, "objective"):
            assert self.begun[-1] == SWEEP
            self.objectives.append(result.objective)


def test_observers_are_given_descriptions_in_words() -> None:
    rows = stream(blobs(400, 3, 4), chunk_rows=64)
    rows.observer = seen = Observer()
    model = REFCMFS(4, fuzzifier=1.3, random_state=0).fit(rows)
    assert set(seen.begun) == {"inspecting the data", "drawing rows", "measuring the result"}
    assert seen.objectives[-1] == model.objective_
    assert {FindWorstRows.description, Cost.description} == {"moving an empty cluster"}
