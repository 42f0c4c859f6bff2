"""Medians and worst values over the seeds, and the goals of the method of this library."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from benchmarks.harness.report import Goal
from benchmarks.robustness.cases import CLEAN, PICTURES, Blobs, Case, Pictures
from benchmarks.robustness.cells import Run
from benchmarks.robustness.peers import OURS, PEERS, PLAIN
from sfumato._outliers import FALSE_ALARMS

HIGHER = {"ari", "acc", "ari_ratio", "auroc", "precision"}
"""Measures where higher is better; of the others, lower is."""
STATED_ALARMS = FALSE_ALARMS
"""False-alarm rate on clean Gaussian clusters that the documentation of ours states."""
FAR_SHARE = 0.3
"""Share of outliers at which ours must still find the clusters."""
AT_LEAST = "at least"
MARGIN = 0.01
"""Difference of medians below which they count as equal. Chosen by hand."""


class Summary:
    """Finished cells by case and method.

    Parameters
    ----------
    runs : iterable of Run
    cases : dict of str to Case
        Others are left out.
    """

    def __init__(self, runs: Iterable[Run], cases: dict[str, Case]) -> None:
        self.errors: list[Run] = []
        self.values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self.seconds: dict[str, list[float]] = defaultdict(list)
        seen, seeds = set(), set()
        for run in sorted(runs, key=lambda run: run.cell):
            cell = run.cell
            if cell.case not in cases or cell.method not in PEERS:
                continue
            seen.add((cell.case, cell.method))
            seeds.add(cell.seed)
            self.seconds[cell.method].append(run.seconds)
            if run.error:
                self.errors.append(run)
            for name, value in run.measures.items():
                self.values[cell.case, cell.method, name].append(value)
        self.n_seeds = len(seeds)
        self.cases = [case for name, case in cases.items() if any(name == s[0] for s in seen)]
        self.methods = [name for name in PEERS if any(name == s[1] for s in seen)]

    def all(self, case: str, method: str, measure: str) -> list[float]:
        return self.values.get((case, method, measure), [])

    def median(self, case: str, method: str, measure: str) -> float | None:
        values = self.all(case, method, measure)
        return float(np.median(values)) if values else None

    def worst(self, case: str, method: str, measure: str) -> float | None:
        values = self.all(case, method, measure)
        return (min if measure in HIGHER else max)(values, default=None)

    def measured(self, measure: str) -> list[str]:
        """Methods for which there is such a measure."""
        found = {key[1] for key in self.values if key[2] == measure}
        return [name for name in self.methods if name in found]

    def blobs(self, choose: Callable[[Blobs], bool] = lambda case: True) -> list[Blobs]:
        return [case for case in self.cases if isinstance(case, Blobs) and choose(case)]

    def pictures(self, choose: Callable[[Pictures], bool] = lambda case: True) -> list[Pictures]:
        return [case for case in self.cases if isinstance(case, Pictures) and choose(case)]

    def best_other(self, case: str, measure: str) -> tuple[str, float] | None:
        """Name and median of the best of the others."""
        medians = {name: self.median(case, name, measure) for name in self.methods if name != OURS}
        found = [(name, value) for name, value in medians.items() if value is not None]
        return max(found, key=lambda pair: pair[1], default=None)

    def lost(self, measure: str) -> list[tuple[str, float, str, float]]:
        """Cases where another is better by more than the margin: name, ours, other, theirs."""
        found = []
        for case in self.cases:
            ours, best = self.median(case.name, OURS, measure), self.best_other(case.name, measure)
            if ours is not None and best is not None and best[1] > ours + MARGIN:
                found.append((case.name, ours, *best))
        return found


def complete(runs: Iterable[Run], cases: dict[str, Case]) -> list[Run]:
    """Runs of those cases that every method has finished from as many seeds.

    Pictures are shown as they are: on the large sets a fit of some methods takes minutes.
    """
    runs = [run for run in runs if run.cell.case in cases]
    methods = {run.cell.method for run in runs}
    seeds = Counter((run.cell.case, run.cell.method) for run in runs)
    found = {
        name
        for name, case in cases.items()
        if isinstance(case, Pictures) or len({seeds[name, method] for method in methods}) == 1
    }
    return [run for run in runs if run.cell.case in found]


def limits(summary: Summary) -> list[Goal]:
    """Goals besides those under gross outliers, as far as they were measured."""
    return [*stays_clean(summary), *ranks(summary), *rarely_alarms(summary)]


def goal(what: str, value: float | None, limit: float, sense: str) -> list[Goal]:
    return [] if value is None else [Goal(what, value, limit, sense)]


def stands(summary: Summary) -> list[Goal]:
    """Clusters and centers under gross outliers."""
    found = []
    for case in summary.blobs(lambda case: case.share == FAR_SHARE and case.shape == "equal"):
        if case.kind in ("uniform", "cauchy", "clumps"):
            name = case.name
            median, worst = (
                each(name, OURS, "ari_ratio") for each in (summary.median, summary.worst)
            )
            error = summary.median(name, OURS, "mean_ratio")
            found += goal(
                f"{name}: ARI over that of the true centers, median", median, 0.95, AT_LEAST
            )
            found += goal(f"{name}: the same, worst seed", worst, 0.8, AT_LEAST)
            found += goal(f"{name}: center error over the clean fit's", error, 1.3, "at most")
    return found


def stays_clean(summary: Summary) -> list[Goal]:
    """Clean pictures: no worse than the plain method."""
    found = []
    for case in summary.pictures(lambda case: case.kind == CLEAN):
        for measure in ("ari", "acc"):
            ours, plain = (summary.median(case.name, name, measure) for name in (OURS, PLAIN))
            if ours is not None and plain is not None:
                what = f"{case.name}: {measure.upper()} minus that of {PLAIN}"
                found.append(Goal(what, ours - plain, -MARGIN, AT_LEAST))
    return found


def ranks(summary: Summary) -> list[Goal]:
    """Scores: nearly perfect on blobs, and better than the detectors on pictures."""
    found = []
    for case in summary.blobs():
        auroc = summary.median(case.name, OURS, "auroc")
        found += goal(f"{case.name}: AUROC", auroc, 0.99, AT_LEAST)
    for case in summary.pictures(lambda case: case.kind in PICTURES):
        auroc = summary.median(case.name, OURS, "auroc")
        for name in ("IsolationForest", "LOF"):
            theirs = summary.median(case.name, name, "auroc")
            if theirs is not None:
                found += goal(f"{case.name}: AUROC, against {name}", auroc, theirs, AT_LEAST)
    return found


def rarely_alarms(summary: Summary) -> list[Goal]:
    """False alarms on clean blobs, within a factor two of the stated rate."""
    found = []
    for case in summary.blobs(lambda case: case.kind == CLEAN):
        rate = summary.median(case.name, OURS, "alarms")
        found += goal(f"{case.name}: false alarms", rate, 2 * STATED_ALARMS, "at most")
        found += goal(f"{case.name}: false alarms", rate, STATED_ALARMS / 2, AT_LEAST)
    return found
