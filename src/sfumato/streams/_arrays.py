"""Streams of arrays: in memory, mapped, CSR, HDF5, and in .npy and Zarr files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato.exceptions import StreamError, one_line
from sfumato.streams._base import (
    Chunk,
    FileSignature,
    FileStream,
    Location,
    Stream,
    check_signature,
    default_rows,
)
from sfumato.streams._rows import (
    NUMBERS,
    BufferRing,
    check_rows,
    native,
    refuse_broken,
    transpose_columns,
)


class ArrayStream(Stream):
    """Rows of an array-like object: NumPy, CSR, HDF5, Zarr.

    Parameters
    ----------
    values : object
        With ``shape``, ``dtype``, and slices of rows that are arrays or CSR.
    chunk_rows : int, optional
        Rows per chunk, at most.
    source : str, optional
        Name for messages.

    Notes
    -----
    An array that is stored in blocks (Zarr, HDF5) is read in whole blocks, so that none of them is
    decoded twice; chunks do not reach from one run of blocks into the next.
    """

    def __init__(
        self, values: Any, chunk_rows: int | None = None, source: str | None = None
    ) -> None:
        shape = tuple(values.shape)
        self.source = source or f"the {type(values).__name__} of shape {shape}"
        if len(shape) != 2:
            raise StreamError(
                f"{self.source} has {len(shape)} dimensions, not two; give rows by features."
            )
        refuse_broken(values, self.source)
        self._values = sp.csr_array(values) if sp.issparse(values) else values
        probe = check_rows(self._slice(0, min(1, shape[0])), self.source)
        self.n_rows, self.n_features = int(shape[0]), int(shape[1])
        self.dtype, self.is_sparse = native(probe.dtype), bool(sp.issparse(probe))
        self._rows = chunk_rows or default_rows(self.row_bytes)
        stored = _stored_rows(values)
        self._block = max(self._rows // stored, 1) * stored

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in a chunk, on average."""
        if not self.is_sparse:
            return super().row_bytes
        csr = self._values
        total = csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes
        return float(total / max(1, csr.shape[0]))

    def _slice(self, start: int, stop: int) -> Any:
        try:
            return self._values[start:stop]
        except Exception as error:
            raise StreamError(
                f"{self.source}: rows {start} to {stop - 1} (counting from 0) cannot be read "
                f"({one_line(error)}); check the source."
            ) from error

    def _read(self) -> Iterator[Chunk]:
        n_rows = self.n_rows or 0
        for begin in range(0, n_rows, self._block):
            end = min(begin + self._block, n_rows)
            block = check_rows(self._slice(begin, end), self.source, begin)
            if block.shape != (end - begin, self.n_features):
                raise StreamError(
                    f"{self.source}: rows {begin} to {end - 1} came with the shape {block.shape}, "
                    f"not {(end - begin, self.n_features)}; it must not change while it is read."
                )
            for start in range(begin, end, self._rows):
                rows = block[start - begin : start - begin + self._rows]
                yield Chunk(rows=rows, weights=None, location=Location(self.source, start))


def _stored_rows(values: Any) -> int:
    """Rows of a stored chunk (Zarr, HDF5); 1 if any row can be read by itself."""
    blocks = getattr(values, "shards", None) or getattr(values, "chunks", None)
    if isinstance(blocks, tuple) and blocks and isinstance(blocks[0], int):
        return max(1, blocks[0])
    return 1


class ZarrStream(ArrayStream):
    """Rows of a Zarr array in a folder.

    Parameters
    ----------
    path : Path
        The folder.
    chunk_rows : int, optional
        Rows per chunk, at most.
    """

    def __init__(self, path: Path, chunk_rows: int | None = None) -> None:
        import zarr

        self._path = path
        self._signatures = _signatures(path)
        try:
            values = zarr.open_array(path, mode="r")
        except Exception as error:
            raise StreamError(
                f"{path} cannot be read as a Zarr array ({one_line(error)}); of a Zarr group, "
                "open the array yourself and give that."
            ) from error
        super().__init__(values, chunk_rows, str(path))

    def _check_unchanged(self) -> None:
        found = _signatures(self._path)
        for path in sorted(found.keys() | self._signatures.keys()):
            if path not in self._signatures:
                raise StreamError(
                    f"{self.source} changed while it was being read: {path} is new; start again, "
                    "or work on a copy."
                )
            if found.get(path) != self._signatures[path]:
                check_signature(path, self._signatures[path])


