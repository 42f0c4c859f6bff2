"""Some columns of a stream without names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.streams._base import Chunk, Stream


class ChosenColumns(Stream):
    """Columns of a dense stream, by their numbers, under names.

    Parameters
    ----------
    inner : Stream
        All columns.
    columns : sequence of int
        Which of them are features, in this order.
    names : sequence of str
        What they are called.
    ids : int, optional
        Column that identifies the rows.
    """

    def __init__(
        self, inner: Stream, columns: Sequence[int], names: Sequence[str], ids: int | None = None
    ) -> None:
        self._inner, self._columns, self._ids = inner, list(columns), ids
        self.source, self.dtype = inner.source, inner.dtype
        self.names, self.n_features = tuple(names), len(self._columns)
        self.n_rows = inner.n_rows

    def _read(self) -> Iterator[Chunk]:
        for chunk in self._inner._read():
            ids = None if self._ids is None else chunk.rows[:, self._ids].copy()
            yield Chunk(np.take(chunk.rows, self._columns, axis=1), None, chunk.location, ids)

    def _check_unchanged(self) -> None:
        self._inner._check_unchanged()
