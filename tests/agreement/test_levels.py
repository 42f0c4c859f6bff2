"""Instruction-set levels differ by rounding alone: they add in another order, and some fuse
a product with a sum.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest

from sfumato import L21, Capped, Hard, Power, Simplex, Squared
from tests.agreement.test_engines import rows_and_centers, some_weights
from tests.catalogue import CAP, DTYPES, STORAGES, each, label, make_engine
from tests.levels import LEVELS, at_level

TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}
N_ROWS = 300
PARTS = [
    (Squared(), Hard()),
    (Squared(), Power(3, 2.0)),
    (L21(), Power(3, 1.1)),
    (L21(), Power(3, 1.37)),
    (L21(), Power(9, 1.5)),
    (L21(), Power(12, 1.37)),
    (Capped(CAP), Power(3, 1.5)),
    (Capped(CAP), Simplex(gamma=0.7)),
    (L21(), Simplex(n_active=3)),
    (L21(), Simplex(n_active=9)),
]
SHAPES = [(2, 12), (17, 12), (130, 40)]
"""Features and clusters: sums as dot products and row by row, in one block of features and more."""
CASES = {
    f"{label(loss)}.{label(rule)}.{storage}.{np.dtype(dtype).name}.{d}.{c}": (
        (loss, rule),
        storage,
        dtype,
        (d, c),
    )
    for (loss, rule), storage, dtype, (d, c) in product(PARTS, ["C", "csr32"], DTYPES, SHAPES)
}


@cache
def case_data(storage, dtype, shape):
    # Rows so far from any tie that no rounding can change which centers are nearest.
    density = 1.0 if storage == "C" or shape[0] < 17 else 0.3
    return rows_and_centers(N_ROWS, *shape, dtype, density)


def results():
    """Everything that a sweep and an assignment compute, for every case."""
    found = {}
    for name, (parts, storage, dtype, shape) in CASES.items():
        X, centers = case_data(storage, dtype, shape)
        engine = make_engine("native", STORAGES[storage](X), *parts, some_weights(N_ROWS))
        statistics, assignment = engine.sweep(centers), engine.assign(centers)
        found |= {f"{name}/{key}": value for key, value in vars(statistics).items()}
        found[f"{name}/labels"] = assignment.labels
        found[f"{name}/memberships"] = assignment.memberships.toarray()
        found[f"{name}/reach"] = engine.distances(centers)
    return found


@pytest.fixture(scope="module")
def by_level(tmp_path_factory):
    if len(LEVELS) == 1:
        pytest.skip(f"this machine has one level only, {LEVELS[0]}")
    folder = tmp_path_factory.mktemp("levels")
    return [at_level(level, __name__, folder) for level in LEVELS]


@each("name", CASES, ids=str)
def test_levels_differ_by_rounding(name, by_level):
    tolerance = TOLERANCE[CASES[name][2]]
    expected, *others = (
        {key.split("/")[1]: value for key, value in level.items() if key.startswith(f"{name}/")}
        for level in by_level
    )
    largest = expected["weight"].max()
    slack = {
        "pull": tolerance * largest * expected["reach"].max(),
        "weight": tolerance * largest,
        "memberships": tolerance,
    }
    for found in others:
        assert found.keys() == expected.keys()
        np.testing.assert_array_equal(found["labels"], expected["labels"])
        for key, value in expected.items():
            np.testing.assert_allclose(
                found[key], value, rtol=tolerance, atol=slack.get(key, 0), err_msg=key
            )


def test_levels_are_not_the_same_code(by_level):
    """Otherwise the test above could not fail."""
    first, *others = by_level
    for other in others:
        assert any(not np.array_equal(other[key], first[key]) for key in first)
