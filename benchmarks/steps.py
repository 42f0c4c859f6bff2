"""Steps of a descent: passes that plain steps, L-BFGS and Anderson acceleration take.

All begin at the same centers, those of a fit to an eighth of the rows, as the last descent of a fit
does. What counts is passes over the data: the arithmetic of a step is small beside one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.harness.report import Goal, Report, measuring
from benchmarks.harness.shared import FUZZIFIER, native_engine, paper_sets
from sfumato import REFCMFS
from sfumato._problem import Statistics
from sfumato._solvers.acceleration import LBFGS, Acceleration, PlainSteps
from sfumato._solvers.descent import Stopping, solve
from sfumato._typing import Floats

PASSES = (5, 10, 20, 40, 80, 160, 320)
QUICK_PASSES = PASSES[:4]
SAMPLED = 8
"""The first centers are those of a fit to this fraction of the rows."""
LIMIT = 1.0
"""Largest geometric mean of the excess of L-BFGS over that of another method."""
COMPARED, WORTHLESS = 40, 1e-6
"""Passes after which methods are compared, and the excess below which all are as good: the default
``tol``."""


class Anderson(PlainSteps):
    """Anderson acceleration: the mix of the last steps whose residuals nearly cancel.

    References
    ----------
    .. [1] H. F. Walker, P. Ni, "Anderson acceleration for fixed-point iterations", SIAM Journal on
       Numerical Analysis 49, 2011.
    """

    def __init__(self, kept: int) -> None:
        self._steps: deque[tuple[Floats, Floats]] = deque(maxlen=kept + 1)

    def propose(self, centers: Floats, statistics: Statistics, plain: Floats) -> Floats | None:
        self._steps.append((plain.copy(), plain - centers))
        if len(self._steps) < 2:
            return None
        images, residuals = (np.array(part) for part in zip(*self._steps, strict=True))
        changes = np.diff(residuals.reshape(len(residuals), -1), axis=0).T
        mix = np.linalg.lstsq(changes, residuals[-1].ravel(), rcond=1e-8)[0]
        return plain - np.tensordot(mix, np.diff(images, axis=0), axes=1)

    def forget(self, jumped: bool = False) -> None:
        self._steps.clear()


def memory_of(pairs: int) -> Acceleration:
    """L-BFGS with so many pairs."""
    return type("LBFGS", (LBFGS,), {"kept": pairs})()


METHODS: dict[str, Callable[[], Acceleration]] = {
    "plain": PlainSteps,
    "L-BFGS, 3 pairs": lambda: memory_of(3),
    "L-BFGS, 8 pairs": LBFGS,
    "L-BFGS, 20 pairs": lambda: memory_of(20),
    "Anderson, 5 steps": lambda: Anderson(5),
    "Anderson, 10 steps": lambda: Anderson(10),
}
OURS = "L-BFGS, 8 pairs"


def cases(quick: bool) -> Iterator[tuple[str, np.ndarray, int, int]]:
    """Name, rows, clusters, active clusters."""
    rng = np.random.default_rng(0)
    n_rows = 5000 if quick else 50_000
    yield f"noise, {n_rows:,} x 64", rng.normal(size=(n_rows, 64)), 100, 5
    yield "noise, 100,000 x 16", rng.normal(size=(10 * n_rows // 5, 16)), 20, 5
    yield "digits", load_digits().data, 10, 5
    for name, X, n_clusters, n_active in paper_sets(quick):
        if X is not None and name in ("usps", "yaleb"):
            yield name, X, n_clusters, n_active


def excesses(
    X: np.ndarray, n_clusters: int, n_active: int, passes: tuple[int, ...]
) -> dict[str, tuple[np.ndarray, int]]:
    """Excess over the lowest objective after so many passes, and steps that were replaced."""
    options = {"n_active": n_active, "fuzzifier": FUZZIFIER, "n_init": 1, "random_state": 0}
    first = REFCMFS(n_clusters, **options).fit(X[::SAMPLED]).cluster_centers_
    engine, found = native_engine(X, n_active), {}
    for name, make in METHODS.items():
        measuring(name)
        solution = solve(engine, first.astype(np.float64), Stopping(max(passes), 0.0), None, make())
        taken = np.cumsum([record.passes for record in solution.history])
        objectives = np.array([record.objective for record in solution.history])
        lowest = np.array([objectives[taken <= count + 1].min() for count in passes])
        found[name] = lowest, int(sum(record.passes > 1 for record in solution.history))
    best = min(lowest[-1] for lowest, _ in found.values())
    return {name: (lowest / best - 1, replaced) for name, (lowest, replaced) in found.items()}


def run(quick: bool) -> Report:
    passes = QUICK_PASSES if quick else PASSES
    how = (
        "Excess, in millionths, over the lowest objective that any of them reached, after so many "
        f"passes over the data, r = {FUZZIFIER}. All begin at the centers of a fit to one in "
        f"{SAMPLED} rows. A step that raised the objective takes two passes: it is replaced by the "
        "plain one; the last column counts these. A pair of L-BFGS is a step and the change of the "
        "gradient."
    )
    report = Report("steps", "Steps of a descent", how, quick)
    table = report.begin("data", "steps", *map(str, passes), "replaced")
    ratios: dict[str, list[float]] = {name: [] for name in METHODS if "L-BFGS" not in name}
    for name, X, n_clusters, n_active in cases(quick):
        measuring(name)
        found = excesses(X, n_clusters, n_active, passes)
        for method, (excess, replaced) in found.items():
            cells = [f"{1e6 * value:.3g}" for value in excess]
            table.add(name, method, *cells, str(replaced))
        place = passes.index(COMPARED)
        for method, values in ratios.items():
            ours, other = (max(found[each][0][place], WORTHLESS) for each in (OURS, method))
            values.append(ours / other)
    for method, values in ratios.items():
        what = f"excess of {OURS} over that of {method}, after {COMPARED} passes, geometric mean"
        mean = float(np.exp(np.mean(np.log(values))))
        report.goals.append(Goal(what, mean, LIMIT))
    return report
