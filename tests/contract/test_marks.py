"""mark_outliers as a parameter, probabilities_, and explanations of outliers."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sfumato import REFCMFS, CappedREFCMFS, FuzzyClustering, stream
from tests.catalogue import blobs, whatever_results
from tests.contract.estimators import every_estimator

pytestmark = whatever_results
FAR = np.array([[40.0, 0, 0], [0, 0, -70.0], [30.0, 30, 30]])
X = np.concatenate([blobs(120), FAR])


@every_estimator
def test_outliers_are_marked_everywhere_or_nowhere(estimator):
    plain = clone(estimator).fit(X)
    marked = clone(estimator).set_params(mark_outliers=True)
    expected = np.where(plain.outliers_, -1, plain.labels_)
    assert_array_equal(marked.fit_predict(X), expected)
    assert_array_equal(marked.labels_, expected)
    assert marked.labels_.dtype == plain.labels_.dtype
    assert_array_equal(marked.predict(X), expected)
    assert_array_equal(marked.predict(X, mark_outliers=False), plain.labels_)
    assert_array_equal(plain.predict(X, mark_outliers=True), expected)
    assert_array_equal(marked.fit_predict(X, mark_outliers=False), plain.labels_)
    assert_array_equal(plain.fit_predict(X, mark_outliers=True), expected)


@every_estimator
def test_probabilities_are_the_largest_memberships_and_zero_for_outliers(estimator):
    model = clone(estimator).fit(X)
    largest = model.predict_proba(X).max(axis=1)
    assert_array_equal(model.probabilities_, np.where(model.outliers_, 0, largest))
    assert model.probabilities_.shape == (len(X),)


@pytest.mark.parametrize("loss", ["l21", "capped"])
def test_rows_in_chunks_are_marked_as_in_memory(loss):
    options = {"loss": loss, "init": X[[0, 40, 80, 100]], "mark_outliers": True}
    here = FuzzyClustering(4, **options).fit(X)
    assert (here.labels_ == -1).any()
    with dask.config.set(scheduler="sync"):
        for rows in (stream(X, chunk_rows=50), da.from_array(X, chunks=(50, -1))):
            there = FuzzyClustering(4, **options).fit(rows)
            assert_array_equal(there.labels_.compute(), here.labels_)
            assert_allclose(there.probabilities_.compute(), here.probabilities_, rtol=1e-9)


@pytest.mark.parametrize("given", ["yes", 2, None])
def test_what_is_neither_true_nor_false_is_refused(given):
    with pytest.raises(TypeError, match="mark_outliers"):
        REFCMFS(2, mark_outliers=given).fit(X)


def test_an_explanation_by_hand():
    centers = np.array([[0.0, 0, 0], [10, 10, 10]])
    rows = np.concatenate([centers[[0]] + blobs(50, 3, 1), centers[[1]] + blobs(50, 3, 1)])
    model = CappedREFCMFS(2, random_state=0).fit(rows)
    model.cluster_centers_ = centers
    found = model.explain_outlier([13.0, 10.0, 6.0])
    assert found.cluster == 1
    assert found.features == (2, 0, 1)
    assert_allclose(found.contributions, [16 / 25, 9 / 25, 0])
    assert_allclose(found.values, [6, 13, 10])
    assert_allclose(found.expected, [10, 10, 10])
    assert found.score == model.score_outliers([[13.0, 10.0, 6.0]])[0]
    assert "feature 2: 6; the center has 10" in repr(found)
    assert_array_equal(model.explain_outlier(centers[0]).contributions, 0)


def test_explanations_of_several_rows_of_any_kind():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = CappedREFCMFS(4, random_state=0).fit(frame)
    found = model.explain_outlier(frame.iloc[-3:])
    assert [each.features[0] for each in found][:2] == ["a", "c"]
    assert all(each.score > 1 for each in found)
    assert model.explain_outlier(frame.iloc[-2]).features == found[1].features
    plain = CappedREFCMFS(4, random_state=0).fit(X)
    for rows in (X[-3:], X[-3:].tolist(), sp.csr_array(X[-3:])):
        assert [each.features[0] for each in plain.explain_outlier(rows)][:2] == [0, 2]
    with pytest.raises(TypeError, match="stream"):
        plain.explain_outlier(stream(X))
    with pytest.raises(ValueError, match="features"):
        plain.explain_outlier([1.0, 2.0])
