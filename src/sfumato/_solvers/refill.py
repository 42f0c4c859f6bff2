"""Clusters that end without rows: their centers are moved to where they lower the objective.

A center can keep some memberships although it is nearest to no row, between two clusters that are
nearest to theirs. The descent does not move it away, and ``repair`` of ``descent.py`` moves only
centers without any membership. So this is done once the objective has settled. The new place is
found on a sample in memory, which for data of moderate size is all rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sfumato._engines.base import Engine, ResidentEngine
from sfumato._engines.chunked import ChunkedEngine
from sfumato._engines.passes import CountRows, rows_within_cutoff
from sfumato._outliers import MIN_CLUSTER_ROWS, PAIR_DISTANCE, sample_rows
from sfumato._problem import Assignment
from sfumato._sampling import draw
from sfumato._solvers.descent import LARGEST_ROUNDING, Stopping, solve
from sfumato._typing import Floats

NEARLY_EMPTY = 0.01
"""Share of the average number of rows below which a cluster of fewer than ``MIN_CLUSTER_ROWS`` rows
is nearly empty. Chosen by hand: with 4 rows the average is over 400, with 1 row over 100, far from
what chance makes of clusters of similar size."""
REFILLED = 0.1
"""The same share below which it is tried whether such a cluster is better placed elsewhere. Larger,
since a move is kept only if the objective falls. Chosen by hand."""
SAME_PLACE = 0.01
"""Distance of two centers over the median distance of rows to theirs, up to which the two are in
one place. Chosen by hand: halves of one cluster are farther apart than 1."""
MAX_TABLE = 1 << 22
"""Distances between centers computed at a time: 32 MB in double precision. Chosen by hand."""
CANDIDATES, CANDIDATES_BEYOND = 32, 256
"""Rows that are tried as the new place of a center: some drawn in proportion to their losses, and
of a bounded loss more from the rows beyond its cutoff, among which a cluster without a center may
be a small part. Chosen by hand: of 32, some lie in such a cluster even if most losses are those of
outliers."""
TO_MIDDLE = Stopping(max_iter=3, tol=0)
"""Iterations of the way from a row to the middle of its cluster, under a bounded loss. Chosen by
hand."""
TRIAL = Stopping(max_iter=10, tol=1e-5)
"""Iterations and relative tolerance after which a move is judged on the sample. Chosen by hand: a
small cluster among many is a thousandth of the objective."""


def rows_per_cluster(
    engine: Engine, centers: Floats, seen: tuple[ResidentEngine, Assignment] | None = None
) -> NDArray[np.integer]:
    """Rows of positive weight that are nearest to each center, and nearer than the cutoff.

    They are counted in a sample, and among all rows only if a cluster has few in the sample.
    ``seen`` is the sample and its assignment with distances, if they are known.
    """
    if seen is None:
        sample = engine.fixed_sample(sample_rows(len(centers)))
        seen = sample, sample.assign(centers, distances=True, memberships=False)
    sample, assignment = seen
    found = rows_within_cutoff(sample, assignment, len(centers))
    if sample.n_rows == engine.n_rows or (found >= MIN_CLUSTER_ROWS).all():
        return found
    if isinstance(engine, ChunkedEngine):
        counted: NDArray[np.integer] = engine.data.runner.reduce(
            CountRows(engine.spec, centers)
        ).value
        return counted
    assert isinstance(engine, ResidentEngine)
    everywhere = engine.assign(centers, distances=True, memberships=False)
    return rows_within_cutoff(engine, everywhere, len(centers))


def nearly_empty(rows: NDArray[np.integer], share: float = NEARLY_EMPTY) -> NDArray[np.intp]:
    """Clusters without rows, or with few, less than some share of those of an average one."""
    few = (rows < MIN_CLUSTER_ROWS) & (rows < share * rows.mean())
    return np.flatnonzero((rows == 0) | few)


def coincident_pairs(centers: Floats, sample: ResidentEngine, seen: Assignment) -> NDArray[np.intp]:
    """Pairs of centers in one place, of which the first has the lower index."""
    near = _one_place(sample, seen)
    found = [np.empty((0, 2), dtype=np.intp)]
    step = max(1, MAX_TABLE // len(centers))
    for begin in range(0, len(centers), step):
        close = cdist(centers[begin : begin + step], centers) <= near
        pairs = np.argwhere(close)
        pairs[:, 0] += begin
        found.append(pairs[pairs[:, 0] < pairs[:, 1]])
    return np.concatenate(found)


def all_in_one_place(centers: Floats, sample: ResidentEngine, seen: Assignment) -> bool:
    """Whether all centers, of two or more, are in one place.

    A descent from different seeds has drawn them together, as with a large fuzzifier in many
    dimensions. It would do so again, so there is no use in moving some of them.
    """
    near = _one_place(sample, seen)
    return len(centers) > 1 and bool((cdist(centers[:1], centers) <= near).all())


def _one_place(sample: ResidentEngine, seen: Assignment) -> float:
    """Distance up to which two centers are in one place."""
    distances = seen.distances[sample.data.weights_or_ones() > 0]
    positive = distances[distances > 0]
    return SAME_PLACE * float(np.median(positive)) if len(positive) else 0.0


def refill(engine: Engine, centers: Floats) -> tuple[Floats, tuple[int, ...]] | None:
    """Centers after those of nearly empty clusters were moved, and the clusters; None for no gain.

    Of two centers in one place, the second counts as one of an empty cluster. A few iterations on a
    sample tell whether a move lowers the objective more than the same iterations without it. All
    such clusters are moved together, or else the first one alone. If all centers are in one place,
    none is moved.

    Under a bounded loss the new place is found with a larger cutoff: it is a row, and other rows of
    its cluster are farther from it than from the center that they get.
    """
    sample = engine.fixed_sample(sample_rows(len(centers)))
    seen = sample.assign(centers, distances=True, memberships=False)
    empty = np.union1d(
        nearly_empty(rows_per_cluster(engine, centers, (sample, seen)), REFILLED),
        coincident_pairs(centers, sample, seen)[:, 1],
    )
    if not len(empty) or all_in_one_place(centers, sample, seen):
        return None
    without = solve(sample, centers, TRIAL).objective
    wide = _with_wide_cutoff(sample)
    for which in (empty, empty[:1]) if len(empty) > 1 else (empty,):
        start, moved = _moved(wide, centers, which)
        if wide is not sample:
            start[moved] = solve(wide, start, TO_MIDDLE).centers[moved]
        trial = solve(sample, start, TRIAL)
        if len(moved) and trial.objective < (1 - LARGEST_ROUNDING) * without:
            return trial.centers, tuple(map(int, moved))
    return None


def _with_wide_cutoff(sample: ResidentEngine) -> ResidentEngine:
    """Engine that counts rows as far from a row of their cluster as others are from its center."""
    problem = sample.problem
    if not np.isfinite(problem.loss.cutoff):
        return sample
    wide = problem.loss.with_cutoff(float(PAIR_DISTANCE * problem.loss.cutoff))
    return sample.with_problem(replace(problem, loss=wide))


def _moved(
    sample: ResidentEngine, centers: Floats, which: NDArray[np.intp]
) -> tuple[Floats, NDArray[np.intp]]:
    """Centers after some were moved to rows, one after the other, and those that were.

    Each goes to the row that leaves the smallest total loss, of some drawn in proportion to their
    losses. The row with the largest loss would often be an outlier.
    """
    rng = np.random.RandomState(0)  # The same data has the same result.
    weights, order = sample.data.weights_or_ones(), sample.order()
    costs = np.full(sample.n_rows, np.inf, dtype=sample.dtype)
    others = np.delete(centers, which, axis=0)
    if len(others):
        sample.update_costs(costs, others)
    centers = centers.copy()
    for number, k in enumerate(which):
        finite = np.isfinite(costs).all()
        if finite and not (weights * costs).any():
            return centers, which[:number]  # Every row lies on a center already.
        drawn = draw(weights, order, CANDIDATES, rng, costs if finite else None)
        if np.isfinite(sample.problem.loss.cutoff):
            beyond = weights * (costs == costs[weights > 0].max())  # There all losses are the same.
            drawn = np.concatenate([drawn, draw(beyond, order, CANDIDATES_BEYOND, rng)])
        candidates = sample.take(drawn)
        best = int(np.argmin(sample.candidate_costs(costs, candidates)))
        centers[k] = candidates[best]
        sample.update_costs(costs, centers[[k]])
    return centers, which
