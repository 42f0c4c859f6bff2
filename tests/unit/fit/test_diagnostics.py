"""Warnings about the result of a fit: each with data made for it, and none on clean data."""

from __future__ import annotations

import json
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sfumato
from sfumato import (
    L21,
    REFCMFS,
    CappedREFCMFS,
    FuzzyClustering,
    FuzzyCMeans,
    Hard,
    Outcome,
    Power,
    SimREFCMFS,
    StopReason,
    exceptions,
    stream,
)
from sfumato._engines import make_engine
from sfumato._fit.columns import dominant_column
from sfumato._fit.diagnostics import FitWarning, clipped_fuzzifier, empty_clusters
from sfumato._problem import Problem
from sfumato._solvers.refill import coincident_pairs, nearly_empty
from sfumato.exceptions import (
    ClusteringWarning,
    CoincidentCentersWarning,
    CollapseWarning,
    DominantFeatureWarning,
    EmptyClusterWarning,
    FewRowsWarning,
    FuzzifierRangeWarning,
    NotConvergedWarning,
    UnitNormWarning,
    UnstableFitWarning,
)
from tests.catalogue import checked

CATEGORIES = [getattr(exceptions, n) for n in exceptions.__all__ if n.endswith("Warning")]


def apart(seed: int = 0, n_rows: int = 600, n_clusters: int = 6, n_features: int = 4) -> np.ndarray:
    """Gaussian clusters of width 1 that do not overlap, of similar size."""
    rng = np.random.default_rng(seed)
    centers = np.concatenate([15 * np.eye(n_features), -15 * np.eye(n_features)])[:n_clusters]
    which = np.arange(n_rows) % n_clusters
    return centers[which] + rng.normal(size=(n_rows, n_features))


