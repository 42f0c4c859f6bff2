"""Accuracy of the kernel: logarithms and powers against mpmath over all numbers they may meet.

Each bound is at most twice the largest error that was found (docs/numerics.md), or follows from the
number of roundings. Errors are in units of the spacing of doubles at one, 2.2e-16.
"""

import mpmath
import numpy as np
import pytest

from sfumato import L21, Hard, Power, Squared
from sfumato._native import core
from tests.catalogue import STORAGES, each, every_dtype, make_engine
from tests.levels import LEVELS, at_level

EPS = np.finfo(np.float64).eps
SMALLEST, LARGEST = np.finfo(np.float64).tiny, 2.0**1023
"""Ends of what powers of two reach: normal numbers, of which the last binade is left out."""
LOG2_BOUND = 1.5  # Of max(1, |result|). Found among millions of numbers: 1.28.
LOG2_RELATIVE_BOUND = 3.0  # Found: 2.51.
EXP2_BOUND = 2.0  # Relative. Found: 1.62.
WORST_LOG2 = [0.7007924798499227, 0.7049523467909705, 1.0054339249555626]
WORST_EXP2 = [0.5109160551637391, 0.5226005319160492, 745.5089625973108]
"""Where these were found."""

HALVES = [0.5, 1.0, 1.5, 2.0, 2.5, 10.0, 50.0, 100.0, 511.5, 2048.0]
OTHERS = [0.3, 1.05, 1.1, 1 / (1.37 - 1), 3.7, 333.3, 2049.3]
MOST_CLUSTERS = 10_000


def around(numbers, steps):
    """The numbers and so many neighbors on either side."""
    bits = np.asarray(numbers, dtype=np.float64).view(np.int64)
    return (bits[:, None] + np.arange(-steps, steps + 1)).ravel().view(np.float64)


def normal_numbers():
    """All sizes, with the places where mantissa and exponent are taken apart, and around one."""
    rng = np.random.default_rng(0)
    exponents = np.arange(-1021.0, 1023.0, 11)
    numbers = [
        np.ldexp(rng.uniform(1, 2, 4000), rng.integers(-1022, 1024, 4000)),
        around(2**exponents, 4),
        around(np.sqrt(2) * 2**exponents, 4),
        around([1.0], 100),
        1 + np.sign(rng.normal(size=2000)) * 2 ** rng.uniform(-52, -2, 2000),
        rng.uniform(0.5, 2, 3000),
        [SMALLEST, np.finfo(np.float64).max, *WORST_LOG2],
    ]
    return np.concatenate(numbers)


def exponents_of_two():
    """All between the ends, with the places where the nearest integer changes."""
    rng = np.random.default_rng(1)
    numbers = [
        rng.uniform(-1022, 1023, 5000),
        rng.uniform(-1, 1, 3000),
        around(np.arange(-1021.5, 1023, 7), 3),
        around(np.arange(-1021.0, 1023, 7), 3),
        [-1022, 0, 1023, *WORST_EXP2],
    ]
    return np.concatenate(numbers)


def ratios(exponent):
    """Numbers in 0..1 whose powers are normal numbers, with both ends."""
    rng = np.random.default_rng(2)
    lowest = -1022 / max(1, exponent)
    numbers = [
        2 ** rng.uniform(lowest, 0, 1500),
        2 ** rng.uniform(lowest / 100, 0, 1500),
        around([1.0], 8)[:9],
        [2**lowest],
    ]
    return np.clip(np.concatenate(numbers), SMALLEST, 1)


def sums(exponent):
    """Sums of 1..n_clusters ratios whose powers do not overflow."""
    rng = np.random.default_rng(3)
    highest = min(np.log2(MOST_CLUSTERS), 1022 / exponent)
    numbers = np.concatenate([2 ** rng.uniform(0, highest, 1500), np.arange(1.0, 11.0)])
    return numbers[numbers <= 2**highest]


def power(x, exponent):
    out = np.empty_like(x)
    core.power(x, exponent, out)
    return out


def results():
    """What this process's level makes of all these numbers."""
    x, y = normal_numbers(), exponents_of_two()
    found = {"log2": np.empty_like(x), "exp2": np.empty_like(y)}
    core.log2(x, found["log2"])
    core.exp2(y, found["exp2"])
    for exponent in HALVES + OTHERS:
        found[f"ratios {exponent}"] = power(ratios(exponent), exponent)
        found[f"sums {exponent}"] = power(sums(exponent), exponent)
    return found


