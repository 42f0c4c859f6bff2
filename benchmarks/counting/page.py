"""The page of ``python -m benchmarks.counting``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from benchmarks.counting.cells import (
    BEYOND,
    LEAST_GROUP,
    MOST_COLUMNS,
    OUTLIERS,
    REFERENCES,
    Make,
)
from benchmarks.harness.setting import setting
from benchmarks.robustness.cells import Run

PAGE = "docs/how-many-clusters.md"
SHOWN = ("sfumato", "GaussianMixture, BIC", "silhouette", "Calinski-Harabasz", "gap", "HDBSCAN")
CRITERIA = {
    "bic_common_width": "BIC, common width",
    "gap": "gap",
    "prediction_strength": "prediction strength",
    "silhouette": "silhouette",
    "fuzzy_silhouette": "fuzzy silhouette",
    "calinski_harabasz": "Calinski-Harabasz",
    "davies_bouldin": "Davies-Bouldin",
    "xie_beni": "Xie-Beni",
    "pbm": "PBM",
}
"""Criteria of a selection beside its own, and their columns."""


LEVELS = ("clean", "10 % outliers", "30 % outliers")
"""Shares of outliers by which methods are compared; see :func:`_level`."""
REAL = "Real data"

Found = Mapping[str, Mapping[str, list[float]]]
"""Numbers by case and column."""
Sections = Mapping[str, Mapping[str, Make]]

BEGIN = f"""# How many clusters?

Written by `python -m benchmarks.counting --write`; do not edit by hand. Every seed draws data of
its own, of 2,000 rows unless said otherwise. A column has the share of the seeds with the exact
number, and, if some differ, the numbers that were found instead. The column "seeds" is that of
sfumato; other methods have three or one. Empty: not run. Other methods were measured once: sfumato
alone is measured again when it changes.

- **sfumato**: `select_n_clusters(X, random_state=seed)`, which is not told any number.
- **GaussianMixture, BIC**: scikit-learn's, with full covariances up to 10 dimensions and diagonal
  ones above. It and the next three choose from 1 (the silhouette and Calinski-Harabasz: 2) to
  {BEYOND} beyond the true number: an advantage. Of pictures, these four get the first
  {MOST_COLUMNS} principal components.
- **silhouette** (of a sample of 1,000 rows), **Calinski-Harabasz**, **gap** ({REFERENCES} uniform
  references): KMeans, three starts.
- **HDBSCAN**: scikit-learn's, `min_cluster_size={LEAST_GROUP}`.

Separation is the least distance of two centers in widths of the wider cluster; centers are as close
as they may be. Shapes have the same variance as the Gaussians; long clusters are three times as
wide in one direction, so that at separation 6 some nearly touch. Of real data, the truth is the
number of classes, which need not be clusters.

## Where it errs, and why

- **Small clusters.** Of 20 clusters of sizes 1:10 in 1,400 to 2,000 rows, the smallest have some 10
  to 20 rows, up to three times as wide as others. In 50 columns, at separation 4, one of them is
  often missed; in two columns, rarely, among 30 % Cauchy outliers.
- **Clusters that touch.** At separation 3 in two columns the density between two clusters is hardly
  lower than at their centers, so that some are said to be one, where the number of components, and
  criteria that look at no valleys, are right.
- **Clusters with heavy tails, Student's t with 3 degrees of freedom, in 30 % Cauchy outliers**, 10
  and 50 columns: two or three of ten data sets are said to be one cluster.
- **Bent clusters** are divided into long components, and are one cluster only if no valley is found
  along the lines between them.
