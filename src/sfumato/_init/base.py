"""Initial centers: seeding by the problem's own loss, random rows, given ones, a callable's.

Draws go by the inverse of the cumulative weight, over the rows in an order of their own
(``Engine.order``). So a weight of 3 draws like 3 copies of a row, a row of weight 0 is never drawn,
and shuffled rows give the same seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from sfumato._engines.base import Engine, ResidentEngine
from sfumato._sampling import draw
from sfumato._typing import Floats

KEPT_LOSSES = 16
"""Seeding keeps the losses of its candidates if they take no more than a sixteenth of the data."""


class Initializer(Protocol):
    """Whatever proposes initial centers."""

    @property
    def random(self) -> bool:
        """Whether another call may give other centers, so that restarts make sense."""

    @property
    def careful(self) -> bool:
        """Whether all its proposals are good ones, so that few restarts will do."""

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Initial centers of shape (n_clusters, n_features), float64."""


class KMeansPlusPlus:
    """Greedy k-means++, drawing in proportion to the problem's own loss.

    Each new center is the best of ``2 + log(n_clusters)`` rows, drawn in proportion to what they
    now cost: the one that leaves the smallest total [1]_. For the squared loss this is
    scikit-learn's "k-means++"; for others the draw and the choice use that loss instead, and so
    favor remote rows less.

    References
    ----------
    .. [1] D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
    """

    random = True
    careful = False

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Seeds, in the order in which they were drawn."""
        rows = engine.coreset(n_clusters, rng)
        first = rows.take(draw(rows.data.weights_or_ones(), rows.order(), 1, rng))
        return greedy_seeds(rows, first, n_clusters, 2 + int(np.log(n_clusters)), rng)


def greedy_seeds(
    engine: ResidentEngine, first: Floats, n_clusters: int, trials: int, rng: np.random.RandomState
) -> Floats:
    """The first seed, and others one by one: each the best of some rows drawn by what they cost."""
    weights = engine.data.weights_or_ones()
    order = engine.order()
    seeds = np.empty((n_clusters, engine.n_features))
    seeds[0] = first[0]
    costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
    engine.update_costs(costs, seeds[:1])
    # Few losses beside many features are kept; otherwise another pass is cheaper than memory.
    kept = KEPT_LOSSES * trials * costs.nbytes <= engine.data.nbytes
    losses = np.empty((engine.n_rows, trials), dtype=costs.dtype) if kept else None
    for k in range(1, n_clusters):
        candidates = engine.take(draw(weights, order, trials, rng, costs))
        best = int(np.argmin(engine.candidate_costs(costs, candidates, losses)))
        seeds[k] = candidates[best]
        if losses is None:
            engine.update_costs(costs, seeds[k : k + 1])
        else:
            np.minimum(costs, losses[:, best], out=costs)
    return seeds


class RandomRows:
    """Rows drawn in proportion to their weights, no two alike."""

    random = True
    careful = False

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Distinct rows."""
        rows = engine.coreset(n_clusters, rng)
        chosen: list[Floats] = []
        weights = rows.data.weights_or_ones()
        order = rows.order()
        costs: Floats | None = None
        while len(chosen) < n_clusters:
            available = weights if costs is None else weights * (costs > 0)
            if not available.any():  # Rounding has made all other rows equal to chosen ones.
                chosen.extend(rows.take(draw(weights, order, n_clusters - len(chosen), rng)))
                break
            for row in rows.take(draw(available, order, n_clusters - len(chosen), rng)):
                if not any(np.array_equal(row, other) for other in chosen):
                    chosen.append(row)
            if len(chosen) < n_clusters:  # A row came twice: draw the rest from the others.
                costs = np.full(rows.n_rows, np.inf, dtype=rows.dtype)
                rows.update_costs(costs, np.array(chosen))
        return np.array(chosen)


class GivenCenters:
    """Centers that the user gave, used as they are."""

    random = False
    careful = False

    def __init__(self, given: Floats) -> None:
        self.given = given

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Given centers."""
        return self.given


class CalledCenters:
    """Centers from a user's ``init(X, n_clusters, random_state)``, checked on return."""

    random = True
    careful = False

    def __init__(
        self, function: Callable[..., Any], X: Any, check: Callable[[Any], Floats]
    ) -> None:
        self.function = function
        self.X = X
        self.check = check

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Whatever the function proposes."""
        return self.check(self.function(self.X, n_clusters, random_state=rng))
