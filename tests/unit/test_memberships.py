"""Membership rules: each gives the minimum of the row's objective, however extreme the losses."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

from sfumato import REFCMFS, FuzzyCMeans, Hard, Power, Simplex
from sfumato.memberships import row_gamma
from tests.catalogue import (
    EVERY_POWER,
    FUZZIFIERS,
    N_CLUSTERS,
    each,
    every_membership,
    every_minimizing_membership,
)

PAPER_LOSSES = np.array([2.4, 3.5, 0.6, 7.8, 1.9])
"""Distances of the paper's worked figure, whose printed memberships do not sum to one."""


def ascending_losses(rule, n_rows=40, seed=0, scale=1.0):
    """Losses of the centers that the rule looks at, nearest first."""
    losses = np.random.default_rng(seed).exponential(scale, size=(n_rows, N_CLUSTERS))
    return np.sort(losses, axis=1)[:, : rule.n_nearest(N_CLUSTERS)]


def gamma_of(rule, losses):
    """Strength of the quadratic penalty in each row; zero for rules without one."""
    if not isinstance(rule, Simplex):
        return np.zeros(len(losses))
    if rule.n_active is not None:
        return row_gamma(losses, rule.n_active)
    return np.full(len(losses), rule.gamma)


def objective_of(rule, losses, memberships):
    """Row by row, the function that the rule claims to minimize."""
    penalty = gamma_of(rule, losses) * (memberships**2).sum(axis=-1)
    return (rule.phi(memberships) * losses).sum(axis=-1) + penalty


@every_membership
def test_objective_is_that_of_the_memberships(membership):
    losses = ascending_losses(membership)
    memberships, objective = membership.solve(losses)
    np.testing.assert_allclose(objective, objective_of(membership, losses, memberships), rtol=1e-12)


@every_membership
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_shares_are_honest_at_any_scale(membership, scale):
    losses = ascending_losses(membership, scale=scale)
    memberships, objective = membership.solve(losses)
    np.testing.assert_allclose(memberships.sum(axis=1), 1, rtol=0, atol=1e-14)
    assert (memberships >= 0).all()
    assert (np.diff(memberships, axis=1) <= 0).all()
    assert np.isfinite(objective).all()
    assert (objective > 0).all()


@every_minimizing_membership
def test_no_other_memberships_are_better(membership):
    losses = ascending_losses(membership, n_rows=10)
    _, smallest = membership.solve(losses)
    rng = np.random.default_rng(1)
    for concentration in (0.1, 1.0, 10.0):
        for trial in rng.dirichlet(np.full(losses.shape[1], concentration), size=200):
            assert (smallest <= objective_of(membership, losses, trial) * (1 + 1e-12)).all()


@every_membership
def test_equal_losses_share_equally(membership):
    n_nearest = membership.n_nearest(N_CLUSTERS)
    memberships, _ = membership.solve(np.full((1, n_nearest), 0.7))
    used = membership.n_entries(N_CLUSTERS) or n_nearest
    np.testing.assert_allclose(memberships[0, :used], 1 / used, rtol=1e-14)
    np.testing.assert_array_equal(memberships[0, used:], 0)


@every_minimizing_membership
def test_a_row_on_a_center_is_as_good_as_it_gets(membership):
    losses = np.array([0.0, 1.0, 2.0, 3.0, 4.0])[None, : membership.n_nearest(N_CLUSTERS)]
    memberships, objective = membership.solve(losses)
    assert memberships[0].argmax() == 0
    if gamma_of(membership, losses)[0] < 0.5:  # otherwise the penalty outweighs the loss of 1
        np.testing.assert_array_equal(memberships[0, 1:], 0)
        assert objective[0] == gamma_of(membership, losses)[0]


