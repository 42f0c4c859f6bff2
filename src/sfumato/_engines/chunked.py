"""The engine for data in pieces: in files, or on other machines.

It asks a runner for passes over all pieces and for their sum, and never for rows; the few that
seeding needs are drawn. Where the pieces are and who adds is the runner's business alone:
``stream.py`` reads them one after the other, ``dask.py`` leaves them where they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import Data
from sfumato._engines.base import Assignment, Engine, Labels, Memberships, Output, ResidentEngine
from sfumato._engines.passes import (
    CoresetSample,
    Cost,
    DrawCoreset,
    DrawSample,
    EngineSpec,
    FindWorstRows,
    Map,
    Pass,
    Sweep,
    Take,
    WorstRows,
)
from sfumato._problem import Problem, Statistics
from sfumato._sampling import PrioritySample, fixed_draw
from sfumato._typing import Floats
from sfumato.memberships import Hard

LEAST_SAMPLE, SAMPLE_BYTES = 1 << 14, 1 << 26
"""Rows that are drawn together, so that one pass serves several askers; fewer if they are long."""
OVERSAMPLED = 2
"""Rows drawn per cluster in a round of oversampling."""
ROUNDS = 2
CORESET_ROWS, CORESET_ROWS_PER_CLUSTER, CORESET_BYTES = 1 << 14, 256, 1 << 27
"""Rows that stand for all others where starts are compared."""


class Runner(ABC):
    """Whoever has the pieces.

    Attributes
    ----------
    names : tuple of str or None
        Names of the features, where the data has them.
    n_features : int
    n_rows : int or None
        Number of rows; None where that takes a pass to find out.
    dtype : dtype
        Type of the rows, as far as it is known without a pass.
    """

    names: tuple[str, ...] | None
    n_features: int
    n_rows: int | None
    dtype: np.dtype[Any]

    @abstractmethod
    def reduce(self, function: Pass) -> Any:
        """Sum over all pieces of what the function yields, added in a fixed order."""

    @abstractmethod
    def map(self, function: Map) -> Any:
        """What the function says of each row, lazily, in pieces like the data."""

    @abstractmethod
    def threads(self, wanted: int | None) -> int:
        """Threads per piece, where the user wants so many or does not say."""

    @abstractmethod
    def where(self, number: int, row: int, column: int | None = None) -> str:
        """Words for a place in a piece, after a pass."""


@dataclass(frozen=True)
class ChunkedData:
    """What is known of data in pieces.

    Attributes
    ----------
    runner : Runner
    dtype, origin
        As in :class:`Data`.
    positives : ndarray of shape (n_pieces + 1,)
        Rows of positive weight before each piece, and in all.
    n_rows : int
        Zero for new data, whose rows nobody has counted.
    is_sparse : bool
    distinct : int
        Different rows of positive weight that were seen, if enough of them were looked for.
    checksum : int or None
        Number that tells this data from other data, if it was asked for.
    """

    runner: Runner
    dtype: np.dtype[np.floating]
    origin: Floats
    positives: NDArray[np.integer]
    n_rows: int
    is_sparse: bool
    distinct: int = 0
    checksum: int | None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.origin)


class ChunkedEngine(Engine):
    """Passes over pieces of data, for some problem.

    Parameters
    ----------
    data : ChunkedData
    problem : Problem
    n_threads : int
        Threads per piece.
    inner : type of ResidentEngine
        Who passes over a piece.
    """

    def __init__(
        self, data: ChunkedData, problem: Problem, n_threads: int, inner: type[ResidentEngine]
    ) -> None:
        self.data = data
        self.problem = problem
        self.n_threads = n_threads
        self.inner = inner
        self._drawn: list[PrioritySample] = []  # Shared by engines on the same data.
        self._coreset: list[ResidentEngine] = []

    @property
    def spec(self) -> EngineSpec:
        """How pieces are computed with."""
        return EngineSpec(self.inner, self.problem, self.dtype, self.origin, self.n_threads)

    def sweep(self, centers: Floats) -> Statistics:
        """One pass: statistics at the given centers."""
        statistics: Statistics | None = self.data.runner.reduce(Sweep(self.spec, centers))
        if statistics is None:
            raise ValueError("X holds no rows; give at least one.")
        return statistics

    def assign(
        self, centers: Floats, *, distances: bool = False, memberships: bool = True
    ) -> Assignment:
        """Labels of all rows, and memberships if wanted, lazily; the objective takes a pass."""
        assert not distances, "nobody asks for these of all rows"
        return Assignment(
            self.map(Labels(centers)),
            None,
            self.map(Memberships(centers)) if memberships else None,
            self.sweep(centers).objective,
        )

    def map(self, output: Output) -> Any:
        """What the output says of every row, lazily."""
        return self.data.runner.map(Map(self.spec, output))

    def worst_fitted_rows(self, centers: Floats, count: int) -> Floats:
        """Rows that most need a center beside the given ones, at most so many."""
        chosen = np.empty((0, self.n_features))
        while len(chosen) < count:
            present = np.concatenate([centers, chosen])
            found: WorstRows = self.data.runner.reduce(FindWorstRows(self.spec, present))
            if not found.need > 0:
                break  # Every row lies on a center already.
            best = 0
            if len(found.rows) > 1:
                totals = self.data.runner.reduce(Cost(self.spec, present, found.rows))
                best = int(np.argmin(totals.value))
            chosen = np.concatenate([chosen, found.rows[[best]]])
        return chosen

    def subsample(self, max_rows: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on at most ``max_rows`` rows of positive weight.

        Where there are more, they are drawn in proportion to their weights, and a row heavier than
        what the others stand for keeps its weight.
        """
        if not self._drawn or not self._suffices(self._drawn[-1], max_rows):
            fitting = SAMPLE_BYTES // (8 * self.n_features)
            count = max(max_rows, min(LEAST_SAMPLE, fitting))
            self._drawn[:] = [self._draw(count, rng)]
        return self._resident(self._drawn[-1].fewer(max_rows))

    def _suffices(self, drawn: PrioritySample, max_rows: int) -> bool:
        return drawn.count >= max_rows or len(drawn.priorities) <= drawn.count

    def _draw(self, count: int, rng: np.random.RandomState, *judged: Any) -> PrioritySample:
        """One pass that draws rows; where all come, nothing is random, as with rows at hand."""
        seed = int(rng.randint(2**31)) if count < self.data.positives[-1] else 0
        drawn: PrioritySample = self.data.runner.reduce(DrawSample(self.spec, count, seed, *judged))
        return drawn

    def _resident(self, drawn: PrioritySample) -> ResidentEngine:
        rows, weights = drawn.weighted_rows()
        data = Data(rows, weights, self.dtype, self.origin)
        return self.inner(data, self.problem, self.n_threads)

    def fixed_sample(self, size: int) -> ResidentEngine:
        """Rows of positive weight drawn at random, the same ones each time; all, if few."""
        count = int(self.data.positives[-1])
        wanted = np.arange(count) if count <= size else fixed_draw(count, size)
        taken = self.data.runner.reduce(Take(self.spec, wanted, self.data.positives))
        weights = None
        if any(w is not None for w in taken.weights):
            pairs = zip(taken.weights, taken.rows, strict=True)
            weights = np.concatenate([np.ones(r.shape[0]) if w is None else w for w, r in pairs])
        stack: Any = sp.vstack if self.data.is_sparse else np.concatenate
        rows = stack(taken.rows)
        if self.data.is_sparse:
            rows = sp.csr_array(rows)
        return self.inner(
            Data(rows, weights, self.dtype, self.origin), self.problem, self.n_threads
        )

    def coreset(self, n_clusters: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on some weighted rows that stand for all; found once, in a few passes.

        Oversampling as in k-means|| [1]_, by the problem's own loss: from a few rows, each round
        draws some in proportion to what they cost beside those drawn before, so that clusters of
        few rows are found too. Then rows are drawn by their share in all rows and in the cost, and
        weighted by what they stand for [2]_: enough of them for seeds to be chosen, and starts to
        be compared, as on all rows.

        References
        ----------
        .. [1] B. Bahmani et al., "Scalable k-means++", VLDB 2012.
        .. [2] O. Bachem, M. Lucic, A. Krause, "Scalable k-means clustering via lightweight
           coresets", KDD 2018.
        """
        if not self._coreset:
            few = self.subsample(n_clusters, rng)
            anchors, average = few.take(np.arange(few.n_rows)), 0.0
            for _ in range(ROUNDS):
                drawn = self._draw(OVERSAMPLED * n_clusters, rng, anchors)
                if not len(drawn.priorities):
                    break  # Every row lies on an anchor.
                # Per unit of weight, of which there is about as much as the first draw says.
                average = drawn.total() / self._drawn[-1].total()
                engine = self._resident(drawn)
                anchors = np.concatenate([anchors, engine.take(np.arange(engine.n_rows))])
            fitting = max(8 * n_clusters, CORESET_BYTES // (8 * self.n_features))
            count = min(CORESET_ROWS + CORESET_ROWS_PER_CLUSTER * n_clusters, fitting)
            self._coreset.append(self._weighted_coreset(count, anchors, average, rng))
        return self._coreset[0].with_problem(self.problem)

    def _weighted_coreset(
        self, count: int, anchors: Floats, average: float, rng: np.random.RandomState
    ) -> ResidentEngine:
        """Return an engine on rows that stand for all.

        Where none was drawn from the surroundings of an anchor, it stands for these itself: so no
        cluster that an anchor was found in is lost, however small.
        """
        if not average > 0:
            return self._resident(self._draw(count, rng))
        hard = self.with_problem(Problem(self.problem.loss, Hard()))
        draw = DrawSample(hard.spec, count, int(rng.randint(2**31)), anchors, average)
        found: CoresetSample = self.data.runner.reduce(DrawCoreset(draw))
        drawn = self._resident(found.drawn)
        nearest = drawn.with_problem(hard.problem).assign(anchors, memberships=False).labels
        alone = np.setdiff1d(np.flatnonzero(found.masses > 0), nearest)
        if not len(alone):
            return drawn
        more: Any = anchors[alone].astype(self.dtype)
        rows: Any = np.concatenate([drawn.data.rows, more])
        if self.data.is_sparse:
            rows = sp.csr_array(sp.vstack([drawn.data.rows, sp.csr_array(more)]))
        weights = np.concatenate([drawn.data.weights_or_ones(), found.masses[alone]])
        return self.inner(
            Data(rows, weights, self.dtype, self.origin), self.problem, self.n_threads
        )

    def with_problem(self, problem: Problem) -> ChunkedEngine:
        """Return the engine for another problem on the same data."""
        engine = ChunkedEngine(self.data, problem, self.n_threads, self.inner)
        engine._drawn = self._drawn
        engine._coreset = self._coreset
        return engine
