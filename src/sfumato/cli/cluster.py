"""The job of ``sfumato cluster``: a file in, a folder of results out, a summary on the screen."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sfumato._fit.checkpoint import stored_place
from sfumato._inspection import raise_not_finite, summarize_range
from sfumato._persistence import write_model
from sfumato._selection.path import reported_to
from sfumato._validation import most_clusters
from sfumato.cli.input import Source, Table
from sfumato.cli.memory import WRITTEN_ROWS, chunk_sizes, default_limit, memory_of_whole, size_text
from sfumato.cli.output import (
    RowResults,
    as_ids,
    check_space,
    require_writers,
    streamed_results,
    write_centers,
    write_rows,
)
from sfumato.cli.progress import FitProgress
from sfumato.cli.report import print_summary, summarize, translate_errors, write_summary
from sfumato.estimators._base import BaseFuzzyClustering
from sfumato.exceptions import UserError
from sfumato.files import OutputFolder
from sfumato.memberships import DEFAULT_ACTIVE
from sfumato.streams._npz import loaded_format

Model = BaseFuzzyClustering

COLLECTED_BYTES = 1 << 22
"""Bytes of a chunk while a file is read into memory: 4 MiB, chosen by hand. Peak memory of reading
53 MB of Parquet: 214 MB with chunks of 32 MiB, 139 MB with 4 MiB, 122 MB with 2 MiB."""

ESTIMATED = (".csv", ".tsv", ".parquet", ".npy", ".npz")
"""Endings of files whose size in memory is estimated; others are streamed."""


def cluster_file(
    source: Source,
    model: BaseFuzzyClustering,
    folder: OutputFolder,
    memory: int | None = None,
    quiet: bool = False,
    page: ReportOptions | None = None,
) -> None:
    """Read, fit, write, and print a summary.

    Parameters
    ----------
    source : Source
        File, and which part of it to use; or a folder of Parquet files.
    model : estimator
        Estimator to fit.
    folder : OutputFolder
        For labels, memberships and centers, as .csv or .parquet, the summary and the model.
    memory : int, optional
        Bytes that may be used; half of what is free by default. A file that needs more is streamed.
    quiet : bool, default=False
        Whether to show no progress.
    page : ReportOptions, optional
        What the report shows; without, none is written. ``folder`` has a last file for it.
    """
    require_writers(folder.names[0], page is not None)
    folder.check()
    limit = default_limit(model.checkpoint is not None) if memory is None else memory
    with translate_errors(source.path) as warned:
        in_memory = _fits(source, limit, _most_memberships(model))
        table = source.table()
        place = None if model.checkpoint is None else stored_place(model.checkpoint)
        progress = FitProgress(model.tol, quiet, place)
        with progress.shown():
            data: _Data
            if in_memory:
                data = _InMemory(table, progress)
            else:
                data = _Streamed(table, progress, model, limit)
            summary = _run(source, table, data, model, folder, warned, page)
    print_summary(summary, folder.path)


def _most_memberships(model: Model) -> int:
    """Memberships per row, at most."""
    n_clusters = most_clusters(model)
    active = getattr(model, "n_active", n_clusters)
    return max(1, min(DEFAULT_ACTIVE if active == "auto" else active, n_clusters))


def _fits(source: Source, limit: int, n_active: int) -> bool:
    """Whether a file can be clustered in memory."""
    suffix = source.path.suffix.lower()
    if source.path.is_dir() or suffix not in ESTIMATED:
        return False
    needed = memory_of_whole(source, n_active)
    form = loaded_format(source.path, source.key) if needed > limit and suffix == ".npz" else None
    if form is not None:
        raise UserError(
            f"{source.path} holds a sparse array as {form.upper()}, which takes about "
            f"{size_text(needed)} of memory, more than the {size_text(limit)} that may be used, "
            "and cannot be read row by row; save it as CSR, scipy.sparse.save_npz(path, "
            f"array.tocsr()), or give --memory {size_text(1.1 * needed).replace(' ', '')}."
        )
    return needed <= limit


class ReportOptions(NamedTuple):
    """What the report shows.

    Attributes
    ----------
    show_rows : bool
        Whether values and identifiers of single rows are shown.
    command : str
        The command, as it was given.
    """

    show_rows: bool
    command: str


class _Data(ABC):
    """Rows to cluster, in memory or streamed."""

    n_rows: int | None
    """Number of rows; None if it is not known before a pass."""

    def __init__(self, progress: FitProgress) -> None:
        self.progress = progress

    @abstractmethod
    def fit(self, model: Model) -> None:
        """Fit the model to the rows."""

    @abstractmethod
    def results(self, model: Model) -> Iterator[RowResults]:
        """Yield the results of all rows in order."""

    @abstractmethod
    def rows_and_ids(self) -> tuple[Any, Any]:
        """Rows for the report, and their identifiers unless the rows have them."""

    def how(self) -> dict[str, Any]:
        """Passes and chunks of a streamed fit, for the summary."""
        return {}


class _InMemory(_Data):
    """All rows of a table in memory."""

    def __init__(self, table: Table, progress: FitProgress) -> None:
        super().__init__(progress)
        probe = table.open(None, table.has_ids)
        chunk_rows = max(1, int(COLLECTED_BYTES / max(1.0, probe.row_bytes)))
        self._stream = table.open(chunk_rows, table.has_ids)
        self._all = self._stream.collect()
        self.n_rows = int(self._all.rows.shape[0])

    def fit(self, model: Model) -> None:
        try:
            model.fit(self._all.rows)
        except ValueError:
            bad = summarize_range(self._all.rows).bad
            if bad is None:
                raise
            where = self._stream.describe(self._all.location, bad.row, bad.column)
            raise_not_finite(bad, where)

    def rows_and_ids(self) -> tuple[Any, Any]:
        ids = self._all.ids
        return self._all.rows, None if ids is None else as_ids(ids, 0, len(ids))

    def results(self, model: Model) -> Iterator[RowResults]:
        ids, n_rows = self._all.ids, len(model.labels_)
        self.progress.begin_writing(n_rows)
        for begin in range(0, n_rows, WRITTEN_ROWS):
            rows = slice(begin, min(begin + WRITTEN_ROWS, n_rows))
            yield RowResults(
                as_ids(None if ids is None else ids[rows], rows.start, rows.stop),
                model.labels_[rows],
                model.memberships_[rows],
                model.outlier_scores_[rows],
            )
            self.progress.advance(rows.stop)


class _Streamed(_Data):
    """Rows of a table that are read chunk by chunk, once per pass."""

    def __init__(self, table: Table, progress: FitProgress, model: Model, limit: int) -> None:
        super().__init__(progress)
        probe = table.open(None, False)
        self._chunk_rows, written_rows = chunk_sizes(
            limit,
            probe.row_bytes,
            probe.n_features,
            most_clusters(model),
            _most_memberships(model),
        )
        self._rows = table.open(self._chunk_rows, False)
        self._written = table.open(written_rows, table.has_ids)
        self._rows.observer = self._written.observer = self.progress
        self.n_rows = self._rows.n_rows

    def fit(self, model: Model) -> None:
        model.fit(self._rows)

    def rows_and_ids(self) -> tuple[Any, Any]:
        return self._written, None

    def results(self, model: Model) -> Iterator[RowResults]:
        self.progress.passes += 1
        return streamed_results(model, self._written, self.progress)

    def how(self) -> dict[str, Any]:
        return {"streamed": {"passes": self.progress.passes, "chunk_rows": self._chunk_rows}}


def _run(
    source: Source,
    table: Table,
    data: _Data,
    model: Model,
    folder: OutputFolder,
    warned: list[dict[str, str]],
    page: ReportOptions | None,
) -> dict[str, Any]:
    """Fit, and write all results; returns the summary."""
    check_space(folder, data.n_rows, table.has_ids)
    summary: dict[str, Any] = {}
    progress = data.progress
    if hasattr(model, "set_callbacks"):  # Not before scikit-learn 1.9: a bar without starts.
        model.set_callbacks(progress)
    began = time.perf_counter()
    with reported_to(progress.count):
        data.fit(model)
    seconds = time.perf_counter() - began

    def fill(stage: Path) -> None:
        files = [stage / name for name in folder.names]
        *paths, centers_path, summary_path, model_path = files if page is None else files[:-1]
        centers = model.cluster_centers_
        counts = write_rows(paths, data.results(model), table.row_name, len(centers))
        write_centers(centers_path, table.names, centers, table.preparer)
        write_model(model, model_path, columns=table.names, preparer=table.preparer)
        given = {
            "file": str(source.path),
            "rows": counts.rows,
            "features": len(table.names),
            "ignored_columns": list(table.ignored),
            "scale": "none" if table.preparer is None else table.preparer.scale_,
            "columns": [] if table.preparer is None else table.preparer.decisions_.to_list(),
        }
        run = data.how() | {"seconds": round(seconds, 3), "files": list(folder.names)}
        if progress.resumed is not None:
            run["resumed"] = progress.resumed._asdict()
        summary.update(summarize(model, given, counts, run | {"warnings": warned}))
        write_summary(summary, summary_path)
        if page is not None:
            _write_report(files[-1], source, table, data, model, page)

    folder.fill(fill)
    return summary


def _write_report(
    path: Path, source: Source, table: Table, data: _Data, model: Model, page: ReportOptions
) -> None:
    """Write the report on the rows that were fitted."""
    from sfumato.reporting import report

    rows, ids = data.rows_and_ids()
    report(
        model,
        rows,
        path,
        table.names,
        show_rows=page.show_rows,
        ids=ids,
        title=source.path.name,
        command=page.command,
        preparer=table.preparer,
    )
