"""Time of importing all public names of sfumato, against ``import sklearn.cluster``.

Each import happens in a fresh process, and is timed inside it, so that the start of Python does not
count. The two take turns.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from benchmarks.harness.report import Goal, Report, measuring

OURS, THEIRS = "from sfumato import *", "import sklearn.cluster"
LIMIT = 1.3
"""Largest ratio of the two times; chosen by hand."""
CODE = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"


def seconds(statement: str) -> float:
    """Seconds of an import in a fresh process."""
    command = [sys.executable, "-c", CODE.format(statement)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def run(quick: bool) -> Report:
    pairs = 2 if quick else 15
    how = (
        "In fresh processes, in turn, without the start of Python itself; the ratio is the median "
        f"over {pairs} pairs."
    )
    axis = f"{OURS} / {THEIRS}"
    report = Report("imports", "Import", how, quick, axis)
    table = report.begin(f"{OURS}, ms", f"{THEIRS}, ms", "ratio", "limit")
    measuring(axis)
    seconds(OURS), seconds(THEIRS)
    times = np.array([(seconds(OURS), seconds(THEIRS)) for _ in range(pairs)])
    ours, theirs = (f"{1e3 * value:.0f}" for value in np.median(times, axis=0))
    ratio = float(np.median(times[:, 0] / times[:, 1]))
    table.add(ours, theirs, f"{ratio:.2f}", f"{LIMIT}")
    report.cells.append(Goal("import", ratio, LIMIT))
    return report
