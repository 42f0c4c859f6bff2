"""Memory of ``sfumato cluster``: sizes in text, free memory, need of a file, rows of a chunk."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from pathlib import Path

import numpy as np

from sfumato._engines.chunked import CORESET_BYTES, CORESET_ROWS, CORESET_ROWS_PER_CLUSTER
from sfumato.cli.input import Source
from sfumato.exceptions import UserError
from sfumato.streams._arrays import read_header
from sfumato.streams._base import default_rows

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BINARY = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
"""Bytes of the units GB and GiB, by their first letter."""
CONTROL_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
"""Files with the limit and the use of memory in a container, for cgroups v2 and v1; in bytes."""
UNKNOWN = 4 * 10**9
"""Bytes assumed free where the system does not report them; chosen by hand."""

BASE = 300 * 10**6
"""Bytes of Python with NumPy, SciPy, scikit-learn, pandas and Arrow, and of the report: 297 MB
measured as the peak for a table of 4 columns."""
TABLE_COPIES, PARSED_COPIES = 1.0, 1.25
"""Copies of the numbers of a file, as doubles, that are in memory while Parquet and CSV are read;
1.0 and 1.0 to 1.3 measured as the slope from files of 50 MB to files of 160 MB."""
READER_BYTES, READER_COPIES = 90 * 10**6, 3.0
"""Bytes that the reader takes beside them, at most, and their ratio to the numbers of a small file:
60 to 85 MB measured for these files, and 3 times the numbers of a CSV file of 50 MB."""
RESULT_BYTES, MEMBERSHIP_BYTES = 40, 80
"""Bytes of the results of a row, and of each of its memberships, in the tables; chosen by hand."""
HEAD_BYTES = 1 << 16
"""Bytes at the beginning of a CSV file from which the length of a line is estimated; chosen by
hand."""

CHUNK_COPIES, CORESET_COPIES, DENSE_COPIES = 7.5, 12.0, 4.0
"""Chunks in memory at a time: one in use, one waiting, one being filled, and buffers of Arrow; 4
measured for .npy, more than 6 for Parquet. Samples of the size of a coreset: those on which starts
are compared, and copies while two are merged; 9 to 10 measured with 32 and 128 columns. And those
that are dense if rows are sparse."""
ROW_BYTES = 100
"""Bytes for each row of a chunk beside its numbers: keys of the sample, results; chosen by hand."""
FRAME_BYTES = 150
"""Bytes of a membership while it is written to a file; chosen by hand."""
LEAST_ROWS, WRITTEN_ROWS = 256, 1 << 14
"""Rows of the smallest chunk, and of the largest one whose results are written together; chosen by
hand."""


def parse_size(text: str) -> int:
    """Bytes of a size such as 2GB, 500MB or 1.5GiB; raises ValueError for other text."""
    pattern = r"\s*(\d+\.?\d*|\.\d+)\s*(?:b|([kmgt])(i?)b?)\s*"
    found = re.fullmatch(pattern, text, re.IGNORECASE)
    size = 0
    if found is not None:
        units = BINARY if found[3] else UNITS
        size = int(float(found[1]) * units[(found[2] or "").upper()])
    if size <= 0:
        raise ValueError(f"{text!r} is no size; write a number and a unit: 500MB, 2GB or 1.5GiB.")
    return size


def size_text(size: float) -> str:
    """Size as text, as 1.5 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def available_memory() -> int:
    """Bytes that this process may still take, by the machine and by its container."""
    return min(free_memory(), container_memory())


