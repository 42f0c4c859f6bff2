"""The path: components for every number of them, each found from its neighbors.

1. Their number doubles until the criterion has clearly fallen; then two at a time are merged, down
   to one.
2. From the best number, some are added and as many merged, as long as the criterion rises: so
   nothing hangs on the first components. Components around others, and faint ones, are tried as
   outliers.
3. From there on down, components may be longer along one axis.
4. From there on down, they have lighter tails, or heavier ones (Student-t distributions): rows in
   heavy tails are no clusters.

For every number, the best components that were met are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from sfumato._selection.components import (
    FAINT,
    Components,
    Expectation,
    bic,
    contrast,
    expect,
    fit,
    outliers_with,
    penalty,
    surrounding,
)
from sfumato._selection.proposals import add_dense, divide, one_less
from sfumato._selection.rows import Rows

ROWS_PER_COMPONENT = 4
"""Rows per component at least. Chosen by hand."""
MAX_STALLS = 3
"""Times that the number of components is doubled without a gain. Chosen by hand: many small
clusters in many columns are a gain only all together."""
CLEAR_FALL = 0.5
"""Share of what additional components cost by which the criterion has clearly fallen. Chosen by
hand: what they gain by chance is less than half."""
MAX_FAILURES = 3
"""Trials of more components without a gain. Chosen by hand."""
MAX_TRIALS = 30
"""Trials at most. Chosen by hand."""
CLEAR_GAIN = 0.5
"""Rise of the criterion that is a gain: half a unit of log-likelihood. Chosen by hand."""
GROW, POLISH, SHRINK, LISTED = 15, 30, 3, 1
"""Iterations of EM after more components are tried, after trials, after two were merged, and where
numbers are only to be listed. Chosen by hand."""
FAMILY_FALL = 5.0
"""Costs of a component by which the criterion may fall, while components of another kind become
fewer. Chosen by hand."""
SHAPES = (10.0, 3.0)
"""Degrees of freedom of Student-t distributions that are tried. Chosen by hand: from light tails to
heavy ones."""
POWERS = (2.0, 4.0)
"""Powers of the squared distance of components with light tails that are tried. Chosen by hand: the
larger, the nearer to a ball of equal density."""

Progress = Callable[[int, int], None]
"""Called with a number of components, and the largest of the path so far."""
_PROGRESS: ContextVar[Progress | None] = ContextVar("progress of a path", default=None)


@contextmanager
def reported_to(progress: Progress) -> Iterator[None]:
    """Context in which the paths of this thread report their progress."""
    token = _PROGRESS.set(progress)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


class Path:
    """Best components that were met, by their number.

    Parameters
    ----------
    rows : Rows
    rng : numpy.random.RandomState
    most : int
        Components at most.

    Attributes
    ----------
    found : dict of int to Components
    scores : dict of int to float
        Criterion of each number.
    """

    def __init__(self, rows: Rows, rng: np.random.RandomState, most: int) -> None:
        self.rows, self.rng = rows, rng
        enough = min(len(rows.values), int(rows.total) // ROWS_PER_COMPONENT)
        self.most = max(1, min(most, enough))
        self.found: dict[int, Components] = {}
        self.scores: dict[int, float] = {}

    @property
    def best(self) -> int:
        """Number of components with the highest criterion."""
        return max(self.scores, key=lambda count: (self.scores[count], -count))

    def walk(self, least: int = 1) -> Path:
        """Find components for all numbers, up to ``least`` at least."""
        self._keep(fit(self.rows, Components.none(self.rows), POLISH))
        self._double(least)
        self._improve()
        self._lengthen()
        self._light_tails()
        self._heavy_tails()
        return self

    def seen(self, count: int) -> Expectation:
        """Rows under the components of a number."""
        return expect(self.rows, self.found[count])

    def _keep(self, seen: Expectation) -> Expectation:
        """Keep components if they are the best of their number."""
        count, score = seen.components.size, bic(self.rows, seen)
        if score > self.scores.get(count, -np.inf):
            self.found[count], self.scores[count] = seen.components, score
        progress = _PROGRESS.get()
        if progress is not None:
            progress(count, max(self.found))
        return seen

    def _double(self, least: int) -> None:
        """Twice as many components until the criterion has clearly fallen, then fewer."""
        seen, stalls, added = self.seen(0), 0, 1
        while added > 0 and stalls < MAX_STALLS:
            best, before, count = self.best, seen, seen.components.size
            seen = self._keep(self._more(seen, max(1, count), GROW))
            added = seen.components.size - count
            stalls = stalls + 1 if self.best == best else 0
            if self._has_turned(before, seen):
                stalls = MAX_STALLS
        self._shrink(seen, 1)
        if seen.components.size < least:
            self._list(seen, least)

    def _list(self, seen: Expectation, most: int) -> None:
        """Find components, in short, for numbers beyond the turn that are only to be listed."""
        first = seen.components.size
        more = self._keep(self._more(seen, most - first, SHRINK))
        while more.components.size > first + 1:
            more = self._keep(fit(self.rows, one_less(self.rows, more), LISTED))

    def _has_turned(self, before: Expectation, seen: Expectation) -> bool:
        """Whether the criterion has clearly fallen with the number of components."""
        fallen = bic(self.rows, before) - bic(self.rows, seen)
        cost = penalty(self.rows, seen) - penalty(self.rows, before)
        return fallen > CLEAR_FALL * cost > 0

    def _more(self, seen: Expectation, count: int, iterations: int) -> Expectation:
        """More components: half of them are divided, the others put where rows are dense."""
        count = min(count, self.most - seen.components.size)
        if count < 1:
            return seen
        divided = min(count // 2, seen.components.size)
        if divided:
            seen = expect(self.rows, divide(self.rows, seen, divided))
        return fit(self.rows, add_dense(self.rows, seen, count - divided, self.rng), iterations)

    def _shrink(self, seen: Expectation, least: int, most_fall: float = np.inf) -> None:
        """One component less at a time, down to ``least``, or until the criterion has fallen.

        It has if it is below its highest value on the way by more than ``most_fall`` components
        cost.
        """
        highest = bic(self.rows, seen)
        while seen.components.size > least:
            cost = penalty(self.rows, seen) / seen.components.size
            seen = self._keep(fit(self.rows, one_less(self.rows, seen), SHRINK))
            score = bic(self.rows, seen)
            if score < highest - most_fall * cost:
                break
            highest = max(highest, score)

    def _improve(self) -> None:
        """Add components to the best ones and merge as many, as long as the criterion rises."""
        failures = 0
        for _ in range(MAX_TRIALS):
            best, before = self.best, self.scores[self.best]
            share = 0.25 if failures else 0.5
            count = max(1, int(np.ceil(share * best)))
            if failures == MAX_FAILURES or best >= self.most:
                break
            self._without_outliers(best)
            self._hollow(self.best)
            seen = self._keep(self._more(self.seen(best), count, POLISH))
            self._shrink(seen, max(1, best - 1))
            failures = 0 if self.scores[self.best] > before + CLEAR_GAIN else failures + 1

    def _without_outliers(self, count: int) -> None:
        """Leave faint components, and those around others, to the outliers.

        By EM alone, a Cauchy law that is too narrow widens only slowly.
        """
        seen = self.seen(count)
        around = surrounding(seen.components) | (contrast(seen) < FAINT)
        if around.any():
            outliers = outliers_with(self.rows, seen, around)
            fewer = seen.components._replace(outliers=outliers).only(~around)
            self._keep(fit(self.rows, fewer, POLISH))

    def _hollow(self, count: int) -> None:
        """Let Cauchy outliers be rarer near the components, if that is likelier."""
        seen = self.seen(count)
        outliers, certain = seen.components.outliers, seen.posteriors[:, -1] / self.rows.weights
        others = seen.log_density + np.log1p(-np.minimum(certain, 1 - 1e-12))
        holes = outliers.holes.around(seen.components.centers, seen.components.widths)
        found = outliers.with_holes(self.rows, others, holes)
        if found is not None:
            self._keep(fit(self.rows, seen.components._replace(outliers=found), POLISH))

    def _lengthen(self) -> None:
        """The same with long components, from the best ones down: one for several round ones."""
        if self.rows.n_columns > 1 and self.best > 0:
            best = self.found[self.best]
            seen = fit(self.rows, best._replace(axes=np.zeros_like(best.centers)), POLISH)
            self._shrink(self._keep(seen), 1, FAMILY_FALL)
            if self.found[self.best].axes is not None:
                self._improve()

    def _light_tails(self) -> None:
        """The same with lighter tails, as those of uniform clusters."""
        best = self.found[self.best]
        for power in POWERS:
            seen = self._keep(fit(self.rows, best._replace(power=power), POLISH))
            self._shrink(seen, 1, FAMILY_FALL)

    def _heavy_tails(self) -> None:
        """The same with Student-t distributions, from the best components down."""
        best = self.found[self.best]
        if best.power != 1:
            return
        for shape in SHAPES:
            seen = self._keep(fit(self.rows, best._replace(shape=shape), POLISH))
            if bic(self.rows, seen) > self.scores[self.best] - CLEAR_GAIN or shape == SHAPES[-1]:
                self._shrink(seen, 1, FAMILY_FALL)
