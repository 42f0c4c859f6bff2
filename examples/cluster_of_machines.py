"""
A cluster of machines
=====================

A fit on a dask cluster: on this machine by default, or on the one whose scheduler is given. Run as
``python examples/cluster_of_machines.py``, or with the address of a scheduler, as in
``python examples/cluster_of_machines.py tcp://10.0.0.1:8786``. The rows are made on the workers and
stay there. Only the centers, the history of the fit and a sample of the rows for a plot come back.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dask.array as da
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster
from matplotlib.figure import Figure

from sfumato import CappedREFCMFS

N_CHUNKS, ROWS_PER_CHUNK, N_CLUSTERS = 64, 50_000, 12
OUTLIER_SHARE = 0.05


def chunk(number: int) -> np.ndarray:
    """Rows of a single cluster, as in sorted data, and uniform outliers."""
    rng = np.random.default_rng(number)
    middles = np.random.default_rng(0).uniform(-40, 40, size=(N_CLUSTERS, 2))
    rows = middles[number % N_CLUSTERS] + rng.normal(size=(ROWS_PER_CHUNK, 2))
    far = rng.random(ROWS_PER_CHUNK) < OUTLIER_SHARE
    rows[far] = rng.uniform(-80, 80, size=(far.sum(), 2))
    return rows


def main() -> None:
    """Fit, print a line per iteration, and draw."""
    address = sys.argv[1] if len(sys.argv) > 1 else None
    cluster = address or LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    )
    with Client(cluster) as client:
        client.wait_for_workers(1, timeout=60)
        make = delayed(chunk)
        shape = (ROWS_PER_CHUNK, 2)
        chunks = [da.from_delayed(make(i), shape, dtype=float) for i in range(N_CHUNKS)]
        rows = da.concatenate(chunks).persist()  # Made once, kept by the workers for all passes.
        model = CappedREFCMFS(N_CLUSTERS, random_state=0).fit(rows)
        for number, record in enumerate(model.history_, 1):
            print(f"iteration {number}: objective {record.objective:.8g}, {record.seconds:.2f} s")
        print(model.outcome_)
        share = float(model.outliers_.mean().compute())
        print(f"{len(rows):,} rows, {share:.2%} of them outliers; labels_ is {model.labels_}")
        sample = rows[:: len(rows) // 20_000].compute()
    if address is None:
        cluster.close()
    draw(model, sample, Path("cluster_of_machines.png"))


def draw(model: CappedREFCMFS, rows: np.ndarray, path: Path) -> None:
    """Rows colored by cluster; outliers gray."""
    labels = model.predict(rows, mark_outliers=True)
    figure = Figure(figsize=(6, 6), layout="constrained")
    axes = figure.subplots()
    axes.scatter(*rows[labels < 0].T, s=2, color="#bbbbbb")
    axes.scatter(*rows[labels >= 0].T, s=2, c=labels[labels >= 0], cmap="tab20")
    axes.plot(*model.cluster_centers_.T, "k+", markersize=9)
    axes.set_aspect("equal")
    figure.savefig(path, dpi=110)
    print(f"Wrote {path}")


if __name__ == "__main__":
    main()
