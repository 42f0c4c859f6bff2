"""Well-known sets of images, from verified files or from a public source."""

from __future__ import annotations

import os
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sfumato.datasets.catalog import CATALOG, DataSet, Table, checksum
from sfumato.datasets.originals import ORIGINALS, convert, fetch
from sfumato.exceptions import did_you_mean, shown
from sfumato.files import write_atomically

VARIABLE = "SFUMATO_DATA"
"""Environment variable that names a folder with files of data sets."""
USPS_ON_OPENML = 41082
"""Number of the data set on openml.org."""


class Source(NamedTuple):
    """Source of rows that may be those of a data set, or a stand-in.

    Parameters
    ----------
    place : str
        Its name in messages.
    file : str
        Name of the file in which a download is kept if its bytes are not those of the common file.
    fetch : callable
        Takes a folder for temporary files and returns rows and classes.
    class_sizes : tuple of int
        Expected rows of each class.
    caveat : str
        How the rows differ from those of the common file.
    """

    place: str
    file: str
    fetch: Callable[[str], Table]
    class_sizes: tuple[int, ...]
    caveat: str


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
    checksum must be those of the common file. Where there is none, a published file is taken that
    gives the same arrays, from the same folders or from its address, and the common file is kept.

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
        Whether to download a set of which there is no file.

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
        If there is no file, and it may not be downloaded.
    OSError
        If the download fails.

    Notes
    -----
    Published files are MATLAB files with ``fea`` and ``gnd``, or ``X`` and ``Y``: ``ORL.mat``,
    ``COIL20.mat``, ``Yale_32x32.mat`` and ``YaleB_32x32.mat``, or ``<name>.mat``; and
    ``coil-100.zip``, the pictures of COIL-100, which need matplotlib. A download is verified before
    it is parsed, shows its progress on a terminal, and goes on where it broke off.

    "usps" comes from OpenML. If the bytes are those of the common file it is kept as ``usps.npz``;
    else shape, range and rows per digit must fit, it is kept as ``usps-openml.npz``, and a warning
    is issued whenever it is used. If the file of "orl" cannot be had, scikit-learn's
    ``fetch_olivetti_faces`` are the stand-in, other crops of the same pictures, kept as
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
    (X, y), caveat = found
    if caveat:
        warnings.warn(caveat, stacklevel=2)
    if return_X_y:
        return X, y
    facts = CATALOG[name]
    note = f"\n{caveat}\n" if caveat else ""
    return Bunch(data=X, target=y, image_shape=facts.image_shape, DESCR=facts.description + note)


def _require_known(name: Any) -> None:
    """Raise unless there is such a set, with a suggestion if one is spelled alike."""
    if isinstance(name, str) and name in CATALOG:
        return
    hint = did_you_mean(shown(name), CATALOG)
    hint = f"{hint} The sets are" if hint else "use one of"
    known = ", ".join(map(repr, CATALOG))
    raise ValueError(f"name={shown(name)} is not a known data set; {hint} {known}.")


# Folders and files.


def _folders(data_home: str | os.PathLike[str] | None) -> list[Path]:
    """Folders to search, in order; the last is the user's cache."""
    named = [data_home, os.environ.get(VARIABLE) or None]
    return [*(Path(folder).expanduser() for folder in named if folder is not None), _cache()]


def _cache() -> Path:
    """Cache folder of this user and this library."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "sfumato"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "sfumato"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification says to ignore a path that is not absolute.
    return (named if named.is_absolute() else home / ".cache") / "sfumato"


def _stored(name: str, folders: list[Path]) -> tuple[Table, str] | None:
    """Rows of the first common file, else of the first stand-in, with the caveat of the latter."""
    for file in (folder / f"{name}.npz" for folder in folders):
        if file.is_file():
            table = _read(file)
            _require_form(CATALOG[name], table, str(file))
            _require_checksum(CATALOG[name], table, file)
            return table, ""
    published = ORIGINALS[name].file if name in ORIGINALS else f"{name}.mat"
    for file in (folder / own for folder in folders for own in (f"{name}.mat", published)):
        if file.is_file() and name in ORIGINALS:
            return convert(name, file), ""
    source = SOURCES.get(name)
    for file in (folder / source.file for folder in folders if source):
        if file.is_file():
            table = _read(file)
            _require_alike(name, table, str(file))
            return table, _caveat(name)
    return None


def _read(file: Path) -> Table:
    """Arrays of a file, in little-endian C order; integer classes become int64."""
    try:
        with file.open("rb") as handle, np.load(handle) as arrays:
            X, y = arrays["X"], arrays["y"]
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"{file} does not hold two arrays X and y ({type(error).__name__}: {error}); remove it "
            "or replace it by one written with numpy.savez_compressed(file, X=X, y=y)."
        ) from error
    X = X.astype(X.dtype.newbyteorder("<"), order="C", copy=False)
    return X, y.astype(np.int64) if y.dtype.kind in "iu" else y


def _write(file: Path, table: Table) -> None:
    """Write a file whole or not at all, also if another process does the same."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(file, overwrite=True) as part, part.open("wb") as handle:
        np.savez_compressed(handle, X=table[0], y=table[1])


# Downloads.