def container_memory() -> int:
    """Bytes left below the limit of the control group; ``sys.maxsize`` without a limit."""
    for limit, used in CONTROL_GROUPS:
        try:
            return max(0, int(Path(limit).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):  # No such group, or "max".
            continue
    return sys.maxsize


def free_memory() -> int:
    """Bytes free on this machine, or its whole memory where the free part is not known."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return _pages("SC_AVPHYS_PAGES") or _pages("SC_PHYS_PAGES") or UNKNOWN


def _pages(name: str) -> int | None:
    """Bytes of a number of pages that the system reports; None if it does not."""
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no such function.
        return None


def default_limit(steady: bool = False) -> int:
    """Half of the memory that is free now, but enough to run at all.

    A steady limit is half of the machine's whole memory, which is the same after a crash: a fit
    from a checkpoint needs the same chunks.
    """
    available = available_memory()
    if steady:
        available = _pages("SC_PHYS_PAGES") or UNKNOWN
    return max(available // 2, 2 * BASE)


def memory_of_whole(source: Source, n_active: int) -> int:
    """Bytes of a process that reads a whole file and keeps all results.

    Zero for a file that cannot be read: its reader raises the error.
    """
    makers = {".csv": _csv, ".tsv": _csv, ".parquet": _parquet, ".npy": _npy, ".npz": _npz}
    maker = makers.get(source.path.suffix.lower())
    try:
        n_rows, content = (0.0, 0.0) if maker is None else maker(source)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return 0
    return int(BASE + content + n_rows * (RESULT_BYTES + n_active * MEMBERSHIP_BYTES))


def _csv(source: Source) -> tuple[float, float]:
    size = source.path.stat().st_size
    with source.path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    lines = max(1, head.count(b"\n"))
    n_rows = size * lines / max(1, len(head))
    columns = 1 + head.partition(b"\n")[0].count(source.form.separator.encode())
    values = n_rows * columns * 8
    ids = size if source.id_column is not None else 0  # At most: they are kept as text.
    return n_rows, ids + PARSED_COPIES * values + _reader(values)


def _parquet(source: Source) -> tuple[float, float]:
    from pyarrow import parquet

    found = parquet.read_metadata(source.path)
    stored = sum(found.row_group(i).total_byte_size for i in range(found.num_row_groups))
    values = found.num_rows * found.num_columns * 8
    return found.num_rows, TABLE_COPIES * max(values, stored) + _reader(values)


def _reader(values: float) -> float:
    """Bytes that a reader takes beside numbers of this size."""
    return min(READER_BYTES, READER_COPIES * values)


def _npy(source: Source) -> tuple[float, float]:
    """A mapped array takes no memory, unless columns are chosen or numbers converted."""
    header = read_header(source.path)
    n_values = header.shape[0] * header.shape[1]
    copied = bool(source.columns or source.exclude or source.id_column)
    foreign = header.dtype.kind == "f" and header.dtype not in (np.float32, np.float64)
    return header.shape[0], n_values * (header.dtype.itemsize * copied + 8 * foreign)


def _npz(source: Source) -> tuple[float, float]:
    with zipfile.ZipFile(source.path) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    if source.key is not None:
        return 0, sizes.get(f"{source.key}.npy", 0)
    return 0, sum(sizes.values())


def chunk_sizes(
    limit: int, row_bytes: float, n_features: int, n_clusters: int, n_active: int
) -> tuple[int, int]:
    """Rows of the chunks of a fit, and of the chunks whose results are written together.

    The default number of rows is halved until the process stays within the limit. The last bits of
    results depend on it; halving keeps the number of different outcomes small.

    Parameters
    ----------
    limit : int
        Bytes that the process may take.
    row_bytes : float
        Bytes of a row in a chunk, on average.
    n_features, n_clusters, n_active : int
        Sizes of the problem.

    Returns
    -------
    fit_rows, written_rows : int
    """
    many = max(8 * n_clusters, CORESET_BYTES // (8 * n_features))
    coreset = min(CORESET_ROWS + CORESET_ROWS_PER_CLUSTER * n_clusters, many)
    dense = 8.0 * n_features
    sampled = max(DENSE_COPIES * dense, CORESET_COPIES * min(dense, 2 * row_bytes))
    base = BASE + int(coreset * sampled)
    each = CHUNK_COPIES * row_bytes + ROW_BYTES
    written = each + FRAME_BYTES * n_active
    least = int(base + LEAST_ROWS * written)
    if limit < least:
        # Rounded up to a size that can be copied from the message.
        enough = f"{-(-least // 10**7) * 10}MB"
        raise UserError(
            f"--memory {size_text(limit)} is too little: Python with its libraries, the rows on "
            f"which starts are compared, and the smallest chunks take more; give --memory {enough} "
            "or more."
        )
    rows = default_rows(row_bytes)
    while rows > LEAST_ROWS and base + rows * each > limit:
        rows //= 2
    return rows, max(1, min(rows, WRITTEN_ROWS, int((limit - base) / written)))
