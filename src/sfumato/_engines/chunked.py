"""The engine for data in chunks: in files, or on other machines.

It computes only with sums over chunks, and with samples that are drawn chunk by chunk. A runner
executes the passes: ``stream.py`` reads one chunk after the other, ``dask.py`` sends the passes to
the chunks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import Data
from sfumato._engines.base import Engine, Output, ResidentEngine
from sfumato._engines.outputs import Labels, Memberships
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
    WeightedSum,
    WorstRows,
)
from sfumato._problem import Assignment, Problem, Statistics
from sfumato._sampling import PrioritySample, fixed_draw
from sfumato._typing import Floats
from sfumato.memberships import Hard

LEAST_SAMPLE, SAMPLE_BYTES = 1 << 14, 1 << 26
"""Rows of the first sample, and its bytes as float64 if rows are long. It is larger than the sample
of the pilot fit (4096 + 64 per cluster) for up to 192 clusters, so that one pass serves several
subsamples. Chosen by hand; a larger sample costs memory, a smaller one further passes."""
OVERSAMPLED = 2
"""Rows drawn per cluster in a round of k-means||: the factor that Bahmani et al. recommend."""
ROUNDS = 2
"""Rounds of k-means||, each a pass over the data. Chosen by hand. Bahmani et al. use 5; here a
larger draw by cost follows, the coreset."""
CORESET_ROWS, CORESET_ROWS_PER_CLUSTER, CORESET_BYTES = 1 << 14, 256, 1 << 27
"""Size of a coreset: rows, more rows for each cluster, and a limit in bytes as float64. Chosen by
hand; memory and the time of comparing starts grow with it, not with the data."""


class Runner(ABC):
    """Executes passes over the chunks of some data.

    Attributes
    ----------
    names : tuple of str or None
        Names of the features, if the data has them.
    n_features : int
    n_rows : int or None
        Number of rows; None if it is not known before a pass.
    dtype : dtype
        Type of the rows of the first chunk.
    """

    names: tuple[str, ...] | None
    n_features: int
    n_rows: int | None
    dtype: np.dtype[Any]

    @abstractmethod
    def reduce(self, function: Pass) -> Any:
        """Sum of the results of all chunks, added in a fixed order; None if there are no rows."""

    @abstractmethod
    def map(self, function: Map) -> Any:
        """Lazy array of the values for each row, in chunks like the data."""

    @abstractmethod
    def threads(self, wanted: int | None) -> int:
        """Threads per chunk: the number that the user gave, or the default for None."""

    @abstractmethod
    def where(self, number: int, row: int, column: int | None = None) -> str:
        """Description of a place in a chunk of the last pass, for messages."""


@dataclass(frozen=True)
class ChunkedData:
    """Data in chunks, and the results of their inspection.

    Attributes
    ----------
    runner : Runner
    dtype, origin
        As in :class:`Data`.
    positives : ndarray of shape (n_chunks + 1,)
        Rows of positive weight before each chunk, and in all.
    n_rows : int
        Zero for new data that was not inspected.
    is_sparse : bool
    distinct : int
        Distinct rows of positive weight, counted up to the number of clusters.
    checksum : int or None
        Checksum of all chunks, if a checkpoint uses it.
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
    """Passes over data in chunks, for some problem.

    Parameters
    ----------
    data : ChunkedData
    problem : Problem
    n_threads : int
        Threads per chunk.
    inner : type of ResidentEngine
        Engine for each chunk.
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
        self._fixed: dict[int, ResidentEngine] = {}

    @property
    def spec(self) -> EngineSpec:
        """What engines on chunks are made of."""
        return EngineSpec(self.inner, self.problem, self.dtype, self.origin, self.n_threads)

    def sweep(self, centers: Floats) -> Statistics:
        statistics: Statistics | None = self.data.runner.reduce(Sweep(self.spec, centers))
        if statistics is None:
            raise ValueError("X holds no rows; give at least one.")
        return statistics

    def assign(
        self, centers: Floats, *, distances: bool = False, memberships: bool = True
    ) -> Assignment:
        """Lazy labels and memberships of all rows; the objective takes a pass."""
        assert not distances, "use map(Distances(centers))"
        return Assignment(
            self.map(Labels(centers)),
            None,
            self.map(Memberships(centers)) if memberships else None,
            self.sweep(centers).objective,
        )

    def map(self, output: Output) -> Any:
        """Lazy array of the output for all rows."""
        return self.data.runner.map(Map(self.spec, output))

    def mean(self, output: Output) -> float:
        sums = self.data.runner.reduce(WeightedSum(self.spec, output)).value
        return float(sums[0] / sums[1])

    def worst_fitted_rows(self, centers: Floats, count: int) -> Floats:
        chosen = np.empty((0, self.n_features))
        while len(chosen) < count:
            present = np.concatenate([centers, chosen])
            found: WorstRows = self.data.runner.reduce(FindWorstRows(self.spec, present))
            if not found.loss > 0:
                break  # Every row lies on a center already.
            best = 0
            if len(found.rows) > 1:
                totals = self.data.runner.reduce(Cost(self.spec, present, found.rows))
                best = int(np.argmin(totals.value))
            chosen = np.concatenate([chosen, found.rows[[best]]])
        return chosen

    def subsample(self, max_rows: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on at most ``max_rows`` rows of positive weight.

        If there are more, they are a priority sample by weight: equal weights, except of rows
        heavier than the threshold, which keep theirs.
        """
        if not self._drawn or not self._suffices(self._drawn[-1], max_rows):
            most = SAMPLE_BYTES // (8 * self.n_features)
            count = max(max_rows, min(LEAST_SAMPLE, most))
            self._drawn[:] = [self._draw(count, rng)]
        return self._resident(*self._drawn[-1].fewer(max_rows).weighted_rows())

    def _suffices(self, drawn: PrioritySample, max_rows: int) -> bool:
        return drawn.count >= max_rows or len(drawn.priorities) <= drawn.count

    def _draw(
        self, count: int, rng: np.random.RandomState, anchors: Floats | None = None
    ) -> PrioritySample:
        """One pass that draws rows; ``rng`` is used only if there are more than ``count``."""
        seed = int(rng.randint(2**31)) if count < self.data.positives[-1] else 0
        drawn: PrioritySample = self.data.runner.reduce(DrawSample(self.spec, count, seed, anchors))
        return drawn

    def _resident(self, rows: Any, weights: Floats | None) -> ResidentEngine:
        """Engine on rows in memory."""
        data = Data(rows, weights, self.dtype, self.origin)
        return self.inner(data, self.problem, self.n_threads)

    def fixed_sample(self, size: int) -> ResidentEngine:
        """Return an engine on about ``size`` rows, which one pass takes at the first call."""
        if size not in self._fixed:
            self._fixed[size] = self._taken(size)
        return self._fixed[size].with_problem(self.problem)

    def _taken(self, size: int) -> ResidentEngine:
        """Engine on the rows of the fixed sample."""
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
        return self._resident(rows, weights)

    def coreset(self, n_clusters: int, rng: np.random.RandomState) -> ResidentEngine:
        """Return an engine on a weighted coreset, drawn once, in ``ROUNDS`` + 2 passes.

        Anchors are found by oversampling as in k-means|| [1]_, with the loss of the problem: from a
        few rows, each round draws some in proportion to their loss to those drawn before, so that
        small clusters are found too. Then rows are drawn by their share in the weight and in the
        cost, and get weights that make sums over them unbiased [2]_. Seeds are chosen and starts
        compared on the coreset as on all rows.

        References
        ----------
        .. [1] B. Bahmani et al., "Scalable k-means++", VLDB 2012.
        .. [2] O. Bachem, M. Lucic, A. Krause, "Scalable k-means clustering via lightweight
           coresets", KDD 2018.
        """
        if not self._coreset:
            first = self.subsample(n_clusters, rng)
            anchors, average = first.take(np.arange(first.n_rows)), 0.0
            for _ in range(ROUNDS):
                drawn = self._draw(OVERSAMPLED * n_clusters, rng, anchors)
                if not len(drawn.priorities):
                    break  # Every row lies on an anchor.
                # Cost per unit of weight; the first sample estimates the total weight.
                average = drawn.total() / self._drawn[-1].total()
                engine = self._resident(*drawn.weighted_rows())
                anchors = np.concatenate([anchors, engine.take(np.arange(engine.n_rows))])
            most = max(8 * n_clusters, CORESET_BYTES // (8 * self.n_features))
            count = min(CORESET_ROWS + CORESET_ROWS_PER_CLUSTER * n_clusters, most)
            self._coreset.append(self._weighted_coreset(count, anchors, average, rng))
        return self._coreset[0].with_problem(self.problem)

    def _weighted_coreset(
        self, count: int, anchors: Floats, average: float, rng: np.random.RandomState
    ) -> ResidentEngine:
        """Return an engine on a coreset of about ``count`` rows.

        An anchor to which no drawn row is nearest joins the coreset itself, with the weight of the
        rows nearest to it: so no cluster that an anchor was found in is lost, however small.
        """
        if not average > 0:
            return self._resident(*self._draw(count, rng).weighted_rows())
        hard = self.with_problem(Problem(self.problem.loss, Hard()))
        draw = DrawSample(hard.spec, count, int(rng.randint(2**31)), anchors, average)
        found: CoresetSample = self.data.runner.reduce(DrawCoreset(draw))
        drawn = self._resident(*found.drawn.weighted_rows())
        nearest = drawn.with_problem(hard.problem).assign(anchors, memberships=False).labels
        alone = np.setdiff1d(np.flatnonzero(found.masses > 0), nearest)
        if not len(alone):
            return drawn
        more: Any = anchors[alone].astype(self.dtype)
        rows: Any
        if self.data.is_sparse:
            rows = sp.csr_array(sp.vstack([drawn.data.rows, sp.csr_array(more)]))
        else:
            rows = np.concatenate([drawn.data.rows, more])
        weights = np.concatenate([drawn.data.weights_or_ones(), found.masses[alone]])
        return self._resident(rows, weights)

    def with_problem(self, problem: Problem) -> ChunkedEngine:
        engine = ChunkedEngine(self.data, problem, self.n_threads, self.inner)
        engine._drawn = self._drawn
        engine._coreset = self._coreset
        engine._fixed = self._fixed
        return engine
