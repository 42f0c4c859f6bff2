"""The same rows in every kind of source, for laws that hold for all of them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
import zarr
from numpy.typing import NDArray
from pyarrow import parquet

from sfumato.streams import Stream

Array = NDArray[Any]
SIZES = (4, 0, 7, 1)
"""Chunks and partitions that rows are cut into, before the rest."""


def names(rows: Array) -> list[str]:
    return [f"f{column}" for column in range(rows.shape[1])]


def table(rows: Array) -> pa.Table:
    return pa.table({name: rows[:, i] for i, name in enumerate(names(rows))})


def pieces(rows: Array) -> list[Array]:
    """Rows cut into parts of different sizes, one of them empty."""
    return np.split(rows, np.cumsum(SIZES))


def save_npy(rows: Array, folder: Path) -> Path:
    np.save(folder / "rows.npy", np.ascontiguousarray(rows))
    return folder / "rows.npy"


def save_fortran(rows: Array, folder: Path) -> Path:
    np.save(folder / "fortran.npy", np.asfortranarray(rows))
    return folder / "fortran.npy"


def save_parquet(rows: Array, folder: Path) -> Path:
    parquet.write_table(table(rows), folder / "rows.parquet", row_group_size=5)
    return folder / "rows.parquet"


def save_folder(rows: Array, folder: Path) -> Path:
    """Partitions whose order is that of their names: nested folders, hidden files beside them."""
    places = ["a.parquet", "b/0.pq", "b/1.parquet", "c/deep/0.parquet", "d.parquet"]
    target = folder / "partitions"
    for place, part in zip(places, pieces(rows), strict=True):
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table(part), target / place)
    for hidden in ("_metadata.parquet", ".a.parquet", "b/_tmp/x.parquet", "notes.txt"):
        (target / hidden).parent.mkdir(parents=True, exist_ok=True)
        (target / hidden).write_text("no rows")
    return target


def csv_text(rows: Array, header: bool = True) -> str:
    lines = [",".join(names(rows))] if header else []
    lines += [",".join(map(repr, row)) for row in rows.astype(float).tolist()]
    return "\n".join(lines) + "\n"


def save_csv(rows: Array, folder: Path) -> Path:
    (folder / "rows.csv").write_text(csv_text(rows))
    return folder / "rows.csv"


def save_csv_gz(rows: Array, folder: Path) -> Path:
    with gzip.open(folder / "rows.csv.gz", "wt") as file:
        file.write(csv_text(rows))
    return folder / "rows.csv.gz"


def save_csvs(rows: Array, folder: Path) -> list[Path]:
    paths = []
    for index, part in enumerate(pieces(rows)):
        paths.append(folder / f"{index}.csv")
        paths[-1].write_text(csv_text(part))
    return paths


def save_npys(rows: Array, folder: Path) -> list[str]:
    paths = []
    for index, part in enumerate(pieces(rows)):
        paths.append(str(folder / f"{index}.npy"))
        np.save(paths[-1], part)
    return paths


def save_zarr(rows: Array, folder: Path) -> Path:
    path = folder / "rows.zarr"
    stored = zarr.create_array(path, shape=rows.shape, chunks=(6, 2), dtype=rows.dtype)
    stored[:] = rows
    return path


FILES: dict[str, Callable[[Array, Path], Any]] = {
    "npy": save_npy,
    "fortran": save_fortran,
    "npys": save_npys,
    "parquet": save_parquet,
    "folder": save_folder,
    "csv": save_csv,
    "csv.gz": save_csv_gz,
    "csvs": save_csvs,
    "zarr": save_zarr,
}
SLICED: dict[str, Callable[[Array, Path], Any]] = {
    **FILES,
    "array": lambda rows, _: rows,
    "memmap": lambda rows, folder: np.load(save_npy(rows, folder), mmap_mode="r"),
    "csr": lambda rows, _: sp.csr_array(rows.astype(np.float64)),
    "zarr array": lambda rows, folder: zarr.open_array(save_zarr(rows, folder), mode="r"),
    "pandas": lambda rows, _: pd.DataFrame(rows, columns=names(rows)),
    "polars": lambda rows, _: pl.DataFrame(rows, schema=names(rows)),
    "table": lambda rows, _: table(rows),
}
"""Sources that are cut into chunks by the stream."""
ITERABLES: dict[str, Callable[[Array, Path], Any]] = {
    "list": lambda rows, _: pieces(rows),
    "function": lambda rows, _: lambda: iter(pieces(rows)),
    "csrs": lambda rows, _: [sp.csr_array(p.astype(np.float64)) for p in pieces(rows)],
    "frames": lambda rows, _: [pd.DataFrame(p, columns=names(p)) for p in pieces(rows)],
    "polars frames": lambda rows, _: [pl.DataFrame(p, schema=names(p)) for p in pieces(rows)],
    "batches": lambda rows, _: table(rows).to_batches(max_chunksize=4),
    "weighted": lambda rows, _: [(part, np.ones(len(part))) for part in pieces(rows)],
}
"""Sources that come in chunks."""
ALL = {**SLICED, **ITERABLES}


def dense(rows: Any) -> Array:
    """A copy of the rows of a chunk."""
    return rows.toarray() if sp.issparse(rows) else np.array(rows)


def read(source: Stream) -> Array:
    """All rows of a pass."""
    chunks = [dense(chunk.rows) for chunk in source.chunks()]
    return np.concatenate(chunks) if chunks else np.empty((0, source.n_features))
