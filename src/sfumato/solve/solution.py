"""What a fit leaves behind: records per iteration, an outcome in words, the centers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


class Outcome(Enum):
    """Why the loop stopped, in words that say what to do.

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> model = REFCMFS(n_clusters=1, random_state=0).fit([[0.0], [1.0], [5.0]])
    >>> print(model.outcome_)
    Converged: the objective fell by less than `tol` of its value.
    >>> model.outcome_.converged
    True
    """

    CONVERGED = "Converged: the objective fell by less than `tol` of its value."
    EXACT = "Converged: every row lies on a center, the objective is zero."
    OUT_OF_ITERATIONS = (
        "Stopped at `max_iter` before the objective settled; raise `max_iter` or loosen `tol`."
    )
    STOPPED_BY_CALLBACK = "Stopped by a callback before the objective settled."

    def __str__(self) -> str:
        return str(self.value)

    @property
    def converged(self) -> bool:
        """Whether the loop ended of itself."""
        return self in (Outcome.CONVERGED, Outcome.EXACT)


@dataclass(frozen=True)
class IterationRecord:
    """One iteration.

    Attributes
    ----------
    objective : float
        Value at the centers the iteration began with.
    seconds : float
        Time that the loop has run so far, without pauses in which other starts had their turn.
    shift : float
        Largest distance that a center was then to move; 0 in the last iteration, after which the
        centers stay.
    repairs : tuple of int
        Empty clusters whose centers were moved to a badly served row.
    passes : int
        Passes over the data that it took: 2 where an accelerated step raised the objective and was
        taken back.

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> model = REFCMFS(n_clusters=1, random_state=0).fit([[0.0], [1.0], [5.0]])
    >>> last = model.history_[-1]
    >>> round(last.objective, 3), last.shift, last.repairs
    (5.0, 0.0, ())
    """

    objective: float
    seconds: float
    shift: float
    repairs: tuple[int, ...] = ()
    passes: int = 1


@dataclass(frozen=True)
class Solution:
    """Centers, how they were reached, and why the loop stopped there."""

    centers: Floats
    history: tuple[IterationRecord, ...]
    outcome: Outcome

    @property
    def objective(self) -> float:
        """Objective at the centers."""
        return self.history[-1].objective
