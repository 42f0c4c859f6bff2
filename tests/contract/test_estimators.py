"""Parameters and fitted attributes: what scikit-learn's users rely on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import sfumato
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
    StopReason,
    stream,
)
from tests.catalogue import row_weights, start_near
from tests.contract.estimators import (
    assert_labels_have_the_largest_share,
    every_estimator,
    fitted_state,
)

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


# gamma=10 puts two centers in one place.
@pytest.mark.filterwarnings("ignore::sfumato.exceptions.CoincidentCentersWarning")
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
    assert eval(repr(model), dict(vars(sfumato))).get_params().keys() == model.get_params().keys()
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
    assert model.n_iter_ == len(model.history_) - 1 > 0
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
    assert type(power.intrinsic_dimension_) is float
    assert power.fuzzifier_ == 1 + 1 / power.intrinsic_dimension_
    squared = SimREFCMFS(4, random_state=0).fit(X)
    assert squared.fuzzifier_ == 1 + 2 / squared.intrinsic_dimension_
    assert RSFKM(4, random_state=0).fit(X).gamma_ > 0
    given = FuzzyClustering(4, membership=Simplex(n_active=2), random_state=0, max_iter=999).fit(X)
    assert given.n_active_ == 2
    assert np.isnan([given.fuzzifier_, given.gamma_]).all()
    assert given.intrinsic_dimension_ is None
    hard = FuzzyClustering(4, loss="squared", membership="hard", random_state=0).fit(X)
    assert isinstance(hard.loss_, Squared)
    assert isinstance(hard.membership_, Hard)
    assert np.isnan([hard.fuzzifier_, hard.gamma_]).all()
    assert hard.n_active_ is None


def test_the_cap_that_was_used(X: np.ndarray) -> None:
    assert REFCMFS(4, random_state=0).fit(X).cap_ == np.inf
    assert FuzzyClustering(4, loss=Capped(3.0), random_state=0).fit(X).cap_ == 3
    assert 0 < FuzzyClustering(4, loss="capped", random_state=0).fit(X).cap_ < np.inf


FITTED = {
    "cap_",
    "cluster_centers_",
    "cluster_radii_",
    "fuzzifier_",
    "gamma_",
    "history_",
    "intrinsic_dimension_",
    "labels_",
    "loss_",
    "membership_",
    "memberships_",
    "n_active_",
    "n_batches_",
    "n_clusters_",
    "n_features_in_",
    "n_iter_",
    "n_samples_seen_",
    "objective_",
    "outcome_",
    "outlier_scores_",
    "outliers_",
    "probabilities_",
    "selection_",
    "stability_",
}


@every_estimator
def test_every_model_has_the_same_attributes(estimator: BaseEstimator, X: np.ndarray) -> None:
    """After fit, a first batch, a later batch, and a batch after fit."""
    weights = np.arange(len(X)) % 3
    fitted = clone(estimator).fit(X, sample_weight=weights)
    rows = int((weights > 0).sum())
    assert (fitted.n_samples_seen_, fitted.n_batches_) == (rows, 0)
    assert {name for name in vars(fitted) if name[0] != "_" and name[-1] == "_"} == FITTED
    batch = clone(estimator).partial_fit(X)
    assert vars(batch).keys() == vars(fitted).keys()
    assert (batch.n_samples_seen_, batch.n_batches_) == (len(X), 1)
    assert batch.n_iter_ == len(batch.history_) - 1 > 0
    for model, seen, number in ((batch, len(X), 2), (fitted, rows, 1)):
        model.partial_fit(X[:20])
        assert vars(model).keys() == vars(clone(estimator).fit(X)).keys()
        assert (model.n_samples_seen_, model.n_batches_) == (seen + 20, number)
        assert (model.n_iter_, model.history_, model.outcome_) == (0, (), None)


def test_the_attributes_are_documented() -> None:
    section = str(FuzzyClustering.__doc__).split("Attributes\n")[1].split("Examples\n")[0]
    lines = [line.split(" : ")[0] for line in section.splitlines() if " : " in line]
    documented = {name.strip() for line in lines for name in line.split(",")}
    assert documented == FITTED | {"feature_names_in_"}


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
    assert model.outcome_.reason is StopReason.OUT_OF_ITERATIONS
    assert "raise `max_iter`" in str(model.outcome_)
    assert model.n_iter_ == 3
    assert not model.outcome_.converged
    assert model.set_params(max_iter=300).fit(X).outcome_.reason is StopReason.CONVERGED
    exact = REFCMFS(3, fuzzifier=1.5, n_active=1, random_state=0).fit(np.eye(3).repeat(2, axis=0))
    assert exact.outcome_.reason is StopReason.EXACT
    assert exact.objective_ == 0


@pytest.mark.filterwarnings("ignore:.*Stopped at `max_iter`")
@pytest.mark.parametrize("place", [np.asarray, lambda rows: stream(np.asarray(rows), chunk_rows=3)])
def test_one_iteration_is_one_step(place: Callable[..., Any]) -> None:
    """A hand-worked case: the means of the pairs 0, 2 and 9, 11."""
    model = SimREFCMFS(2, n_active=1, fuzzifier=2.0, init=[[0.0], [9.0]], max_iter=1, tol=0)
    model.fit(place([[0.0], [2.0], [9.0], [11.0]]))
    assert_array_equal(model.cluster_centers_, [[1.0], [10.0]])
    assert model.n_iter_ == 1
    assert [record.objective for record in model.history_] == [8.0, 4.0]
    assert [record.shift for record in model.history_] == [1.0, 0.0]
    assert model.objective_ == 4.0


@pytest.mark.filterwarnings("ignore:.*Stopped at `max_iter`")
@pytest.mark.parametrize("count", [1, 2, 5])
def test_so_many_iterations_are_so_many_steps(count: int, X: np.ndarray) -> None:
    """Each as the textbook writes fuzzy c-means."""
    centers = X[:3]
    for _ in range(count):
        distances = cdist(X, centers, "sqeuclidean") + 1e-300
        weights = (1 / distances / (1 / distances).sum(axis=1, keepdims=True)) ** 2
        centers = weights.T @ X / weights.sum(axis=0)[:, None]
    model = FuzzyCMeans(3, init=X[:3], max_iter=count, tol=0, acceleration=None).fit(X)
    assert_allclose(model.cluster_centers_, centers, rtol=1e-9)
    assert model.n_iter_ == count


def test_the_warning_points_at_the_caller(X: np.ndarray) -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        REFCMFS(4, fuzzifier=1.5, random_state=0, max_iter=2).fit(X)
    assert caught[0].filename == __file__


def test_a_smaller_tol_goes_further(X: np.ndarray) -> None:
    runs = [REFCMFS(4, fuzzifier=1.5, random_state=0, tol=tol).fit(X) for tol in (1e-2, 1e-9)]
    assert runs[0].n_iter_ < runs[1].n_iter_
    assert runs[0].objective_ > runs[1].objective_
