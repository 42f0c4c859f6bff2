"""Made-up runs whose means, deviations and ratios can be worked out by hand."""

from __future__ import annotations

from sfumato.paper.experiment import Cell, Experiment, Parameters, Run

METHODS = ("K-Means", "K-Medoids", "GMM", "RSFKM (capped)", "REFCMFS")
REASON = "ValueError: 3 < 5 | no <b>luck</b>"


def experiment(*sets: str) -> Experiment:
    return Experiment(sets or ("yale", "digits"), METHODS, runs=2)


def runs(data: str = "yale") -> list[Run]:
    """K-Means twice, K-Medoids once, GMM failed, no RSFKM, REFCMFS twice and on a grid."""

    def run(method, seed, seconds=1.0, acc=0.5, nmi=0.5, *, parameters=None, error="", **others):
        measures = {"acc": acc, "nmi": nmi, "objective": 1.0} | others
        return Run(Cell(data, method, seed, parameters), seconds, measures, error)

    table = [
        run("K-Means", 0, 0.1, 0.40, 0.50),
        run("K-Means", 1, 0.3, 0.50, 0.60),
        run("K-Medoids", 0, 0.1, 0.3123, 0.4),
        run("GMM", 0, error=REASON),
        run("GMM", 1, error="not the first"),
        run("REFCMFS", 0, 0.8, 0.4931, 0.51),
        run("REFCMFS", 1, 0.8, 0.5131, 0.51),
    ]
    grid = [
        run("REFCMFS", seed, 0.6, acc, nmi, spread=spread, parameters=Parameters(active, r))
        for active, r, acc, nmi, spread in (
            (2, 1.1, 0.60, 0.55, 1.0),
            (2, 1.2, 0.30, 0.65, 1.5),
            (9, 1.1, 0.70, 0.45, 2.0),
        )
        for seed in range(2)
    ]
    return table + grid
