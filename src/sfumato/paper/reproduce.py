"""The job of ``sfumato reproduce``: run what is missing, then write tables, figures and a page."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from sfumato.datasets import load
from sfumato.datasets.catalog import CATALOG
from sfumato.exceptions import UserError, did_you_mean
from sfumato.files import OutputFolder, try_lock
from sfumato.paper.experiment import (
    DIGITS,
    QUICK_RUNS,
    QUICK_SETS,
    RUNS,
    SETS,
    STAND_IN,
    Cell,
    Experiment,
    Store,
    run_cell,
)
from sfumato.paper.methods import METHODS
from sfumato.paper.report import write_all
from sfumato.paper.results import Results
from sfumato.paper.runner import Display, run_missing

CELLS = "cells.jsonl"
"""File in the output folder that holds the finished runs."""


def reproduce(
    experiment: Experiment, output: Path, jobs: int, limit: float, write_only: bool = False
) -> None:
    """Run the experiment and write its results; runs that are stored are not repeated.

    Parameters
    ----------
    experiment : Experiment
    output : Path
        Folder of the results and of the finished runs.
    jobs : int
        Processes.
    limit : float
        Seconds that a run may take.
    write_only : bool, default=False
        Whether to write the results of the finished runs, and fit only for the figures.
    """
    display = Display(Console(stderr=True))
    experiment = checked(experiment, display.print)
    OutputFolder(output, ()).check()
    store = Store(output / CELLS, setting(), Cell)
    if write_only and not store.load():
        raise UserError(f"{output} holds no finished runs; leave --write-only out to run them.")
    if not write_only:
        run = partial(run_missing, store=store, run=run_cell, jobs=jobs, limit=limit)
        with display, locked(output):
            run(experiment.cells(), report=display.show)
            run(chosen(experiment, store), report=display.show)
    write_all(found(experiment, store), experiment, output)
    display.print(f"Wrote {output / 'index.html'}, tables.md, tables.csv and the figures.")


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Raise UserError if another command is running in the folder."""
    output.mkdir(parents=True, exist_ok=True)
    with (output / "lock").open("w") as file:
        if not try_lock(file.fileno()):
            raise UserError(
                f"Another command is running in {output}; wait for it, or give another --output."
            )
        yield


def found(experiment: Experiment, store: Store) -> Results:
    """Results of the seeds and parameters of the experiment; a former one may have had others."""
    tried = {data: set(experiment.grid(data)) for data in experiment.sets}

    def belongs(cell: Cell) -> bool:
        p = cell.parameters
        known = p is None or p.starts > 1 or p in tried.get(cell.data, ())
        return known and cell.seed < experiment.runs

    return Results(run for cell, run in store.load().items() if belongs(cell))


def chosen(experiment: Experiment, store: Store) -> list[Cell]:
    """Runs with the parameters that were chosen by labels and without, from all seeds."""
    results = found(experiment, store)
    choices = [
        (data, parameters)
        for data in experiment.sets
        for parameters in (results.chosen_by_labels(data), results.chosen_without_labels(data))
        if parameters is not None
    ]
    cells = [cell for data, p in choices for cell in experiment.chosen(data, p)]
    return list(dict.fromkeys(cells))


def setting() -> dict[str, str]:
    """What results depend on, besides data and seeds."""
    return {name: version(name) for name in ("sfumato", "scikit-learn")}


def checked(experiment: Experiment, warn: Callable[[str], None]) -> Experiment:
    """Experiment on the data sets that can be had, with stand-ins called so.

    Others are named and left out; digits, which scikit-learn has, take their place. Raises
    UserError if no other set that was asked for can be had, and digits were not asked for.
    """
    sets, missing = [], []
    for data in experiment.sets:
        try:
            caveats = _caveats(data)
        except (OSError, ValueError) as error:
            missing.append(data)
            warn(f"Left out: {data}. {error}")
            continue
        for caveat in caveats:
            warn(caveat)
        sets.append(data + STAND_IN if caveats else data)
    if missing and experiment.named and not sets:
        raise UserError(
            f"None of the data sets {', '.join(missing)} can be had; leave --sets out for those "
            "that can, or give digits."
        )
    if missing and not experiment.named and DIGITS not in sets:
        sets.append(DIGITS)
    return replace(experiment, sets=tuple(sets), missing=tuple(missing))


def _caveats(data: str) -> list[str]:
    """Warnings about a data set: it is not the one that the paper had."""
    if data == DIGITS:
        return []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(data)
    return [str(warning.message) for warning in caught]


def planned(
    sets: Sequence[str], methods: Sequence[str], runs: int | None, quick: bool
) -> Experiment:
    """The experiment that options ask for; names may be given one by one or with commas."""
    named = _chosen("--sets", sets, (*CATALOG, DIGITS))
    return Experiment(
        named or (QUICK_SETS if quick else SETS),
        _chosen("--methods", methods, tuple(METHODS)) or tuple(METHODS),
        runs or (QUICK_RUNS if quick else RUNS),
        quick,
        named=bool(named),
    )


def _chosen(option: str, given: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Known names, however their capitals are written; UserError for others."""
    by_lower = {name.lower(): name for name in known}
    names = [name.strip() for words in given for name in words.split(",") if name.strip()]
    if given and not names:
        raise UserError(f"{option} names nothing; use {', '.join(known)}, or leave it out.")
    for name in names:
        if name.lower() not in by_lower:
            hint = did_you_mean(name, known)
            message = f"{option} {name} is not known; use {', '.join(known)}"
            raise UserError(f"{message} ({hint})" if hint else f"{message}.")
    return tuple(dict.fromkeys(by_lower[name.lower()] for name in names))
