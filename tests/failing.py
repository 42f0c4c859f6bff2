"""Good rows, and an assertion that a fit fails as it should."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from tests.catalogue import blobs

X = blobs(40, 3, 3)


def rows(**changes: Any) -> np.ndarray:
    """Good rows with one value replaced: ``rows(at=(7, 1), value=np.nan)``."""
    changed = X.copy()
    changed[changes["at"]] = changes["value"]
    return changed


def frame(**columns: Any) -> pd.DataFrame:
    """Good rows as a frame, with further columns."""
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(**columns)


def fails(
    model: BaseEstimator,
    given: Any,
    *words: str,
    error: type[Exception] | tuple[type[Exception], ...] = ValueError,
    **options: Any,
) -> None:
    """Assert that fit raises this error, that all words are in it, and that nothing is left."""
    before = dict(vars(model))
    with pytest.raises(error) as caught:
        model.fit(given, **options)
    for word in words:
        assert word in str(caught.value)
    assert vars(model) == before