def _signatures(folder: Path) -> dict[Path, FileSignature]:
    """Signatures of all files of a folder and of its subfolders."""
    return {path: FileSignature.of(path) for path in folder.rglob("*") if path.is_file()}


class Header(NamedTuple):
    """Header of an .npy file: shape, whether in Fortran order, type, byte where the data begins."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    offset: int


def parse_header(file: IO[bytes]) -> Header:
    """Header at the beginning of a file, whose bytes may be anything; raises ValueError."""
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    version = np.lib.format.read_magic(file)
    if version not in readers:  # Version 3 is for names of fields, which are no numbers.
        raise ValueError(f"its format is version {version}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of literals and types that are refused below.
            shape, by_columns, dtype = readers[version](file)
    except Exception as error:  # Its text is parsed as Python, which can raise anything.
        raise ValueError("its header is damaged") from error
    if any(size < 0 for size in shape):
        raise ValueError(f"its shape is {shape}")
    return Header(tuple(map(int, shape)), bool(by_columns), dtype, file.tell())


def read_header(path: Path) -> Header:
    """Header of an .npy file; raises StreamError unless it holds all rows of a matrix."""
    try:
        with path.open("rb") as file:
            header = parse_header(file)
            size = file.seek(0, os.SEEK_END)
    except ValueError as error:
        raise StreamError(
            f"{path} cannot be read as npy ({one_line(error)}); check the file."
        ) from error
    shape, by_columns, dtype, offset = header
    check_matrix(path, shape, dtype)
    needed = offset + shape[0] * shape[1] * dtype.itemsize
    if size < needed:
        raise StreamError(
            f"{path} ends too early: {shape[0]} rows of {shape[1]} {dtype} take {needed} bytes, "
            f"and it has {size}, up to row {_row_at(size, offset, shape, dtype, by_columns)}; "
            "write it again."
        )
    return header


def check_matrix(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise StreamError unless an array of a file is a matrix of real numbers."""
    if len(shape) != 2 or dtype.kind not in NUMBERS:
        raise StreamError(
            f"{path} holds an array of shape {shape} and type {dtype}; give real numbers in two "
            "dimensions, rows by features."
        )


