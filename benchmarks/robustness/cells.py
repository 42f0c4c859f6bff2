"""Cells of the comparison: a case, a method and a seed each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness.report import STORE
from benchmarks.robustness.cases import Case, Sample
from benchmarks.robustness.measures import measure
from benchmarks.robustness.peers import PEERS, Found, Task
from sfumato.paper import store


@dataclass(frozen=True, order=True)
class Cell:
    """A method on a case from a seed."""

    case: str
    method: str
    seed: int

    work = 1

    def __str__(self) -> str:
        return f"{self.method} on {self.case}, seed {self.seed}"

    @property
    def kind(self) -> tuple[str, str]:
        return self.case, self.method

    group = kind

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> Cell:
        return cls(record["case"], record["method"], record["seed"])


Run: TypeAlias = store.Run[Cell]
"""A finished cell; its measures are those of ``measures.py``."""


def stored_cells(quick: bool) -> store.Store[Cell]:
    """Store beside the reports of the other benchmarks; quick cells have a file of their own."""
    name = f"cells{'.quick' if quick else ''}.jsonl"
    return store.Store(STORE.parent / "robustness" / name, {}, Cell)


def fit(method: str, sample: Sample, seed: int, rows=slice(None)) -> Found:
    share = 1 - sample.inliers[rows].mean()
    task = Task(sample.X[rows], sample.n_clusters, seed, share)
    return PEERS[method].fit(task)


def run_cell(cell: Cell, cases: Mapping[str, Case]) -> Run:
    """Fit and measure, in one thread. Seconds are those of the processor, whatever else it does."""
    method, seed = cell.method, cell.seed
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        sample = cases[cell.case].sample(seed)
        began = time.process_time()
        found = fit(method, sample, seed)
        seconds = time.process_time() - began
        clean = None
        if sample.centers is not None and PEERS[method].centers:
            inliers = sample.inliers
            clean = found if inliers.all() else fit(method, sample, seed, inliers)
        measures = measure(sample, found, clean)
    return Run(cell, seconds, {name: float(value) for name, value in measures.items()})


def wanted(cases: Sequence[Case], methods: Sequence[str], seeds: int) -> list[Cell]:
    """Cells of all cases and methods, seed after seed.

    Whatever is stored when a run is killed thus has all cases. Within a seed the order is random,
    so that slow and fast cells are mixed.
    """
    rng = np.random.default_rng(0)
    cells = []
    for seed in range(seeds):
        chosen = [case for case in cases if seed < (case.most_seeds or seeds)]
        each = [Cell(case.name, method, seed) for case in chosen for method in methods]
        cells += [each[i] for i in rng.permutation(len(each))]
    return cells
