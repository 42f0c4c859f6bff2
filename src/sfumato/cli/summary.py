"""What a run of ``sfumato cluster`` found, for a file and for the screen."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as RichTable

from sfumato.estimators import REFCMFS, CappedREFCMFS

OPTIONS = {
    "n_clusters": "--clusters",
    "n_active": "--active",
    "fuzzifier": "--fuzzifier",
    "n_init": "--starts",
    "max_iter": "--max-iter",
    "tol": "--tol",
    "random_state": "--seed",
    "n_threads": "--threads",
    "checkpoint": "--checkpoint",
}
"""Parameters of the estimator, as the command line spells them."""

STREAM_OPTIONS = {
    "columns=": "--columns or --exclude",
    "separator=": "--separator",
    "header=False": "--no-header",
}
"""Options of streams, as the command line spells them."""

LARGEST_SHOWN = 20
"""Clusters in the summary; more would scroll the rest of it away."""


@dataclass(frozen=True)
class Counts:
    """What was counted: rows per cluster, outliers, and how it was streamed, if it was."""

    sizes: Sequence[int]
    outliers: int | None = None
    streamed: dict[str, int] | None = None


def in_options(text: str) -> str:
    """Text of the library with parameters spelled as options of the command line."""
    names = "|".join(OPTIONS)
    text = re.sub(rf"`?\b({names})\b`?", lambda found: OPTIONS[found[1]], text)
    names = "|".join(STREAM_OPTIONS)
    return re.sub(rf"(?<!-)\b({names})", lambda found: STREAM_OPTIONS[found[1]], text)


def summarize(
    model: REFCMFS | CappedREFCMFS,
    given: dict[str, Any],
    counts: Counts,
    seconds: float,
    files: Sequence[str],
) -> dict[str, Any]:
    """Everything about a run that is not a table.

    Parameters
    ----------
    model : REFCMFS or CappedREFCMFS
        Fitted.
    given : dict
        About the input: file, rows, features, ignored columns.
    counts : Counts
    seconds : float
        Time of the fit.
    files : sequence of str
        Names of all results.
    """
    packages = ("sfumato", "numpy", "scipy", "scikit-learn")
    found: dict[str, Any] = {}
    if counts.outliers is not None:
        found = {"cap": _finite(model.cap_), "outliers": counts.outliers}
    if counts.streamed is not None:
        found["streamed"] = counts.streamed
    return {
        "input": given,
        "method": type(model).__name__,
        "parameters": model.get_params(),
        "n_active": model.n_active_,
        "fuzzifier": model.fuzzifier_,
        "intrinsic_dimension": getattr(model, "intrinsic_dimension_", None),
        "objective": float(model.objective_),
        "iterations": model.n_iter_,
        "converged": model.outcome_.converged,
        "outcome": in_options(str(model.outcome_)),
        "cluster_sizes": [int(size) for size in counts.sizes],
        **found,
        "seconds": round(seconds, 3),
        "files": list(files),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
    }


def _finite(value: float) -> float | None:
    """Number, or None for infinity, which JSON does not know."""
    return float(value) if np.isfinite(value) else None


def write_summary(summary: dict[str, Any], path: Path) -> None:
    """Write as JSON."""
    text = json.dumps(summary, indent=2, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8")


def print_summary(summary: dict[str, Any], folder: Path) -> None:
    """Print what somebody at a screen wants to know."""
    console = Console(markup=False, highlight=False, soft_wrap=True)
    given, sizes = summary["input"], np.array(summary["cluster_sizes"])
    console.print(
        f"{given['file']}: {given['rows']} rows, {given['features']} features, "
        f"{len(sizes)} clusters, {summary['n_active']} memberships a row, "
        f"fuzzifier {summary['fuzzifier']:.4g}"
    )
    if given["ignored_columns"]:
        console.print(f"Ignored, no numbers: {', '.join(given['ignored_columns'])}")
    if "streamed" in summary:
        how = summary["streamed"]
        console.print(
            f"Streamed in {how['passes']} passes, in chunks of at most {how['chunk_rows']} rows"
        )
    shown = np.argsort(-sizes, kind="stable")[:LARGEST_SHOWN]
    grid = RichTable("cluster", "rows", "share")
    for column in grid.columns:
        column.justify = "right"
    for cluster in shown:
        grid.add_row(str(cluster), str(sizes[cluster]), f"{sizes[cluster] / sizes.sum():.1%}")
    console.print(grid)
    if len(sizes) > len(shown):
        console.print(f"and {len(sizes) - len(shown)} smaller clusters")
    if "outliers" in summary:
        share = summary["outliers"] / given["rows"]
        console.print(f"Outliers: {summary['outliers']} rows ({share:.1%}), by their scores")
    console.print(
        f"Objective {summary['objective']:.8g} after {summary['iterations']} iterations, "
        f"{summary['seconds']:.2f} s. {summary['outcome']}"
    )
    console.print(f"Written to {folder}: {', '.join(summary['files'])}")