@pytest.fixture(scope="module", params=LEVELS)
def found(request, tmp_path_factory):
    return at_level(request.param, __name__, tmp_path_factory.mktemp("numerics"))


def relative_errors(found, exact):
    """Relative differences from exact numbers, which are rounded only after the subtraction."""
    pairs = zip(found.tolist(), exact, strict=True)
    return np.array([float(abs(f - e) / abs(e)) if e else float(f != 0) for f, e in pairs]) / EPS


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workprec(140):
        yield


@pytest.mark.slow
def test_log2(found):
    exact = [mpmath.log(number, 2) for number in normal_numbers().tolist()]
    size = np.array([abs(float(e)) for e in exact])
    error = size * relative_errors(found["log2"], exact)
    assert (error <= LOG2_BOUND * np.maximum(1, size)).all()
    assert (error <= LOG2_RELATIVE_BOUND * size).all()


def test_log2_of_powers_of_two_is_exact():
    exponents = np.arange(-1022.0, 1024.0)
    out = np.empty_like(exponents)
    core.log2(2**exponents, out)
    np.testing.assert_array_equal(out, exponents)


def test_exp2(found):
    exact = [mpmath.power(2, number) for number in exponents_of_two().tolist()]
    assert relative_errors(found["exp2"], exact).max() <= EXP2_BOUND


def test_exp2_of_integers_is_exact_and_stays_at_the_ends():
    exponents = np.arange(-1022.0, 1024.0)
    beyond = [-np.inf, -1e300, -1074, np.nextafter(-1022, -1e4), 1023.5, 1024, 1e300, np.inf]
    x = np.concatenate([exponents, beyond])
    out = np.empty_like(x)
    core.exp2(x, out)
    np.testing.assert_array_equal(out, 2 ** np.clip(x, -1022, 1023))


def power_errors(found, x, exponent):
    exact = [mpmath.power(number, mpmath.mpf(exponent)) for number in x.tolist()]
    return relative_errors(found, exact)


@pytest.mark.parametrize("numbers", [ratios, sums], ids=["ratios", "sums"])
@pytest.mark.parametrize("exponent", HALVES)
def test_powers_by_squaring(found, exponent, numbers):
    """Rounding errors of 1/2 each: a square doubles those before it, so they add to p - 1.

    A root and the product with it add one each.
    """
    x = numbers(exponent)
    error = power_errors(found[f"{numbers.__name__} {exponent}"], x, exponent)
    assert error.max() <= (exponent + 0.5) / 2
    if exponent == 1:
        assert error.max() == 0


@pytest.mark.parametrize("numbers", [ratios, sums], ids=["ratios", "sums"])
@pytest.mark.parametrize("exponent", OTHERS)
def test_powers_by_logarithms(found, exponent, numbers):
    """The exponent of two, p log2(x), carries the error of the logarithm and half a rounding.

    An absolute error of the exponent, times log(2), is a relative error of the power.
    """
    x = numbers(exponent)
    error = power_errors(found[f"{numbers.__name__} {exponent}"], x, exponent)
    size = np.abs(exponent * np.log2(x))
    assert (error <= EXP2_BOUND + np.log(2) * (LOG2_RELATIVE_BOUND + 0.5) * size).all()


@pytest.mark.parametrize("exponent", HALVES + OTHERS)
def test_powers_of_zero_one_and_less_than_normal_numbers(exponent):
    less = 2.0 ** np.arange(-1074, -1022)
    ends = power(np.array([0.0, 1.0]), exponent)
    np.testing.assert_array_equal(ends, [0, 1])
    # Logarithms take them for the smallest normal number.
    found = power(less, exponent)
    assert (found >= 0).all()
    assert (found <= (1 + 1e-12) * max(SMALLEST, SMALLEST**exponent)).all()
    if exponent in HALVES[1:]:
        np.testing.assert_array_equal(found, less**exponent)


@pytest.mark.parametrize("exponent", [p for p in HALVES + OTHERS if p > 1])
def test_powers_that_underflow_are_at_most_the_smallest_normal_number(exponent):
    found = power(2.0 ** np.linspace(-1022, -1022 / exponent, 200, endpoint=False), exponent)
    assert (found >= 0).all()
    assert (found <= SMALLEST).all()