@every_membership
def test_coinciding_centers_share_a_row_on_them(membership):
    n_nearest = membership.n_nearest(N_CLUSTERS)
    losses = np.array([0.0, 0.0, 3.0, 30.0, 300.0])[None, :n_nearest]
    memberships, _ = membership.solve(losses)
    alone = membership.n_entries(N_CLUSTERS) == 1
    assert memberships[0, 0] == (1 if alone else memberships[0, 1])
    if isinstance(membership, Power) and not alone:
        np.testing.assert_array_equal(memberships[0, :2], 0.5)


@every_membership
def test_all_losses_zero(membership):
    memberships, objective = membership.solve(np.zeros((1, membership.n_nearest(N_CLUSTERS))))
    assert memberships.sum() == pytest.approx(1)
    assert objective[0] == pytest.approx(gamma_of(membership, np.zeros((1, 1)))[0] / N_CLUSTERS)


@every_membership
def test_input_is_not_written_to(membership):
    losses = ascending_losses(membership)
    losses.setflags(write=False)
    memberships, _ = membership.solve(losses)
    memberships.setflags(write=False)
    membership.phi(memberships)


# The power rule.


@each("rule", EVERY_POWER)
def test_power_balances_marginal_costs(rule):
    """Where the objective is smallest, r * loss * a^(r-1) is the same for all active centers."""
    losses = ascending_losses(rule)
    memberships, objective = rule.solve(losses)
    marginal = losses * memberships ** (rule.fuzzifier - 1)
    tiny = memberships < 1e-290  # its power has lost digits to the smallest number there is
    np.testing.assert_allclose(
        np.where(tiny, objective[:, None], marginal), objective[:, None] + 0 * marginal, rtol=1e-12
    )


