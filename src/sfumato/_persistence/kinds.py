"""Kinds of values in a model file: each writes plain values and arrays, and checks what it reads.

Nothing that is read decides which class is made: classes are those of the schema.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
import scipy.sparse as sp

from sfumato._persistence.archive import Archive, NewArchive
from sfumato.exceptions import shown


class Source:
    """An archive that is being read, and the sizes of the axes that have been seen in it."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self._sizes: dict[str, int] = {}

    def check_size(self, axis: str, size: int) -> None:
        """Raise ValueError if another value has another size along an axis."""
        if self._sizes.setdefault(axis, size) != size:
            raise ValueError(f"there are both {self._sizes[axis]} and {size} {axis}")

    def size(self, axis: str) -> int:
        """Size of an axis."""
        return self._sizes[axis]


class Kind(ABC):
    """A kind of value."""

    @abstractmethod
    def write(self, value: Any, archive: NewArchive) -> Any:
        """Plain value for JSON; arrays are added to the archive."""

    @abstractmethod
    def read(self, stored: Any, source: Source) -> Any:
        """Value of a plain value; raises ValueError, TypeError or LookupError if it is none."""


def require(condition: bool, stored: Any, expected: str) -> None:
    """Raise ValueError about a stored value unless the condition holds."""
    if not condition:
        raise ValueError(f"{shown(stored)} is not {expected}")


class Whole(Kind):
    """An integer from a smallest value on."""

    def __init__(self, least: int = 0) -> None:
        self.least = least

    def write(self, value: Any, archive: NewArchive) -> int:
        return int(value)

    def read(self, stored: Any, source: Source) -> int:
        require(type(stored) is int and stored >= self.least, stored, "such a whole number")
        return int(stored)


class Size(Whole):
    """Number of items along an axis."""

    def __init__(self, axis: str) -> None:
        super().__init__(1)
        self.axis = axis

    def read(self, stored: Any, source: Source) -> int:
        size = super().read(stored, source)
        source.check_size(self.axis, size)
        return size


class Real(Kind):
    """A number, infinite or NaN ones included."""

    def write(self, value: Any, archive: NewArchive) -> float | str:
        number = float(value)
        return number if math.isfinite(number) else str(number)

    def read(self, stored: Any, source: Source) -> float:
        if isinstance(stored, str):
            require(stored in ("nan", "inf", "-inf"), stored, "a number")
        else:
            require(type(stored) in (int, float), stored, "a number")
        return float(stored)


class Plain(Kind):
    """True or False, or a string."""

    def __init__(self, kind: type[bool] | type[str]) -> None:
        self.kind = kind

    def write(self, value: Any, archive: NewArchive) -> bool | str:
        return self.kind(value)

    def read(self, stored: Any, source: Source) -> bool | str:
        require(type(stored) is self.kind, stored, f"a {self.kind.__name__}")
        return self.kind(stored)


