"""Fewer passes: steps extrapolated from the ones before, kept only if the objective falls.

With the memberships minimized out, the objective is a function of the centers alone, and one pass
yields its value and its gradient, ``-2 * pull``. The plain step is gradient descent
preconditioned by ``1 / (2 * weight)``; it is safe, and slow on the plateaus that soft memberships
make.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

import numpy as np

from sfumato._checks import resolve_name
from sfumato._problem import Problem, Statistics
from sfumato._typing import Floats


class Acceleration(Protocol):
    """Whatever proposes better steps than the plain one."""

    def propose(self, centers: Floats, statistics: Statistics, plain: Floats) -> Floats | None:
        """Centers to try next instead of ``plain``, or None to take the plain step."""

    def forget(self, jumped: bool = False) -> None:
        """Start anew: the last proposal raised the objective, or a center has jumped elsewhere."""

    def memory(self) -> dict[str, Floats]:
        """What it has learned, as arrays; ``remember`` takes them back."""

    def remember(self, memory: dict[str, Floats]) -> None:
        """Go on with what another has learned."""


class PlainSteps:
    """No acceleration."""

    def propose(self, centers: Floats, statistics: Statistics, plain: Floats) -> Floats | None:
        """None: the plain step is taken."""
        return None

    def forget(self, jumped: bool = False) -> None:
        """Nothing to forget."""

    def memory(self) -> dict[str, Floats]:
        """Nothing."""
        return {}

    def remember(self, memory: dict[str, Floats]) -> None:
        """Nothing to remember."""


class LBFGS:
    """Limited-memory quasi-Newton steps [1]_, whose first step is the plain one.

    The inverse Hessian is built from the last few pairs of shifts of the centers and of the
    gradient, on top of the plain step's preconditioner, scaled to fit the latest pair. Centers that
    a coincident row holds take the plain step: there the objective has a kink.

    References
    ----------
    .. [1] J. Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of
       Computation 35, 1980.
    """

    kept = 8
    """Pairs that are kept; more did not save passes on the paper's data sets."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=self.kept)
        self._last: tuple[Floats, Floats] | None = None

    def propose(self, centers: Floats, statistics: Statistics, plain: Floats) -> Floats | None:
        """Quasi-Newton step, or None where there is nothing to build it from."""
        gradient = -2 * statistics.pull
        self._learn(centers, gradient)
        if not self._pairs or (statistics.weight <= 0).any():
            return None
        direction = self._direction(gradient, statistics.weight)
        if not dot(direction, gradient) < 0:
            self.forget()
            return None
        proposal = centers + direction
        held = statistics.kink_force > 0
        proposal[held] = plain[held]
        return proposal

    def forget(self, jumped: bool = False) -> None:
        """Drop all pairs; after a jump, the point from which the next would start too."""
        self._pairs.clear()
        if jumped:
            self._last = None

    def memory(self) -> dict[str, Floats]:
        """Pairs, and the point from which the next one starts."""
        found: dict[str, Floats] = {}
        if self._pairs:
            shifts, changes, curvatures = zip(*self._pairs, strict=True)
            found = {
                "shifts": np.array(shifts),
                "changes": np.array(changes),
                "curvatures": np.array(curvatures),
            }
        if self._last is not None:
            found |= {"last": self._last[0], "gradient": self._last[1]}
        return found

    def remember(self, memory: dict[str, Floats]) -> None:
        """Go on with the pairs of another."""
        self._pairs.clear()
        names = ("shifts", "changes", "curvatures")
        for shift, change, curvature in zip(*(memory.get(n, ()) for n in names), strict=True):
            self._pairs.append((shift, change, float(curvature)))
        self._last = (memory["last"], memory["gradient"]) if "last" in memory else None

    def _learn(self, centers: Floats, gradient: Floats) -> None:
        """Keep the latest pair, if the objective curves upwards along it."""
        if self._last is not None:
            shift, change = centers - self._last[0], gradient - self._last[1]
            curvature = dot(shift, change)
            if curvature > 1e-12 * np.sqrt(dot(shift, shift) * dot(change, change)):
                self._pairs.append((shift, change, curvature))
        self._last = centers, gradient

    def _direction(self, gradient: Floats, weight: Floats) -> Floats:
        """Two-loop recursion."""
        direction = -gradient
        scratch = np.empty_like(direction)
        steps = []
        for shift, change, curvature in reversed(self._pairs):
            step = dot(shift, direction) / curvature
            direction -= np.multiply(change, step, out=scratch)
            steps.append(step)
        precondition = 1 / (2 * weight[:, None])
        _, change, curvature = self._pairs[-1]
        direction *= precondition * (
            curvature / dot(change, np.multiply(change, precondition, out=scratch))
        )
        for (shift, change, curvature), step in zip(self._pairs, reversed(steps), strict=True):
            rest = step - dot(change, direction) / curvature
            direction += np.multiply(shift, rest, out=scratch)
        return direction


def dot(a: Floats, b: Floats) -> float:
    """Sum of products, in an order that no thread count changes.

    BLAS shares long vectors among its threads, so they come in pieces too short for that.
    """
    a, b, piece = a.ravel(), b.ravel(), 8192
    return float(sum(np.vdot(a[i : i + piece], b[i : i + piece]) for i in range(0, a.size, piece)))


ACCELERATIONS: dict[str, type[Acceleration]] = {"lbfgs": LBFGS}
"""Accelerations by the names that estimators take."""


def resolve_acceleration(name: str | None, problem: Problem) -> Acceleration:
    """New acceleration of that name; "auto" is L-BFGS for a smooth problem, otherwise none."""
    if name is None:
        return PlainSteps()
    automatic = LBFGS if problem.membership.smooth else PlainSteps
    accelerate: type[Acceleration] = resolve_name(
        "acceleration", name, {"auto": automatic, **ACCELERATIONS}
    )
    return accelerate()
