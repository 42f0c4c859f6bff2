"""ClusterOutlierDetector: scikit-learn's contract, thresholds, batches, and data in chunks."""

from __future__ import annotations

import pickle

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

import sfumato
from sfumato import ClusterOutlierDetector, stream
from sfumato.datasets import make_blobs_with_outliers
from sfumato.exceptions import ParameterError
from tests.catalogue import blobs, every_dtype, every_engine, row_weights, whatever_results

pytestmark = whatever_results
FAR = np.array([[40.0, 0, 0], [0, 0, -70.0], [30.0, 30, 30]])
X = np.concatenate([blobs(300), FAR])


def fitted(rows=X, weights=None, **options):
    return ClusterOutlierDetector(3, random_state=0, **options).fit(rows, sample_weight=weights)


@every_engine
@every_dtype
def test_marks_decisions_and_scores_agree(engine_name, dtype):
    rows = X.astype(dtype)
    detector = fitted(rows, engine=engine_name)
    scores, decisions = detector.score_samples(rows), detector.decision_function(rows)
    assert scores.dtype == dtype
    assert scores.max() <= -1
    assert_allclose(decisions, scores - detector.offset_, rtol=1e-5, atol=1e-6)
    assert_array_equal(detector.predict(rows), np.where(decisions < 0, -1, 1))
    assert_array_equal(detector.fit_predict(rows), detector.predict(rows))
    assert set(np.argsort(scores)[:3]) == {300, 301, 302}
    assert (detector.predict(FAR.astype(dtype)) == -1).all()


@pytest.mark.parametrize("share", [0.01, 0.1, 1 / 3, 0.5])
def test_contamination_is_the_share_of_marked_rows(share):
    detector = fitted(contamination=share)
    assert (detector.predict(X) == -1).sum() == int(share * len(X) + 1e-9)
    assert detector.contamination_ == share


@pytest.mark.parametrize("n_features", [2, 10, 50])
def test_about_a_hundredth_of_clean_rows_are_marked(n_features):
    rows = np.random.default_rng(0).normal(size=(6000, n_features))
    rows[3000:] += 40
    detector = ClusterOutlierDetector(2, random_state=0).fit(rows)
    assert 0.005 <= (detector.predict(rows) == -1).mean() <= 0.02
    assert detector.contamination_ == pytest.approx((detector.predict(rows) == -1).mean(), abs=1e-3)


@pytest.mark.parametrize("n_features", [2, 10])
@pytest.mark.parametrize("ratio", [1.0, 5.0])
def test_far_rows_are_marked_though_they_have_centers(n_features, ratio):
    """Clusters of outliers are wide, and their rows within a radius of their own."""
    sample = make_blobs_with_outliers(
        2000, n_features, n_clusters=4, contamination=0.1, width_ratio=ratio, random_state=0
    )
    marked = ClusterOutlierDetector(random_state=0).fit_predict(sample.data) == -1
    assert marked[sample.target < 0].mean() >= 0.8
    assert marked[sample.target >= 0].mean() <= 0.03


def test_a_small_dense_group_is_rare():
    """Its radius is its own, so that distances over radii would not see it."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(950, 5)), 15 + 0.3 * rng.normal(size=(50, 5))])
    detector = ClusterOutlierDetector(4, random_state=0).fit(rows)
    assert (
        len(set(detector.clustering_.labels_[950:]) & set(detector.clustering_.labels_[:950])) == 0
    )
    assert not detector.clustering_.outliers_[950:].all()
    assert roc_auc_score(np.arange(1000) >= 950, -detector.score_samples(rows)) > 0.7


def test_weights_are_copies():
    weights = np.random.default_rng(0).integers(0, 4, size=len(X)).astype(float)
    copies = np.repeat(X, weights.astype(int), axis=0)
    options = {"contamination": 0.1, "init": X[:3]}
    weighted, copied = fitted(weights=weights, **options), fitted(copies, **options)
    assert_allclose(weighted.offset_, copied.offset_, rtol=1e-6)
    assert_allclose(weighted.score_samples(X), copied.score_samples(X), rtol=1e-6)


@pytest.mark.parametrize("contamination", ["auto", 0.05])
def test_chunks_are_detected_as_in_memory(contamination):
    options = {"contamination": contamination, "init": X[[0, 100, 200]]}
    here, weights = fitted(weights=row_weights(len(X)), **options), row_weights(len(X))
    rows = da.from_array(X, chunks=(100, -1))
    with dask.config.set(scheduler="sync"):
        for place, given in ((stream(X, chunk_rows=100), weights), (rows, weights)):
            there = fitted(place, weights=given, **options)
            assert_allclose(there.offset_, here.offset_, rtol=1e-9)
            assert_array_equal(there.predict(place).compute(), here.predict(X))
            assert_allclose(there.score_samples(place).compute(), here.score_samples(X), rtol=1e-9)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix])
def test_sparse_rows(kind):
    options = {"init": X[[0, 100, 200]]}
    dense, sparse = fitted(**options), fitted(kind(X), **options)
    assert_array_equal(sparse.predict(kind(X)), dense.predict(X))


def test_batches_go_on_and_a_failure_changes_nothing():
    detector = ClusterOutlierDetector(3, random_state=0)
    for begin in (0, 100, 200):
        detector.partial_fit(X[begin : begin + 100])
    assert detector.clustering_.n_samples_seen_ == 300
    assert (detector.predict(FAR) == -1).all()
    before = pickle.dumps(detector.score_samples(X))
    with pytest.raises(ValueError, match="NaN"):
        detector.partial_fit(np.full((5, 3), np.nan))
    with pytest.raises(ValueError, match="NaN"):
        detector.fit(np.full((50, 3), np.nan))
    assert pickle.dumps(detector.score_samples(X)) == before


@pytest.mark.parametrize("given", [0, -0.1, 0.6, "some", None, True])
def test_what_is_no_share_is_refused(given):
    with pytest.raises(ParameterError, match="contamination"):
        fitted(contamination=given)


def test_a_saved_detector_is_the_same(tmp_path):
    detector = fitted(pd.DataFrame(X, columns=["a", "b", "c"]), contamination=0.1)
    sfumato.save(detector, tmp_path / "d")
    loaded = sfumato.load(tmp_path / "d")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert_array_equal(loaded.score_samples(frame), detector.score_samples(frame))
    assert_array_equal(loaded.predict(frame), detector.predict(frame))
    assert loaded.get_params() == detector.get_params()
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    assert loaded.explain_outlier(frame.iloc[300]).features[0] == "a"


def test_explanations_agree_with_marks():
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    detector = fitted(contamination=0.1)
    marks, scores = detector.predict(X), detector.score_samples(X)
    explained = detector.explain_outlier(X)
    assert_array_equal([each.score > 1 for each in explained], marks == -1)
    assert_allclose([each.score for each in explained], scores / detector.offset_)
    assert detector.explain_outlier(X[0]).score == pytest.approx(explained[0].score)
    named = ClusterOutlierDetector(random_state=0).fit(frame)
    expected = named.score_samples(frame.iloc[:1])[0] / named.offset_
    assert named.explain_outlier(frame.iloc[0]).score == pytest.approx(expected)
