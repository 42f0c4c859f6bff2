"""Data in memory: checked rows in the user's storage, with their weights; and chunks of data.

Rows are not copied. Engines read them block by block, and center, reorder and cast each block.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._typing import Floats

BLOCK_BYTES = 1 << 20
"""Bytes of a block that Python code converts at a time, as float64. Chosen by hand: large enough
that NumPy's work exceeds the interpreter's, small enough for a cache."""


@dataclass(frozen=True)
class Data:
    """Rows, weights and the frame of reference of a computation.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_features)
        Finite real numbers of any dtype and memory layout.
    weights : ndarray of shape (n_rows,) or None
        Nonnegative float64 weights; None means that all are one.
    dtype : dtype
        float32 or float64: the precision of the computation and of its results.
    origin : ndarray of shape (n_features,)
        Point from which coordinates are measured inside a pass, in the middle of most rows, so
        that no digits are lost to a common offset; see ``_origin.py``. Rounded to ``dtype``, so
        that a row and a center that are equal stay so. Zero for sparse rows, which stay sparse.
    """

    rows: Any
    weights: Floats | None
    dtype: np.dtype[np.floating]
    origin: Floats

    def __post_init__(self) -> None:
        origin = np.zeros_like(self.origin) if self.is_sparse else self.origin
        object.__setattr__(self, "origin", origin.astype(self.dtype).astype(np.float64))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.rows.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are a CSR matrix."""
        return bool(sp.issparse(self.rows))

    @property
    def nbytes(self) -> int:
        """Size of the numbers that the rows store."""
        return int(self.rows.data.nbytes if self.is_sparse else self.rows.nbytes)

    def weights_or_ones(self) -> Floats:
        """Weights as an array, without memory of their own if all are one."""
        if self.weights is None:
            return np.broadcast_to(np.float64(1), self.n_rows)
        return self.weights

    def dense(self, index: slice | NDArray[np.integer]) -> Floats:
        """Chosen rows as a dense float64 array, rounded to ``dtype``."""
        chosen = self.rows[index]
        if self.is_sparse:
            chosen = chosen.toarray()
        return np.asarray(chosen).astype(self.dtype).astype(np.float64, copy=False)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Consecutive blocks of rows, as dense float64 arrays."""
        for block in row_blocks(self.n_rows, self.n_features):
            yield block, self.dense(block)

    def means(self, weights: sp.csr_array) -> Floats:
        """Weighted means of rows, dense float64; ``weights`` has shape (n_means, n_rows)."""
        sums = weights @ self.rows
        dense = sums.toarray() if self.is_sparse else np.asarray(sums)
        totals: Floats = weights.sum(axis=1)
        return np.asarray(dense / totals[:, None], dtype=np.float64)

    def take(self, index: slice | NDArray[np.integer]) -> Data:
        """Data of the chosen rows."""
        weights = None if self.weights is None else self.weights[index]
        return Data(self.rows[index], weights, self.dtype, self.origin)


class Location(NamedTuple):
    """Where a chunk of a stream comes from, for messages.

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
    """Consecutive rows of the data.

    Attributes
    ----------
    rows : ndarray or csr_array of shape (n_rows, n_features)
        Real numbers (bool, int, uint, float32 or float64). Those of a stream may lie in a buffer
        that is used again: see ``Stream.chunks``.
    weights : ndarray of shape (n_rows,) or None
        Finite, nonnegative float64 weights; None means that all are one.
    location : Location
        Where they come from, for chunks of a stream.
    ids : sequence or None
        Identifiers of the rows, where a stream was made with ``ids``: an Arrow array or an ndarray.
    number : int
        Place among all chunks of the data, counting from 0.
    """

    rows: Any
    weights: Floats | None
    location: Location = Location("the data", 0)
    ids: Any = None
    number: int = 0


def sparse_problem(matrix: Any) -> str | None:
    """Why a sparse matrix is broken; None if it is not, or is dense.

    Its arrays are the user's, and SciPy reads and writes out of bounds where they are wrong.
    ``check_format`` of SciPy says so too, but changes the matrix, and copies indices.
    """
    if not sp.issparse(matrix):
        return None
    problem = None
    if matrix.format in ("csr", "csc", "bsr"):
        problem = _compressed_problem(matrix)
    elif matrix.format == "coo":
        for axis, found in enumerate(matrix.coords):
            problem = problem or index_problem(f"coords[{axis}]", found, matrix.shape[axis])
            if len(found) != len(matrix.data):
                problem = problem or f"coords[{axis}] and data differ in length"
    if problem is None:
        return None
    return (
        f"is a broken {matrix.format.upper()} matrix of shape {matrix.shape}: {problem}; build it "
        "anew, e.g. from triplets by scipy.sparse.coo_array"
    )


def check_sparse(matrix: Any, name: str = "X") -> None:
    """Raise if a sparse matrix is broken."""
    problem = sparse_problem(matrix)
    if problem is not None:
        raise ValueError(f"{name} {problem}.")


