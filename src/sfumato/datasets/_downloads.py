"""Public sources of data sets, and how what they give becomes rows of ours."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from http.client import HTTPException
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

USPS_ON_OPENML = 41082
"""Number of the data set on openml.org."""
USPS_DIGITS = 3
"""Decimal digits of the original gray values, which are thousandths."""


class Table(NamedTuple):
    """Rows and their classes."""

    X: NDArray[Any]
    y: NDArray[np.int64]


class Source(NamedTuple):
    """Where a data set can be had.

    Parameters
    ----------
    place : str
        Name of the place, for people.
    tag : str
        Name of the place within names of files.
    fetch : callable
        Takes a folder for temporary files and returns a Table.
    class_sizes : tuple of int
        Rows of each class there.
    caveat : str
        How the rows differ from those of the common file.
    """

    place: str
    tag: str
    fetch: Callable[[str], Table]
    class_sizes: tuple[int, ...]
    caveat: str


def download(source: Source) -> Table:
    """Rows from a public source; no file is left behind.

    Parameters
    ----------
    source : Source
        One of ``SOURCES``.

    Returns
    -------
    table : Table

    Raises
    ------
    OSError
        If the source cannot be reached, or what it sends cannot be read.
    """
    try:
        with TemporaryDirectory() as scratch:
            return source.fetch(scratch)
    except (HTTPException, OSError, ValueError, EOFError, zlib.error) as error:
        raise OSError(
            f"The download from {source.place} failed ({type(error).__name__}: {error})"
        ) from error


# The fetchers are imported where they are used: most calls find a file, and sklearn.datasets is
# larger than the rest of this package's imports.


def _fetch_usps(scratch: str) -> Table:
    """USPS digits from OpenML, where values are in -1 to 1 and class k is the digit k - 1."""
    from sklearn.datasets import fetch_openml

    # The other parser needs pandas, which is an extra.
    found = fetch_openml(
        data_id=USPS_ON_OPENML, data_home=scratch, as_frame=False, parser="liac-arff"
    )
    # Rounding takes away what storing thousandths as float32 would have added to them.
    gray = np.round(np.asarray(found.data, dtype=np.float64), USPS_DIGITS)
    digits = np.asarray(found.target).astype(np.int64) - 1
    return Table(((gray + 1) / 2).astype(np.float32), digits)


def _fetch_orl(scratch: str) -> Table:
    """ORL faces as scikit-learn has them, 64x64 pixels in 0 to 1, averaged over blocks of 2x2."""
    from sklearn.datasets import fetch_olivetti_faces

    found = fetch_olivetti_faces(data_home=scratch, shuffle=False)
    blocks = np.asarray(found.images, dtype=np.float64).reshape(-1, 32, 2, 32, 2)
    gray = np.rint(255 * blocks.mean(axis=(2, 4))).astype(np.uint8)
    return Table(gray.reshape(-1, 1024), np.asarray(found.target, dtype=np.int64))


SOURCES: dict[str, Source] = {
    "orl": Source(
        place="scikit-learn's Olivetti faces",
        tag="olivetti",
        fetch=_fetch_orl,
        class_sizes=(10,) * 40,
        caveat=(
            "the same pictures, but cropped otherwise and averaged from 64x64 pixels, so that "
            "results cannot be compared with those on the common file"
        ),
    ),
    "usps": Source(
        place="OpenML",
        tag="openml",
        fetch=_fetch_usps,
        class_sizes=(1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821),
        caveat=(
            "as many images of each digit with values in the same range, but not the same bytes, "
            "so that results may differ a little from those on the common file"
        ),
    ),
}
"""Data sets that can be downloaded; of the others no source with these rows is known."""
