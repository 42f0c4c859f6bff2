"""Segments in made tables of customers, found by ``sfumato cluster table.csv`` without options.

Ten tables differ in their columns and their laws: 5 to 8 columns of numbers that tell 5 segments
apart, each by 1.5 to 4 standard deviations from one segment to the next (normal, log-normal,
Poisson, gamma and beta laws), in three of five tables a column of noise, two columns of text that
follow the segments or not, a date that does or not, an identifier, 3 % missing values, and in every
column of numbers 60 typos: 1e9, -999, and 12O. Ten harder ones are of ``customers.harder_tables``.
What could be found in them is what quadratic discriminant analysis finds that was told them.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score

from benchmarks.customers import harder_tables
from benchmarks.harness.report import Goal, Report, measuring

N_ROWS, N_TABLES, N_SEGMENTS = 20_000, 10, 5
LEAST_ARI, MOST_SECONDS = 0.95, 15.0
MISSING, TYPOS = 0.03, 60
LAWS = {
    "age": ("normal", 42, 5),
    "income": ("log-normal", 10.4, 0.2),
    "visits": ("poisson", 0, 0),
    "basket": ("gamma", 0, 0),
    "tenure": ("normal", 30, 4),
    "discount": ("beta", 0, 0),
    "rating": ("normal", 3.5, 0.35),
    "distance": ("log-normal", 2.2, 0.3),
    "balance": ("normal", 1500, 200),
    "calls": ("poisson", 0, 0),
}
"""Columns: law, middle and width within a segment."""
TEXTS = {
    "city": ["Paris", "Lyon", "Lille", "Nice", "Nantes", "Brest"],
    "channel": ["web", "shop", "phone", "partner"],
}
DIGITS = {"age": 0, "tenure": 0, "rating": 1, "balance": 2, "income": 2, "distance": 2}


def make_table(seed: int, n_rows: int = N_ROWS) -> tuple[pd.DataFrame, Any]:
    """Return a table as text and numbers, and the segment of each row."""
    rng = np.random.default_rng([20, seed])
    shares = np.maximum(rng.dirichlet(np.full(N_SEGMENTS, 4.0)), 0.04)
    segment = rng.choice(N_SEGMENTS, n_rows, p=shares / shares.sum())
    chosen = rng.permutation(list(LAWS))[: rng.integers(5, 9)]
    columns: dict[str, Any] = {str(name): _numbers(str(name), segment, rng) for name in chosen}
    if rng.random() < 0.6:
        columns["lottery"] = rng.normal(500, 100, n_rows).round()
    numeric = list(columns)
    columns |= {name: _words(levels, segment, rng) for name, levels in TEXTS.items()}
    columns["signup"] = _days(segment, rng)
    table = pd.DataFrame(columns).astype(object)
    table = table.mask(rng.random(table.shape) < MISSING)
    for name in numeric:
        rows = rng.choice(n_rows, min(TYPOS, n_rows // 100), replace=False)
        for typo, part in zip((1e9, -999, "12O"), np.array_split(rows, 3), strict=True):
            table.loc[part, name] = typo
    numbers = rng.permutation(n_rows) + 1
    ids: Any = numbers if rng.random() < 0.5 else [f"C{number:06d}" for number in numbers]
    order = rng.permutation(list(table))
    return table[order].assign(customer_id=ids), segment


def _numbers(name: str, segment: Any, rng: np.random.Generator) -> Any:
    """Numbers of a law whose level depends on the segment."""
    law, middle, width = LAWS[name]
    place = rng.permutation(N_SEGMENTS)
    gap = rng.uniform(1.5, 4.0)
    if law in ("normal", "log-normal"):
        level = (place - 2 + rng.uniform(-0.3, 0.3, N_SEGMENTS))[segment]
        values = middle + width * (gap * level + rng.normal(size=len(segment)))
        return (np.exp(values) if law == "log-normal" else values).round(DIGITS[name])
    if law == "poisson":
        return rng.poisson((rng.uniform(1, 4) * np.exp(0.35 * gap * place))[segment])
    if law == "gamma":
        return rng.gamma(12, (20 * np.exp(0.3 * gap * place))[segment] / 12).round(2)
    mean = np.array([0.1, 0.25, 0.45, 0.65, 0.85])[place][segment]
    return rng.beta(40 * mean, 40 * (1 - mean)).round(3)


def _words(levels: list[str], segment: Any, rng: np.random.Generator) -> Any:
    """Words that follow the segment in 7 rows of 10, or not at all."""
    count = len(levels)
    shares = np.tile(rng.dirichlet(np.full(count, 3.0)), (N_SEGMENTS, 1))
    if rng.random() < 0.5:
        shares = 0.7 * np.eye(count)[rng.integers(0, count, N_SEGMENTS)] + 0.3 / count
    drawn = (rng.random(len(segment))[:, None] > shares.cumsum(axis=1)[segment]).sum(axis=1)
    return np.array(levels, dtype=object)[np.minimum(drawn, count - 1)]


def _days(segment: Any, rng: np.random.Generator) -> Any:
    """Dates of four years, or around a day of each segment."""
    days = rng.integers(0, 1500, len(segment))
    if rng.random() < 0.5:
        level = 300 * rng.permutation(N_SEGMENTS)[segment]
        days = (level + 80 * rng.normal(size=len(segment))).astype(int)
    return (np.datetime64("2019-01-01") + days.astype("timedelta64[D]")).astype(str)


class Found(NamedTuple):
    """Clusters, index of the labels, the same with outliers apart, and seconds."""

    clusters: int
    index: float
    outliers_apart: float
    seconds: float
    processor: float


def measure(table: pd.DataFrame, segment: Any, folder: Path) -> Found:
    """What is found in a table without options."""
    table.to_csv(folder / "table.csv", index=False)
    command = [sys.executable, "-m", "sfumato", "cluster", "table.csv", "--quiet", "--force"]
    began, used = time.perf_counter(), _processor_seconds()
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    seconds, processor = time.perf_counter() - began, _processor_seconds() - used
    labels = pd.read_csv(folder / "table-clusters" / "labels.csv")
    found = labels["label"].to_numpy()
    apart = np.where(labels["outlier"], -1, found)
    plain, harder = (adjusted_rand_score(segment, each) for each in (found, apart))
    return Found(len(np.unique(found)), float(plain), float(harder), seconds, processor)


def _processor_seconds() -> float:
    """Time that processors have spent on processes that this one started."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def told(clean: dict[str, Any], segment: Any) -> float:
    """Index of a classifier that was told the segments, and sees no gaps and typos."""
    rows = np.column_stack(list(clean.values()))
    model = QuadraticDiscriminantAnalysis().fit(rows, segment)
    return float(adjusted_rand_score(segment, model.predict(rows)))


