"""The measured part of ``docs/scale.md``; what is above its mark is written by hand."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness.page import DOCS, section, settings
from benchmarks.harness.report import Report

PAGE = DOCS / "scale.md"
PICTURE = Path("images") / "scale.png"
MARK = "<!-- Measured: from here on written by `python -m benchmarks.scale --write`. -->"
COLORS = {"1": "#0072b2", "2": "#d55e00"}


def write_page(reports: list[Report]) -> None:
    """Renew everything below the mark, and the picture."""
    above = PAGE.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    draw(reports, DOCS / PICTURE)
    parts = [
        MARK,
        "",
        f"![A pass on one and two workers, measured and predicted]({PICTURE})",
        "",
        *map(section, reports),
        *settings(reports),
    ]
    PAGE.write_text(above + "\n\n" + "\n".join(parts), encoding="utf-8")


def draw(reports: list[Report], path: Path) -> None:
    """Ratios beside their limits, and the model beside what was measured."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    cells = [cell for report in reports if report.name != "seeding" for cell in report.cells]
    for place, cell in enumerate(reversed(cells)):
        left.barh(place, cell.value, color="#0072b2", height=0.5)
        left.plot([cell.limit] * 2, [place - 0.35, place + 0.35], color="black")
    left.set_yticks(range(len(cells)), [cell.what for cell in reversed(cells)])
    left.set_xlabel("ratio of times; the black line is the limit")
    for curve in (curve for report in reports for curve in report.curves):
        kind, count = curve.axis.split(", ")
        measured = kind == "chunks"
        right.plot(
            curve.sizes,
            curve.seconds,
            "o" if measured else "-",
            color=COLORS[count[0]],
            label=f"{'measured' if measured else 'model'}, {count}",
        )
    right.set(xscale="log", yscale="log", xlabel="chunks", ylabel="seconds of a pass")
    right.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
