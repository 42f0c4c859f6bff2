"""The job of ``sfumato cluster`` where the data is streamed: nothing of its size is in memory."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from sfumato._engines.base import OUTLIER
from sfumato._engines.stream import compute_together
from sfumato.cli import tables
from sfumato.cli.memory import chunk_sizes, size_text
from sfumato.cli.progress import StreamProgress
from sfumato.cli.report import Counts, print_summary, summarize, write_summary
from sfumato.cli.table_streams import StreamedTable, streamed_table
from sfumato.cli.tables import Source, Table
from sfumato.estimators import REFCMFS, CappedREFCMFS
from sfumato.exceptions import UserError
from sfumato.files import OutputFolder
from sfumato.streams import Stream

GROUP_LINES = 1 << 16
"""Lines of a row group of a Parquet file, at least: those of small chunks are collected."""

SHORTEST_MEMBERSHIP = 3
"""Characters of a membership in a .csv file, at least: 1.0."""


def cluster_streamed(
    source: Source,
    model: REFCMFS | CappedREFCMFS,
    folder: OutputFolder,
    limit: int,
    n_active: int,
) -> None:
    """Fit in passes over a file, write results in one more, and print a summary.

    Parameters
    ----------
    source : Source
        File or folder, and which part of it to use.
    model : REFCMFS or CappedREFCMFS
        Estimator to fit; the second also says which rows are outliers.
    folder : OutputFolder
        Where the results are to appear.
    limit : int
        Bytes that the process may take.
    n_active : int
        Memberships per row, at most.
    """
    import pyarrow  # noqa: F401 - its absence is told at once, with the extra that brings it

    table = streamed_table(source)
    rows = table.open(None, False)
    sizes = chunk_sizes(
        limit,
        rows.dtype.itemsize * _stored_columns(source, rows),
        rows.n_features,
        model.n_clusters,
        n_active,
    )
    rows, results = table.open(sizes[0], False), table.open(sizes[1], True)
    _check_space(folder, table, rows.n_rows)
    progress = StreamProgress(model.tol)
    rows.observer = results.observer = progress
    with progress.shown():
        model.set_callbacks(progress)
        began = time.perf_counter()
        model.fit(rows)
        seconds = time.perf_counter() - began
        job = Results(model, table, results, folder)

        def fill(stage: Path) -> None:
            counts = job.write(stage)
            given = {
                "file": str(source.path),
                "rows": job.n_rows,
                "features": rows.n_features,
                "ignored_columns": list(table.ignored),
            }
            streamed = {"passes": progress.passes, "chunk_rows": sizes[0]}
            counts = Counts(counts.sizes, counts.outliers, streamed)
            job.summary = summarize(model, given, counts, seconds, folder.names)
            write_summary(job.summary, stage / folder.names[3])

        folder.fill(fill)
    print_summary(job.summary, folder.path)


def _stored_columns(source: Source, rows: Stream) -> int:
    """Columns that are read into a chunk: of an .npy file all, and those in use once more."""
    if source.path.suffix.lower() != ".npy":
        return rows.n_features
    whole = int(np.load(source.path, mmap_mode="r").shape[1])
    return whole if whole == rows.n_features else whole + rows.n_features


class Results:
    """Results of all rows, written chunk by chunk in one pass.

    Parameters
    ----------
    model : REFCMFS or CappedREFCMFS
        Fitted.
    table : StreamedTable
    rows : Stream
        Its rows, with identifiers if it has some.
    folder : OutputFolder
        Whose names say how to write: labels, memberships, centers.
    """

    def __init__(
        self,
        model: REFCMFS | CappedREFCMFS,
        table: StreamedTable,
        rows: Stream,
        folder: OutputFolder,
    ) -> None:
        self.model, self.table, self.rows, self.folder = model, table, rows, folder
        self.n_rows = 0
        self.summary: dict[str, Any] = {}

    def write(self, stage: Path) -> Counts:
        """Write the three tables into a folder, and count."""
        model, robust = self.model, isinstance(self.model, CappedREFCMFS)
        said = [model.predict(self.rows), model.predict_membership(self.rows)]
        said += [model.score_outliers(self.rows)] if robust else []
        sizes, outliers = np.zeros(model.n_clusters, dtype=np.int64), 0
        labels_name, memberships_name, centers_name = self.folder.names[:3]
        with ExitStack() as stack:
            add_labels = stack.enter_context(appending(stage / labels_name))
            add_memberships = stack.enter_context(appending(stage / memberships_name))
            for ids, (labels, memberships, *scores) in self._said(said):
                more = {}
                if robust:
                    more = {"outlier": scores[0] > OUTLIER, "outlier_score": scores[0]}
                    outliers += int(more["outlier"].sum())
                sizes += np.bincount(labels, minlength=model.n_clusters)
                chunk = Table(None, self.table.names, self.table.row_name, ids)
                add_labels(tables.labels_frame(chunk, labels, memberships, more))
                add_memberships(tables.memberships_frame(chunk, memberships))
        nobody = Table(None, self.table.names, self.table.row_name, ())
        centers = tables.centers_frame(nobody, model.cluster_centers_)
        tables.write_frame(centers, stage / centers_name)
        return Counts(sizes.tolist(), outliers if robust else None)

    def _said(self, said: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
        """Identifiers of the rows of each chunk, and what the model says of them."""
        observer = self.rows.observer
        if observer is not None:
            observer.begin("writing results", self.rows.n_rows)
        with closing(compute_together(said)) as chunks:
            for chunk, values in chunks:
                end = self.n_rows + chunk.rows.shape[0]
                yield _ids(chunk.ids, self.n_rows, end), values
                self.n_rows = end
                if observer is not None:
                    observer.advance(end)
        if observer is not None:
            observer.end(self.n_rows)


def _ids(given: Any, begin: int, end: int) -> Any:
    """Identifiers of a chunk for a frame, in the same type in every chunk."""
    import pandas as pd

    if given is None:
        return np.arange(begin, end)
    if isinstance(given, np.ndarray):
        return given
    return given.to_pandas(types_mapper=pd.ArrowDtype)


@contextmanager
def appending(path: Path) -> Iterator[Callable[[Any], None]]:
    """Write frames one below the other into a .csv or .parquet file, after the path's ending."""
    writer = ParquetLines(path) if path.suffix == ".parquet" else CsvLines(path)
    try:
        yield writer.add
        writer.close()
    except BaseException:
        with suppress(OSError, ValueError):  # The file will be removed; the first error counts.
            writer.abandon()
        raise


