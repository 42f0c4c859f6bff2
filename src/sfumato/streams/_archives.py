"""Arrays in .npz archives, which hold an .npy file each.

A file may be damaged, or made to do harm. What it says of itself is compared with its size before
memory is allocated.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.exceptions import Option, StreamError, one_line
from sfumato.streams._arrays import Header, parse_header
from sfumato.streams._rows import BEST_COMPRESSION

BLOCK_BYTES = 1 << 20
"""Bytes, or indices, that are read at a time where they are only looked at; chosen by hand."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
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


def name_of(archive: zipfile.ZipFile, path: Path, key: str | None) -> str | None:
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


def header_of(archive: zipfile.ZipFile, name: str) -> Header:
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


class StoredArray:
    """An array in an archive, read from its beginning to its end.

    Parameters
    ----------
    archive : ZipFile
        The archive.
    name : str
        Name of the array.
    """

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._name, self.header = name, header_of(archive, name)
        if self.header.dtype.hasobject:
            raise ValueError(f"{name} holds objects")
        self.member: Any = archive.open(f"{name}.npy")
        self.member.read(self.header.offset)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.member.close()

    def take(self, count: int) -> NDArray[Any]:
        """Next numbers of the array."""
        values = np.empty(count, self.header.dtype)
        self.fill(values)
        return values

    def fill(self, values: NDArray[Any]) -> None:
        """Read the next numbers into an array; raises ValueError if the file ends before."""
        left = values.reshape(-1).view(np.uint8).data if values.size else b""
        while len(left):
            read = self.member.readinto(left)
            if not read:
                raise ValueError(f"{self._name} ends too early")
            left = left[read:]

    def finish(self) -> None:
        """Read what is left, and compare the checksum; raises an error if that is wrong."""
        while self.member.read(BLOCK_BYTES):
            pass


def read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """The whole of an array."""
    with StoredArray(archive, name) as array:
        values = array.take(math.prod(array.header.shape))
        array.finish()
    return values.reshape(array.header.shape, order="F" if array.header.by_columns else "C")
