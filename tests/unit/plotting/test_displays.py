"""Displays: what the artists show, by their data; and scikit-learn's contract of displays."""

import subprocess
import sys

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.metrics import silhouette_samples

from sfumato import REFCMFS, CappedREFCMFS, describe, plotting, select_n_clusters, stream
from sfumato.metrics import fuzzy_silhouette, fuzzy_silhouette_samples
from sfumato.plotting import (
    ClusterMapDisplay,
    ClusterProfileDisplay,
    ConvergenceDisplay,
    MembershipDisplay,
    OutlierScoreDisplay,
    SelectionDisplay,
    SilhouetteDisplay,
)


def blobs(n_clusters=3, n_features=3, n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    centers = 12 * rng.permutation(np.eye(max(n_clusters, n_features)))[:n_clusters, :n_features]
    X = np.vstack([rng.normal(center, 1, size=(n_rows, n_features)) for center in centers])
    return np.vstack([X, np.full((2, n_features), 90.0)])


X = blobs()


@pytest.fixture(scope="module")
def model():
    return CappedREFCMFS("auto", random_state=0).fit(X)


FROM_ROWS = [
    ClusterMapDisplay,
    ClusterProfileDisplay,
    MembershipDisplay,
    OutlierScoreDisplay,
    SilhouetteDisplay,
]
FROM_FIT = [ConvergenceDisplay, SelectionDisplay]


def made(cls, model, rows=X, **options):
    return cls.from_estimator(model, *([rows] if cls in FROM_ROWS else []), **options)


@pytest.mark.parametrize("cls", FROM_ROWS + FROM_FIT)
def test_a_display_draws_on_new_axes_or_on_given_ones(cls, model):
    display = made(cls, model)
    assert display.ax_.figure is display.figure_
    axes = Figure().add_subplot()
    again = display.plot(ax=axes)
    assert again is display
    assert display.ax_ is axes
    assert display.figure_ is axes.figure
    given = Figure().add_subplot()
    assert made(cls, model, ax=given).ax_ is given


@pytest.mark.parametrize("cls", FROM_ROWS + FROM_FIT)
def test_plot_computes_nothing(cls, model, monkeypatch):
    display = made(cls, model)
    for name in ("predict", "predict_membership", "score_outliers", "_engine_for"):
        monkeypatch.setattr(type(model), name, None)
    display.plot()


@pytest.mark.parametrize("cls", FROM_ROWS)
@pytest.mark.parametrize("kind", ["stream", "dask", "sparse"])
def test_every_kind_of_data_is_drawn(cls, kind, model):
    rows = {
        "stream": lambda: stream(X, chunk_rows=50),
        "dask": lambda: da.from_array(X, chunks=(50, -1)),
        "sparse": lambda: sp.csr_array(X),
    }[kind]()
    display = made(cls, model, rows)
    plain = made(cls, model)
    for name, value in vars(plain).items():
        if isinstance(value, np.ndarray) and name not in ("points", "centers"):
            np.testing.assert_allclose(getattr(display, name), value, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("cls", [ClusterMapDisplay, MembershipDisplay, OutlierScoreDisplay])
@pytest.mark.parametrize("chunk_rows", [None, 13])
def test_samples_are_of_the_size_asked_for_and_the_same_twice(cls, chunk_rows, model):
    rows = X if chunk_rows is None else stream(X, chunk_rows=chunk_rows)
    first, second = (made(cls, model, rows, max_rows=40) for _ in range(2))
    data = {k: v for k, v in vars(first).items() if isinstance(v, np.ndarray)}
    assert any(len(value) == 40 for value in data.values())
    for name, value in data.items():
        np.testing.assert_array_equal(getattr(second, name), value)


def test_estimators_of_others_are_refused():
    from sklearn.cluster import KMeans

    with pytest.raises(TypeError, match="has no memberships"):
        MembershipDisplay.from_estimator(KMeans(2, n_init=1).fit(X), X)


def test_matplotlib_is_not_imported_before_something_is_drawn():
    code = (
        "import sys; from sfumato.plotting import MembershipDisplay; "
        "MembershipDisplay([[1.0, 0.0]]); print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_convergence_shows_the_excess_over_the_end():
    display = ConvergenceDisplay({"one": [8.0, 4.0, 2.0, 2.0], "two": [3.0, 1.0]}).plot()
    axes = display.ax_
    assert axes.get_yscale() == "log"
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[1, 3], [2, 1]])
    np.testing.assert_allclose(axes.lines[1].get_xydata(), [[1, 2]])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]


def test_convergence_to_zero_is_shown_in_absolute_terms():
    display = ConvergenceDisplay.from_predictions([2.0, 0.0])
    np.testing.assert_allclose(display.lines_[0].get_xydata(), [[1, 2]])


def test_convergence_of_an_estimator_is_its_history(model):
    curve = ConvergenceDisplay.from_estimator(model).curves["CappedREFCMFS"]
    np.testing.assert_array_equal(curve, [record.objective for record in model.history_])


def test_selection_scales_each_criterion_so_that_one_is_best():
    selection = select_n_clusters(X)
    display = SelectionDisplay.from_selection(selection)
    assert display.ax_.lines[-1].get_xdata()[0] == selection.n_clusters
    for line in display.lines_:
        values = line.get_ydata()
        assert np.nanmax(values) <= 1
        assert np.nanmin(values) >= 0
    assert selection.plot().axes


