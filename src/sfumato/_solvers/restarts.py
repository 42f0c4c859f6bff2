"""Several starts, of which only the promising ones go on to the end.

Objectives after a few iterations rank starts well, though not perfectly: ten starts, thinned out
twice, end as low as five that all run to the end (``docs/restarts.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sfumato._solvers.descent import Descent

SAME_OPTIMUM = 1e-10
"""Share by which an objective must be lower to count as another optimum: the earlier start wins."""


class Rung(NamedTuple):
    """After so many iterations, or at the end if None, so many starts are left."""

    iterations: int | None
    survivors: int


END = Rung(None, 1)

OnEnd = Callable[[Descent, Descent], bool]
"""OnEnd of a start that has ended or is dropped, with the best so far; returns True to end all."""


class Plan(NamedTuple):
    """How many starts, and where they are thinned out."""

    starts: int
    rungs: tuple[Rung, ...] = ()

    @classmethod
    def of(cls, n_init: int | str, random: bool, careful: bool = False) -> Plan:
        """What ``n_init`` means: a race for "auto"; one start where all would be the same."""
        if not random:
            return cls(1)
        if n_init == "auto":
            return SHORT_RACE if careful else RACE
        return cls(int(n_init))


RACE = Plan(10, (Rung(5, 4), Rung(10, 2)))
SHORT_RACE = Plan(6, (Rung(5, 3), Rung(10, 2)))


def run_starts(
    starts: Iterable[Descent],
    rungs: tuple[Rung, ...],
    ended: OnEnd,
) -> Descent:
    """Best of the starts.

    Parameters
    ----------
    starts : iterable of Descent
        Asked for the next one when it can run.
    rungs : tuple of Rung
        Where there are none, all run to the end, one after the other.
    ended : OnEnd

    Returns
    -------
    Descent
        It may still be running if ``ended`` made all end early.
    """
    first, *later = (*rungs, END)
    alive: list[Descent] = []
    for start in starts:
        alive.append(start)
        if _advance(start, first, alive, ended) or _thin_out(alive, first, ended):
            return best_of(alive)
    for rung in later:
        for start in tuple(alive):
            if _advance(start, rung, alive, ended):
                return best_of(alive)
        if _thin_out(alive, rung, ended):
            return best_of(alive)
    return best_of(alive)


def _advance(start: Descent, rung: Rung, alive: list[Descent], ended: OnEnd) -> bool:
    """Run a start up to the rung; whether to end all."""
    was_running = start.is_running()
    start.run(rung.iterations)
    return was_running and not start.is_running() and ended(start, best_of(alive))


def _thin_out(alive: list[Descent], rung: Rung, ended: OnEnd) -> bool:
    """Drop the worst, so that few are in memory; whether to end all."""
    while len(alive) > rung.survivors:
        worst = worst_of(alive)
        alive.remove(worst)
        if worst.is_running() and ended(worst, best_of(alive)):
            return True
    return False


def best_of(starts: list[Descent]) -> Descent:
    """Lowest; the first of those that are in the same optimum."""
    best = starts[0]
    for start in starts[1:]:
        if start.objective < best.objective * (1 - SAME_OPTIMUM):
            best = start
    return best


def worst_of(starts: list[Descent]) -> Descent:
    """Highest; the last of those that are in the same optimum."""
    worst = starts[0]
    for start in starts[1:]:
        if start.objective >= worst.objective * (1 - SAME_OPTIMUM):
            worst = start
    return worst
