"""Cells, a case with a method and a seed each: run in parallel, and stored as soon as they end."""

from __future__ import annotations

import json
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.harness.report import STORE, measuring
from benchmarks.robustness.cases import Case, Sample
from benchmarks.robustness.measures import Measures, measure
from benchmarks.robustness.peers import PEERS, Found, Task

Key = tuple[str, str, int]
EVERY = 20.0
"""Seconds between two lines of progress."""


@dataclass
class Cell:
    """What a method reached on a case from a seed."""

    case: str
    method: str
    seed: int
    seconds: float
    measures: Measures = field(default_factory=dict)
    error: str = ""
    """Last line of what went wrong."""

    @property
    def key(self) -> Key:
        return self.case, self.method, self.seed


class Store:
    """Lines of JSON, one per cell; a run that was killed goes on where it was."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def usual(cls, quick: bool) -> Store:
        """Beside the reports of the other benchmarks; a quick run never mixes with a full one."""
        return cls(STORE.parent / "robustness" / f"cells{'.quick' if quick else ''}.jsonl")

    def load(self) -> dict[Key, Cell]:
        """Cells that are stored; a line that was cut off by a kill is left out."""
        found = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    cell = Cell(**json.loads(line))
                except ValueError:
                    continue
                found[cell.key] = cell
        return found

    def add(self, cell: Cell) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            if file.tell() and not ends_a_line(file):
                file.write(b"\n")  # After a line that was cut off.
            file.write(json.dumps(asdict(cell)).encode() + b"\n")

    def forget(self, keys: Iterable[Key]) -> None:
        """Drop cells, so that they are run again."""
        dropped = set(keys)
        kept = [cell for key, cell in self.load().items() if key not in dropped]
        self.path.unlink(missing_ok=True)
        for cell in kept:
            self.add(cell)


def ends_a_line(file) -> bool:
    """Whether the last byte of a file ends a line."""
    file.seek(-1, 2)
    return file.read(1) == b"\n"


def fit(method: str, sample: Sample, seed: int, rows=slice(None)) -> Found:
    share = 1 - sample.inliers[rows].mean()
    task = Task(sample.X[rows], sample.n_clusters, seed, share)
    return PEERS[method].fit(task)


def run_cell(case: Case, method: str, seed: int) -> Cell:
    """Fit and measure, in one thread; an error is part of the result."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        sample = case.sample(seed)
        began = time.perf_counter()
        try:
            found = fit(method, sample, seed)
            seconds = time.perf_counter() - began
            clean = None
            if sample.centers is not None and PEERS[method].centers:
                inliers = sample.inliers
                clean = found if inliers.all() else fit(method, sample, seed, inliers)
            measures = measure(sample, found, clean)
        except Exception:
            seconds, error = time.perf_counter() - began, traceback.format_exc()
            return Cell(case.name, method, seed, seconds, error=error.splitlines()[-1])
    numbers = {name: float(value) for name, value in measures.items()}
    return Cell(case.name, method, seed, seconds, numbers)


def wanted(cases: Sequence[Case], methods: Sequence[str], seeds: int) -> list[tuple]:
    """Arguments of ``run_cell``, seed after seed.

    Whatever is there when a run is killed has all cases, and within a seed the order is random, so
    that the time left can be told from the time gone.
    """
    rng = np.random.default_rng(0)
    cells = []
    for seed in range(seeds):
        each = [(case, method, seed) for case in cases for method in methods]
        each = [cell for cell in each if seed < (cell[0].most_seeds or seeds)]
        cells += [each[i] for i in rng.permutation(len(each))]
    return cells


def run_missing(
    cells: Sequence[tuple],
    store: Store,
    jobs: int = 1,
    run: Callable[[Case, str, int], Cell] = run_cell,
) -> None:
    """Run the cells that are not stored, and store each as soon as it ends."""
    done = store.load()
    missing = [cell for cell in cells if (cell[0].name, *cell[1:]) not in done]
    measuring(f"{len(cells) - len(missing)} of {len(cells)} cells are stored")
    if not missing:
        return
    parallel = Parallel(jobs, return_as="generator_unordered", batch_size=1)
    began = said = time.perf_counter()
    for number, cell in enumerate(parallel(delayed(run)(*cell) for cell in missing), 1):
        store.add(cell)
        if cell.error:
            measuring(f"{cell.case}, {cell.method}, seed {cell.seed}: {cell.error}")
        now = time.perf_counter()
        if now - said > EVERY or number == len(missing):
            left = (now - began) / number * (len(missing) - number)
            measuring(f"{number} of {len(missing)} cells, about {left / 60:.1f} min left")
            said = now
