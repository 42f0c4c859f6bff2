"""Accelerated steps: fewer passes, never a higher objective, and nothing lost when they fail."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from sfumato import (
    L21,
    REFCMFS,
    Capped,
    CappedREFCMFS,
    FuzzyClustering,
    Hard,
    Power,
    Simplex,
    Squared,
)
from sfumato._problem import Statistics
from sfumato._solvers.acceleration import LBFGS
from sfumato._solvers.descent import Stopping, solve
from tests.catalogue import make_engine

LOSSES = [Squared(), L21(), Capped(cap=3.0)]
SOFT = [Power(2, 1.1), Power(4, 1.5), Power(4, 2.0), Simplex(gamma=2.0)]
STOPPING = Stopping(max_iter=500, tol=1e-9)


@pytest.fixture(scope="module", name="X")
def overlapping_blobs() -> np.ndarray:
    return make_blobs(400, 6, centers=4, cluster_std=3.0, random_state=0)[0]


def test_a_quadratic_is_solved_in_few_steps() -> None:
    """On a quadratic of six unequal curvatures, where plain steps hardly get anywhere."""
    rng = np.random.default_rng(0)
    minimum, stiffness = rng.normal(size=(3, 2)), rng.uniform(1, 50, size=(3, 2))
    quick = plain = rng.normal(size=(3, 2))
    lbfgs = LBFGS()
    for _ in range(20):
        pull = stiffness * (minimum - quick)
        statistics = Statistics(pull, np.full(3, 50.0), np.zeros(3), 0.0)
        proposal = lbfgs.propose(quick, statistics, quick + pull / 50)
        quick = quick + pull / 50 if proposal is None else proposal
        plain = plain + stiffness * (minimum - plain) / 50
    assert np.abs(quick - minimum).max() < 1e-7
    assert np.abs(plain - minimum).max() > 1e-2


@pytest.mark.parametrize("rule", SOFT, ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_objective_never_rises_and_ends_at_rest(X, loss, rule) -> None:
    engine = make_engine("native", X, loss, rule)
    found = solve(engine, X[:4], STOPPING, acceleration=LBFGS())
    objectives = np.array([record.objective for record in found.history])
    assert (np.diff(objectives) <= 1e-12 * objectives[0]).all()
    assert found.outcome.converged
    statistics = engine.sweep(found.centers)
    still = np.abs(statistics.centers(found.centers) - found.centers).max()
    assert still < 1e-2 * np.abs(X).max()


@pytest.mark.parametrize("rule", SOFT, ids=str)
def test_passes_are_saved(X, rule) -> None:
    engine = make_engine("native", X, L21(), rule)
    plain = accelerated = 0
    for seed in range(5):
        start = X[np.random.default_rng(seed).choice(len(X), 4, replace=False)] + 0.01
        plain += len(solve(engine, start, STOPPING).history)
        quick = solve(engine, start, STOPPING, acceleration=LBFGS())
        accelerated += sum(record.passes for record in quick.history)
    assert accelerated < plain


class Misguided:
    """Proposes centers far away, always."""

    def __init__(self) -> None:
        self.forgotten = 0

    def propose(self, centers, statistics, plain):
        return centers + 1000.0

    def forget(self, jumped: bool = False) -> None:
        self.forgotten += 1


def test_a_bad_proposal_costs_a_pass_and_nothing_else(X) -> None:
    engine = make_engine("native", X, L21(), Power(4, 1.5))
    plain = solve(engine, X[:4], STOPPING)
    misguided = Misguided()
    stubborn = solve(engine, X[:4], STOPPING, acceleration=misguided)
    np.testing.assert_array_equal(stubborn.centers, plain.centers)
    assert [record.passes for record in stubborn.history] == [1] + [2] * (len(plain.history) - 1)
    assert misguided.forgotten == len(plain.history) - 1


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Hard(), False),
        (Power(1, 2.0), False),
        (Power(2, 2.0), True),
        (Simplex(gamma=1.0), True),
        (Simplex(n_active=2), False),
    ],
    ids=str,
)
def test_it_is_used_where_there_is_a_smooth_function(rule, expected) -> None:
    assert rule.smooth is expected


def test_it_can_be_chosen_and_left(X) -> None:
    def passes(acceleration):
        model = REFCMFS(4, fuzzifier=1.5, init=X[:4] + 0.1, acceleration=acceleration).fit(X)
        return sum(record.passes for record in model.history_)

    assert passes("auto") == passes("lbfgs") < passes(None)


def test_an_unknown_name_is_answered_with_the_nearest(X) -> None:
    with pytest.raises(ValueError, match=r"acceleration='lbgfs' is not known.*'lbfgs'"):
        FuzzyClustering(2, acceleration="lbgfs").fit(X)


@pytest.mark.parametrize("model", [REFCMFS, CappedREFCMFS], ids=lambda model: model.__name__)
def test_centers_that_end_on_copies_of_a_row(model) -> None:
    """Only coincident rows pull on them: what was learned about them scales nothing."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = np.repeat(rng.normal(size=(rng.integers(3, 6), rng.integers(1, 5))), 9, axis=0)
        fitted = model(2, random_state=0).fit(X)
        assert np.isfinite(fitted.cluster_centers_).all()
