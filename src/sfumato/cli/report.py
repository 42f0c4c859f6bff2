"""Reports of ``sfumato cluster``: errors and warnings in a line each, and a summary of the run."""

from __future__ import annotations

import json
import platform
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

from sfumato._inspection import NotFiniteError
from sfumato._tables.decisions import percent
from sfumato.cli.methods import PARAMETERS, name_of, option_of
from sfumato.estimators._base import BaseFuzzyClustering
from sfumato.exceptions import (
    Message,
    NoValue,
    Option,
    ParameterError,
    UserError,
    message_of,
    one_line,
)
from sfumato.memberships import Hard

OPTIONS = {name: option_of(name) for name in (*PARAMETERS, "columns", "exclude", "key")} | {
    "numbers": "--number",
    "categories": "--category",
    "separator": "--separator",
    "decimal": "--decimal",
    "header": "--no-header",
    "ids": "--id-column",
    "chunk_rows": "--memory",
}
"""Options of the command for parameters of estimators and keyword arguments of ``sfumato.stream``
that messages of the library name."""

LARGEST_SHOWN = 20
"""Clusters listed on the screen, the largest first; chosen by hand to fit on one page. The file
lists all."""


@dataclass(frozen=True)
class Counts:
    """Counts of a run.

    Attributes
    ----------
    sizes : sequence of int
        Rows of each cluster, without outliers.
    outliers : int
        Rows that are outliers.
    sure : int
        Rows that are no outliers and whose largest membership is at least ``SURE``.
    """

    sizes: Sequence[int]
    outliers: int
    sure: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.sizes) + self.outliers


