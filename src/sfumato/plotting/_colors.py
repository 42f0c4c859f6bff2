"""Colors of clusters, told apart by color-blind people too; no plotting library is needed."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from sfumato._typing import Floats

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Colors of the first clusters: those of Okabe and Ito, distinct under common kinds of color
blindness, but for yellow and black, which do not show on white or on dark paper."""
INK = "#222222"
"""Color of text and marks."""
GRAY = "#BBBBBB"
"""Color of rows that belong to no cluster. Chosen by hand."""

LEVELS = 12
"""Levels of red, green and blue among which further colors are sought. Chosen by hand."""
LIGHTNESS = (0.49, 0.84)
"""Range of lightness (OKLab) of further colors, so that they show on white and on dark paper: on
the cards of a dark report, the contrast of 24 colors is 2.3 at least."""

TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
"""From linear sRGB to OKLab, by way of LMS: B. Ottosson, "A perceptual color space", 2020."""
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
"""Linear sRGB as seen by people of each vision: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes,
"A physiologically-based model for simulation of color vision deficiency", IEEE TVCG 15, 2009."""


def cluster_colors(n_clusters: int) -> list[str]:
    """Colors of clusters, as hexadecimal codes; the first ones do not depend on their number.

    After the first six, each color is the one that differs most from those before, for people who
    see red, green and blue and for those who do not: the smallest difference in OKLab, over normal
    vision, protanopia and deuteranopia, is largest. With very many clusters colors come close; the
    displays write the numbers of the clusters too.

    Parameters
    ----------
    n_clusters : int

    Returns
    -------
    colors : list of str

    Examples
    --------
    >>> from sfumato.plotting import cluster_colors
    >>> cluster_colors(2)
    ['#0072B2', '#E69F00']
    >>> len(set(cluster_colors(40)))
    40
    """
    if n_clusters <= len(PALETTE):
        return list(PALETTE[:n_clusters])
    # Powers of two, so that few lists are made.
    return list(_distinct_colors(1 << (n_clusters - 1).bit_length())[:n_clusters])


def difference_of(colors: list[str], vision: str) -> Floats:
    """Differences between all colors, in OKLab, for a vision."""
    seen = _seen(_rgb(colors), VISIONS[vision])
    return np.asarray(np.linalg.norm(seen[:, None] - seen[None], axis=-1))


@cache
def _distinct_colors(n_colors: int) -> tuple[str, ...]:
    """Colors chosen one after the other, each as far as possible from those before."""
    levels = np.round(np.linspace(0, 255, LEVELS)).astype(int)
    candidates = np.array(list(product(levels, repeat=3)))
    seen = np.stack([_seen(candidates / 255, matrix) for matrix in VISIONS.values()])
    light = seen[0, :, 0]
    fit = (light >= LIGHTNESS[0]) & (light <= LIGHTNESS[1])
    candidates, seen = candidates[fit], seen[:, fit]
    first = _rgb(list(PALETTE))
    known = np.stack([_seen(first, matrix) for matrix in VISIONS.values()])
    nearest = np.full(len(candidates), np.inf)
    for k in range(len(PALETTE)):
        nearest = np.minimum(nearest, _least(seen, known[:, k]))
    found = list(PALETTE)
    while len(found) < n_colors:
        best = int(nearest.argmax())
        found.append("#{:02X}{:02X}{:02X}".format(*candidates[best]))
        nearest = np.minimum(nearest, _least(seen, seen[:, best]))
        nearest[best] = -1.0  # More colors than candidates would repeat it otherwise.
    return tuple(found)


def _least(seen: Floats, color: Floats) -> Floats:
    """Smallest difference of each candidate from a color, over all visions."""
    return np.asarray(np.linalg.norm(seen - color[:, None], axis=-1).min(axis=0))


def _rgb(colors: list[str]) -> Floats:
    """Red, green and blue between 0 and 1 of hexadecimal codes."""
    return np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colors]) / 255


def _seen(rgb: Floats, vision: Floats) -> Floats:
    """OKLab coordinates of colors as people of a vision see them."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ vision.T, 0.0, 1.0)
    return np.asarray(np.cbrt(linear @ TO_LMS.T) @ TO_LAB.T)


def mixed(memberships: Any) -> Floats:
    """Mix the colors of the clusters by membership.

    Parameters
    ----------
    memberships : array-like or sparse array of shape (n, n_clusters)
        Rows sum to one, or to zero: outliers are gray.

    Returns
    -------
    colors : ndarray of shape (n, 3)
        Red, green and blue between 0 and 1.

    Examples
    --------
    >>> from sfumato.plotting import mixed
    >>> mixed([[1.0, 0.0], [0.5, 0.5]]).round(2)
    array([[0.  , 0.45, 0.7 ],
           [0.45, 0.54, 0.35]])
    """
    shares = memberships if sp.issparse(memberships) else np.asarray(memberships, dtype=np.float64)
    palette = _rgb(cluster_colors(shares.shape[1]))
    unassigned = 1 - np.asarray(shares.sum(axis=1)).reshape(-1, 1)
    colors: Floats = np.clip(shares @ palette + unassigned * _rgb([GRAY]), 0.0, 1.0)
    return colors
