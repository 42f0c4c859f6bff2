"""Acceleration: steps extrapolated from earlier ones, kept only if the objective falls.

With the memberships minimized out, the objective is a function of the centers alone, and one pass
yields its value and its gradient, ``-2 * pull``. The plain step is gradient descent
preconditioned by ``1 / (2 * weight)``; it is safe, and slow on the plateaus that soft memberships
make.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

import numpy as np

from sfumato._problem import Problem, Statistics
from sfumato._typing import Floats
from sfumato.exceptions import Given, Message, ParameterError, did_you_mean

LEAST_CURVATURE = 1e-12
"""Smallest cosine between the shifts of centers and of gradient at which a pair is stored; below,
its curvature is rounding. Chosen by hand."""
SERIAL_DOT = 8192
"""Length of the slices of a dot product, so short that BLAS never splits one among its threads;
chosen by hand."""


class Acceleration(Protocol):
    """Protocol of an acceleration: it proposes steps from those before."""

    def propose(self, centers: Floats, statistics: Statistics, plain: Floats) -> Floats | None:
        """Centers to try next instead of ``plain``, or None to take the plain step."""

    def forget(self, jumped: bool = False) -> None:
        """Discard the memory: a proposal raised the objective, or a repair has moved a center."""

    def memory(self) -> dict[str, Floats]:
        """State as arrays, from which ``remember`` restores it."""

    def remember(self, memory: dict[str, Floats]) -> None:
        """Restore the state that ``memory`` returned."""


class PlainSteps:
    """No acceleration."""

    def propose(self, centers: Floats, statistics: Statistics, plain: Floats) -> Floats | None:
        return None

    def forget(self, jumped: bool = False) -> None:
        pass

    def memory(self) -> dict[str, Floats]:
        return {}

    def remember(self, memory: dict[str, Floats]) -> None:
        pass


class LBFGS:
    """Limited-memory quasi-Newton steps [1]_, whose first step is the plain one.

    The inverse Hessian is built from the last few pairs of shifts of the centers and of the
    gradient, on top of the plain step's preconditioner, scaled to fit the latest pair. Centers that
    coincide with a row take the plain step where the loss has a kink: there is no gradient.

    References
    ----------
    .. [1] J. Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of
       Computation 35, 1980.
    """

    kept = 8
    """Number of pairs; more did not save passes on the paper's data sets."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=self.kept)
        self._last: tuple[Floats, Floats] | None = None

    def propose(self, centers: Floats, statistics: Statistics, plain: Floats) -> Floats | None:
        gradient = -2 * statistics.pull
        with np.errstate(all="ignore"):  # Products of tiny or huge shifts; see below.
            self._learn(centers, gradient)
            if not self._pairs:
                return None
            direction = self._direction(gradient, statistics.weight)
            proposal = centers + direction
            falls = dot(direction, gradient) < 0 and bool(np.isfinite(proposal).all())
        if not falls:
            self.forget()
            return None
        held = (statistics.kink_force > 0) | (statistics.weight <= 0)
        proposal[held] = plain[held]
        return proposal

    def forget(self, jumped: bool = False) -> None:
        self._pairs.clear()
        if jumped:
            self._last = None

    def memory(self) -> dict[str, Floats]:
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
        self._pairs.clear()
        names = ("shifts", "changes", "curvatures")
        for shift, change, curvature in zip(*(memory.get(n, ()) for n in names), strict=True):
            self._pairs.append((shift, change, float(curvature)))
        self._last = (memory["last"], memory["gradient"]) if "last" in memory else None

    def _learn(self, centers: Floats, gradient: Floats) -> None:
        """Store the latest pair, if the objective is convex along it beyond rounding."""
        if self._last is not None:
            shift, change = centers - self._last[0], gradient - self._last[1]
            curvature = dot(shift, change)
            if curvature > LEAST_CURVATURE * np.sqrt(dot(shift, shift) * dot(change, change)):
                self._pairs.append((shift, change, curvature))
        self._last = centers, gradient

    def _scale(self, precondition: Floats, scratch: Floats) -> float:
        """Factor by which the latest pair agrees with the preconditioner; 1 if it has no say."""
        _, change, curvature = self._pairs[-1]
        scaled = dot(change, np.multiply(change, precondition, out=scratch))
        return curvature / scaled if scaled > 0 else 1.0

    def _direction(self, gradient: Floats, weight: Floats) -> Floats:
        """Descent direction by the two-loop recursion."""
        direction = -gradient
        scratch = np.empty_like(direction)
        steps = []
        for shift, change, curvature in reversed(self._pairs):
            step = dot(shift, direction) / curvature
            direction -= np.multiply(change, step, out=scratch)
            steps.append(step)
        # Centers on which only coincident rows pull stay.
        precondition = np.where(weight > 0, 1 / (2 * weight), 0.0)[:, None]
        direction *= precondition * self._scale(precondition, scratch)
        for (shift, change, curvature), step in zip(self._pairs, reversed(steps), strict=True):
            rest = step - dot(change, direction) / curvature
            direction += np.multiply(shift, rest, out=scratch)
        return direction


def dot(a: Floats, b: Floats) -> float:
    """Sum of products, with the same bits for any number of threads.

    BLAS shares long vectors among its threads, so it is given slices too short for that.
    """
    a, b, n = a.ravel(), b.ravel(), SERIAL_DOT
    return float(sum(np.vdot(a[i : i + n], b[i : i + n]) for i in range(0, a.size, n)))


ACCELERATIONS: dict[str, type[Acceleration]] = {"lbfgs": LBFGS}
"""Accelerations by the names that estimators take."""


def resolve_acceleration(name: str | None, problem: Problem) -> Acceleration:
    """New acceleration of that name; "auto" is L-BFGS for a smooth problem, otherwise none."""
    if name is None:
        return PlainSteps()
    automatic = LBFGS if problem.membership.smooth else PlainSteps
    known = {"auto": automatic, **ACCELERATIONS}
    if not isinstance(name, str) or name not in known:
        hint = did_you_mean(str(name), known).replace("did", " Did", 1)
        message = Message(
            Given("acceleration", name),
            f" is not known; use one of {sorted(known)}, or None.{hint}",
        )
        raise ParameterError(message, "acceleration", name)
    return known[name]()
