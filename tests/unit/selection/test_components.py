"""Mixtures of round components and outliers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from scipy.stats import cauchy, gennorm, multivariate_normal, multivariate_t, uniform

from sfumato._selection.components import (
    FAINT,
    Components,
    axes_of,
    bic,
    contrast,
    expect,
    fit,
    maximize,
    outliers_with,
    penalty,
    surrounding,
)
from sfumato._selection.outliers import Outliers
from sfumato._selection.path import Path
from sfumato._selection.proposals import add_dense, divide, one_less
from sfumato._selection.rows import (
    MIXED_COLUMNS,
    Rows,
    _sample,
    jittered,
    project,
    weighted_quantiles,
)
from sfumato.losses import Squared
from sfumato.memberships import Hard
from sfumato.selection import select_n_clusters
from tests.catalogue import make_engine


def rows_of(values: np.ndarray, weights: np.ndarray | None = None) -> Rows:
    found = Rows.of(values, np.ones(len(values)) if weights is None else weights)
    assert found is not None
    return found


@pytest.fixture
def rows() -> Rows:
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0, 0], [8, 0, 0], [0, 8, 0]])
    values = rng.normal(size=(300, 3)) + centers[rng.integers(3, size=300)]
    return rows_of(np.vstack([values, rng.uniform(-30, 30, size=(30, 3))]))


def two(rows: Rows, shape: float = np.inf) -> Components:
    outliers = Outliers(np.array([0.1, 0.1]), rows.middle, 2.0)
    centers = rows.values[[0, 7]]
    return Components(centers, np.array([0.5, 0.8]), np.array([0.5, 0.3]), outliers, shape)


@pytest.mark.parametrize("power", [1.0, 2.0, 4.0])
def test_lighter_tails_are_those_of_scipy(power: float) -> None:
    rows = rows_of(np.linspace(-1, 1, 21)[:, None])  # From -2 to 2 in its own unit.
    nothing = Outliers(np.full(2, 1e-300), rows.middle, np.ones(1))
    found = Components(np.zeros((1, 1)), np.array([0.9]), np.ones(1), nothing, power=power)
    law = gennorm(2 * power, scale=0.9 * 2 ** (1 / (2 * power)))
    assert_allclose(expect(rows, found).log_density, law.logpdf(rows.values[:, 0]))


def long_pair(rows: Rows) -> tuple[Components, list[np.ndarray]]:
    """Two long components, and their covariances."""
    directions = np.array([[0.6, 0.8, 0], [0, 0, 1.0]])
    widths, lengths = np.array([0.3, 0.5]), np.array([0.9, 0.5])
    components = two(rows)._replace(widths=widths, axes=axes_of(directions, widths, lengths))
    covariances = [
        w**2 * np.eye(3) + (t**2 - w**2) * np.outer(v, v)
        for v, w, t in zip(directions, widths, lengths, strict=True)
    ]
    return components, covariances


def test_long_components_have_the_density_of_their_covariance(rows: Rows) -> None:
    components, covariances = long_pair(rows)
    nothing = components.outliers._replace(shares=np.full(2, 1e-300))
    seen = expect(rows, components._replace(outliers=nothing))
    laws = [
        share * multivariate_normal(center, covariance).pdf(rows.values)
        for center, covariance, share in zip(
            components.centers, covariances, components.shares, strict=True
        )
    ]
    near = sum(laws) > 1e-200
    assert near.sum() > 100
    assert_allclose(seen.log_density[near], np.log(sum(laws)[near]), rtol=1e-9, atol=1e-9)
    directions = np.eye(3)[[0, 2]]
    wide = [np.sqrt(v @ c @ v) for v, c in zip(directions, covariances, strict=True)]
    assert_allclose(components.widths_along(directions), wide)


def test_merged_long_components_have_the_moments_of_both(rows: Rows) -> None:
    components, covariances = long_pair(rows)
    seen = expect(rows, components)
    posteriors = np.eye(4)[np.arange(len(rows.values)) % 2]
    certain = seen._replace(posteriors=posteriors, masses=posteriors.sum(axis=0))
    found = one_less(rows, certain)
    assert found.axes is not None
    assert found.size == 1
    weights = certain.masses[:2] / certain.masses[:2].sum()
    gap = components.centers[0] - components.centers[1]
    scatter = weights[0] * covariances[0] + weights[1] * covariances[1]
    scatter += weights[0] * weights[1] * np.outer(gap, gap)
    values, vectors = np.linalg.eigh(scatter)
    assert found.widths_along(vectors[:, -1][None])[0] == pytest.approx(np.sqrt(values[-1]))
    assert found.widths[0] == pytest.approx(np.sqrt(values[:-1].mean()))


def test_a_long_axis_is_found_and_costs_a_coordinate_each() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(500, 3)) * [1, 4, 1]
    rows = rows_of(values)
    round_one = two(rows).only(np.array([True, False]))
    seen = fit(rows, round_one._replace(axes=np.zeros((1, 3))), 40)
    assert seen.components.axes is not None
    direction = seen.components.axes[0] / np.linalg.norm(seen.components.axes[0])
    assert abs(direction[1]) > 0.99
    assert 1 / seen.components.ratios[0] == pytest.approx(4, rel=0.15)
    without = seen._replace(components=seen.components._replace(axes=None))
    more = penalty(rows, seen) - penalty(rows, without)
    assert more == pytest.approx(1.5 * np.log(seen.masses[0]))


def test_light_tails_fit_a_square_better() -> None:
    squares = np.random.default_rng(0).uniform(-1, 1, size=(800, 2))
    squares[400:, 0] += 6
    rows = rows_of(squares)
    start = two(rows)._replace(centers=rows.values[[0, 700]])
    found = [fit(rows, start._replace(power=power), 80).log_likelihood for power in (1.0, 2.0, 4.0)]
    assert min(found[1:]) > found[0] + 50


def test_equal_rows_have_no_light_tails_either() -> None:
    """Of a component of equal rows the squares are zero, and so is no power of them."""
    rows = rows_of(np.repeat(np.array([[0.0, 0], [3, 1], [1, 4]]), [300, 200, 100], axis=0))
    start = two(rows)._replace(centers=rows.values[[0, 599]], power=4.0)
    assert np.isfinite(fit(rows, start, 20).log_likelihood)


@pytest.mark.parametrize("kind", ["long", "square"])
def test_other_kinds_of_components_take_the_place_of_many_round_ones(kind: str) -> None:
    rng = np.random.RandomState(0)
    if kind == "long":
        values = rng.normal(size=(900, 2)) * [5, 1]
    else:
        values = 2 * rng.uniform(-1, 1, size=(900, 2))
    values += 12 * np.array([[0, 0], [0, 1], [0, 2]])[np.arange(900) % 3]
    path = Path(rows_of(values), rng, 40).walk()
    best = path.found[path.best]
    assert best.size == 3
    assert (best.axes is not None) if kind == "long" else best.power > 1


def test_a_faint_component_is_left_out_first(rows: Rows) -> None:
    outliers = Outliers(np.array([0.4, 0.001]), rows.middle, 1.0)
    near = rows.values[:300].mean(axis=0)
    wide = np.ptp(rows.values, axis=0).max() / 4
    components = Components(
        np.vstack([near, rows.values[-1]]), np.array([1.0, wide]), np.array([0.5, 0.1]), outliers
    )
    seen = expect(rows, components)
    assert contrast(seen)[1] < FAINT < contrast(seen)[0]
    assert_allclose(one_less(rows, seen).centers, near[None])


def test_outliers_take_the_rows_of_a_component_around_another(rows: Rows) -> None:
    components = two(rows)._replace(widths=np.array([0.1, 9.0]))
    components = components._replace(centers=components.centers[[0, 0]])
    around = surrounding(components)
    assert around.tolist() == [False, True]
    found = outliers_with(rows, expect(rows, components), around)
    assert found.shares[1] == pytest.approx(0.1 + 0.3)
    assert (found.scale >= 1).all()


@pytest.mark.parametrize("shape", [np.inf, 3.0])
def test_log_density_is_that_of_the_mixture(rows: Rows, shape: float) -> None:
    components = two(rows, shape)
    laws = []
    for center, width in zip(components.centers, components.widths, strict=True):
        cov = width**2 * np.eye(3)
        law = multivariate_normal(center, cov)
        laws.append(law if np.isinf(shape) else multivariate_t(center, cov, df=shape))
    low, side = rows.values.min(axis=0), np.exp(-rows.box / 3)
    box = uniform(low.min(), side).pdf(low.min()) ** 3
    far = cauchy(rows.middle, 2.0 * rows.spread).pdf(rows.values).prod(axis=1)
    inside = 0.5 * laws[0].pdf(rows.values) + 0.3 * laws[1].pdf(rows.values)
    seen = expect(rows, components)
    assert_allclose(seen.log_density, np.log(inside + 0.1 * box + 0.1 * far))
    assert_allclose(seen.posteriors.sum(axis=1), 1)
    assert seen.log_likelihood == pytest.approx(seen.log_density.sum())


def test_maximum_is_the_weighted_mean(rows: Rows) -> None:
    seen = expect(rows, two(rows))
    found = maximize(rows, seen)
    shares = seen.posteriors[:, :2]
    means = (shares.T @ rows.values) / shares.sum(axis=0)[:, None]
    assert_allclose(found.centers, means)
    assert found.shares.sum() + found.outliers.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("shape", [np.inf, 3.0])
def test_likelihood_rises_with_every_iteration(rows: Rows, shape: float) -> None:
    components = two(rows, shape)
    # Priors of a row each are the exception that remains.
    found = [fit(rows, components, n).log_likelihood for n in range(8)]
    assert np.all(np.diff(found) > -1)
    assert found[-1] > found[0] + 100


def test_weights_are_like_copies(rows: Rows) -> None:
    counts = np.arange(len(rows.values)) % 3
    copies = np.repeat(rows.values, counts, axis=0)
    kept = counts > 0
    # Quantiles and the box are those of the copies.
    weighted = rows_of(copies)._replace(
        values=rows.values[kept], weights=counts[kept].astype(float)
    )
    copied = rows_of(copies)._replace(values=copies)
    start = two(rows)
    first, second = fit(weighted, start, 5), fit(copied, start, 5)
    assert_allclose(first.components.centers, second.components.centers)
    assert bic(weighted, first) == pytest.approx(bic(copied, second))


def test_equal_rows_have_no_scale() -> None:
    assert Rows.of(np.ones((4, 2)), np.ones(4)) is None


@pytest.mark.parametrize("factor", [2.0**-600, 2.0**400])
def test_rows_do_not_depend_on_their_unit(factor: float) -> None:
    values = np.random.default_rng(0).normal(size=(50, 2))
    assert_allclose(rows_of(factor * values).values, rows_of(values).values, rtol=1e-12, atol=1e-12)


def test_repeated_values_are_jittered_by_their_resolution() -> None:
    rng = np.random.RandomState(0)
    values = np.column_stack(
        [rng.randint(5, size=200), rng.randint(2, size=200), rng.normal(size=200)]
    )
    found, _ = jittered(values, np.ones(200), rng)
    assert np.abs(found - values)[:, 0].max() <= 0.5
    assert len(np.unique(found[:, 0])) == 200
    assert_allclose(found[:, 1:], values[:, 1:])


def test_rows_that_stand_for_several_are_divided() -> None:
    values, weights = np.array([[0.0], [1], [2]]), np.array([4.0, 1, 2.5])
    found, shares = jittered(values, weights, np.random.RandomState(0))
    assert len(found) == 4 + 1 + 2
    assert_allclose(shares, [1, 1, 1, 1, 1, 1.25, 1.25])


def test_quantiles_are_those_of_copies() -> None:
    values = np.array([[3.0], [1], [2]])
    found = weighted_quantiles(values, np.array([1.0, 2, 1]), (0.25, 0.5, 0.75))
    assert_allclose(found[:, 0], [1, 1, 2])


def test_projection_keeps_clusters_apart_whatever_the_outliers() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 80))
    values[:100, 0] += 20
    values[0] = 0
    values[0, 50] = 1e6  # One far row would be the first axis by itself.
    found = project(values, np.ones(200))
    assert found.shape == (200, 50)
    gap = np.linalg.norm(found[1:100].mean(axis=0) - found[100:].mean(axis=0))
    assert gap > 15


def test_a_component_is_put_where_rows_are_dense(rows: Rows) -> None:
    none = fit(rows, Components.none(rows), 5)
    found = add_dense(rows, none, 3, np.random.RandomState(0))
    assert found.size == 3
    seen = fit(rows, found, 30)
    assert seen.components.size == 3
    assert bic(rows, seen) > bic(rows, none) + 100


def test_two_clusters_in_one_component_are_divided(rows: Rows) -> None:
    inside = rows._replace(values=rows.values[:300], weights=rows.weights[:300])
    whole = fit(
        inside,
        Components.none(inside).joined(
            inside.values.mean(axis=0)[None], np.array([inside.values.std()]), np.array([9.0])
        ),
        10,
    )
    divided = fit(inside, divide(inside, whole, 1), 10)
    assert divided.components.size == 2
    assert bic(inside, divided) > bic(inside, whole)


def test_merged_components_have_the_moments_of_both(rows: Rows) -> None:
    outliers = Outliers(np.array([1e-9, 1e-9]), rows.middle, 1.0)
    values = rows.values[:300]
    inside = rows._replace(values=values, weights=np.ones(300))
    center = values.mean(axis=0)
    pair = Components(
        np.vstack([center, center + 1e-3]), np.ones(2), np.array([0.5, 0.5]), outliers
    )
    found = one_less(inside, expect(inside, pair))
    assert found.size == 1
    assert_allclose(found.centers[0], center, atol=1e-3)
    assert found.widths[0] == pytest.approx(1, rel=1e-3)


def test_very_many_columns_are_mixed_which_keeps_distances() -> None:
    rng = np.random.default_rng(0)
    places = np.repeat(np.arange(300), 20), rng.integers(20_000, size=6000)
    X = sp.coo_array((rng.uniform(size=6000), places), shape=(300, 20_000)).tocsr()
    engine = make_engine("native", X, Squared(), Hard())
    found = Rows.drawn(engine, np.random.RandomState(0))
    assert found is not None
    values, _ = _sample(engine, np.random.RandomState(0))
    assert values.shape == (300, MIXED_COLUMNS)
    exact = np.sort(pdist(X.toarray()))
    assert_allclose(np.sort(pdist(values)), exact, rtol=0.15)
    assert np.median(pdist(values)) == pytest.approx(np.median(exact), rel=0.01)


def test_clusters_in_very_many_sparse_columns_are_counted() -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(5, size=600)
    columns = 2000 * target[:, None] + rng.integers(40, size=(600, 30))
    rows = np.repeat(np.arange(600), 30)
    X = sp.coo_array((np.ones(18_000), (rows, columns.ravel())), shape=(600, 50_000)).tocsr()
    assert select_n_clusters(X, random_state=0).n_clusters == 5
