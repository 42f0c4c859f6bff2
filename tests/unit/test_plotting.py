"""Pictures: what is drawn, and that it can be written."""

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib import image
from matplotlib.figure import Figure

from sfumato import plotting


def test_mixed_is_the_palette_at_the_corners_and_its_mean_between():
    corners = plotting.mixed(np.eye(3))
    assert len(np.unique(corners, axis=0)) == 3
    np.testing.assert_allclose(plotting.mixed([[0.25, 0.75, 0]])[0], [0.25, 0.75, 0] @ corners)
    gray = plotting.mixed(np.zeros((1, 3)))[0]
    assert len(set(gray)) == 1, "an outlier has the color of no cluster"
    assert 0.5 < gray[0] < 1


def test_convergence_shows_the_excess_over_the_end():
    figure = plotting.convergence({"one": [8.0, 4.0, 2.0, 2.0], "two": [3.0, 1.0]})
    axes = figure.axes[0]
    assert axes.get_yscale() == "log"
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[1, 3], [2, 1]])
    np.testing.assert_allclose(axes.lines[1].get_xydata(), [[1, 2]])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]


def test_convergence_to_zero_is_shown_in_absolute_terms():
    figure = plotting.convergence({"exact": [2.0, 0.0]})
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xydata(), [[1, 2]])


def test_image_memberships_puts_the_largest_first():
    memberships = sp.csr_array([[0.2, 0.8, 0.0], [0.001, 0.0, 0.999]])
    centers = np.arange(12.0).reshape(3, 2, 2)
    figure = plotting.image_memberships(np.ones((2, 2, 2)), centers, memberships, ["a", "b"])
    captions = [axes.get_title() for axes in figure.axes]
    assert captions == ["a", "80%", "20%", "b", "100%", "< 0.5%"]
    np.testing.assert_array_equal(figure.axes[1].images[0].get_array(), centers[1])
    lengths = [np.ptp(patch.get_xy()[:, 0]) for patch in figure.axes[2].patches]
    assert lengths == pytest.approx([1.0, 0.2])


def test_plane_colors_points_by_membership():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]])

    def halves(where):
        right = (where[:, 0] > 0.5).astype(float)
        return np.column_stack([1 - right, right])

    axes = Figure().add_subplot()
    plotting.plane(axes, points, halves, points[:2], "title")
    drawn = axes.collections[0].get_facecolors()[:, :3]
    np.testing.assert_allclose(drawn, plotting.mixed(halves(points)))
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    assert axes.get_title() == "title"
    ground = axes.images[0].get_array()
    assert ground.min() > 0.3, "the ground is fainter than the points"


def test_save_writes_a_png_that_is_not_blank(tmp_path):
    plotting.save(plotting.convergence({"one": [2.0, 1.0]}), tmp_path / "curve.png")
    pixels = image.imread(tmp_path / "curve.png")
    assert pixels.ndim == 3
    assert np.ptp(pixels) > 0.5


def test_no_global_state_of_pyplot_is_touched():
    import sys

    # Whoever imported it, no figure of ours is registered there.
    plotting.convergence({"one": [2.0, 1.0]})
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()
