"""Streams of .npz files, which are archives of .npy files.

A file may be damaged, or made to do harm. What it says of itself is compared with its size before
memory is allocated, and indices of sparse arrays are checked before compiled code follows them.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato.exceptions import Option, StreamError, one_line
from sfumato.streams._arrays import ArrayStream, Header, check_matrix, parse_header
from sfumato.streams._base import Chunk, FileStream, Location, Stream, default_rows
from sfumato.streams._rows import BEST_COMPRESSION, NUMBERS, BufferRing, native

SPARSE = {
    "csr": (sp.csr_array, ("data", "indices", "indptr")),
    "csc": (sp.csc_array, ("data", "indices", "indptr")),
    "bsr": (sp.bsr_array, ("data", "indices", "indptr")),
    "dia": (sp.dia_array, ("data", "offsets")),
    "coo": (sp.coo_array, ("data", "row", "col")),
}
"""Formats of ``scipy.sparse.save_npz``: the class of each, and its arrays."""


def open_npz(path: Path, key: str | None = None, chunk_rows: int | None = None) -> Stream:
    """Rows of an array in an .npz file, or of a sparse one that ``scipy.sparse.save_npz`` wrote.

    A sparse array, and one in Fortran order, whose rows are not one after the other in the file, is
    loaded as a whole.

    Parameters
    ----------
    path : Path
        The file.
    key : str, optional
        Name of the array, if there are several.
    chunk_rows : int, optional
        Rows per chunk.
    """
    with _reading(path), zipfile.ZipFile(path) as archive:
        name = _name_of(archive, path, key)
        if name is None:
            return LoadedNpz(_read_sparse(archive, path), path, chunk_rows)
        header = _header_of(archive, name)
        check_matrix(path, header.shape, header.dtype)
        if header.by_columns:
            return LoadedNpz(_read_array(archive, name), path, chunk_rows)
        return NpzStream(path, name, header, chunk_rows)


def must_be_loaded(path: Path, key: str | None = None) -> bool:
    """Whether an array has to be loaded as a whole; raises StreamError if it cannot be read."""
    with _reading(path), zipfile.ZipFile(path) as archive:
        name = _name_of(archive, path, key)
        return name is None or _header_of(archive, name).by_columns


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
        path, (n_rows, n_features) = self.paths[index], self._header.shape
        with (
            _reading(path),
            zipfile.ZipFile(path) as archive,
            archive.open(f"{self._name}.npy") as member,
        ):
            member.read(self._header.offset)
            for start in range(0, n_rows, self._rows):
                rows = ring.rows(min(self._rows, n_rows - start), n_features, self._header.dtype)
                _fill(member, rows.reshape(-1).view(np.uint8), self._name)
                if start + len(rows) == n_rows:
                    member.read(1)  # Compares the checksum.
                rows = rows.astype(self.dtype, copy=False)
                yield Chunk(rows=rows, weights=None, location=Location(self.source, start))

    def collect(self) -> Chunk:
        if not self.n_rows:
            return super().collect()
        self._check_unchanged()
        with _reading(self.paths[0]), zipfile.ZipFile(self.paths[0]) as archive:
            rows = _read_array(archive, self._name).astype(self.dtype, copy=False)
        return Chunk(rows=rows, weights=None, location=Location(self.source, 0))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise errors of a damaged archive, which can be of any kind, as StreamError."""
    try:
        yield
    except (StreamError, FileNotFoundError):
        raise
    except Exception as error:
        with path.open("rb") as file:
            is_npy = file.read(6) == b"\x93NUMPY"
        why = "it is an .npy file" if is_npy else one_line(error)
        raise StreamError(f"{path} cannot be read as npz ({why}); check the file.") from error


def _name_of(archive: zipfile.ZipFile, path: Path, key: str | None) -> str | None:
    """Name of the array to read; None for the arrays of a sparse one."""
    names = [name.removesuffix(".npy") for name in archive.namelist()]
    if key is None and {"format", "shape", "data"} <= {*names}:
        return None
    if key is None and len(names) == 1:
        key = names[0]
    if key is None or key not in names:
        raise StreamError(
            f"{path} holds the arrays {', '.join(names)}"
            + (f", not {key}" if key else "")
            + "; choose one with ",
            Option("key"),
            ".",
        )
    return key


def _header_of(archive: zipfile.ZipFile, name: str) -> Header:
    """Header of an array; raises ValueError if the array cannot be as large as it says."""
    info = archive.getinfo(f"{name}.npy")
    if info.file_size > BEST_COMPRESSION * (info.compress_size + 1):
        raise ValueError(f"{name} is said to have {info.file_size} bytes, which cannot be")
    with archive.open(info) as member:
        header = parse_header(member)
    if header.dtype.hasobject:
        return header  # Refused by whoever looks at its type.
    size = info.file_size - header.offset
    if math.prod(header.shape) * header.dtype.itemsize != size:
        raise ValueError(
            f"{name}, of shape {header.shape} and type {header.dtype}, does not have the {size} "
            "bytes that are there"
        )
    return header


def _read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    shape, by_columns, dtype, offset = _header_of(archive, name)
    if dtype.hasobject:
        raise ValueError(f"{name} holds objects")
    content = np.empty(math.prod(shape) * dtype.itemsize, np.uint8)
    with archive.open(f"{name}.npy") as member:
        member.read(offset)
        _fill(member, content, name)
        member.read(1)  # Compares the checksum.
    values = content.view(dtype) if content.size else np.empty(0, dtype)
    return values.reshape(shape, order="F" if by_columns else "C")


def _fill(member: Any, content: NDArray[np.uint8], name: str) -> None:
    """Read bytes into an array; raises ValueError if the file ends before."""
    left = content.data
    while len(left):
        read = member.readinto(left)
        if not read:
            raise ValueError(f"{name} ends too early")
        left = left[read:]


def _read_sparse(archive: zipfile.ZipFile, path: Path) -> sp.csr_array:
    kind = _read_array(archive, "format").item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
    if kind not in SPARSE:
        raise ValueError(f"its format, {kind!r}, is not known")
    form, names = SPARSE[kind]
    shape = _read_shape(archive, path)
    arrays: dict[str, Any] = {name: _read_array(archive, name) for name in names}
    for name, values in arrays.items():
        if values.dtype.kind not in (NUMBERS if name == "data" else "iu"):
            raise ValueError(f"{name} is of type {values.dtype}")
    data, *indices = arrays.values()
    if kind == "coo":  # Its constructor checks all indices.
        indices = [tuple(indices)]
    elif kind == "dia" and indices[0].size and np.abs(indices[0]).max() >= max(shape):
        raise ValueError("diagonals are outside of the matrix")
    matrix = form((data, *indices), shape=shape)
    if kind in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)
    return sp.csr_array(matrix)


def _read_shape(archive: zipfile.ZipFile, path: Path) -> tuple[int, int]:
    shape = _read_array(archive, "shape")
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
        raise ValueError(f"its shape is {shape.tolist()}")
    n_rows, n_columns = map(int, shape)
    if n_rows > BEST_COMPRESSION * path.stat().st_size:
        raise ValueError(f"it is said to have {n_rows} rows")
    return n_rows, n_columns
