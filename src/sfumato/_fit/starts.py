"""The starts of a fit, coarse to fine: many on a small sample, the best one on all rows.

With ``n_init="auto"``, starts are compared on a sample. The best one goes on to a larger sample,
four times the size each time, and at last to all rows. What happens on a sample of m rows costs m
rows a pass, and ends near what all rows would give: so most iterations are cheap. Samples are
weighted coresets, in which rows far from the middle are never missing. On chunked data there is
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sfumato._engines.base import Engine, ResidentEngine
from sfumato._engines.chunked import ChunkedData
from sfumato._fit.auto import Tuned
from sfumato._fit.callbacks import FitTask, IterationTasks
from sfumato._fit.checkpoint import Checkpoint
from sfumato._init.base import Initializer, proposed_centers
from sfumato._init.robust import SAME_LABELS, SEED_LIMIT
from sfumato._outliers import sample_rows
from sfumato._problem import Problem
from sfumato._solvers.acceleration import resolve_acceleration
from sfumato._solvers.descent import LARGEST_ROUNDING, Descent, Stopping, solve
from sfumato._solvers.exchange import exchange
from sfumato._solvers.rearrange import HARD_FIT, rearrange
from sfumato._solvers.refill import all_in_one_place, refill
from sfumato._solvers.restarts import Plan, Start, label_agreement, run_starts
from sfumato._typing import Floats
from sfumato.memberships import Hard

FIRST_ROWS, FIRST_ROWS_PER_CLUSTER = 4000, 100
"""Rows of the smallest sample: the larger of the two, the second times the number of clusters.
Chosen by hand."""
GROWTH = 4
"""Size of a sample over that of the one before. Chosen by hand."""
LARGEST_SHARE = 8
"""The largest sample is at most this fraction of the rows, so that all samples together take at
most a sixth of the memory of the data; but the smallest may be up to half of them."""
ALL_ROWS = "all rows"
"""Name of the task of the last start, if those before it ran on samples."""
SAME_END = 10
"""Relative difference of two objectives over ``tol``, up to which two starts ended at the same one:
about what stopping leaves open. Chosen by hand."""
UNRESOLVED = 2.0
"""Standard errors up to which a sample cannot tell which of two starts is better. Chosen by
hand."""
SOFT = 0.7
"""Objective over that of hard clusters at the same centers, below which what is best for these may
not be best. Chosen by hand: 0.8 or more with a fuzzifier that was found, 0.4 to 0.6 with 2 where a
few rows are far from three clusters."""
TRIAL = Stopping(max_iter=10, tol=1e-3)
"""Iterations and relative tolerance after which exchanged centers are judged on a sample. Chosen by
hand."""


class Context(NamedTuple):
    """What all starts of a fit share.

    Attributes
    ----------
    estimator : estimator
    initializer : Initializer
    plan : Plan
    sizes : tuple of int
        Sizes of the samples, from the smallest; see :func:`level_sizes`.
    rng : numpy.random.RandomState
    checkpoint : Checkpoint or None
    task : FitTask
    doubts : list of ndarray
        Centers at which hard clusters cost less than at those found, and soft ones more.
    """

    estimator: Any
    initializer: Initializer
    plan: Plan
    sizes: tuple[int, ...]
    rng: np.random.RandomState
    checkpoint: Checkpoint | None
    task: FitTask
    doubts: list[Floats]

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.estimator.n_clusters_)

    def other_rng(self) -> np.random.RandomState:
        """Random numbers for exchanges, which do not change what is drawn for plain starts."""
        return np.random.RandomState(deepcopy(self.rng).randint(SEED_LIMIT))

    def descent(
        self,
        engine: Engine,
        centers: Floats | Callable[[], Floats],
        number: int,
        name: str,
        tol: float = 0,
    ) -> Start:
        """Start of a number, from centers that may be computed once its task has begun.

        ``tol`` is the smallest tolerance.
        """
        estimator = self.estimator
        # One task more than steps: the first is at the initial centers.
        task = self.task.begin_subtask(name, max_subtasks=int(estimator.max_iter) + 1)
        stopping = Stopping(int(estimator.max_iter), max(tol, float(estimator.tol)))
        acceleration = resolve_acceleration(estimator.acceleration, engine.problem)
        first = centers() if callable(centers) else centers
        descent = Descent(engine, first, stopping, IterationTasks(task), acceleration)
        if self.checkpoint is not None:
            self.checkpoint.attach(number, descent)
        return Start(descent, number, task.end)


def level_sizes(plan: Plan, engine: Engine, n_clusters: int) -> tuple[int, ...]:
    """Sizes of the samples on which starts are compared and improved, from the smallest.

    None if all starts run on all rows. For chunked data, 0 stands for the coreset.
    """
    if isinstance(engine.data, ChunkedData):
        return (0,) if plan.rungs else ()
    smallest = max(FIRST_ROWS, FIRST_ROWS_PER_CLUSTER * n_clusters)
    if not plan.sampled or engine.n_rows < 2 * smallest:
        return ()
    largest = engine.n_rows // LARGEST_SHARE
    sizes = [smallest]
    while GROWTH * sizes[-1] <= largest:
        sizes.append(GROWTH * sizes[-1])
    return tuple(sizes)


def best_start(context: Context, engine: Engine, tuned: Tuned) -> tuple[Start, float | None]:
    """Best of all starts, on all rows, and the agreement of the best two searches."""
    checkpoint = context.checkpoint
    if not context.sizes:
        best, second = _compared(context, engine)
        stability = _stability(context, engine, best.descent.centers, second)
        return best, _doubted(context, engine, best.descent.centers, stability)
    if checkpoint is not None and checkpoint.tuned is not None:
        number, stability = checkpoint.tuned["final"], checkpoint.tuned["stability"]
        centers = checkpoint.states[number].centers
        context = context._replace(plan=context.plan._replace(**checkpoint.tuned["plan"]))
    else:
        number = context.plan.total + len(context.sizes)
        centers, second = _coarse_to_fine(context, engine)
        stability = _stability(context, engine, centers, second)
        stability = _doubted(context, engine, centers, stability)
    if checkpoint is not None:
        checkpoint.tuned = {
            "loss": engine.problem.loss.get_params(),
            "membership": engine.problem.membership.get_params(),
            "dimension": tuned.dimension,
            "clipped": tuned.clipped,
            "stability": stability,
            "final": number,
            "plan": {"improved": context.plan.improved},
        }
    last = context.descent(engine, centers, number, ALL_ROWS)
    last.descent.refill = refill
    alone = len(context.sizes) == 1 and isinstance(engine, ResidentEngine)
    improved = _improvements(context, engine, number + 1) if alone else None
    best = run_starts([last], improved=improved)[0]
    return best, _doubted(context, engine, best.descent.centers, stability)


def _coarse_to_fine(context: Context, engine: Engine) -> tuple[Floats, Floats | None]:
    """Centers to go on with on all rows, and those of the second best start."""
    smallest, *larger = _samples(context, engine)
    tol = 0.0 if isinstance(engine.data, ChunkedData) else _tolerance(smallest)
    best, second = _compared(context, smallest, tol)
    centers = best.descent.centers
    number = context.plan.compared
    for level, sample in enumerate(larger):
        name, tol = f"sample of {sample.n_rows} rows", _tolerance(sample)
        start = context.descent(sample, centers, number + level, name, tol)
        improved = None if level else _improvements(context, sample, number + len(larger), tol)
        centers = run_starts([start], improved=improved)[0].descent.centers
    return centers, second


def _samples(context: Context, engine: Engine) -> list[ResidentEngine]:
    """Nested samples of the data, from the smallest; the coreset of chunked data."""
    if not isinstance(engine, ResidentEngine):
        return [engine.coreset(context.n_clusters, context.rng)]
    return engine.nested_coresets(context.sizes, context.rng)


def _tolerance(sample: Engine) -> float:
    """Relative fall of the objective that is not worth an iteration: the share of one row."""
    return 1 / sample.n_rows


def _compared(context: Context, engine: Engine, tol: float = 0) -> tuple[Start, Floats | None]:
    """Best start on some rows, and the centers of the second best."""
    plan, initializer, rng = context.plan, context.initializer, context.rng

    def start(number: int, centers: Callable[[], Floats]) -> Start:
        found = context.descent(engine, centers, number, f"start {number}", tol)
        if not context.sizes:
            found.descent.refill = refill
        return found

    def seeds(rng: np.random.RandomState) -> Floats:
        return proposed_centers(initializer, engine, context.n_clusters, rng)

    def exchanged() -> Iterator[Start]:
        other = context.other_rng()
        for number in range(plan.exchanged):
            yield start(number, lambda: _exchanged(engine, seeds(other), other))

    def plain() -> Iterator[Start]:
        for number in range(plan.starts):
            if number and not initializer.random:
                break  # All others would be the same.
            yield start(plan.exchanged + number, lambda: seeds(rng))

    improved = None
    if not any(context.sizes):  # Otherwise centers are exchanged on the next larger sample.
        improved = _improvements(context, engine, plan.compared)
    agree, alike = (partial(check, context, engine) for check in (_agree, _alike))

    def challenged(best: Start) -> bool:
        centers, objective = best.descent.centers, best.descent.objective
        return isinstance(engine, ResidentEngine) and _soft(engine, centers, objective)

    return run_starts(plain(), plan.rungs, exchanged(), agree, alike, improved, challenged)


def _improvements(
    context: Context, engine: Engine, number: int, tol: float = 0
) -> Callable[[Start], Start | None]:
    """Function that makes a start out of the best one, with some centers exchanged.

    Their numbers begin at ``number``. It returns None if there is nothing to gain.
    """
    numbers = iter(range(number, number + context.plan.improved))
    rng = context.other_rng()

    def improved(best: Start) -> Start | None:
        number = next(numbers, None)
        if number is None:
            return None
        centers = _better(context, engine, best.descent.centers, rng)
        if centers is None:
            return None
        start = context.descent(engine, centers, number, f"start {number}", tol)
        start.descent.refill = refill
        return start

    return improved


def _better(
    context: Context, engine: Engine, centers: Floats, rng: np.random.RandomState
) -> Floats | None:
    """Centers of which some were moved, if that lowers the objective on a sample.

    Moves lower the total loss of hard clusters. Two centers in one large cluster may cost soft ones
    less than one there, and one in a small cluster: then there is a doubt, unless memberships are
    very soft.
    """
    sample = engine.fixed_sample(sample_rows(len(centers)))
    seen = sample.assign(centers, distances=True, memberships=False)
    if all_in_one_place(centers, sample, seen):
        return None
    found = rearrange(sample.with_problem(Problem(sample.problem.loss, Hard())), centers, rng)
    if found is centers:
        return None
    without, trial = (solve(sample, each, TRIAL) for each in (centers, found))
    if trial.objective < (1 - LARGEST_ROUNDING) * without.objective:
        return trial.centers
    if not _soft(sample, without.centers, without.objective):
        context.doubts.append(trial.centers)
    return None


def _soft(engine: ResidentEngine, centers: Floats, objective: float) -> bool:
    """Whether memberships are so soft that what is best for hard clusters may not be for them.

    Not if all centers have come to one place, wherever they began.
    """
    hard = engine.with_problem(Problem(engine.problem.loss, Hard()))
    seen = hard.assign(centers, distances=True, memberships=False)
    return objective < SOFT * seen.objective and not all_in_one_place(centers, engine, seen)


def _exchanged(engine: Engine, centers: Floats, rng: np.random.RandomState) -> Floats:
    """Centers of which some were exchanged for rows, in the middle of their clusters."""
    if not isinstance(engine, ResidentEngine):
        return centers
    hard = engine.with_problem(Problem(engine.problem.loss, Hard()))
    found = exchange(hard, centers, rng)
    return centers if found is centers else solve(hard, found, HARD_FIT).centers


def _agree(context: Context, engine: Engine, first: Start, second: Start) -> bool:
    """Whether two starts have the same clusters; as it was stored, if the fit is resumed."""

    def found() -> bool:
        return _equally_good(context, first, second) or _same_labels(engine, first, second)

    return _stored(context, f"{first.number} {second.number}", found)


def _alike(context: Context, engine: Engine, first: Start, second: Start) -> bool:
    """Whether a sample cannot tell which of two starts is better on all rows.

    Its total loss is uncertain, and so is the difference of two: by the spread of the differences
    of its rows, as in a paired test.
    """
    if not context.sizes or not isinstance(engine, ResidentEngine):
        return False

    def found() -> bool:
        losses = np.full((2, engine.n_rows), np.inf, dtype=engine.dtype)
        for row, start in zip(losses, (first, second), strict=True):
            engine.update_costs(row, start.descent.centers)
        weights = engine.data.weights_or_ones() / engine.data.weights_or_ones().sum()
        falls = (losses[1] - losses[0]).astype(np.float64)
        mean = float(weights @ falls)
        return abs(mean) <= UNRESOLVED * float(np.sqrt(weights**2 @ (falls - mean) ** 2))

    return _stored(context, f"alike {first.number} {second.number}", found)


def _stored(context: Context, key: str, found: Callable[[], bool]) -> bool:
    """What was found of two starts before the fit was resumed, or is found now."""
    checkpoint = context.checkpoint
    if checkpoint is None:
        return found()
    if key not in checkpoint.agreed:
        checkpoint.agreed[key] = found()
    return checkpoint.agreed[key]


def _equally_good(context: Context, first: Start, second: Start) -> bool:
    """Whether two starts have ended at one objective; labels tell nothing if centers coincide."""
    if first.descent.is_running() or second.descent.is_running():
        return False
    objectives = first.descent.objective, second.descent.objective
    return abs(objectives[0] - objectives[1]) <= SAME_END * context.estimator.tol * min(objectives)


def _same_labels(engine: Engine, first: Start, second: Start) -> bool:
    """Whether rows have the same nearest centers, up to the names of the clusters."""
    labels = [engine.assign(s.descent.centers, memberships=False).labels for s in (first, second)]
    return label_agreement(*labels) >= SAME_LABELS


def _stability(
    context: Context, engine: Engine, centers: Floats, others: Floats | None
) -> float | None:
    """Agreement of the initializer's searches, or else of the best two starts on a sample."""
    stability = context.initializer.stability(centers)
    if stability is not None or others is None:
        return stability
    sample = engine.fixed_sample(sample_rows(len(centers)))
    labels = (sample.assign(each, memberships=False).labels for each in (centers, others))
    return label_agreement(*labels)


def _doubted(
    context: Context, engine: Engine, centers: Floats, stability: float | None
) -> float | None:
    """Agreement of searches, or of centers with what hard clusters prefer, if less.

    The doubts are counted once.
    """
    if not context.doubts:
        return stability
    sample = engine.fixed_sample(sample_rows(context.n_clusters))
    labels, *others = (
        sample.assign(each, memberships=False).labels for each in (centers, *context.doubts)
    )
    context.doubts.clear()
    agreements = [label_agreement(labels, each) for each in others]
    return min([*agreements, 1.0 if stability is None else stability])
