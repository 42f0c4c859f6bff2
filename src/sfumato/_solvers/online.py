"""Learning from batches: what was learned before pulls each center back to where it is.

Of rows that are gone, two numbers per center are kept: how much of them belonged to it, and how far
away that was. They make a spring. The centers after a batch minimize the objective of the batch
plus a proximal term, whose statistics add to those of a pass like any others.

The proximal weight is the count of the rows times the weight that the loss gives at their mean
distance. The sum of their weights in a pass would be the textbook choice, and is worse for a
loss with a kink: a row next to a center has nearly infinite weight, and would hold it forever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._engines.base import Assignment, ResidentEngine
from sfumato._outliers import grouped_median, radii_of
from sfumato._problem import Statistics
from sfumato._sampling import fixed_draw
from sfumato._typing import Floats
from sfumato.losses import Loss

STEPS = 3
"""Passes over a batch. The second saves about a third of what the objective over all rows is above
that of a fit to them, the third up to a tenth; more save little."""
FAR = 4.0
"""Typical distances beyond which a row says no more about the typical distance."""
FORGOTTEN = 1e-3
"""Share of the average count below which a center is free to go elsewhere."""
WINDOW, WINDOW_PER_CLUSTER = 2048, 128
"""Latest rows that say how far clusters reach."""


@dataclass(frozen=True)
class CenterCounts:
    """Rows per center; tallies add.

    Attributes
    ----------
    count : ndarray of shape (n_clusters,)
        ``sum_i v_i phi(a_ik)`` over rows that the loss does not ignore.
    spread : ndarray of shape (n_clusters,)
        The same sum of distances: of each row to its nearest center, and no more than ``FAR``
        times what is typical.
    """

    count: Floats
    spread: Floats

    def __add__(self, other: CenterCounts) -> CenterCounts:
        return CenterCounts(self.count + other.count, self.spread + other.spread)

    def __mul__(self, share: float | NDArray[Any]) -> CenterCounts:
        return CenterCounts(self.count * share, self.spread * share)

    def means(self) -> Floats:
        """Mean distance at each center; that of all, where there is none."""
        overall = self.spread.sum() / max(float(self.count.sum()), np.finfo(np.float64).tiny)
        own = np.divide(
            self.spread, self.count, out=np.zeros_like(self.count), where=self.count > 0
        )
        return np.where(own > 0, own, overall)

    def typical(self) -> Floats:
        """Distance that is not far, per center; infinite if nothing is known of any."""
        total = float(self.spread.sum())
        if not total > 0:
            return np.full_like(self.count, np.inf)
        return np.maximum(self.means(), total / self.count.sum())


def count_rows(engine: ResidentEngine, seen: Assignment, typical: Floats) -> CenterCounts:
    """CenterCounts of the rows of an engine, from where they belong."""
    distances = np.asarray(seen.distances, dtype=np.float64)
    problem = engine.problem
    matters = (problem.loss.weight(distances**2) > 0) | (distances == 0)
    weights = np.where(matters, engine.data.weights_or_ones(), 0.0)
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
    """Weight of the proximal term: past rows, each weighted as at its mean distance."""
    return past.count * loss.weight(np.asarray(scale, dtype=np.float64) ** 2)


def proximal_term(stiff: Floats, home: Floats, centers: Floats) -> Statistics:
    """Statistics, at the given centers, of proximal_term that pull them home."""
    away = home - centers
    energy = float((stiff[:, None] * away**2).sum())
    return Statistics(stiff[:, None] * away, stiff, np.zeros_like(stiff), energy)


@dataclass(frozen=True)
class Window:
    """Distances of the latest rows, batch by batch.

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
        """Window that no row is in."""
        nothing = np.empty(0)
        return cls(np.empty(0, np.int32), nothing, nothing, np.empty(0, np.int64))

    def then(self, engine: ResidentEngine, seen: Assignment, n_clusters: int) -> Window:
        """Window after a batch; the oldest batches that it can do without leave it whole."""
        most = WINDOW + WINDOW_PER_CLUSTER * n_clusters
        weights = engine.data.weights_or_ones()
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

    def radii(self, n_clusters: int, limit: float) -> Floats:
        """How far each cluster radii, from rows nearer than the limit."""
        return radii_of(self.distances, self.labels, self.weights, n_clusters, limit)


