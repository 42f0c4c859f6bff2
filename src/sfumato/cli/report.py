"""Reports of ``sfumato cluster``: errors and warnings in a line each, and a summary of the run."""

from __future__ import annotations

import json
import platform
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as RichTable
from sklearn.exceptions import ConvergenceWarning

from sfumato.estimators import REFCMFS, CappedREFCMFS
from sfumato.exceptions import Option, ParameterError, StreamError, UserError, one_line

PARAMETERS = (
    "n_clusters",
    "n_active",
    "fuzzifier",
    "n_init",
    "max_iter",
    "tol",
    "random_state",
    "n_threads",
    "checkpoint",
)
"""Parameters of the estimators that are options of the command, of the same names."""

LARGEST_SHOWN = 20
"""Clusters listed on the screen, the largest first; chosen by hand to fit on one page. The file
lists all."""


@dataclass(frozen=True)
class Counts:
    """Counts of a run.

    Attributes
    ----------
    sizes : sequence of int
        Rows of each cluster.
    outliers : int or None
        Rows that are outliers, where the method finds them.
    streamed : dict or None
        Number of passes and rows of a chunk, where the data was streamed.
    """

    sizes: Sequence[int]
    outliers: int | None = None
    streamed: dict[str, int] | None = None


@contextmanager
def translate_errors(path: Path, memory: int | None = None) -> Iterator[None]:
    """Turn errors of the library into a UserError, and print warnings in one line.

    Keyword arguments that a message names are written as options of the command; the name of the
    file is put in front of a message that does not have it.

    Parameters
    ----------
    path : Path
        The data.
    memory : int, optional
        Value of ``--memory``, if it was given.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # It is in the summary.
        warnings.showwarning = _print_warning  # Restored by catch_warnings.
        try:
            yield
        except FileNotFoundError as error:
            raise UserError(f"{one_line(error)}.") from error
        except StreamError as error:
            text = "".join(p if isinstance(p, str) else as_option(p) for p in error.parts)
            raise UserError(_about(path, text)) from error
        except ParameterError as error:
            raise UserError(_about_option(error, memory)) from error
        except ValueError as error:
            raise UserError(_about(path, str(error))) from error


def _about(path: Path, message: str) -> str:
    """Message in one line, after the name of the file unless it has it."""
    text = one_line(message)
    return f"{text}." if str(path) in text else f"{path}: {text}."


def _about_option(error: ParameterError, memory: int | None) -> str:
    """Message about a parameter, with options in place of parameters."""
    text = one_line(error)
    if error.name == "checkpoint" and "chunks was" in text and memory is None:
        text += "; the chunks of streamed data depend on --memory: give the same one each time"
    return f"{with_options(text, error.value)}."


def with_options(text: str, value: object = None) -> str:
    """Text in which parameters of the estimator are named as options.

    Parameters
    ----------
    text : str
        ``max_iter=3``, ``max_iter <= 3`` and ```max_iter``` become ``--max-iter 3``,
        ``--max-iter <= 3`` and ``--max-iter``.
    value : object, default=None
        Value of the user's, which is not changed.
    """
    names = "|".join(PARAMETERS)

    def option(found: re.Match[str]) -> str:
        return option_of(found[1] or found[3]) + (" " if found[2] == "=" else found[2] or "")

    pattern = rf"\b({names})(=| (?:<=|>=|<|>) )|`({names})`"
    parts = text.split(repr(value)) if value is not None else [text]
    return repr(value).join(re.sub(pattern, option, part) for part in parts)


def option_of(parameter: str) -> str:
    """Option of the command for a parameter of the estimator."""
    return f"--{parameter.replace('_', '-')}"


def as_option(advised: Option) -> str:
    """Option of the command for a keyword argument of ``sfumato.stream``, with its value."""
    name, value = advised
    if name == "header":
        return "--no-header"
    if name == "exclude" and value is not None:
        return " ".join(f"--exclude {shlex.quote(column)}" for column in value)
    option = {"ids": "--id-column"}.get(name, option_of(name))
    # As an escape where the character itself does not show: '\t'.
    return option if value is None else f"{option} '{repr(value)[1:-1]}'"


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"sfumato: {one_line(str(message))}.", file=sys.stderr)


def summarize(
    model: REFCMFS | CappedREFCMFS,
    given: dict[str, Any],
    counts: Counts,
    seconds: float,
    files: Sequence[str],
) -> dict[str, Any]:
    """All results of a run that are not in a table, as plain values.

    Parameters
    ----------
    model : REFCMFS or CappedREFCMFS
        Fitted.
    given : dict
        Of the input: file, rows, features, ignored columns.
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
        "intrinsic_dimension": model.intrinsic_dimension_,
        "objective": float(model.objective_),
        "iterations": model.n_iter_,
        "converged": model.outcome_.converged,
        "outcome": str(model.outcome_),
        "cluster_sizes": [int(size) for size in counts.sizes],
        **found,
        "seconds": round(seconds, 3),
        "files": list(files),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
    }


def _finite(value: float) -> float | None:
    """Number, or None for infinity, which JSON cannot hold."""
    return float(value) if np.isfinite(value) else None


def write_summary(summary: dict[str, Any], path: Path) -> None:
    """Write as JSON."""
    text = json.dumps(summary, indent=2, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8")


def print_summary(summary: dict[str, Any], folder: Path) -> None:
    """Print the main results."""
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