class CsvLines:
    """Lines of a .csv file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._header = True

    def add(self, frame: Any) -> None:
        """Write a frame."""
        frame.to_csv(self._file, index=False, header=self._header, lineterminator="\n")
        self._header = False

    def close(self) -> None:
        """Write what is left."""
        self._file.close()

    abandon = close


class ParquetLines:
    """Lines of a Parquet file, in row groups that are not too small."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[Any] = []
        self._lines = 0
        self._writer: Any = None

    def add(self, frame: Any) -> None:
        """Write a frame, or keep it until there are more."""
        import pyarrow as pa

        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        self._waiting.append(table)
        self._lines += table.num_rows
        if self._lines >= GROUP_LINES:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        together = pa.concat_tables(self._waiting)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, together.schema)
        self._writer.write_table(together.cast(self._writer.schema))
        self._waiting, self._lines = [], 0

    def close(self) -> None:
        """Write what is left."""
        if self._waiting:
            self._write()
        if self._writer is not None:
            self._writer.close()

    def abandon(self) -> None:
        """End without writing more than must be."""
        self._waiting = []
        self.close()


def _check_space(folder: OutputFolder, table: StreamedTable, n_rows: int | None) -> None:
    """Raise before a long fit if the results certainly do not fit on the disk.

    Only what is sure is counted: of .csv files the shortest lines that there can be, one
    membership a row; nothing of Parquet, which may be compressed to almost nothing.
    """
    if n_rows is None or folder.names[0].endswith(".parquet"):
        return
    digits = 1 if table.has_ids else len(str(n_rows)) - 1
    line = digits + len(",0,\n") + SHORTEST_MEMBERSHIP
    existing = folder.path.absolute()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if 2 * n_rows * line > free:
        raise UserError(
            f"{existing} has room for {size_text(free)}, and labels and memberships of {n_rows} "
            f"rows take more than {size_text(2 * n_rows * line)} as .csv; make room, give another "
            "--output, or --format parquet."
        )
