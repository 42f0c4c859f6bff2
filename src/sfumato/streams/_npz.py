"""Streams of .npz files, which are archives: all of an array is in memory.

A file may be damaged, or made to do harm. What it says of itself is compared with its size before
memory is allocated, and indices of sparse arrays are checked before compiled code follows them.
"""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato.exceptions import Option, StreamError, one_line
from sfumato.streams._arrays import ArrayStream, check_matrix, parse_header
from sfumato.streams._base import Chunk, Location
from sfumato.streams._rows import BEST_COMPRESSION, NUMBERS

SPARSE = {
    "csr": (sp.csr_array, ("data", "indices", "indptr")),
    "csc": (sp.csc_array, ("data", "indices", "indptr")),
    "bsr": (sp.bsr_array, ("data", "indices", "indptr")),
    "dia": (sp.dia_array, ("data", "offsets")),
    "coo": (sp.coo_array, ("data", "row", "col")),
}
"""Formats of ``scipy.sparse.save_npz``: the class of each, and its arrays."""


class NpzStream(ArrayStream):
    """Rows of an array in an .npz file, or of a sparse one that ``scipy.sparse.save_npz`` wrote.

    Parameters
    ----------
    path : Path
        The file.
    key : str, optional
        Name of the array, if there are several.
    chunk_rows : int, optional
        Rows per chunk.
    """

    def __init__(self, path: Path, key: str | None = None, chunk_rows: int | None = None) -> None:
        try:
            values = _read(path, key)
        except (StreamError, FileNotFoundError):
            raise
        except Exception as error:  # A damaged archive can raise anything.
            raise StreamError(
                f"{path} cannot be read as npz ({one_line(error)}); check the file."
            ) from error
        super().__init__(values, chunk_rows, str(path))

    def collect(self) -> Chunk:
        if not self.n_rows:
            return super().collect()
        return Chunk(rows=self._values, weights=None, location=Location(self.source, 0))


def _read(path: Path, key: str | None) -> Any:
    with path.open("rb") as file:
        if file.read(6) == b"\x93NUMPY":
            raise ValueError("it is an .npy file")
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        if key is None and {"format", "shape", "data"} <= {*names}:
            return _read_sparse(archive, path)
        if key is None and len(names) == 1:
            key = names[0]
        if key not in names:
            raise StreamError(
                f"{path} holds the arrays {', '.join(names)}"
                + (f", not {key}" if key else "")
                + "; choose one with ",
                Option("key"),
                ".",
            )
        return _read_array(archive, key, path)


def _read_array(archive: zipfile.ZipFile, name: str, path: Path | None = None) -> NDArray[Any]:
    """Read an array; with a path, refuse what is no matrix before its numbers are read."""
    info = archive.getinfo(f"{name}.npy")
    if info.file_size > BEST_COMPRESSION * (info.compress_size + 1):
        raise ValueError(f"{name} is said to have {info.file_size} bytes, which cannot be")
    with archive.open(info) as opened:
        member: Any = opened  # Its type lacks ``readinto``.
        shape, by_columns, dtype, offset = parse_header(member)
        if path is not None:
            check_matrix(path, shape, dtype)
        if dtype.hasobject:
            raise ValueError(f"{name} holds objects")
        size = math.prod(shape) * dtype.itemsize
        if size != info.file_size - offset:
            raise ValueError(
                f"{name}, of shape {shape} and type {dtype}, does not have the "
                f"{info.file_size - offset} bytes that are there"
            )
        content = np.empty(size, np.uint8)
        left = content.data
        while len(left):
            read = member.readinto(left)
            if not read:
                raise ValueError(f"{name} ends too early")
            left = left[read:]
        member.read(1)  # Compares the checksum.
    values = content.view(dtype) if size else np.empty(0, dtype)
    return values.reshape(shape, order="F" if by_columns else "C")


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
