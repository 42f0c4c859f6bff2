"""Laws of the outliers: uniform, or Cauchy variables with or without holes."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import select_n_clusters
from sfumato._selection.components import Components, bic, expect, fit
from sfumato._selection.outliers import THINNEST, Holes, Outliers
from sfumato._selection.rows import Rows
from sfumato.datasets import make_blobs_with_outliers


def cauchy_rows(reach: float, n_rows: int = 4000, n_columns: int = 2) -> Rows:
    """Cauchy variables without those in a ball around zero."""
    values = np.random.default_rng(0).standard_cauchy((n_rows, n_columns))
    values = values[np.linalg.norm(values, axis=1) >= reach]
    found = Rows.of(values, np.ones(len(values)))
    assert found is not None
    return found


def log_density(rows: Rows, law: Outliers) -> np.ndarray:
    """Of the Cauchy law, with its share."""
    nobody = Components.none(rows)._replace(outliers=law._replace(shares=law.shares * [1e-300, 1]))
    return expect(rows, nobody).log_density


def ball(rows: Rows, radius: float = 1.0) -> Holes:
    """A ball around the middle."""
    return Holes(rows.middle[None], np.array([radius]))


@pytest.mark.parametrize("reach", [0.0, 0.7, 3.0])
def test_a_law_with_a_hole_is_a_density(reach: float) -> None:
    rows = cauchy_rows(0.0, n_columns=1)
    holes = ball(rows)._replace(reach=reach)
    law = Outliers(np.array([0.25, 0.75]), rows.middle, np.array([1.5]), holes, 0.2)
    angles = np.linspace(-np.pi / 2, np.pi / 2, 200_001)[1:-1]
    places = law.location + np.tan(angles)[:, None]
    everywhere = rows._replace(values=places, weights=np.ones(len(places)))
    logs = log_density(everywhere, law)
    mass = np.exp(logs) / np.cos(angles) ** 2
    assert mass.sum() * (angles[1] - angles[0]) == pytest.approx(0.75, rel=2e-3)


@pytest.mark.parametrize("n_columns", [2, 3])
def test_points_fill_the_law_evenly(n_columns: int) -> None:
    """Their share in two balls is that of many random variables."""
    rows = cauchy_rows(0.0, n_columns=n_columns)
    holes = Holes(np.array([[1.0] * n_columns, [-2.0] * n_columns]), np.array([0.3, 0.6]), 4.0)
    drawn = np.random.default_rng(1).standard_cauchy((400_000, n_columns))
    share = (holes.distances(drawn) < holes.reach).mean()
    unit = rows._replace(spread=np.ones(n_columns))
    law = Outliers(np.array([0.5, 0.5]), np.zeros(n_columns), np.ones(n_columns), holes, 0.5)
    far_away = unit._replace(values=np.full((1, n_columns), 1e3), weights=np.ones(1))
    plain = law._replace(holes=ball(unit))
    logs = [log_density(far_away, each)[0] for each in (law, plain)]
    assert 2 * (1 - np.exp(logs[1] - logs[0])) == pytest.approx(share, rel=0.03)


def test_a_hole_is_found_where_there_is_one() -> None:
    nothing = np.full(10_000, -np.inf)
    for reach in (0.0, 1.5):
        rows = cauchy_rows(reach)
        width = float(np.linalg.norm(rows.values - rows.middle, axis=1).min()) / 5 or 0.1
        law = Outliers(np.array([1e-9, 1 - 1e-9]), rows.middle, np.ones(2))
        found = law.with_holes(rows, nothing[: len(rows.values)], ball(rows, width))
        assert (found is not None) == (reach > 0)
        if found is not None:
            assert found.holes.reach == 5.0
            assert found.thin == THINNEST


def test_missing_rows_do_not_widen_the_law() -> None:
    """EM finds the scale of the whole law from the rows outside of its hole."""
    rows = cauchy_rows(1.5)
    rows = rows._replace(spread=rows.spread / 4)  # As if clusters were in the middle.
    least = float(np.linalg.norm(rows.values - rows.middle, axis=1).min())
    unit = least / 1.5 / rows.spread
    holes = ball(rows, least)._replace(reach=1.0)
    law = Outliers(np.array([0.001, 0.999]), rows.middle, 2 * unit, holes, 0.5)
    plain = fit(rows, Components.none(rows), 300).components.outliers
    found = law
    weights = np.full(len(rows.values), 0.999)
    for _ in range(300):
        far = found.far(rows) / found.scale**2
        pulls = 2 * weights[:, None] / (1 + far)
        sums = np.array([(pulls * each).sum(axis=0) for each in (1, rows.values, far)])
        found = found.fitted(rows, len(weights) * np.array([1e-3, 0.999]), weights, sums)
    assert found.thin == THINNEST
    assert (0.9 * unit < found.scale).all()
    assert (found.scale < 1.4 * unit).all()
    assert (plain.scale > 1.6 * unit).all()


def test_outliers_may_be_wider_in_some_columns() -> None:
    """A common scale leaves far rows in a column, which would be clusters, in lines."""
    rows = cauchy_rows(0.0)
    rows = rows._replace(spread=rows.spread / [2, 6])
    found = fit(rows, Components.none(rows), 300).components.outliers
    np.testing.assert_allclose(found.scale, [2, 6], rtol=0.1)


def test_holes_cost_two_parameters() -> None:
    rows = cauchy_rows(0.0)
    plain = Components.none(rows)
    holes = ball(rows)._replace(reach=1.0)
    hollow = plain._replace(outliers=plain.outliers._replace(holes=holes))
    less = bic(rows, expect(rows, plain)) - bic(rows, expect(rows, hollow))
    assert less == pytest.approx(np.log(rows.total))


def test_small_clusters_are_found_where_no_outliers_are() -> None:
    """One of ten is hardly denser than Cauchy outliers would be there, if there were some."""
    blobs = make_blobs_with_outliers(
        2000, 2, n_clusters=10, outliers="cauchy", contamination=0.3, size_ratio=10,
        width_ratio=3, separation=5, box=0.5, random_state=4,
    )  # fmt: skip
    assert select_n_clusters(blobs.data, random_state=4).n_clusters == 10


@pytest.mark.parametrize(
    ("n_clusters", "separation", "seed"), [(3, 5, 101), (3, 5, 104), (5, 4, 104)]
)
def test_outliers_around_few_clusters_are_no_clusters(
    n_clusters: int, separation: float, seed: int
) -> None:
    """With three clusters in a line, outliers are wider than the clusters in one column only.

    With five, those between them and a box around all were one or two clusters more.
    """
    blobs = make_blobs_with_outliers(
        2000, 2, n_clusters=n_clusters, outliers="cauchy", contamination=0.3, size_ratio=10,
        width_ratio=3, separation=separation, box=0.5, random_state=seed,
    )  # fmt: skip
    assert select_n_clusters(blobs.data, random_state=seed).n_clusters == n_clusters