@dataclass(frozen=True)
class OnlineState:
    """What is kept between batches.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_features)
        In double precision, whatever that of the data: steps get small.
    past : CenterCounts
    window : Window
    n_rows : int
        Rows of positive weight so far.
    """

    centers: Floats
    past: CenterCounts
    window: Window
    n_rows: int

    @classmethod
    def of(cls, sample: ResidentEngine, centers: Floats, n_rows: int) -> OnlineState:
        """State after a fit with these centers, estimated from a sample of its rows."""
        seen = sample.assign(centers, distances=True)
        weights = sample.data.weights_or_ones()
        n_sampled = int((weights > 0).sum())
        distances = np.asarray(seen.distances, dtype=np.float64)
        all_rows = np.zeros(len(distances), dtype=np.intp)
        middle = float(grouped_median(distances, all_rows, weights, 1)[0])
        # Half of the rows on centers say nothing of what is far.
        typical = np.full(len(centers), middle or np.inf)
        found = count_rows(sample, seen, typical)
        if n_sampled < n_rows:
            # A cluster too small for the sample has rows all the same.
            least = float(weights.sum()) / n_sampled / 2
            found = replace(found, count=np.maximum(found.count, least)) * (n_rows / n_sampled)
        window = Window.empty().then(sample, seen, len(centers))
        return cls(np.array(centers, dtype=np.float64), found, window, n_rows)


class Learned(NamedTuple):
    """What comes of a batch: the state after it, and where its rows belong then."""

    state: OnlineState
    assignment: Assignment


def learn(
    engine: ResidentEngine, state: OnlineState, forgetting: float, dtype: np.dtype[np.floating]
) -> Learned:
    """Learn from a batch.

    Parameters
    ----------
    engine : ResidentEngine
        On the rows of the batch.
    state : OnlineState
    forgetting : float
        Share of the past that is forgotten.
    dtype : dtype
        Precision that the centers are rounded to where rows are assigned.
    """
    past = state.past * (1 - forgetting)
    home, lost, seen = _free(engine, state.centers, past, forgetting > 0)
    past = past * ~np.isin(np.arange(len(home)), lost)
    typical = past.typical()
    both = past + count_rows(engine, seen, typical)
    stiff = proximal_weight(past, both.means(), engine.problem.loss)
    centers = home
    for _ in range(STEPS):
        statistics = engine.sweep(centers) + proximal_term(stiff, home, centers)
        centers = statistics.centers(centers)
    seen = engine.assign(centers.astype(dtype).astype(np.float64), distances=True)
    kept = state.window.only(~np.isin(state.window.labels, lost))
    counted = int((engine.data.weights_or_ones() > 0).sum())
    after = OnlineState(
        centers,
        past + count_rows(engine, seen, typical),
        kept.then(engine, seen, len(centers)),
        state.n_rows + counted,
    )
    return Learned(after, seen)


def _free(
    engine: ResidentEngine, centers: Floats, past: CenterCounts, forgetful: bool
) -> tuple[Floats, NDArray[np.intp], Assignment]:
    """Move centers that have no rows to those that need one most; which moved, and who is where.

    Such a center is nearest to no row of the batch, and there was never a row of its own, or it is
    forgotten by now.
    """
    seen = engine.assign(centers, distances=True)
    weights = engine.data.weights_or_ones()
    idle = np.bincount(seen.labels, weights, len(centers)) <= 0
    least = FORGOTTEN * past.count.mean() if forgetful else 0.0
    lost = np.flatnonzero(idle & (past.count <= least))
    if not len(lost):
        return centers, lost, seen
    rows = engine.worst_fitted_rows(np.delete(centers, lost, axis=0), len(lost))
    moved = centers.copy()
    moved[lost[: len(rows)]] = rows
    return moved, lost[: len(rows)], engine.assign(moved, distances=True)
