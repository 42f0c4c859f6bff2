"""scikit-learn's callback protocol on ``fit``."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import (
    REFCMFS,
    RSFKM,
    CappedREFCMFS,
    FuzzyClustering,
    FuzzyCMeans,
    Power,
    SimREFCMFS,
    StopReason,
)
from sfumato._engines.native import NativeEngine
from sfumato.datasets import make_blobs_with_outliers
from tests.catalogue import blobs, each, row_weights

pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")
from sklearn.callback import (
    CallbackContext,
    FitCallback,
    ProgressBar,
    ScoringMonitor,
)

ESTIMATORS = [
    REFCMFS(3, random_state=0),
    SimREFCMFS(3, random_state=0),
    RSFKM(3, gamma=2.0, random_state=0),
    FuzzyCMeans(3, random_state=0),
    FuzzyClustering(3, loss="capped", membership=Power(2, 1.5), random_state=0),
]


class Recorder:
    """Writes down which hook was called for which task, and stops when told to."""

    def __init__(self, stop_after: int | None = None, stop_starts: bool = False) -> None:
        self.events: list[tuple[str, str]] = []
        self.given: list[tuple[Any, Any, Any]] = []
        self.fitted: list[Any] = []
        self.stop_after = stop_after
        self.stop_starts = stop_starts

    def setup(self, estimator: Any, context: CallbackContext) -> None:
        self.events.append(("setup", context.task_name))

    def on_fit_task_begin(self, estimator: Any, context: CallbackContext) -> None:
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(
        self,
        estimator: Any,
        context: CallbackContext,
        *,
        X: Any = None,
        y: Any = None,
        metadata: Any = None,
        fitted_estimator: Any = None,
    ) -> bool:
        self.events.append(("end", context.task_name))
        self.given.append((X, y, metadata))
        self.fitted.append((context.task_name, fitted_estimator))
        if context.task_name == "iteration":
            return self.stop_after is not None and context.task_id + 1 >= self.stop_after
        return self.stop_starts and context.task_name.startswith("start")

    def teardown(self, estimator: Any, context: CallbackContext) -> None:
        self.events.append(("teardown", context.task_name))


class PropagatedRecorder(Recorder):
    """A recorder that meta-estimators hand on to their parts."""

    max_propagation_depth = None


@pytest.fixture(name="X")
def fixed_sample() -> np.ndarray:
    return blobs(60, 3, 3)


def expected_events(iterations: list[int]) -> list[tuple[str, str]]:
    """Events of a fit whose starts take so many iterations."""
    events = [("setup", "fit"), ("begin", "fit")]
    for start, count in enumerate(iterations):
        events += [("begin", f"start {start}")]
        events += [("begin", "iteration"), ("end", "iteration")] * count
        events += [("end", f"start {start}")]
    return [*events, ("end", "fit"), ("teardown", "fit")]


def iterations_of(recorder: Recorder) -> list[int]:
    """Number of iterations of each start."""
    counts: list[int] = []
    for hook, task in recorder.events:
        if hook == "begin" and task.startswith("start"):
            counts.append(0)
        elif (hook, task) == ("end", "iteration"):
            counts[-1] += 1
    return counts


@each("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_every_task_begins_and_ends_in_order(estimator: BaseEstimator, X: np.ndarray) -> None:
    recorder = Recorder()
    assert isinstance(recorder, FitCallback)
    model = clone(estimator).set_params(n_init=2, init="random").set_callbacks(recorder).fit(X)
    iterations = iterations_of(recorder)
    assert len(iterations) == 2
    assert model.n_iter_ + 1 in iterations, "the first task is at the initial centers"
    assert recorder.events == expected_events(iterations)


@each("n_rows, starts", ((400, 1), (0, 5)), ids=["outliers", "none"])
def test_starts_that_would_be_the_same_are_left_out(n_rows: int, starts: int) -> None:
    """Clusters that stand out among outliers; rows without either."""
    rng = np.random.default_rng(0)
    rows = make_blobs_with_outliers(n_rows, random_state=0).data if n_rows else rng.random((400, 5))
    recorder = Recorder()
    CappedREFCMFS(6, n_init=5, random_state=0).set_callbacks(recorder).fit(rows)
    assert len(iterations_of(recorder)) == starts


def test_starts_end_when_their_seeds_agree() -> None:
    """With all parameters given, seeds are compared only when the first start asks for them."""
    rows = make_blobs_with_outliers(400, random_state=0).data
    recorder = Recorder()
    model = CappedREFCMFS(6, cap=5.0, fuzzifier=1.1, n_init=5, random_state=0)
    model.set_callbacks(recorder).fit(rows)
    assert len(iterations_of(recorder)) == 1


def test_an_iteration_begins_before_its_pass(X: np.ndarray, monkeypatch: Any) -> None:
    recorder = Recorder()
    sweep = NativeEngine.sweep

    def recorded(self: NativeEngine, centers: np.ndarray) -> Any:
        recorder.events.append(("sweep", ""))
        return sweep(self, centers)

    model = REFCMFS(3, fuzzifier=1.5, init=X[:3].copy()).set_callbacks(recorder)
    monkeypatch.setattr(NativeEngine, "sweep", recorded)
    model.fit(X)
    inside = recorder.events[3:-3]
    task = [("begin", "iteration"), ("sweep", ""), ("end", "iteration")]
    assert inside == task * (model.n_iter_ + 1)


def test_callbacks_do_not_change_the_result(X: np.ndarray) -> None:
    plain = REFCMFS(3, random_state=0).fit(X)
    observed = REFCMFS(3, random_state=0).set_callbacks(Recorder()).fit(X)
    assert_array_equal(observed.cluster_centers_, plain.cluster_centers_)
    assert observed.n_iter_ == plain.n_iter_


def test_hooks_receive_what_the_user_gave(X: np.ndarray) -> None:
    recorder, weights = Recorder(), row_weights(len(X))
    REFCMFS(3, random_state=0).set_callbacks(recorder).fit(X, sample_weight=weights)
    for rows, y, metadata in recorder.given:
        assert rows is X
        assert y is None
        assert metadata["sample_weight"] is weights
    recorder = Recorder()
    REFCMFS(3, random_state=0).set_callbacks(recorder).fit(X)
    assert all(metadata is None for _, _, metadata in recorder.given)


@each("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_the_fitted_estimator_can_predict(estimator: BaseEstimator, X: np.ndarray) -> None:
    recorder = Recorder()
    model = clone(estimator).set_params(n_init=3).set_callbacks(recorder).fit(X)
    new = blobs(20, 3, 3, seed=1)
    for task, fitted in recorder.fitted:
        assert fitted is not None, task
        assert fitted is not model
        assert fitted.predict(new, mark_outliers=True).shape == (20,)
        assert fitted.score_outliers(new).shape == (20,)
        assert fitted.predict_proba(new).shape == (20, 3)
        assert fitted.transform(new).shape == (20, 3)
        assert fitted.get_feature_names_out().shape == (3,)
    # The last is the model; the iterations before it are those of the history.
    _, last = recorder.fitted[-1]
    assert_array_equal(last.predict(new), model.predict(new))
    objectives = [fitted.objective(X) for task, fitted in recorder.fitted if task == "iteration"]
    recorded = [record.objective for record in model.history_]
    starts = np.cumsum([0, *iterations_of(recorder)])
    found = [objectives[begin:end] for begin, end in pairwise(starts)]
    assert any(len(s) == len(recorded) and np.allclose(s, recorded, rtol=1e-9) for s in found)


def test_a_callback_stops_the_iterations_of_a_start(X: np.ndarray) -> None:
    recorder = Recorder(stop_after=2)
    model = REFCMFS(3, random_state=0, n_init=3).set_callbacks(recorder).fit(X)
    assert iterations_of(recorder) == [2, 2, 2]
    assert (model.n_iter_, len(model.history_)) == (1, 2)
    assert model.outcome_.reason is StopReason.STOPPED_BY_CALLBACK
    assert "callback" in str(model.outcome_)
    assert_allclose(model.objective(X), model.history_[-1].objective, rtol=1e-12)


def test_a_callback_stops_the_starts(X: np.ndarray) -> None:
    recorder = Recorder(stop_starts=True)
    model = REFCMFS(3, random_state=0, n_init=3).set_callbacks(recorder).fit(X)
    assert len(iterations_of(recorder)) == 1
    assert model.outcome_.reason is StopReason.CONVERGED


def test_stopping_where_the_loop_ends_anyway_changes_nothing(X: np.ndarray) -> None:
    plain = REFCMFS(3, random_state=0, n_init=1).fit(X)
    recorder = Recorder(stop_after=plain.n_iter_ + 1)
    model = REFCMFS(3, random_state=0, n_init=1).set_callbacks(recorder).fit(X)
    assert model.outcome_.reason is StopReason.CONVERGED


def test_teardown_follows_a_failure(X: np.ndarray) -> None:
    calls = []

    def init(X: Any, n_clusters: int, random_state: Any) -> Any:
        calls.append(n_clusters)
        return X[:n_clusters] if len(calls) < 2 else None

    recorder = Recorder()
    model = REFCMFS(3, fuzzifier=1.5, init=init).set_callbacks(recorder)
    with pytest.raises(ValueError, match="is None"):
        model.fit(X)
    assert iterations_of(recorder)[1:] == [0]
    assert recorder.events[-1] == ("teardown", "fit")
    assert [hook for hook, _ in recorder.events].count("teardown") == 1
    assert not [name for name in vars(model) if name.endswith("_")]
    assert not [name for name in vars(model) if name.startswith("_callback")]


def test_an_error_of_a_callback_reaches_the_user(X: np.ndarray) -> None:
    class Failing(Recorder):
        def on_fit_task_end(self, estimator: Any, context: CallbackContext) -> bool:
            raise RuntimeError("enough")

    recorder = Failing()
    model = REFCMFS(3, random_state=0).set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X)
    assert recorder.events[-1] == ("teardown", "fit")
    assert not [name for name in vars(model) if name.endswith("_")]


def test_bad_input_leaves_callbacks_balanced(X: np.ndarray) -> None:
    recorder = Recorder()
    with pytest.raises(ValueError, match="NaN"):
        REFCMFS(3).set_callbacks(recorder).fit(np.full((9, 2), np.nan))
    hooks = [hook for hook, _ in recorder.events]
    assert hooks.count("setup") == hooks.count("teardown")
    assert hooks.count("begin") == hooks.count("end") == 0


@each("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_progress_bar(estimator: BaseEstimator, X: np.ndarray, capsys: Any) -> None:
    """From random rows: robust seeds that agree are not tried again."""
    model = clone(estimator).set_params(n_init=3, init="random")
    model.set_callbacks(ProgressBar()).fit(X)
    shown = capsys.readouterr().out
    assert type(estimator).__name__ in shown
    for start in range(3):
        assert f"start {start}" in shown
    assert "100%" in shown


def test_scoring_monitor(X: np.ndarray) -> None:
    monitor = ScoringMonitor(scoring=lambda model, X, y: {"objective": model.objective(X)})
    model = REFCMFS(3, fuzzifier=1.5, init=X[:3].copy()).set_callbacks(monitor)
    model.fit(X, y=np.zeros(len(X)))  # The monitor scores nothing where there is no y.
    rows = monitor.get_logs().data
    found = [row["objective"] for row in rows if row["task_name"] == "iteration"]
    assert_allclose(found, [record.objective for record in model.history_], rtol=1e-9)


def test_in_a_pipeline(X: np.ndarray) -> None:
    recorder = PropagatedRecorder()
    pipeline = make_pipeline(StandardScaler(), REFCMFS(3, random_state=0, n_init=2))
    pipeline.set_callbacks(recorder).fit(X)
    inner = [event for event in recorder.events if "start" in event[1] or event[1] == "iteration"]
    iterations = iterations_of(recorder)
    assert len(iterations) == 2
    assert inner == [
        event
        for event in expected_events(iterations)
        if "start" in event[1] or event[1] == "iteration"
    ]
    assert recorder.events[0][0] == "setup"
    assert recorder.events[-1][0] == "teardown"


def test_in_a_grid_search(X: np.ndarray) -> None:
    recorder = PropagatedRecorder()
    search = GridSearchCV(REFCMFS(3, random_state=0, n_init=2), {"n_active": [1, 3]}, cv=2)
    search.set_callbacks(recorder).fit(X)
    assert len(iterations_of(recorder)) == 2 * (2 * 2 + 1), "starts x (candidates x folds + refit)"
    hooks = [hook for hook, _ in recorder.events]
    assert hooks.count("setup") == hooks.count("teardown") == 1
    assert hooks.count("begin") == hooks.count("end")


def test_set_on_the_inner_estimator(X: np.ndarray) -> None:
    recorder = Recorder(stop_after=3)
    model = REFCMFS(3, random_state=0, n_init=1).set_callbacks(recorder)
    search = GridSearchCV(model, {"n_active": [1, 3]}, cv=2, error_score="raise").fit(X)
    assert iterations_of(recorder) == [3] * 5
    assert search.best_estimator_.outcome_.reason is StopReason.STOPPED_BY_CALLBACK


def test_progress_bar_of_a_grid_search(X: np.ndarray, capsys: Any) -> None:
    search = GridSearchCV(REFCMFS(3, random_state=0), {"n_active": [1, 3]}, cv=2)
    search.set_callbacks(ProgressBar()).fit(X)
    shown = capsys.readouterr().out
    assert "GridSearchCV" in shown
    assert "REFCMFS" in shown
