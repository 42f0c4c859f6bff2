"""Streams of .npz files, which are archives of .npy files.

Indices of sparse arrays are checked before compiled code follows them.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import finalize

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import index_problem, offset_problem
from sfumato.exceptions import StreamError, one_line
from sfumato.streams._archives import (
    BLOCK_BYTES,
    StoredArray,
    header_of,
    name_of,
    read_array,
    reading,
)
from sfumato.streams._arrays import (
    ArrayStream,
    Header,
    check_matrix,
    fill_by_columns,
    filled_chunks,
)
from sfumato.streams._base import Chunk, FileStream, Location, Stream, default_rows
from sfumato.streams._rows import BEST_COMPRESSION, NUMBERS, BufferRing, native

SPARSE = {
    "csc": (sp.csc_array, ("data", "indices", "indptr")),
    "bsr": (sp.bsr_array, ("data", "indices", "indptr")),
    "dia": (sp.dia_array, ("data", "offsets")),
    "coo": (sp.coo_array, ("data", "row", "col")),
}
"""Formats of ``scipy.sparse.save_npz`` other than CSR: the class of each, and its arrays."""


def open_npz(path: Path, key: str | None = None, chunk_rows: int | None = None) -> Stream:
    """Rows of an array in an .npz file, or of a sparse one that ``scipy.sparse.save_npz`` wrote.

    A sparse array of another format than CSR, whose rows are scattered over the file, is loaded as
    a whole.

    Parameters
    ----------
    path : Path
        The file.
    key : str, optional
        Name of the array, if there are several.
    chunk_rows : int, optional
        Rows per chunk.
    """
    with reading(path), zipfile.ZipFile(path) as archive:
        name = name_of(archive, path, key)
        if name is None:
            form = _format_of(archive)
            if form == "csr":
                return CsrNpzStream(path, archive, chunk_rows)
            return LoadedNpz(_read_sparse(archive, path, form), path, chunk_rows)
        header = header_of(archive, name)
        check_matrix(path, header.shape, header.dtype)
        kind = FortranNpzStream if header.by_columns else NpzStream
        return kind(path, name, header, chunk_rows)


def loaded_format(path: Path, key: str | None = None) -> str | None:
    """Format of a sparse array that has to be loaded as a whole; None if it is streamed.

    Raises StreamError if the file cannot be read.
    """
    with reading(path), zipfile.ZipFile(path) as archive:
        form = "csr" if name_of(archive, path, key) is not None else _format_of(archive)
        return None if form == "csr" else form


class LoadedNpz(ArrayStream):
    """Rows of an array that was loaded from an .npz file.

    Parameters
    ----------
    values : ndarray or csr_array
    path : Path
        The file.
    chunk_rows : int, optional
        Rows per chunk.
    """

    def __init__(self, values: Any, path: Path, chunk_rows: int | None = None) -> None:
        super().__init__(values, chunk_rows, str(path))

    def collect(self) -> Chunk:
        if not self.n_rows:
            return super().collect()
        return Chunk(rows=self._values, weights=None, location=Location(self.source, 0))


class NpzStream(FileStream):
    """Rows of an array in an .npz file, decompressed anew in every pass.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Name of the array.
    header : Header
        Its header.
    chunk_rows : int, optional
        Rows per chunk.
    """

    def __init__(self, path: Path, name: str, header: Header, chunk_rows: int | None) -> None:
        super().__init__([path])
        self._name, self._header = name, header
        self.n_rows, self.n_features = header.shape
        self.dtype = native(header.dtype)
        self._rows = chunk_rows or default_rows(header.dtype.itemsize * self.n_features)

    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        def fill(start: int, rows: NDArray[Any]) -> None:
            array.fill(rows)
            if start + len(rows) == self._header.shape[0]:
                array.finish()

        path = self.paths[index]
        with (
            reading(path),
            zipfile.ZipFile(path) as archive,
            StoredArray(archive, self._name) as array,
        ):
            yield from filled_chunks(self.source, self._header, self._rows, ring, fill)

    def collect(self) -> Chunk:
        if not self.n_rows:
            return super().collect()
        self._check_unchanged()
        with reading(self.paths[0]), zipfile.ZipFile(self.paths[0]) as archive:
            rows = read_array(archive, self._name).astype(self.dtype, copy=False)
        return Chunk(rows=rows, weights=None, location=Location(self.source, 0))


class FortranNpzStream(NpzStream):
    """Rows of an array in Fortran order in an .npz file.

    Its rows are scattered over the file, which cannot be read from just any place, so that the
    first pass unpacks the array into a temporary file. That has no name: nothing is left of it when
    the stream is gone, or the process.
    """

    def __init__(self, path: Path, name: str, header: Header, chunk_rows: int | None) -> None:
        super().__init__(path, name, header, chunk_rows)
        self._file: FileIO | None = None
        self._turn = Lock()  # Passes at the same time share the place at which the file is read.

    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        with self._turn:
            file = self._file = self._file or self._unpack(self.paths[index])
        header = self._header._replace(offset=0)

        def fill(start: int, rows: NDArray[Any]) -> None:
            with self._turn:
                fill_by_columns(file, header, start, rows)

        yield from filled_chunks(self.source, header, self._rows, ring, fill)

    def _unpack(self, path: Path) -> FileIO:
        file = self._temporary(partial(tempfile.TemporaryFile, buffering=0))
        finalize(self, file.close)
        with (
            reading(path),
            zipfile.ZipFile(path) as archive,
            StoredArray(archive, self._name) as array,
        ):
            while block := array.member.read(BLOCK_BYTES):
                self._temporary(partial(write_all, file, block))
        return file

    def _temporary(self, work: Callable[[], Any]) -> Any:
        """Do something with the temporary file; raises StreamError if that fails."""
        try:
            return work()
        except OSError as error:
            raise StreamError(
                f"{self.source} holds an array in Fortran order, which cannot be unpacked into a "
                f"temporary file in {tempfile.gettempdir()} ({one_line(error)}); let TMPDIR name a "
                "folder with more space, or save the array in C order."
            ) from error


def write_all(file: FileIO, content: bytes) -> None:
    """Write all bytes, however many a call takes."""
    left = memoryview(content)
    while len(left):
        left = left[file.write(left) :]


class CsrNpzStream(FileStream):
    """Rows of a CSR array in an .npz file, decompressed anew in every pass.

    Parameters
    ----------
    path : Path
        The file.
    archive : ZipFile
        The file, open.
    chunk_rows : int, optional
        Rows per chunk.

    Notes
    -----
    All column indices are checked before the first chunk. If one is out of range in a damaged file,
    the checksum is the first error, as it is where the array is read as a whole.
    """

    is_sparse = True

    def __init__(self, path: Path, archive: zipfile.ZipFile, chunk_rows: int | None) -> None:
        super().__init__([path])
        self.n_rows, self.n_features = _read_shape(archive, path)
        data, indices = (_vector_of(archive, name) for name in ("data", "indices"))
        (n_data,), (n_indices,) = data.shape, indices.shape
        offsets = read_array(archive, "indptr")
        problem = offset_problem(offsets, self.n_rows, n_indices, n_data)
        if problem is not None:
            raise ValueError(problem)
        self._offsets = offsets.astype(np.int64)
        self.dtype = native(data.dtype)
        stored = n_data * (data.dtype.itemsize + indices.dtype.itemsize) + self._offsets.nbytes
        self._row_bytes = stored / max(1, self.n_rows)
        self._rows = chunk_rows or default_rows(self._row_bytes)
        self._checked = False

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in a chunk, on average."""
        return self._row_bytes

    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        offsets, n_rows = self._offsets, len(self._offsets) - 1
        with reading(self.paths[index]), zipfile.ZipFile(self.paths[index]) as archive:
            if not self._checked:
                self._check_indices(archive)
                self._checked = True
            with StoredArray(archive, "data") as data, StoredArray(archive, "indices") as indices:
                for start in range(0, n_rows, self._rows):
                    own = offsets[start : start + self._rows + 1]
                    values, columns = (each.take(own[-1] - own[0]) for each in (data, indices))
                    if start + len(own) > n_rows:
                        data.finish()
                    yield self._chunk(values, columns, own - own[0], start)

    def collect(self) -> Chunk:
        if not self.n_rows:
            return super().collect()
        self._check_unchanged()
        with reading(self.paths[0]), zipfile.ZipFile(self.paths[0]) as archive:
            columns = read_array(archive, "indices")
            problem = index_problem("indices", columns[: self._offsets[-1]], self.n_features)
            if problem is not None:
                raise ValueError(problem)
            values = read_array(archive, "data")
        return self._chunk(values, columns, self._offsets, 0)

    def _check_indices(self, archive: zipfile.ZipFile) -> None:
        """Raise ValueError if a column index is out of range; reads all of them."""
        problem, end = None, int(self._offsets[-1])
        with StoredArray(archive, "indices") as indices:
            for first in range(0, end, BLOCK_BYTES):
                block = indices.take(min(BLOCK_BYTES, end - first))
                problem = problem or index_problem("indices", block, self.n_features, first)
            indices.finish()
        if problem is not None:
            raise ValueError(problem)

    def _chunk(
        self, values: NDArray[Any], columns: NDArray[Any], offsets: NDArray[Any], start: int
    ) -> Chunk:
        shape = len(offsets) - 1, self.n_features
        rows = sp.csr_array((values.astype(self.dtype, copy=False), columns, offsets), shape=shape)
        return Chunk(rows=rows, weights=None, location=Location(self.source, start))


