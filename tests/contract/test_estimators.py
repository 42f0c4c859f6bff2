"""What scikit-learn's users rely on, beyond what its own checks cover."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import (
    L21,
    REFCMFS,
    RSFKM,
    Capped,
    FuzzyClustering,
    FuzzyCMeans,
    Hard,
    IterationRecord,
    Outcome,
    Power,
    Simplex,
    SimREFCMFS,
    Squared,
)
from tests.catalogue import blobs, each, every_dtype, row_weights, start_near

ESTIMATORS = [
    REFCMFS(4, n_active=3, random_state=0),
    SimREFCMFS(4, n_active=2, random_state=0),
    RSFKM(4, gamma=2.0, random_state=0),
    FuzzyCMeans(4, random_state=0),
    FuzzyClustering(4, loss=Capped(3.0), membership=Power(2, 1.3), random_state=0),
    FuzzyClustering(4, loss="squared", membership="hard", random_state=0),
    FuzzyClustering(4, loss="l21", membership=Simplex(n_active=2), random_state=0, max_iter=1000),
]
every_estimator = each("estimator", ESTIMATORS, ids=lambda e: "-".join(describe(e)))


def describe(estimator: BaseEstimator) -> list[str]:
    """Name of the estimator and of its parts."""
    parts = [getattr(estimator, name, "") for name in ("loss", "membership")]
    names = [part if isinstance(part, str) else type(part).__name__ for part in parts]
    return [type(estimator).__name__, *(n for n in names if n not in ("", "method"))]


@pytest.fixture(name="X")
def some_rows() -> np.ndarray:
    return blobs(80, 3, 4)


def fitted_state(estimator: BaseEstimator) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}


def assert_labels_have_the_largest_share(memberships: sp.csr_array, labels: np.ndarray) -> None:
    """Not the only one, where a capped loss makes several centers alike."""
    dense = memberships.toarray()
    assert_array_equal(dense[np.arange(len(labels)), labels], dense.max(axis=1))


# Parameters.


@every_estimator
def test_clone_is_equal_and_unfitted(estimator: BaseEstimator, X: np.ndarray) -> None:
    model = clone(estimator).fit(X)
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert not fitted_state(copy)
    assert_array_equal(copy.fit(X).cluster_centers_, model.cluster_centers_)


def test_clone_copies_the_parts() -> None:
    model = FuzzyClustering(loss=Capped(2.0), membership=Power(3))
    copy = clone(model)
    assert copy.loss is not model.loss
    assert copy.loss.cap == 2.0
    assert copy.membership is not model.membership
    assert copy.membership.n_active == 3


def test_parameters_of_parts_are_reached_through_the_estimator() -> None:
    model = FuzzyClustering(loss=Capped(2.0), membership=Power(3, 1.2))
    assert model.get_params()["loss__cap"] == 2.0
    assert model.get_params()["membership__n_active"] == 3
    model.set_params(loss__cap=5.0, membership__fuzzifier=1.7, n_clusters=6)
    assert (model.loss.cap, model.membership.fuzzifier, model.n_clusters) == (5.0, 1.7, 6)
    with pytest.raises(ValueError, match="cup"):
        model.set_params(loss__cup=1.0)


@every_estimator
def test_fit_leaves_parameters_as_they_were(estimator: BaseEstimator, X: np.ndarray) -> None:
    model = clone(estimator)
    given = model.get_params(deep=True)
    before = {name: repr(value) for name, value in given.items()}
    model.fit(X)
    after = model.get_params(deep=True)
    assert {name: repr(value) for name, value in after.items()} == before
    assert all(after[name] is value for name, value in given.items())


def test_fit_leaves_given_parts_and_centers_as_they_were(X: np.ndarray) -> None:
    rule, start = Power(), start_near(X, 3)
    original = start.copy()
    model = FuzzyClustering(3, membership=rule, init=start).fit(X)
    assert (rule.n_active, rule.fuzzifier) == ("auto", "auto")
    assert model.membership_ is not rule
    assert (model.membership_.n_active, model.membership_.fuzzifier) == (3, model.fuzzifier_)
    assert_array_equal(start, original)
    assert not np.shares_memory(start, model.cluster_centers_)


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (FuzzyClustering(3, loss=Capped(), random_state=0), {"loss__cap": [0.01, 4.0]}),
        (
            FuzzyClustering(3, membership=Power(fuzzifier=1.5), random_state=0),
            {"membership__n_active": [1, 3]},
        ),
        (REFCMFS(3, fuzzifier=1.5, random_state=0), {"n_active": [1, 3]}),
        (FuzzyClustering(3, random_state=0), {"loss": ["squared", L21()]}),
        (RSFKM(3, random_state=0), {"gamma": [0.1, 10.0], "loss": ["l21", Capped(4.0)]}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_grid_search(estimator: BaseEstimator, grid: dict[str, list[Any]], X: np.ndarray) -> None:
    search = GridSearchCV(estimator, grid, cv=2, error_score="raise").fit(X)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == len(scores), "the parameter must make a difference"
    assert search.best_score_ == max(scores)
    chosen = search.best_estimator_.get_params()
    assert all(repr(chosen[name]) == repr(value) for name, value in search.best_params_.items())
    assert_array_equal(search.predict(X), search.best_estimator_.labels_)


@every_estimator
def test_repr_and_html(estimator: BaseEstimator, X: np.ndarray) -> None:
    model = clone(estimator)
    assert eval(repr(model)).get_params().keys() == model.get_params().keys()
    assert type(model).__name__ in model._repr_html_()
    assert type(model).__name__ in model.fit(X)._repr_html_()


# Fitted attributes.


@every_estimator
@pytest.mark.parametrize("weighted", [False, True])
def test_fitted_attributes(estimator: BaseEstimator, weighted: bool, X: np.ndarray) -> None:
    model = clone(estimator)
    assert model.fit(X, sample_weight=row_weights(len(X)) if weighted else None) is model
    assert isinstance(model.cluster_centers_, np.ndarray)
    assert model.cluster_centers_.shape == (4, 3)
    assert model.labels_.shape == (80,)
    assert model.labels_.dtype == np.int32
    assert isinstance(model.memberships_, sp.csr_array)
    assert model.memberships_.shape == (80, 4)
    assert type(model.objective_) is float
    assert type(model.n_iter_) is int
    assert model.n_iter_ == len(model.history_) > 1
    assert isinstance(model.outcome_, Outcome)
    assert model.outcome_.converged
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    assert_allclose(model.history_[-1].objective, model.objective_, rtol=1e-12)
    assert_labels_have_the_largest_share(model.memberships_, model.labels_)


def test_records_of_iterations(X: np.ndarray) -> None:
    model = REFCMFS(4, fuzzifier=1.5, random_state=0).fit(X)
    for record in model.history_:
        assert isinstance(record, IterationRecord)
        assert type(record.objective) is float
        assert type(record.seconds) is float
        assert type(record.shift) is float
        assert record.repairs == ()
    seconds = [record.seconds for record in model.history_]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    shifts = [record.shift for record in model.history_]
    assert shifts[-1] == 0
    assert all(shift > 0 for shift in shifts[:-1])


def test_repairs_are_in_the_history(X: np.ndarray) -> None:
    start = np.vstack([start_near(X, 3), np.full((1, 3), 1e6)])
    model = FuzzyClustering(4, loss="squared", membership="hard", init=start).fit(X)
    assert model.history_[0].repairs == (3,)
    assert len(np.unique(model.labels_)) == 4


def test_attributes_of_the_rule_that_was_used(X: np.ndarray) -> None:
    power = REFCMFS(4, random_state=0).fit(X)
    assert power.n_active_ == 4
    assert type(power.intrinsic_dimension_) is int
    assert power.fuzzifier_ == 1 + 1 / power.intrinsic_dimension_
    squared = SimREFCMFS(4, random_state=0).fit(X)
    assert squared.fuzzifier_ == 1 + 2 / squared.intrinsic_dimension_
    assert RSFKM(4, random_state=0).fit(X).gamma_ > 0
    given = FuzzyClustering(4, membership=Simplex(n_active=2), random_state=0, max_iter=999).fit(X)
    assert given.n_active_ == 2
    assert not {"fuzzifier_", "gamma_", "intrinsic_dimension_"} & set(vars(given))
    hard = FuzzyClustering(4, loss="squared", membership="hard", random_state=0).fit(X)
    assert isinstance(hard.loss_, Squared)
    assert isinstance(hard.membership_, Hard)
    assert not {"n_active_", "fuzzifier_", "gamma_"} & set(vars(hard))


@pytest.mark.parametrize(("n_clusters", "expected"), [(2, 2), (5, 5), (7, 5)])
def test_n_active_auto(n_clusters: int, expected: int, X: np.ndarray) -> None:
    model = REFCMFS(n_clusters, fuzzifier=1.5, random_state=0, max_iter=2000).fit(X)
    assert model.n_active_ == expected
    assert model.memberships_.nnz == expected * len(X)


def test_a_second_fit_leaves_nothing_of_the_first(X: np.ndarray) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = FuzzyClustering(4, random_state=0).fit(frame)
    model.set_params(loss="squared", membership="hard", n_clusters=2).fit(X[:, :2])
    fresh = clone(model).fit(X[:, :2])
    assert fitted_state(model).keys() == fitted_state(fresh).keys()
    assert vars(model).keys() == vars(fresh).keys()
    assert_array_equal(model.cluster_centers_, fresh.cluster_centers_)


def test_outcomes_say_what_to_do(X: np.ndarray) -> None:
    model = REFCMFS(4, fuzzifier=1.5, random_state=0, max_iter=3, n_init=1)
    with pytest.warns(ConvergenceWarning, match="REFCMFS.*raise `max_iter` or loosen `tol`"):
        model.fit(X)
    assert model.outcome_ is Outcome.OUT_OF_ITERATIONS
    assert "raise `max_iter`" in str(model.outcome_)
    assert model.n_iter_ == 3
    assert not model.outcome_.converged
    assert model.set_params(max_iter=300).fit(X).outcome_ is Outcome.CONVERGED
    exact = REFCMFS(3, fuzzifier=1.5, n_active=1, random_state=0).fit(np.eye(3).repeat(2, axis=0))
    assert exact.outcome_ is Outcome.EXACT
    assert exact.objective_ == 0


def test_the_warning_points_at_the_caller(X: np.ndarray) -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        REFCMFS(4, fuzzifier=1.5, random_state=0, max_iter=2).fit(X)
    assert caught[0].filename == __file__


def test_a_smaller_tol_goes_further(X: np.ndarray) -> None:
    runs = [REFCMFS(4, fuzzifier=1.5, random_state=0, tol=tol).fit(X) for tol in (1e-2, 1e-9)]
    assert runs[0].n_iter_ < runs[1].n_iter_
    assert runs[0].objective_ > runs[1].objective_


# Prediction.


@every_estimator
@every_dtype
def test_training_rows_are_predicted_as_fitted(
    estimator: BaseEstimator, dtype: type, X: np.ndarray
) -> None:
    X = X.astype(dtype)
    model = clone(estimator).fit(X)
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(clone(estimator).fit_predict(X), model.labels_)
    predicted = model.predict_membership(X)
    assert isinstance(predicted, sp.csr_array)
    assert_array_equal(predicted.toarray(), model.memberships_.toarray())
    assert_array_equal(clone(estimator).fit_transform(X), model.transform(X))


@every_estimator
@every_dtype
def test_memberships_of_new_rows(estimator: BaseEstimator, dtype: type, X: np.ndarray) -> None:
    model = clone(estimator).fit(X.astype(dtype))
    new = blobs(33, 3, 4, seed=1).astype(dtype)
    dense = model.predict_proba(new)
    sparse = model.predict_membership(new)
    assert type(dense) is np.ndarray
    assert dense.dtype == sparse.dtype == dtype
    assert_array_equal(dense, sparse.toarray())
    tolerance = 1e-12 if dtype is np.float64 else 1e-6
    assert_allclose(dense.sum(axis=1), 1, rtol=tolerance)
    assert_labels_have_the_largest_share(sparse, model.predict(new))
    entries = np.diff(sparse.indptr)
    n_active = getattr(model, "n_active_", 1 if isinstance(model.membership_, Hard) else None)
    assert (entries == n_active).all() if n_active else (entries >= 1).all()


@every_estimator
def test_membership_is_the_presets_name_for_it(estimator: BaseEstimator, X: np.ndarray) -> None:
    model = clone(estimator).fit(X)
    if isinstance(model, FuzzyClustering):  # There, ``membership`` is the rule.
        assert not callable(model.membership)
    else:
        assert_array_equal(model.membership(X).toarray(), model.memberships_.toarray())


@every_estimator
def test_transform_gives_distances(estimator: BaseEstimator, X: np.ndarray) -> None:
    model = clone(estimator).fit(X)
    new = blobs(20, 3, 4, seed=1)
    expected = np.linalg.norm(new[:, None] - model.cluster_centers_, axis=2)
    assert_allclose(model.transform(new), expected, rtol=1e-12)
    assert_array_equal(model.predict(new), expected.argmin(axis=1))


@every_estimator
def test_score_is_minus_the_objective(estimator: BaseEstimator, X: np.ndarray) -> None:
    weights = row_weights(len(X))
    for given in (None, weights):
        model = clone(estimator).fit(X, sample_weight=given)
        assert_allclose(model.score(X, sample_weight=given), -model.objective_, rtol=1e-12)
    assert not np.isclose(model.score(X), model.score(X, sample_weight=weights), rtol=1e-3)
    doubled = model.score(X, sample_weight=2 * weights)
    assert_allclose(doubled, 2 * model.score(X, sample_weight=weights), rtol=1e-12)


def test_weights_enter_fit_predict(X: np.ndarray) -> None:
    weights = (X[:, 0] > 0).astype(float)
    model = REFCMFS(3, fuzzifier=1.3, random_state=0)
    plain = model.fit_predict(X)
    weighted = model.fit_predict(X, sample_weight=weights)
    assert_array_equal(weighted, model.labels_)
    assert not np.array_equal(plain, weighted)
    alone = clone(model).fit(X[weights > 0])
    assert_allclose(model.cluster_centers_, alone.cluster_centers_, rtol=1e-6)


@every_estimator
def test_prediction_does_not_change_the_model(estimator: BaseEstimator, X: np.ndarray) -> None:
    model = clone(estimator).fit(X)
    before = pickle.dumps(model)
    for method in (model.predict, model.predict_proba, model.transform, model.score):
        method(X)
    assert pickle.dumps(model) == before


# Storage of models, frames and names.


@every_estimator
@pytest.mark.parametrize("library", ["pickle", "joblib", "joblib-mmap"])
def test_round_trips(estimator: BaseEstimator, library: str, X: np.ndarray, tmp_path: Any) -> None:
    model = clone(estimator).fit(X)
    if library == "pickle":
        loaded = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "model.joblib")
        mode = "r" if library == "joblib-mmap" else None
        loaded = joblib.load(tmp_path / "model.joblib", mmap_mode=mode)
    new = blobs(30, 3, 4, seed=1)
    assert_array_equal(loaded.predict(new), model.predict(new))
    assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert_array_equal(loaded.transform(new), model.transform(new))
    assert loaded.score(new) == model.score(new)
    assert loaded.outcome_ is model.outcome_
    assert loaded.history_ == model.history_
    assert_array_equal(loaded.fit(X).cluster_centers_, model.cluster_centers_)


def test_names_of_features(X: np.ndarray) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = REFCMFS(2, fuzzifier=1.5, random_state=0).fit(frame)
    assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert_array_equal(model.get_feature_names_out(), ["refcmfs0", "refcmfs1"])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["c", "b", "a"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize(("output", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(output: str, frame: Callable[..., Any], X: np.ndarray) -> None:
    plain = SimREFCMFS(2, fuzzifier=1.5, random_state=0)
    model = clone(plain).set_output(transform=output)
    distances = model.fit_transform(X)
    assert isinstance(distances, frame)
    assert list(distances.columns) == ["simrefcmfs0", "simrefcmfs1"]
    assert_array_equal(distances.to_numpy(), plain.fit(X).transform(X))
    if output == "pandas":
        index = pd.Index(range(100, 180))
        named = model.fit_transform(pd.DataFrame(X, columns=list("abc"), index=index))
        assert named.index.equals(index)


# Pipelines and routing.


def test_pipeline(X: np.ndarray) -> None:
    pipeline = make_pipeline(StandardScaler(), REFCMFS(4, fuzzifier=1.3, random_state=0))
    labels = pipeline.fit_predict(X)
    alone = REFCMFS(4, fuzzifier=1.3, random_state=0).fit(StandardScaler().fit_transform(X))
    assert_array_equal(labels, alone.labels_)
    assert_array_equal(pipeline.predict(X), labels)
    assert_array_equal(pipeline.predict_proba(X), alone.memberships_.toarray())
    assert_allclose(pipeline.score(X), -alone.objective_, rtol=1e-12)
    assert_array_equal(pipeline.get_feature_names_out(), [f"refcmfs{k}" for k in range(4)])
    pipeline.set_params(refcmfs__n_active=1)
    assert pipeline.fit(X)[-1].n_active_ == 1
    first = Pipeline(
        [("soft", REFCMFS(4, fuzzifier=1.3, random_state=0)), ("scale", StandardScaler())]
    )
    assert first.fit_transform(X).shape == (80, 4)


def test_weights_through_a_pipeline(X: np.ndarray) -> None:
    weights = row_weights(len(X)) ** 4
    model = REFCMFS(4, fuzzifier=1.3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.fit(X, refcmfs__sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    expected = clone(model).fit(scaled, sample_weight=weights).cluster_centers_
    assert_array_equal(pipeline[-1].cluster_centers_, expected)


def test_metadata_routing(X: np.ndarray) -> None:
    weights = row_weights(len(X)) ** 4
    with sklearn.config_context(enable_metadata_routing=True):
        model = REFCMFS(4, fuzzifier=1.3, random_state=0)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            make_pipeline(model).fit(X, sample_weight=weights)
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(X, sample_weight=weights)
        scaled = StandardScaler().fit_transform(X)
        alone = clone(model).fit(scaled, sample_weight=weights)
        assert_array_equal(pipeline[-1].cluster_centers_, alone.cluster_centers_)
        assert_array_equal(pipeline.fit_predict(X, sample_weight=weights), alone.labels_)
        assert_allclose(pipeline.score(X, sample_weight=weights), -alone.objective_, rtol=1e-12)
        ignoring = clone(model).set_fit_request(sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        plain = make_pipeline(scaler, ignoring).fit(X, sample_weight=weights)
        scaled = StandardScaler().fit_transform(X, sample_weight=weights)
        assert_array_equal(plain[-1].cluster_centers_, clone(model).fit(scaled).cluster_centers_)
        search = GridSearchCV(model, {"n_active": [1, 4]}, cv=2, error_score="raise")
        search.fit(X, sample_weight=weights)
        assert_allclose(
            search.best_estimator_.score(X, sample_weight=weights),
            -search.best_estimator_.objective_,
            rtol=1e-12,
        )


# Starts and randomness.


def test_n_init_keeps_the_best(X: np.ndarray) -> None:
    X = blobs(120, 2, 12)
    rng = np.random.RandomState(0)
    model = REFCMFS(9, n_active=1, fuzzifier=1.5, init="random", n_init=1)
    singles = [clone(model).set_params(random_state=rng).fit(X).objective_ for _ in range(6)]
    best = model.set_params(n_init=6, random_state=np.random.RandomState(0)).fit(X)
    assert len({round(single, 6) for single in singles}) > 2, "starts must differ"
    assert_allclose(best.objective_, min(singles), rtol=1e-10)


def test_n_init_auto(X: np.ndarray) -> None:
    calls = []

    def init(X: Any, n_clusters: int, random_state: np.random.RandomState) -> np.ndarray:
        calls.append(n_clusters)
        return start_near(X, n_clusters, seed=random_state.randint(1000))

    REFCMFS(3, fuzzifier=1.5, init=init, random_state=0).fit(X)
    assert calls == [3, 3, 3]
    calls.clear()
    REFCMFS(3, fuzzifier=1.5, init=init, n_init=2, random_state=0).fit(X)
    assert calls == [3, 3]


def test_given_centers_are_used_once(X: np.ndarray) -> None:
    start = start_near(X, 4)
    model = FuzzyClustering(4, loss="squared", membership="hard", init=start, n_init=10).fit(X)
    assert_allclose(
        model.history_[0].objective,
        (np.linalg.norm(X[:, None] - start, axis=2).min(axis=1) ** 2).sum(),
        rtol=1e-12,
    )
    listed = FuzzyClustering(4, loss="squared", membership="hard", init=start.tolist()).fit(X)
    sparse = FuzzyClustering(4, loss="squared", membership="hard", init=sp.csr_array(start)).fit(X)
    assert_array_equal(listed.cluster_centers_, model.cluster_centers_)
    assert_array_equal(sparse.cluster_centers_, model.cluster_centers_)


def test_a_callable_gets_the_users_data(X: np.ndarray) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    seen = []

    def init(X: Any, n_clusters: int, random_state: np.random.RandomState) -> Any:
        seen.append((X, n_clusters, random_state))
        return X.iloc[:n_clusters]

    model = FuzzyClustering(4, loss="squared", membership="hard", init=init).fit(frame)
    assert all(given is frame and n_clusters == 4 for given, n_clusters, _ in seen)
    assert isinstance(seen[0][2], np.random.RandomState)
    given = FuzzyClustering(4, loss="squared", membership="hard", init=X[:4]).fit(X)
    assert_allclose(model.cluster_centers_, given.cluster_centers_, rtol=1e-12)


@pytest.mark.parametrize("init", ["auto", "k-means++", "random"])
def test_the_same_seed_gives_the_same_bits(init: str, X: np.ndarray) -> None:
    first, second = (REFCMFS(4, init=init, random_state=3).fit(X) for _ in range(2))
    assert_array_equal(first.cluster_centers_, second.cluster_centers_)
    assert_array_equal(first.memberships_.data, second.memberships_.data)
    assert first.objective_ == second.objective_
    state = np.random.RandomState(3)
    assert_array_equal(
        REFCMFS(4, init=init, random_state=state).fit(X).cluster_centers_, first.cluster_centers_
    )


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_other_seeds_give_other_starts(init: str, X: np.ndarray) -> None:
    firsts = {
        REFCMFS(4, fuzzifier=1.5, init=init, n_init=1, random_state=seed)
        .fit(X)
        .history_[0]
        .objective
        for seed in range(5)
    }
    assert len(firsts) > 1


def test_the_global_generator_is_left_alone(X: np.ndarray) -> None:
    np.random.seed(5)
    expected = np.random.get_state()[1].copy()
    model = REFCMFS(4, random_state=0).fit(X)
    model.predict(X)
    assert_array_equal(np.random.get_state()[1], expected)


@every_estimator
def test_the_order_of_the_rows_does_not_matter(estimator: BaseEstimator, X: np.ndarray) -> None:
    order = np.random.RandomState(0).permutation(len(X))
    model, shuffled = clone(estimator).fit(X), clone(estimator).fit(X[order])
    assert_allclose(shuffled.cluster_centers_, model.cluster_centers_, rtol=1e-9)
    assert_array_equal(shuffled.labels_, model.labels_[order])


@every_estimator
def test_copies_and_weights_are_seeded_alike(estimator: BaseEstimator, X: np.ndarray) -> None:
    counts = np.random.RandomState(0).randint(0, 4, size=len(X))
    weighted = clone(estimator).fit(X, sample_weight=counts)
    copied = clone(estimator).fit(X.repeat(counts, axis=0)[::-1])
    assert_allclose(copied.cluster_centers_, weighted.cluster_centers_, rtol=1e-9)


def test_offset_and_scale_do_not_change_the_seeds(X: np.ndarray) -> None:
    model = REFCMFS(4, random_state=0).fit(X)
    moved = REFCMFS(4, random_state=0).fit(32 * X - 8)
    assert_allclose(moved.cluster_centers_, 32 * model.cluster_centers_ - 8, rtol=1e-9)


# Precision.


@every_estimator
@every_dtype
def test_floats_keep_their_precision(estimator: BaseEstimator, dtype: type, X: np.ndarray) -> None:
    model = clone(estimator).fit(X.astype(dtype))
    assert model.cluster_centers_.dtype == dtype
    assert model.memberships_.dtype == dtype
    assert model.transform(X.astype(dtype)).dtype == dtype
    assert model.predict_proba(X.astype(dtype)).dtype == dtype
    assert type(model.objective_) is float


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.bool_])
def test_integers_become_float64(dtype: type, X: np.ndarray) -> None:
    X = (10 * (X - X.min())).astype(dtype) if dtype is not np.bool_ else X > 0
    model = REFCMFS(3, fuzzifier=1.5, random_state=0).fit(X)
    assert model.cluster_centers_.dtype == np.float64
    assert model.transform(X).dtype == np.float64
    expected = REFCMFS(3, fuzzifier=1.5, random_state=0).fit(X.astype(np.float64))
    assert_array_equal(model.cluster_centers_, expected.cluster_centers_)


def test_float32_is_close_to_float64(X: np.ndarray) -> None:
    start = start_near(X, 4)
    double, single = (
        REFCMFS(4, fuzzifier=1.5, init=start).fit(X.astype(dtype)) for dtype in (float, np.float32)
    )
    assert_allclose(single.cluster_centers_, double.cluster_centers_, atol=1e-2)
    assert_allclose(single.objective_, double.objective_, rtol=1e-5)
