"""Well-known sets of images, from files that are verified or from a public source."""

from __future__ import annotations

import os
import sys
import warnings
import zipfile
import zlib
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sfumato.datasets._downloads import SOURCES, Source, Table, download
from sfumato.datasets.catalog import CATALOG, DataSet

VARIABLE = "SFUMATO_DATA"
"""Environment variable that names a folder with files of data sets."""


class _Found(NamedTuple):
    """A table, and what to know about it where it is not the common one."""

    table: Table
    caveat: str = ""


def load(
    name: str,
    *,
    return_X_y: bool = False,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Bunch | tuple[NDArray[Any], NDArray[np.int64]]:
    """Images of faces, objects or digits, one per row, with their classes.

    A file ``<name>.npz`` with arrays X and y is looked for in the folder ``data_home``, in the one
    that the environment variable SFUMATO_DATA names, and in the user's cache: the folder
    ``sfumato`` in ``$XDG_CACHE_HOME`` or ``~/.cache`` (``~/Library/Caches`` on macOS,
    ``%LOCALAPPDATA%`` on Windows). The first one found is taken, and its shapes, types and
    checksum must be those of the common file.

    Parameters
    ----------
    name : {"orl", "yale", "yaleb", "coil20", "coil100", "usps"}
        Which set.
    return_X_y : bool, default=False
        Whether to return the two arrays alone.
    data_home : path-like or None, default=None
        Folder to look in first, and to keep a download in. Without it, downloads are kept in the
        cache.
    download_if_missing : bool, default=True
        Whether to download a set of which there is no file. Only "usps" and "orl" have a public
        source.

    Returns
    -------
    dataset : Bunch
        With these attributes, or the first two as a tuple if ``return_X_y``:

        data : ndarray of shape (n_samples, n_features)
            Gray values, uint8 (of "usps" float32 in 0 to 1); images in row-major order.
        target : ndarray of shape (n_samples,)
            Classes from 0 on, int64.
        image_shape : tuple of int
            Rows and columns of pixels: ``data[i].reshape(image_shape)`` is upright.
        DESCR : str
            What the images show, and whom to cite.

    Warns
    -----
    UserWarning
        If the rows are a stand-in, not those of the common file; or if a download cannot be kept.

    Raises
    ------
    ValueError
        If the name is not known, or if a file or a download is not what it should be.
    FileNotFoundError
        If there is no file, and no source or no wish to download it.
    OSError
        If the download fails.

    Notes
    -----
    "usps" comes from OpenML. If the bytes are those of the common file it is kept as ``usps.npz``;
    else shape, range and rows per digit must fit, it is kept as ``usps-openml.npz``, and a warning
    is issued whenever it is used. "orl" comes from scikit-learn's ``fetch_olivetti_faces``, which
    are other crops of the same pictures: only shape and rows per person are verified. It is kept as
    ``orl-olivetti.npz``, with the same warning. A common file in any folder comes first.

    Examples
    --------
    >>> from sfumato.datasets import load
    >>> load("cola20")
    Traceback (most recent call last):
    ...
    ValueError: name='cola20' is not a known data set; did you mean 'coil20'? The sets are 'orl', \
'yale', 'yaleb', 'coil20', 'coil100', 'usps'.
    """
    _require_known(name)
    folders = _folders(data_home)
    found = _stored(name, folders)
    if found is None:
        keep = folders[-1] if data_home is None else folders[0]
        found = _downloaded(name, folders, keep, download_if_missing)
    if found.caveat:
        warnings.warn(found.caveat, stacklevel=2)
    if return_X_y:
        return found.table.X, found.table.y
    facts = CATALOG[name]
    note = f"\n{found.caveat}\n" if found.caveat else ""
    return Bunch(
        data=found.table.X,
        target=found.table.y,
        image_shape=facts.image_shape,
        DESCR=facts.description + note,
    )


def _require_known(name: Any) -> None:
    """Raise unless there is such a set, with a suggestion if one is spelled alike."""
    if isinstance(name, str) and name in CATALOG:
        return
    close = get_close_matches(str(name).lower(), CATALOG, n=1)
    hint = f"did you mean {close[0]!r}? The sets are" if close else "use one of"
    known = ", ".join(map(repr, CATALOG))
    raise ValueError(f"name={name!r} is not a known data set; {hint} {known}.")


# Folders.


def _folders(data_home: str | os.PathLike[str] | None) -> list[Path]:
    """Where files are looked for, in order; the last is the user's cache."""
    named = [data_home, os.environ.get(VARIABLE) or None]
    return [*(Path(folder).expanduser() for folder in named if folder is not None), _cache()]


def _cache() -> Path:
    """The folder of this user and this library for files that can be had again."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "sfumato"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "sfumato"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The specification of these folders says to ignore a path that is not absolute.
    return (named if named.is_absolute() else home / ".cache") / "sfumato"


# Files.


def _stored(name: str, folders: list[Path]) -> _Found | None:
    """The set from the first folder that has the common file, else from one with a stand-in."""
    for file in (folder / f"{name}.npz" for folder in folders):
        if file.is_file():
            table = _read(file)
            _require_form(CATALOG[name], table, str(file))
            _require_checksum(CATALOG[name], table, file)
            return _Found(table)
    source = SOURCES.get(name)
    if source is None:
        return None
    for file in (folder / _stand_in(name, source) for folder in folders):
        if file.is_file():
            table = _read(file)
            _require_alike(name, table, str(file))
            return _Found(table, _caveat(name, source))
    return None


def _stand_in(name: str, source: Source) -> str:
    """Name of a downloaded file that must not be taken for the common one."""
    return f"{name}-{source.tag}.npz"


def _read(file: Path) -> Table:
    """Arrays of a file."""
    try:
        with file.open("rb") as handle, np.load(handle) as arrays:
            X, y = arrays["X"], arrays["y"]
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"{file} does not hold two arrays X and y ({type(error).__name__}: {error}); remove it "
            "or replace it by one written with numpy.savez_compressed(file, X=X, y=y)."
        ) from error
    # Files may come from a machine with the other order of bytes.
    X = X.astype(X.dtype.newbyteorder("<"), order="C", copy=False)
    return Table(X, y.astype(np.int64) if y.dtype.kind in "iu" else y)


def _write(file: Path, table: Table) -> None:
    """Write a file whole or not at all, also if another process does the same."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{uuid4().hex}.part")
    try:
        with part.open("xb") as handle:
            np.savez_compressed(handle, X=table.X, y=table.y)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


