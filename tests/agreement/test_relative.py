"""Smallest distances in units: both engines against brute force, with units of any size."""

import numpy as np
import pytest

from sfumato import L21, Hard
from sfumato._native import core
from tests.agreement.test_engines import TOLERANCE, rows_and_centers
from tests.catalogue import STORAGES, each, every_dtype, every_engine, make_engine

UNITS = {
    "equal": lambda n: np.ones(n),
    "near": lambda n: np.linspace(0.9, 1.1, n),
    "far apart": lambda n: np.geomspace(1e-6, 1e6, n),
    "tiny": lambda n: np.linspace(1e-30, 2e-30, n),
    "one is huge": lambda n: np.where(np.arange(n) == n // 2, 1e30, 1.0),
}
every_storage = each("storage", STORAGES, ids=str)
every_units = each("units", UNITS, ids=str)


def relative(engine_name, stored, centers, units):
    engine = make_engine(engine_name, stored, L21(), Hard())
    return engine.scaled_distances(centers, units)


@every_engine
@every_dtype
@every_storage
@every_units
def test_against_brute_force(engine_name, dtype, storage, units):
    X, centers = rows_and_centers(300, 5, 7, dtype, density=0.6)
    units = UNITS[units](7)
    distances = np.linalg.norm(X.astype(np.float64)[:, None] - centers, axis=2)
    expected = (distances / units).min(axis=1)
    found = relative(engine_name, STORAGES[storage](X), centers, units)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[np.dtype(dtype)])


@every_engine
@every_storage
def test_a_row_on_a_center_is_at_zero(engine_name, storage):
    X, _ = rows_and_centers(70, 5, 7, density=0.6)
    found = relative(engine_name, STORAGES[storage](X), X[:7], np.geomspace(1e-3, 1e3, 7))
    np.testing.assert_array_equal(found[:7], 0)


@every_engine
def test_the_nearest_center_need_not_be_the_one(engine_name):
    """At 3 from a center of unit 1, and at 8 from one of unit 4."""
    found = relative(
        engine_name, np.array([[0.0]]), np.array([[3.0], [-8.0]]), np.array([1.0, 4.0])
    )
    np.testing.assert_array_equal(found, [2.0])


@every_engine
@every_dtype
def test_equal_units_give_the_distance(engine_name, dtype):
    X, centers = rows_and_centers(300, 5, 7, dtype)
    engine = make_engine(engine_name, X, L21(), Hard())
    distances = engine.assign(centers, distances=True).distances
    np.testing.assert_allclose(
        engine.scaled_distances(centers, np.full(7, 4.0)),
        distances / 4,
        rtol=TOLERANCE[np.dtype(dtype)],
    )


@every_dtype
@pytest.mark.parametrize("storage", ["C", "csr32"])
def test_the_same_bits_for_any_number_of_threads(dtype, storage):
    X, centers = rows_and_centers(5001, 48, 18, dtype, density=0.6)
    stored, units = STORAGES[storage](X), np.geomspace(0.1, 10, 18)
    expected = relative("native", stored, centers, units)
    for n_threads in (2, 3, 7):
        engine = make_engine("native", stored, L21(), Hard(), n_threads=n_threads)
        assert core.threads_used(engine._rows, 18, n_threads) == min(n_threads, 3)
        found = engine.scaled_distances(centers, units)
        np.testing.assert_array_equal(found, expected, strict=True)
