"""The picture of all benchmarks: ratios as dots against their limits, and curves of growth.

Colors are from the palette of Okabe and Ito, and shapes repeat what colors say.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter, NullFormatter

from benchmarks.harness.report import Curve, Goal, Report

KEPT, MISSED, GRAY = "#0072B2", "#D55E00", "#8a8a8a"
ROW_HEIGHT, PANEL_HEIGHT = 0.27, 0.95
"""Inches of a dot's row, and of what a panel needs besides."""
CURVE_HEIGHT = 3.4
WIDTH = 11.5


def draw(reports: list[Report], path: Path) -> None:
    """Write the picture of all reports that have something to show."""
    dotted = [report for report in reports if report.axis and shown(report)]
    curves = [curve for report in reports for curve in report.curves]
    columns = balanced(dotted)
    height = max((sum(map(panel_height, column)) for column in columns), default=0.0)
    heights = [value for value in (height, CURVE_HEIGHT if curves else 0.0) if value]
    figure = Figure(figsize=(WIDTH, sum(heights) + 0.4), layout="constrained", facecolor="white")
    parts = np.ravel(figure.subfigures(len(heights), 1, height_ratios=heights))
    if height:
        sides = np.ravel(parts[0].subfigures(1, len(columns), wspace=0.03))
        for side, column in zip(sides, columns, strict=True):
            tall = [panel_height(report) for report in column]
            axes = np.ravel(side.subplots(len(column), 1, height_ratios=tall))
            for report, ax in zip(column, axes, strict=True):
                draw_dots(ax, report)
    if curves:
        for curve, ax in zip(curves, np.ravel(parts[-1].subplots(1, len(curves))), strict=True):
            draw_curve(ax, curve)
    figure.legend(handles=legend(), loc="outside lower center", ncols=5, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the version of matplotlib in it, the same numbers give the same file.
    figure.savefig(path, dpi=130, metadata={"Software": None})


def shown(report: Report) -> list[Goal]:
    return [*report.cells, *(goal for goal in report.goals if goal.plotted)]


def panel_height(report: Report) -> float:
    return PANEL_HEIGHT + ROW_HEIGHT * len(shown(report))


def balanced(reports: list[Report]) -> list[list[Report]]:
    """Two columns of panels of about the same height."""
    columns: list[list[Report]] = [[], []]
    for report in sorted(reports, key=panel_height, reverse=True):
        min(columns, key=lambda column: sum(map(panel_height, column))).append(report)
    return [sorted(column, key=reports.index) for column in columns if column]


def draw_dots(ax: Axes, report: Report) -> None:
    """A row per cell: its value as a dot, its limit as a bar."""
    goals = shown(report)
    for row, goal in enumerate(goals):
        color, marker = (KEPT, "o") if goal.kept else (MISSED, "D")
        ax.plot([0, goal.value], [row, row], color=color, alpha=0.25, linewidth=1.5)
        ax.plot(goal.value, row, marker, color=color, markersize=7, zorder=3)
        ax.plot([goal.limit] * 2, [row - 0.38, row + 0.38], color="black", linewidth=2)
    values = [value for goal in goals for value in (goal.value, goal.limit)]
    ax.set_xlim(min(0.0, 1.1 * min(values)), 1.12 * max(values))
    if "/ data" not in report.axis:
        ax.axvline(1, color=GRAY, linewidth=1.5, linestyle=":", zorder=0)
    ax.set_yticks(range(len(goals)), [goal.what for goal in goals])
    ax.set_ylim(len(goals) - 0.4, -0.6)
    ax.set_xlabel(report.axis)
    ax.set_title(report.title + (" (quick)" if report.quick else ""), loc="left", fontsize=11)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#e6e6e6")
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)


def draw_curve(ax: Axes, curve: Curve) -> None:
    """Measured times, and the straight line of linear growth from the first of them."""
    sizes, times = np.array(curve.sizes), 1e3 * np.array(curve.seconds)
    ax.loglog(sizes, times[0] * sizes / sizes[0], "--", color=GRAY, linewidth=1.2)
    ax.loglog(sizes, times, "o-", color=KEPT, markersize=6)
    ax.set_xlabel(f"number of {curve.axis}")
    ax.set_ylabel(f"ms per {curve.of}")
    if curve.axis == "clusters":
        ax.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(LogFormatter())
    ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
    ax.set_title(
        f"A {curve.of} over {curve.axis}: slope {curve.slope:.3f}", loc="left", fontsize=11
    )
    ax.grid(color="#e6e6e6")
    ax.spines[["top", "right"]].set_visible(False)


def legend() -> list[Line2D]:
    return [
        Line2D([], [], linestyle="", marker="o", color=KEPT, label="measured, limit kept"),
        Line2D([], [], linestyle="", marker="D", color=MISSED, label="measured, limit missed"),
        Line2D([], [], linestyle="", marker="|", color="black", ms=11, mew=2, label="limit"),
        Line2D([], [], linestyle=":", color=GRAY, linewidth=1.5, label="equally fast"),
        Line2D([], [], linestyle="--", color=GRAY, label="linear growth"),
    ]