@contextmanager
def translate_errors(path: Path) -> Iterator[list[dict[str, str]]]:
    """Turn errors of the library into a UserError, and print warnings in one line each.

    Parameters that a message names are written as options of the command; the name of the file is
    put in front of a message that does not have it.

    Parameters
    ----------
    path : Path
        The data.

    Yields
    ------
    warned : list of dict
        Category and message of each warning so far.
    """
    warned: list[dict[str, str]] = []

    def keep(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        entry = {"category": category.__name__, "message": " ".join(str(message).split())}
        if entry not in warned:
            warned.append(entry)
            said = message_of(message) if isinstance(message, Warning) else Message(message)
            print(f"sfumato: warning: {one_line(with_options(said))}.", file=sys.stderr)

    with warnings.catch_warnings():
        # Whatever was raised before in this process; ``keep`` leaves out what is repeated.
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = keep  # Restored by catch_warnings.
        try:
            yield warned
        except FileNotFoundError as error:
            raise UserError(f"{one_line(error)}.") from error
        except NotFiniteError as error:
            value = "a missing value (NaN)" if np.isnan(error.value) else f"the value {error.value}"
            raise UserError(
                f"{error.where}: {value}; fill in such values, leave out their rows, or leave "
                "out the column with --exclude NAME."
            ) from error
        except ParameterError as error:
            raise UserError(f"{one_line(with_options(message_of(error)))}.") from error
        except MemoryError as error:
            raise UserError(
                f"{path}: there is not enough memory ({one_line(error)}); give fewer clusters or "
                "columns, or a larger machine."
            ) from error
        except ValueError as error:
            raise UserError(_about(path, with_options(message_of(error)))) from error


def _about(path: Path, message: str) -> str:
    """Message in one line, after the name of the file unless it has it."""
    text = one_line(message)
    text = text if str(path) in text else f"{path}: {text}"
    return text if text.endswith("?") else f"{text}."


def with_options(message: Message) -> str:
    """Text of a message, with the options of the command for the parameters that it names."""
    return message.written(as_option)


def as_option(named: Option) -> str:
    """Parameter in a message as an option of the command, with its value; as it is if none is."""
    option = OPTIONS.get(named.name)
    if option is None:
        return str(named)
    if named.value is NoValue.NO_VALUE or named.name == "header":
        return option
    if named.name == "exclude":
        return " ".join(f"{option} {shlex.quote(column)}" for column in named.value)
    return f"{option} {named.text}"


def summarize(
    model: BaseFuzzyClustering, given: dict[str, Any], counts: Counts, run: dict[str, Any]
) -> dict[str, Any]:
    """All results of a run that are not in a table, as plain values.

    Parameters
    ----------
    model : estimator
        Fitted.
    given : dict
        Of the input: file, rows, features, ignored columns.
    counts : Counts
    run : dict
        Of the run: seconds of the fit, names of all files, warnings, and where it was streamed or
        resumed.
    """
    packages = ("sfumato", "numpy", "scipy", "scikit-learn")
    inside = sum(counts.sizes)
    results = {
        "cluster_sizes": [int(size) for size in counts.sizes],
        "outliers": counts.outliers,
        "sure": None if _is_hard(model) or not inside else counts.sure / inside,
    }
    return {
        "found": found(results),
        "input": given,
        "method": name_of(model),
        "estimator": type(model).__name__,
        "parameters": model.get_params(deep=False),
        "n_clusters": model.n_clusters_,
        "selection": None if model.selection_ is None else model.selection_.to_dict(),
        "n_active": model.n_active_,
        "fuzzifier": _finite(model.fuzzifier_),
        "cap": _finite(model.cap_),
        "intrinsic_dimension": model.intrinsic_dimension_,
        "objective": float(model.objective_),
        "iterations": model.n_iter_,
        "converged": model.outcome_.converged,
        "outcome": model.outcome_.reason.value,
        **results,
        **run,
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
    }


def _is_hard(model: BaseFuzzyClustering) -> bool:
    """Whether all memberships are 0 or 1."""
    return model.n_active_ == 1 or isinstance(model.membership_, Hard)


def _finite(value: float) -> float | None:
    """Number, or None for infinity, which JSON cannot hold."""
    return float(value) if np.isfinite(value) else None


def write_summary(summary: dict[str, Any], path: Path) -> None:
    """Write as JSON."""
    text = json.dumps(summary, indent=2, allow_nan=False) + "\n"
    path.write_text(text, encoding="utf-8")


def found(results: dict[str, Any]) -> str:
    """What a run found, in one line, from the sizes of clusters, outliers, and the sure share."""
    sizes = results["cluster_sizes"]
    parts = [_count(len(sizes), "cluster"), _count(results["outliers"], "outlier")]
    if 0 in sizes:  # The rows of a cluster may all be outliers.
        parts[0] = f"{len(sizes) - sizes.count(0)} of {parts[0]} with rows"
    if results["sure"] is not None:
        others = "other rows" if results["outliers"] else "rows"
        parts.append(f"sure of {_percent(results['sure'])} of the {others}")
    return ", ".join(parts)


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _percent(share: float) -> str:
    """Share in whole percent; 0 and 100 % are exact."""
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{share:.0%}".replace("%", " %")


def print_summary(summary: dict[str, Any], folder: Path) -> None:
    """Print the main results."""
    console = Console(markup=False, highlight=False, soft_wrap=True)
    given = summary["input"]
    console.print(
        f"{given['file']}: {given['rows']} rows, {given['features']} features; "
        f"{summary['method']}{_chosen(summary)}"
    )
    for each in given["columns"]:
        gone = f"; {percent(each['missing'])} missing" if each["missing"] else ""
        console.print(
            f"  {each['column']}: {each['kind']}, {each['action']} ({each['reason']}){gone}"
        )
    if given["ignored_columns"]:
        console.print(f"Ignored, no numbers: {', '.join(given['ignored_columns'])}")
    if "streamed" in summary:
        how = summary["streamed"]
        console.print(
            f"Streamed in {how['passes']} passes, in chunks of at most {how['chunk_rows']} rows"
        )
    if summary["selection"] is not None:
        _print_selection(console, summary["selection"])
    _print_sizes(console, summary)
    console.print(
        f"Objective {summary['objective']:.8g} after {summary['iterations']} iterations, "
        f"{summary['seconds']:.2f} s. {with_options(summary['outcome'])}"
    )
    console.print(f"Written to {folder}: {', '.join(summary['files'])}")
    console.print(f"Found: {summary['found']}")


def _chosen(summary: dict[str, Any]) -> str:
    """Parameters that the data chose, or the user."""
    parts = []
    if summary["n_active"] is not None:
        parts.append(f"{_count(summary['n_active'], 'membership')} a row")
    if summary["fuzzifier"] is not None:
        parts.append(f"fuzzifier {summary['fuzzifier']:.4g}")
    if summary["cap"] is not None:
        parts.append(f"cap {summary['cap']:.4g}")
    return "".join(f", {part}" for part in parts)


def _print_selection(console: Console, selection: dict[str, Any]) -> None:
    """Print why this number of clusters, and other numbers."""
    console.print(f"Number of clusters: {selection['reason']}")
    for other in selection["alternatives"]:
        console.print(f"  or --n-clusters {other['n_clusters']}: {other['reason']}")


def _print_sizes(console: Console, summary: dict[str, Any]) -> None:
    """Print a table of the largest clusters, and the outliers."""
    sizes, n_rows = np.array(summary["cluster_sizes"]), summary["input"]["rows"]
    shown = np.argsort(-sizes, kind="stable")[:LARGEST_SHOWN]
    rest = sizes.sum() - sizes[shown].sum()
    lines = [(str(cluster), sizes[cluster]) for cluster in shown]
    if len(sizes) > len(shown):
        lines.append((f"{len(sizes) - len(shown)} smaller", rest))
    if summary["outliers"]:
        lines.append(("outliers", summary["outliers"]))
    grid = RichTable("cluster", "rows", "share")
    for column in grid.columns:
        column.justify = "right"
    for name, size in lines:
        grid.add_row(name, str(size), f"{size / n_rows:.1%}")
    console.print(grid)
