"""Seeds that outliers do not attract."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.base import Engine, ResidentEngine
from sfumato.problem.checks import is_auto
from sfumato.solve.caps import FIRST_FITS, automatic_cap
from sfumato.solve.short_fits import Repeated, best_fit, capped_fit

Floats = NDArray[np.floating]

CLEARLY_WORSE = 0.005
"""Relative excess of an objective that is not a matter of taste."""
ENOUGH_REPEATS = 2
"""Fits that came to the centers of another one, after which there is nothing more to find."""


def sample_rows(n_clusters: int) -> int:
    """Size of the sample: it grows with the clusters, never with the data."""
    return 2048 + 32 * n_clusters


class RobustSeeds:
    """Seeds that outliers do not attract, whatever the loss.

    Each is the best of 20 rows, drawn in proportion to their distance to the nearest seed but no
    more than a cap, and chosen by how much it lowers the capped total: an outlier lowers it by
    itself alone. A few capped hard iterations then move the seeds from rows into the clusters. All
    this sees one sample of bounded size. The cap is that of the problem's loss, or is found there.

    Seeds that are clearly worse than the best so far are replaced by these: once memberships are
    soft, two centers in a large cluster can cost less than one in it and one in a small cluster.
    Where three fits out of independent draws have come to the same centers, no more are made.
    """

    careful = True

    def __init__(self) -> None:
        self._sample: ResidentEngine | None = None
        self._cap: float | None = None
        self._best: Repeated | None = None
        self._begun = False

    @property
    def random(self) -> bool:
        """Whether another call may give other centers: until fits agree."""
        return self._best is None or self._best.repeats < ENOUGH_REPEATS

    def centers(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Floats:
        """Centers of a short fit to the sample; the first time, of the one that set the cap."""
        best = self.best(engine, n_clusters, rng)
        if not self._begun or not self.random:
            self._begun = True
            return best.fit.centers
        sample, cap = self._sampled(engine, n_clusters, rng), self.cap(engine, n_clusters, rng)
        found = capped_fit(sample, cap, n_clusters, rng)
        self._best = best.beside(found, sample)
        alike = found.objective <= (1 + CLEARLY_WORSE) * self._best.fit.objective
        return (found if alike else self._best.fit).centers

    def best(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> Repeated:
        """Best fit so far; at first, of those that set the cap."""
        cap = self.cap(engine, n_clusters, rng)
        if self._best is None:
            sample = self._sampled(engine, n_clusters, rng)
            self._best = best_fit(sample, cap, n_clusters, rng, FIRST_FITS)
        return self._best

    def cap(self, engine: Engine, n_clusters: int, rng: np.random.RandomState) -> float:
        """The cap of the problem's loss, or one that is found and remembered."""
        if self._cap is None:
            given = getattr(engine.problem.loss, "cap", "auto")
            if is_auto(given):
                sample = self._sampled(engine, n_clusters, rng)
                found = automatic_cap(sample, n_clusters, rng)
                self._cap = np.inf if found is None else found.cap
                self._best = None if found is None else found.best
            else:
                self._cap = float(given)
        return self._cap

    def _sampled(
        self, engine: Engine, n_clusters: int, rng: np.random.RandomState
    ) -> ResidentEngine:
        if self._sample is None:
            self._sample = engine.sampled(sample_rows(n_clusters), rng)
        return self._sample