def _downloaded(name: str, folders: list[Path], keep: Path, wanted: bool) -> tuple[Table, str]:
    """Rows from a published file or a stand-in, with a caveat if need be; kept in ``keep``."""
    ways = _ways(name, keep)
    if not ways or not wanted:
        why = "download_if_missing=False" if ways else "no public source is known"
        raise FileNotFoundError(f"There is no file {name}.npz, and {why}; {_advice(name, folders)}")
    failures = []
    for place, function in ways.items():
        try:
            table = function()
            break
        except (HTTPException, OSError, ValueError, EOFError, zlib.error, ImportError) as error:
            failures.append(f"from {place} failed ({type(error).__name__}: {error})")
    else:
        raise OSError(
            f"The download {', and '.join(failures)}, and there is no file {name}.npz; "
            f"{_advice(name, folders)}"
        )
    exact = checksum(table) == CATALOG[name].sha256
    if not exact:
        _require_alike(name, table, f"What {place} sent for {name!r}")
    _keep(name, keep / (f"{name}.npz" if exact else SOURCES[name].file), table)
    return table, "" if exact else _caveat(name)


def _ways(name: str, keep: Path) -> dict[str, Callable[[], Table]]:
    """Functions that download a set, by their places, the best first."""

    def published() -> Table:
        try:
            keep.mkdir(parents=True, exist_ok=True)
            return fetch(name, keep)
        except PermissionError:
            with TemporaryDirectory() as scratch:
                return fetch(name, Path(scratch))

    def other() -> Table:
        with TemporaryDirectory() as scratch:
            return SOURCES[name].fetch(scratch)

    ways = {ORIGINALS[name].address: published} if name in ORIGINALS else {}
    return ways | ({SOURCES[name].place: other} if name in SOURCES else {})


def _keep(name: str, file: Path, table: Table) -> None:
    """Keep a download, if that is possible."""
    try:
        _write(file, table)
    except OSError as error:
        warnings.warn(
            f"The download of {name!r} cannot be kept as {file} ({error}); it will be repeated. "
            "Use data_home to name a folder that can be written to.",
            stacklevel=4,
        )


def _caveat(name: str) -> str:
    source = SOURCES[name]
    return (
        f"{name!r} is a stand-in from {source.place}: {source.caveat}. With the common file "
        f"{name}.npz in data_home or in ${VARIABLE} there is no such doubt."
    )


def _advice(name: str, folders: list[Path]) -> str:
    """Which file is needed, where to put it, and where the set comes from."""
    facts = CATALOG[name]
    places = "the folder" if len(folders) == 1 else "one of the folders"
    return (
        f"put one with the arrays {facts.form}, SHA-256 of their bytes {facts.sha256}"
        f"{_published(name)}, into {places} {', '.join(map(str, folders))}. "
        f"The set: {facts.home}; {facts.citation}"
    )


def _published(name: str) -> str:
    return (
        f", or {ORIGINALS[name].file} from {ORIGINALS[name].address}" if name in ORIGINALS else ""
    )


# sklearn.datasets is imported only for a download: it takes longer to import than this package.


def _fetch_usps(scratch: str) -> Table:
    """USPS digits from OpenML, where values are in -1 to 1 and class k is the digit k - 1."""
    from sklearn.datasets import fetch_openml

    # The default parser needs pandas, which is optional.
    found = fetch_openml(
        data_id=USPS_ON_OPENML, data_home=scratch, as_frame=False, parser="liac-arff"
    )
    # The original values are thousandths; rounding removes the error of float32.
    gray = np.round(np.asarray(found.data, dtype=np.float64), 3)
    digits = np.asarray(found.target).astype(np.int64) - 1
    return ((gray + 1) / 2).astype(np.float32), digits


def _fetch_orl(scratch: str) -> Table:
    """ORL faces from scikit-learn, 64x64 pixels in 0 to 1, averaged over squares of 2x2."""
    from sklearn.datasets import fetch_olivetti_faces

    found = fetch_olivetti_faces(data_home=scratch, shuffle=False)
    squares = np.asarray(found.images, dtype=np.float64).reshape(-1, 32, 2, 32, 2)
    gray = np.rint(255 * squares.mean(axis=(2, 4))).astype(np.uint8)
    return gray.reshape(-1, 1024), np.asarray(found.target, dtype=np.int64)


SOURCES = {
    "orl": Source(
        place="scikit-learn's Olivetti faces",
        file="orl-olivetti.npz",
        fetch=_fetch_orl,
        class_sizes=(10,) * 40,
        caveat=(
            "the same pictures, but cropped otherwise and averaged from 64x64 pixels, so that "
            "results cannot be compared with those on the common file"
        ),
    ),
    "usps": Source(
        place="OpenML",
        file="usps-openml.npz",
        fetch=_fetch_usps,
        class_sizes=(1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821),
        caveat=(
            "as many images of each digit with values in the same range, but not the same bytes, "
            "so that results may differ a little from those on the common file"
        ),
    ),
}
"""Sources of stand-ins, which may turn out to be the common file."""


# Checks.


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
    found = checksum(table)
    if found != facts.sha256:
        raise ValueError(
            f"{file} holds other data than expected: the SHA-256 of its arrays is {found}, "
            f"expected {facts.sha256}. Remove it or name another folder with data_home; to use it "
            "as it is, read it with numpy.load."
        )


def _require_alike(name: str, table: Table, what: str) -> None:
    """Raise unless shapes, types, rows per class and the range are those of the set."""
    _require_form(CATALOG[name], table, what)
    X, y = table
    expected = SOURCES[name].class_sizes
    classes, counts = (array.tolist() for array in np.unique(y, return_counts=True))
    if classes != list(range(len(expected))) or tuple(counts) != expected:
        raise ValueError(
            f"{what} has {tuple(counts)} rows of the classes {classes}; expected are "
            f"{expected} of 0 to {len(expected) - 1}. Use the common file {name}.npz instead."
        )
    top = 1 if X.dtype.kind == "f" else 255
    if not (X.min() >= 0 and X.max() <= top):  # Written so that NaN raises as well.
        raise ValueError(
            f"{what} has values from {X.min()} to {X.max()}; expected are 0 to {top}. "
            f"Use the common file {name}.npz instead."
        )
