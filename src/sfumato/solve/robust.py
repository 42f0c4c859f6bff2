"""Seeds that outliers do not attract."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.base import Engine, ResidentEngine
from sfumato.problem import L21, Capped, Hard, Problem
from sfumato.problem.checks import is_auto
from sfumato.solve.caps import FIRST_FITS, automatic_cap
from sfumato.solve.initializers import KMeansPlusPlus
from sfumato.solve.short_fits import SHORT, Repeated, at_cap, best_fit, capped_fit
from sfumato.solve.solution import Solution
from sfumato.solve.solver import solve

Floats = NDArray[np.floating]

CLEARLY_WORSE = 0.005
"""Relative excess of an objective that is not a matter of taste."""
ENOUGH_REPEATS = 2
"""Fits that came to the centers of another one, after which there is nothing more to find."""
MORE_FITS = 2
"""Fits to compare with, after those that set the cap, unless these agree."""


def sample_rows(n_clusters: int) -> int:
    """Size of the sample: it grows with the clusters, never with the data."""
    return 2048 + 32 * n_clusters


class RobustSeeds:
    """Seeds that outliers do not attract, whatever the loss.

    Each is the best of 20 rows, drawn in proportion to their distance to the nearest seed but no
    more than a cap, and chosen by how much it lowers the capped total: an outlier lowers it by
    itself alone. A few capped hard iterations then move the seeds from rows into the clusters. All
    this sees one sample of bounded size. The cap is that of the problem's loss, or is found there.

    Where three fits out of independent draws have come to the same centers, no more are made. Where
    already the first two have not, and no row at all lies beyond the cap that was found, the data
    has no outliers, and no clusters that stand out: seeds are then those of the loss without a cap.
    """

    def __init__(self) -> None:
        self._search: Search | None = None

    @property
    def random(self) -> bool:
        """Whether another call may give other centers: until fits agree."""
        return self._search is None or self._search.best.repeats < ENOUGH_REPEATS

    @property
    def careful(self) -> bool:
        """Whether all proposals are good ones: unless they are those of the loss without a cap."""
        return self._search is None or not self._search.needless

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Centers of a short fit to the sample; the first time, of the one that set the cap."""
        search = self._searched(engine, n_clusters, rng)
        if search.needless:
            uncapped = engine.with_problem(Problem(L21(), engine.problem.membership))
            seeds = KMeansPlusPlus().centers(uncapped, n_clusters, rng)
            # Rows may be farther apart than the cap, and would then not move: iterate without it.
            near = search.none_beyond(seeds)
            return seeds if near else solve(uncapped, seeds, SHORT).centers
        return search.centers(rng) if self.random else search.best.fit.centers

    def best(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Centers of the best fit so far."""
        return self._searched(engine, n_clusters, rng).best.fit.centers

    def cap(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> float:
        """The cap of the problem's loss, or the one that was found."""
        return self._searched(engine, n_clusters, rng).cap

    def _searched(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Search:
        if self._search is None:
            self._search = search(engine, n_clusters, rng)
        return self._search


@dataclass
class Search:
    """What short fits to a sample have found so far."""

    sample: ResidentEngine
    n_clusters: int
    cap: float
    best: Repeated
    waiting: list[Solution]
    """Fits that have not been proposed yet."""
    needless: bool = False
    """Whether there are no outliers to be robust against."""

    def none_beyond(self, centers: Floats) -> bool:
        """Whether no row of the sample lies beyond the cap."""
        distances = (
            at_cap(self.sample, self.cap)
            .assign(centers, distances=True, memberships=False)
            .distances
        )
        assert distances is not None
        return bool(distances.max() <= self.cap)

    def another(self, rng: np.random.RandomState) -> Solution:
        """Fit from new seeds, compared with the best."""
        found = capped_fit(self.sample, self.cap, self.n_clusters, rng)
        self.best = self.best.beside(found, self.sample)
        return found

    def centers(self, rng: np.random.RandomState) -> Floats:
        """Centers of the next fit, or of the best if they are clearly worse.

        Once memberships are soft, two centers in a large cluster can cost less than one in it and
        one in a small cluster.
        """
        found = self.waiting.pop(0) if self.waiting else self.another(rng)
        alike = found.objective <= (1 + CLEARLY_WORSE) * self.best.fit.objective
        return (found if alike else self.best.fit).centers


def search(engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Search:
    """Look for a cap, unless there is one, and compare some fits at it.

    If that was needless, nothing has been drawn, as far as the generator knows: a fit goes on as it
    would without a cap.
    """
    before = rng.get_state()
    sample = engine.sampled(sample_rows(n_clusters), rng)
    loss = engine.problem.loss
    given = getattr(loss, "cap", "auto")
    settled = automatic_cap(sample, n_clusters, rng) if is_auto(given) else None
    if settled is not None:
        cap, best = settled.cap, settled.best
    else:
        cap = np.inf if is_auto(given) else float(given)
        best = best_fit(sample, cap, n_clusters, rng, FIRST_FITS)
    found = Search(sample, n_clusters, cap, best, [best.fit])
    if settled is not None and isinstance(loss, Capped) and not best.repeats:
        centers = best.fit.centers
        found.needless = found.none_beyond(centers) and none_beyond(engine, centers, cap)
    if found.needless:
        rng.set_state(before)
        return found
    while found.best.repeats < ENOUGH_REPEATS and len(found.waiting) <= MORE_FITS:
        found.waiting.append(found.another(rng))
    return found


def none_beyond(engine: Engine, centers: Floats, cap: float) -> bool:
    """Whether no row lies beyond the cap: capped or not, the total is the same."""
    problems = (Problem(Capped(limit), Hard()) for limit in (cap, np.inf))
    capped, uncapped = (engine.with_problem(p).sweep(centers).objective for p in problems)
    return capped == uncapped
