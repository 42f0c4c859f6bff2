"""One owner of the objective: the fit, `objective`, the history and the reference agree."""

import numpy as np
import pytest

from sfumato import REFCMFS, RSFKM, Capped, FuzzyClustering, FuzzyCMeans, SimREFCMFS
from tests.catalogue import (
    ENGINES,
    N_CLUSTERS,
    STORAGES,
    USER_STORAGES,
    each,
    every_distinct_loss,
    every_dtype,
    every_engine,
    every_membership,
    make_engine,
    row_weights,
    sparse_blobs,
    start_near,
    whatever_results,
)

MODELS = [
    REFCMFS(N_CLUSTERS),
    REFCMFS(N_CLUSTERS, n_active=1),
    SimREFCMFS(N_CLUSTERS, n_active=3),
    FuzzyCMeans(N_CLUSTERS),
    RSFKM(N_CLUSTERS),
    RSFKM(N_CLUSTERS, loss=Capped(2.0), gamma=0.5),
]
PRECISION = {np.float64: 1e-11, np.float32: 1e-5}


def assert_one_objective(model, X, weights, dtype):
    """Whoever is asked for the objective at the final centers says the same."""
    reference = make_engine("reference", X, model.loss_, model.membership_, weights)
    centers = model.cluster_centers_.astype(np.float64)
    told = {
        "objective": model.objective(X, sample_weight=weights),
        "history": model.history_[-1].objective,
        "reference sweep": reference.sweep(centers).objective,
        "reference assign": reference.assign(centers).objective,
        "by hand": by_hand(model, X, weights),
    }
    for who, objective in told.items():
        assert objective == pytest.approx(model.objective_, rel=PRECISION[dtype]), who


def by_hand(model, X, weights):
    """Sum of the losses times phi of the memberships, and of the penalty of the simplex rule."""
    memberships = model.predict_proba(X).astype(np.float64)
    if model.loss_.bounded:  # Outliers cost the cap, though their memberships are not reported.
        engine = make_engine("reference", X, model.loss_, model.membership_)
        found = engine.assign(model.cluster_centers_.astype(np.float64)).memberships.toarray()
        memberships = np.where(memberships.any(axis=1, keepdims=True), memberships, found)
    losses = model.loss_.value(model.transform(X).astype(np.float64) ** 2)
    rows = (losses * model.membership_.phi(memberships)).sum(axis=1)
    if not np.isnan(model.gamma_):
        rows += model.gamma_ * (memberships**2).sum(axis=1)
    return rows.sum() if weights is None else weights @ rows


@whatever_results
@every_dtype
@each("storage", USER_STORAGES, ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@each("model", MODELS, ids=repr)
def test_presets(model, storage, dtype, weighted):
    X = USER_STORAGES[storage](sparse_blobs(120).astype(dtype))
    weights = row_weights(120) if weighted else None
    parameters = model.get_params(deep=False) | {"random_state": 0, "n_init": 2}
    fitted = type(model)(**parameters).fit(X, sample_weight=weights)
    assert_one_objective(fitted, X, weights, dtype)


@whatever_results
@every_engine
@every_distinct_loss
@every_membership
def test_every_distinct_loss_and_membership(engine_name, loss, membership):
    X, weights = sparse_blobs(), row_weights(60)
    model = FuzzyClustering(N_CLUSTERS, loss=loss, membership=membership, engine=engine_name)
    model.set_params(init=start_near(X), tol=1e-4).fit(X, sample_weight=weights)
    if getattr(membership, "n_active", None) and not hasattr(membership, "fuzzifier"):
        # Each row has a gamma of its own, which the memberships alone do not tell.
        assert model.objective(X, sample_weight=weights) == pytest.approx(model.objective_)
        assert model.history_[-1].objective == pytest.approx(model.objective_)
    else:
        assert_one_objective(model, X, weights, np.float64)


def test_engines_tell_the_same():
    X = sparse_blobs(120)
    objectives = [
        REFCMFS(N_CLUSTERS, init=start_near(X), fuzzifier=1.5, engine=name).fit(X).objective_
        for name in ENGINES
    ]
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-9)


def test_the_best_start_is_kept():
    X = sparse_blobs(120)
    rng = np.random.RandomState(0)
    singles = [
        REFCMFS(N_CLUSTERS, fuzzifier=1.5, n_init=1, random_state=rng).fit(X).objective_
        for _ in range(5)
    ]
    best = REFCMFS(N_CLUSTERS, fuzzifier=1.5, n_init=5, random_state=0).fit(X)
    assert best.objective_ == min(singles)


@every_dtype
@each("storage", STORAGES, ids=str)
@every_distinct_loss
@every_membership
def test_sweep_and_assign_tell_the_same_bits(storage, dtype, loss, membership):
    X, weights = STORAGES[storage](sparse_blobs(700).astype(dtype)), row_weights(700)
    engine = make_engine("native", X, loss, membership, weights)
    centers = start_near(sparse_blobs())
    assert engine.sweep(centers).objective == engine.assign(centers).objective
