"""Robust seeding: initial centers that outliers do not attract."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._engines.base import Engine, ResidentEngine
from sfumato._init.base import (
    PILOT_FIT,
    PILOT_STARTS,
    Initializer,
    KMeansPlusPlus,
    Pilot,
    best_pilot,
    pilot_sample,
)
from sfumato._init.clean import clean_cap, clean_fits
from sfumato._init.dimension import SAMPLE_SEED, Intrinsic, intrinsic_dimension
from sfumato._init.first_cap import first_cap
from sfumato._init.search import MAX_EXCHANGES, Candidate, Setting, first_candidate, search
from sfumato._init.short_fits import SHORT_FIT, at_cap, capped_fit
from sfumato._mixture import Background
from sfumato._outliers import row_weight, sample_rows
from sfumato._problem import Problem
from sfumato._solvers.descent import Stopping, solve
from sfumato._solvers.restarts import label_agreement
from sfumato._typing import Floats
from sfumato.losses import L21, Capped
from sfumato.memberships import Hard

SEARCH_ROWS, SEARCH_ROWS_PER_CLUSTER = 2048, 32
"""Rows of the sample that robust seeding works on, and more per cluster. Chosen by hand."""
MAX_SEARCHES = 4
"""Independent searches at most; there are no more once two agree, or if the first two find no
outliers or are unlike. Chosen by hand."""
SAME_LABELS = 0.98
"""Adjusted Rand index of two searches from which on they agree. Chosen by hand."""
UNLIKE_LABELS = 0.3
"""Adjusted Rand index of two searches below which there are no more: data without clusters has as
many answers as there are searches. Chosen by hand."""
MANY_CLUSTERS = 4 * MAX_EXCHANGES
"""Clusters from which on exchanges change at most a quarter of the centers."""
KEPT_LABELS = 0.9
"""Adjusted Rand index of the labels before and after a soft fit, below which a cluster was lost.
Chosen by hand."""
LIKELY_DEVIATIONS = 3.0
"""Standard errors by which a search may be less likely than the best one, and still be proposed:
the rule of three sigmas."""
MAX_ORDINARY_EXCESS = 0.015
"""Ordinary seeds suffice if their pilot objective is at most this fraction above that of robust
seeds. On data of many clusters they end some per cent higher."""
KEEPING_FIT = Stopping(max_iter=100, tol=1e-6)
"""Iterations and relative tolerance of a fit that shows whether clusters are kept: a center that is
pulled over leaves slowly. Chosen by hand."""
SEED_LIMIT = np.iinfo(np.int32).max
"""Seeds of random numbers are below."""


def search_rows(n_clusters: int) -> int:
    """Size of the sample of a search; it does not depend on the size of the data."""
    return SEARCH_ROWS + SEARCH_ROWS_PER_CLUSTER * n_clusters


class RobustSeeds(Initializer):
    """Seeds that outliers do not attract, whatever the loss.

    They come from short fits under a capped loss to one sample of bounded size. Fits with different
    caps compete, and centers are exchanged, for the highest likelihood of a mixture of clusters and
    outliers. The cap is the cutoff of the problem's loss, or is estimated. Where clusters have
    fewer than 8 rows, the lowest objective counts instead of the likelihood.

    Independent searches are made until two agree, at most four; none, if clusters are alike and no
    row is far from them (``clean.py``). If two agree, all proposals are the same and ``random`` is
    False. Otherwise ``centers`` proposes those of the best search, then
    those of others that are not clearly less likely.

    ``prepare`` estimates the cutoff where it is "auto", and then decides whether robust seeds are
    needed. They are not if searches differ, no row lies beyond the cutoff, and pilot fits from
    ordinary seeds are nearly as good. Seeds are then those of the L2,1 loss, from the same random
    numbers as without a cutoff.
    """

    def __init__(self) -> None:
        self._search: Search | None = None
        self._pilot: Pilot | None = None
        self._ordinary = False
        self._proposed = False

    @property
    def random(self) -> bool:
        return self._search is None or self._ordinary or not self._search.agree

    @property
    def refined(self) -> bool:
        return not self._ordinary

    @property
    def intrinsic(self) -> Intrinsic | None:
        return None if self._search is None else self._search.intrinsic

    def stability(self, centers: Floats) -> float | None:
        if self._search is None or self._ordinary:
            return None
        return min(self._search.stability, self._search.agreement_with(centers))

    def keeps_clusters(self, problem: Problem) -> bool:
        if self._search is None or self._ordinary or not self._search.agree:
            return True
        return self._search.keeps_clusters(problem)

    def prepare(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Problem:
        problem = engine.problem
        if problem.loss.is_resolved:
            return problem
        search = self._searched(engine, n_clusters, rng)
        problem = replace(problem, loss=problem.loss.with_cutoff(search.cap))
        if search.clean:
            self._ordinary = not search.agree
        elif search.may_be_clean:
            # The pilot fit is only for the decision: it must not advance the caller's generator.
            self._decide(search, engine.with_problem(problem), n_clusters, deepcopy(rng))
        return problem

    def pilot(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Pilot:
        if self._pilot is not None:
            return self._pilot
        sample, hard = pilot_sample(engine, n_clusters, rng)
        search = self._searched(hard, n_clusters, rng)
        return Pilot(sample, solve(hard, search.best.centers, PILOT_FIT).centers)

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        search = self._searched(engine, n_clusters, rng)
        if self._ordinary:
            return search.ordinary_seeds(engine, rng)
        rng.randint(SEED_LIMIT)  # So that another fit with the same generator draws other seeds.
        first, self._proposed = not self._proposed, True
        return search.best.centers if first or not self.random else search.another()

    def _searched(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Search:
        if self._search is None:
            self._search = Search(engine, n_clusters, rng)
        return self._search

    def _decide(
        self, search: Search, engine: Engine, n_clusters: int, rng: np.random.RandomState
    ) -> None:
        """Compare pilot fits from ordinary and from robust seeds; keep the one to go on with."""
        sample, hard = pilot_sample(engine, n_clusters, rng)
        robust = search.best.centers
        ordinary = best_pilot(hard, [search.ordinary_seeds(hard, rng) for _ in range(PILOT_STARTS)])
        limit = (1 + MAX_ORDINARY_EXCESS) * solve(hard, robust, SHORT_FIT).objective
        self._ordinary = ordinary.objective <= limit
        kept = ordinary if self._ordinary else solve(hard, robust, PILOT_FIT)
        self._pilot = Pilot(sample, kept.centers)


def automatic_cutoff(engine: Engine, n_clusters: int, rng: np.random.RandomState) -> float:
    """Cutoff for a bounded loss; infinite if the rows are too few. ``rng`` is not advanced."""
    return Search(engine, n_clusters, rng).cap


class Found(NamedTuple):
    """Result of one search on the sample.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_features)
    cap : float
    labels : ndarray of shape (n_rows,)
        Nearest center of each row of the sample.
    inside : ndarray of shape (n_rows,), bool
        Rows that are not outliers.
    scores : ndarray of shape (n_rows,)
        Log-likelihood of each row, or minus its loss; larger is better.
    """

    centers: Floats
    cap: float
    labels: NDArray[np.integer]
    inside: NDArray[np.bool_]
    scores: Floats

    @classmethod
    def of(cls, candidate: Candidate) -> Found:
        """Result that is a candidate."""
        inside = ~candidate.classified.outlying
        return cls(candidate.centers, candidate.cap, candidate.labels, inside, candidate.scores)

    def agreement(self, labels: NDArray[np.integer]) -> float:
        """Adjusted Rand index with other labels, of the rows that are not outliers."""
        if not self.inside.any():
            return 1.0
        return label_agreement(self.labels[self.inside], labels[self.inside])


class Search:
    """Independent searches on one sample.

    The sample and the searches are the same for every generator: what is found is a property of the
    data. Only starts beyond them (``another``) are drawn from a generator.

    Attributes
    ----------
    cap : float
        Cutoff of the problem's loss, or the estimated one.
    best : Found
        Best search.
    clean : bool
        Whether there was no search, as clusters are alike and no row is far from them; see
        ``clean.py``.
    intrinsic : Intrinsic
        Dimension and size of typical clusters.
    stability : float
        Adjusted Rand index of the best two searches.
    """

    def __init__(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> None:
        # A copy is drawn from: a search must not advance the caller's generator.
        self._rng = np.random.RandomState(deepcopy(rng).randint(SEED_LIMIT))
        fixed = np.random.RandomState(SAMPLE_SEED)
        self._engine = engine
        self._n_clusters = n_clusters
        large = engine.subsample(sample_rows(n_clusters), fixed)
        self._sample = large.subsample(search_rows(n_clusters), fixed)
        self._hard = self._sample.with_problem(Problem(L21(), Hard()))
        self._weights = self._sample.data.weights_or_ones()
        self.intrinsic = intrinsic_dimension(engine, n_clusters)
        loss = engine.problem.loss
        given = loss.bounded and loss.is_resolved
        self._given = loss.cutoff if given else None
        self._estimated = loss.bounded and not given
        self._setting: Setting | None = None
        self.clean = self._estimated and self._looks_clean(large)
        if not self.clean:
            self._search(large, fixed)
        self._waiting = [found for found in self._found[1:] if self._is_likely(found)]

    def _looks_clean(self, large: ResidentEngine) -> bool:
        """Whether no search is needed; then its results are those of ordinary fits."""
        fits = clean_fits(self._sample, self._n_clusters, np.random.RandomState(SAMPLE_SEED))
        if not fits:
            return False
        cap = clean_cap(self._engine, large, fits[0].centers)
        if cap is None:
            return False
        self.cap = cap
        everything = np.ones(self._sample.n_rows, dtype=bool)
        self._found = [
            Found(fit.centers, cap, fit.labels, everything, -fit.distances) for fit in fits
        ]
        return True

    def _search(self, large: ResidentEngine, rng: np.random.RandomState) -> None:
        """Search until two results agree, and settle the cap on a larger sample."""
        self._background = Background.of(self._sample)
        # Clusters have too few rows for a likelihood, or all rows coincide, where there is no cap.
        self._first_cap = first_cap(self._sample, self._n_clusters, rng)
        known = 0 < self._first_cap < np.inf
        self._setting = self._new_setting(self._sample) if known else None
        self._estimated = self._estimated and known
        self._found, self._shapeless = [], False
        while len(self._found) < self._most_searches() and not self.agree:
            self._found.append(self._another(rng))
            self._found.sort(key=self._quality, reverse=True)
        self.cap = self.best.cap if self._given is None else self._given
        if self._setting is not None and self._given is None:
            found = Candidate(self._new_setting(large), self.best.centers, self.cap)
            self.cap = found.settled(Candidate.cap_of_inliers).cap_of_inliers()

    def _new_setting(self, sample: ResidentEngine) -> Setting:
        return Setting.of(sample, self.intrinsic, self._background)

    def _another(self, rng: np.random.RandomState) -> Found:
        """Result of another search; of a short fit, if clusters have too few rows."""
        if self._setting is not None:
            caps = self._first_cap, self._given
            return Found.of(search(self._setting, self._n_clusters, rng, *caps, self._is_final))
        cap = np.inf if self._given is None else self._given
        centers = capped_fit(self._sample, cap, self._n_clusters, rng).centers
        seen = at_cap(self._sample, cap).assign(centers, distances=True, memberships=False)
        scores = -np.minimum(seen.distances, cap)
        return Found(centers, cap, seen.labels, seen.distances < cap, scores)

    def _is_final(self, candidate: Candidate) -> bool:
        """Whether exchanges would not help a candidate.

        They have found nothing to improve in the best search, which agrees with it. Or clusters are
        so many that exchanges change few of them, and it has nothing in common with another.
        """
        if self._found:
            return self._shapeless or self.best.agreement(candidate.labels) >= SAME_LABELS
        if self._n_clusters < MANY_CLUSTERS:
            return False
        assert self._setting is not None
        rng = np.random.RandomState(SAMPLE_SEED + 1)
        caps = self._first_cap, self._given
        other = first_candidate(self._setting, self._n_clusters, rng, *caps)
        self._shapeless = Found.of(candidate).agreement(other.labels) < UNLIKE_LABELS
        return self._shapeless

    def _most_searches(self) -> int:
        """Number of searches at most; two, if these found no outliers, or nothing in common."""
        clean = self._given is None and all(found.inside.all() for found in self._found)
        unlike = len(self._found) == 2 and self.stability < UNLIKE_LABELS
        return 2 if clean or unlike else MAX_SEARCHES

    def _quality(self, found: Found) -> float:
        return float(np.average(found.scores, weights=self._weights))

    @property
    def best(self) -> Found:
        """Best search."""
        return self._found[0]

    @property
    def stability(self) -> float:
        """Adjusted Rand index of the best two searches."""
        if len(self._found) < 2:
            return 1.0 if self._found and self._n_clusters == 1 else 0.0
        return self.best.agreement(self._found[1].labels)

    @property
    def agree(self) -> bool:
        """Whether the best two searches agree."""
        return self.stability >= SAME_LABELS

    @cached_property
    def may_be_clean(self) -> bool:
        """Whether searches differ, and no row lies beyond the estimated cap."""
        if not self._estimated or self.agree:
            return False
        centers = self.best.centers
        return self._sample_is_within(centers) and all_within(self._engine, centers, self.cap)

    def another(self) -> Floats:
        """Centers of another search that is not clearly worse than the best one.

        They are worth a start: under soft memberships, two centers in a large cluster can cost less
        than one there and one in a small cluster. If none is left, those of a short fit.
        """
        if self._waiting:
            return self._waiting.pop(0).centers
        return capped_fit(self._sample, self.cap, self._n_clusters, self._rng).centers

    def _is_likely(self, found: Found) -> bool:
        """Whether a search is not worse than the best one by more than chance."""
        best, other = self.best.scores, found.scores
        with np.errstate(invalid="ignore"):  # Densities of a row that are zero in both.
            falls = np.where(best == other, 0.0, best - other)
            mean = np.average(falls, weights=self._weights)
            variance = np.average((falls - mean) ** 2, weights=self._weights)
        count = float(self._weights.sum()) / row_weight(self._weights)
        return bool(mean <= LIKELY_DEVIATIONS * np.sqrt(variance / count))

    def keeps_clusters(self, problem: Problem) -> bool:
        """Whether a fit of the problem to the sample, from the best search, keeps its labels."""
        sample = self._sample.with_problem(problem)
        centers = solve(sample, self.best.centers, KEEPING_FIT).centers
        return self.best.agreement(self._labels(centers)) >= KEPT_LABELS

    def agreement_with(self, centers: Floats) -> float:
        """Adjusted Rand index of the best search and of a fit with some centers."""
        return self.best.agreement(self._labels(centers))

    def _labels(self, centers: Floats) -> NDArray[np.integer]:
        """Nearest center of each row of the sample."""
        found: NDArray[np.integer] = self._hard.assign(centers, memberships=False).labels
        return found

    def ordinary_seeds(self, engine: Engine, rng: np.random.RandomState) -> Floats:
        """Seeds of the L2,1 loss.

        Rows can be farther apart than the cap, and would not move such seeds: these are moved by a
        few iterations without a cap first.
        """
        uncapped = engine.with_problem(Problem(L21(), engine.problem.membership))
        seeds = KMeansPlusPlus().centers(uncapped, self._n_clusters, rng)
        return seeds if self._sample_is_within(seeds) else solve(uncapped, seeds, SHORT_FIT).centers

    def _sample_is_within(self, centers: Floats) -> bool:
        """Whether no row of the sample lies beyond the cap."""
        distances = self._hard.assign(centers, distances=True, memberships=False).distances
        assert distances is not None
        return bool(distances.max() <= self.cap)


def all_within(engine: Engine, centers: Floats, cap: float) -> bool:
    """Whether no row lies beyond the cap: the total loss is then the same without one."""
    problems = (Problem(Capped(limit), Hard()) for limit in (cap, np.inf))
    capped, uncapped = (engine.with_problem(p).sweep(centers).objective for p in problems)
    return capped == uncapped
