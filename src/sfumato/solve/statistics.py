"""Statistics: what one pass over the rows yields. They add up.

Threads, chunks of a file and machines of a cluster differ only in who does the adding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


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
    hold : ndarray of shape (n_clusters,)
        ``rho'(0) * sum of v_i phi(a_ik)`` over the rows that coincide with center ``k``.
    objective : float
    """

    pull: Floats
    weight: Floats
    hold: Floats
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
            self.hold + other.hold,
            self.objective + other.objective,
        )

    @property
    def empty(self) -> NDArray[np.intp]:
        """Centers that no row moves or holds."""
        return np.flatnonzero((self.weight <= 0) & (self.hold <= 0))

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
        held = np.divide(self.hold, resultant, out=np.ones_like(resultant), where=resultant > 0)
        return current + np.maximum(0, 1 - held)[:, None] * step
