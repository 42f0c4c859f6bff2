"""The command ``sfumato demo``: digits by several methods, a table of customers, and reports."""

from __future__ import annotations

import time
import warnings
import webbrowser
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as RichTable
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics.cluster import contingency_matrix
from sklearn.pipeline import make_pipeline

from sfumato import plotting
from sfumato._tables.preparer import TablePreparer
from sfumato.datasets import make_customers
from sfumato.estimators import REFCMFS, CappedREFCMFS, FuzzyCMeans
from sfumato.exceptions import ClusteringWarning
from sfumato.files import OutputFolder
from sfumato.metrics import clustering_accuracy, nmi
from sfumato.reporting import report

CLUSTERS = 10
"""Number of clusters: the digits."""
STARTS = 3
"""Starts of each method; chosen by hand, for a demonstration of a few seconds."""
CUSTOMERS = 2000
"""Rows of the table of customers; chosen by hand, for a second."""
SEED = 0
"""Seed of every method."""
SHOWN_QUANTILES = (0.01, 0.05, 0.15, 0.3, 0.6)
"""Images to show, as quantiles of the largest membership; chosen by hand, mostly small ones."""


@dataclass(frozen=True)
class Run:
    """A fitted method and its scores."""

    name: str
    model: Any
    objective: float
    seconds: float
    accuracy: float
    nmi: float


def contestants() -> dict[str, Any]:
    """Methods by name, with equal numbers of starts and the same seed."""
    common: dict[str, Any] = {"n_clusters": CLUSTERS, "n_init": STARTS, "random_state": SEED}
    return {
        "REFCMFS": REFCMFS(**common),
        "FuzzyCMeans, r = 2": FuzzyCMeans(**common),
        "FuzzyCMeans, r auto": FuzzyCMeans(fuzzifier="auto", **common),
        "KMeans (scikit-learn)": KMeans(**common),
    }


def measure(name: str, model: Any, X: NDArray[np.generic], y: NDArray[np.generic]) -> Run:
    """Fit a method and compare its labels with the true ones.

    Parameters
    ----------
    name : str
    model : estimator
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        True classes, for the scores only.

    Returns
    -------
    Run
    """
    began = time.perf_counter()
    with warnings.catch_warnings():
        # Fuzzy c-means collapses on these rows: its scores, beside those of others, show it.
        warnings.simplefilter("ignore", ClusteringWarning)
        model.fit(X)
    seconds = time.perf_counter() - began
    objective = model.inertia_ if isinstance(model, KMeans) else model.objective_
    found = model.labels_
    agreement = clustering_accuracy(y, found), nmi(y, found, average="max")
    return Run(name, model, float(objective), seconds, *agreement)


def demo(output: Path, force: bool, show: bool = False) -> None:
    """Fit the methods, print their scores and a few memberships, write pictures and reports.

    Parameters
    ----------
    output : Path
        Folder for the pictures and reports.
    force : bool
        Whether to replace existing ones.
    show : bool, default=False
        Whether to open the reports in a browser.
    """
    pictures, reports = ("convergence.png", "memberships.png"), ("digits.html", "customers.html")
    folder = OutputFolder(output, (*pictures, "customers.csv", *reports), force)
    folder.check()
    console = Console(markup=False, highlight=False, soft_wrap=True)
    X, y = load_digits(return_X_y=True)
    console.print(f"{X.shape[0]} images of handwritten digits, {X.shape[1]} pixels each")
    runs = [measure(name, model, X, y) for name, model in contestants().items()]
    console.print(_comparison(runs))
    console.print(
        f"{STARTS} starts each, seed {SEED}, r the fuzzifier. ACC and NMI compare with the true "
        "digits, which no\nmethod sees. Each method minimizes an objective of its own; those of "
        "different methods do not compare.\n"
    )
    chosen = rows_to_show(runs[0].model)
    names = _cluster_names(runs[0].model, y)
    for line in _membership_lines(runs[0].model, chosen, names, y):
        console.print(line)
    portraits = _portraits(runs[0].model, X, y, chosen)
    customers = make_customers(CUSTOMERS, random_state=SEED).frame
    pipeline = make_pipeline(TablePreparer(), CappedREFCMFS("auto", random_state=SEED))
    pipeline.fit(customers)
    folder.write(
        {
            "convergence.png": partial(plotting.save, _curves(runs)),
            "memberships.png": partial(plotting.save, portraits),
            "customers.csv": partial(customers.to_csv, index=False),
            "digits.html": partial(_report_digits, runs[0].model, X),
            "customers.html": partial(_report_customers, pipeline, customers),
        }
    )
    console.print("\nPictures:")
    for name in pictures:
        console.print(f"  {folder.path / name}")
    console.print("Reports, of the digits and of a table of made customers (customers.csv):")
    for name in reports:
        console.print(f"  {folder.path / name}")
        if show:
            webbrowser.open((folder.path / name).absolute().as_uri())


