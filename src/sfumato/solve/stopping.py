"""When to stop, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.solve.solution import Outcome

LARGEST_ROUNDING = 1e-6
"""More than the rounding of float32 distances can raise a sum over the rows, relatively."""


@dataclass(frozen=True)
class Stopping:
    """Stop when the objective falls by at most ``tol`` of its value, or after ``max_iter``.

    The paper prints this condition inverted and absolute; relative to the value, it does not
    depend on the units of the data.
    """

    max_iter: int
    tol: float

    def __call__(self, objectives: Sequence[float], repaired: bool) -> Outcome | None:
        """Outcome after the given objective values, the last being that of the present centers.

        A repair in the present iteration will change the objective, so it counts as progress.
        """
        if objectives[-1] == 0:
            return Outcome.EXACT
        if len(objectives) > 1 and not repaired and self._settled(objectives):
            return Outcome.CONVERGED
        if len(objectives) >= self.max_iter:
            return Outcome.OUT_OF_ITERATIONS
        return None

    def _settled(self, objectives: Sequence[float]) -> bool:
        """Whether the last fall was small and no larger than the one before.

        Under a loss with a kink, a center very near a row leaves it in steps that start tiny and
        grow many times over: small falls that still grow are a beginning, not an end. A rise
        beyond rounding comes from a rule that minimizes no function, while its centers still move.
        """
        previous, present = objectives[-2:]
        fall = previous - present
        if fall <= 0:
            return -fall <= LARGEST_ROUNDING * abs(previous)
        if fall > self.tol * abs(previous) or len(objectives) == 2:
            return False
        return fall <= objectives[-3] - previous
