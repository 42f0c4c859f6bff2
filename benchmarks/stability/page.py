"""``docs/stability.md``, made from the stored cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from benchmarks.harness.page import DOCS
from benchmarks.harness.setting import setting
from benchmarks.robustness.cells import Run
from benchmarks.stability.cases import Case

PAGE = "docs/stability.md"
STABLE = 0.98
"""Agreement of the labels before and after a fit from the true centers, from which on the truth is
a minimum of the objective."""
BEGIN = """# Stability: the same answer from every seed

Written by `python -m benchmarks.stability --write`; do not edit by hand. Estimators are fitted as
they come, `CappedREFCMFS(k, random_state=seed).fit(X)`, for many seeds; all are told the number of
clusters and nothing else.

- **ARI**: adjusted Rand index with the truth, of the rows that are not outliers: the lowest and the
  highest of all seeds. A spread above 0.02 is **bold** where the truth is a minimum of the
  objective, that is, where a fit that starts from the true centers keeps its labels ("truth kept",
  an adjusted Rand index of at least 0.98).
- **r, cap**: fuzzifier and cap, the lowest and the highest.
- **outliers**: share of the rows that are called outliers. **found**: share of the true outliers
  that are. **false alarms**: share of the others that are. **lost**: the largest share of a true
  cluster that is called outliers. Medians of all seeds.
- **stability**: `stability_`, the median. **warned**: number of seeds with a warning, by category.

Cases that were not run again keep their rows of the page before, with a \\* behind the name.
"""
KEPT = " \\*"
"""Mark of a row that was not measured again."""


def write_page(runs: Iterable[Run], sections: Mapping[str, Sequence[Case]], write: bool) -> str:
    """Text of the page, which is written if wanted."""
    found: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        found[run.cell.case, run.cell.method].append(run)
    page = DOCS / "stability.md"
    former = _former(page.read_text(encoding="utf-8")) if page.exists() else {}
    parts = [BEGIN, _machine()]
    for heading, cases in sections.items():
        for method in ("CappedREFCMFS", "REFCMFS"):
            title, rows = f"{heading}: {method}", []
            for case in cases:
                if (case.name, method) in found:
                    oracle = found.get((case.name, "oracle"))
                    rows.append(_row(case.name, found[case.name, method], oracle))
                elif (title, case.name) in former:
                    rows.append(former[title, case.name])
            if rows:
                parts.append(_table(title, rows))
    text = "\n".join(parts)
    if write:
        page.write_text(text, encoding="utf-8")
    return text


def _former(text: str) -> dict[tuple[str, str], list[str]]:
    """Rows of a page, by the heading of their table and the name of their case, marked as kept."""
    found = {}
    for part in text.split("\n## ")[1:]:
        heading, *lines = part.splitlines()
        for line in lines:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == len(HEAD) and cells[0] not in (HEAD[0], "---"):
                name = cells[0].removesuffix(KEPT)
                found[heading, name] = [name + KEPT, *cells[1:]]
    return found


def _machine() -> str:
    rows = "\n".join(f"| {name} | {value} |" for name, value in setting().items())
    return f"## Machine and versions\n\n| what | which |\n| --- | --- |\n{rows}\n"


HEAD = (
    "case", "seeds", "ARI", "truth kept", "r", "cap", "outliers", "found", "false alarms", "lost",
    "stability", "warned",
)  # fmt: skip


def _table(heading: str, rows: list[list[str]]) -> str:
    lines = [HEAD, ["---"] * len(HEAD), *rows]
    return f"## {heading}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _row(name: str, runs: list[Run], oracle: list[Run] | None) -> list[str]:
    values = {key: np.array([run.measures[key] for run in runs]) for key in runs[0].measures
              if not key.startswith("warned")}  # fmt: skip
    kept = oracle[0].measures["kept"] if oracle else -1.0
    spread = np.ptp(values["ari"])
    ari = f"{values['ari'].min():.3f} to {values['ari'].max():.3f}"
    if kept < 0:
        ari = ""
    elif spread > 0.02 and kept >= STABLE:
        ari = f"**{ari}**"
    return [
        name,
        str(len(runs)),
        ari,
        "" if kept < 0 else f"{kept:.2f}",
        _range(values["fuzzifier"], 3),
        "" if values["cap"].max() < 0 else _range(values["cap"], 3),
        _percent(values["outliers"]),
        _percent(values["found"]),
        _percent(values["alarms"]),
        "" if kept < 0 else _percent(values["lost"]),
        "" if np.median(values["stability"]) < 0 else f"{np.median(values['stability']):.2f}",
        _warned(runs),
    ]


def _range(values: np.ndarray, digits: int) -> str:
    low, high = (f"{each:.{digits + 1}g}" for each in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _percent(values: np.ndarray) -> str:
    middle = np.median(values)
    return "" if middle < 0 else f"{100 * middle:.1f} %"


def _warned(runs: list[Run]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for run in runs:
        for key in run.measures:
            if key.startswith("warned: "):
                counts[key.removeprefix("warned: ").removesuffix("Warning")] += 1
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
