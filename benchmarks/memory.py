"""How much memory a fit takes on top of its data.

An array of rows x clusters alone would be several times the data. Each case runs in a process of
its own, which makes the data block by block, so that its peak is that of the fit: checking, the
pilot fit, seeding, the loop and the memberships in the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

N_FEATURES, N_CLUSTERS, N_ACTIVE = 16, 100, 3
LIMIT = 0.6
"""Largest growth of the peak, as a share of the data; the memberships are the most of it."""
CASES = {  # What is measured, and the limit for it; the result weighs more against smaller data.
    "float64": LIMIT,
    "float64 weighted": LIMIT,
    "float64 Fortran": LIMIT,
    "float32": None,
}


def run(quick: bool) -> bool:
    n_rows = 200_000 if quick else 2_000_000
    print(
        f"REFCMFS(n_clusters={N_CLUSTERS}, n_active={N_ACTIVE}).fit(X), X of {n_rows:,} x "
        f"{N_FEATURES}: growth of the peak, the result included\n"
    )
    print("| X | MB | fit adds MB | share | limit |\n| --- | --- | --- | --- | --- |")
    passed = True
    for case, limit in CASES.items():
        size, growth = measured(case, n_rows)
        cells = [case, f"{size / 1e6:.0f}", f"{growth / 1e6:.0f}", f"{growth / size:.2f}"]
        print("| " + " | ".join([*cells, f"{limit or '-'}"]) + " |", flush=True)
        passed &= limit is None or growth <= limit * size
    return passed


def measured(case: str, n_rows: int) -> tuple[int, int]:
    """Bytes of the data, and bytes that a fit added to the peak of its process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", case, str(n_rows)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    size, growth = json.loads(done.stdout)
    return size, growth


def make_data(case: str, n_rows: int) -> np.ndarray:
    """Gaussian clusters, made block by block."""
    rng = np.random.default_rng(0)
    middles = rng.uniform(-10, 10, size=(N_CLUSTERS, N_FEATURES))
    dtype = np.float32 if case.startswith("float32") else np.float64
    X = np.empty((n_rows, N_FEATURES), dtype=dtype, order="F" if "Fortran" in case else "C")
    for begin in range(0, n_rows, 10_000):
        block = X[begin : begin + 10_000]
        block[:] = middles[rng.integers(N_CLUSTERS, size=len(block))]
        block += rng.normal(size=block.shape)
    return X


def status(field: str) -> int:
    """Bytes that the kernel reports for this process: VmRSS now, VmHWM at its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def forget_peak() -> None:
    """Make the present size the peak. Where that is forbidden, blocks have kept it close."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("The peak could not be reset; it includes the making of the data.", file=sys.stderr)


def measure(case: str, n_rows: int) -> tuple[int, int]:
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
    return X.nbytes, growth


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
