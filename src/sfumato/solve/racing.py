"""Several starts, of which only the promising ones go on to the end.

Objectives after a few iterations rank starts well, though not perfectly: ten starts, thinned out
twice, end as low as five that all run to the end, for fewer passes (``docs/restarts.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sfumato.solve.solver import Descent

SAME_OPTIMUM = 1e-10
"""Share by which an objective must be lower to count as another optimum: the earlier start wins."""


class Rung(NamedTuple):
    """After so many iterations, so many starts go on."""

    iterations: int
    survivors: int


class Plan(NamedTuple):
    """How many starts, and where they are thinned out."""

    starts: int
    rungs: tuple[Rung, ...] = ()

    @classmethod
    def of(cls, n_init: int | str, random: bool) -> Plan:
        """What ``n_init`` means: a race for "auto"; one start where all would be the same."""
        if not random:
            return cls(1)
        return RACE if n_init == "auto" else cls(int(n_init))


RACE = Plan(10, (Rung(5, 4), Rung(10, 2)))


def run_starts(
    starts: Iterable[Descent],
    rungs: tuple[Rung, ...],
    ended: Callable[[Descent, Descent], bool],
) -> Descent:
    """Best of the starts.

    Parameters
    ----------
    starts : iterable of Descent
        Asked for the next one when it can run.
    rungs : tuple of Rung
        None: all run to the end, one after the other.
    ended : callable
        Told of each start that has ended or is dropped, with the best so far; returns True to end
        all.

    Returns
    -------
    Descent
        It may still be running if ``ended`` made all end early.
    """
    legs = [*(rung.iterations for rung in rungs), None]
    running: list[Descent] = []
    best: Descent | None = None
    for start in starts:
        start.run(legs[0])
        running.append(start)
        best = better(best, start)
        if not start.is_running() and ended(start, best):
            return best
    for rung, leg in zip(rungs, legs[1:], strict=True):
        ranked = sorted(running, key=lambda start: start.objective)
        going_on = ranked[: rung.survivors]
        for start in ranked[rung.survivors :]:
            if start.is_running() and ended(start, ranked[0]):
                return ranked[0]
        running = [start for start in running if start in going_on]
        for start in running:
            if start.is_running():
                start.run(leg)
                if not start.is_running() and ended(start, best_of(running)):
                    return best_of(running)
    return best_of(running)


def better(best: Descent | None, other: Descent) -> Descent:
    """Whichever is lower; the first if both are in the same optimum."""
    if best is None or other.objective < best.objective * (1 - SAME_OPTIMUM):
        return other
    return best


def best_of(starts: list[Descent]) -> Descent:
    """Lowest of the starts that have begun to run."""
    best: Descent | None = None
    for start in starts:
        best = better(best, start)
    assert best is not None
    return best