def _row_at(
    size: int, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], by_columns: bool
) -> int:
    """First row that is incomplete in a file of this size."""
    present = max(0, size - offset) // dtype.itemsize
    if by_columns:
        return max(0, present - (shape[1] - 1) * shape[0])
    return int(present // max(1, shape[1]))


class NpyStream(FileStream):
    """Rows of .npy files, read rather than mapped.

    Parameters
    ----------
    paths : sequence of Path
        Files with the same number of columns and of the same type.
    chunk_rows : int, optional
        Rows per chunk.
    """

    # Reading costs a copy: about 0.17 s of processor time per GB if the file is in the page cache,
    # against 0.03 s for a memory map whose pages are dropped behind the consumer. But if a mapped
    # file is shortened (np.save to the same path does), a process that touches it is killed without
    # a message; an error of a read can be reported. Reads also wait in the prefetch thread, where
    # page faults would stop the threads that compute.

    def __init__(self, paths: Sequence[Path], chunk_rows: int | None = None) -> None:
        super().__init__(paths)
        self._headers = tuple(map(read_header, self.paths))
        first = self._headers[0]
        for path, header in zip(self.paths, self._headers, strict=True):
            if header.shape[1] != first.shape[1] or header.dtype != first.dtype:
                raise StreamError(
                    f"{path} has {header.shape[1]} columns of {header.dtype}, but {self.paths[0]} "
                    f"has {first.shape[1]} of {first.dtype}; files of one stream must agree."
                )
        self.n_features = first.shape[1]
        self.n_rows = sum(header.shape[0] for header in self._headers)
        self.dtype = native(first.dtype)
        self._rows = chunk_rows or default_rows(first.dtype.itemsize * first.shape[1])

    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        path, header = self.paths[index], self._headers[index]
        read = fill_by_columns if header.by_columns else _fill_by_rows

        def fill(start: int, rows: NDArray[Any]) -> None:
            if not read(file, header, start, rows):
                raise StreamError(
                    f"{path} ended between rows {start} and {start + len(rows)}, before its last "
                    f"row, {header.shape[0] - 1}; start again, or work on a copy."
                )

        with FileIO(path) as file:
            yield from filled_chunks(str(path), header, self._rows, ring, fill)

    def collect(self) -> Chunk:
        if len(self.paths) > 1 or not self.n_rows or self._headers[0].dtype != self.dtype:
            return super().collect()
        self._check_unchanged()
        shape, by_columns, dtype, offset = self._headers[0]
        order: Any = "F" if by_columns else "C"
        rows = np.memmap(self.paths[0], dtype, "r", offset, shape, order)
        return Chunk(rows=rows, weights=None, location=Location(self.source, 0))


def filled_chunks(
    source: str,
    header: Header,
    chunk_rows: int,
    ring: BufferRing,
    fill: Callable[[int, NDArray[Any]], None],
) -> Iterator[Chunk]:
    """Chunks of an array, in buffers that ``fill(start, rows)`` writes rows into."""
    n_rows, n_features = header.shape
    for start in range(0, n_rows, chunk_rows):
        rows = ring.rows(min(chunk_rows, n_rows - start), n_features, header.dtype)
        fill(start, rows)
        rows = rows.astype(native(header.dtype), copy=False)
        yield Chunk(rows=rows, weights=None, location=Location(source, start))


def _fill_by_rows(file: FileIO, header: Header, start: int, rows: NDArray[Any]) -> bool:
    """Read rows from row ``start`` on; return False if the file ends before."""
    before = start * rows.shape[1] * header.dtype.itemsize
    return _fill_bytes(file, header.offset + before, rows)


def fill_by_columns(file: FileIO, header: Header, start: int, rows: NDArray[Any]) -> bool:
    """The same for a file in Fortran order: a slice of each column, then the transpose."""
    columns = np.empty((rows.shape[1], rows.shape[0]), header.dtype)
    for column, values in enumerate(columns):
        before = (column * header.shape[0] + start) * header.dtype.itemsize
        if not _fill_bytes(file, header.offset + before, values):
            return False
    transpose_columns(list(columns), rows)
    return True


def _fill_bytes(file: FileIO, position: int, out: NDArray[Any]) -> bool:
    """Read bytes from a position into an array; return False if the file ends before."""
    bytes_left = out.reshape(-1).view(np.uint8).data
    file.seek(position)
    while len(bytes_left):
        count = file.readinto(bytes_left)
        if not count:
            return False
        bytes_left = bytes_left[count:]
    return True


class SelectedColumns(Stream):
    """Column selection of a stream without names.

    Parameters
    ----------
    inner : Stream
        All columns.
    columns : sequence of int
        Numbers of the features, in their new order.
    names : sequence of str
        Names of the features.
    ids : int, optional
        Number of the column that identifies the rows.
    """

    def __init__(
        self, inner: Stream, columns: Sequence[int], names: Sequence[str], ids: int | None = None
    ) -> None:
        self._inner, self._columns, self._ids = inner, list(columns), ids
        self.source, self.dtype, self.is_sparse = inner.source, inner.dtype, inner.is_sparse
        self.names, self.n_features = tuple(names), len(self._columns)
        self.n_rows = inner.n_rows

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in a chunk, before and after the selection."""
        return self._inner.row_bytes + min(self._inner.row_bytes, super().row_bytes)

    def _read(self) -> Iterator[Chunk]:
        for chunk in self._inner._read():
            yield self._select(chunk)

    def collect(self) -> Chunk:
        return self._select(self._inner.collect())

    def _select(self, chunk: Chunk) -> Chunk:
        rows, ids = chunk.rows, None
        if self._ids is not None:
            column = rows[:, [self._ids]]
            ids = np.asarray(column.toarray() if self.is_sparse else column).ravel()
        if self._columns != list(range(rows.shape[1])):
            rows = (
                rows[:, self._columns]
                if self.is_sparse
                else np.asarray(rows).take(self._columns, axis=1)
            )
        return Chunk(rows=rows, weights=None, location=chunk.location, ids=ids)

    def _check_unchanged(self) -> None:
        self._inner._check_unchanged()
