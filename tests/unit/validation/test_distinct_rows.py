"""Fewer distinct rows than clusters: each of them is a cluster, and a warning says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from sfumato import REFCMFS, stream
from sfumato.exceptions import FewRowsWarning
from tests.contract.estimators import every_estimator
from tests.failing import X

FEW = "only {} distinct rows? of positive weight, fewer than n_clusters={},.*use `n_clusters` <= {}"


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pd.DataFrame])
def test_too_few_distinct_rows(container: Callable[..., Any]) -> None:
    few = np.tile(X[:4], (50, 1))
    with pytest.warns(ConvergenceWarning, match=FEW.format(4, 6, 4)) as caught:
        model = REFCMFS(6, random_state=0).fit(container(few))
    assert caught[0].filename == __file__
    assert model.objective_ == pytest.approx(0, abs=1e-12)
    assert_one_cluster_per_row(model, container(few))
    assert REFCMFS(4, random_state=0).fit(container(few)).objective_ == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="only 4 distinct rows"):
        REFCMFS(6, random_state=0).partial_fit(container(few))


@pytest.mark.parametrize("distinct", [1, 3])
@pytest.mark.parametrize("n_features", [1, 3, 200])
@pytest.mark.parametrize("place", ["memory", "stream", "dask"])
@every_estimator
def test_every_estimator_fits_the_rows_that_are_distinct(
    estimator: BaseEstimator, place: str, n_features: int, distinct: int
) -> None:
    """Also wide data, which is projected, and parameters that are found from the data."""
    rows = np.random.default_rng(0).normal(size=(distinct, n_features))
    rows = np.tile(rows, (30 // distinct, 1))
    given = rows
    if place == "stream":
        given = stream(rows, chunk_rows=8)
    elif place == "dask":
        given = da.from_array(rows, chunks=(8, -1))
    with pytest.warns(ConvergenceWarning, match=FEW.format(distinct, 4, distinct)) as caught:
        model = clone(estimator).set_params(max_iter=1000).fit(given)
    assert [each.category for each in caught] == [FewRowsWarning]
    assert [each.category for each in model.outcome_.warnings] == [FewRowsWarning]
    assert_one_cluster_per_row(model, rows)


def assert_one_cluster_per_row(model: Any, rows: Any) -> None:
    """Finite results, as many labels as distinct rows, and no outliers."""
    count = len(np.unique(rows.toarray() if sp.issparse(rows) else np.asarray(rows), axis=0))
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.objective_)
    assert len(np.unique(model.predict(rows))) == count
    assert_allclose(model.predict_proba(rows).sum(axis=1), 1, rtol=1e-9)
    scores = model.score_outliers(rows)
    assert np.isfinite(scores).all()
    assert (scores <= 1).all()


def test_rows_are_distinct_by_value() -> None:
    zeros = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 1.0]])
    with pytest.warns(ConvergenceWarning, match=FEW.format(1, 2, 1)):
        REFCMFS(2).fit(zeros)


def test_rows_of_no_weight_do_not_count() -> None:
    weights = np.zeros(len(X))
    weights[[3, 8]] = 1
    with pytest.warns(ConvergenceWarning, match=FEW.format(2, 3, 2)):
        model = REFCMFS(3, random_state=0).fit(X, sample_weight=weights)
    assert model.objective_ == 0
