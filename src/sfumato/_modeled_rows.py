"""Rows with what a fitted model says about each, and passes over them: for plots and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._data import Chunk, row_blocks
from sfumato._engines.base import Engine, Output, evaluate
from sfumato._engines.chunked import ChunkedEngine
from sfumato._engines.outputs import OUTLIER
from sfumato._engines.passes import EngineSpec, Pass
from sfumato._sampling import fixed_rows
from sfumato._typing import Floats
from sfumato.estimators._predictions import Predictions
from sfumato.exceptions import ParameterTypeError, shown

SAMPLE_ROWS = 5000
"""Rows of a sample: as many as a page can draw and a reader can see. Chosen by hand."""
SEED = 0
"""Seed of the draw: the same rows in every call."""


@dataclass(frozen=True)
class ModeledRows:
    """Rows, and what a model says about each.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features), or csr_array
    numbers : ndarray of shape (n_rows,)
        Places of the rows in the data, in increasing order.
    labels : ndarray of shape (n_rows,)
        Nearest cluster, also of outliers.
    memberships : csr_array of shape (n_rows, n_clusters)
    scores : ndarray of shape (n_rows,)
        Outlier scores.
    ids : ndarray of shape (n_rows,), optional
        Identifiers of the rows, if the data has any.
    """

    rows: Any
    numbers: NDArray[np.int64]
    labels: NDArray[np.integer]
    memberships: sp.csr_array
    scores: Floats
    ids: NDArray[np.object_] | None = None

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """Whether each row is an outlier."""
        return self.scores > OUTLIER

    @property
    def largest(self) -> Floats:
        """Largest membership of each row; 0 for a row without any."""
        return largest_memberships(self.memberships)

    def dense(self) -> Floats:
        """The rows as a dense float64 array."""
        rows = self.rows.toarray() if sp.issparse(self.rows) else self.rows
        return np.asarray(rows, dtype=np.float64)


def largest_memberships(memberships: Any) -> Floats:
    """Largest membership of each row of a csr_array; 0 for a row without any."""
    found = np.zeros(memberships.shape[0])
    filled = np.flatnonzero(np.diff(memberships.indptr))
    if len(filled):
        found[filled] = np.maximum.reduceat(memberships.data, memberships.indptr[filled])
    return found


@dataclass(frozen=True)
class Modeler:
    """What a model says about the rows of a chunk; it can be pickled, without results of a fit."""

    spec: EngineSpec
    outputs: tuple[Output, ...]

    @classmethod
    def of(cls, model: Any, engine: Engine) -> Modeler:
        """That of a fitted model."""
        if isinstance(engine, ChunkedEngine):
            spec = engine.spec
        else:
            kind: Any = type(engine)
            spec = EngineSpec(kind, engine.problem, engine.dtype, engine.origin, engine.n_threads)
        outputs = model._labels_output(False), model._memberships_output(), model._scores_output()
        return cls(spec, outputs)

    def __call__(
        self, rows: Any, numbers: NDArray[np.int64], ids: NDArray[np.object_] | None = None
    ) -> ModeledRows:
        """Rows in memory, with what the model says."""
        labels, memberships, scores = evaluate(list(self.outputs), self.spec.on(Chunk(rows, None)))
        memberships, scores = memberships.astype(np.float64), scores.astype(np.float64)
        return ModeledRows(rows, numbers, labels, memberships, scores, ids)


def engine_of(model: Any, X: Any) -> Engine:
    """Engine of a fitted model on some rows; raises unless the model has memberships."""
    if not isinstance(model, Predictions):
        raise ParameterTypeError(
            f"model={shown(model)} has no memberships; give a fitted estimator of sfumato that "
            "has, such as CappedREFCMFS.",
            "model",
            model,
        )
    return model._engine_for(X)


def reduced(engine: Engine, function: Pass) -> Any:
    """Sum of the results of a pass over all rows of an engine, in memory or in chunks."""
    if isinstance(engine, ChunkedEngine):
        found = engine.data.runner.reduce(function)
        if found is None:
            raise ValueError("X holds no rows; give at least one.")
        return found
    rows: Any = engine.data.rows
    total = None
    for number, block in enumerate(row_blocks(*rows.shape)):
        value = function(Chunk(rows[block], None, number=number))
        total = value if total is None else total + value
    return total


def sample_of(model: Any, X: Any, size: int = SAMPLE_ROWS) -> ModeledRows:
    """At most ``size`` rows of some data, the same ones in every call, as a fitted model sees them.

    Of a stream or a dask collection, one pass draws them.
    """
    engine = engine_of(model, X)
    modeler = Modeler.of(model, engine)
    if isinstance(engine, ChunkedEngine):
        drawn: DrawnRows = reduced(engine, DrawRows(size, SEED))
        return modeler(*drawn.in_order())
    rows: Any = engine.data.rows
    index = fixed_rows(rows.shape[0], size, SEED)
    return modeler(rows if len(index) == rows.shape[0] else rows[index], index)


@dataclass(frozen=True)
class DrawnRows:
    """Rows of least priority, with their places. Draws add up."""

    count: int
    rows: Any
    places: NDArray[np.int64]
    """Number of the chunk and place in it, of each row."""
    priorities: Floats
    sizes: dict[int, int]
    """Rows of each chunk."""
    ids: NDArray[np.object_] | None

    def __add__(self, other: DrawnRows) -> DrawnRows:
        stack: Any = sp.vstack if sp.issparse(self.rows) else np.concatenate
        rows = stack([self.rows, other.rows])
        places = np.concatenate([self.places, other.places])
        priorities = np.concatenate([self.priorities, other.priorities])
        kept = np.sort(np.argsort(priorities, kind="stable")[: self.count])
        rows = sp.csr_array(rows)[kept] if sp.issparse(rows) else rows[kept]
        sizes = self.sizes | other.sizes
        ids = joined(self.ids, other.ids)
        ids = None if ids is None else ids[kept]
        return DrawnRows(self.count, rows, places[kept], priorities[kept], sizes, ids)

    def in_order(self) -> tuple[Any, NDArray[np.int64], NDArray[np.object_] | None]:
        """Rows in the order of the data, their numbers and their identifiers."""
        numbers = global_numbers(self.places, self.sizes)
        order = np.argsort(numbers, kind="stable")
        return self.rows[order], numbers[order], None if self.ids is None else self.ids[order]


def ids_of(chunk: Chunk, index: NDArray[np.integer]) -> NDArray[np.object_] | None:
    """Identifiers of some rows of a chunk, if it has any."""
    if chunk.ids is None:
        return None
    found = np.empty(len(index), dtype=object)
    for place, i in enumerate(index):
        value = chunk.ids[int(i)]
        found[place] = value.as_py() if hasattr(value, "as_py") else value  # Arrow's, or NumPy's.
    return found


def joined(
    first: NDArray[np.object_] | None, second: NDArray[np.object_] | None
) -> NDArray[np.object_] | None:
    """Identifiers of rows one after the other."""
    return None if first is None or second is None else np.concatenate([first, second])


def global_numbers(places: NDArray[np.int64], sizes: dict[int, int]) -> NDArray[np.int64]:
    """Numbers of rows in the whole data, from the chunk and the place in it of each."""
    counts = np.zeros(max(sizes) + 2, dtype=np.int64)
    for number, size in sizes.items():
        counts[number + 1] = size
    return np.asarray(np.cumsum(counts)[places[:, 0]] + places[:, 1])


@dataclass(frozen=True)
class DrawRows:
    """Draw of ``count`` rows without replacement, all alike; a pass."""

    count: int
    seed: int

    description: ClassVar[str] = "drawing rows"

    def __call__(self, chunk: Chunk) -> DrawnRows:
        n_rows = chunk.rows.shape[0]
        priorities = np.random.default_rng([self.seed, chunk.number]).random(n_rows)
        kept = np.sort(np.argsort(priorities, kind="stable")[: self.count])
        rows = chunk.rows[kept]
        rows = rows if sp.issparse(rows) else np.array(rows, dtype=np.float64)
        places = np.column_stack([np.full(len(kept), chunk.number), kept]).astype(np.int64)
        sizes, ids = {chunk.number: n_rows}, ids_of(chunk, kept)
        return DrawnRows(self.count, rows, places, priorities[kept], sizes, ids)