- **Real data**: classes of digits and pictures are not clusters: some have several, some share one.
"""


def page_of(runs: Iterable[Run], sections: Sections) -> str:
    """Text of the page."""
    runs = list(runs)
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for name, value in run.measures.items():
            found[run.cell.case][name].append(value)
    comparison = _comparison(runs, sections)
    summary, criteria = _summary(found, sections), _criteria(found, sections)
    parts = [BEGIN, comparison, summary, criteria, _machine()]
    for heading, cases in sections.items():
        rows = [_row(name, found[name]) for name in cases if name in found]
        if rows:
            parts.append(f"## {heading}\n\n" + _lines(["case", "seeds", *SHOWN], rows))
    return "\n".join(parts)


def _comparison(runs: Sequence[Run], sections: Sections) -> str:
    """The rule beside the best of the other methods, and of the other criteria, on equal cells."""
    cells: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for run in runs:
        cells[run.cell.case, run.cell.seed] |= run.measures
    complete = {cell: own for cell, own in cells.items() if all(name in own for name in SHOWN)}
    rows = []
    made = {heading: cases for heading, cases in sections.items() if heading != REAL}
    everything = {name: make for cases in made.values() for name, make in cases.items()}
    for heading, cases in {"all": everything, **made}.items():
        for level in LEVELS:
            names = {name for name in cases if _level(name) == level}
            chosen = [own for (case, _), own in complete.items() if case in names]
            if chosen:
                rows.append([heading, level, str(len(chosen)), *_ahead(chosen)])
    head = ["cases", "outliers", "data sets", "sfumato"]
    head += ["best other method", "ahead by", "best other criterion", "ahead by"]
    text = (
        "## Ahead, or behind\n\nShare of exact numbers on the data sets that all methods have run. "
        "Other criteria are those of `selection_.scores`, for the same components and without "
        "outliers. Differences are in points.\n\n"
    )
    return text + _lines(head, rows)


def _ahead(chosen: Sequence[Mapping[str, float]]) -> list[str]:
    """Share of the rule, and the best other method and criterion, with the differences."""

    def share(name: str) -> float:
        return float(np.mean([own.get(name) == own["truth"] for own in chosen]))

    mine = share("sfumato")
    found = [f"{mine:.1%}"]
    criteria = {f"criterion: {name}": words for name, words in CRITERIA.items()}
    for columns in ({name: name for name in SHOWN[1:]}, criteria):
        best = max(columns, key=share)
        points = 100 * (mine - share(best))
        found += [f"{columns[best]}: {share(best):.1%}", f"{points:+.1f}"]
    return found


def _level(case: str) -> str:
    """Share of outliers of a case, by its name."""
    return next((level for level in LEVELS[1:] if level.split(" o")[0] in case), LEVELS[0])


def _lines(head: list[str], rows: list[list[str]]) -> str:
    return (
        "\n".join(f"| {' | '.join(each)} |" for each in [head, ["---"] * len(head), *rows]) + "\n"
    )


def _row(name: str, found: Mapping[str, list[float]]) -> list[str]:
    truth = found["truth"][0]
    return [name, str(len(found["sfumato"])), *(_share(found.get(m, []), truth) for m in SHOWN)]


def _share(numbers: Sequence[float], truth: float) -> str:
    if not numbers:
        return ""
    wrong = sorted({int(n) for n in numbers if n != truth})
    exact = sum(n == truth for n in numbers) / len(numbers)
    named = ", ".join(map(str, wrong[:4])) + (", ..." if len(wrong) > 4 else "")
    return f"{exact:.0%}" + (f" ({named})" if wrong else "")


def _summary(found: Found, sections: Sections) -> str:
    """Exact numbers over all cases of a section, and of the same cases by outliers."""
    rows = []
    for heading, cases in sections.items():
        for words in ("", *OUTLIERS) if "Gaussian" in heading else ("",):
            chosen = [found[name] for name in cases if name in found and name.endswith(words)]
            if chosen:
                text = f"{heading}{f': {words}' if words else ''}"
                rows.append([text, *(_total(chosen, method) for method in SHOWN)])
    return "## Share of exact numbers\n\n" + _lines(["cases", *SHOWN], rows)


def _criteria(found: Found, sections: Sections) -> str:
    """Exact numbers of each criterion of a selection, over all cases of a section."""
    rows = []
    for heading, cases in sections.items():
        chosen = [found[name] for name in cases if name in found]
        totals = [_total(chosen, f"criterion: {name}") for name in CRITERIA]
        if any(totals):
            rows.append([heading, _total(chosen, "sfumato"), *totals])
    text = (
        "## Criteria of `selection_.scores`\n\nThe number that each criterion prefers alone "
        "(`selection_.preferred`), for the components of the path and without the rows that are "
        "outliers.\n\n"
    )
    return text + _lines(["cases", "the rule", *CRITERIA.values()], rows)


def _total(chosen: Sequence[Mapping[str, list[float]]], method: str) -> str:
    hits = [n == each["truth"][0] for each in chosen for n in each.get(method, [])]
    return f"{np.mean(hits):.0%} of {len(hits)}" if hits else ""


def _machine() -> str:
    rows = [[name, value] for name, value in setting().items()]
    return "## Machine and versions\n\n" + _lines(["what", "which"], rows)
