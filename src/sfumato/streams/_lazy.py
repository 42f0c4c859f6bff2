"""Lazy arrays: values for the rows of a stream, computed chunk by chunk."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Generator, Iterator
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
    """Lazy array: a function of the rows of a stream, computed chunk by chunk.

    It may be larger than memory. Iterate over its chunks, compute its ``head``, write it
    ``to_parquet``, or ``compute`` all of it. Each of these is a pass over the stream.

    Parameters
    ----------
    stream : Stream
        The rows.
    function : callable
        Takes a chunk and returns the values for its rows: an array of shape (n,) or
        (n, n_columns), or a csr_array of shape (n, n_columns).
    n_rows : int or None
        Number of rows; None if it is not known before a pass.
    n_columns : int or None
        Number of columns; None for an array of one dimension.
    dtype : dtype
        Type of the values.
    name : str, default="label"
        Name of the column of a one-dimensional array in a file.

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
    ) -> None:
        self.stream = stream
        self.function = function
        self._n_rows = n_rows
        self._n_columns = n_columns
        self._dtype = np.dtype(dtype)
        self._name = name

    def __iter__(self) -> Generator[Any, None, None]:
        """Values chunk by chunk: arrays of their own, which may be kept."""
        with closing(self.stream.chunks()) as chunks:
            for chunk in chunks:
                values = self.function(chunk)
                yield values.copy() if _shares_memory(values, chunk) else values

    @property
    def ndim(self) -> int:
        """Number of dimensions, one or two."""
        return 1 if self._n_columns is None else 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self._dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Number of rows, and of columns if there are two dimensions; None if not known yet."""
        n_rows = self._n_rows if self._n_rows is not None else self.stream.n_rows
        return (n_rows,) if self._n_columns is None else (n_rows, self._n_columns)

    def __len__(self) -> int:
        n_rows = self.shape[0]
        if n_rows is None:
            raise TypeError("the number of rows is not known before a pass; compute() makes one.")
        return n_rows

    def __repr__(self) -> str:
        shape = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"<LazyArray of {self.stream.source}: shape ({shape}), {self._dtype}>"

    def __gt__(self, value: float) -> LazyArray:
        """Lazy array: whether each value is larger than a number."""
        return self._compared(operator.gt, value)

    def __eq__(self, value: object) -> LazyArray:  # type: ignore[override] # as arrays have it
        """Lazy array: whether each value is equal to a number."""
        return self._compared(operator.eq, value)

    def __ne__(self, value: object) -> LazyArray:  # type: ignore[override]
        """Lazy array: whether each value differs from a number."""
        return self._compared(operator.ne, value)

    __hash__ = object.__hash__

    def _compared(self, comparison: Callable[[Any, Any], Any], value: Any) -> LazyArray:
        return LazyArray(
            self.stream,
            Compared(self.function, comparison, value),
            n_rows=self._n_rows,
            n_columns=self._n_columns,
            dtype=np.bool_,
            name=self._name,
        )

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(
            "a lazy array cannot be indexed; use compute() for all values, head(n) for the first "
            "ones, or a loop over its chunks."
        )

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("a lazy array must be computed, so that copy=False is impossible.")
        found = self._stacked(self._only_dense(), self.shape[0])
        return found.astype(found.dtype if dtype is None else dtype, copy=False)

    def compute(self) -> Any:
        """Compute all values.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_columns), or csr_array of shape (n_rows, n_columns)
        """
        return self._stacked(iter(self), self.shape[0])

    def head(self, n: int = 5) -> Any:
        """Compute the values of the first rows; reads no more chunks than necessary.

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
            raise ValueError(f"n={n} is negative; give the number of rows to compute.")
        return self._stacked(self._first(n), None)

    def to_parquet(
        self, path: str | os.PathLike[str], *, column: str | None = None, overwrite: bool = False
    ) -> None:
        """Write all values to a Parquet file, chunk by chunk; it appears whole or not at all.

        An array of one dimension becomes one column; one of two dimensions, the columns
        ``cluster_0``, ``cluster_1`` and so on. A sparse array becomes a line per stored entry, in
        the columns ``row`` (counting from 0), ``cluster`` and ``membership``.

        Parameters
        ----------
        path : path
            The file to write.
        column : str, optional
            Name of the column of a one-dimensional array; ``name`` by default.
        overwrite : bool, default=False
            Whether a file of that name may be replaced.

        Raises
        ------
        FileExistsError
            If there is a file of that name and ``overwrite`` is False.
        OSError
            If it cannot be written. Nothing is left behind.
        """
        names: tuple[str, ...] = (column or self._name,)
        if self._n_columns is not None:
            names = tuple(f"cluster_{index}" for index in range(self._n_columns))
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

    def _stacked(self, results: Iterator[Any], n_rows: int | None) -> Any:
        """Values of chunks in one array; dense ones without a second copy if all are counted."""
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
            raise ValueError(f"values of {done} rows were computed, but n_rows is {n_rows}.")
        return out

    def _only_dense(self) -> Iterator[Any]:
        for result in self:
            if sp.issparse(result):
                raise TypeError(
                    "the lazy array is sparse, and as a dense array might not fit into memory; "
                    "compute() returns a csr_array."
                )
            yield result


def _shares_memory(values: Any, chunk: Chunk) -> bool:
    """Whether values may lie in the memory of their chunk, which is used again."""
    arrays = [values.data, values.indices] if sp.issparse(values) else [np.asarray(values)]
    rows = chunk.rows
    sources = [rows.data, rows.indices] if sp.issparse(rows) else [rows]
    if chunk.weights is not None:
        sources.append(chunk.weights)
    return any(np.may_share_memory(own, other) for own in arrays for other in sources)


@dataclass(frozen=True)
class Compared:
    """The values of a chunk, compared with a number."""

    function: Callable[[Chunk], Any]
    comparison: Callable[[Any, Any], Any]
    value: Any

    def __call__(self, chunk: Chunk) -> Any:
        return self.comparison(self.function(chunk), self.value)
