"""Seeds that outliers do not attract."""

from __future__ import annotations

from copy import deepcopy
from functools import cached_property

import numpy as np

from sfumato._checks import is_auto
from sfumato._engines.base import Engine
from sfumato._init.auto_cap import FIRST_FITS, automatic_cap
from sfumato._init.base import KMeansPlusPlus
from sfumato._init.short_fits import SHORT, at_cap, best_fit, capped_fit
from sfumato._problem import Problem
from sfumato._solvers.descent import Solution, solve
from sfumato._typing import Floats
from sfumato.losses import L21, Capped
from sfumato.memberships import Hard

CLEARLY_WORSE = 0.005
"""Relative excess of an objective that is not a matter of taste."""
ENOUGH_REPEATS = 2
"""Fits that came to the centers of another one, after which there is nothing more to find."""
MORE_FITS = 2
"""Fits to compare with, after those that set the cap, unless these agree."""
AS_GOOD = 0.015
"""Relative excess up to which short fits from ordinary seeds will do; they end some % higher where
there are many clusters."""
LARGEST_SEED = np.iinfo(np.int32).max


def sample_rows(n_clusters: int) -> int:
    """Size of the sample: it grows with the clusters, never with the data."""
    return 2048 + 32 * n_clusters


class RobustSeeds:
    """Seeds that outliers do not attract, whatever the loss.

    Each is the best of 20 rows, drawn in proportion to their distance to the nearest seed but no
    more than a cap, and chosen by how much it lowers the capped total: an outlier lowers it by
    itself alone. A few capped hard iterations then move the seeds from rows into the clusters. All
    this sees one sample of bounded size. The cap is that of the problem's loss, or is found there.

    Where three fits out of independent draws have come to the same centers, no more are made.

    Where the first two have not, and no row at all lies beyond the cap that was found, and fits
    from ordinary seeds are as good, there is nothing to be robust against. Seeds are then those of
    the loss without a cap, out of the random numbers that it would have.
    """

    def __init__(self) -> None:
        self._search: Search | None = None
        self._clean = False
        self._begun = False

    @property
    def random(self) -> bool:
        """Whether another call may give other centers: until fits agree."""
        return self._search is None or self._search.best.repeats < ENOUGH_REPEATS

    @property
    def careful(self) -> bool:
        """Whether all proposals are good ones: unless they are those of the loss without a cap."""
        return not self._clean

    def cap(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> float:
        """The cap of the problem's loss, or the one that was found."""
        return self._searched(engine, n_clusters, rng).cap

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Centers of the best short fit to the sample, then of others or, at last, the same."""
        search = self._searched(engine, n_clusters, rng)
        if self._clean:
            return search.plain(engine, rng)
        rng.randint(LARGEST_SEED)  # Another fit with this generator is to draw others.
        search.compare()
        first, self._begun = not self._begun, True
        return search.best.fit.centers if first or not self.random else search.another()

    def best(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Centers of the best fit so far."""
        search = self._searched(engine, n_clusters, rng)
        if not search.may_be_clean:
            search.compare()
        return search.best.fit.centers

    def may_be_clean(self) -> bool:
        """Whether ``decide`` is to be called, with fits from ordinary seeds."""
        return self._search is not None and self._search.may_be_clean

    def plain(self, engine: Engine, rng: np.random.RandomState) -> Floats:
        """Ordinary seeds to compare with."""
        assert self._search is not None
        return self._search.plain(engine, rng)

    def decide(self, robust: float, plain: float) -> bool:
        """Whether to do with ordinary seeds, given the objectives of short fits from both kinds."""
        self._clean = self.may_be_clean() and plain <= (1 + AS_GOOD) * robust
        return self._clean

    def _searched(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Search:
        if self._search is None:
            self._search = Search(engine, n_clusters, rng)
        return self._search


class Search:
    """Short fits to a sample, with random numbers of their own.

    Attributes
    ----------
    cap : float
    best : AgreeingFits
        Best fit so far.
    """

    def __init__(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> None:
        # Only looked at: if it was all for nothing, nothing has been drawn from the generator.
        self._rng = np.random.RandomState(deepcopy(rng).randint(LARGEST_SEED))
        self._engine = engine
        self._sample = engine.subsample(sample_rows(n_clusters), self._rng)
        self._n_clusters = n_clusters
        self._compared = 0
        self._waiting: list[Solution] = []
        given = getattr(engine.problem.loss, "cap", "auto")
        settled = automatic_cap(self._sample, n_clusters, self._rng) if is_auto(given) else None
        if settled is not None:
            self.cap, self.best = settled.cap, settled.fits
        else:
            self.cap = np.inf if is_auto(given) else float(given)
            self.best = best_fit(self._sample, self.cap, n_clusters, self._rng, FIRST_FITS)
        self._found = settled is not None and isinstance(engine.problem.loss, Capped)

    @cached_property
    def may_be_clean(self) -> bool:
        """Whether the first fits differ, and no row lies beyond the cap that they gave."""
        if not self._found or self.best.repeats:
            return False
        centers = self.best.fit.centers
        return self._sample_is_within(centers) and all_within(self._engine, centers, self.cap)

    def compare(self) -> None:
        """Make some more fits, unless they agree."""
        while self._compared < MORE_FITS and self.best.repeats < ENOUGH_REPEATS:
            self._compared += 1
            self._waiting.append(self._fit())

    def another(self) -> Floats:
        """Centers of another fit, or of the best if they are clearly worse.

        Once memberships are soft, two centers in a large cluster can cost less than one in it and
        one in a small cluster.
        """
        found = self._waiting.pop(0) if self._waiting else self._fit()
        alike = found.objective <= (1 + CLEARLY_WORSE) * self.best.fit.objective
        return (found if alike else self.best.fit).centers

    def plain(self, engine: Engine, rng: np.random.RandomState) -> Floats:
        """Seeds of the loss without a cap.

        Rows may be farther apart than the cap, and none would move then: such seeds are moved by a
        few iterations without it.
        """
        uncapped = engine.with_problem(Problem(L21(), engine.problem.membership))
        seeds = KMeansPlusPlus().centers(uncapped, self._n_clusters, rng)
        return seeds if self._sample_is_within(seeds) else solve(uncapped, seeds, SHORT).centers

    def _fit(self) -> Solution:
        """Fit from new seeds, compared with the best."""
        found = capped_fit(self._sample, self.cap, self._n_clusters, self._rng)
        self.best = self.best.beside(found, self._sample)
        return found

    def _sample_is_within(self, centers: Floats) -> bool:
        """Whether no row of the sample lies beyond the cap."""
        hard = at_cap(self._sample, self.cap)
        distances = hard.assign(centers, distances=True, memberships=False).distances
        assert distances is not None
        return bool(distances.max() <= self.cap)


def all_within(engine: Engine, centers: Floats, cap: float) -> bool:
    """Whether no row lies beyond the cap, as far as the total can tell: it is that without one."""
    problems = (Problem(Capped(limit), Hard()) for limit in (cap, np.inf))
    capped, uncapped = (engine.with_problem(p).sweep(centers).objective for p in problems)
    return capped == uncapped
