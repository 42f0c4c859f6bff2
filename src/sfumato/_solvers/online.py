"""Online updates: the centers after a batch minimize its objective plus a proximal term.

Of earlier rows two numbers per center are kept: their count, weighted by membership, and their sum
of distances. They give the weight of the proximal term, which pulls each center to its former
place. Its statistics add to those of a pass over the batch.

The proximal weight is the count of the rows times the weight that the loss gives at their mean
distance. The sum of their weights in a pass would be the textbook choice, and is worse for a
loss with a kink: a row next to a center has nearly infinite weight, and would hold it forever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sfumato._engines.base import ResidentEngine
from sfumato._outliers import FALSE_ALARMS, radii_of, weighted_median
from sfumato._problem import Assignment, Problem, Statistics
from sfumato._sampling import fixed_draw
from sfumato._typing import Floats
from sfumato.losses import Loss

STEPS = 3
"""Passes over a batch. Measured as excess of the objective over all rows above that of a fit to
them: the second pass removes about a third of it, the third up to a tenth, more of them little."""
FAR = 4.0
"""Factor of the typical distance at which distances are clipped before they are averaged; chosen by
hand."""
FORGOTTEN = 1e-3
"""Share of the average count below which a center may be moved elsewhere; chosen by hand."""
TAKEN = 0.5
"""Distance of a moved center from the former place of another one, over that from its own, below
which it would leave its cluster for the other. Chosen by hand."""
WINDOW, WINDOW_PER_CLUSTER = 2048, 128
"""Number of latest rows from which radii are estimated, and more per cluster; chosen by hand."""


@dataclass(frozen=True)
class CenterCounts:
    """Weighted number of rows per center and their distances; supports ``+``.

    Attributes
    ----------
    count : ndarray of shape (n_clusters,)
        ``sum_i v_i phi(a_ik)`` over rows with a positive weight in the loss.
    spread : ndarray of shape (n_clusters,)
        ``sum_i v_i phi(a_ik) h_i``, where ``h_i`` is the distance to the nearest center, clipped
        at ``FAR`` times the typical distance.
    """

    count: Floats
    spread: Floats

    def __add__(self, other: CenterCounts) -> CenterCounts:
        return CenterCounts(self.count + other.count, self.spread + other.spread)

    def __mul__(self, share: float | NDArray[Any]) -> CenterCounts:
        return CenterCounts(self.count * share, self.spread * share)

    def means(self) -> Floats:
        """Mean distance at each center; the overall mean where a center has none."""
        overall = self.spread.sum() / max(float(self.count.sum()), np.finfo(np.float64).tiny)
        own = np.divide(
            self.spread, self.count, out=np.zeros_like(self.count), where=self.count > 0
        )
        return np.where(own > 0, own, overall)

    def typical(self) -> Floats:
        """Typical distance: the larger of own and overall mean; infinite if all distances are 0."""
        total = float(self.spread.sum())
        if not total > 0:
            return np.full_like(self.count, np.inf)
        return np.maximum(self.means(), total / self.count.sum())


def count_rows(
    problem: Problem, seen: Assignment, weights: Floats, typical: Floats
) -> CenterCounts:
    """Counts of weighted rows that were assigned with distances and memberships."""
    distances = np.asarray(seen.distances, dtype=np.float64)
    matters = (problem.loss.weight(distances**2) > 0) | (distances == 0)
    weights = np.where(matters, weights, 0.0)
    shares = seen.memberships
    rows = np.repeat(np.arange(len(distances)), np.diff(shares.indptr))
    counts = weights[rows] * problem.membership.phi(shares.data.astype(np.float64))
    near = np.minimum(distances[rows], FAR * typical[shares.indices])
    return CenterCounts(
        *(_sums(shares.indices, values, len(typical)) for values in (counts, counts * near))
    )


def _sums(labels: NDArray[np.integer], values: Floats, size: int) -> Floats:
    """Sum of the values of each label."""
    sums: Floats = np.bincount(labels, values, size).astype(np.float64)
    return sums


def proximal_weight(past: CenterCounts, scale: Floats, loss: Loss) -> Floats:
    """Weight of the proximal term: past rows, each weighted as at the distance ``scale``."""
    return past.count * loss.weight(np.asarray(scale, dtype=np.float64) ** 2)


def proximal_term(weight: Floats, home: Floats, centers: Floats) -> Statistics:
    """Statistics, at the given centers, of ``sum_k weight_k |home_k - center_k|^2``."""
    away = home - centers
    value = float((weight[:, None] * away**2).sum())
    return Statistics(weight[:, None] * away, weight, np.zeros_like(weight), value)


@dataclass(frozen=True)
class Window:
    """Distances of the latest rows.

    Attributes
    ----------
    labels, distances, weights, batches : ndarray of shape (n_rows,)
        Nearest center, distance to it, weight, and number of the batch, ascending.
    """

    labels: NDArray[np.int32]
    distances: Floats
    weights: Floats
    batches: NDArray[np.int64]

    @classmethod
    def empty(cls) -> Window:
        """Window without rows."""
        nothing = np.empty(0)
        return cls(np.empty(0, np.int32), nothing, nothing, np.empty(0, np.int64))

    def then(self, seen: Assignment, weights: Floats, n_clusters: int) -> Window:
        """Window after another batch; the oldest batches are dropped whole if it is full."""
        most = WINDOW + WINDOW_PER_CLUSTER * n_clusters
        rows = np.flatnonzero(weights > 0)
        if len(rows) > most:
            rows = rows[fixed_draw(len(rows), most)]
        number = self.batches[-1] + 1 if len(self.batches) else 0
        joined = Window(
            np.concatenate([self.labels, seen.labels[rows]]),
            np.concatenate([self.distances, np.asarray(seen.distances[rows], np.float64)]),
            np.concatenate([self.weights, weights[rows]]),
            np.concatenate([self.batches, np.full(len(rows), number)]),
        )
        oldest = joined.batches[max(0, len(joined.batches) - most)]
        return joined.only(joined.batches >= oldest)

    def only(self, kept: NDArray[np.bool_]) -> Window:
        """Window of the chosen rows."""
        return Window(
            self.labels[kept], self.distances[kept], self.weights[kept], self.batches[kept]
        )

    def radii(self, n_clusters: int, limit: float, false_alarms: float = FALSE_ALARMS) -> Floats:
        """Radius of each cluster, from rows nearer than the limit; see ``radii_of``."""
        seen = self.distances, self.labels, self.weights
        return radii_of(*seen, n_clusters, limit, false_alarms)


class AssignedSample(NamedTuple):
    """Assignment of a sample of rows, with distances and memberships, and their weights."""

    assignment: Assignment
    weights: Floats


@dataclass(frozen=True)
class OnlineState:
    """State between batches.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_features)
        In float64 whatever the precision of the data, since late steps are small.
    past : CenterCounts
        Counts of all rows so far, those of earlier batches reduced by the decay.
    window : Window
    """

    centers: Floats
    past: CenterCounts
    window: Window

    @classmethod
    def of(
        cls, sample: AssignedSample, centers: Floats, problem: Problem, n_rows: int
    ) -> OnlineState:
        """State after a fit to ``n_rows`` rows of positive weight, estimated from a sample."""
        seen, weights = sample
        n_sampled = int((weights > 0).sum())
        distances = np.asarray(seen.distances, dtype=np.float64)
        middle = weighted_median(distances, weights)
        # If half of the rows lie on centers, the median is 0, and nothing is clipped.
        typical = np.full(len(centers), middle or np.inf)
        found = count_rows(problem, seen, weights, typical)
        if n_sampled < n_rows:
            # A cluster of which no row was sampled has rows all the same.
            least = float(weights.sum()) / n_sampled / 2
            found = replace(found, count=np.maximum(found.count, least)) * (n_rows / n_sampled)
        window = Window.empty().then(seen, weights, len(centers))
        return cls(np.array(centers, dtype=np.float64), found, window)


class Learned(NamedTuple):
    """Result of a batch.

    Attributes
    ----------
    state : OnlineState
    assignment : Assignment
        Of the rows of the batch to the new centers.
    held, far : ndarray of int
        Centers that the batch would have moved to the place of another one, and stayed; centers
        that moved farther than to the nearest other one.
    """

    state: OnlineState
    assignment: Assignment
    held: NDArray[np.intp]
    far: NDArray[np.intp]


def learn(
    engine: ResidentEngine, state: OnlineState, decay: float, dtype: np.dtype[np.floating]
) -> Learned:
    """Learn from a batch.

    Parameters
    ----------
    engine : ResidentEngine
        Engine on the rows of the batch.
    state : OnlineState
    decay : float in [0, 1)
        Share of the past that is forgotten.
    dtype : dtype
        Precision to which centers are rounded before the rows are assigned to them.
    """
    problem, weights = engine.problem, engine.data.weights_or_ones()
    past = state.past * (1 - decay)
    home, lost, seen = _move_idle(engine, state.centers, past, decay > 0)
    past = past * ~np.isin(np.arange(len(home)), lost)
    typical = past.typical()
    both = past + count_rows(problem, seen, weights, typical)
    weight = proximal_weight(past, both.means(), problem.loss)
    centers = home
    for _ in range(STEPS):
        statistics = engine.sweep(centers) + proximal_term(weight, home, centers)
        centers, held = _hold(home, statistics.centers(centers))
    seen = engine.assign(centers.astype(dtype).astype(np.float64), distances=True)
    kept = state.window.only(~np.isin(state.window.labels, lost))
    after = OnlineState(
        centers,
        past + count_rows(problem, seen, weights, typical),
        kept.then(seen, weights, len(centers)),
    )
    far = np.setdiff1d(_moved_far(home, centers), np.concatenate([held, lost]))
    return Learned(after, seen, held, far)


def _hold(home: Floats, moved: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Centers, without those that would leave for the place of another one, and which these are.

    Rows of one cluster can outweigh all that is remembered of the others, and would draw every
    center to them.
    """
    away = cdist(moved, home)
    held = away.min(axis=1) < TAKEN * away.diagonal()
    return np.where(held[:, None], home, moved), np.flatnonzero(held)


