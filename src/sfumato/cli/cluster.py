"""The job of ``sfumato cluster``: a file in, a folder of results out, a summary on the screen.

Data that fits into memory is clustered here; ``cluster_stream.py`` does the same for larger data.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.cli import tables
from sfumato.cli.cluster_stream import cluster_streamed
from sfumato.cli.memory import default_limit, memory_of_whole, size_text
from sfumato.cli.progress import FitProgress
from sfumato.cli.report import (
    Counts,
    print_summary,
    summarize,
    translate_errors,
    write_summary,
)
from sfumato.cli.tables import Source
from sfumato.estimators import REFCMFS, CappedREFCMFS
from sfumato.exceptions import UserError
from sfumato.files import OutputFolder

MOST_ACTIVE = 5
"""Memberships per row that "auto" chooses, at most."""


def cluster_file(
    source: Source,
    model: REFCMFS | CappedREFCMFS,
    output: Path,
    file_format: str,
    force: bool,
    memory: int | None = None,
) -> None:
    """Read, fit, write, and print a summary.

    Parameters
    ----------
    source : Source
        File, and which part of it to use; or a folder of Parquet files.
    model : REFCMFS or CappedREFCMFS
        Estimator to fit; the second also says which rows are outliers.
    output : Path
        Folder for the results.
    file_format : {"csv", "parquet"}
        Format of the tables in it.
    force : bool
        Whether to replace results that are there.
    memory : int, optional
        Bytes that may be used; half of what is free by default. A file that needs more is streamed.
    """
    _require_writers(file_format)
    names = [f"{name}.{file_format}" for name in ("labels", "memberships", "centers")]
    folder = OutputFolder(output, (*names, "summary.json"), force)
    folder.check()
    steady = model.checkpoint is not None
    limit = default_limit(steady) if memory is None else memory
    n_active = _most_memberships(model)
    if not source.path.is_dir():
        needed = memory_of_whole(source, n_active)
        if needed <= limit:
            _cluster_whole(source, model, folder)
            return
        _require_streamable(source, needed, limit)
    with translate_errors(source.path, memory):
        cluster_streamed(source, model, folder, limit, n_active)


def _require_writers(file_format: str) -> None:
    """Import what writing will need, so that nothing is found missing after the fit."""
    import pandas  # noqa: F401

    if file_format == "parquet":
        import pyarrow  # noqa: F401


def _most_memberships(model: REFCMFS | CappedREFCMFS) -> int:
    """Memberships per row, at most."""
    active = model.n_active if isinstance(model.n_active, int) else MOST_ACTIVE
    return max(1, min(active, model.n_clusters))


def _require_streamable(source: Source, needed: int, limit: int) -> None:
    if source.path.suffix.lower() == ".npz":
        raise UserError(
            f"{source.path} takes about {size_text(needed)} of memory, more than the "
            f"{size_text(limit)} that may be used, and .npz files cannot be streamed; save the "
            f"array as .npy, or give --memory {size_text(1.1 * needed).replace(' ', '')}."
        )


def _cluster_whole(source: Source, model: REFCMFS | CappedREFCMFS, folder: OutputFolder) -> None:
    """The job where all data is in memory."""
    table = source.read()
    began = time.perf_counter()
    with translate_errors(source.path):
        bar: AbstractContextManager[Any] = nullcontext()
        if sys.stderr.isatty():
            progress = FitProgress()
            model.set_callbacks(progress)
            bar = progress.bar
        with bar:
            model.fit(table.values)
    seconds = time.perf_counter() - began
    more, outliers = {}, None
    if isinstance(model, CappedREFCMFS):
        more = {"outlier": model.outliers_, "outlier_score": model.outlier_scores_}
        outliers = int(model.outliers_.sum())
    n_rows, n_features = table.values.shape
    given = {
        "file": str(source.path),
        "rows": n_rows,
        "features": n_features,
        "ignored_columns": list(table.ignored),
    }
    sizes = np.bincount(model.labels_, minlength=model.n_clusters).tolist()
    summary = summarize(model, given, Counts(sizes, outliers), seconds, folder.names)
    frames = [
        tables.labels_frame(table, model.labels_, model.memberships_, more),
        tables.memberships_frame(table, model.memberships_),
        tables.centers_frame(table, model.cluster_centers_),
    ]
    writers: dict[str, Callable[[Path], object]] = {
        name: partial(tables.write_frame, frame)
        for name, frame in zip(folder.names[:3], frames, strict=True)
    }
    writers["summary.json"] = partial(write_summary, summary)
    folder.write(writers)
    print_summary(summary, folder.path)