def _vector_of(archive: zipfile.ZipFile, name: str) -> Header:
    """Header of an array of a CSR array; raises ValueError if it cannot be one."""
    header = header_of(archive, name)
    if len(header.shape) != 1:
        raise ValueError(f"{name} has shape {header.shape}")
    _check_type(name, header.dtype)
    return header


def _check_type(name: str, dtype: np.dtype[Any]) -> None:
    """Raise ValueError if an array of a sparse array has another type than it should have."""
    if dtype.kind not in (NUMBERS if name == "data" else "iu"):
        raise ValueError(f"{name} is of type {dtype}")


def _format_of(archive: zipfile.ZipFile) -> str:
    """Format of a sparse array."""
    form = read_array(archive, "format").item()
    form = form.decode("ascii") if isinstance(form, bytes) else form
    if form not in SPARSE and form != "csr":
        raise ValueError(f"its format, {form!r}, is not known")
    return str(form)


def _read_sparse(archive: zipfile.ZipFile, path: Path, kind: str) -> sp.csr_array:
    form, names = SPARSE[kind]
    shape = _read_shape(archive, path)
    arrays: dict[str, Any] = {name: read_array(archive, name) for name in names}
    for name, values in arrays.items():
        _check_type(name, values.dtype)
    data, *indices = arrays.values()
    if kind == "coo":  # Its constructor checks all indices.
        indices = [tuple(indices)]
    elif kind == "dia" and indices[0].size and np.abs(indices[0]).max() >= max(shape):
        raise ValueError("diagonals are outside of the matrix")
    matrix = form((data, *indices), shape=shape)
    if kind in ("csc", "bsr"):
        matrix.check_format(full_check=True)
    return sp.csr_array(matrix)


def _read_shape(archive: zipfile.ZipFile, path: Path) -> tuple[int, int]:
    shape = read_array(archive, "shape")
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
        raise ValueError(f"its shape is {shape.tolist()}")
    n_rows, n_columns = map(int, shape)
    if n_rows > BEST_COMPRESSION * path.stat().st_size:
        raise ValueError(f"it is said to have {n_rows} rows")
    return n_rows, n_columns
