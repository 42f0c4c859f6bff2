"""Figures: what is drawn where, that axes have names, and that memberships sum to one."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import image
from numpy.testing import assert_allclose, assert_array_equal

from sfumato.paper import figures
from sfumato.paper.experiment import Parameters
from sfumato.paper.figures import (
    FEW,
    FRAMES,
    Marks,
    convergence,
    excess,
    memberships,
    ranking,
    save,
    sensitivity,
)
from sfumato.paper.illustrations import (
    ACCELERATED,
    EXAMPLE,
    EXAMPLE_PRINTED,
    METHODS_SHOWN,
    PLAIN,
    Illustration,
    rank,
)

GRID = {Parameters(2, 1.1): 40.0, Parameters(9, 1.1): 60.0, Parameters(2, 1.2): 50.0}
"""Three of four cells: the one of K~ = 9 and r = 1.2 is missing."""


def illustration(n_clusters=4):
    hard = np.eye(n_clusters)[[0, 0]]
    sparse = np.array([[0.99999, 0.00001, 0.0, 0.0], [0.7, 0.3, 0.0, 0.0]])
    shown = dict(zip(METHODS_SHOWN, (hard, np.full((2, n_clusters), 0.25), sparse), strict=True))
    plain = np.array([[1, 3.0], [2, 2.0], [3, 1.5]])
    return Illustration(shown, {PLAIN: plain, ACCELERATED: np.array([[1, 3.0], [3, 1.0]])})


def labels(figure):
    """Names of the axes at the left and at the bottom of the figure, and of all others."""
    panels = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    left = [axes.get_ylabel() for axes in panels if axes.get_subplotspec().is_first_col()]
    bottom = [axes.get_xlabel() for axes in panels if axes.get_subplotspec().is_last_row()]
    return left + bottom


@pytest.fixture(scope="module")
def drawn():
    one = {"yale": GRID}
    fitted = {"yale": illustration(), "digits": illustration()}
    return {
        "ranking": ranking(),
        "sensitivity": sensitivity(one, {"yale": Marks(Parameters(9, 1.1))}, "ACC"),
        "memberships": memberships(fitted),
        "convergence": convergence(fitted),
    }


@pytest.mark.slow
def test_axes_have_names(drawn):
    for name, figure in drawn.items():
        assert all(labels(figure)), name
        assert figure.axes[0].get_title(), name


@pytest.mark.slow
def test_figures_can_be_written_and_are_not_blank(drawn, tmp_path):
    for name, figure in drawn.items():
        save(figure, tmp_path / f"{name}.png")
        pixels = image.imread(tmp_path / f"{name}.png")
        assert pixels.shape[1] <= 8 * 150
        assert np.ptp(pixels[..., :3]) > 0.5
        # Nothing is cut off: the outermost pixels are ground.
        edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
        assert edge[:, :3].min() == 1.0, name


def test_the_same_svg_each_time_and_no_setting_is_left_changed(drawn, tmp_path):
    before = dict(matplotlib.rcParams)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        save(drawn["sensitivity"], tmp_path / folder / "acc.svg")
    first, second = ((tmp_path / folder / "acc.svg").read_bytes() for folder in ("one", "two"))
    assert first == second
    assert b"<svg" in first
    assert dict(matplotlib.rcParams) == before
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


# Ranking.


@pytest.mark.parametrize("fuzzifier", [1.05, 1.1, 1.5, 2.0, 5.0])
@pytest.mark.parametrize("n_active", [1, 3, 6])
def test_memberships_are_those_of_the_formula_and_sum_to_one(fuzzifier, n_active):
    distances = np.random.default_rng(n_active).uniform(0.5, 2.0, 6)
    order, shares = rank(distances, n_active, fuzzifier)
    assert_array_equal(distances[order], np.sort(distances))
    powers = np.sort(distances)[:n_active] ** (-1 / (fuzzifier - 1))
    assert_allclose(shares[:n_active], powers / powers.sum(), rtol=1e-9)
    assert_array_equal(shares[n_active:], 0)
    assert shares.sum() == pytest.approx(1)


def test_the_example_of_the_paper():
    order, shares = rank(EXAMPLE, 3, 2.0)
    assert_array_equal(order + 1, [3, 5, 1, 2, 4])
    # 1/0.6, 1/1.9 and 1/2.4 are in the ratio of 456, 144 and 114.
    assert_allclose(shares, [456 / 714, 144 / 714, 114 / 714, 0, 0])
    nearest = rank(EXAMPLE, 3, 1.1).memberships
    assert nearest[0] > 0.9999
    assert nearest.sum() == pytest.approx(1)


def test_the_printed_memberships_are_of_no_fuzzifier():
    assert sum(EXAMPLE_PRINTED) == pytest.approx(0.90)
    near, middle, far = np.log(np.sort(EXAMPLE)[:3])
    a, b, c = np.log(EXAMPLE_PRINTED)
    # Any two of them would give the same exponent 1/(r - 1), if they were of one r.
    assert (a - b) / (middle - near) < 0.2
    assert (b - c) / (far - middle) > 2


def test_ranking_shows_distances_order_and_both_sums(drawn):
    given, ordered, wide, narrow = drawn["ranking"].axes
    assert [bar.get_height() for bar in given.patches] == list(EXAMPLE)
    assert [bar.get_height() for bar in ordered.patches] == sorted(EXAMPLE)
    assert [tick.get_text() for tick in ordered.get_xticklabels()] == ["3", "5", "1", "2", "4"]
    kept = [bar.get_hatch() is None for bar in ordered.patches]
    assert kept == [True] * 3 + [False] * 2
    for axes in (wide, narrow):
        ours, printed = (sum(bar.get_height() for bar in bars) for bars in axes.containers)
        assert ours == pytest.approx(1)
        assert printed == pytest.approx(0.9)
        legend = [text.get_text() for text in axes.get_legend().get_texts()]
        assert ["1.00" in legend[0], "0.90" in legend[1]] == [True, True]


# Sensitivity.


def test_each_value_is_in_its_cell_and_missing_ones_are_dashes():
    axes = sensitivity({"yale": GRID}, {}, "ACC").axes[0]
    values = np.ma.filled(axes.images[0].get_array(), np.nan)
    assert_array_equal(values, [[40, 60], [50, np.nan]])
    texts = {text.get_position(): text.get_text() for text in axes.texts}
    assert texts == {(0, 0): "40.0", (1, 0): "60.0", (0, 1): "50.0", (1, 1): "–"}  # noqa: RUF001
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["2", "9"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["1.1", "1.2"]
    assert axes.get_title() == "Yale: ACC, %"


def test_marked_cells_are_framed_in_ways_that_need_no_color():
    marks = Marks(Parameters(9, 1.1), Parameters(2, 1.1), Parameters(2, 1.2, 4))
    figure = sensitivity({"yale": GRID}, {"yale": marks}, "ACC")
    frames = figure.axes[0].patches
    centers = [
        np.add(frame.get_xy(), (frame.get_width() / 2, frame.get_height() / 2)) for frame in frames
    ]
    assert_allclose(centers, [[1, 0], [0, 0], [0, 1]], atol=1e-12)
    assert len({str(frame.get_linestyle()) for frame in frames}) == 3
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == [frame[0] for frame in FRAMES.values()]


def test_the_legend_names_only_the_frames_that_are_there():
    figure = sensitivity({"digits": GRID}, {"digits": Marks(Parameters(9, 1.1))}, "NMI")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["highest"]
    assert not sensitivity({"digits": GRID}, {}, "NMI").legends
    beyond = Marks(Parameters(9, 1.1), Parameters(75, 1.1))
    assert len(sensitivity({"yale": GRID}, {"yale": beyond}, "ACC").axes[0].patches) == 1


def test_many_cells_have_a_color_bar_instead_of_numbers():
    many = {Parameters(k, 1.1): float(k) for k in range(2, FEW + 3)}
    figure = sensitivity({"yale": many}, {}, "ACC")
    assert len(figure.axes) == 2
    assert not figure.axes[0].texts
    assert all(labels(figure))


def test_a_panel_per_set():
    figure = sensitivity(dict.fromkeys(("orl", "yale", "usps"), GRID), {}, "ACC")
    assert [axes.get_title()[:4] for axes in figure.axes] == ["ORL:", "Yale", "USPS"]


# Memberships and convergence.


def test_zeros_are_white_and_tiny_memberships_are_not(drawn):
    panels = drawn["memberships"].axes
    hard, dense, sparse = (axes.images[0].get_array() for axes in panels[:3])
    assert_array_equal(hard.mask, [[False, True, True, True]] * 2)
    assert not np.ma.is_masked(dense)
    assert_array_equal(sparse.mask, [[False, False, True, True]] * 2)
    assert sparse[0, 1] == figures.SMALLEST
    colors = panels[0].images[0].cmap
    assert colors.get_bad()[:3].min() == 1.0
    assert colors(0.0)[0] < 0.9


def test_colors_of_memberships_grow_darker_all_the_way(drawn):
    colors = drawn["memberships"].axes[0].images[0].cmap
    luminance = colors(np.linspace(0, 1, 50))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance) < 0).all()


def test_excess_is_over_the_lowest_of_all():
    found = excess({"one": [[1, 3.0], [2, 2.0]], "two": [[1, 3.0], [2, 1.5], [4, 1.0]]})
    assert_allclose(found["one"], [[1, 2], [2, 1]])
    assert_allclose(found["two"], [[1, 2], [2, 0.5]])
    zero = excess({"one": [[1, 2.0], [2, 0.0]]})["one"]
    assert_allclose(zero, [[1], [2]])


def test_convergence_shows_both_loops_in_lines_of_their_own(drawn):
    axes = drawn["convergence"].axes[0]
    assert axes.get_yscale() == "log"
    plain, accelerated = axes.lines
    assert_allclose(plain.get_xydata(), [[1, 2], [2, 1], [3, 0.5]])
    assert_allclose(accelerated.get_xydata(), [[1, 2]])
    assert plain.get_linestyle() != accelerated.get_linestyle()
    named = [text.get_text() for text in drawn["convergence"].legends[0].get_texts()]
    assert named == ["plain loop", "accelerated loop"]
