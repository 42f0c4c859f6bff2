"""Estimators that find the number of clusters: ``n_clusters="auto"``."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import sfumato
from sfumato import REFCMFS, CappedREFCMFS, Power
from sfumato.datasets import make_blobs_with_outliers
from sfumato.exceptions import ParameterError
from tests.contract.estimators import every_estimator
from tests.contract.test_check_estimator import FOUR_COLUMNS


@pytest.fixture(scope="module")
def blobs() -> np.ndarray:
    return make_blobs_with_outliers(400, 2, n_clusters=5, contamination=0, random_state=3).data


@every_estimator
def test_it_is_the_fit_with_the_number_that_was_found(
    estimator: BaseEstimator, blobs: np.ndarray
) -> None:
    found = clone(estimator).set_params(n_clusters="auto").fit(blobs)
    assert found.n_clusters_ == found.selection_.n_clusters == 5
    given = clone(estimator).set_params(n_clusters=5).fit(blobs)
    assert_array_equal(found.cluster_centers_, given.cluster_centers_)
    assert given.selection_ is None
    assert given.n_clusters_ == 5


@every_estimator
def test_copies_keep_it(estimator: BaseEstimator, blobs: np.ndarray) -> None:
    model = clone(estimator).set_params(n_clusters="auto").fit(blobs)
    assert clone(model).n_clusters == "auto"
    again = pickle.loads(pickle.dumps(model))
    assert str(again.selection_) == str(model.selection_)
    assert_array_equal(again.predict(blobs), model.labels_)


def test_a_stream_and_dask(blobs: np.ndarray) -> None:
    da = pytest.importorskip("dask.array")
    for rows in (sfumato.stream(blobs, chunk_rows=90), da.from_array(blobs, chunks=(90, 2))):
        model = CappedREFCMFS("auto", random_state=0).fit(rows)
        assert model.n_clusters_ == 5
        assert len(model.cluster_centers_) == 5


class Observer:
    """Counts the passes over a stream."""

    def __init__(self) -> None:
        self.passes = 0

    def begin(self, description: str, n_rows: int | None) -> None:
        self.passes += 1

    def advance(self, rows: int) -> None: ...

    def end(self, rows: int) -> None: ...

    def found(self, result: object) -> None: ...


def test_a_stream_is_read_at_most_three_times_more(blobs: np.ndarray) -> None:
    passes = []
    for number in (5, "auto"):
        rows = sfumato.stream(blobs, chunk_rows=90)
        rows.observer = Observer()
        CappedREFCMFS(number, random_state=0).fit(rows)
        passes.append(rows.observer.passes)
    assert 0 < passes[0] <= passes[1] <= passes[0] + 3


def test_dask_is_read_at_most_three_times_more(
    blobs: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    da = pytest.importorskip("dask.array")
    dask_engine = pytest.importorskip("sfumato._engines.dask")
    plain, passes = dask_engine.DaskRunner.reduce, [0, 0]
    for place, number in enumerate((5, "auto")):

        def counted(self: object, function: object, place: int = place) -> object:
            passes[place] += 1
            return plain(self, function)

        monkeypatch.setattr(dask_engine.DaskRunner, "reduce", counted)
        CappedREFCMFS(number, random_state=0).fit(da.from_array(blobs, chunks=(90, 2)))
    assert 0 < passes[0] <= passes[1] <= passes[0] + 3


@pytest.mark.parametrize("X", [[[1.0, 2.0]] * 9, [[3.0]]], ids=["equal rows", "one row"])
def test_equal_rows_are_one_cluster(X: list[list[float]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CappedREFCMFS("auto", random_state=0).fit(X)
    assert model.n_clusters_ == 1


@pytest.mark.parametrize("X", [np.empty((0, 2)), [[np.nan, 1.0]], [[np.inf], [1.0]]])
def test_bad_rows_are_an_error(X: object) -> None:
    with pytest.raises(ValueError, match=r"X|row|NaN|inf"):
        CappedREFCMFS("auto").fit(X)


def test_partial_fit_finds_it_in_the_first_batch(blobs: np.ndarray) -> None:
    model = REFCMFS("auto", random_state=0)
    for _ in range(2):
        model.partial_fit(blobs)
    assert model.n_clusters_ == 5
    assert model.n_batches_ == 2


def test_a_checkpoint_is_resumed(blobs: np.ndarray, tmp_path: Path) -> None:
    model = CappedREFCMFS("auto", random_state=0, checkpoint=tmp_path / "fit")
    first = clone(model).fit(blobs)
    second = clone(model).fit(blobs)
    assert_array_equal(first.cluster_centers_, second.cluster_centers_)


def test_a_larger_n_active_is_lowered() -> None:
    one = np.random.RandomState(0).normal(size=(200, 2))
    model = REFCMFS("auto", n_active=3, random_state=0).fit(one)
    assert (model.n_clusters_, model.n_active_) == (1, 1)
    part = Power(3)
    model = sfumato.FuzzyClustering("auto", membership=part, random_state=0).fit(one)
    assert (model.n_active_, part.n_active) == (1, 3)


def test_given_centers_have_their_number(blobs: np.ndarray) -> None:
    with pytest.raises(ParameterError, match="n_clusters='auto'") as caught:
        REFCMFS("auto", init=blobs[:3]).fit(blobs)
    assert caught.value.name == "init"


@pytest.mark.parametrize("number", ["many", 0, 2.5, None])
def test_other_words_are_refused(number: object, blobs: np.ndarray) -> None:
    with pytest.raises((TypeError, ValueError), match=r"n_clusters=.*'auto'"):
        REFCMFS(number).fit(blobs)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array])
def test_sparse_rows_are_like_dense_ones(
    blobs: np.ndarray, container: Callable[..., object]
) -> None:
    X = np.where(np.abs(blobs) < 1, 0, blobs)
    dense, sparse = (REFCMFS("auto", random_state=0).fit(rows) for rows in (X, container(X)))
    assert dense.n_clusters_ == sparse.n_clusters_ == 5
    assert_array_equal(dense.labels_, sparse.labels_)


@parametrize_with_checks(
    [CappedREFCMFS("auto", random_state=0)], expected_failed_checks=lambda _: FOUR_COLUMNS
)
def test_scikit_learn(estimator: BaseEstimator, check: object) -> None:
    check(estimator)  # type: ignore[operator]