def _compressed_problem(matrix: Any) -> str | None:
    """What is wrong with the arrays of a CSR, CSC or BSR matrix."""
    indptr, indices = matrix.indptr, matrix.indices
    sizes = [
        n // b for n, b in zip(matrix.shape, getattr(matrix, "blocksize", (1, 1)), strict=True)
    ]
    major, minor = reversed(sizes) if matrix.format == "csc" else sizes
    problem = offset_problem(indptr, major, len(indices), len(matrix.data))
    return problem or index_problem("indices", indices[: indptr[-1]], minor)


def offset_problem(indptr: NDArray[Any], major: int, n_indices: int, n_data: int) -> str | None:
    """What is wrong with the array ``indptr`` of a compressed matrix of ``major`` rows."""
    if indptr.ndim != 1 or indptr.dtype.kind not in "iu" or len(indptr) != major + 1:
        return f"indptr has shape {indptr.shape} and dtype {indptr.dtype}, not {major + 1} integers"
    if n_indices != n_data:
        return f"indices has {n_indices} entries and data {n_data}"
    if indptr[0] != 0 or indptr[-1] > n_indices:
        ends = f"{indptr[0]} to {indptr[-1]}"
        return f"indptr goes from {ends}, not from 0 to at most {n_indices}, the stored entries"
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        return f"indptr decreases at {int(np.argmax(falls)) + 1}"
    return None


def index_problem(name: str, indices: NDArray[Any], size: int, first: int = 0) -> str | None:
    """What is wrong with an array of indices below ``size``, or a part of it from ``first`` on."""
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        return f"{name} has shape {indices.shape} and dtype {indices.dtype}, not integers"
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        bad = int(np.argmax((indices < 0) | (indices >= size)))
        return f"{name}[{first + bad}] = {indices[bad]}, not from 0 to {size - 1}"
    return None


def csr_or_dense(rows: Any) -> Any:
    """Rows as a canonical CSR array or an ndarray, of a dtype that engines read directly."""
    if sp.issparse(rows):
        check_sparse(rows)
        if rows.format == "csr":  # Before SciPy warns about types that it does not know.
            arrays = rows.data, _plain_indices(rows.indices), _plain_indices(rows.indptr)
            if arrays[1] is not rows.indices or arrays[2] is not rows.indptr:
                rows = sp.csr_array(arrays, shape=rows.shape)
        rows = sp.csr_array(rows)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
    else:
        rows = np.asarray(rows)
    return plain_rows(rows) if rows.dtype.kind in "biuf" else rows


def _plain_indices(indices: NDArray[Any]) -> NDArray[Any]:
    """Indices as int32 or int64, the types that engines read; others are converted."""
    if indices.dtype in (np.int32, np.int64):
        return indices
    return indices.astype(np.int32 if np.can_cast(indices.dtype, np.int32) else np.int64)


def plain_rows(rows: Any) -> Any:
    """Rows of a dtype that engines read directly; others are converted to float64."""
    dtype = rows.dtype.newbyteorder("=")
    if dtype.kind == "f" and dtype not in (np.float32, np.float64):
        dtype = np.dtype(np.float64)
    return rows.astype(dtype, copy=not (sp.issparse(rows) or _evenly_spaced(rows)))


def _evenly_spaced(rows: NDArray[Any]) -> bool:
    """Whether strides are multiples of the item size; those of fields of records may not be."""
    return rows.flags.aligned and not any(step % rows.itemsize for step in rows.strides)


def computing_dtype(rows: Any) -> np.dtype[np.floating]:
    """float32 for float32 rows, otherwise float64."""
    return np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)


def rows_per_block(n_features: int) -> int:
    """Rows that make about ``BLOCK_BYTES`` as doubles."""
    return max(1, BLOCK_BYTES // (8 * max(1, n_features)))


def row_blocks(n_rows: int, n_features: int) -> Iterator[slice]:
    """Slices that cover the rows block by block."""
    step = rows_per_block(n_features)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def distinct_rows(data: Data, most: int) -> set[bytes]:
    """Distinct rows of positive weight, as bytes; stops after ``most`` or a few more."""
    seen: set[bytes] = set()
    positive = data.weights_or_ones() > 0
    # Usually the first few rows are enough, so blocks start small.
    start, step = 0, min(2 * most, rows_per_block(data.n_features))
    while start < data.n_rows and len(seen) < most:
        block = slice(start, start + step)
        seen |= _distinct(data.rows[block][positive[block]])
        start, step = start + step, min(2 * step, rows_per_block(data.n_features))
    return seen


def _distinct(rows: Any) -> set[bytes]:
    dense = rows.toarray() if sp.issparse(rows) else np.ascontiguousarray(rows)
    dense = dense + dense.dtype.type(0)  # -0.0 and 0.0 become the same bytes.
    return {row.tobytes() for row in dense}


def checksum(rows: Any, weights: Any = None) -> int:
    """CRC-32 of rows and their weights."""
    arrays = [rows.data, rows.indices, rows.indptr] if sp.issparse(rows) else [rows]
    found = 0
    for array in arrays if weights is None else [*arrays, weights]:
        for begin in range(0, len(array), 1 << 16):  # Strided arrays are copied block by block.
            block = np.ascontiguousarray(array[begin : begin + (1 << 16)])
            found = zlib.crc32(block.view(np.uint8).reshape(-1).data, found)
    return found
