"""Search for clusters and a cap on a sample: the most likely of many short fits.

An unbounded loss gives outliers centers of their own. A capped one needs a cap between the radius
of a cluster and the distance to the next one, and fits with different caps do not compare by their
objectives. So they are compared by the likelihood of clusters and outliers (``likelihood.py``).

1. Short fits are made from several first caps, from the scale of narrow clusters upward. Each
   alternates with a new cap from the radii of its clusters until the cap is stable.
2. The most likely one is improved: one more center is put among the outliers or into a cluster that
   is wide for its rows, and the center that is missed least is removed, as long as the likelihood
   rises. So no cluster is left out as outliers while two centers share another, and no center is
   spent on scattered rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sfumato._engines.base import ResidentEngine
from sfumato._init.clean import CAP_DEVIATIONS
from sfumato._init.dimension import Intrinsic
from sfumato._init.first_cap import CORE_SHARE
from sfumato._init.likelihood import Classified, OutlierDensity, classify
from sfumato._init.short_fits import SHORT_FIT, at_cap, capped_fit
from sfumato._mixture import Background, chi_median, gaussian_log_density
from sfumato._outliers import PAIR_DISTANCE, RADIUS_DEVIATIONS, row_weight, trimmed_radii
from sfumato._problem import Problem
from sfumato._sampling import draw
from sfumato._solvers.descent import solve
from sfumato._solvers.exchange import MAX_TABLE
from sfumato._typing import Floats
from sfumato.losses import L21
from sfumato.memberships import Hard

CAP_FACTORS = (1.0, 0.5, 3.0, 9.0)
"""Factors of the first cap from which fits are made. The larger ones are for clusters several times
as wide as the narrowest, the smaller one for outliers as dense as a cluster."""
MAX_CAP_ROUNDS = 8
"""Rounds of a new cap and a refit. Chosen by hand."""
CAP_TOLERANCE = 0.01
"""Relative change at which the cap is stable. Chosen by hand."""
MAX_OVERSHOOT = 1.1
"""Radius of a cluster over the present cap, above which it does not count: it then consists of
outliers that share a center. Chosen by hand."""
MAX_EXCHANGES = 8
"""Exchanges of a center at most. Chosen by hand."""
MIN_GAIN = 5e-3
"""Rise of the mean log-likelihood of a row, below which an exchange is not made. Chosen by hand."""
PROMISING = 0.1
"""Fall of the mean log-likelihood of a row by an exchange, up to which a short fit from there is
tried. Chosen by hand."""
SCATTERED_WIDTH, SCATTERED_EXCESS, SCATTERED_ROWS = 0.8, 1.25, 2.0
"""Median distance in a cluster, over that in the whole data and over that in a typical cluster, and
rows over those of an average cluster, from which on it may be one of scattered rows. Chosen by
hand: 1 and 1.6 for unit vectors in any direction, below 1.2 for clusters of data without gaps; one
of six clusters can be so wide that it surrounds the others, but has no more rows than they."""
CANDIDATES, MOST_CANDIDATES = 40, 256
"""Rows of which the best becomes an additional center: 40, or among the outliers as many as take no
longer than 40 among all rows, 256 at most, so that a cluster of a few rows is seen. Chosen by
hand."""
MIN_GROUP = 8
"""Rows of a group at least, into which a center is put. Chosen by hand."""
DIVIDED = 3
"""Clusters that are divided on trial, per exchange. Chosen by hand."""
DISPENSABLE = 3
"""Centers that are removed on trial, per exchange, beside the widest: those without which the
likelihood falls least. Chosen by hand."""
CLOSE_PAIRS = 3
"""Pairs of close centers that are merged on trial, per exchange. Chosen by hand."""


class Setting(NamedTuple):
    """What all candidates of a search share."""

    sample: ResidentEngine
    intrinsic: Intrinsic
    background: Background
    density: OutlierDensity

    @classmethod
    def of(cls, sample: ResidentEngine, intrinsic: Intrinsic, background: Background) -> Setting:
        """Setting on a sample."""
        density = OutlierDensity.of(sample, intrinsic, background)
        return cls(sample, intrinsic, background, density)


class Nearest(NamedTuple):
    """Distance of each row to a center, the nearest or the second nearest, and that center."""

    distances: Floats
    labels: NDArray[np.integer]

    @classmethod
    def of(cls, table: Floats) -> Nearest:
        """Nearest centers, from the distances of the rows to all, (n_rows, n_clusters)."""
        labels = table.argmin(axis=1)
        return cls(table[np.arange(len(table)), labels], labels)

    def second(self, table: Floats) -> Nearest:
        """Second nearest centers."""
        others = table.copy()
        others[np.arange(len(table)), self.labels] = np.inf
        return Nearest.of(others)

    def without(self, k: int, second: Nearest) -> Nearest:
        """Nearest centers, and their new numbers, once one is removed."""
        orphans = self.labels == k
        labels = np.where(orphans, second.labels, self.labels)
        return Nearest(np.where(orphans, second.distances, self.distances), labels - (labels > k))


class Candidate:
    """Centers and a cap, with the likelihood of the rows of a sample.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_features)
    cap : float
    distances, labels : ndarray of shape (n_rows,)
        Distance to the nearest center, and that center; found unless they are known.
    classified : Classified
    """

    def __init__(
        self, setting: Setting, centers: Floats, cap: float, nearest: Nearest | None = None
    ) -> None:
        self.setting = setting
        self.centers = centers
        self.cap = cap
        self.distances, self.labels = nearest or _nearest(setting.sample, centers)
        self.weights = setting.sample.data.weights_or_ones()
        self.radii = trimmed_radii(self.distances, self.labels, self.weights, len(centers), cap)
        self.widths = self._widths()
        self.classified: Classified = classify(
            self.distances, self.labels, self.weights, self.widths, setting.density
        )

    def _widths(self) -> Floats:
        """Width that fits the median distance in each cluster, at least the typical one.

        Infinite for a cluster of few or of scattered rows: these are outliers.
        """
        medians, typical = self.radii(0.0), self.setting.intrinsic.distance
        least = typical if typical > 0 else float(np.min(medians[medians > 0], initial=np.inf))
        widths = np.maximum(medians, least) / chi_median(self.setting.intrinsic.dimension)
        return np.where(np.isnan(widths) | self._scattered(medians), np.inf, widths)

    def _scattered(self, medians: Floats) -> NDArray[np.bool_]:
        """Whether each cluster is as wide as the data, heavy, and around most other centers."""
        background, intrinsic = self.setting.background, self.setting.intrinsic
        least = np.fmax(SCATTERED_WIDTH * background.scale, SCATTERED_EXCESS * intrinsic.distance)
        found: NDArray[np.bool_] = medians >= least
        wide = np.flatnonzero(found)
        if len(wide):
            near = cdist(self.centers[wide], self.centers) < medians[wide, None]
            others = near.sum(axis=1) - 1
            masses = np.bincount(self.labels, self.weights, len(medians))
            found[wide] = (others > 1) & (2 * others > len(medians) - 1)
            found &= masses > SCATTERED_ROWS * masses.mean()
        return found

    @property
    def scores(self) -> Floats:
        """Log-likelihood of each row."""
        return self.classified.scores

    @cached_property
    def log_likelihood(self) -> float:
        """Mean score of the rows."""
        return float(np.average(self.scores, weights=self.weights))

    @cached_property
    def masses(self) -> Floats:
        """Weight of the rows in each cluster, without outliers."""
        inliers = np.where(self.classified.outlying, 0.0, self.weights)
        return np.bincount(self.labels, inliers, len(self.centers)).astype(np.float64)

    def count(self, rows: NDArray[np.intp]) -> float:
        """Number of rows that the weights of some rows are worth."""
        return float(self.weights[rows].sum()) / row_weight(self.weights)

    def largest_radius(self) -> float:
        """Largest radius of a cluster; the cap itself if none has one.

        Clusters of few rows do not count, nor those that extend well beyond the cap.
        """
        radii = self.radii(CAP_DEVIATIONS)
        counted = radii <= MAX_OVERSHOOT * self.cap
        counted &= self.masses >= CORE_SHARE * self.masses.sum() / len(self.centers)
        return float(np.max(radii[counted], initial=0.0)) or self.cap

    def cap_of_inliers(self) -> float:
        """Largest radius of a cluster, from the rows that are not outliers, whatever the cap.

        The cap of a candidate may exclude part of its widest cluster, and depends on the seeds.
        """
        inliers = np.where(self.classified.outlying, 0.0, self.weights)
        radii = trimmed_radii(self.distances, self.labels, inliers, len(self.centers), np.inf)
        counted = self.masses >= CORE_SHARE * self.masses.sum() / len(self.centers)
        return float(np.nanmax(radii(CAP_DEVIATIONS)[counted], initial=0.0)) or self.cap

    def refitted(self, cap: float) -> Candidate:
        """Candidate after a few iterations at a cap."""
        centers = solve(at_cap(self.setting.sample, cap), self.centers, SHORT_FIT).centers
        return Candidate(self.setting, centers, cap)

    def settled(self, cap_of: Callable[[Candidate], float]) -> Candidate:
        """Candidate whose cap is the one that a function of it implies."""
        found = self
        for _ in range(MAX_CAP_ROUNDS):
            cap = cap_of(found)
            if abs(cap - found.cap) <= CAP_TOLERANCE * found.cap:
                break
            found = found.refitted(cap)
        return found

    def settled_below(self, largest: float) -> Candidate:
        """Candidate whose cap is the largest radius of its clusters, of at most ``largest``."""
        return self.settled(lambda found: min(largest, found.largest_radius()))


def _nearest(sample: ResidentEngine, centers: Floats) -> Nearest:
    """Nearest center of each row."""
    hard = sample.with_problem(Problem(L21(), Hard()))
    found = hard.assign(centers, distances=True, memberships=False)
    assert found.distances is not None
    return Nearest(found.distances.astype(np.float64), found.labels)


def search(
    setting: Setting,
    n_clusters: int,
    rng: np.random.RandomState,
    first: float,
    cap: float | None = None,
    final: Callable[[Candidate], bool] = lambda found: False,
) -> Candidate:
    """Most likely candidate: that of :func:`first_candidate`, improved unless it is ``final``."""
    found = first_candidate(setting, n_clusters, rng, first, cap)
    return found if final(found) else improved(found, rng, settle=cap is None)


def first_candidate(
    setting: Setting,
    n_clusters: int,
    rng: np.random.RandomState,
    first: float,
    cap: float | None = None,
) -> Candidate:
    """Most likely of short fits with different caps.

    All caps are tried from the same seeds: exchanges find what these miss. ``first`` is the first
    cap; ``cap`` is the one that was given, otherwise it is estimated.
    """
    seeds = capped_fit(setting.sample, first if cap is None else cap, n_clusters, rng).centers
    if cap is not None:
        return Candidate(setting, seeds, cap)
    found = [
        Candidate(setting, seeds, factor * first)
        .refitted(factor * first)
        .settled_below(factor * first)
        for factor in CAP_FACTORS
    ]
    return max(found, key=lambda candidate: candidate.log_likelihood)


def improved(candidate: Candidate, rng: np.random.RandomState, settle: bool) -> Candidate:
    """Candidate, and its cap, after centers were moved to where the likelihood rises most."""
    n_clusters = len(candidate.centers)
    size = candidate.setting.sample.n_rows * (n_clusters + 1)
    if n_clusters == 1 or size > MAX_TABLE or not np.isfinite(candidate.log_likelihood):
        return candidate
    for _ in range(MAX_EXCHANGES):
        best = candidate
        for centers, cap in extended(candidate, rng, settle):
            found = _reduced(candidate.setting, centers, cap)
            if found.log_likelihood > best.log_likelihood - PROMISING:
                found = found.refitted(cap)
                found = found.settled_below(cap) if settle else found
            if found.log_likelihood > best.log_likelihood + MIN_GAIN:
                best = found
        if best is candidate:
            break
        candidate = best
    return candidate


def extended(
    candidate: Candidate, rng: np.random.RandomState, settle: bool
) -> Iterator[tuple[Floats, float]]:
    """Centers with one more, among the outliers or in a cluster wide for its rows, and a cap.

    With ``settle``, the cap may be larger, for outliers that are a wide cluster.
    """
    centers, cap = candidate.centers, candidate.cap
    radii = candidate.radii(RADIUS_DEVIATIONS)
    typical = float(np.nanmedian(radii)) if np.isfinite(radii).any() else cap
    outlying = np.flatnonzero(candidate.classified.outlying)
    if candidate.count(outlying) >= MIN_GROUP:
        group = candidate.setting.sample.only(outlying)
        share = float(candidate.weights[outlying].sum() / candidate.weights.sum())
        count = min(int(CANDIDATES / share), MOST_CANDIDATES)
        for reach in sorted({min(typical, cap), cap}):
            yield np.vstack([centers, _densest(group, reach, rng, count)]), cap
        if settle:
            middle = _densest(group, np.inf, rng)
            yield np.vstack([centers, middle]), np.fmax(cap, _radius(group, middle))
    widths = candidate.widths
    with np.errstate(invalid="ignore"):
        excess = candidate.masses * np.log(widths / widths.min())
    excess = np.where(np.isfinite(excess), excess, 0.0)
    for k in np.argsort(-excess, kind="stable")[:DIVIDED]:
        inside = np.flatnonzero((candidate.labels == k) & ~candidate.classified.outlying)
        if candidate.count(inside) >= 2 * MIN_GROUP:
            two = _divided(candidate.setting.sample.only(inside), typical, cap, rng)
            yield np.vstack([np.delete(centers, k, axis=0), two]), cap


def _densest(
    group: ResidentEngine, reach: float, rng: np.random.RandomState, count: int = CANDIDATES
) -> Floats:
    """Center of the densest place among some rows, of shape (1, n_features)."""
    rows = group.take(draw(group.data.weights_or_ones(), group.order(), count, rng))
    wide = at_cap(group, PAIR_DISTANCE * reach)
    costs = np.full(group.n_rows, np.inf, dtype=group.dtype)
    seed = rows[[int(np.argmin(wide.candidate_costs(costs, rows)))]]
    moved = solve(wide, seed, SHORT_FIT).centers
    return solve(at_cap(group, reach), moved, SHORT_FIT).centers


def _radius(group: ResidentEngine, center: Floats) -> float:
    """Radius of some rows around a center; NaN if they are few."""
    distances, one = group.distances(center)[:, 0], np.zeros(group.n_rows, dtype=np.intp)
    radii = trimmed_radii(distances, one, group.data.weights_or_ones(), 1, np.inf)
    return float(radii(CAP_DEVIATIONS)[0])


def _divided(
    group: ResidentEngine, typical: float, cap: float, rng: np.random.RandomState
) -> Floats:
    """Two centers for the rows of one cluster: its densest place, and that of the rows beyond."""
    first = _densest(group, typical, rng)
    rest = np.flatnonzero(group.distances(first)[:, 0] > typical)
    weights = group.data.weights_or_ones()
    if float(weights[rest].sum()) < MIN_GROUP * row_weight(weights):
        return capped_fit(group, cap, 2, rng).centers
    both = np.vstack([first, _densest(group.only(rest), typical, rng)])
    return solve(at_cap(group, cap), both, SHORT_FIT).centers


def _reduced(setting: Setting, centers: Floats, cap: float) -> Candidate:
    """Most likely candidate with one center less, of some that are tried.

    Tried are those without a center that is missed little, or without the widest, and those in
    which two close centers are merged.
    """
    table = setting.sample.distances(centers).astype(np.float64)
    nearest = Nearest.of(table)
    second = nearest.second(table)
    candidate = Candidate(setting, centers, cap, nearest)
    widths = np.where(np.isfinite(candidate.widths), candidate.widths, 0.0)
    dispensable = np.argsort(_losses_without(candidate, second), kind="stable")[:DISPENSABLE]
    tried = [
        Candidate(setting, np.delete(centers, k, axis=0), cap, nearest.without(k, second))
        for k in {*map(int, dispensable), int(np.argmax(widths))}
    ]
    sums = np.maximum(widths[:, None] + widths, np.finfo(float).tiny)
    with np.errstate(over="ignore"):  # Two clusters without a width are infinitely far apart.
        gaps = cdist(centers, centers) / sums
    gaps[np.tril_indices(len(gaps))] = np.inf
    for pair in np.argsort(gaps, axis=None)[:CLOSE_PAIRS]:
        i, j = divmod(int(pair), len(gaps))
        merged, distances = np.delete(centers, j, axis=0), np.delete(table, j, axis=1)
        shares = candidate.masses[[i, j]] + np.finfo(float).tiny
        merged[i] = np.average(centers[[i, j]], axis=0, weights=shares)
        distances[:, i] = setting.sample.distances(merged[[i]])[:, 0]
        tried.append(Candidate(setting, merged, cap, Nearest.of(distances)))
    return max(tried, key=lambda found: found.log_likelihood)


def _losses_without(candidate: Candidate, second: Nearest) -> Floats:
    """Log-likelihood that is lost without each center, if no other width or share changes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        widths = candidate.widths[second.labels]
        dimension = candidate.setting.intrinsic.dimension
        other = gaussian_log_density(second.distances, widths, dimension)
        other = other + np.log(candidate.classified.shares[second.labels])
    remaining = np.fmax(other, candidate.classified.as_outlier)
    with np.errstate(invalid="ignore"):  # Rows that are impossible either way lose nothing.
        lost = np.fmax(candidate.scores - remaining, 0.0)
    found: Floats = np.bincount(
        candidate.labels, candidate.weights * lost, len(candidate.centers)
    ).astype(np.float64)
    return found
