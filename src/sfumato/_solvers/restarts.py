"""Several starts by successive halving: only the most promising ones run to the end.

Objectives after a few iterations rank starts well, though not perfectly: ten starts, reduced
twice, end as low as five that all run to the end (``docs/restarts.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sfumato._solvers.descent import Descent
from sfumato._typing import Floats

SAME_OPTIMUM = 1e-10
"""Relative difference of two objectives up to which they count as the same optimum, of which the
earlier start wins. Far above the rounding of a sum, far below any difference that matters; chosen
by hand."""


class Rung(NamedTuple):
    """Number of starts that go on beyond so many iterations; None is the end of a start."""

    iterations: int | None
    survivors: int


END = Rung(None, 1)


class Plan(NamedTuple):
    """Number of starts, and the rungs at which the worst of them are dropped."""

    starts: int
    rungs: tuple[Rung, ...] = ()

    @classmethod
    def of(cls, n_init: int | str, random: bool, refined: bool = False) -> Plan:
        """Plan for ``n_init`` and an initializer with these properties."""
        if not random:
            return cls(1)
        if n_init == "auto":
            return SHORT_HALVING if refined else HALVING
        return cls(int(n_init))


HALVING = Plan(10, (Rung(4, 4), Rung(9, 2)))
"""Plan for ``n_init="auto"``; measured in ``docs/restarts.md``."""
SHORT_HALVING = Plan(6, (Rung(4, 3), Rung(9, 2)))
"""The same for seeds that are good already, so that fewer will do."""


@dataclass(eq=False)
class Start:
    """A descent that competes with others.

    Attributes
    ----------
    descent : Descent
    number : int
        Number of the start within the fit.
    on_end : callable
        Called once, when the descent has ended or is dropped, with the centers of the best start
        so far. Returns True to end all starts.
    has_ended : bool
        Whether ``on_end`` was called.
    """

    descent: Descent
    number: int
    on_end: Callable[[Floats], bool]
    has_ended: bool = False

    def end(self, best: Start) -> bool:
        """Call ``on_end``."""
        self.has_ended = True
        return self.on_end(best.descent.centers)


def run_starts(
    starts: Iterable[Start], rungs: tuple[Rung, ...] = ()
) -> tuple[Start, Floats | None]:
    """Run the starts; return the best one, and the centers of the best other that ran to the end.

    All have ended then.

    Parameters
    ----------
    starts : iterable of Start
        The next one is taken when it can run, so that few are in memory.
    rungs : tuple of Rung
        Without any, all starts run to the end, one after the other.
    """
    alive: list[Start] = []
    ended: list[Start] = []
    _halve(starts, (*rungs, END), alive, ended)
    best = best_of(alive)
    for start in alive:
        if not start.has_ended:  # A callback has ended all starts.
            start.end(best)
    best.descent.stop()
    others = [start for start in ended if start is not best]
    return best, best_of(others).descent.centers if others else None


def _halve(
    starts: Iterable[Start], rungs: tuple[Rung, ...], alive: list[Start], ended: list[Start]
) -> None:
    """Run the starts up to each rung in turn.

    ``alive`` holds those that are left, ``ended`` the best two that ran to the end.
    """
    first, *later = rungs
    for start in starts:
        alive.append(start)
        stop = _advance(start, first, alive)
        _note_end(start, ended)
        if stop or _drop_worst(alive, first):
            return
    for rung in later:
        for start in tuple(alive):
            stop = _advance(start, rung, alive)
            _note_end(start, ended)
            if stop:
                return
        if _drop_worst(alive, rung):
            return


def _note_end(start: Start, ended: list[Start]) -> None:
    """Add a start that ran to the end, and keep the best two."""
    if not start.descent.is_running() and start not in ended:
        ended.append(start)
    if len(ended) > 2:
        ended.remove(worst_of(ended))


def _advance(start: Start, rung: Rung, alive: list[Start]) -> bool:
    """Run a start up to the rung; whether to end all."""
    start.descent.run(rung.iterations)
    ended = not start.descent.is_running() and not start.has_ended
    return ended and start.end(best_of(alive))


def _drop_worst(alive: list[Start], rung: Rung) -> bool:
    """Drop starts until only the survivors are left; whether to end all."""
    while len(alive) > rung.survivors:
        worst = worst_of(alive)
        alive.remove(worst)
        if not worst.has_ended and worst.end(best_of(alive)):
            return True
    return False


def best_of(starts: list[Start]) -> Start:
    """Start with the lowest objective; the first of those in the same optimum."""
    best = starts[0]
    for start in starts[1:]:
        if start.descent.objective < best.descent.objective * (1 - SAME_OPTIMUM):
            best = start
    return best


def worst_of(starts: list[Start]) -> Start:
    """Start with the highest objective; the last of those in the same optimum."""
    worst = starts[0]
    for start in starts[1:]:
        if start.descent.objective >= worst.descent.objective * (1 - SAME_OPTIMUM):
            worst = start
    return worst