# Downloads.


def _downloaded(name: str, folders: list[Path], keep: Path, wanted: bool) -> _Found:
    """The set from its public source; a copy is kept in the folder ``keep``."""
    source = SOURCES.get(name)
    if source is None or not wanted:
        why = "download_if_missing=False" if source else "no public source is known"
        raise FileNotFoundError(f"There is no file {name}.npz, and {why}; {_advice(name, folders)}")
    try:
        table = download(source)
    except OSError as error:
        raise OSError(
            f"{error}, and there is no file {name}.npz; {_advice(name, folders)}"
        ) from error
    _require_alike(name, table, f"What {source.place} sent for {name!r}")
    exact = _checksum(table) == CATALOG[name].sha256
    file = keep / (f"{name}.npz" if exact else _stand_in(name, source))
    try:
        _write(file, table)
    except OSError as error:
        warnings.warn(
            f"The download of {name!r} cannot be kept as {file} ({error}); it will be repeated. "
            "Use data_home to name a folder that can be written to.",
            stacklevel=3,
        )
    return _Found(table, "" if exact else _caveat(name, source))


def _caveat(name: str, source: Source) -> str:
    return (
        f"{name!r} is a stand-in from {source.place}: {source.caveat}. With the common file "
        f"{name}.npz in data_home or in ${VARIABLE} there is no such doubt."
    )


def _advice(name: str, folders: list[Path]) -> str:
    """What to put where, and who has it."""
    facts = CATALOG[name]
    return (
        f"put one with the arrays {facts.form}, SHA-256 of their bytes {facts.sha256}, into one of "
        f"the folders {', '.join(map(str, folders))}. The set: {facts.home}; {facts.citation}"
    )


# Checks.


def _checksum(table: Table) -> str:
    """SHA-256 of the bytes of X, then of y, little-endian and in C order."""
    digest = sha256(table.X.tobytes())
    digest.update(table.y.astype("<i8").tobytes())
    return digest.hexdigest()


def _require_form(facts: DataSet, table: Table, what: str) -> None:
    """Raise unless the arrays have the shapes and types of the set."""
    X, y = table
    fits = X.shape == facts.shape and y.shape == (facts.n_samples,)
    if fits and X.dtype == facts.dtype and y.dtype == np.int64:
        return
    raise ValueError(
        f"{what} has X of shape {X.shape} and dtype {X.dtype}, and y of shape {y.shape} and dtype "
        f"{y.dtype}; expected are {facts.form}. Remove it or name another folder with data_home."
    )


def _require_checksum(facts: DataSet, table: Table, file: Path) -> None:
    """Raise unless the bytes are those of the common file."""
    found = _checksum(table)
    if found != facts.sha256:
        raise ValueError(
            f"{file} holds other data than expected: the SHA-256 of its arrays is {found}, "
            f"expected {facts.sha256}. Remove it or name another folder with data_home; to use it "
            "as it is, read it with numpy.load."
        )


def _require_alike(name: str, table: Table, what: str) -> None:
    """Raise unless shapes, types, rows per class and the range are those of the set."""
    facts, expected = CATALOG[name], SOURCES[name].class_sizes
    _require_form(facts, table, what)
    found = tuple(np.unique_counts(table.y).counts.tolist())
    if found != expected or table.y.min() != 0 or table.y.max() != len(expected) - 1:
        raise ValueError(
            f"{what} has {found} rows of the classes {np.unique(table.y).tolist()}; expected are "
            f"{expected} of 0 to {len(expected) - 1}. Use the common file {name}.npz instead."
        )
    top = 1 if table.X.dtype.kind == "f" else 255
    if not (table.X.min() >= 0 and table.X.max() <= top):  # So that NaN raises as well.
        raise ValueError(
            f"{what} has values from {table.X.min()} to {table.X.max()}; expected are 0 to {top}. "
            f"Use the common file {name}.npz instead."
        )
