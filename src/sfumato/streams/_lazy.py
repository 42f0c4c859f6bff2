"""Results for the rows of a stream, computed chunk by chunk when they are asked for."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from sfumato.streams._base import Chunk, Stream
from sfumato.streams._writing import write_parquet


class LazyArray:
    """Results that are computed chunk by chunk when they are asked for.

    An array that may be larger than memory: iterate over it, look at its ``head``, write it
    ``to_parquet``, or ``compute`` all of it. Each of these is a pass over the stream.

    Parameters
    ----------
    stream : Stream
        The rows.
    function : callable
        Takes a chunk and returns the results of its rows: an array of shape (n,) or
        (n, n_columns), or a csr_array of shape (n, n_columns).
    n_rows : int or None
        Number of rows; None if it is not known before a pass.
    n_columns : int or None
        Number of columns; None for results of one dimension.
    dtype : dtype
        Type of the results.
    name : str, default="label"
        Name of the column of one-dimensional results in a file.
    names : sequence of str, optional
        Names of the columns in a file; cluster_0, cluster_1, ... by default.
    on_chunk : callable, optional
        Called with every chunk after its results were computed, for example by a progress bar.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.streams import LazyArray, stream
    >>> rows = stream(np.arange(6.0).reshape(3, 2), chunk_rows=2)
    >>> sums = LazyArray(rows, lambda chunk: chunk.rows.sum(axis=1), n_rows=3, n_columns=None,
    ...                 dtype=float)
    >>> sums.compute()
    array([1., 5., 9.])
    """

    def __init__(
        self,
        stream: Stream,
        function: Callable[[Chunk], Any],
        *,
        n_rows: int | None,
        n_columns: int | None,
        dtype: DTypeLike,
        name: str = "label",
        names: Sequence[str] | None = None,
        on_chunk: Callable[[Chunk], object] | None = None,
    ) -> None:
        self._stream = stream
        self._function = function
        self._n_rows = n_rows
        self._n_columns = n_columns
        self._dtype = np.dtype(dtype)
        self._name = name
        self._names = None if names is None else tuple(names)
        self._on_chunk = on_chunk

    def __iter__(self) -> Generator[Any, None, None]:
        """Results chunk by chunk: arrays of their own, which may be kept."""
        with closing(self._stream.chunks()) as chunks:
            for chunk in chunks:
                result = self._function(chunk)
                if _shares(result, chunk):
                    result = result.copy()
                if self._on_chunk is not None:
                    self._on_chunk(chunk)
                yield result

    @property
    def ndim(self) -> int:
        """Number of dimensions, one or two."""
        return 1 if self._n_columns is None else 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the results."""
        return self._dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Number of rows, and of columns if there are two dimensions; None if not known yet."""
        n_rows = self._n_rows if self._n_rows is not None else self._stream.n_rows
        return (n_rows,) if self._n_columns is None else (n_rows, self._n_columns)

    def __len__(self) -> int:
        n_rows = self.shape[0]
        if n_rows is None:
            raise TypeError("the number of rows is not known before a pass; compute() makes one.")
        return n_rows

    def __repr__(self) -> str:
        shape = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"<LazyArray results of {self._stream.source}: shape ({shape}), {self._dtype}>"

    def __gt__(self, value: float) -> LazyArray:
        """Whether each result is larger than a number, again chunk by chunk."""
        return self._compared(operator.gt, value)

    def __eq__(self, value: object) -> LazyArray:  # type: ignore[override] # as arrays have it
        """Whether each result is equal to a number, again chunk by chunk."""
        return self._compared(operator.eq, value)

    def __ne__(self, value: object) -> LazyArray:  # type: ignore[override]
        """Whether each result differs from a number, again chunk by chunk."""
        return self._compared(operator.ne, value)

    __hash__ = object.__hash__

    def _compared(self, comparison: Callable[[Any, Any], Any], value: Any) -> LazyArray:
        return LazyArray(
            self._stream,
            Compared(self._function, comparison, value),
            n_rows=self._n_rows,
            n_columns=self._n_columns,
            dtype=np.bool_,
            name=self._name,
            names=self._names,
            on_chunk=self._on_chunk,
        )

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(
            "streamed results have no entries that could be read one by one; use compute() to get "
            "all of them, head(n) the first ones, or a loop for those of one chunk after the other."
        )

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("streamed results are computed, so that copy=False cannot be had.")
        found = self._together(self._only_dense(), self.shape[0])
        return found.astype(found.dtype if dtype is None else dtype, copy=False)

    def compute(self) -> Any:
        """All results in memory.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_columns), or csr_array of shape (n_rows, n_columns)
        """
        return self._together(iter(self), self.shape[0])

    def head(self, n: int = 5) -> Any:
        """Results of the first rows; reads no more chunks than it needs.

        Parameters
        ----------
        n : int, default=5
            Number of rows.

        Returns
        -------
        ndarray or csr_array
            As from ``compute``, of at most n rows.
        """
        if n < 0:
            raise ValueError(f"n={n} is negative; give the number of rows to see.")
        return self._together(self._first(n), None)

    def to_parquet(
        self, path: str | os.PathLike[str], *, column: str | None = None, overwrite: bool = False
    ) -> None:
        """Write all results to a Parquet file, chunk by chunk; it appears whole or not at all.

        Results of one dimension become one column; those of two, a column each. Sparse ones become
        a line per stored entry, in the columns ``row`` (counting from 0), ``cluster`` and
        ``membership``.

        Parameters
        ----------
        path : path
            The file to write.
        column : str, optional
            Name of the column of one-dimensional results; ``name`` by default.
        overwrite : bool, default=False
            Whether a file of that name may be replaced.

        Raises
        ------
        FileExistsError
            If there is a file of that name and ``overwrite`` is False.
        OSError
            If it cannot be written. Nothing is left behind.
        """
        names = self._names
        if names is None:
            names = tuple(f"cluster_{index}" for index in range(self._n_columns or 0))
        if self._n_columns is None:
            names = (column or self._name,)
        write_parquet(iter(self), Path(path), names, self._dtype, overwrite=overwrite)

    def _first(self, n: int) -> Iterator[Any]:
        left = n
        with closing(iter(self)) as results:
            while left > 0:
                result = next(results, None)
                if result is None:
                    return
                yield result[:left]
                left -= result.shape[0]

    def _together(self, results: Iterator[Any], n_rows: int | None) -> Any:
        """Results one below the other; dense ones without a second copy if all are counted."""
        first = next(results, None)
        if first is None:
            return np.empty((0,) if self._n_columns is None else (0, self._n_columns), self._dtype)
        if sp.issparse(first):
            parts = [first, *results]
            return sp.csr_array(sp.vstack(parts, format="csr", dtype=self._dtype))
        if n_rows is None:
            return np.concatenate([first, *results]).astype(self._dtype, copy=False)
        out = np.empty((n_rows, *first.shape[1:]), self._dtype)
        done = 0
        for result in chain([first], results):
            out[done : done + result.shape[0]] = result
            done += result.shape[0]
        if done != n_rows:
            raise ValueError(f"there were results for {done} rows, and {n_rows} were announced.")
        return out

    def _only_dense(self) -> Iterator[Any]:
        for result in self:
            if sp.issparse(result):
                raise TypeError(
                    "the results are sparse, and as a dense array might not fit into memory; "
                    "compute() returns them as a csr_array."
                )
            yield result


def together(
    results: Sequence[LazyArray],
) -> Generator[tuple[Chunk, list[Any]], None, None]:
    """Several results of the same stream in one pass: each chunk, and what they say of it."""
    stream = results[0]._stream
    if any(other._stream is not stream for other in results):
        raise ValueError("the results are of different streams; one pass goes over one stream.")
    with closing(stream.chunks()) as chunks:
        for chunk in chunks:
            yield chunk, [each._function(chunk) for each in results]


def _shares(result: Any, chunk: Chunk) -> bool:
    """Whether a result may lie in the memory of its chunk, which is used again."""
    arrays = [result.data, result.indices] if sp.issparse(result) else [np.asarray(result)]
    rows = chunk.rows
    sources = [rows.data, rows.indices] if sp.issparse(rows) else [rows]
    if chunk.weights is not None:
        sources.append(chunk.weights)
    return any(np.may_share_memory(own, other) for own in arrays for other in sources)


@dataclass(frozen=True)
class Compared:
    """The results of a chunk, compared with a number."""

    function: Callable[[Chunk], Any]
    comparison: Callable[[Any, Any], Any]
    value: Any

    def __call__(self, chunk: Chunk) -> Any:
        """Results of a chunk, compared."""
        return self.comparison(self.function(chunk), self.value)
