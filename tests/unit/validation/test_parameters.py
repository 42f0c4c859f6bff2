"""Bad parameters: the error says what was given, what is wrong and what to do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from sfumato import (
    L21,
    REFCMFS,
    RSFKM,
    Capped,
    FuzzyClustering,
    FuzzyCMeans,
    Power,
    Simplex,
    Squared,
)
from tests.failing import X, fails

# Parameters.


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"n_clusters": 0}, ValueError, ["n_clusters=0", "at least 1"]),
        ({"n_clusters": -2}, ValueError, ["n_clusters=-2", "at least 1"]),
        ({"n_clusters": 2.0}, TypeError, ["n_clusters=2.0", "not an integer"]),
        ({"n_clusters": "3"}, TypeError, ["n_clusters='3'", "not an integer"]),
        ({"n_clusters": None}, TypeError, ["n_clusters=None", "not an integer"]),
        ({"n_clusters": True}, TypeError, ["n_clusters=True", "not an integer"]),
        ({"n_active": [1, 2]}, TypeError, ["n_active=[1, 2]", "not an integer"]),
        ({"fuzzifier": np.array([1.5, 2.0])}, TypeError, ["fuzzifier=", "not a number"]),
        ({"n_active": 4}, ValueError, ["n_active=4", "exceeds n_clusters=3", "<= n_clusters"]),
        ({"n_active": 0}, ValueError, ["n_active=0", "at least 1", "1 <= `n_active`"]),
        ({"n_active": -1}, ValueError, ["n_active=-1", "at least 1"]),
        ({"n_active": 1.5}, TypeError, ["n_active=1.5", "not an integer", "'auto'"]),
        ({"n_active": "all"}, TypeError, ["n_active='all'", "'auto'"]),
        ({"n_active": None}, TypeError, ["n_active=None", "'auto'"]),
        ({"fuzzifier": 1}, ValueError, ["fuzzifier=1 ", "larger than 1", "1.1"]),
        ({"fuzzifier": 0.5}, ValueError, ["fuzzifier=0.5", "larger than 1"]),
        ({"fuzzifier": -2.0}, ValueError, ["fuzzifier=-2.0", "larger than 1"]),
        ({"fuzzifier": np.nan}, ValueError, ["fuzzifier=nan", "larger than 1"]),
        ({"fuzzifier": np.inf}, ValueError, ["fuzzifier=inf", "finite"]),
        ({"fuzzifier": "soft"}, TypeError, ["fuzzifier='soft'", "not a number"]),
        ({"fuzzifier": None}, TypeError, ["fuzzifier=None", "not a number"]),
        ({"n_init": 0}, ValueError, ["n_init=0", "at least 1", "'auto'"]),
        ({"n_init": "many"}, TypeError, ["n_init='many'", "'auto'"]),
        ({"n_init": 2.5}, TypeError, ["n_init=2.5", "not an integer"]),
        ({"n_init": np.array([1, 2])}, TypeError, ["n_init=", "not an integer"]),
        ({"max_iter": 0}, ValueError, ["max_iter=0", "at least 1"]),
        ({"max_iter": 1e3}, TypeError, ["max_iter=1000.0", "not an integer"]),
        ({"tol": -1e-3}, ValueError, ["tol=-0.001", "[0, 1)", "1e-6"]),
        ({"tol": 1.0}, ValueError, ["tol=1.0", "[0, 1)"]),
        ({"tol": np.nan}, ValueError, ["tol=nan"]),
        ({"tol": "tight"}, ValueError, ["tol='tight'"]),
        ({"n_threads": 0}, ValueError, ["n_threads=0", "at least 1", "None"]),
        ({"n_threads": -1}, ValueError, ["n_threads=-1", "at least 1", "None"]),
        ({"n_threads": 1.5}, TypeError, ["n_threads=1.5", "not an integer"]),
        ({"random_state": "lucky"}, ValueError, ["'lucky'", "seed"]),
        ({"engine": "nativ"}, ValueError, ["engine='nativ'", "Did you mean 'native'?"]),
        ({"engine": "referenz"}, ValueError, ["Did you mean 'reference'?"]),
        ({"engine": 3}, TypeError, ["engine=3", "'native'", "'reference'"]),
        ({"engine": None}, TypeError, ["engine=None", "'auto'"]),
        ({"init": "kmeans"}, ValueError, ["init='kmeans'", "Did you mean 'k-means++'?"]),
        ({"init": "rnadom"}, ValueError, ["Did you mean 'random'?", "'k-means++'"]),
    ],
    ids=lambda value: str(value)[:30],
)
def test_parameters(parameters: dict[str, Any], error: type[Exception], words: list[str]) -> None:
    fails(REFCMFS(3).set_params(**parameters), X, *words, error=error)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (FuzzyClustering(3, loss="l2"), ValueError, ["loss='l2'", "Did you mean 'l21'?"]),
        (FuzzyClustering(3, loss="L21"), ValueError, ["Did you mean 'l21'?", "'squared'"]),
        (FuzzyClustering(3, loss="caped"), ValueError, ["Did you mean 'capped'?"]),
        (FuzzyClustering(3, loss="qqqq"), ValueError, ["['capped', 'l21', 'squared']"]),
        (FuzzyClustering(3, membership="powr"), ValueError, ["Did you mean 'power'?"]),
        (FuzzyClustering(3, membership="simplx"), ValueError, ["Did you mean 'simplex'?"]),
        (FuzzyClustering(3, membership="soft"), ValueError, ["'hard', 'power', 'simplex'"]),
        (RSFKM(3, loss="cap"), ValueError, ["loss='cap'", "Did you mean 'capped'?"]),
        (FuzzyClustering(3, loss=Power()), TypeError, ["loss=Power()", "instance of Capped"]),
        (FuzzyClustering(3, membership=L21()), TypeError, ["membership=L21()", "of Hard"]),
        (FuzzyClustering(3, loss=Squared), TypeError, ["loss=<class", "neither a name nor a part"]),
        (FuzzyClustering(3, loss=None), TypeError, ["loss=None", "'l21'"]),
        (FuzzyClustering(3, membership=2), TypeError, ["membership=2", "'power'"]),
        (FuzzyClustering(3, loss=Capped(0)), ValueError, ["cap=0", "larger than 0", "units"]),
        (FuzzyClustering(3, loss=Capped(np.nan)), ValueError, ["cap=nan", "larger than 0"]),
        (FuzzyClustering(3, loss=Capped("far")), TypeError, ["cap='far'", "not a number"]),
        (FuzzyClustering(3, membership=Power(4)), ValueError, ["n_active=4", "n_clusters=3"]),
        (FuzzyClustering(3, membership=Power(2, 1.0)), ValueError, ["fuzzifier=1.0"]),
        (FuzzyClustering(3, membership=Simplex(n_active=4)), ValueError, ["n_active=4"]),
        (FuzzyClustering(3, membership=Simplex(gamma=0)), ValueError, ["gamma=0", "larger than 0"]),
        (RSFKM(3, gamma=-1.0), ValueError, ["gamma=-1.0", "larger than 0"]),
        (RSFKM(3, gamma=np.inf), ValueError, ["gamma=inf", "finite"]),
        (RSFKM(3, gamma="strong"), TypeError, ["gamma='strong'", "not a number"]),
        (
            FuzzyClustering(3, membership=Simplex(gamma=1.0, n_active=2)),
            ValueError,
            ["gamma=1.0 and n_active=2", "exclude", "leave the other None"],
        ),
        (FuzzyCMeans(3, fuzzifier=1.0), ValueError, ["fuzzifier=1.0", "larger than 1"]),
    ],
    ids=lambda value: str(value)[:50],
)
def test_parts(model: BaseEstimator, error: type[Exception], words: list[str]) -> None:
    fails(model, X, *words, error=error)


# Initial centers.

NEEDED = "(n_clusters, n_features) = (3, 3)"


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize(
    ("made", "words"),
    [
        (X[:2], ["has shape (2, 3)", NEEDED]),
        (X[:3, :2], ["has shape (3, 2)", NEEDED]),
        (X[0], ["has shape (3,)", NEEDED]),
        (X[None, :3], ["has shape (1, 3, 3)", NEEDED]),
        ([], ["has shape (0,)", NEEDED]),
        (None, ["is None", NEEDED]),
        (3, ["is 3", NEEDED]),
        ([["a", "b", "c"]] * 3, ["not an array of numbers", "'a'", NEEDED]),
        ({"a": 1}, ["not an array of numbers", NEEDED]),
        ([[1.0], [1.0, 2.0], [1.0]], ["not an array of numbers", NEEDED]),
        (np.full((3, 3), np.nan), ["contains nan at row 0, column 0", "finite"]),
        (np.diag([1.0, 1.0, np.inf]), ["contains inf at row 2, column 2", "finite"]),
        (X[:3] * 1j, ["complex", NEEDED]),
        (X[:3] * 1e200, ["overflow float64"]),
    ],
    ids=lambda value: re.sub(r"\s+", " ", str(value))[:25],
)
def test_initial_centers(made: Any, words: list[str], called: bool) -> None:
    def init(X: Any, n_clusters: int, random_state: Any) -> Any:
        return made

    for fuzzifier in ("auto", 1.5):  # With and without a pilot fit.
        model = REFCMFS(3, fuzzifier=fuzzifier, init=init if called else made)
        fails(model, X, "init(X, ...)" if called else "init", *words)


def test_a_callable_that_returns_a_name() -> None:
    fails(REFCMFS(3, init=lambda *_, **__: "random"), X, "init(X, ...) is 'random'", NEEDED)


def test_a_callable_that_raises() -> None:
    def init(X: Any, n_clusters: int, random_state: Any) -> Any:
        raise RuntimeError("no idea")

    fails(REFCMFS(3, init=init), X, "no idea", error=RuntimeError)


def test_a_callable_with_another_signature() -> None:
    fails(REFCMFS(3, init=lambda X: X[:3]), X, "random_state", error=TypeError)


def test_centers_in_single_precision() -> None:
    fails(REFCMFS(3, init=X[:3] * 1e30), X.astype(np.float32), "init", "overflow float32")