@pytest.mark.parametrize("fuzzifier", [1.5, 2.0, 5.0])
def test_power_against_a_general_minimizer(fuzzifier):
    rule = Power(3, fuzzifier)
    losses = ascending_losses(rule, n_rows=5)
    memberships, objective = rule.solve(losses)
    for row, expected, smallest in zip(losses, memberships, objective, strict=True):
        found = minimize(
            lambda a, row=row: (row * np.abs(a) ** fuzzifier).sum(),
            np.full(3, 1 / 3),
            method="SLSQP",
            bounds=[(0, 1)] * 3,
            constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert found.fun == pytest.approx(smallest, rel=1e-8)
        np.testing.assert_allclose(found.x, expected, atol=1e-4)


def test_power_on_the_papers_example():
    """For r = 2 shares go by 1/h: 1/0.6, 1/1.9, 1/2.4 are as 76, 24, 19."""
    nearest = np.sort(PAPER_LOSSES)[None, :3]
    memberships, objective = Power(3, 2.0).solve(nearest)
    np.testing.assert_allclose(memberships[0], [76 / 119, 24 / 119, 19 / 119], rtol=1e-14)
    assert objective[0] == pytest.approx(float(Fraction(228, 595)), rel=1e-14)


@pytest.mark.parametrize("fuzzifier", FUZZIFIERS)
def test_power_on_the_papers_example_sums_to_one(fuzzifier):
    memberships, _ = Power(3, fuzzifier).solve(np.sort(PAPER_LOSSES)[None, :3])
    assert memberships.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("fuzzifier", FUZZIFIERS)
def test_power_takes_losses_of_very_different_size(fuzzifier):
    losses = np.array([[1e-300, 1e-10, 1e300], [1e300, 1e300, 1.5e300], [1e-300, 1e-300, 1e-299]])
    memberships, objective = Power(3, fuzzifier).solve(losses)
    np.testing.assert_allclose(memberships.sum(axis=1), 1, atol=1e-14)
    assert np.isfinite(objective).all()
    assert (objective > 0).all()


@pytest.mark.parametrize("n_active", [1, 2, 3])
def test_power_near_one_is_hard_and_large_is_even(n_active):
    losses = np.array([[1.0, 1.5, 4.0]])[:, :n_active]
    sharp, _ = Power(n_active, 1.0001).solve(losses)
    np.testing.assert_allclose(sharp[0], np.eye(n_active)[0], atol=1e-12)
    even, _ = Power(n_active, 1e6).solve(losses)
    np.testing.assert_allclose(even[0], 1 / n_active, rtol=1e-5)


# The simplex rule.


def quadratic_program(losses, gamma):
    """Memberships of all rows by a general solver."""
    memberships = cp.Variable(losses.shape, nonneg=True)
    linear = cp.sum(cp.multiply(losses, memberships))
    quadratic = cp.sum(cp.multiply(gamma[:, None], cp.square(memberships)))
    problem = cp.Problem(cp.Minimize(linear + quadratic), [cp.sum(memberships, axis=1) == 1])
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    problem.solve(solver=cp.CLARABEL, **tight)
    return memberships.value


@pytest.mark.parametrize(
    "rule",
    [Simplex(gamma=g) for g in (0.01, 0.3, 1.0, 20.0)]
    + [Simplex(n_active=n) for n in range(1, N_CLUSTERS + 1)],
    ids=repr,
)
def test_simplex_is_the_quadratic_program(rule):
    losses = ascending_losses(rule)
    memberships, _ = rule.solve(losses)
    expected = quadratic_program(losses, gamma_of(rule, losses))
    np.testing.assert_allclose(memberships, expected, atol=2e-6)


@pytest.mark.parametrize("n_active", range(1, N_CLUSTERS))
def test_simplex_with_a_number_of_active_centers_is_the_closed_form(n_active):
    rule = Simplex(n_active=n_active)
    losses = ascending_losses(rule)
    memberships, _ = rule.solve(losses)
    following = losses[:, n_active:]
    shares = following - losses[:, :n_active]
    expected = shares / (n_active * following[:, 0] - losses[:, :n_active].sum(axis=1))[:, None]
    np.testing.assert_allclose(memberships[:, :n_active], expected, rtol=1e-10)


@pytest.mark.parametrize("n_active", range(1, N_CLUSTERS + 1))
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_simplex_has_exactly_the_active_centers(n_active, scale):
    rule = Simplex(n_active=n_active)
    memberships, _ = rule.solve(ascending_losses(rule, n_rows=500, scale=scale))
    np.testing.assert_array_equal((memberships > 0).sum(axis=1), n_active)


def test_simplex_by_hand():
    losses = np.array([[1.0, 2.0, 4.0]])
    memberships, objective = Simplex(n_active=2).solve(losses)  # gamma = (2 * 4 - 3) / 2 = 2.5
    np.testing.assert_allclose(memberships[0], [0.6, 0.4, 0.0], atol=1e-15)
    assert objective[0] == pytest.approx(0.6 + 0.8 + 2.5 * 0.52)
    memberships, _ = Simplex(n_active=3).solve(losses)  # gamma = 3 * 4 - 7 = 5
    np.testing.assert_allclose(memberships[0], [14 / 30, 11 / 30, 5 / 30], rtol=1e-14)
    memberships, _ = Simplex(gamma=0.25).solve(losses)  # a gap of 1 is more than 2 * gamma
    np.testing.assert_array_equal(memberships[0], [1, 0, 0])
    memberships, _ = Simplex(gamma=1e6).solve(losses)
    np.testing.assert_allclose(memberships[0], 1 / 3, atol=1e-5)


def test_simplex_all_active_leaves_the_farthest_half_an_equal_share():
    rule = Simplex(n_active=N_CLUSTERS)
    memberships, _ = rule.solve(ascending_losses(rule))
    np.testing.assert_allclose(memberships[:, -1], 1 / (2 * N_CLUSTERS), rtol=1e-10)


def test_simplex_grows_softer_with_gamma():
    counts = [
        (Simplex(gamma=gamma).solve(ascending_losses(Simplex(gamma=1.0)))[0] > 0).sum()
        for gamma in (1e-6, 0.01, 0.1, 1.0, 10.0)
    ]
    assert counts == sorted(counts)
    assert counts[0] == 40
    assert counts[-1] == 40 * N_CLUSTERS


# One active center, whatever the rule.


@pytest.mark.parametrize("rule", [Power(1, 1.01), Power(1, 5.0), Simplex(n_active=1)], ids=repr)
def test_one_active_center_is_hard(rule):
    losses = ascending_losses(rule)
    memberships, objective = rule.solve(losses)
    hard, hard_objective = Hard().solve(losses[:, :1])
    np.testing.assert_array_equal(memberships[:, :1], hard)
    np.testing.assert_array_equal(memberships[:, 1:], 0)
    if isinstance(rule, Power):
        np.testing.assert_array_equal(objective, hard_objective)


# Parameters.


def test_auto_is_five_or_all_clusters():
    assert Power().resolve(8).n_active == 5
    assert Power().resolve(3).n_active == 3
    assert Simplex().resolve(8).n_active == 5
    assert Simplex(gamma="auto").resolve(8).n_active is None


def test_resolving_changes_no_parameter_of_the_part():
    rule = Power()
    rule.resolve(8)
    assert rule.get_params() == {"n_active": "auto", "fuzzifier": "auto"}


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (Power(n_active=0), ValueError, r"n_active=0 must be at least 1; use 1 <= `n_active` <="),
        (Power(n_active=9), ValueError, r"n_active=9 exceeds n_clusters=8"),
        (Power(n_active=2.0), TypeError, r"n_active=2.0 is not an integer"),
        (Power(fuzzifier=1), ValueError, r"fuzzifier=1 must be larger than 1"),
        (Power(fuzzifier=np.inf), ValueError, r"fuzzifier=inf must be finite"),
        (Power(fuzzifier=np.nan), ValueError, r"fuzzifier=nan must be larger than 1"),
        (Power(fuzzifier="soft"), TypeError, r"fuzzifier='soft' is not a number"),
        (Simplex(gamma=0), ValueError, r"gamma=0 must be larger than 0"),
        (Simplex(gamma="some"), TypeError, r"gamma='some' is not a number"),
        (Simplex(gamma=np.inf), ValueError, r"gamma=inf must be finite"),
        (Simplex(n_active=9), ValueError, r"n_active=9 exceeds n_clusters=8"),
        (Simplex(gamma=1.0, n_active=2), ValueError, r"exclude one another"),
    ],
    ids=repr,
)
def test_meaningless_parameters_are_named(rule, error, message):
    with pytest.raises(error, match=message):
        rule.resolve(8)


