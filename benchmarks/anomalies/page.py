"""``docs/anomalies.md``, from stored cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from scipy.stats import rankdata

from benchmarks.anomalies.cells import DETECTORS, MOST_ROWS
from benchmarks.harness.setting import setting
from benchmarks.robustness.cells import Run

PAGE = "docs/anomalies.md"
MANY_ROWS = 5000
OWN, TIMED = "ClusterOutlierDetector", "IsolationForest"
GOAL = 0.745
BEGIN = f"""# Detection of anomalies

Written by `python -m benchmarks.anomalies --write`; do not edit by hand. The sets are classical
ones of ADBench, those in the folder `outliers` of the folder that `SFUMATO_DATA` names. Columns are
standardized, constant ones are left out, and of larger sets {MOST_ROWS:,} rows are drawn with
seed 0, for every detector alike. Detectors see no labels and have their default parameters. What
is random is the mean over seeds. AUROC is the chance that an anomaly scores higher than another
row; seconds are those of the processor for a fit and the scores of its rows, in one thread. Ranks
are by AUROC, 1 being the best.
"""
SOURCES = """## Sources

- S. Han, X. Hu, H. Huang, M. Jiang, Y. Zhao, "ADBench: Anomaly Detection Benchmark", NeurIPS 2022:
  the sets, from UCI and other repositories, and the comparison that this one follows.
- Y. Zhao, Z. Nasrullah, Z. Li, "PyOD: A Python Toolbox for Scalable Outlier Detection", JMLR 20,
  2019.
"""
Cells = Mapping[str, Mapping[str, float]]
"""Mean values by set, and by detector."""


def page_of(runs: Iterable[Run]) -> str:
    """Text of the page, from sets that every detector has finished."""
    found: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        found[run.cell.case][run.cell.method].append(run)
    whole = {name: each for name, each in sorted(found.items()) if set(DETECTORS) <= set(each)}
    if not whole:
        return BEGIN + "\nNo set is finished by every detector.\n"
    sizes = {name: each[OWN][0].measures for name, each in whole.items()}
    chances = {name: size["anomalies"] / size["rows"] for name, size in sizes.items()}
    auroc = _means(whole, lambda run: run.measures.get("auroc", 0.5))
    precision = _means(whole, lambda run: run.measures.get("precision", chances[run.cell.case]))
    seconds = _means(whole, lambda run: run.seconds)
    parts = [
        BEGIN,
        _goals(auroc, seconds, sizes),
        "## Summary\n\n" + _summary(auroc, precision, seconds, sizes),
        "## AUROC\n\n" + _per_set(auroc, sizes, "{:.3f}"),
        "## Average precision\n\n" + _per_set(precision, sizes, "{:.3f}"),
        "## Seconds\n\n" + _per_set(seconds, sizes, "{:.3f}"),
        "## Detectors\n\n"
        + table(["detector", "which"], [[name, each.which] for name, each in DETECTORS.items()]),
        "## Machine and versions\n\n"
        + table(["what", "which"], [list(pair) for pair in setting(("pyod",)).items()]),
        _failures(whole),
        SOURCES,
    ]
    return "\n".join(parts)


def _means(whole: Mapping[str, Mapping[str, list[Run]]], of: Callable[[Run], float]) -> Cells:
    return {
        name: {method: float(np.mean([of(run) for run in each[method]])) for method in DETECTORS}
        for name, each in whole.items()
    }


def _failures(whole: Mapping[str, Mapping[str, list[Run]]]) -> str:
    failed = [
        f"- {run.cell}: {run.error}"
        for each in whole.values()
        for runs in each.values()
        for run in runs
        if run.error
    ]
    begin = "## Failures\n\nThey count as scores by chance: an AUROC of 0.5.\n\n"
    return begin + "\n".join(failed) + "\n" if failed else ""


def ranks(values: Cells) -> dict[str, float]:
    """Mean rank of each detector over the sets; the largest value has rank 1."""
    all_ranks = [rankdata([-each[method] for method in DETECTORS]) for each in values.values()]
    return dict(zip(DETECTORS, np.mean(all_ranks, axis=0).tolist(), strict=True))


def _column(values: Cells, method: str) -> np.ndarray:
    return np.array([each[method] for each in values.values()])


def _goals(auroc: Cells, seconds: Cells, sizes: Cells) -> str:
    means = {method: _column(auroc, method).mean() for method in DETECTORS}
    others = [method for method in DETECTORS if method not in (OWN, "CappedREFCMFS")]
    best = max(others, key=lambda method: means[method])
    by_rank = ranks(auroc)
    place = 1 + sum(by_rank[method] < by_rank[OWN] for method in others)
    large = [name for name, size in sizes.items() if size["rows"] > MANY_ROWS]
    slower = [name for name in large if seconds[name][OWN] > seconds[name][TIMED]]
    lines = [
        (means[OWN] >= GOAL, f"Mean AUROC {means[OWN]:.4f}; the goal is {GOAL}."),
        (means[OWN] > means[best], f"The best other detector, {best}, has {means[best]:.4f}."),
        (place <= 2, f"Place {place} by mean rank among the other libraries' detectors."),
        (
            not slower,
            f"On {len(large)} sets of more than {MANY_ROWS:,} rows, slower than {TIMED} on "
            f"{len(slower)}{': ' + ', '.join(slower) if slower else ''}.",
        ),
    ]
    text = "\n".join(f"- {'kept' if kept else '**missed**'}: {line}" for kept, line in lines)
    return f"## Goals of {OWN}\n\n{text}\n"


def _summary(auroc: Cells, precision: Cells, seconds: Cells, sizes: Cells) -> str:
    large = {name: seconds[name] for name, size in sizes.items() if size["rows"] > MANY_ROWS}
    by_rank = ranks(auroc)
    rows = []
    for method in sorted(DETECTORS, key=lambda name: -_column(auroc, name).mean()):
        areas, precisions = _column(auroc, method), _column(precision, method)
        values = [areas.mean(), np.median(areas), precisions.mean(), np.median(precisions)]
        times = [_column(seconds, method).sum(), _column(large, method).sum() if large else np.nan]
        shown = [f"{value:.3f}" for value in values]
        rows.append([method, *shown, f"{by_rank[method]:.2f}", *(f"{t:.2f}" for t in times)])
    head = ["detector", "AUROC, mean", "median", "average precision, mean", "median", "mean rank"]
    return table([*head, "seconds, all sets", f"sets of more than {MANY_ROWS:,} rows"], rows)


def _per_set(values: Cells, sizes: Cells, form: str) -> str:
    rows = [
        [
            f"{name} ({sizes[name]['rows']:.0f} x {sizes[name]['features']:.0f}, "
            f"{sizes[name]['anomalies']:.0f})",
            *(form.format(each[method]) for method in DETECTORS),
        ]
        for name, each in values.items()
    ]
    return table(["set (rows x columns, anomalies)", *DETECTORS], rows)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Lines of a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(each)} |" for each in lines) + "\n"