def _report_digits(model: REFCMFS, X: NDArray[np.generic], path: Path) -> None:
    report(model, X, path, image_shape=(8, 8), show_rows=True, title="Handwritten digits")


def _report_customers(pipeline: Any, customers: Any, path: Path) -> None:
    command = "sfumato cluster customers.csv"
    report(pipeline, customers, path, title="Customers", command=command)


def rows_to_show(model: REFCMFS) -> NDArray[np.intp]:
    """Rows to show, by increasing largest membership.

    Parameters
    ----------
    model : REFCMFS
        Fitted.

    Returns
    -------
    rows : ndarray of shape (n_shown,)
    """
    memberships = model.memberships_
    largest = np.maximum.reduceat(memberships.data, memberships.indptr[:-1])
    order = np.argsort(largest, kind="stable")
    return order[[int(quantile * (len(order) - 1)) for quantile in SHOWN_QUANTILES]]


def _comparison(runs: list[Run]) -> RichTable:
    grid = RichTable("method", "ACC", "NMI", "objective", "iterations", "seconds")
    for column in grid.columns[1:]:
        column.justify = "right"
    for run in runs:
        grid.add_row(
            run.name,
            f"{run.accuracy:.1%}",
            f"{run.nmi:.1%}",
            f"{run.objective:,.0f}",
            str(run.model.n_iter_),
            f"{run.seconds:.2f}",
        )
    return grid


def _cluster_names(model: REFCMFS, y: NDArray[np.generic]) -> list[str]:
    """Names of the clusters, with the most frequent digit of each."""
    counts = contingency_matrix(model.labels_, y)
    return [f"cluster {k} (mostly {counts[k].argmax()})" for k in range(CLUSTERS)]


def _membership_lines(
    model: REFCMFS, chosen: NDArray[np.intp], names: list[str], y: NDArray[np.generic]
) -> list[str]:
    lines = [f"REFCMFS: {model.n_active_} memberships per image; the first three of some:"]
    for row in chosen:
        entries = model.memberships_[[row]]
        order = np.argsort(-entries.data, kind="stable")[:3]
        shares = [f"{entries.data[e]:.2f} {names[entries.indices[e]]}" for e in order]
        lines.append(f"  image {row:4d}, a {y[row]}: {', '.join(shares)}")
    return lines


def _curves(runs: list[Run]) -> Figure:
    """Objective by iteration of the methods that record it."""
    histories = {run.name: getattr(run.model, "history_", ()) for run in runs}
    curves = {
        name: [record.objective for record in history]
        for name, history in histories.items()
        if history
    }
    figure: Figure = plotting.ConvergenceDisplay(curves).plot().figure_
    return figure


def _portraits(
    model: REFCMFS, X: NDArray[np.generic], y: NDArray[np.generic], chosen: NDArray[np.intp]
) -> Figure:
    return plotting.image_memberships(
        X[chosen].reshape(-1, 8, 8),
        model.cluster_centers_.reshape(-1, 8, 8),
        model.memberships_[chosen],
        [f"image {row}, a {y[row]}" for row in chosen],
    )