@pytest.mark.parametrize("fuzzifier", [1.1, 1.2, 1.25, 1.4, 1.01, 1 + 1 / 7, 1 + 2 / 13])
def test_exponents_a_rounding_away_from_half_integers_count_as_these(fuzzifier):
    exponent = 1 / (fuzzifier - 1)
    meant = round(2 * exponent) / 2
    assert abs(exponent - meant) <= 1e-13 * meant
    x = ratios(meant)
    np.testing.assert_array_equal(power(x, exponent), power(x, meant))


@each("fuzzifier", [1.1, 1.37, 1.003, 2.0, 3.7], ids=str)
def test_memberships_against_exact_ones(fuzzifier):
    """Rows on a line at exact distances from the centers: only the rule itself is approximate.

    Powers with a large error have a large logarithm, and so are small. Found: 2.
    """
    centers = np.array([[-64.0], [0.0], [3.0], [1000.0]])
    half = np.concatenate([np.arange(0.25, 40, 0.25), 2.0 ** np.arange(-20, 13)])
    half = half[~np.isin(half, np.abs(centers))]
    X = np.concatenate([half, -half])[:, None]  # Their median is a power of two: no rounding.
    found = make_engine("native", X, L21(), Power(4, fuzzifier)).assign(centers)
    exponent = mpmath.mpf(1) / (1 - mpmath.mpf(fuzzifier))
    distances = np.abs(X - centers.T).tolist()
    raised = [[mpmath.power(d, exponent) for d in row] for row in distances]
    exact = [[r / mpmath.fsum(row) for r in row] for row in raised]
    error = np.abs(found.memberships.toarray() - np.array(exact, dtype=float)) / EPS
    assert error.max() <= 4


def distance_errors(storage, X, centers):
    """Largest relative error of a distance, to which the origin of the data adds nothing."""
    engine = make_engine("native", STORAGES[storage](X), Squared(), Hard())
    np.testing.assert_array_equal(engine.data.origin, 0)
    rows = X.astype(np.longdouble)
    exact = np.array([np.sqrt(((rows - center) ** 2).sum(axis=1)) for center in centers]).T
    return float((np.abs(engine.distances(centers) - exact) / exact).max())


def pairs_of_rows(n_features, dtype):
    """Rows followed by their opposites, and a row of zeros, so that their median is zero."""
    half = np.random.default_rng(4).normal(size=(100, n_features)).astype(dtype)
    pairs = np.stack([half, -half], axis=1).reshape(200, n_features)
    return np.concatenate([pairs, np.zeros((1, n_features), dtype)])


@every_dtype
@pytest.mark.parametrize("n_features", [1, 2, 16, 64, 256, 1024])
def test_distances_of_dense_rows(dtype, n_features):
    """Sums of n terms may be off by n/2; found: 0.5 to 7. The root halves a relative error."""
    X = pairs_of_rows(n_features, dtype)
    centers = np.random.default_rng(5).normal(size=(12, n_features)).astype(dtype)
    error = distance_errors("C", X, centers.astype(np.float64)) / np.finfo(dtype).eps
    assert error <= 1.5 + 0.25 * np.sqrt(n_features)


@pytest.mark.parametrize("n_features", [1, 2, 16, 64, 256, 1024])
@pytest.mark.parametrize("apart", [1.0, 0.1, 0.03, 0.01, 1e-3, 1e-6])
def test_distances_near_rows(n_features, apart):
    """However near, differences keep their digits; found: 1.8e-15. The expanded form: 3.3e-12."""
    X = pairs_of_rows(n_features, np.float64)
    centers = X[:12] + apart * np.random.default_rng(6).normal(size=(12, n_features))
    assert distance_errors("C", X, centers) <= 3e-15
    assert distance_errors("csr32", X, centers) <= 7e-12


@pytest.mark.parametrize("n_features", [1, 2, 16, 64, 256, 1024])
@pytest.mark.parametrize("apart", [1.0, 0.1, 0.01, 1e-3, 1e-6])
def test_distances_near_rows_in_single_precision(n_features, apart):
    """Sparse rows near a center go by differences from a center in double. Found: 1.5e-6."""
    X = pairs_of_rows(n_features, np.float32)
    centers = X[:12] + apart * np.random.default_rng(6).normal(size=(12, n_features))
    assert distance_errors("csr32", X, centers) <= 3e-6
