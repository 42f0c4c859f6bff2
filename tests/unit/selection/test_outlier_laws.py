"""Laws of the outliers: uniform, or Cauchy variables with or without a hole."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import select_n_clusters
from sfumato._selection.components import Components, bic, expect, fit
from sfumato._selection.outliers import THINNEST, Outliers
from sfumato._selection.rows import Rows
from sfumato.datasets import make_blobs_with_outliers


def cauchy_rows(hole: float, n_rows: int = 4000, n_columns: int = 2) -> Rows:
    """Cauchy variables without those in a box around zero."""
    values = np.random.default_rng(0).standard_cauchy((n_rows, n_columns))
    values = values[np.abs(values).max(axis=1) >= hole]
    found = Rows.of(values, np.ones(len(values)))
    assert found is not None
    return found


def far_of(rows: Rows, outliers: Outliers) -> np.ndarray:
    return np.asarray(((rows.values - outliers.location) / rows.spread) ** 2)


@pytest.mark.parametrize("hole", [0.0, 0.7, 3.0])
def test_a_law_with_a_hole_is_a_density(hole: float) -> None:
    rows = cauchy_rows(0.0, n_columns=1)
    law = Outliers(np.array([0.25, 0.75]), rows.middle, 1.5, hole, 0.2 if hole else 1.0)
    angles = np.linspace(-np.pi / 2, np.pi / 2, 200_001)[1:-1]
    places = law.location + np.tan(angles)[:, None]
    everywhere = rows._replace(values=places)
    logs = law.log_densities(everywhere, far_of(everywhere, law))[:, 1]
    mass = np.exp(logs) / np.cos(angles) ** 2
    assert mass.sum() * (angles[1] - angles[0]) == pytest.approx(0.75, rel=1e-3)


def test_a_hole_is_found_where_there_is_one() -> None:
    nothing = np.full(10_000, -np.inf)
    for hole in (0.0, 1.5):
        rows = cauchy_rows(hole)
        law = Outliers(np.array([1e-9, 1 - 1e-9]), rows.middle, 1.0)
        found = law.with_hole(rows, far_of(rows, law), nothing[: len(rows.values)])
        assert (found is not None and found.hole > 0) == (hole > 0)


def test_missing_rows_do_not_widen_the_law() -> None:
    """EM finds the scale of the whole law from the rows outside of its hole."""
    rows = cauchy_rows(1.5)
    rows = rows._replace(spread=rows.spread / 4)  # As if clusters were in the middle.
    least = np.abs(rows.values - rows.middle).max(axis=1).min()
    unit = float(least / 1.5 / np.mean(rows.spread))
    law = Outliers(np.array([0.001, 0.999]), rows.middle, 2 * unit, 1.5 * unit, 0.5)
    plain = fit(rows, Components.none(rows), 300).components.outliers
    found = fit(rows, Components.none(rows)._replace(outliers=law), 300).components.outliers
    assert found.thin == THINNEST
    assert 0.9 * unit < found.scale < 1.4 * unit
    assert plain.scale > 1.8 * unit


def test_a_hole_costs_two_parameters() -> None:
    rows = cauchy_rows(0.0)
    plain = Components.none(rows)
    hollow = plain._replace(outliers=plain.outliers._replace(hole=1.0, thin=1.0))
    less = bic(rows, expect(rows, plain)) - bic(rows, expect(rows, hollow))
    assert less == pytest.approx(np.log(rows.total))


def test_small_clusters_are_found_where_no_outliers_are() -> None:
    """One of ten is hardly denser than Cauchy outliers would be there, if there were some."""
    blobs = make_blobs_with_outliers(
        2000, 2, n_clusters=10, outliers="cauchy", contamination=0.3, size_ratio=10,
        width_ratio=3, separation=5, box=0.5, random_state=4,
    )  # fmt: skip
    assert select_n_clusters(blobs.data, random_state=4).n_clusters == 10
