"""The problem: the one owner of the objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.problem.losses import Loss
from sfumato.problem.memberships import Membership

Floats = NDArray[np.floating]


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
    hold : ndarray of shape (n_rows, n_nearest)
        Force ``phi(a) * rho'(0)`` with which a row that coincides with a center holds it back.
    objective : ndarray of shape (n_rows,)
        The row's part of the objective.
    """

    indices: NDArray[np.intp]
    memberships: Floats
    pull: Floats
    hold: Floats
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
        hold = np.where(nearest == 0, phi * self.loss.kink, 0.0)
        return RowTerms(indices, memberships, pull, hold, objective)

    def with_loss(self, **parameters: Any) -> Problem:
        """Problem with some parameters of its loss replaced."""
        return Problem(type(self.loss)(**self.loss.get_params() | parameters), self.membership)

    def with_membership(self, **parameters: Any) -> Problem:
        """Problem with some parameters of its membership rule replaced."""
        given = self.membership.get_params() | parameters
        return Problem(self.loss, type(self.membership)(**given))
