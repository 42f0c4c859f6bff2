"""WHAT is minimized: a loss of the distance, a membership rule, and the objective they form.

    minimize  sum_i v_i sum_k rho(h_ik) * phi(a_ik),    a_i on the simplex, sparse

with ``h_ik`` the distance of row ``i`` to center ``k``, ``rho`` the loss and ``phi`` set by the
membership rule. Nothing in this package knows how the minimum is looked for, or where.
"""

from sfumato.problem.losses import L21, Capped, Loss, Squared
from sfumato.problem.memberships import Hard, Membership, Power, Simplex
from sfumato.problem.problem import Problem, RowTerms

__all__ = [
    "L21",
    "Capped",
    "Hard",
    "Loss",
    "Membership",
    "Power",
    "Problem",
    "RowTerms",
    "Simplex",
    "Squared",
]
