"""How much memory a fit takes on top of its data, and beyond the arrays that it returns.

An array of rows x clusters alone would be several times the data. Each case runs in a process of
its own, which makes the data block by block, so that its peak is that of the fit: checking, the
pilot fit, seeding, the loop and the memberships in the end.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.harness.report import Goal, Report, measuring

N_FEATURES, N_CLUSTERS, N_ACTIVE = 16, 100, 3
N_COLUMNS = 200
"""Features of sparse rows, of which each row has N_FEATURES."""
BLOCK = 10_000
LIMIT = 0.2
"""Largest growth of the peak beyond the returned arrays, as a share of the data."""
CASES = [
    f"{dtype}{form}"
    for dtype in ("float64", "float32")
    for form in ("", " weighted", " Fortran", " CSR")
]
QUICK_CASES = ["float64 weighted", "float64 CSR", "float32", "float32 Fortran"]


def run(quick: bool) -> Report:
    n_rows = 400_000 if quick else 2_000_000
    how = (
        f"`REFCMFS({N_CLUSTERS}, n_active={N_ACTIVE}).fit(X)` with {n_rows:,} x {N_FEATURES} rows "
        f"(CSR: {N_FEATURES} nonzeros in {N_COLUMNS} columns): how far the peak of the process "
        "rises during the fit, and how much of that is beyond the arrays that the fitted model "
        "holds, as shares of the data."
    )
    report = Report("memory", "Memory of a fit", how, quick, "added beyond the result / data")
    header = ["X", "X MB", "result MB", "fit adds MB", "share", "share beyond the result"]
    table = report.begin(*header, "limit")
    for case in QUICK_CASES if quick else CASES:
        measuring(case)
        size, result, growth = measured(case, n_rows)
        beyond = (growth - result) / size
        megabytes = [f"{value / 1e6:.1f}" for value in (size, result, growth)]
        table.add(case, *megabytes, f"{growth / size:.2f}", f"{beyond:.3f}", f"{LIMIT}")
        report.cells.append(Goal(case, beyond, LIMIT))
    return report


def measured(case: str, n_rows: int) -> tuple[int, int, int]:
    """Bytes of the data, of the result, and those that a fit added to the peak of its process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", case, str(n_rows)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    size, result, growth = json.loads(done.stdout)
    return size, result, growth


def make_data(case: str, n_rows: int) -> np.ndarray | sp.csr_array:
    """Gaussian clusters, made block by block."""
    rng = np.random.default_rng(0)
    middles = rng.uniform(-10, 10, size=(N_CLUSTERS, N_FEATURES))
    shuffled = rng.permuted(np.tile(np.arange(N_COLUMNS), (N_CLUSTERS, 1)), axis=1)
    columns = np.sort(shuffled[:, :N_FEATURES])
    dtype = np.float32 if case.startswith("float32") else np.float64
    X = np.empty((n_rows, N_FEATURES), dtype=dtype, order="F" if "Fortran" in case else "C")
    indices = np.empty((n_rows if "CSR" in case else 0, N_FEATURES), dtype=np.int32)
    for begin in range(0, n_rows, BLOCK):
        block = X[begin : begin + BLOCK]
        clusters = rng.integers(N_CLUSTERS, size=len(block))
        block[:] = middles[clusters]
        block += rng.normal(size=block.shape)
        if len(indices):
            indices[begin : begin + BLOCK] = columns[clusters]
    if not len(indices):
        return X
    indptr = np.arange(n_rows + 1, dtype=np.int32) * N_FEATURES
    return sp.csr_array((X.ravel(), indices.ravel(), indptr), shape=(n_rows, N_COLUMNS))


def n_bytes(value: object) -> int:
    """Bytes of an array, dense or sparse; of anything else none."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, sp.csr_array):
        return value.data.nbytes + value.indices.nbytes + value.indptr.nbytes
    return 0


def status(field: str) -> int:
    """Bytes that the kernel reports for this process: VmRSS now, VmHWM at its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def forget_peak() -> None:
    """Make the present size the peak. Where that is forbidden, blocks have kept it close."""
    # What was freed goes back to the system; a fit that takes it again would seem to add nothing.
    ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("The peak could not be reset; it includes the making of the data.", file=sys.stderr)


def measure(case: str, n_rows: int) -> tuple[int, int, int]:
    """What :func:`measured` returns, measured in this process."""
    from sfumato import REFCMFS

    X = make_data(case, n_rows)
    weights = np.linspace(0.5, 2, n_rows) if "weighted" in case else None
    model = REFCMFS(N_CLUSTERS, n_active=N_ACTIVE, random_state=0, n_init=1, max_iter=3)
    warnings.simplefilter("ignore")  # Three iterations are too few, and enough.
    model.fit(X[:5000])  # Whatever is loaded or made once is there now.
    forget_peak()
    before = status("VmRSS")
    model.fit(X, sample_weight=weights)
    growth = status("VmHWM") - before
    assert model.memberships_.nnz == N_ACTIVE * n_rows
    return n_bytes(X), sum(map(n_bytes, vars(model).values())), growth


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
