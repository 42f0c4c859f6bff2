"""Files in which others publish the image sets, and how they become the rows of the catalog.

MATLAB files hold images in column-major order, gray values from 0 to 255 or to 1, and classes from
1 on. The checksum of the catalog decides which of these it was.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.datasets.catalog import CATALOG, DataSet, Table, checksum
from sfumato.datasets.download import download

GITHUB = "https://raw.githubusercontent.com"
COLUMBIA = "https://www.cs.columbia.edu/CAVE/databases/SLAM_coil-20_coil-100/coil-100"
NAMES = (("fea", "gnd"), ("X", "Y"), ("X", "y"))
"""Names of rows and classes in a MATLAB file."""
PICTURE = re.compile(r"(?:.*/)?obj(\d{1,3})__(\d{1,3})\.(png|ppm)")
"""Name of a picture of COIL-100: number of the object, and degrees."""
LARGEST_PICTURE = 1 << 17
"""Bytes of a picture, at most; one of 128x128 pixels in three colors has 49,152."""


class Original(NamedTuple):
    """A published file of a data set.

    Attributes
    ----------
    url : str
        Address after ``GITHUB`` or ``COLUMBIA``.
    sha256 : str or None
        Checksum of the file, if it is known.
    """

    url: str
    sha256: str | None

    @property
    def file(self) -> str:
        """Name of the file."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def address(self) -> str:
        """Complete address."""
        return f"{COLUMBIA if self.file.endswith('.zip') else GITHUB}/{self.url}"


_ADAGAE = "hyzhang98/AdaGAE/6d04946060bacd41ee31eba5c124887bca44f369/data"

ORIGINALS = {
    "orl": Original(
        f"{_ADAGAE}/ORL.mat",
        "93e77e7f55c91cd75bef032e8381d439353c2121ec58b07eb73759991a5f73e2",
    ),
    "coil20": Original(
        f"{_ADAGAE}/COIL20.mat",
        "b22b9beb0668f707990eda2b5f922384fd3e6d63d6df7ede3a3b5e2319c4e397",
    ),
    "yale": Original(
        "ma-xu/ORL3/0efe9e8df8fd3642fbf1f5e258f51165e475b1f1/Yale_32x32.mat",
        "beb3cc9f448c1ab786583c8f5429368c299843ee88263f9650ed463004ef7633",
    ),
    "yaleb": Original(
        "Fjr9516/BCT/046097e9609b2b6b51a3fe5f0c882a7c039e34a1/data/YaleB_32x32.mat",
        "3fbbda4eb781b9bb28025189677b6727706e114eb0215bbfd718f1f4fcb54b99",
    ),
    "coil100": Original("coil-100.zip", None),
}
"""Published files by the name of the set."""


def fetch(name: str, folder: Path) -> Table:
    """Rows of a set from its published file; an unfinished download stays in the folder."""
    original = ORIGINALS[name]
    part = folder / f"{original.file}.part"
    download(original.address, part, original.sha256)
    try:
        return convert(name, part)
    finally:
        part.unlink()


def convert(name: str, file: Path) -> Table:
    """Rows of a set from a published file; raises ValueError if they are not those of the set."""
    facts = CATALOG[name]
    tables = _from_pictures(facts, file) if name == "coil100" else _from_matlab(facts, file)
    for table in tables:
        if checksum(table) == facts.sha256:
            return table
    raise ValueError(
        f"{file} holds other data than expected: no order of its pixels gives arrays of the "
        f"SHA-256 {facts.sha256}"
    )


def _from_matlab(facts: DataSet, file: Path) -> Iterator[Table]:
    """Rows in each order of the pixels, and each range of gray values, that a file may have."""
    X, y = _matlab_arrays(file)
    if X.shape != facts.shape or y.shape != (facts.n_samples,):
        raise ValueError(
            f"{file} has rows of shape {X.shape} and classes of shape {y.shape}; expected are "
            f"{facts.form}"
        )
    classes = np.unique(y, return_inverse=True)[1].astype(np.int64).reshape(-1)
    gray = 255 * X if X.max() <= 1 else X
    pixels = np.rint(gray).clip(0, 255).astype(facts.dtype)
    images = pixels.reshape(-1, *facts.image_shape[::-1])
    upright = np.ascontiguousarray(images.transpose(0, 2, 1)).reshape(facts.shape)
    yield upright, classes
    yield np.ascontiguousarray(pixels), classes


def _matlab_arrays(file: Path) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Rows and classes of a MATLAB file."""
    from scipy.io import loadmat

    try:
        found = loadmat(str(file), appendmat=False)
        rows, classes = next(names for names in NAMES if set(names) <= set(found))
        X, y = found[rows], np.asarray(found[classes]).reshape(-1)
        return np.asarray(X, dtype=np.float64), y
    except Exception as error:  # A damaged file can raise anything.
        raise ValueError(
            f"{file} is no MATLAB file with rows and classes, as fea and gnd or X and Y "
            f"({type(error).__name__}: {error})"
        ) from error


def _from_pictures(facts: DataSet, file: Path) -> Iterator[Table]:
    """Rows of the archive of pictures of COIL-100, as the catalog describes them."""
    n_views = facts.n_samples // facts.n_classes
    X = np.zeros(facts.shape, dtype=facts.dtype)
    seen = np.zeros(facts.n_samples, dtype=bool)
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            named = PICTURE.fullmatch(info.filename)
            if named is None or info.file_size > LARGEST_PICTURE:
                continue
            row = n_views * (int(named[1]) - 1) + int(named[2]) // 5
            if 0 <= row < len(X) and not seen[row]:
                X[row] = gray_means(_pixels(archive.read(info), named[3])).reshape(-1)
                seen[row] = True
    if not seen.all():
        raise ValueError(f"{file} has {seen.sum()} pictures; expected are {facts.n_samples}")
    yield X, np.arange(facts.n_samples) // n_views


def _pixels(content: bytes, kind: str) -> NDArray[np.float64]:
    """Colors of a picture, of shape (128, 128, 3), from 0 to 255."""
    if kind == "ppm":
        header = re.match(rb"P6\s+(?:#[^\n]*\n)*(\d+)\s+(\d+)\s+255\s", content)
        if header is None:
            raise ValueError("a picture is no PPM file")
        width, height = int(header[1]), int(header[2])
        colors = np.frombuffer(content, np.uint8, offset=header.end())
        return colors.reshape(height, width, 3).astype(np.float64)
    from matplotlib.image import imread

    return np.rint(255 * np.asarray(imread(io.BytesIO(content)), dtype=np.float64)[..., :3])


def gray_means(colors: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Gray values of a picture, averaged over blocks of 4x4 and rounded once."""
    gray = colors @ np.array([0.299, 0.587, 0.114])
    height, width = gray.shape
    blocks = gray.reshape(height // 4, 4, width // 4, 4)
    return np.rint(blocks.mean(axis=(1, 3))).astype(np.uint8)
