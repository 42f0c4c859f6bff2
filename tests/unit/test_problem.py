"""The objective, row by row: order, ties, coincidences, and the gradient that moves the centers."""

import numpy as np
import pytest

from sfumato import L21, Capped, Hard, Power, Simplex, Squared
from sfumato._problem import Problem
from tests.catalogue import (
    EVERY_MEMBERSHIP,
    N_CLUSTERS,
    each,
    every_loss,
    every_membership,
    every_minimizing_membership,
)


def squared_distances(n_rows=30, seed=0):
    """Squared distances of rows to all centers, in no order, none very small."""
    return (0.3 + np.random.default_rng(seed).exponential(3.0, size=(n_rows, N_CLUSTERS))) ** 2


@every_loss
@every_membership
def test_terms_belong_to_the_nearest_centers_nearest_first(loss, membership):
    sq_dist = squared_distances()
    terms = Problem(loss, membership).terms(sq_dist)
    expected = np.argsort(sq_dist, axis=1)[:, : membership.n_nearest(N_CLUSTERS)]
    np.testing.assert_array_equal(terms.indices, expected)
    np.testing.assert_allclose(terms.memberships.sum(axis=1), 1, atol=1e-14)


@every_loss
@every_minimizing_membership
def test_pull_is_the_derivative_of_the_objective(loss, membership):
    """With the memberships minimized out, they need not be differentiated."""
    problem = Problem(loss, membership)
    sq_dist = squared_distances()
    terms = problem.terms(sq_dist)
    pull = np.zeros_like(sq_dist)
    np.put_along_axis(pull, terms.indices, terms.pull, axis=1)
    for k in range(N_CLUSTERS):
        step = 1e-6 * sq_dist[:, k]
        ahead, behind = sq_dist.copy(), sq_dist.copy()
        ahead[:, k] += step
        behind[:, k] -= step
        rise = problem.terms(ahead).objective - problem.terms(behind).objective
        np.testing.assert_allclose(pull[:, k], rise / (2 * step), rtol=1e-5, atol=1e-7)


@each("membership", [rule for rule in EVERY_MEMBERSHIP if rule.n_entries(N_CLUSTERS)])
def test_lowest_index_wins_ties(membership):
    n_active = membership.n_entries(N_CLUSTERS)
    terms = Problem(L21(), membership).terms(np.full((1, N_CLUSTERS), 4.0))
    np.testing.assert_array_equal(terms.indices[0, :n_active], np.arange(n_active))
    np.testing.assert_allclose(terms.memberships[0, :n_active], 1 / n_active)


@every_membership
def test_ties_beyond_the_nearest_go_by_index_too(membership):
    terms = Problem(L21(), membership).terms(np.array([[9.0, 4.0, 9.0, 4.0, 9.0]]))
    expected = [1, 3, 0, 2, 4][: membership.n_nearest(N_CLUSTERS)]
    np.testing.assert_array_equal(terms.indices[0], expected)


@every_loss
@every_membership
def test_only_coincident_rows_hold(loss, membership):
    sq_dist = squared_distances()
    sq_dist[::3, 2] = 0
    terms = Problem(loss, membership).terms(sq_dist)
    on_center = np.take_along_axis(sq_dist, terms.indices, axis=1) == 0
    np.testing.assert_array_equal(
        terms.kink_force, on_center * loss.kink * membership.phi(terms.memberships)
    )
    assert np.isfinite(terms.pull).all()
    if loss.kink:
        assert (terms.kink_force[::3, 0] > 0).all()
        np.testing.assert_array_equal(terms.pull[on_center], 0)


@each("rule", [Hard(), Power(1, 1.5), Power(3, 1.01), Power(3, 5.0), Simplex(gamma=0.1)])
@each("loss", [Squared(), L21(), Capped(2.0)])
def test_a_row_on_a_center_belongs_to_it_alone(rule, loss):
    terms = Problem(loss, rule).terms(np.array([[9.0, 0.0, 1.0, 4.0, 16.0]]))
    assert terms.indices[0, 0] == 1
    assert terms.memberships[0, 0] == 1
    np.testing.assert_array_equal(terms.memberships[0, 1:], 0)


@every_loss
@each("rule", [Power(2, 1.01), Power(3, 2.0), Power(5, 5.0), Simplex(n_active=3)])
def test_coinciding_centers_share(rule, loss):
    terms = Problem(loss, rule).terms(np.array([[0.25, 9.0, 0.25, 16.0, 25.0]]))
    np.testing.assert_array_equal(terms.indices[0, :2], [0, 2])
    assert terms.memberships[0, 0] == terms.memberships[0, 1] > 0


def test_capped_rows_beyond_the_cap_pull_nothing_and_cost_the_cap():
    terms = Problem(Capped(2.0), Hard()).terms(np.array([[25.0, 49.0], [1.0, 49.0]]))
    np.testing.assert_array_equal(terms.pull[:, 0], [0, 0.5])
    np.testing.assert_array_equal(terms.objective, [2, 1])


def test_the_papers_example():
    """Distances 2.4, 3.5, 0.6, 7.8, 1.9: the three nearest are the third, fifth and first."""
    distances = np.array([[2.4, 3.5, 0.6, 7.8, 1.9]])
    terms = Problem(L21(), Power(3, 2.0)).terms(distances**2)
    np.testing.assert_array_equal(terms.indices[0], [2, 4, 0])
    np.testing.assert_allclose(terms.memberships[0], np.array([76, 24, 19]) / 119, rtol=1e-13)
    weights = np.array([76, 24, 19]) ** 2 / 119**2 / (2 * np.array([0.6, 1.9, 2.4]))
    np.testing.assert_allclose(terms.pull[0], weights, rtol=1e-13)


def test_replacing_a_parameter_of_the_membership_rule():
    problem = Problem(L21(), Power(3, "auto"))
    tuned = problem.with_membership(fuzzifier=1.25)
    assert tuned.membership.get_params() == {"n_active": 3, "fuzzifier": 1.25}
    assert problem.membership.fuzzifier == "auto"
    assert tuned.loss is problem.loss


@pytest.mark.parametrize("n_clusters", [1, 2, 33])
@every_loss
def test_any_number_of_clusters(loss, n_clusters):
    for rule in (Hard(), Power("auto", 1.5), Simplex(), Simplex(gamma=0.5)):
        resolved = rule.resolve(n_clusters)
        terms = Problem(loss, resolved).terms(np.ones((2, n_clusters)))
        assert terms.memberships.shape == (2, resolved.n_nearest(n_clusters))
        np.testing.assert_allclose(terms.memberships.sum(axis=1), 1)
