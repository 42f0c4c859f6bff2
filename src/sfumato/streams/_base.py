"""Base classes of streams: rows that are read chunk by chunk, once per pass.

Every pass must give the same rows. ``Stream`` compares the chunks of each pass with those of the
first complete one; ``FileStream`` compares file signatures (size, time of change, inode).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from sfumato._data import Chunk as Chunk
from sfumato._data import Location as Location
from sfumato.exceptions import StreamError, one_line
from sfumato.streams._prefetch import read_ahead
from sfumato.streams._rows import AHEAD, BufferRing, RowStack

CHUNK_BYTES = 1 << 25
"""Default size of a chunk in bytes, 32 MiB, chosen by hand. It does not depend on the machine,
since the last bits of results depend on where chunks begin."""


class PassObserver(Protocol):
    """Callbacks of passes over a stream, for example of a progress bar."""

    def begin(self, what: str, n_rows: int | None) -> object:
        """Called when a pass begins, with its purpose and the number of rows, if known."""

    def advance(self, rows: int) -> object:
        """Called after a chunk, with the number of rows read so far in this pass."""

    def end(self, rows: int) -> object:
        """Called when a pass is complete, with its number of rows."""

    def found(self, result: Any) -> object:
        """Called after a pass that reduces all rows, with the result."""


class Stream(ABC):
    """Rows that are read chunk by chunk, as often as needed.

    Attributes
    ----------
    names : tuple of str or None
        Names of the features, where the source has them.
    n_features : int
        Number of features.
    n_rows : int or None
        Number of rows; None if only a pass can count them and none was completed.
    weighted : bool
        Whether the chunks carry weights.
    source : str
        Short description, for messages and progress bars.
    dtype : dtype
        Type of the rows of the first chunk. Chunks of an iterable may differ in it.
    is_sparse : bool
        Whether the chunks are CSR arrays.
    observer : PassObserver or None
        Callbacks of passes, such as a progress bar; None at first.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import Stream, stream
    >>> rows = stream(np.zeros((5, 2)), chunk_rows=2)
    >>> isinstance(rows, Stream), [len(chunk.rows) for chunk in rows.chunks()]
    (True, [2, 2, 1])
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

        A thread prefetches the next chunks while the consumer works on the present one. It ends
        with the pass, also if the generator is closed early.

        A chunk is valid until the next one is requested: its memory may then be reused. Copy what
        you want to keep.

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
                yield chunk._replace(number=len(sizes) - 1)
                del chunk  # Frees its memory before the next one is waited for.
        self._check_unchanged()
        self._check_count(len(sizes))
        if self._sizes is None:
            self._sizes = sizes
            self.n_rows = sum(sizes)

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in a chunk, on average, with what is held while it is read."""
        return self.dtype.itemsize * self.n_features

    def collect(self) -> Chunk:
        """Read all rows into memory.

        Returns
        -------
        Chunk
            All rows, with their weights and ids; the rows of an .npy file are a memory map.
        """
        rows, weights, ids = (RowStack(self.n_rows) for _ in range(3))
        with closing(self.chunks()) as chunks:
            for chunk in chunks:
                rows.add(chunk.rows)
                weights.add(chunk.weights)
                ids.add(chunk.ids)
        if not self.n_rows:
            raise StreamError(f"{self.source} holds no rows; give at least one.")
        return Chunk(
            rows=rows.all(),
            weights=weights.all(),
            location=Location(self.source, 0),
            ids=ids.all(),
        )

    def describe(self, location: Location, row: int, column: int | None = None) -> str:
        """Name of an entry for messages: the file, the row within it, and the column.

        Parameters
        ----------
        location : Location
            Origin of the chunk.
        row : int
            Number of the row within the chunk, counting from 0.
        column : int, optional
            Number of the feature, counting from 0.
        """
        where = f"{location.source}, row {location.first_row + row} (counting from 0)"
        return where if column is None else f"{where}, {self._column(column)}"

    @abstractmethod
    def _read(self) -> Iterator[Chunk]:
        """Yield the chunks of one pass, none of them empty; runs in a thread."""

    def _column(self, column: int) -> str:
        if self.names is None:
            return f"column {column}"
        return f"column {self.names[column]!r}"

    def _check_unchanged(self) -> None:  # noqa: B027 - optional
        """Raise StreamError if the source has changed since the stream was made."""

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
    """Rows of a chunk of about ``CHUNK_BYTES``, at least one."""
    return max(1, int(CHUNK_BYTES // max(1.0, row_bytes)))


class FileSignature(NamedTuple):
    """File signature: size in bytes, time of change in ns, inode. It differs if a file changed."""

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> FileSignature:
        """Signature of a file now."""
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


def check_signature(path: Path, expected: FileSignature) -> None:
    """Raise StreamError if a file no longer has the expected signature."""
    try:
        now = FileSignature.of(path)
    except OSError as error:
        raise StreamError(
            f"{path} changed while it was being read: it is gone or cannot be reached "
            f"({error.strerror}); put it back and start again, or work on a copy."
        ) from error
    if now == expected:
        return
    if now.size != expected.size:
        what = f"it had {expected.size} bytes, and has {now.size} now"
    elif now.inode != expected.inode:
        what = "another file has taken its place"
    else:
        what = "it was written to"
    raise StreamError(
        f"{path} changed while it was being read: {what}; start again, or work on a copy."
    )


class FileStream(Stream):
    """Rows of one file after the other.

    Parameters
    ----------
    paths : sequence of Path
        The files, at least one.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self.source = str(paths[0])
        if len(paths) > 1:
            self.source = f"{paths[0]} and {len(paths) - 1} more"
        self._signatures = tuple(map(FileSignature.of, self.paths))

    def _check_unchanged(self) -> None:
        for path, signature in zip(self.paths, self._signatures, strict=True):
            check_signature(path, signature)

    def _read(self) -> Iterator[Chunk]:
        ring = BufferRing()
        for index, (path, signature) in enumerate(zip(self.paths, self._signatures, strict=True)):
            check_signature(path, signature)
            try:
                yield from self._read_file(index, ring)
            except Exception as error:
                # If the file changed, that is the cause of the error.
                check_signature(path, signature)
                if isinstance(error, OSError):
                    raise StreamError(
                        f"{path} cannot be read ({one_line(error)}); check the disk, and the "
                        "file with another program."
                    ) from error
                raise
            check_signature(path, signature)

    @abstractmethod
    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        """Yield the chunks of ``paths[index]``, in buffers of the ring."""
