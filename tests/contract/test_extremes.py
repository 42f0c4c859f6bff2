"""Values and weights at the ends of the range, each of which once ended in an overflow."""

import numpy as np
import pytest

from sfumato import REFCMFS, RSFKM
from tests.catalogue import whatever_results

pytestmark = whatever_results
LINE = np.array([[2.43698045], [3.55505179], [3.47483012], [3.40439023], [3.00235593], [7.94]])


def test_heavy_rows_far_away_are_refused():
    X = np.array([[5.9e149], [1.5e150]])
    with pytest.raises(ValueError, match=r"sample_weight counts its rows .* overflow float64"):
        REFCMFS(1).fit(X, sample_weight=[1.9e120, 8.8e119])


def test_heavy_rows_are_fitted():
    X = 1e6 * LINE
    expected = REFCMFS(2, random_state=0).fit(X).cluster_centers_
    found = REFCMFS(2, random_state=0).fit(X, sample_weight=np.full(6, 2.0**390))
    np.testing.assert_allclose(found.cluster_centers_, expected)


def test_equal_rows_whose_sum_overflows_are_refused():
    with pytest.raises(ValueError, match="sums over its rows overflow float64"):
        REFCMFS(1).fit(np.full((6, 1), 3.4e307))


def test_forces_that_are_nearly_zero():
    model = REFCMFS(3, fuzzifier=1.001, max_iter=1, random_state=0, tol=0.0).fit(LINE)
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize("scale", [1e150, 1e-140])
def test_steps_of_any_size(scale):
    model = RSFKM(1, max_iter=3, random_state=0, tol=0.0).fit(scale * LINE)
    assert np.isfinite(model.cluster_centers_).all()


def test_a_batch_beyond_the_precision_of_the_centers_is_refused():
    model = REFCMFS(2, random_state=0).partial_fit(LINE.astype(np.float32))
    before = model.cluster_centers_.copy()
    with pytest.raises(ValueError, match="squared distances overflow float32"):
        model.partial_fit([[6.7e150]])
    np.testing.assert_array_equal(model.cluster_centers_, before)


def test_log_likelihoods_of_rows_far_away():
    model = REFCMFS(1, random_state=0).fit(LINE)
    assert not np.isnan(model.score_samples([[6e149], [-6e149]])).any()
