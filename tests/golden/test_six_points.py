"""The example of docs/six-points.md, in exact fractions."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sfumato import L21, REFCMFS, Hard, Power, Simplex, SimREFCMFS
from tests.catalogue import STORAGES, each, every_engine, make_engine

PAGE = Path(__file__).parents[2] / "docs" / "six-points.md"
POINTS = [0, 1, 2, 10, 11, 12]
X = np.array(POINTS, dtype=float)[:, None]
START, END = (0, 10), (1, 11)


def column(centers):
    return np.array(centers, dtype=float)[:, None]


def memberships(point, centers):
    """Shares of a point between two centers for r = 2: in proportion to 1/h."""
    first, second = (abs(Fraction(point - center)) for center in centers)
    return second / (first + second), first / (first + second)


def objective(point, centers):
    shares = memberships(point, centers)
    return sum(
        abs(point - center) * share**2 for center, share in zip(centers, shares, strict=True)
    )


def force_weight_and_hold(centers, k):
    """Pull of the points off the center, the sum of their weights, and the hold of those on it."""
    force, weight, hold = Fraction(0), Fraction(0), Fraction(0)
    for point in POINTS:
        share, distance = memberships(point, centers)[k], abs(point - centers[k])
        if distance == 0:
            hold += share**2
        else:
            force += share**2 * (1 if point > centers[k] else -1)
            weight += share**2 / (2 * distance)
    return force, weight, hold


def stepped(centers, k):
    """Where the step of Vardi and Zhang takes a center."""
    force, weight, hold = force_weight_and_hold(centers, k)
    if abs(force) <= hold:
        return Fraction(centers[k])
    return centers[k] + (1 - hold / abs(force)) * force / (2 * weight)


def test_the_page_says_what_the_fractions_say():
    page = PAGE.read_text(encoding="utf-8")
    force, weight, _ = force_weight_and_hold(START, 0)
    other_force, other_weight, _ = force_weight_and_hold(START, 1)
    end_force, _, _ = force_weight_and_hold(END, 0)
    figures = [
        sum(objective(point, START) for point in POINTS),
        sum(objective(point, END) for point in POINTS),
        force,
        weight,
        force / (2 * weight),
        stepped(START, 0),
        other_force,
        other_weight,
        end_force,
    ]
    for figure in figures:
        assert str(figure) in page
    assert f"{float(stepped(START, 1)):.4f}" in page
    for centers in (START, END):
        for point in POINTS:
            distances = [abs(point - center) for center in centers]
            row = [point, *distances, *memberships(point, centers), objective(point, centers)]
            assert f"| {' | '.join(map(str, row))} |" in page


@every_engine
@pytest.mark.parametrize("centers", [START, END], ids=["start", "end"])
@each("storage", STORAGES, ids=str)
def test_engines_compute_the_page(engine_name, centers, storage):
    engine = make_engine(engine_name, STORAGES[storage](X), L21(), Power(2, 2.0))
    statistics = engine.sweep(column(centers))
    for k in range(2):
        force, weight, hold = force_weight_and_hold(centers, k)
        assert 2 * statistics.pull[k, 0] == pytest.approx(float(force), rel=1e-13, abs=1e-14)
        assert statistics.weight[k] == pytest.approx(float(weight), rel=1e-14)
        assert statistics.kink_force[k] == float(hold) == 1
    total = sum(objective(point, centers) for point in POINTS)
    assert statistics.objective == pytest.approx(float(total), rel=1e-14)
    assignment = engine.assign(column(centers))
    expected = [[float(share) for share in memberships(point, centers)] for point in POINTS]
    np.testing.assert_allclose(assignment.memberships.toarray(), expected, rtol=1e-14)
    np.testing.assert_array_equal(assignment.labels, [0, 0, 0, 1, 1, 1])


@every_engine
@pytest.mark.parametrize("centers", [START, END], ids=["start", "end"])
def test_the_step_is_that_of_the_page(engine_name, centers):
    engine = make_engine(engine_name, X, L21(), Power(2, 2.0))
    found = engine.sweep(column(centers)).centers(column(centers))
    expected = [float(stepped(centers, k)) for k in range(2)]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-13)


@every_engine
def test_a_fit_from_the_start_reaches_the_end(engine_name):
    model = REFCMFS(2, n_active=2, fuzzifier=2.0, init=column(START), engine=engine_name).fit(X)
    assert model.history_[0].objective == pytest.approx(431 / 84, rel=1e-14)
    assert model.objective_ == pytest.approx(109 / 30, rel=1e-7)
    np.testing.assert_allclose(model.cluster_centers_[:, 0], END, atol=1e-6)
    assert model.outcome_.converged


@every_engine
def test_a_fit_from_the_end_stays(engine_name):
    model = REFCMFS(2, n_active=2, fuzzifier=2.0, init=column(END), engine=engine_name).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_[:, 0], END)
    assert model.objective_ == pytest.approx(109 / 30, rel=1e-14)


@every_engine
@pytest.mark.parametrize("preset", [REFCMFS, SimREFCMFS])
def test_hard_memberships(engine_name, preset):
    model = preset(2, n_active=1, fuzzifier=2.0, init=column(START), engine=engine_name).fit(X)
    np.testing.assert_allclose(model.cluster_centers_[:, 0], END, atol=1e-6)
    assert model.objective_ == pytest.approx(4, rel=1e-6)
    hard = make_engine(engine_name, X, L21(), Hard())
    assert hard.sweep(column(END)).objective == 4


@every_engine
def test_simplex_memberships(engine_name):
    engine = make_engine(engine_name, X, L21(), Simplex(gamma=6.0))
    found = engine.assign(column(END)).memberships.toarray()
    expected = np.array([11 / 12, 11 / 12, 5 / 6])
    np.testing.assert_allclose(found[:3, 0], expected, rtol=1e-13)
    np.testing.assert_allclose(found[3:, 1], expected[::-1], rtol=1e-13)