class Maybe(Kind):
    """A value of some kind, or None."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def write(self, value: Any, archive: NewArchive) -> Any:
        return None if value is None else self.kind.write(value, archive)

    def read(self, stored: Any, source: Source) -> Any:
        return None if stored is None else self.kind.read(stored, source)


class Array(Kind):
    """An array of numbers; its axes are named, and have the same size wherever they are named.

    Parameters
    ----------
    dtypes : str
        Allowed types, in the short names of NumPy: "f4 f8".
    *axes : str
    finite : bool, default=False
        Whether NaN and infinity are refused.
    """

    def __init__(self, dtypes: str, *axes: str, finite: bool = False) -> None:
        self.dtypes, self.axes, self.finite = dtypes, axes, finite

    def write(self, value: Any, archive: NewArchive) -> str:
        return archive.add(np.asarray(value))

    def read(self, stored: Any, source: Source) -> Any:
        found = source.archive.array(stored)
        fits = found.dtype.str[1:] in self.dtypes.split() and found.ndim == len(self.axes)
        expected = f"an array of {' or '.join(self.dtypes.split())} with axes {self.axes}"
        require(fits, (found.dtype.str, found.shape), expected)
        require(not self.finite or bool(np.isfinite(found).all()), found, "finite")
        for axis, size in zip(self.axes, found.shape, strict=True):
            source.check_size(axis, size)
        return found


class Names(Kind):
    """Strings, as an array of objects, along an axis."""

    def __init__(self, axis: str) -> None:
        self.axis = axis

    def write(self, value: Any, archive: NewArchive) -> str:
        names = np.asarray(list(value), dtype=np.str_)
        if [str(name) for name in value] != names.tolist():  # NumPy drops final null characters.
            raise ValueError("a name of a feature ends in a null character; rename it.")
        return archive.add(names)

    def read(self, stored: Any, source: Source) -> Any:
        found = source.archive.array(stored)
        require(found.dtype.kind == "U" and found.ndim == 1, found.dtype, "an array of names")
        source.check_size(self.axis, len(found))
        return found.astype(object)


class Csr(Kind):
    """A sparse matrix, as a csr_array; its axes may be named."""

    def __init__(self, *axes: str) -> None:
        self.axes = axes

    def write(self, value: Any, archive: NewArchive) -> dict[str, Any]:
        parts = {part: archive.add(getattr(value, part)) for part in ("data", "indices", "indptr")}
        return {"shape": list(value.shape), **parts}

    def read(self, stored: Any, source: Source) -> sp.csr_array:
        shape = tuple(Whole().read(size, source) for size in stored["shape"])
        arrays = [source.archive.array(stored[part]) for part in ("data", "indices", "indptr")]
        dtypes = [each.dtype.str[1:] for each in arrays]
        fits = dtypes[0] in ("f4", "f8") and dtypes[1] == dtypes[2] and dtypes[2] in ("i4", "i8")
        require(fits and len(shape) == 2, dtypes, "a sparse matrix of numbers")
        for axis, size in zip(self.axes, shape, strict=False):
            source.check_size(axis, size)
        # Before SciPy sees it: the pointers must not ask for more than there is.
        require(arrays[2].shape == (shape[0] + 1,), arrays[2].shape, "an index of its rows")
        found = sp.csr_array(tuple(arrays), shape=shape)
        found.check_format(full_check=True)
        return found


class Record(Kind):
    """A dataclass or a named tuple of fields of known kinds."""

    def __init__(self, made: type, **fields: Kind) -> None:
        self.made, self.fields = made, fields

    def write(self, value: Any, archive: NewArchive) -> dict[str, Any]:
        return write_fields(self.fields, {n: getattr(value, n) for n in self.fields}, archive)

    def read(self, stored: Any, source: Source) -> Any:
        return self.made(**read_fields(self.fields, stored, source))


def write_fields(
    fields: Mapping[str, Kind], values: Mapping[str, Any], archive: NewArchive
) -> dict[str, Any]:
    """Plain values of named values, each of its kind."""
    return {name: kind.write(values[name], archive) for name, kind in fields.items()}


def read_fields(fields: Mapping[str, Kind], stored: Any, source: Source) -> dict[str, Any]:
    """Named values, each of its kind; all of them must be there, and no other."""
    require(isinstance(stored, dict), stored, "an object")
    for name in fields.keys() ^ stored.keys():
        raise ValueError(f"{shown(name)} is {'missing' if name in fields else 'not known'}")
    found = {}
    for name, kind in fields.items():
        try:
            found[name] = kind.read(stored[name], source)
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{name}: {error}") from error
    return found


class Several(Kind):
    """A tuple of values of one kind; few of them, since they are written to the header."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def write(self, value: Any, archive: NewArchive) -> list[Any]:
        return [self.kind.write(each, archive) for each in value]

    def read(self, stored: Any, source: Source) -> tuple[Any, ...]:
        require(isinstance(stored, list), stored, "a list")
        return tuple(self.kind.read(each, source) for each in stored)


class Named(Kind):
    """One of several objects, by its name."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.known = known

    def write(self, value: Any, archive: NewArchive) -> str:
        return next(name for name, known in self.known.items() if known is value)

    def read(self, stored: Any, source: Source) -> Any:
        require(isinstance(stored, str) and stored in self.known, stored, "known")
        return self.known[stored]


def enumerated(made: type[Enum]) -> Named:
    """Members of an enumeration."""
    return Named(dict(made.__members__))