def test_selection_of_a_given_number_is_an_error():
    fitted = REFCMFS(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_clusters='auto'"):
        SelectionDisplay.from_estimator(fitted)


def test_membership_bars_count_the_rows():
    display = MembershipDisplay.from_predictions([[1, 0], [0.98, 0.02], [0.52, 0.48], [0, 0]])
    heights = [bar.get_height() for bar in display.bars_]
    assert heights[-1] == 2
    assert heights[10] == 1
    assert sum(heights) == 3


def test_outlier_bars_are_apart_at_the_threshold():
    display = OutlierScoreDisplay.from_predictions([0.2, 0.3, 1.0, 1.01, 50.0])
    inside, outside = (sum(bar.get_height() for bar in bars) for bars in display.bars_)
    assert (inside, outside) == (3, 2)
    assert display.ax_.get_title() == "2 of 5 rows are outliers"


@pytest.mark.parametrize("scores", [[], [0.0, 0.0], [np.inf, 0.5], [np.nan]])
def test_odd_outlier_scores_make_a_plot(scores):
    OutlierScoreDisplay.from_predictions(scores)


def test_map_shows_two_features_as_they_are():
    fitted = CappedREFCMFS(2, random_state=0).fit(X[:, :2])
    display = ClusterMapDisplay.from_estimator(fitted, X[:, :2])
    inside = ~fitted.outliers_
    np.testing.assert_allclose(display.scatter_.get_offsets(), X[inside, :2])
    colors = display.scatter_.get_facecolors()[:, :3]
    np.testing.assert_allclose(colors, plotting.mixed(fitted.memberships_[inside]))
    outer = display.outlier_scatter_.get_offsets()
    assert len(outer) == fitted.outliers_.sum() > 0
    assert (outer <= [display.ax_.get_xlim()[1], display.ax_.get_ylim()[1]]).all()


def test_map_keeps_distances_as_principal_components_do(model):
    display = ClusterMapDisplay.from_estimator(model, X)
    inside = ~display.outliers
    centered = X[inside] - X[inside].mean(axis=0)
    _, values, _ = np.linalg.svd(centered, full_matrices=False)
    np.testing.assert_allclose(
        np.linalg.norm(display.points[inside], axis=0), values[:2], rtol=1e-6
    )


def test_the_ground_of_the_map_is_fainter_than_the_points():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]])

    def halves(where):
        right = (where[:, 0] > 0.5).astype(float)
        return np.column_stack([1 - right, right])

    display = ClusterMapDisplay.from_predictions(points, halves(points), predict=halves)
    assert display.ax_.images[0].get_array().min() > 0.3
    with pytest.raises(ValueError, match="2 features alone"):
        ClusterMapDisplay.from_predictions(X, np.ones((len(X), 1)), predict=halves)


def test_profile_has_the_differences_of_describe(model):
    display = ClusterProfileDisplay.from_estimator(model, X, ["a", "b", "c"])
    frame = describe(model, X, ["a", "b", "c"]).features
    for line in frame.itertuples():
        column = display.feature_names.index(line.feature)
        assert display.differences[line.cluster, column] == pytest.approx(line.difference)
    np.testing.assert_allclose(display.image_.get_array(), display.differences[:, display.shown])
    labels = model.predict(X, mark_outliers=True)
    other = ClusterProfileDisplay.from_predictions(X, labels, ["a", "b", "c"])
    order = [display.feature_names.index(name) for name in other.feature_names]
    np.testing.assert_allclose(other.differences, display.differences[:, order], rtol=1e-6)


def test_profile_shows_the_features_of_the_largest_differences():
    differences = np.zeros((2, 50))
    differences[1, 7], differences[0, 31] = -4, 2
    display = ClusterProfileDisplay(differences, [f"f{i}" for i in range(50)], 2).plot()
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["f7", "f31"]


def test_silhouettes_are_those_of_scikit_learn_for_hard_memberships(model):
    labels = model.predict(X)
    hard = np.eye(model.n_clusters_)[labels]
    found = fuzzy_silhouette_samples(X, hard)
    np.testing.assert_allclose(found, silhouette_samples(X, labels), atol=1e-8)
    display = SilhouetteDisplay.from_predictions(X, hard)
    lengths = [bar.get_width() for bars in display.bars_.values() for bar in bars]
    np.testing.assert_allclose(np.sort(lengths), np.sort(found))
    assert display.mean == pytest.approx(fuzzy_silhouette(X, hard))


def test_soft_silhouettes_leave_outliers_out(model):
    memberships = model.predict_membership(X)
    display = SilhouetteDisplay.from_predictions(X, memberships)
    assert display.mean == pytest.approx(fuzzy_silhouette(X, memberships))
    assert np.isnan(display.silhouettes).sum() == model.outliers_.sum() > 0


def test_more_than_twenty_clusters_have_their_numbers_on_the_map():
    rows = blobs(24, 24, 30)
    fitted = CappedREFCMFS(24, random_state=0).fit(rows)
    display = ClusterMapDisplay.from_estimator(fitted, rows)
    assert {text.get_text() for text in display.ax_.texts} == {str(k) for k in range(24)}
    silhouettes = SilhouetteDisplay.from_estimator(fitted, rows)
    assert [tick.get_text() for tick in silhouettes.ax_.get_yticklabels()][-1] == "23"
