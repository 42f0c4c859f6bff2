"""Robust seeding: initial centers that outliers do not attract."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cached_property

import numpy as np

from sfumato._engines.base import Engine
from sfumato._init.auto_cap import FIRST_FITS, automatic_cap
from sfumato._init.base import (
    PILOT_FIT,
    PILOT_STARTS,
    Initializer,
    KMeansPlusPlus,
    Pilot,
    best_pilot,
    pilot_sample,
)
from sfumato._init.short_fits import SHORT_FIT, at_cap, best_fit, capped_fit
from sfumato._problem import Problem
from sfumato._solvers.descent import Solution, solve
from sfumato._typing import Floats
from sfumato.losses import L21, Capped
from sfumato.memberships import Hard

SEARCH_ROWS, SEARCH_ROWS_PER_CLUSTER = 2048, 32
"""Rows of the sample that robust seeding works on, and more per cluster. Chosen by hand."""
MORE_FITS = 2
"""Short fits beside those that find the cap, unless enough agree. With none, a poor first fit lost
clusters of unlike sizes."""
ENOUGH_REPEATS = 2
"""Short fits with the same centers as the best one, after which no more are made. It halved the
time of a fit to 2,000 rows."""
MAX_SEED_EXCESS = 0.005
"""If the objective of a short fit is more than this fraction above the best one, the centers of the
best one are proposed instead. Chosen by hand."""
MAX_ORDINARY_EXCESS = 0.015
"""Ordinary seeds suffice if their pilot objective is at most this fraction above that of robust
seeds. On data of many clusters they end some per cent higher."""
SEED_LIMIT = np.iinfo(np.int32).max
"""Seeds of random numbers are below."""


def search_rows(n_clusters: int) -> int:
    """Size of the sample of a search; it does not depend on the size of the data."""
    return SEARCH_ROWS + SEARCH_ROWS_PER_CLUSTER * n_clusters


class RobustSeeds(Initializer):
    """Seeds that outliers do not attract, whatever the loss.

    Each seed is the best of 20 rows, drawn in proportion to their capped distance to the nearest
    seed, and chosen by how much it lowers the total of capped distances: an outlier lowers it by
    its own distance only. A few capped hard iterations move the seeds into the clusters. All this
    uses one sample of bounded size. The cap is the cutoff of the problem's loss, or is estimated.

    ``prepare`` estimates the cutoff where it is "auto", and then decides whether robust seeds are
    needed. They are not if the first short fits differ, no row lies beyond the cutoff, and pilot
    fits from ordinary seeds are nearly as good. Seeds are then those of the L2,1 loss, from the
    same random numbers as without a cutoff.

    ``centers`` proposes the centers of the best short fit, then those of others. Once three
    independent fits agree, all proposals are the same and ``random`` is False.
    """

    def __init__(self) -> None:
        self._search: Search | None = None
        self._pilot: Pilot | None = None
        self._ordinary = False
        self._proposed = False

    @property
    def random(self) -> bool:
        return self._search is None or self._search.best.repeats < ENOUGH_REPEATS

    @property
    def refined(self) -> bool:
        return not self._ordinary

    def prepare(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Problem:
        problem = engine.problem
        if problem.loss.is_resolved:
            return problem
        search = self._searched(engine, n_clusters, rng)
        problem = replace(problem, loss=problem.loss.with_cutoff(search.cap))
        if search.may_be_clean:
            # The pilot fit is reused if a parameter needs one. Otherwise it is only for the
            # decision, and must not advance the caller's generator.
            rng = deepcopy(rng) if problem.membership.is_resolved else rng
            self._decide(search, engine.with_problem(problem), n_clusters, rng)
        return problem

    def pilot(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Pilot:
        if self._pilot is not None:
            return self._pilot
        sample, hard = pilot_sample(engine, n_clusters, rng)
        search = self._searched(hard, n_clusters, rng)
        search.compare()
        return Pilot(sample, solve(hard, search.best.fit.centers, PILOT_FIT).centers)

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        search = self._searched(engine, n_clusters, rng)
        if self._ordinary:
            return search.ordinary_seeds(engine, rng)
        rng.randint(SEED_LIMIT)  # So that another fit with the same generator draws other seeds.
        search.compare()
        first, self._proposed = not self._proposed, True
        return search.best.fit.centers if first or not self.random else search.another()

    def _searched(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Search:
        if self._search is None:
            self._search = Search(engine, n_clusters, rng)
        return self._search

    def _decide(
        self, search: Search, engine: Engine, n_clusters: int, rng: np.random.RandomState
    ) -> None:
        """Compare pilot fits from ordinary and from robust seeds; keep the one to go on with."""
        sample, hard = pilot_sample(engine, n_clusters, rng)
        robust = search.best.fit.centers
        ordinary = best_pilot(hard, [search.ordinary_seeds(hard, rng) for _ in range(PILOT_STARTS)])
        limit = (1 + MAX_ORDINARY_EXCESS) * solve(hard, robust, SHORT_FIT).objective
        self._ordinary = ordinary.objective <= limit
        kept = ordinary if self._ordinary else solve(hard, robust, PILOT_FIT)
        self._pilot = Pilot(sample, kept.centers)


def automatic_cutoff(engine: Engine, n_clusters: int, rng: np.random.RandomState) -> float:
    """Cutoff for a bounded loss; infinite if the rows are too few. ``rng`` is not advanced."""
    return Search(engine, n_clusters, rng).cap


class Search:
    """Short capped fits to a sample, with a random generator of their own.

    Attributes
    ----------
    cap : float
        Cutoff of the problem's loss, or the estimated one.
    best : AgreeingFits
        Best fit so far.
    """

    def __init__(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> None:
        # A copy is drawn from: a search must not advance the caller's generator.
        self._rng = np.random.RandomState(deepcopy(rng).randint(SEED_LIMIT))
        self._engine = engine
        self._sample = engine.subsample(search_rows(n_clusters), self._rng)
        self._n_clusters = n_clusters
        self._compared = 0
        self._waiting: list[Solution] = []
        loss = engine.problem.loss
        given = loss.bounded and loss.is_resolved
        estimate = None if given else automatic_cap(self._sample, n_clusters, self._rng)
        if estimate is not None:
            self.cap, self.best = estimate.cap, estimate.fits
        else:
            self.cap = loss.cutoff
            self.best = best_fit(self._sample, self.cap, n_clusters, self._rng, FIRST_FITS)
        self._estimated = estimate is not None and loss.bounded

    @cached_property
    def may_be_clean(self) -> bool:
        """Whether the first fits differ, and no row lies beyond the estimated cap."""
        if not self._estimated or self.best.repeats:
            return False
        centers = self.best.fit.centers
        return self._sample_is_within(centers) and all_within(self._engine, centers, self.cap)

    def compare(self) -> None:
        """Make some more fits, unless enough agree; they are proposed later."""
        while self._compared < MORE_FITS and self.best.repeats < ENOUGH_REPEATS:
            self._compared += 1
            self._waiting.append(self._fit())

    def another(self) -> Floats:
        """Centers of another fit, or of the best one if they are clearly worse.

        Slightly worse ones are worth a start: under soft memberships, two centers in a large
        cluster can cost less than one there and one in a small cluster.
        """
        found = self._waiting.pop(0) if self._waiting else self._fit()
        close = found.objective <= (1 + MAX_SEED_EXCESS) * self.best.fit.objective
        return (found if close else self.best.fit).centers

    def ordinary_seeds(self, engine: Engine, rng: np.random.RandomState) -> Floats:
        """Seeds of the L2,1 loss.

        Rows can be farther apart than the cap, and would not move such seeds: these are moved by a
        few iterations without a cap first.
        """
        uncapped = engine.with_problem(Problem(L21(), engine.problem.membership))
        seeds = KMeansPlusPlus().centers(uncapped, self._n_clusters, rng)
        return seeds if self._sample_is_within(seeds) else solve(uncapped, seeds, SHORT_FIT).centers

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
    """Whether no row lies beyond the cap: the total loss is then the same without one."""
    problems = (Problem(Capped(limit), Hard()) for limit in (cap, np.inf))
    capped, uncapped = (engine.with_problem(p).sweep(centers).objective for p in problems)
    return capped == uncapped
