"""Columns into rows: C order from one array per column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._native import core
from sfumato.streams._base import RING

TURNED_BYTES = 1 << 18
"""Size of the block of rows that is written column by column. It must stay in the cache until all
columns are in; with 131,072 rows of 32 doubles, blocks of 512 to 8,192 rows took 0.4 of the time of
one block."""

CACHE_LINE = 64
"""Bytes; loads of vectors that straddle two lines are slower."""


def fill_rows(columns: Sequence[NDArray[Any]], out: NDArray[Any]) -> None:
    """Write each column into its place in the rows of a C-ordered array."""
    alike = all(column.dtype == out.dtype and column.flags.c_contiguous for column in columns)
    if alike and out.dtype in (np.float32, np.float64) and out.flags.c_contiguous:
        getattr(core, f"turn_{out.dtype.name}")(list(columns), out)
        return
    step = max(16, TURNED_BYTES // max(1, out.itemsize * out.shape[1]))
    for start in range(0, out.shape[0], step):
        block = out[start : start + step]
        for column, values in enumerate(columns):
            block[:, column] = values[start : start + step]


class BufferRing:
    """Buffers of equal size that are used in turn, so that a pass does not ask for new memory.

    There are as many as can be in use at a time, see ``Stream.chunks``. They are made when they are
    first needed, and as large as the largest chunk so far.
    """

    def __init__(self) -> None:
        self._buffers: list[NDArray[np.uint8]] = [np.empty(0, np.uint8) for _ in range(RING)]
        self._turn = 0

    def rows(self, n_rows: int, n_features: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The next buffer, as rows of this type; what they hold is left over."""
        size = n_rows * n_features * dtype.itemsize
        self._turn = (self._turn + 1) % len(self._buffers)
        if self._buffers[self._turn].size < size:
            spare = np.empty(size + CACHE_LINE, np.uint8)
            skip = -spare.ctypes.data % CACHE_LINE
            self._buffers[self._turn] = spare[skip : skip + size]
        found = self._buffers[self._turn][:size].view(dtype)
        return found.reshape(n_rows, n_features)
