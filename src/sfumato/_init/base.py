"""Initial centers: the base class, greedy seeding, random rows, given centers, a callable.

Rows are drawn by the inverse of the cumulative weight, in an order that depends on the data alone
(``ResidentEngine.order``). So a weight of 3 draws like 3 copies of a row, a row of weight 0 is
never drawn, and shuffled rows give the same seeds, unless they are so many that starts are compared
on a sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from sfumato._engines.base import Engine, ResidentEngine
from sfumato._problem import Problem
from sfumato._sampling import draw
from sfumato._solvers.descent import Solution, Stopping, solve
from sfumato._typing import Floats
from sfumato.memberships import Hard

KEPT_LOSSES = 16
"""Greedy seeding keeps the losses of its candidates if they take at most 1/16 of the memory of the
data; otherwise it computes them twice. Chosen by hand."""
PILOT_FIT = Stopping(max_iter=19, tol=1e-3)
"""Iterations and relative tolerance of a pilot fit. Chosen by hand."""
PILOT_STARTS = 3
"""Pilot fits from ordinary seeds, of which the best counts. Chosen by hand."""
PILOT_ROWS, PILOT_ROWS_PER_CLUSTER = 4096, 64
"""Rows of the sample of a pilot fit, and more per cluster. Chosen by hand."""


def pilot_rows(n_clusters: int) -> int:
    """Size of the sample of a pilot fit; it does not depend on the size of the data."""
    return PILOT_ROWS + PILOT_ROWS_PER_CLUSTER * n_clusters


class Pilot(NamedTuple):
    """A short hard fit to a sample, from which "auto" parameters are estimated.

    Attributes
    ----------
    sample : ResidentEngine
        On the sample, for the problem of the fit.
    centers : ndarray of shape (n_clusters, n_features)
    """

    sample: ResidentEngine
    centers: Floats


class Initializer(BaseEstimator, ABC):
    """A method that proposes initial centers.

    A fit works on a copy without fitted state, as made by ``sklearn.base.clone``. It calls
    ``prepare`` once, then ``pilot`` if gamma is "auto", and then ``centers`` once per start. Only
    ``centers`` must be defined.

    Attributes
    ----------
    random : bool, default=True
        Whether another call of ``centers`` may give other centers. If not, there is one start.
    refined : bool, default=False
        Whether the proposed centers come from short fits, so that ``n_init="auto"`` needs fewer
        starts.

    Examples
    --------
    Farthest-first seeding:

    >>> import numpy as np
    >>> from sfumato import FuzzyClustering, Initializer
    >>> class FarthestFirst(Initializer):
    ...     random = False
    ...
    ...     def centers(self, engine, n_clusters, rng):
    ...         rows = engine.coreset(n_clusters, rng)  # All rows, if they are in memory.
    ...         chosen = [0]
    ...         while len(chosen) < n_clusters:
    ...             nearest = rows.distances(rows.take(np.array(chosen))).min(axis=1)
    ...             chosen.append(int(nearest.argmax()))
    ...         return rows.take(np.array(chosen))
    >>> X = np.array([[0.0], [0.2], [0.3], [5.0], [5.1], [5.3]])
    >>> model = FuzzyClustering(2, init=FarthestFirst(), membership="hard").fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    @property
    def random(self) -> bool:
        """Whether another call of ``centers`` may give other centers."""
        return True

    @property
    def refined(self) -> bool:
        """Whether the proposed centers come from short fits, so that few starts suffice."""
        return False

    @property
    def intrinsic(self) -> Any:
        """Intrinsic dimension of the clusters, if ``prepare`` found it."""
        return None

    def stability(self, centers: Floats) -> float | None:
        """Agreement of independent searches, and of a fit with them, 1 if all are the same.

        None if there were no searches.
        """
        return None

    def keeps_clusters(self, problem: Problem) -> bool:
        """Whether a fit of the problem keeps the clusters that ``prepare`` found; True if none."""
        return True

    def prepare(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Problem:
        """Problem of the fit: that of the engine, or with a cutoff that was found for its loss."""
        return engine.problem

    @abstractmethod
    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Initial centers.

        Parameters
        ----------
        engine : Engine
            Passes over the data for the problem of the fit. ``engine.coreset(n_clusters, rng)`` has
            its rows, or weighted rows that represent them if they are not all in memory.
        n_clusters : int
        rng : numpy.random.RandomState

        Returns
        -------
        centers : ndarray of shape (n_clusters, n_features), float64
        """

    def pilot(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Pilot:
        """Best of some short hard fits to a sample."""
        sample, hard = pilot_sample(engine, n_clusters, rng)
        number = PILOT_STARTS if self.random else 1
        starts = [proposed_centers(self, hard, n_clusters, rng) for _ in range(number)]
        return Pilot(sample, best_pilot(hard, starts).centers)


def proposed_centers(
    initializer: Initializer, engine: Engine, n_clusters: int, rng: np.random.RandomState
) -> Floats:
    """Centers from an initializer, which may be a user's, with a checked shape."""
    found = np.asarray(initializer.centers(engine, n_clusters, rng), dtype=np.float64)
    expected = n_clusters, engine.n_features
    if found.shape != expected or not np.isfinite(found).all():
        wrong = "not finite" if found.shape == expected else f"of shape {found.shape}"
        raise ValueError(
            f"{type(initializer).__name__}.centers returned an array that is {wrong}; return "
            f"finite numbers of shape (n_clusters, n_features) = {expected}."
        )
    return found


def pilot_sample(
    engine: Engine, n_clusters: int, rng: np.random.RandomState
) -> tuple[ResidentEngine, ResidentEngine]:
    """Engine on the sample of a pilot fit, and the same for hard memberships."""
    sample = engine.subsample(pilot_rows(n_clusters), rng)
    return sample, sample.with_problem(Problem(engine.problem.loss, Hard()))


def best_pilot(hard: ResidentEngine, starts: Sequence[Floats]) -> Solution:
    """Pilot fit of the lowest objective."""
    fits = [solve(hard, start, PILOT_FIT) for start in starts]
    return min(fits, key=lambda fit: fit.objective)


class KMeansPlusPlus(Initializer):
    """Greedy k-means++, drawing in proportion to the problem's own loss.

    Each new center is the best of ``2 + log(n_clusters)`` rows, drawn in proportion to their losses
    to the nearest center so far: the one that leaves the smallest total [1]_. For the squared loss
    this is scikit-learn's "k-means++"; other losses favor remote rows less.

    References
    ----------
    .. [1] D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
    """

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        rows = engine.coreset(n_clusters, rng)
        first = rows.take(draw(rows.data.weights_or_ones(), rows.order(), 1, rng))
        return greedy_seeds(rows, first, n_clusters, 2 + int(np.log(n_clusters)), rng)


def greedy_seeds(
    engine: ResidentEngine, first: Floats, n_clusters: int, trials: int, rng: np.random.RandomState
) -> Floats:
    """Seeds of greedy k-means++, after a first one; each is the best of ``trials`` drawn rows."""
    weights = engine.data.weights_or_ones()
    order = engine.order()
    seeds = np.empty((n_clusters, engine.n_features))
    seeds[0] = first[0]
    costs = np.full(engine.n_rows, np.inf, dtype=engine.dtype)
    engine.update_costs(costs, seeds[:1])
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


class RandomRows(Initializer):
    """Distinct rows, drawn in proportion to their weights."""

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
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


class GivenCenters(Initializer):
    """Centers given by the user, used as they are."""

    random = False

    def __init__(self, given: Floats) -> None:
        self.given = given

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        return self.given


class CalledCenters(Initializer):
    """Centers from a user's ``init(X, n_clusters, random_state)``, checked on return."""

    def __init__(
        self, function: Callable[..., Any], X: Any, check: Callable[[Any], Floats]
    ) -> None:
        self.function = function
        self.X = X
        self.check = check

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        return self.check(self.function(self.X, n_clusters, random_state=rng))
