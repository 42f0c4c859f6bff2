"""Columns become rows: by the compiled core where types allow it, else by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sfumato.streams._rows import transpose_columns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 1, 7, 8, 9, 64, 1003])
def test_columns_become_rows(n_rows: int, dtype: Any) -> None:
    for n_columns in (1, 2, 3, 4, 7, 8, 9, 16, 17, 33):
        X = np.random.default_rng(n_columns).normal(size=(n_rows, n_columns)).astype(dtype)
        columns = [np.ascontiguousarray(column) for column in X.T]
        for column in columns:  # As those of Arrow are.
            column.setflags(write=False)
        out = np.full_like(X, 77)
        transpose_columns(columns, out)
        assert_array_equal(out, X)


def test_columns_of_other_types_and_strides() -> None:
    X = np.arange(60.0).reshape(20, 3)
    out = np.empty_like(X)
    transpose_columns([X[:, 0].astype(np.int32), X[:, 1], X[:, 2].astype(np.float32)], out)
    assert_array_equal(out, X)


def test_numbers_beside_the_rows_stay() -> None:
    wide = np.full((22, 3), 77.0)
    X = np.arange(60.0).reshape(20, 3)
    transpose_columns([np.ascontiguousarray(column) for column in X.T], wide[1:-1])
    assert_array_equal(wide[1:-1], X)
    assert (wide[[0, -1]] == 77).all()
