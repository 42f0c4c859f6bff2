"""Rearrangement of centers: one more where it saves most, one less where it is missed least.

An exchange (``exchange.py``) puts a center onto a row, and removes another. Where two centers share
a large cluster, neither can be removed as long as the other is not in the middle. Where two
clusters share a center, a row of one of them leaves the other with a center that lies between. So
here two centers can also be merged, and a cluster divided, as in the split and merge steps of
mixtures [1]_.

References
----------
.. [1] N. Ueda, R. Nakano, Z. Ghahramani, G. E. Hinton, "SMEM algorithm for mixture models", Neural
   Computation 2000.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sfumato._engines.base import ResidentEngine
from sfumato._outliers import MIN_CLUSTER_ROWS, row_weight
from sfumato._sampling import draw
from sfumato._solvers.descent import Stopping, solve
from sfumato._solvers.exchange import (
    MAX_TABLE,
    MIN_EXCHANGE_GAIN,
    promising_rows,
    table_of_losses,
)
from sfumato._typing import Floats

MAX_MOVES = 5
"""Moves in one call. Chosen by hand."""
DIVIDED = 2
"""Clusters that are divided on trial, those that are wide for their rows. Chosen by hand."""
CLOSE_PAIRS = 3
"""Pairs of close centers that are merged on trial. Chosen by hand."""
DIVIDING_ROWS = 10
"""Rows of a cluster tried as its second center, drawn by their losses. Chosen by hand."""
LEAST_GAIN = 0.4
"""What the best row gains as one more center, over what is lost by one less, below which no row is
tried, and one cluster divided. Chosen by hand: where rows were moved to it was 0.41 or more."""
HARD_FIT = Stopping(max_iter=3, tol=1e-3)
"""Iterations and relative tolerance of hard clusters after a move, and of the two halves of one:
they take new centers, which are rows, to the middle of their clusters, from where soft memberships
of larger clusters do not pull them away. Chosen by hand."""


def rearrange(engine: ResidentEngine, centers: Floats, rng: np.random.RandomState) -> Floats:
    """Centers after some were moved, as long as that lowers the total loss of hard clusters.

    ``engine`` is one for hard memberships. The centers themselves are returned if there is nothing
    to gain, or if the table of losses would be large.
    """
    if len(centers) == 1 or engine.n_rows * (len(centers) + 1) > MAX_TABLE:
        return centers
    for _ in range(MAX_MOVES):
        moved = _best_move(engine, centers, rng)
        if moved is None:
            break
        centers = solve(engine, moved, HARD_FIT).centers
    return centers


class Places(NamedTuple):
    """Nearest center of each row, and its loss there; the same of the next one.

    Where it is not known exactly, the loss at the next one is an upper bound.
    """

    labels: NDArray[np.intp]
    nearest: Floats
    next_labels: NDArray[np.intp]
    second: Floats

    @classmethod
    def of(cls, table: Floats) -> Places:
        """From a table of losses, (n_rows, n_clusters), which is overwritten."""
        rows = np.arange(len(table))
        labels = table.argmin(axis=1)
        nearest = table[rows, labels]
        table[rows, labels] = np.inf
        others = table.argmin(axis=1)
        return cls(labels, nearest, others, table[rows, others])

    def total(self, weights: Floats) -> float:
        """Total loss."""
        return float(weights @ self.nearest)

    def lost(self, weights: Floats, number: int) -> Floats:
        """Rise of the total loss without each of so many centers."""
        rises = weights * (self.second - self.nearest)
        found: Floats = np.bincount(self.labels, rises, number).astype(np.float64)
        return found

    def without(self, k: int) -> Places:
        """Places without a center; nothing is known beyond the next one."""
        gone = self.labels == k
        second = np.where(gone | (self.next_labels == k), np.inf, self.second)
        labels = np.where(gone, self.next_labels, self.labels)
        return Places(labels, np.where(gone, self.second, self.nearest), self.next_labels, second)

    def extended(self, losses: Floats, number: int) -> Places:
        """Places with one more center, of a number."""
        first = losses < self.nearest
        between = ~first & (losses < self.second)
        return Places(
            np.where(first, number, self.labels),
            np.minimum(self.nearest, losses),
            np.where(first, self.labels, np.where(between, number, self.next_labels)),
            np.minimum(self.second, np.maximum(self.nearest, losses)),
        )

    def merged(self, pair: tuple[int, int], losses: Floats, weights: Floats) -> float:
        """Rise of the total loss with one center in the place of two, at most.

        Rows of other clusters, which could be nearer to the new center, are not looked at.
        """
        either = np.zeros(
            int(max(self.labels.max(), *pair, self.next_labels.max())) + 1, dtype=bool
        )
        either[list(pair)] = True
        rows = np.flatnonzero(either[self.labels])
        others = np.where(either[self.next_labels[rows]], np.inf, self.second[rows])
        rises = np.minimum(losses[rows], others) - self.nearest[rows]
        return float(weights[rows] @ rises)


class Addition(NamedTuple):
    """One more center: a row, or the second half of a cluster, which is then divided.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters + 1, n_features)
        With the additional one at the end.
    places : Places
    divided : int or None
    """

    centers: Floats
    places: Places
    divided: int | None = None


class Merger(NamedTuple):
    """Two close centers, one in their place, and the losses there."""

    pair: tuple[int, int]
    center: Floats
    losses: Floats


def _best_move(
    engine: ResidentEngine, centers: Floats, rng: np.random.RandomState
) -> Floats | None:
    """Centers after the best move; None if there is nothing to gain."""
    weights = engine.data.weights_or_ones()
    places = Places.of(table_of_losses(engine, centers)[0])
    least = (1 - MIN_EXCHANGE_GAIN) * places.total(weights)
    if not least > 0:
        return None
    mergers = list(_mergers(engine, centers, places))
    rows, losses = promising_rows(engine, places.nearest, rng)
    number = len(centers)
    added = [
        Addition(np.vstack([centers, row]), places.extended(column, number))
        for row, column in zip(rows, losses.T, strict=True)
    ]
    gained = max((places.total(weights) - each.places.total(weights) for each in added), default=0)
    lost = [float(places.lost(weights, number).min())]
    lost += [places.merged(each.pair, each.losses, weights) for each in mergers]
    if gained < LEAST_GAIN * min(lost):
        added = []
    best = None
    for addition in [*added, *_divisions(engine, centers, places, rng, DIVIDED if added else 1)]:
        for total, moved in _with_one_less(addition, weights, mergers):
            if total < least:
                least, best = total, moved
    return best


def _divisions(
    engine: ResidentEngine,
    centers: Floats,
    places: Places,
    rng: np.random.RandomState,
    count: int,
) -> Iterator[Addition]:
    """Clusters divided: some that are wide for their rows."""
    number, weights = len(centers), engine.data.weights_or_ones()
    masses = np.bincount(places.labels, weights, number)
    totals = np.bincount(places.labels, weights * places.nearest, number)
    widths = np.divide(totals, masses, out=np.zeros(number), where=masses > 0)
    known = widths > 0
    logs = np.log(widths, out=np.zeros(number), where=known)
    least = logs[known].min() if known.any() else 0.0
    excess = np.where(known, masses * (logs - least), -np.inf)
    for k in map(int, np.argsort(-excess, kind="stable")[:count]):
        inside = np.flatnonzero(places.labels == k)
        if weights[inside].sum() < 2 * MIN_CLUSTER_ROWS * row_weight(weights):
            continue
        two = _divided(engine.only(inside), centers[k], places.nearest[inside], rng)
        first, second = np.ascontiguousarray(table_of_losses(engine, two)[0].T)
        apart = places.without(k).extended(first, k).extended(second, number)
        halves = np.vstack([centers, two[1:]])
        halves[k] = two[0]
        yield Addition(halves, apart, k)


def _divided(
    group: ResidentEngine, center: Floats, losses: Floats, rng: np.random.RandomState
) -> Floats:
    """Two centers for the rows of a cluster, of which the losses are given."""
    weights = group.data.weights_or_ones()
    costs = np.ascontiguousarray(losses) if (weights * losses).any() else None
    rows = group.take(draw(weights, group.order(), DIVIDING_ROWS, rng, costs))
    second = rows[int(np.argmin(group.candidate_costs(np.ascontiguousarray(losses), rows)))]
    return solve(group, np.vstack([center, second]), HARD_FIT).centers


def _mergers(engine: ResidentEngine, centers: Floats, places: Places) -> Iterator[Merger]:
    """Pairs of close centers that are merged on trial."""
    number, weights = len(centers), engine.data.weights_or_ones()
    masses = np.bincount(places.labels, weights, number) + np.finfo(float).tiny
    first, second = np.triu_indices(number, 1)
    gaps = cdist(centers, centers)[first, second]
    closest = np.argsort(gaps, kind="stable")[:CLOSE_PAIRS]
    pairs = np.column_stack([first[closest], second[closest]])
    shares = masses[pairs][:, :, None]
    middles = (shares * centers[pairs]).sum(axis=1) / shares.sum(axis=1)
    losses = np.ascontiguousarray(table_of_losses(engine, middles)[0].T)
    for (i, j), middle, column in zip(pairs.tolist(), middles, losses, strict=True):
        yield Merger((i, j), middle, column)


def _with_one_less(
    addition: Addition, weights: Floats, mergers: list[Merger]
) -> Iterator[tuple[float, Floats]]:
    """Total losses and centers after one was removed from the others, or two were merged."""
    centers, places, divided = addition
    number = len(centers) - 1
    lost = places.lost(weights, number + 1)
    halves = [number] if divided is None else [number, divided]  # To remove these gains nothing.
    lost[halves] = np.inf
    least = int(np.argmin(lost))
    total = places.total(weights)
    yield total + float(lost[least]), np.delete(centers, least, axis=0)
    for pair, center, losses in mergers:
        if divided not in pair:
            moved = np.delete(centers, pair[1], axis=0)
            moved[pair[0]] = center
            yield total + places.merged(pair, losses, weights), moved
