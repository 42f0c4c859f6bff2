"""Images beside the centers of their clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato.plotting._axes import new_figure
from sfumato.plotting._colors import INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def image_memberships(
    images: NDArray[np.generic],
    centers: NDArray[np.generic],
    memberships: sp.csr_array,
    names: Sequence[str],
) -> Figure:
    """Show images beside the centers of their clusters, by decreasing membership.

    Parameters
    ----------
    images : ndarray of shape (n_images, height, width)
        Gray values, larger is darker.
    centers : ndarray of shape (n_clusters, height, width)
    memberships : csr_array of shape (n_images, n_clusters)
        Memberships of the images.
    names : sequence of str
        Caption of each image.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from sfumato.plotting import image_memberships
    >>> images, centers = np.ones((1, 2, 2)), np.zeros((3, 2, 2))
    >>> memberships = csr_array([[0.25, 0.0, 0.75]])
    >>> figure = image_memberships(images, centers, memberships, ["an image"])
    >>> [axes.get_title() for axes in figure.axes]
    ['an image', '75%', '25%']
    """
    n_images, n_columns = len(images), int(np.diff(memberships.indptr).max())
    figure = new_figure(1.25 * (n_columns + 1), 1.6 * n_images + 0.5, gap=0.1)
    grid = figure.subplots(n_images, n_columns + 1, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for row in range(n_images):
        _show(grid[row, 0], images[row], names[row])
        _frame(grid[row, 0])
        entries = slice(memberships.indptr[row], memberships.indptr[row + 1])
        clusters, shares = memberships.indices[entries], memberships.data[entries]
        for column, entry in enumerate(np.argsort(-shares, kind="stable"), start=1):
            share = float(shares[entry])
            _show(grid[row, column], centers[clusters[entry]], _percent(share))
            _bar(grid[row, column], share)
    figure.suptitle("Images (left), and the centers that each belongs to", color=INK)
    return figure


def _show(axes: Axes, image: NDArray[np.generic], caption: str) -> None:
    axes.imshow(image, cmap="gray_r", interpolation="nearest")
    axes.set_title(caption, fontsize=10, color=INK, pad=6)


def _frame(axes: Axes) -> None:
    """Outline an image."""
    corners = [-0.02, 1.02, 1.02, -0.02, -0.02], [-0.02, -0.02, 1.02, 1.02, -0.02]
    axes.plot(*corners, color=INK, linewidth=1, transform=axes.transAxes, clip_on=False)


def _bar(axes: Axes, share: float) -> None:
    """Draw a bar below an image; its length is the share of the width."""
    bottom, height = -0.14, 0.08
    for length, color in ((1.0, "#e6e6e6"), (share, PALETTE[0])):
        axes.fill(
            [0, length, length, 0],
            [bottom, bottom, bottom + height, bottom + height],
            color=color,
            transform=axes.transAxes,
            clip_on=False,
            linewidth=0,
        )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 else "< 0.5%"