def run(quick: bool) -> Report:
    n_rows, n_tables = (4000, 3) if quick else (N_ROWS, N_TABLES)
    how = (
        f"`sfumato cluster table.csv` on {n_tables} made tables of {n_rows:,} customers, without "
        f"options, and on {n_tables} harder ones: columns that are correlated or of unequal "
        "spreads, misspelled categories, and ten different generators. The time is that of the "
        "whole process; what others do on the machine adds to the seconds, but hardly to those of "
        "a processor. Outliers have the label of their nearest cluster, or, in the harder "
        "reading, one of their own. Last, the index of quadratic discriminant analysis that was "
        "told the segments, and the numbers without gaps and typos."
    )
    report = Report("tables", "Tables of customers", how, quick)
    header = (
        "clusters found",
        "adjusted Rand index",
        "outliers apart",
        "seconds",
        "of a processor",
    )
    with tempfile.TemporaryDirectory() as folder:
        rows = report.begin("table", *header)
        for seed in range(n_tables):
            measuring(f"table {seed}")
            table, segment = make_table(seed, n_rows)
            rows.add(*_judged(report, f"table {seed}", measure(table, segment, Path(folder))))
        rows = report.begin("harder table", *header, "told the segments")
        for seed in range(n_tables):
            name = harder_tables.GENERATORS[seed].__name__.strip("_")
            measuring(name)
            table, segment, clean = harder_tables.make_table(seed, n_rows)
            found = measure(table, segment, Path(folder))
            rows.add(*_judged(report, name, found), f"{told(clean, segment):.3f}")
    return report


def _judged(report: Report, name: str, found: Found) -> list[str]:
    """Cells of a row; what was found is held against the limits."""
    report.cells.append(Goal(f"{name}, index", found.index, LEAST_ARI, "at least"))
    report.cells.append(Goal(f"{name}, seconds", found.seconds, MOST_SECONDS))
    indices = f"{found.index:.3f}", f"{found.outliers_apart:.3f}"
    return [name, str(found.clusters), *indices, f"{found.seconds:.1f}", f"{found.processor:.1f}"]
