"""What the tests of the contract share."""

from __future__ import annotations

import numpy as np
import pytest

from tests.catalogue import blobs


@pytest.fixture(name="X")
def fixed_sample() -> np.ndarray:
    """Rows of four clusters."""
    return blobs(80, 3, 4)