# "auto" parameters.


def test_a_rule_is_tuned_by_what_it_names():
    assert Hard.tuned_by is None
    losses, weights = np.array([[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]), np.array([1.0, 3.0])
    fuzzy = Power(2, "auto")
    assert fuzzy.tuned_by == "dimension"
    assert fuzzy.tuned_to_dimension(4, degree=2).get_params() == {"n_active": 2, "fuzzifier": 1.5}
    sparse = Simplex(gamma="auto")
    assert sparse.tuned_by == "losses"
    expected = np.average(row_gamma(losses, 2), weights=weights)
    assert sparse.tuned_to_losses(losses, weights).get_params() == {
        "gamma": expected,
        "n_active": None,
    }
    for tuned in (fuzzy.tuned_to_losses, Hard().tuned_to_losses):
        with pytest.raises(TypeError, match="no parameter that depends on the losses"):
            tuned(losses, weights)
    with pytest.raises(TypeError, match="no parameter that depends on the dimension"):
        sparse.tuned_to_dimension(4, degree=2)


@pytest.mark.parametrize("model", [REFCMFS(2, fuzzifier=1), FuzzyCMeans(2, fuzzifier=1)], ids=repr)
def test_advice_names_only_parameters_that_there_are(model):
    with pytest.raises(ValueError, match="fuzzifier=1 must be larger than 1") as caught:
        model.fit([[0.0], [1.0], [2.0]])
    assert "n_active" not in str(caught.value)
