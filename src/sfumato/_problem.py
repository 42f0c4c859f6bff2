"""The problem: the one owner of the objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sfumato._typing import Floats
from sfumato.losses import Loss
from sfumato.memberships import Membership


class RowTerms(NamedTuple):
    """What each row of a block contributes, for its nearest centers, nearest first.

    Attributes
    ----------
    indices : ndarray of shape (n_rows, n_nearest)
        Centers, by ascending distance; the lowest index wins a tie.
    memberships : ndarray of shape (n_rows, n_nearest)
        Shares of the row; they sum to one.
    pull : ndarray of shape (n_rows, n_nearest)
        Weight ``phi(a) * d rho / d h^2`` of the row in the mean that moves the center.
    kink_force : ndarray of shape (n_rows, n_nearest)
        Force ``phi(a) * rho'(0)`` with which a row that coincides with a center holds it back.
    objective : ndarray of shape (n_rows,)
        The row's part of the objective.
    """

    indices: NDArray[np.intp]
    memberships: Floats
    pull: Floats
    kink_force: Floats
    objective: Floats


@dataclass(frozen=True)
class Problem:
    """A loss and a membership rule: the objective, row by row.

    Attributes
    ----------
    loss : Loss
    membership : Membership
        Resolved: every parameter is a number, except that a pilot fit may still have to choose
        ``fuzzifier`` or ``gamma``, and the ``cap`` of the loss.
    """

    loss: Loss
    membership: Membership

    def terms(self, sq_dist: Floats) -> RowTerms:
        """Terms of each row, from its squared distances to all centers.

        Parameters
        ----------
        sq_dist : ndarray of shape (n_rows, n_clusters)
        """
        n_nearest = self.membership.n_nearest(sq_dist.shape[1])
        indices = np.argsort(sq_dist, axis=1, kind="stable")[:, :n_nearest]
        nearest = np.take_along_axis(sq_dist, indices, axis=1)
        memberships, objective = self.membership.solve(self.loss.value(nearest))
        phi = self.membership.phi(memberships)
        pull = phi * self.loss.weight(nearest)
        kink_force = np.where(nearest == 0, phi * self.loss.kink, 0.0)
        return RowTerms(indices, memberships, pull, kink_force, objective)

    def with_loss(self, **parameters: Any) -> Problem:
        """Problem with some parameters of its loss replaced."""
        return Problem(type(self.loss)(**self.loss.get_params() | parameters), self.membership)

    def with_membership(self, **parameters: Any) -> Problem:
        """Problem with some parameters of its membership rule replaced."""
        given = self.membership.get_params() | parameters
        return Problem(self.loss, type(self.membership)(**given))


@dataclass(frozen=True)
class Statistics:
    """Sums over rows, taken at given centers ``b_k``.

    Attributes
    ----------
    pull : ndarray of shape (n_clusters, n_features)
        ``sum_i w_ik (x_i - b_k)``, with ``w_ik = v_i phi(a_ik) d rho / d h^2``. Minus twice this
        is the gradient of the objective with the memberships minimized out.
    weight : ndarray of shape (n_clusters,)
        ``sum_i w_ik``.
    kink_force : ndarray of shape (n_clusters,)
        ``rho'(0) * sum of v_i phi(a_ik)`` over the rows that coincide with center ``k``.
    objective : float
    """

    pull: Floats
    weight: Floats
    kink_force: Floats
    objective: float

    @classmethod
    def zero(cls, n_clusters: int, n_features: int) -> Self:
        """Statistics of no rows at all."""
        return cls(
            np.zeros((n_clusters, n_features)), np.zeros(n_clusters), np.zeros(n_clusters), 0.0
        )

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.pull + other.pull,
            self.weight + other.weight,
            self.kink_force + other.kink_force,
            self.objective + other.objective,
        )

    @property
    def empty(self) -> NDArray[np.intp]:
        """Centers that no row moves or holds."""
        return np.flatnonzero((self.weight <= 0) & (self.kink_force <= 0))

    def centers(self, current: Floats) -> Floats:
        """Centers after one step of majorize-minimize.

        A center moves to its re-weighted mean. Under a loss with a kink, rows that coincide with
        the center would have infinite weight there and freeze it. Vardi and Zhang (2000) give
        the exact step: with ``R = 2 * pull`` the resultant force of all other rows, stay if
        ``|R| <= hold``, otherwise go the fraction ``1 - hold / |R|`` of the way.
        """
        step = np.divide(
            self.pull,
            self.weight[:, None],
            out=np.zeros_like(self.pull),
            where=self.weight[:, None] > 0,
        )
        resultant = 2 * np.sqrt((self.pull**2).sum(axis=1))
        held = np.divide(
            self.kink_force, resultant, out=np.ones_like(resultant), where=resultant > 0
        )
        return current + np.maximum(0, 1 - held)[:, None] * step
