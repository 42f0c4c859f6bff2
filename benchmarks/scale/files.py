"""Files to stream from: the same blobs as .npy and as Parquet, made once and kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness.report import STORE, measuring

FOLDER = STORE.parent / "scale"
N_FEATURES, N_CLUSTERS = 16, 50
BLOCK = 1 << 20


def blocks(n_rows: int, seed: int = 0) -> Iterator[np.ndarray]:
    """Blobs, block by block, float32."""
    rng = np.random.default_rng(seed)
    middles = true_centers()
    for begin in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - begin)
        rows = rng.standard_normal((size, N_FEATURES), dtype=np.float32)
        rows += middles[rng.integers(N_CLUSTERS, size=size)]
        yield rows


def true_centers() -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.uniform(-10, 10, size=(N_CLUSTERS, N_FEATURES)).astype(np.float32)


def npy_file(n_rows: int) -> Path:
    """The .npy file of so many rows."""
    path = FOLDER / f"blobs-{n_rows}.npy"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        measuring(f"making {path.name}")
        partial = path.with_suffix(".partial")
        shape = (n_rows, N_FEATURES)
        mapped = np.lib.format.open_memmap(partial, "w+", dtype=np.float32, shape=shape)
        begin = 0
        for rows in blocks(n_rows):
            mapped[begin : begin + len(rows)] = rows
            begin += len(rows)
        mapped.flush()
        partial.replace(path)
    return path


def parquet_file(n_rows: int) -> Path:
    """The Parquet file of the same rows, with the default options of pyarrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = FOLDER / f"blobs-{n_rows}.parquet"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        measuring(f"making {path.name}")
        names = [f"x{column}" for column in range(N_FEATURES)]
        schema = pa.schema([(name, pa.float32()) for name in names])
        partial = path.with_suffix(".partial")
        with pq.ParquetWriter(partial, schema) as writer:
            for rows in blocks(n_rows):
                columns = [np.ascontiguousarray(column) for column in rows.T]
                writer.write_table(pa.table(columns, schema=schema))
        partial.replace(path)
    return path
