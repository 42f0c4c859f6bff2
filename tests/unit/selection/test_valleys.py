"""Which components are one cluster."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import laplace, norm, uniform

from sfumato._selection.components import Components, Expectation, fit
from sfumato._selection.outliers import Outliers
from sfumato._selection.rows import Rows
from sfumato._selection.valleys import (
    LEAST_EVIDENCE,
    cluster_of_components,
    depth,
    one_mode,
    two_gaussians,
)


def evidence(places: np.ndarray) -> float:
    weights = np.ones(len(places))
    share = np.where(places < places.mean(), 0.99, 0.01)
    return two_gaussians(places, weights, share)[0] - one_mode(places, weights)


@pytest.mark.parametrize("law", [norm, uniform, laplace], ids=["normal", "uniform", "laplace"])
def test_one_mode_is_as_likely_as_the_true_law(law: object) -> None:
    places = law.ppf((np.arange(400) + 0.5) / 400)  # type: ignore[attr-defined]
    found = one_mode(places, np.ones(400))
    assert found > law.logpdf(places).sum() - 8  # type: ignore[attr-defined]


def test_two_gaussians_have_their_likelihood() -> None:
    places = np.concatenate([norm.ppf((np.arange(200) + 0.5) / 200) + c for c in (0, 9)])
    found, has_valley = two_gaussians(places, np.ones(400), np.repeat([0.99, 0.01], 200))
    assert has_valley
    by_hand = np.log(0.5 * norm.pdf(places) + 0.5 * norm.pdf(places - 9)).sum()
    assert found == pytest.approx(by_hand, abs=0.5)


def test_a_uniform_law_has_no_valley() -> None:
    assert evidence(np.linspace(0, 1, 200)) < LEAST_EVIDENCE


@pytest.mark.parametrize("separation", [4.0, 5.0, 8.0])
def test_two_clusters_have_a_valley(separation: float) -> None:
    rng = np.random.default_rng(0)
    places = np.concatenate([rng.normal(size=100), rng.normal(size=100) + separation])
    assert evidence(places) > 0


def test_weights_are_like_copies() -> None:
    rng = np.random.default_rng(0)
    places, weights = rng.normal(size=60), rng.integers(1, 4, size=60).astype(float)
    copies = np.repeat(places, weights.astype(int))
    assert one_mode(places, weights) == pytest.approx(
        one_mode(copies, np.ones(len(copies))), rel=0.05
    )


def test_depth_of_two_equal_gaussians() -> None:
    assert depth(0.0, 1, 1) == 1
    assert depth(1.9, 1, 1) == pytest.approx(1)  # One mode, up to two widths.
    assert depth(6.0, 1, 1) == pytest.approx(2 * np.exp(-4.5), rel=1e-3)


def seen_of(values: np.ndarray, centers: np.ndarray, width: float) -> tuple[Rows, Expectation]:
    rows = Rows.of(values, np.ones(len(values)))
    assert rows is not None
    unit = np.ptp(values[:, 0]) / np.ptp(rows.values[:, 0])
    outliers = Outliers(np.array([0.01, 0.01]), rows.middle, 1.0)
    moved = (centers - np.median(values, axis=0)) / unit
    count = len(centers)
    start = Components(moved, np.full(count, width / unit), np.full(count, 0.98 / count), outliers)
    return rows, fit(rows, start, 20)


def test_parts_of_a_long_cluster_are_one() -> None:
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.uniform(0, 30, size=600), rng.normal(size=600)])
    centers = np.column_stack([np.arange(3, 30, 6), np.zeros(5)])
    assert set(cluster_of_components(*seen_of(values, centers, 1.5))) == {0}


def test_clusters_stay_apart() -> None:
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0], [6, 0], [0, 6]])
    values = rng.normal(size=(300, 2)) + centers[np.arange(300) % 3]
    assert sorted(cluster_of_components(*seen_of(values, centers, 1.0))) == [0, 1, 2]


def test_a_wide_component_around_a_narrow_one_is_none() -> None:
    rng = np.random.default_rng(0)
    values = np.vstack([rng.normal(size=(300, 2)), 6 * rng.normal(size=(100, 2))])
    rows, seen = seen_of(values, np.zeros((2, 2)), 1.0)
    widths = np.array([1.0, 6.0]) * seen.components.widths.min()
    seen = fit(rows, seen.components._replace(widths=widths), 20)
    assert sorted(cluster_of_components(rows, seen)) == [-1, 0]


@pytest.mark.parametrize(("seed", "count"), [(1, 12), (4, 20), (5, 20), (5, 27)])
def test_parts_of_a_cluster_that_is_wide_in_several_directions_are_one(
    seed: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    values = np.vstack([rng.uniform(0, 9, size=(3000, 3)), 60 + rng.normal(size=(500, 3))])
    places = np.array([1.5, 4.5, 7.5])
    centers = np.stack(np.meshgrid(places, places, places), axis=-1).reshape(-1, 3)
    centers = np.vstack([centers[rng.permutation(len(centers))[:count]], [[60.0] * 3]])
    found = cluster_of_components(*seen_of(values, centers, 1.0))
    assert found.tolist() == [0] * count + [1]


def test_clusters_in_a_row_stay_apart_though_all_are_between_the_outer_ones() -> None:
    rng = np.random.default_rng(0)
    centers = np.column_stack([np.arange(0.0, 30, 6), np.zeros(5)])
    values = rng.normal(size=(1000, 2)) + centers[np.arange(1000) % 5]
    assert sorted(cluster_of_components(*seen_of(values, centers, 1.0))) == [0, 1, 2, 3, 4]
