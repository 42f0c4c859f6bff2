"""Orders and draws of rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sfumato._sampling import ranking
from tests.catalogue import every_dtype


@every_dtype
@pytest.mark.parametrize("different", [1, 7, 10**6], ids=["equal", "ties", "none equal"])
def test_equal_keys_stay_in_their_order(dtype, different):
    keys = np.random.default_rng(0).integers(different, size=5000).astype(dtype)
    found = ranking(keys)
    assert found.dtype == np.uint32
    assert_array_equal(found, np.argsort(keys, kind="stable"))
