"""Archives of JSON and arrays: zip files that are written whole, and read with suspicion.

Members are stored, not compressed, so that no file is larger in memory than on disk. Nothing is
unpickled, imported or extracted, and the headers of arrays are matched, not evaluated.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER = "model.json"
SUMS = "SHA256SUMS"
"""Checksums of all other members, as the command ``sha256sum --check`` reads them."""
MOST_HEADER = 1 << 20
"""Bytes of the JSON member, at most, since parsed JSON takes some 20 times its size. Chosen by
hand; whatever grows with the data is in arrays."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Date of all members, so that equal models have equal files."""
MAGIC = b"\x93NUMPY\x01\x00"
FORM = re.compile(
    rb"\{'descr': '([<|](?:[fiu][1248]|b1|U[0-9]{1,6}))', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,18}(?:, ?|(?=\))))*)\), \} *\n"
)
"""Header of an array of numbers or strings in the .npy format, as NumPy writes it."""


class NewArchive:
    """Arrays that are to be written, each under a name of its own.

    Parameters
    ----------
    training_rows : bool
        Whether results of the training rows are to be written as well.
    """

    def __init__(self, training_rows: bool) -> None:
        self.training_rows = training_rows
        self._members: dict[str, bytes] = {}

    def add(self, array: NDArray[Any]) -> str:
        """Add an array, and return the name of its member."""
        name = f"{len(self._members)}.npy"
        buffer = io.BytesIO()
        little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        np.lib.format.write_array(buffer, little, version=(1, 0), allow_pickle=False)
        self._members[name] = buffer.getvalue()
        return name

    def write(self, header: dict[str, Any], path: Path) -> None:
        """Write the file, with a header of plain values."""
        text = json.dumps(header, indent=1, allow_nan=False).encode()
        if len(text) > MOST_HEADER:
            raise ValueError(
                f"the parameters of the model take {len(text)} bytes as text, more than the "
                f"{MOST_HEADER} that a file may hold; give arrays in place of lists."
            )
        members = {HEADER: text, **self._members}
        sums = (f"{sha256(content).hexdigest()}  {name}\n" for name, content in members.items())
        members[SUMS] = "".join(sums).encode()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name, EPOCH), content)


class Archive:
    """An archive that was read, whose checksums are right.

    Attributes
    ----------
    header : dict
        The JSON member.
    """

    def __init__(self, path: Path) -> None:
        # In memory: zipfile would allocate whatever the directory of a file claims.
        content = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_members(archive.infolist(), len(content))
            self._members = {info.filename: archive.read(info) for info in archive.infolist()}
        del content
        self._check_sums()
        self.header: dict[str, Any] = json.loads(self._members.pop(HEADER))
        if not isinstance(self.header, dict):
            raise ValueError(f"{HEADER} holds no object")

    def _check_sums(self) -> None:
        stated = self._members.pop(SUMS).decode("ascii").split("\n")
        found = [f"{sha256(content).hexdigest()}  {n}" for n, content in self._members.items()]
        if stated != [*found, ""]:
            raise ValueError(f"checksums differ from those in {SUMS}")

    def array(self, name: Any) -> NDArray[Any]:
        """Array of that name; each can be had once."""
        if not isinstance(name, str) or name not in self._members:
            raise ValueError("an array is missing")
        return _array(name, self._members.pop(name))

    def finish(self) -> None:
        """Raise if an array was not used."""
        if self._members:
            raise ValueError(f"{next(iter(self._members))} belongs to no attribute")


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Raise ValueError unless the members are those of an archive of ours, and fit in the file."""
    expected = [HEADER, *(f"{number}.npy" for number in range(len(members) - 2)), SUMS]
    if [info.filename for info in members] != expected:
        raise ValueError("its members are not those of a model")
    if any(info.compress_type != zipfile.ZIP_STORED for info in members):
        raise ValueError("a member is compressed")
    if any(info.compress_size != info.file_size for info in members):
        raise ValueError("the sizes of a member differ")
    if sum(info.file_size for info in members) > size:
        raise ValueError("its members are larger than the file")
    if members[0].file_size > MOST_HEADER:
        raise ValueError(f"{HEADER} is larger than {MOST_HEADER} bytes")


def _array(name: str, content: bytes) -> NDArray[Any]:
    """Array of the bytes of a .npy file."""
    start = len(MAGIC) + 2
    stop = start + int.from_bytes(content[len(MAGIC) : start], "little")
    form = FORM.fullmatch(content[start:stop])
    if not content.startswith(MAGIC) or form is None:
        raise ValueError(f"{name} is no array of numbers")
    dtype = np.dtype(form[1].decode())
    shape = tuple(int(length) for length in form[2].replace(b",", b" ").split())
    if prod(shape) * dtype.itemsize != len(content) - stop:
        raise ValueError(f"{name} has not the size of its shape {shape}")
    found = np.frombuffer(content, dtype, offset=stop).reshape(shape)
    return found.astype(dtype.newbyteorder("="))  # A copy, which may be written to.
