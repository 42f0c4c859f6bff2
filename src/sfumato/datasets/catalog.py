"""Catalog of the image sets: size, checksum, origin and citation of each."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Table: TypeAlias = tuple[NDArray[Any], NDArray[np.int64]]
"""Rows and their classes."""


def checksum(table: Table) -> str:
    """SHA-256 of the bytes of X, then of y, little-endian and in C order."""
    X, y = table
    return sha256(X.tobytes() + y.astype("<i8").tobytes()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Facts by which a file is verified and described.

    Parameters
    ----------
    title : str
        What the images show.
    n_samples, n_classes : int
        Rows and classes.
    image_shape : tuple of int, default=(32, 32)
        Rows and columns of pixels.
    dtype : str, default="uint8"
        Type of the pixels.
    sha256 : str
        Checksum of the bytes of X, then of y as int64; both little-endian and in C order.
    about : str
        How the pictures were taken and turned into rows.
    home : str
        Page of the creators.
    citation : str
        Whom to cite.
    """

    title: str
    n_samples: int
    n_classes: int
    image_shape: tuple[int, int] = (32, 32)
    dtype: str = "uint8"
    sha256: str
    about: str
    home: str
    citation: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of X."""
        height, width = self.image_shape
        return self.n_samples, height * width

    @property
    def form(self) -> str:
        """Shapes and types of the arrays of a file, for messages."""
        return (
            f"X of shape {self.shape} and dtype {self.dtype}, and y of shape ({self.n_samples},) "
            f"and dtype int64 with classes 0 to {self.n_classes - 1}"
        )

    @property
    def description(self) -> str:
        """Text about the set: content, home page, citation."""
        height, width = self.image_shape
        return (
            f"{self.title}: {self.n_samples} gray images of {height}x{width} pixels, "
            f"{self.n_classes} classes.\n\n{self.about}\n\nHome page: {self.home}\n"
            f"Please cite: {self.citation}\n"
        )


CROPPED = (
    "The cropped 32x32 form was prepared by D. Cai, X. He, Y. Hu, J. Han, T. Huang, "
    '"Learning a spatially smooth subspace for face recognition", CVPR 2007.'
)
"""Origin of the usual form of the three sets of faces."""

CATALOG: dict[str, DataSet] = {
    "orl": DataSet(
        title="ORL (AT&T) faces",
        n_samples=400,
        n_classes=40,
        sha256="f2f64eb58b351b1aa1cffab779d980a820f8c968a16b5756f82a0b6ab6f82936",
        about="Ten pictures of each of 40 people; light, expression and glasses vary. " + CROPPED,
        home="https://cam-orl.co.uk/facedatabase.html",
        citation=(
            'F. S. Samaria, A. C. Harter, "Parameterisation of a stochastic model for human face '
            'identification", IEEE Workshop on Applications of Computer Vision, 1994.'
        ),
    ),
    "yale": DataSet(
        title="Yale faces",
        n_samples=165,
        n_classes=15,
        sha256="8350a988aae62c4016b96846e2bae3f6b7fb05a9e86c91f637463fe74286497f",
        about="Eleven pictures of each of 15 people, as light, mood and glasses change. " + CROPPED,
        home="http://cvc.cs.yale.edu/cvc/projects/yalefaces/yalefaces.html",
        citation=(
            'P. N. Belhumeur, J. P. Hespanha, D. J. Kriegman, "Eigenfaces vs. Fisherfaces: '
            'recognition using class specific linear projection", IEEE Transactions on Pattern '
            "Analysis and Machine Intelligence 19(7), 1997."
        ),
    ),
    "yaleb": DataSet(
        title="Extended Yale B faces",
        n_samples=2414,
        n_classes=38,
        sha256="af883ff0c8ee0e1e19293b2d858ccb486cbd39175e75629982a86d07a779cdcc",
        about=(
            "59 to 64 frontal pictures of each of 38 people, every one under another light. Gray "
            "values are raw and many pictures nearly black: plain distances see the light more "
            "than the person. " + CROPPED
        ),
        home="http://vision.ucsd.edu/~leekc/ExtYaleDatabase/ExtYaleB.html",
        citation=(
            'A. S. Georghiades, P. N. Belhumeur, D. J. Kriegman, "From few to many: illumination '
            'cone models for face recognition under variable lighting and pose", IEEE '
            "Transactions on Pattern Analysis and Machine Intelligence 23(6), 2001; K. C. Lee, "
            'J. Ho, D. J. Kriegman, "Acquiring linear subspaces for face recognition under '
            'variable lighting", the same journal, 27(5), 2005.'
        ),
    ),
    "coil20": DataSet(
        title="COIL-20 objects",
        n_samples=1440,
        n_classes=20,
        sha256="d2644ae77fa43d6074cf5201e3bb277cc68f00fad26c3373b59910097e241283",
        about="20 objects on a turntable, seen from every 5 degrees, before a black ground.",
        home="https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php",
        citation=(
            'S. A. Nene, S. K. Nayar, H. Murase, "Columbia Object Image Library (COIL-20)", '
            "Technical Report CUCS-005-96, Columbia University, 1996."
        ),
    ),
    "coil100": DataSet(
        title="COIL-100 objects",
        n_samples=7200,
        n_classes=100,
        sha256="df46fc7055197881aded0461b65e8ce50260b3742628e695d9302030e62c1964",
        about=(
            "100 objects on a turntable, seen from every 5 degrees. From the original color "
            "pictures of 128x128 pixels: gray is 0.299 R + 0.587 G + 0.114 B, averaged over "
            "blocks of 4x4 and rounded once. Row 72 k + j is object k + 1 at 5 j degrees. Gray "
            "files made by others may differ a little."
        ),
        home="https://www.cs.columbia.edu/CAVE/software/softlib/coil-100.php",
        citation=(
            'S. A. Nene, S. K. Nayar, H. Murase, "Columbia Object Image Library (COIL-100)", '
            "Technical Report CUCS-006-96, Columbia University, 1996."
        ),
    ),
    "usps": DataSet(
        title="USPS digits",
        n_samples=9298,
        n_classes=10,
        image_shape=(16, 16),
        dtype="float32",
        sha256="dc055c1774214d22c268c1414ec9f1d6dcf49b7361baa7842294faa587849c9c",
        about=(
            "Handwritten digits from envelopes. The first 7291 rows are the usual training part, "
            "the others the test part. The original values v in -1 to 1 became (v + 1) / 2, so "
            "that paper is 0 and ink 1."
        ),
        home="https://www.openml.org/d/41082",
        citation=(
            'J. J. Hull, "A database for handwritten text recognition research", IEEE '
            "Transactions on Pattern Analysis and Machine Intelligence 16(5), 1994."
        ),
    ),
}
"""Data sets by the names that :func:`sfumato.datasets.load` takes."""
