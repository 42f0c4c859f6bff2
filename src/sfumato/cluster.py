"""The job of ``sfumato cluster``: a file in, a folder of results out, a summary on the screen."""

from __future__ import annotations

import json
import platform
import re
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable
from sklearn.callback import CallbackContext
from sklearn.exceptions import ConvergenceWarning

from sfumato import tables
from sfumato.folder import Folder
from sfumato.presets import REFCMFS, CappedREFCMFS
from sfumato.tables import Source, Table, UserError

OPTIONS = {
    "n_clusters": "--clusters",
    "n_active": "--active",
    "fuzzifier": "--fuzzifier",
    "n_init": "--starts",
    "max_iter": "--max-iter",
    "tol": "--tol",
    "random_state": "--seed",
    "n_threads": "--threads",
}
"""Parameters of the estimator, as the command line spells them."""

LARGEST_SHOWN = 20
"""Clusters in the summary; more would scroll the rest of it away."""


class FitProgress:
    """One bar over all starts of a fit, on the error stream; a scikit-learn callback.

    A start seldom needs all of ``max_iter`` iterations, so the bar jumps ahead when one ends.
    """

    def __init__(self) -> None:
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[iteration]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task("looking at the data", total=None, iteration="")
        self.iterations: dict[int, int] = {}

    def setup(self, estimator: Any, context: CallbackContext) -> None:
        """Learn how long the fit may become."""
        starts = context.max_subtasks
        self.bar.update(self.task, total=starts * estimator.max_iter)

    def on_fit_task_begin(self, estimator: Any, context: CallbackContext) -> None:
        """Name the start that begins."""
        if _depth(context) == 1:
            starts = context.parent.max_subtasks
            text = f"start {context.task_id + 1} of {starts}"
            self.bar.update(self.task, description=text, iteration="")

    def on_fit_task_end(self, estimator: Any, context: CallbackContext) -> None:
        """Count an iteration, or the rest of those that a start might have made."""
        if _depth(context) == 2:  # Starts take turns: say which one this iteration belongs to.
            start, n_starts = context.parent.task_id, context.parent.parent.max_subtasks
            self.iterations[start] = context.task_id + 1
            where = f"start {start + 1} of {n_starts}"
            text = f"iteration {context.task_id + 1} of at most {estimator.max_iter}"
            self.bar.update(self.task, advance=1, description=where, iteration=text)
        elif _depth(context) == 1:
            rest = estimator.max_iter - self.iterations.pop(context.task_id, 0)
            self.bar.update(self.task, advance=rest)

    def teardown(self, estimator: Any, context: CallbackContext) -> None:
        """Nothing is left to do: whoever started the bar ends it."""


def _depth(context: CallbackContext) -> int:
    depth = 0
    while context.parent is not None:
        context, depth = context.parent, depth + 1
    return depth


def cluster_file(
    source: Source,
    model: REFCMFS | CappedREFCMFS,
    output: Path,
    file_format: str,
    force: bool,
) -> None:
    """Read, fit, write, and print a summary.

    Parameters
    ----------
    source : Source
        File, and which part of it to use.
    model : REFCMFS or CappedREFCMFS
        Estimator to fit; the second also says which rows are outliers.
    output : Path
        Folder for the results.
    file_format : {"csv", "parquet"}
        Format of the tables in it.
    force : bool
        Whether to replace results that are there.
    """
    _require_writers(file_format)
    names = [f"{name}.{file_format}" for name in ("labels", "memberships", "centers")]
    folder = Folder(output, (*names, "summary.json"), force)
    folder.check()
    table = source.read()
    began = time.perf_counter()
    _fit(model, table, source)
    summary = _summary(model, table, source, time.perf_counter() - began, folder)
    more = {}
    if isinstance(model, CappedREFCMFS):
        more = {"outlier": model.outliers_, "outlier_score": model.outlier_scores_}
    frames = [
        tables.labels_frame(table, model.labels_, model.memberships_, more),
        tables.memberships_frame(table, model.memberships_),
        tables.centers_frame(table, model.cluster_centers_),
    ]
    writers: dict[str, Callable[[Path], object]] = {
        name: partial(tables.write_frame, frame) for name, frame in zip(names, frames, strict=True)
    }
    text = json.dumps(summary, indent=2, allow_nan=False) + "\n"
    writers["summary.json"] = partial(Path.write_text, data=text, encoding="utf-8")
    folder.write(writers)
    _print(summary, folder)


def _require_writers(file_format: str) -> None:
    """Import what writing will need, so that nothing is found missing after the fit."""
    import pandas  # noqa: F401

    if file_format == "parquet":
        import pyarrow  # noqa: F401


def _fit(model: REFCMFS | CappedREFCMFS, table: Table, source: Source) -> None:
    """Fit with a progress bar, if somebody is watching."""
    with ExitStack() as stack:
        if sys.stderr.isatty():
            progress = FitProgress()
            model.set_callbacks(progress)
            stack.enter_context(progress.bar)
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", ConvergenceWarning)  # The summary says it.
        try:
            model.fit(table.values)
        except ValueError as error:
            text = re.sub(r"^(Input )?X\b", str(source.path), tables.one_line(error))
            raise UserError(f"{in_options(text)}.") from error


def in_options(text: str) -> str:
    """Text of the library with parameters spelled as options of the command line."""
    names = "|".join(OPTIONS)
    return re.sub(rf"`?\b({names})\b`?", lambda found: OPTIONS[found[1]], text)


def _summary(
    model: REFCMFS | CappedREFCMFS,
    table: Table,
    source: Source,
    seconds: float,
    folder: Folder,
) -> dict[str, Any]:
    """Everything about a run that is not a table."""
    n_rows, n_features = table.values.shape
    packages = ("sfumato", "numpy", "scipy", "scikit-learn")
    robust = isinstance(model, CappedREFCMFS)
    found = {"cap": _finite(model.cap_), "outliers": int(model.outliers_.sum())} if robust else {}
    return {
        "input": {
            "file": str(source.path),
            "rows": n_rows,
            "features": n_features,
            "ignored_columns": list(table.ignored),
        },
        "method": type(model).__name__,
        "parameters": model.get_params(),
        "n_active": model.n_active_,
        "fuzzifier": model.fuzzifier_,
        "intrinsic_dimension": getattr(model, "intrinsic_dimension_", None),
        "objective": float(model.objective_),
        "iterations": model.n_iter_,
        "converged": model.outcome_.converged,
        "outcome": in_options(str(model.outcome_)),
        "cluster_sizes": np.bincount(model.labels_, minlength=model.n_clusters).tolist(),
        **found,
        "seconds": round(seconds, 3),
        "files": list(folder.names),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
    }


def _finite(value: float) -> float | None:
    """Number, or None for infinity, which JSON does not know."""
    return float(value) if np.isfinite(value) else None


def _print(summary: dict[str, Any], folder: Folder) -> None:
    console = Console(markup=False, highlight=False, soft_wrap=True)
    given, sizes = summary["input"], np.array(summary["cluster_sizes"])
    console.print(
        f"{given['file']}: {given['rows']} rows, {given['features']} features, "
        f"{len(sizes)} clusters, {summary['n_active']} memberships a row, "
        f"fuzzifier {summary['fuzzifier']:.4g}"
    )
    if given["ignored_columns"]:
        console.print(f"Ignored, no numbers: {', '.join(given['ignored_columns'])}")
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
    console.print(f"Written to {folder.path}: {', '.join(summary['files'])}")
