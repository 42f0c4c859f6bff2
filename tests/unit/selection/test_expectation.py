"""The compiled pass over a mixture, beside the same sums in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from sfumato._selection.components import Components, axes_of, contrast, expect, log_height
from sfumato._selection.rows import Rows
from tests.levels import LEVELS, at_level

KINDS: dict[str, dict[str, Any]] = {
    "round": {},
    "heavy": {"shape": 3.0},
    "light": {"power": 2.0},
    "lighter": {"power": 4.0},
    "long": {"axes": True},
    "long and heavy": {"axes": True, "shape": 10.0},
    "long and light": {"axes": True, "power": 2.0},
}
SIZES = [(2, 2, 1), (7, 1, 2), (100, 3, 2), (999, 50, 7), (2049, 16, 33), (513, 2, 0)]
"""Rows, columns and components."""
OUTPUTS = ("log_density", "posteriors", "masses")


def case(size: tuple[int, int, int], kind: str) -> tuple[Rows, Components]:
    """Rows of unlike weights, some of them very far, and components; some rows are centers."""
    n_rows, n_columns, count = size
    rng = np.random.RandomState(sum(size))
    values = 3 * rng.normal(size=(n_rows, n_columns))
    values[1:3] *= 1e9
    weights = rng.uniform(0.5, 2, size=n_rows)
    rows = Rows._measured(values, weights, n_rows)
    centers = np.vstack([values[: count // 2], 3 * rng.normal(size=(count, n_columns))])[:count]
    options = dict(KINDS[kind])
    found = Components.none(rows).joined(
        centers, rng.uniform(0.3, 2, size=count), rng.uniform(0.5, 1, size=count)
    )
    if options.pop("axes", False):
        directions = rng.normal(size=(count, n_columns))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        lengths = found.widths * rng.uniform(1, 3, size=count)
        options["axes"] = axes_of(directions, found.widths, lengths)
    return rows, found._replace(**options)


def by_hand(rows: Rows, mixture: Components) -> dict[str, np.ndarray]:
    """Everything that the pass writes."""
    count, law, dimension = mixture.size, mixture.outliers, rows.n_columns
    squares = cdist(rows.values, mixture.centers, "sqeuclidean")
    relative = squares / mixture.widths**2
    if mixture.axes is not None:
        offsets = (mixture.centers * mixture.axes).sum(axis=1)
        relative = np.maximum(relative - (rows.values @ mixture.axes.T - offsets) ** 2, 0)
    far = ((rows.values - law.location) / (law.scale * rows.spread)) ** 2
    fall, steep = relative**mixture.power / 2, mixture.power * relative ** (mixture.power - 1)
    if np.isfinite(mixture.shape):
        degrees = mixture.shape + dimension
        fall = degrees / 2 * np.log1p(relative / mixture.shape)
        steep = degrees / (mixture.shape + relative)
    logs = np.empty((len(rows.values), count + 2))
    logs[:, :count] = log_height(dimension, mixture.shape, mixture.power) - fall
    logs[:, :count] += np.log(mixture.shares * mixture.ratios / mixture.widths**dimension)
    logs[:, count] = rows.box + np.log(law.shares[0])
    logs[:, count + 1] = np.log(law.shares[1]) - np.log1p(far).sum(axis=1)
    logs[:, count + 1] -= np.log(np.pi * law.scale * rows.spread).sum()
    density = np.logaddexp.reduce(logs, axis=1)
    posteriors = np.exp(logs - density[:, None]) * rows.weights[:, None]
    outlying = np.logaddexp(logs[:, count], logs[:, count + 1])
    pulls, own = posteriors[:, :count] * steep, 2 * posteriors[:, -1:] / (1 + far)
    return {
        "log_density": density,
        "posteriors": posteriors,
        "masses": posteriors.sum(axis=0),
        "contrasts": (posteriors[:, :count] * (logs[:, :count] - outlying[:, None])).sum(axis=0),
        "pulls": pulls.sum(axis=0),
        "squares": (pulls * squares).sum(axis=0),
        "pulled": pulls.T @ rows.values,
        "cauchy": np.array([(own * each).sum(axis=0) for each in (1, rows.values, far)]),
    }


def results() -> dict[str, np.ndarray]:
    """What this process's level writes for all cases."""
    found = {}
    for kind in KINDS:
        for size in SIZES:
            seen = expect(*case(size, kind))
            for name in OUTPUTS:
                found[f"{kind} {size} {name}"] = getattr(seen, name)
            for name, value in seen.sums._asdict().items():
                found[f"{kind} {size} {name}"] = value
    return found


@pytest.fixture(scope="module", params=LEVELS)
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, np.ndarray]:
    return at_level(request.param, __name__, tmp_path_factory.mktemp("expectation"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_pass_writes_the_sums_of_numpy(
    found: dict[str, np.ndarray], kind: str, size: tuple[int, int, int]
) -> None:
    for name, exact in by_hand(*case(size, kind)).items():
        most = float(np.abs(exact).max(initial=0.0))
        assert_allclose(
            found[f"{kind} {size} {name}"],
            exact,
            rtol=1e-9,
            atol=1e-25 + 1e-11 * most,
            err_msg=name,
        )


def test_very_far_rows_are_outliers() -> None:
    values = np.random.default_rng(0).normal(size=(50, 3))
    values[0] = 1e120
    rows = Rows._measured(values, np.ones(50), 50)
    one = Components.none(rows).joined(np.zeros((1, 3)), np.ones(1), np.ones(1))
    for power, shape in ((1.0, np.inf), (4.0, np.inf), (1.0, 3.0)):
        seen = expect(rows, one._replace(power=power, shape=shape))
        assert np.isfinite(seen.log_density).all()
        assert all(np.isfinite(each).all() for each in seen.sums)
        assert seen.posteriors[0, 0] == 0
        assert np.isfinite(contrast(seen)).all()
