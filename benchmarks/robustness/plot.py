"""Small multiples: a measure over the contamination, a panel per kind of outliers and dimension.

Colors are from the palette of Okabe and Ito, and shapes repeat what colors say.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.robustness.cases import CLEAN, DIMENSIONS, KINDS
from benchmarks.robustness.peers import OURS
from benchmarks.robustness.summary import Summary

STYLES = {
    OURS: ("#D55E00", "o", "-"),
    "K-Means": ("#000000", "s", "-"),
    "FCM": ("#E69F00", "^", "-"),
    "REFCMFS": ("#0072B2", "D", "-"),
    "GMM": ("#56B4E9", "v", "-"),
    "trimmed k-means": ("#009E73", "P", "-"),
    "KNN k-means": ("#B8A100", "h", "-"),
    "noise clustering": ("#CC79A7", "X", "-"),
    "HDBSCAN": ("#8a8a8a", "<", "-"),
    "IsolationForest": ("#009E73", "*", ":"),
    "LOF": ("#56B4E9", ">", ":"),
}
"""Color, marker and line."""
TITLES = {
    "uniform": "far uniform",
    "cauchy": "Cauchy",
    "clump": "one far clump",
    "clumps": "tight far clumps",
    "between": "between clusters",
}
PANEL = (2.7, 1.9)
LABEL = 2.0
"""Inches, of a panel and of the name of a method."""
LOW, HIGH = -0.05, 1.08


def draw(summary: Summary, measure: str, label: str, shape: str, path: Path) -> None:
    """Write the picture of a measure for clusters of a shape."""
    shown = summary.blobs(lambda case: case.shape == shape)
    kinds = [kind for kind in KINDS if any(case.kind == kind for case in shown)]
    sizes = [size for size in DIMENSIONS if any(case.n_features == size for case in shown)]
    methods = summary.measured(measure)
    figure = Figure(
        figsize=(PANEL[0] * len(sizes) + 0.6, PANEL[1] * len(kinds) + 1.1),
        layout="constrained",
        facecolor="white",
    )
    grid = figure.subplots(len(kinds), len(sizes), sharex=True, sharey=True, squeeze=False)
    for kind, row in zip(kinds, grid, strict=True):
        for n_features, ax in zip(sizes, row, strict=True):
            cases = [c for c in shown if c.n_features == n_features and c.kind in (kind, CLEAN)]
            for method in methods:
                draw_line(ax, summary, measure, method, cases)
            dress(ax, f"{TITLES[kind]}, {n_features}-D")
        row[0].set_ylabel(label)
    for ax in grid[-1]:
        ax.set_xlabel("outliers, %")
    lines = {line.get_label(): line for ax in grid.flat for line in ax.get_lines()}
    handles = [lines[method] for method in methods if method in lines]
    columns = int(figure.get_figwidth() // LABEL)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the version of matplotlib in it, the same numbers give the same file.
    figure.savefig(path, dpi=130, metadata={"Software": None})


def draw_line(ax: Axes, summary: Summary, measure: str, method: str, cases: list) -> None:
    """Medians over the contamination; for ours, down to the worst seed as well."""
    points = [
        (100 * case.share, median, summary.worst(case.name, method, measure))
        for case in sorted(cases, key=lambda case: case.share)
        if (median := summary.median(case.name, method, measure)) is not None
    ]
    if not points:
        return
    shares, medians, worst = np.array(points).T
    color, marker, line = STYLES[method]
    ours = method == OURS
    ax.plot(
        shares,
        medians,
        color=color,
        marker=marker,
        linestyle=line,
        linewidth=4.5 if ours else 1.2,
        markersize=9 if ours else 4.5,
        label=method,
        zorder=2 if ours else 3,  # Broad and below: lines that coincide with ours stay visible.
    )
    if ours:
        ax.fill_between(shares, worst, medians, color=color, alpha=0.2, linewidth=0)


def dress(ax: Axes, title: str) -> None:
    ax.set_title(title, loc="left", fontsize=10)
    ax.set_ylim(LOW, HIGH)
    ax.set_xlim(-2, 42)
    ax.set_xticks([0, 10, 20, 30, 40])
    ax.grid(color="#e6e6e6")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