def _moved_far(home: Floats, moved: Floats) -> NDArray[np.intp]:
    """Centers that moved farther than to the nearest other one."""
    gaps = cdist(home, home)
    gaps[np.diag_indices(len(gaps))] = np.inf
    gap = np.where(gaps > 0, gaps, np.inf).min(axis=1)
    return np.flatnonzero(np.linalg.norm(moved - home, axis=1) > gap)


def _move_idle(
    engine: ResidentEngine, centers: Floats, past: CenterCounts, decays: bool
) -> tuple[Floats, NDArray[np.intp], Assignment]:
    """Move idle centers to the rows with the largest loss.

    A center is idle if no row of the batch is nearest to it, and its count is 0, or nearly so
    where there is decay. Returns the centers, the indices of those moved, and the assignment.
    """
    seen = engine.assign(centers, distances=True)
    weights = engine.data.weights_or_ones()
    idle = np.bincount(seen.labels, weights, len(centers)) <= 0
    least = FORGOTTEN * past.count.mean() if decays else 0.0
    lost = np.flatnonzero(idle & (past.count <= least))
    if not len(lost):
        return centers, lost, seen
    rows = engine.worst_fitted_rows(np.delete(centers, lost, axis=0), len(lost))
    moved = centers.copy()
    moved[lost[: len(rows)]] = rows
    return moved, lost[: len(rows)], engine.assign(moved, distances=True)
