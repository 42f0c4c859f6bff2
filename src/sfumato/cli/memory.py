"""How much memory a job may take, would take, and how large chunks may be."""

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
from sfumato.streams._base import default_rows

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BINARY = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
CONTROL_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
"""Limit and use of memory in a container, in both versions of control groups."""
UNKNOWN = 4 * 10**9
"""Memory of a machine that does not say how much it has."""

BASE = 250 * 10**6
"""Bytes that Python takes with NumPy, SciPy, scikit-learn, pandas and Arrow: 207 MB measured when
they are imported, 220 MB and more when they have been used."""
TABLE_COPIES = 3.0
"""Copies of a table of doubles that are there while Parquet is read: 2.9 measured."""
TEXT_COPIES, PARSED_COPIES = 1.0, 2.5
"""The same for CSV: of its text, and of its numbers as doubles; 1.0 and 2.4 measured."""
RESULT_BYTES, MEMBERSHIP_BYTES = 40, 80
"""Bytes of the results of a row, and of each of its memberships, while they are laid out."""
HEAD_BYTES = 1 << 16
"""Bytes of a CSV file from which the length of its lines is estimated."""

CHUNK_COPIES, CORESET_COPIES = 7.5, 4.0
"""Chunks at a time: one in use, one waiting, one being filled, and what Arrow keeps to decode it;
4 measured for .npy, more than 6 for Parquet. And draws at a time, while one is added to another."""
ROW_BYTES = 100
"""Bytes beside the numbers of a row: what draws and results keep of each row of a chunk."""
FRAME_BYTES = 150
"""Bytes of a membership on its way into a file."""
LEAST_ROWS, WRITTEN_ROWS = 256, 1 << 14
"""Smallest chunk, and the largest one whose results are written together."""


def parse_size(text: str) -> int:
    """Bytes of a size such as 2GB, 500MB or 1.5GiB; ValueError if it is none."""
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
    """A size in words: 1.5 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def available_memory() -> int:
    """Bytes that this process may still take: of the machine, and of the container it is in."""
    return min(free_memory(), container_memory())


def container_memory() -> int:
    """Bytes that the limit of a control group leaves; very many where there is none."""
    for limit, used in CONTROL_GROUPS:
        try:
            return max(0, int(Path(limit).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):  # No such group, or "max".
            continue
    return sys.maxsize


def free_memory() -> int:
    """Bytes that are free on this machine, or all it has where that is not known."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    for name in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            continue
    return UNKNOWN


def default_limit(steady: bool = False) -> int:
    """Half of the memory that is free now, but enough to run at all.

    A steady limit is half of what the machine has: a fit that is to go on after a crash must be cut
    into the same chunks.
    """
    available = available_memory()
    if steady:
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(available // 2, 2 * BASE)


def memory_of_whole(source: Source, n_active: int) -> int:
    """Bytes that a process takes which reads a file at once and keeps all results.

    A file that cannot be read counts as nothing: its reader will say what is wrong.
    """
    makers = {".csv": _csv, ".parquet": _parquet, ".npy": _npy, ".npz": _npz}
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
    columns = 1 + head.partition(b"\n")[0].count(source.separator.encode())
    return n_rows, TEXT_COPIES * size + PARSED_COPIES * n_rows * columns * 8


def _parquet(source: Source) -> tuple[float, float]:
    from pyarrow import parquet

    found = parquet.read_metadata(source.path)
    stored = sum(found.row_group(i).total_byte_size for i in range(found.num_row_groups))
    values = found.num_rows * found.num_columns * 8
    return found.num_rows, TABLE_COPIES * max(values, stored)


def _npy(source: Source) -> tuple[float, float]:
    """An array that is mapped takes nothing, unless columns or numbers must be copied."""
    values = np.load(source.path, mmap_mode="r", allow_pickle=False)
    copied = bool(source.columns or source.exclude or source.id_column)
    foreign = values.dtype.kind == "f" and values.dtype not in (np.float32, np.float64)
    size = values.nbytes * copied + values.size * 8 * foreign
    return (values.shape[0] if values.ndim else 0), size


def _npz(source: Source) -> tuple[float, float]:
    with zipfile.ZipFile(source.path) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    if source.key is not None:
        return 0, sizes.get(f"{source.key}.npy", 0)
    return 0, sum(sizes.values())


def chunk_sizes(
    limit: int, row_bytes: int, n_features: int, n_clusters: int, n_active: int
) -> tuple[int, int]:
    """Rows of the chunks of a fit, and of those whose results are written.

    The default size of chunks, halved until the whole process stays within the limit. Results
    depend on it in their last bits; so it is one of few sizes, whatever the limit.
    """
    many = max(8 * n_clusters, CORESET_BYTES // (8 * n_features))
    coreset = min(CORESET_ROWS + CORESET_ROWS_PER_CLUSTER * n_clusters, many)
    base = BASE + int(CORESET_COPIES * coreset * n_features * 8)
    each = CHUNK_COPIES * row_bytes + ROW_BYTES
    written = each + FRAME_BYTES * n_active
    least = int(base + LEAST_ROWS * written)
    if limit < least:
        # What is asked for is rounded up, so that the user can copy it from the message.
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
