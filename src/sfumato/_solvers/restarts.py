"""Several starts by successive halving: only the most promising ones run to the end.

Objectives after a few iterations rank starts well, though not perfectly: ten starts, reduced
twice, end as low as five that all run to the end (``docs/restarts.md``). Where two starts from
exchanged seeds agree, there is nothing left to compare, and no others are begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """Number of starts, and the rungs at which the worst of them are dropped.

    Attributes
    ----------
    starts : int
    rungs : tuple of Rung
    exchanged : int
        Starts before these, whose seeds are exchanged for other rows first. If two of them agree,
        no others are begun.
    improved : int
        Starts after these at most, from the best one with some centers exchanged.
    sampled : bool
        Whether starts are compared on a sample, of which larger ones follow up to all rows.
    """

    starts: int
    rungs: tuple[Rung, ...] = ()
    exchanged: int = 0
    improved: int = 0
    sampled: bool = False

    @classmethod
    def of(cls, n_init: int | str, random: bool, refined: bool = False) -> Plan:
        """Plan for ``n_init`` and an initializer with these properties."""
        if n_init != "auto":
            return cls(int(n_init) if random else 1)
        if not random:
            return cls(1, sampled=refined)
        return SHORT_HALVING if refined else HALVING

    @property
    def compared(self) -> int:
        """Starts that are compared, at most."""
        return self.exchanged + self.starts

    @property
    def total(self) -> int:
        """Starts at most."""
        return self.compared + self.improved


HALVING = Plan(10, (Rung(4, 4), Rung(9, 2)), exchanged=3, improved=2, sampled=True)
"""Plan for ``n_init="auto"``; measured in ``docs/restarts.md``."""
SHORT_HALVING = Plan(6, (Rung(4, 3), Rung(9, 2)), sampled=True)
"""The same for seeds that are good already, so that fewer will do."""
AGREEMENT_ITERATIONS = 20
"""Iterations after which starts from exchanged seeds are compared. Chosen by hand: those that find
separate clusters have ended by then, and others are not worth more."""
CHALLENGERS = 2
"""Starts from plain seeds with which the best from exchanged seeds is compared, where memberships
are very soft. Chosen by hand: one in ten ends higher where a few rows are far from all clusters."""
TRIAL_ITERATIONS, LARGEST_EXCESS = 10, 2e-3
"""A start from the best one with exchanged centers is dropped if it is still higher by more than
this fraction after so many iterations. Chosen by hand."""


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


Agree = Callable[[Start, Start], bool]
"""Whether two starts have come to the same clusters, or are equally good."""


def run_starts(
    starts: Iterable[Start],
    rungs: tuple[Rung, ...] = (),
    exchanged: Iterable[Start] = (),
    agree: Agree = lambda first, second: False,
    alike: Agree = lambda first, second: False,
    improved: Callable[[Start], Start | None] | None = None,
    challenged: Callable[[Start], bool] = lambda best: False,
) -> tuple[Start, Floats | None]:
    """Run the starts; return the best one, and the centers of the second best.

    The second best ran to the end, or agrees with the best one. All have ended then.

    Parameters
    ----------
    starts : iterable of Start
        The next one is taken when it can run, so that few are in memory.
    rungs : tuple of Rung
        Without any, all starts run to the end, one after the other.
    exchanged : iterable of Start
        Starts that come first. If two of them agree, no others are begun.
    agree : callable
    alike : callable
        Whether the rows cannot tell which of two starts is better. If so of the best two of those
        that come first, no others are begun either: they would tell as little.
    improved : callable
        From the best start to another that begins near it, or None; it is called again as long as
        that is better.
    challenged : callable
        Whether the best of those that come first is compared with some of ``starts``, even if two
        agree.
    """
    race, starts = Race(), iter(starts)
    race.run_exchanged(exchanged, agree, alike)
    if race.decided and challenged(race.best):
        race.challenge(starts)
    if not race.decided:
        race.halve(starts, (*rungs, END))
    if improved is not None:
        race.improve(improved)
    race.end()
    return race.best, race.second


class Race:
    """Starts that compete.

    Attributes
    ----------
    alive : list of Start
        Those that were not dropped.
    decided : bool
        Whether no other start is begun: a callback has ended all, or two starts agree.
    """

    def __init__(self) -> None:
        self.alive: list[Start] = []
        self.decided = False
        self._stopped = False
        self._ended: list[Start] = []  # The best two that ran to the end, or agree.

    @property
    def best(self) -> Start:
        """Best start that is alive."""
        return best_of(self.alive)

    @property
    def second(self) -> Floats | None:
        """Centers of the best other start that ran to the end, or agrees with the best."""
        others = [start for start in self._ended if start is not self.best]
        return best_of(others).descent.centers if others else None

    def run_exchanged(self, starts: Iterable[Start], agree: Agree, alike: Agree) -> None:
        """Run starts for some iterations; if two agree, run the best of all to the end.

        The same if none do, but the best two are alike.
        """
        for start in starts:
            self._advance(start, AGREEMENT_ITERATIONS)
            if self.decided:
                return
            best, others = self.best, self._others()
            same = next((other for other in others if agree(best, other)), None)
            if same is not None:
                self._decide(same)
                return
        others = self._others()
        if others and alike(self.best, second := best_of(others)):
            self._decide(second)

    def _others(self) -> list[Start]:
        """Starts that are alive, without the best one."""
        best = self.best if self.alive else None
        return [start for start in self.alive if start is not best]

    def _decide(self, second: Start) -> None:
        """Run the best start to the end, and begin no others."""
        self._ended.append(second)
        self.decided = True
        self._advance(self.best)
        self._drop_worst(1)

    def challenge(self, starts: Iterator[Start]) -> None:
        """Run some starts; if one is better than the best one, nothing is decided any more."""
        limit = (1 - LARGEST_EXCESS) * self.best.descent.objective
        for start in islice(starts, CHALLENGERS):
            if self._stopped:
                return
            self._advance(start, AGREEMENT_ITERATIONS)
            if start.descent.objective < limit:
                self.decided = self._stopped
                return
            self._drop_worst(1)

    def halve(self, starts: Iterable[Start], rungs: tuple[Rung, ...]) -> None:
        """Run the starts up to each rung in turn, and drop the worst ones there.

        Those from exchanged seeds, which have run longer, compete from the last rung but one on,
        after as many iterations.
        """
        earlier, self.alive = self.alive, []
        first, *later, last = rungs if len(rungs) > 1 else (*rungs, END)
        for start in starts:
            self._advance(start, first.iterations)
            self._drop_worst(first.survivors)
            if self.decided:
                break
        for rung in later:
            self._advance_all(rung)
        if earlier:
            survivors = len(self.alive)
            self.alive = [*earlier, *self.alive]
            self._advance_all(Rung(AGREEMENT_ITERATIONS, survivors))
        self._advance_all(last)

    def _advance_all(self, rung: Rung) -> None:
        """Run the starts up to a rung, and drop the worst ones there."""
        for start in tuple(self.alive):
            if not self.decided:
                self._advance(start, rung.iterations)
        self._drop_worst(rung.survivors)

    def improve(self, improved: Callable[[Start], Start | None]) -> None:
        """Try starts near the best one; go on from one that is better."""
        while not self._stopped and (start := improved(self.best)) is not None:
            limit = (1 + LARGEST_EXCESS) * self.best.descent.objective
            self._advance(start, TRIAL_ITERATIONS)
            if start.descent.objective <= limit and not self._stopped:
                self._advance(start)
            self._drop_worst(1)
            if self.best is not start:
                return

    def end(self) -> None:
        """End all starts that are alive."""
        best = self.best
        for start in self.alive:
            if not start.has_ended:  # A callback has ended all starts.
                start.end(best)
        best.descent.stop()

    def _advance(self, start: Start, iterations: int | None = None) -> None:
        """Run a start up to some iterations, or to the end."""
        if start not in self.alive:
            self.alive.append(start)
        start.descent.run(iterations)
        if start.descent.is_running():
            return
        if not start.has_ended and start.end(self.best):
            self.decided = self._stopped = True
        if start not in self._ended:
            self._ended.append(start)
        if len(self._ended) > 2:
            self._ended.remove(worst_of(self._ended))

    def _drop_worst(self, survivors: int) -> None:
        """Drop starts until only so many are left; none if a callback has ended all."""
        while len(self.alive) > survivors and not self._stopped:
            worst = worst_of(self.alive)
            self.alive.remove(worst)
            if not worst.has_ended and worst.end(self.best):
                self.decided = self._stopped = True


def label_agreement(first: NDArray[np.integer], second: NDArray[np.integer]) -> float:
    """Adjusted Rand index of two arrays of labels, 1 if they are the same up to their names.

    That of scikit-learn checks its arguments for longer than a short descent takes.
    """
    size = int(second.max()) + 1
    table = np.bincount(first.astype(np.int64) * size + second).astype(np.float64)
    counts = (table, np.bincount(first), np.bincount(second))
    both, one, other = (float((n * (n - 1.0)).sum()) for n in counts)
    chance = one * other / max(1.0, len(first) * (len(first) - 1.0))
    most = (one + other) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)


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
