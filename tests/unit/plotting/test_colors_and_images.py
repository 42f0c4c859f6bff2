"""Colors of clusters, images beside centers, and figures that can be written."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib import image

from sfumato import plotting
from sfumato.plotting._colors import VISIONS, difference_of

JUST_NOTICED = 0.02
"""Difference in OKLab that people just notice."""


def test_mixed_is_the_palette_at_the_corners_and_its_mean_between():
    corners = plotting.mixed(np.eye(3))
    assert len(np.unique(corners, axis=0)) == 3
    np.testing.assert_allclose(plotting.mixed([[0.25, 0.75, 0]])[0], [0.25, 0.75, 0] @ corners)
    gray = plotting.mixed(np.zeros((1, 3)))[0]
    assert len(set(gray)) == 1, "an outlier has the color of no cluster"
    assert 0.5 < gray[0] < 1


def test_mixed_takes_sparse_memberships():
    memberships = np.array([[0.25, 0.75, 0], [0, 0, 0]])
    np.testing.assert_allclose(
        plotting.mixed(sp.csr_array(memberships)), plotting.mixed(memberships)
    )


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize(("n_clusters", "factor"), [(6, 3), (24, 3), (40, 1.5)])
def test_colors_are_told_apart_by_every_vision(vision, n_clusters, factor):
    differences = difference_of(plotting.cluster_colors(n_clusters), vision)
    assert differences[np.triu_indices(n_clusters, 1)].min() > factor * JUST_NOTICED


def test_red_and_green_alike_would_fail():
    assert difference_of(["#B05050", "#708040"], "deuteranopia")[0, 1] < 3 * JUST_NOTICED
    assert difference_of(["#B05050", "#708040"], "normal")[0, 1] > 3 * JUST_NOTICED


def test_the_first_colors_do_not_depend_on_the_number_of_clusters():
    many = plotting.cluster_colors(300)
    assert len(set(many)) == 300
    for n_clusters in (1, 5, 9, 33):
        assert plotting.cluster_colors(n_clusters) == many[:n_clusters]


def test_image_memberships_puts_the_largest_first():
    memberships = sp.csr_array([[0.2, 0.8, 0.0], [0.001, 0.0, 0.999]])
    centers = np.arange(12.0).reshape(3, 2, 2)
    figure = plotting.image_memberships(np.ones((2, 2, 2)), centers, memberships, ["a", "b"])
    captions = [axes.get_title() for axes in figure.axes]
    assert captions == ["a", "80%", "20%", "b", "100%", "< 0.5%"]
    np.testing.assert_array_equal(figure.axes[1].images[0].get_array(), centers[1])
    lengths = [np.ptp(patch.get_xy()[:, 0]) for patch in figure.axes[2].patches]
    assert lengths == pytest.approx([1.0, 0.2])


def test_save_writes_a_png_that_is_not_blank(tmp_path):
    display = plotting.ConvergenceDisplay({"one": [2.0, 1.0]}).plot()
    plotting.save(display.figure_, tmp_path / "curve.png")
    pixels = image.imread(tmp_path / "curve.png")
    assert pixels.ndim == 3
    assert np.ptp(pixels) > 0.5


def test_no_global_state_of_pyplot_is_touched():
    # Whoever imported it, no figure of ours is registered there.
    plotting.ConvergenceDisplay({"one": [2.0, 1.0]}).plot()
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()
