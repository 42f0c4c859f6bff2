"""A stream: rows that are read chunk by chunk, as often as needed, ahead of their use.

A source is read again for every pass, so what holds for the first pass must hold for all of them:
the base class compares each pass with the first complete one, and sources that are files compare
each file with what it was when the stream was made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.exceptions import StreamError
from sfumato.streams._ahead import read_ahead

CHUNK_BYTES = 1 << 25
"""Size of a chunk unless the caller says otherwise: 32 MiB, on every machine, since the last bits
of results depend on where the chunks begin."""

AHEAD = 1
"""Chunks that wait for the consumer; one more is being read meanwhile."""

RING = AHEAD + 2
"""Buffers that a source needs to use them in turn: one at the consumer, ``AHEAD`` waiting, one
being filled."""


class Location(NamedTuple):
    """Where a chunk comes from, for messages.

    Attributes
    ----------
    source : str
        Path of a file, or a description such as "chunk 17 of the iterable".
    first_row : int
        Number of the chunk's first row within that source, counting from 0.
    """

    source: str
    first_row: int


class Chunk(NamedTuple):
    """Consecutive rows of a stream.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_features)
        Real numbers (bool, int, uint, float32 or float64), at least one row. They may lie in a
        buffer that is used again: see ``Stream.chunks``.
    weights : ndarray of shape (n_rows,) or None
        Finite, nonnegative float64 weights.
    location : Location
        Where they come from.
    ids : sequence or None
        What identifies each row, where that was asked for: an Arrow array, or an ndarray.
    """

    rows: Any
    weights: NDArray[np.float64] | None
    location: Location
    ids: Any = None


class PassObserver(Protocol):
    """Who is told of passes over a stream."""

    def begin(self, what: str, n_rows: int | None) -> object:
        """A pass begins: what it is for, and how many rows there are, if that is known."""

    def advance(self, rows: int) -> object:
        """So many rows of the pass are done by now."""

    def end(self, rows: int) -> object:
        """The pass is complete: so many rows were in it."""

    def found(self, result: Any) -> object:
        """What a pass yielded, if anything was made of all its rows, right after its end."""


class Stream(ABC):
    """Rows that are read chunk by chunk, as often as needed.

    Attributes
    ----------
    names : tuple of str or None
        Names of the features, where the source has them.
    n_features : int
        Number of features.
    n_rows : int or None
        Number of rows; None if that takes a pass to find out, and none was completed.
    weighted : bool
        Whether the chunks carry weights.
    source : str
        Short description, for messages and progress bars.
    dtype : dtype
        Type of the rows of the first chunk. Chunks of an iterable may differ in it.
    is_sparse : bool
        Whether the chunks are CSR arrays.
    observer : PassObserver or None
        Who is told of passes by those that make them, such as a progress bar; None at first.
    """

    names: tuple[str, ...] | None = None
    n_features: int
    n_rows: int | None = None
    weighted: bool = False
    source: str
    dtype: np.dtype[Any]
    is_sparse: bool = False
    observer: PassObserver | None = None
    _sizes: array[int] | None = None

    def chunks(self) -> Generator[Chunk, None, None]:
        """One pass over the rows, from the first to the last.

        A thread reads the next chunks while the consumer works on the present one; it ends with
        the pass, also if the consumer leaves early.

        A chunk is valid until the next one is asked for: its memory may then be used again. Copy
        what you want to keep.

        Yields
        ------
        Chunk
            The same ones in every pass.

        Raises
        ------
        StreamError
            If the data is not as it should be, or not as it was in the first pass.
        """
        self._check_unchanged()
        sizes = array("q")
        with closing(read_ahead(self._read, AHEAD)) as chunks:
            for chunk in chunks:
                self._check_size(len(sizes), chunk)
                sizes.append(chunk.rows.shape[0])
                yield chunk
                del chunk  # Its memory is free while the next one is waited for.
        self._check_unchanged()
        self._check_count(len(sizes))
        if self._sizes is None:
            self._sizes = sizes
            self.n_rows = sum(sizes)

    def describe(self, location: Location, row: int, column: int | None = None) -> str:
        """Words for an entry of a chunk: the file, the row within it, and the column.

        Parameters
        ----------
        location : Location
            The chunk's.
        row : int
            Number of the row within the chunk, counting from 0.
        column : int, optional
            Number of the feature, counting from 0.
        """
        where = f"{location.source}, row {location.first_row + row} (counting from 0)"
        return where if column is None else f"{where}, {self._column(column)}"

    @abstractmethod
    def _read(self) -> Iterator[Chunk]:
        """Chunks of one pass, without empty ones; runs in a thread."""

    def _column(self, column: int) -> str:
        if self.names is None:
            return f"column {column}"
        return f"column {self.names[column]!r}"

    def _check_unchanged(self) -> None:  # noqa: B027 - most sources cannot tell
        """Raise StreamError if the source is known to differ from what it was at first."""

    def _check_size(self, index: int, chunk: Chunk) -> None:
        if self._sizes is None:
            return
        if index >= len(self._sizes):
            raise StreamError(
                f"{self.source} had {len(self._sizes)} chunks in the first pass, but has more in "
                f"a later one ({chunk.location.source}); it must give the same rows every time."
            )
        size = chunk.rows.shape[0]
        if size != self._sizes[index]:
            raise StreamError(
                f"{chunk.location.source} had {self._sizes[index]} rows in the first pass, but "
                f"{size} in a later one; {self.source} must give the same rows every time."
            )

    def _check_count(self, count: int) -> None:
        if self._sizes is not None and count < len(self._sizes):
            raise StreamError(
                f"{self.source} had {len(self._sizes)} chunks in the first pass, but ended after "
                f"{count} in a later one; it must give the same rows every time."
            )


def default_rows(row_bytes: float) -> int:
    """Rows of a chunk of about ``CHUNK_BYTES``."""
    return max(1, int(CHUNK_BYTES // max(1.0, row_bytes)))
