"""A whole fit of REFCMFS against a fit of scikit-learn's KMeans, on the data sets of the paper.

The price of a fit is one side; the other is what it finds. The accelerated loop must reach the
objective of the plain one, and the default tolerance the labels of a very small one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.harness.report import Goal, Report, measuring
from benchmarks.harness.shared import FUZZIFIER, geometric_mean, paper_sets, timed
from sfumato import REFCMFS

LIMIT, MEAN_LIMIT = 4.0, 2.0
"""Largest ratio of a data set, and largest geometric mean."""
OBJECTIVE_LIMIT = 1.0001
LABELS_LIMIT = 1.0
"""Per cent of the labels."""
FINE_TOL, FINE_MAX_ITER = 1e-10, 10_000
MANY = 5
"""Starts in the last column."""


@dataclass
class Case:
    """A data set with the parameters of the paper."""

    X: np.ndarray
    n_clusters: int
    n_active: int

    def fit(self, seed, n_init=1, **options):
        """Seconds of a fit of REFCMFS, and the model."""
        model = REFCMFS(
            self.n_clusters,
            n_active=self.n_active,
            fuzzifier=FUZZIFIER,
            n_init=n_init,
            random_state=seed,
            **options,
        )
        return timed(lambda: model.fit(self.X))

    def fit_kmeans(self, seed, n_init=1):
        """Seconds of a fit of KMeans."""
        model = KMeans(self.n_clusters, n_init=n_init, random_state=seed)
        return timed(lambda: model.fit(self.X))[0]

    def pairs(self, seeds, n_init=1):
        """Seconds of both, a row per seed, and our models."""
        times, models = [], []
        for seed in seeds:
            ours, model = self.fit(seed, n_init)
            times.append((ours, self.fit_kmeans(seed, n_init)))
            models.append(model)
        return np.array(times), models


def ratio_of(times):
    return float(np.median(times[:, 0] / times[:, 1]))


def objective_ratio(case, seeds, models):
    """Median objective of the models over that of plain loops from the same seeds."""
    plain = [case.fit(seed, acceleration=None)[1].objective_ for seed in seeds]
    return float(np.median([model.objective_ for model in models]) / np.median(plain))


def changed_labels(case, seeds, models):
    """Median share of labels that a very small tolerance changes, in per cent."""
    shares = []
    for seed, model in zip(seeds, models, strict=True):
        fine = case.fit(seed, tol=FINE_TOL, max_iter=FINE_MAX_ITER)[1]
        shares.append(100 * np.mean(fine.labels_ != model.labels_))
    return float(np.median(shares))


def measure(name, case, quick):
    """Times of the pairs, ratio with many starts, objective ratio, changed labels."""
    seeds = range(3 if quick else 10)
    measuring(f"{name}: pairs of fits")
    case.pairs([len(seeds)])
    times, models = case.pairs(seeds)
    measuring(f"{name}: n_init={MANY}")
    many, _ = case.pairs(seeds[: 1 if quick else 3], n_init=MANY)
    measuring(f"{name}: the plain loop")
    objective = objective_ratio(case, seeds, models)
    measuring(f"{name}: tol={FINE_TOL:g}")
    return times, ratio_of(many), objective, changed_labels(case, seeds, models)


def run(quick: bool) -> Report:
    how = (
        f"REFCMFS with the paper's number of active clusters, r = {FUZZIFIER}, `n_init=1`, against "
        f"`KMeans(n_init=1)`: pairs from {3 if quick else 10} seeds, the ratio being the median "
        "over the pairs. Objective: median over the seeds, divided by that of the plain loop "
        "(`acceleration=None`). Labels: median share that a fit from the same seed with "
        f"`tol={FINE_TOL:g}` changes. Last column: ratio where both have `n_init={MANY}`."
    )
    report = Report("fits", "A fit against a fit of KMeans", how, quick, "REFCMFS / KMeans, a fit")
    header = ["data", "REFCMFS ms", "KMeans ms", "ratio", "limit"]
    table = report.begin(*header, "objective / plain", "labels changed, %", f"n_init={MANY}: ratio")
    objectives, changes = [], []
    for name, X, n_clusters, n_active in paper_sets(quick):
        if X is None:
            table.add(name, "no such file; set SFUMATO_DATA to the folder", *[""] * 6)
            continue
        times, many, objective, change = measure(name, Case(X, n_clusters, n_active), quick)
        ours, theirs = (f"{1e3 * value:.1f}" for value in np.median(times, axis=0))
        found = [f"{objective:.6f}", f"{change:.2f}", f"{many:.2f}"]
        table.add(name, ours, theirs, f"{ratio_of(times):.2f}", f"{LIMIT}", *found)
        report.cells.append(Goal(name, ratio_of(times), LIMIT))
        objectives.append(objective)
        changes.append(change)
    if report.cells:
        mean = geometric_mean(cell.value for cell in report.cells)
        report.goals += [
            Goal("geometric mean", mean, MEAN_LIMIT, plotted=True),
            Goal("largest objective / plain", max(objectives), OBJECTIVE_LIMIT),
            Goal("largest share of labels changed, %", max(changes), LABELS_LIMIT),
        ]
    return report
