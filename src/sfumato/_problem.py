"""The objective, row by row, and what passes over the rows result in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sfumato._typing import Floats
from sfumato.losses import Loss
from sfumato.memberships import Membership

SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
NONE = np.empty(0, dtype=np.intp)
"""No clusters."""
BALANCED = 1e-12
"""Share of a step below which the forces on a center are equal but for rounding, as on one of two
rows: a step of that size would leave it beside a row, where it hardly moves. Chosen by hand."""


class RowTerms(NamedTuple):
    """Terms of the objective and of the center update, per row, for its nearest centers.

    Attributes
    ----------
    indices : ndarray of shape (n_rows, n_nearest)
        Centers, by ascending distance; the lowest index wins a tie.
    memberships : ndarray of shape (n_rows, n_nearest)
        Shares of the row; they sum to one.
    pull : ndarray of shape (n_rows, n_nearest)
        Weight ``phi(a) * d rho / d h^2`` of the row in the mean that moves the center.
    kink_force : ndarray of shape (n_rows, n_nearest)
        ``phi(a) * rho'(0)`` of a row that coincides with the center, otherwise 0: the force with
        which it resists that the center moves.
    objective : ndarray of shape (n_rows,)
        Term of the row in the objective.
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
        Its cutoff may be "auto" until a fit has tuned it.
    membership : Membership
        After ``resolve``. Its ``fuzzifier`` or ``gamma`` may be "auto" until a fit has tuned it.
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
    """Sums over rows, at given centers ``b_k``. Those of disjoint rows can be added.

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
        """Statistics of no rows."""
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
        """Centers on which no row exerts a force."""
        if self.weight.min() > 0:  # As nearly always.
            return NONE
        return np.flatnonzero((self.weight <= 0) & (self.kink_force <= 0))

    def centers(self, current: Floats) -> Floats:
        """Centers after one step of majorize-minimize.

        A center moves to its re-weighted mean. Under a loss with a kink, rows that coincide with
        the center would have infinite weight there and freeze it. Vardi and Zhang (2000) give
        the exact step: with ``R = 2 * pull`` the resultant force of all other rows, stay if
        ``|R| <= kink_force`` but for rounding, otherwise go the fraction ``1 - kink_force / |R|``
        of the way.
        """
        if self.weight.min() > 0:
            step = self.pull / self.weight[:, None]
        else:
            positive = self.weight[:, None] > 0
            step = np.zeros_like(self.pull)
            np.divide(self.pull, self.weight[:, None], out=step, where=positive)
        if not self.kink_force.any():
            moved: Floats = current + step
            return moved
        largest = np.abs(self.pull).max(axis=1, initial=SMALLEST_NORMAL)
        units = self.pull / largest[:, None]  # Squares of sums over heavy rows overflow.
        resultant = 2 * largest * np.sqrt((units**2).sum(axis=1))
        with np.errstate(over="ignore"):  # A force that is nearly zero moves nothing.
            resistance = np.divide(
                self.kink_force, resultant, out=np.ones_like(resultant), where=resultant > 0
            )
        share = 1 - resistance
        return current + np.where(share > BALANCED, share, 0.0)[:, None] * step


@dataclass(frozen=True)
class Assignment:
    """Clusters of each row. From a chunked engine, arrays are lazy, in chunks like the rows.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,), int32
        Nearest center; the lowest index wins a tie.
    distances : ndarray of shape (n_rows,) or None
        Distance to it, if computed.
    memberships : csr_array of shape (n_rows, n_clusters) or None
        If computed; sorted by center within a row. Rules with ``n_active`` store that many entries
        in every row, zeros included.
    objective : float
    """

    labels: Any
    distances: Any
    memberships: Any
    objective: float