def found(model: Any, X: Any) -> list[str]:
    """Names of the categories in the record of a fit, which are those that it raises."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    assert [(each.category, str(each.message)) for each in caught] == [
        (each.category, f"{type(model).__name__}: {each.message}")
        for each in model.outcome_.warnings
    ]
    return [each.category.__name__ for each in model.outcome_.warnings]


# Clean data.


@pytest.mark.parametrize("estimator", [REFCMFS, CappedREFCMFS, FuzzyCMeans, SimREFCMFS])
def test_clean_clusters_raise_nothing(estimator: Any) -> None:
    for seed in range(20):
        X = apart(seed, n_clusters=4 + seed % 4)
        assert found(estimator(4 + seed % 4, random_state=seed), X) == []


@pytest.mark.parametrize("estimator", [REFCMFS, CappedREFCMFS, SimREFCMFS, FuzzyClustering])
@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_real_data_raises_nothing(estimator: Any, load: Any) -> None:
    data = load()
    assert found(estimator(len(data.target_names), random_state=0), data.data) == []


def test_many_small_clusters_raise_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-50, 50, size=(40, 4))[rng.integers(40, size=400)] + rng.normal(size=(400, 4))
    for seed in range(5):
        assert found(REFCMFS(40, random_state=seed), X) == []


# Clusters.


def test_nearly_empty_clusters() -> None:
    assert nearly_empty(np.array([10, 8, 0, 12])).tolist() == [2]
    assert nearly_empty(np.array([400, 1, 300])).tolist() == [1]
    assert nearly_empty(np.array([100, 1, 100])).tolist() == []  # 67 on average.
    assert nearly_empty(np.array([4, 900, 900, 900])).tolist() == [0]
    assert nearly_empty(np.array([5, 900_000])).tolist() == []  # Enough for a radius.
    assert nearly_empty(np.array([1, 1, 1])).tolist() == []


def test_a_cluster_of_one_outlier_is_said() -> None:
    X = np.concatenate([apart(n_rows=1200, n_clusters=3), np.full((1, 4), 1e4)])
    model = FuzzyClustering(4, loss="squared", membership="hard", random_state=0)
    assert found(model, X) == ["EmptyClusterWarning"]
    [said] = model.outcome_.warnings
    lonely = int(model.labels_[-1])
    assert f"cluster {lonely} has 1 row, where an average one has 300" in said.message
    assert "n_clusters=3" in said.message
    assert "CappedREFCMFS" in said.message


def test_the_message_about_empty_clusters() -> None:
    rows = np.array([0, 700, 2, 900])
    said = empty_clusters(nearly_empty(rows), rows)
    assert said.category is EmptyClusterWarning
    assert said.message.startswith("cluster 0 has no row, cluster 2 has 2 rows, where")


def test_a_bounded_loss_is_not_told_to_be_one() -> None:
    rows = np.array([400, 1, 399])
    said = [str(empty_clusters(np.array([1]), rows, bounded)) for bounded in (False, True)]
    assert ["CappedREFCMFS" in each for each in said] == [True, False]


def test_centers_in_one_place_are_said() -> None:
    X = apart(n_clusters=2, n_rows=300)
    model = FuzzyCMeans(3, fuzzifier=3.0, random_state=0, tol=1e-12, max_iter=5000)
    assert found(model, X) == ["CoincidentCentersWarning"]
    first, second = pairs_of(model.cluster_centers_, X)[0]
    message = model.outcome_.warnings[0].message
    assert f"centers {first} and {second} are in one place" in message
    assert "n_clusters=2, or lower `fuzzifier`, which is 3" in message


def pairs_of(centers: np.ndarray, X: np.ndarray) -> list[list[int]]:
    """Pairs of centers in one place, for some rows."""
    engine = make_engine("reference", checked(X), Problem(L21(), Hard()), 1)
    pairs: list[list[int]] = coincident_pairs(
        centers, engine, engine.assign(centers, distances=True)
    ).tolist()
    return pairs


def test_pairs_in_one_place() -> None:
    centers = np.array([[0.0], [5.0], [5.0 + 1e-4], [0.5]])
    assert pairs_of(centers, np.array([[1.5], [0.0], [7.0]])) == [[1, 2]]
    assert pairs_of(centers, np.array([[0.0], [5.0]])) == []
    assert pairs_of(np.zeros((2, 1)), np.zeros((3, 1))) == [[0, 1]]


def test_halves_of_one_cluster_are_not_in_one_place() -> None:
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(500, 3))
        assert found(FuzzyClustering(2, membership="hard", n_init=1, random_state=seed), X) == []


def test_a_collapse_is_said_once() -> None:
    X = apart(n_features=50, n_clusters=6) + np.random.default_rng(1).normal(0, 9, size=(600, 50))
    model = FuzzyCMeans(6, random_state=0)
    assert found(model, X) == ["CollapseWarning"]
    message = model.outcome_.warnings[0].message
    assert "0.167 on average, where 6 equal ones are 0.167" in message
    assert "lower `fuzzifier`, which is 2" in message
    assert "REFCMFS" in message


def test_rows_beyond_the_cap_are_no_collapse() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([apart(n_rows=300), rng.uniform(-500, 500, size=(200, 4))])
    model = FuzzyClustering(6, loss="capped", membership=Power(fuzzifier=1.5), random_state=0)
    assert "CollapseWarning" not in found(model, X)


@pytest.mark.parametrize(("end", "advice"), [("lower", "larger"), ("upper", "smaller")])
def test_a_fuzzifier_at_the_end_of_its_range(end: str, advice: str) -> None:
    said = clipped_fuzzifier(Power(2, 1.25), end)
    assert said.category is FuzzifierRangeWarning
    assert "1.25" in said.message
    assert f"{end} end" in said.message
    assert advice in said.message


def test_searches_that_differ_are_said() -> None:
    """Centers in one round cluster may lie in any direction; where clusters are, they are."""
    X = np.random.default_rng(0).normal(size=(2000, 5))
    for loss in ("l21", "capped"):
        model = FuzzyClustering(9, loss=loss, membership="hard", random_state=0)
        assert found(model, X) == ["UnstableFitWarning"]
        assert model.stability_ == model.outcome_.stability < 0.9
        message = model.outcome_.warnings[0].message
        assert f"adjusted Rand index {model.stability_:.2f}" in message
        assert "n_init" in message
        assert found(model.set_params(n_clusters=3), apart(n_clusters=3)) == []
        assert model.stability_ == 1
        assert model.outcome_.stability == 1


def test_one_start_has_no_stability() -> None:
    model = REFCMFS(3, n_init=1, random_state=0).fit(apart(n_clusters=3))
    assert model.stability_ is None
    assert model.outcome_.to_dict()["stability"] is None


# Rows and columns.


@pytest.mark.parametrize(
    "kind",
    [np.asarray, sp.csr_array, stream, np.float32],
    ids=["array", "csr", "stream", "float32"],
)
def test_a_dominant_column_is_named(kind: Any) -> None:
    X = apart() * [1, 1, 1e4, 1]
    model = REFCMFS(6, random_state=0, n_init=1)
    assert found(model, kind(X)) == ["DominantFeatureWarning"]
    assert "column 2 has 100 % of the variance" in model.outcome_.warnings[0].message
    assert "StandardScaler" in model.outcome_.warnings[0].message


def test_a_dominant_column_is_named_as_in_the_table() -> None:
    X = pd.DataFrame(apart() * [1, 1e6, 1, 1], columns=["age", "income", "visits", "height"])
    with pytest.warns(DominantFeatureWarning, match="column 'income' has 100 %"):
        REFCMFS(6, random_state=0).fit(X)


@pytest.mark.parametrize("junk", [1e3, 1e9, 1e15])
@pytest.mark.parametrize("n_rows", [60, 1000])
def test_a_junk_value_neither_makes_nor_hides_a_dominant_column(junk: float, n_rows: int) -> None:
    X = apart(n_rows=n_rows)
    X[7, 1] = junk
    assert dominant_column(checked(X)) is None
    X[:, 2] *= 1e4
    found = dominant_column(checked(X))
    assert found is not None
    assert found[0] == 2


def test_shares_and_ratios_by_hand() -> None:
    rng = np.random.default_rng(0)
    unit = rng.choice([-1.0, 1.0], size=(1000, 3))
    column, share, ratio = dominant_column(checked(unit * [1, 20, 1])) or (0, 0, 0)
    assert column == 1
    assert share == pytest.approx(400 / 402, abs=1e-3)
    assert ratio == pytest.approx(20, rel=1e-2)
    assert dominant_column(checked(unit * [1, 10, 1])) is None  # 98 %.


def test_constant_and_rare_columns_make_none_dominant() -> None:
    rng = np.random.default_rng(0)
    constant = np.column_stack([rng.normal(size=500), np.full(500, 1e6), np.full(500, 0.1)])
    assert dominant_column(checked(constant)) is None
    category = np.eye(1000)[np.arange(2000) % 1000]  # Each is one in two rows only.
    mixed = np.column_stack([rng.normal(size=2000), category])
    assert dominant_column(checked(mixed)) is None
    assert dominant_column(checked(sp.csr_array(mixed))) is None


def test_one_column_is_never_dominant() -> None:
    assert found(REFCMFS(6, random_state=0, n_init=1), apart()[:, :1] * 1e6) == []


@pytest.mark.parametrize("n_features", [3, 64])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, np.float16], ids=str)
def test_unit_vectors_are_said(kind: Any, n_features: int) -> None:
    X = apart(n_features=n_features, n_clusters=3)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert found(REFCMFS(3, random_state=0), kind(X)) == ["UnitNormWarning"]
    X[5] *= 1.01
    assert found(REFCMFS(3, random_state=0), kind(X)) == []


# The record.


def test_the_record_says_it_all() -> None:
    said = FitWarning(CollapseWarning, "all are alike.")
    outcome = Outcome(StopReason.CONVERGED, (said,), 0.5)
    assert outcome.converged
    assert str(outcome) == f"{StopReason.CONVERGED}\nCollapseWarning: all are alike."
    assert json.loads(json.dumps(outcome.to_dict())) == {
        "reason": "CONVERGED",
        "text": str(StopReason.CONVERGED),
        "converged": True,
        "stability": 0.5,
        "warnings": [{"category": "CollapseWarning", "message": "all are alike."}],
    }
    assert pickle.loads(pickle.dumps(outcome)) == outcome
    assert repr(outcome) == "Outcome(CONVERGED, warnings=1, stability=0.5)"


def test_the_limit_of_iterations_is_said_once_in_words() -> None:
    model = REFCMFS(6, random_state=0, max_iter=2, n_init=1, init="random")
    assert found(model, apart()) == ["NotConvergedWarning"]
    assert str(model.outcome_) == str(StopReason.OUT_OF_ITERATIONS)
    assert not model.outcome_.converged


def test_categories() -> None:
    assert all(issubclass(each, ClusteringWarning) for each in CATEGORIES)
    assert len(CATEGORIES) == 11
    about_convergence = [each for each in CATEGORIES if issubclass(each, ConvergenceWarning)]
    assert set(about_convergence) == {FewRowsWarning, NotConvergedWarning, UnstableFitWarning}
    assert sfumato.exceptions.UnitNormWarning is UnitNormWarning
    with pytest.raises(AttributeError, match="no attribute 'NoWarning'"):
        _ = exceptions.NoWarning
    assert CoincidentCentersWarning in CATEGORIES


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform", "partial_fit"])
def test_the_warning_points_at_the_call(method: str) -> None:
    X = apart() * [1e5, 1, 1, 1]
    model = REFCMFS(6, random_state=0)
    for each in (model, make_pipeline(FunctionTransformer(), model)):
        if hasattr(each, method):
            with pytest.warns(DominantFeatureWarning) as caught:
                getattr(each, method)(X)
            assert {warning.filename for warning in caught} == {__file__}


def test_a_warning_that_is_an_error_leaves_the_estimator_as_it_was() -> None:
    X = apart()
    model = REFCMFS(6, random_state=0).fit(X)
    before = dict(vars(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DominantFeatureWarning)
        with pytest.raises(DominantFeatureWarning):
            model.fit(X * [1e5, 1, 1, 1])
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before)
        with pytest.raises(DominantFeatureWarning):
            REFCMFS(6).fit(X * [1e5, 1, 1, 1])
