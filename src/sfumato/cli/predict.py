"""The job of ``sfumato predict``: a model and a file in, a folder of predictions out.

A file of any size is read once, chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from sfumato._persistence import SavedModel, read_model
from sfumato.cli.input import Source, Table
from sfumato.cli.memory import chunk_sizes, default_limit
from sfumato.cli.output import appending, as_ids, require_writers, streamed_results, write_rows
from sfumato.cli.progress import FitProgress
from sfumato.cli.report import Counts, found, translate_errors
from sfumato.estimators._base import BaseFuzzyClustering
from sfumato.exceptions import ModelFileError, UserError, one_line
from sfumato.files import OutputFolder
from sfumato.streams import Stream


def predict_file(
    model_path: Path,
    source: Source,
    path: Path,
    file_format: str,
    force: bool,
    memory: int | None,
    quiet: bool,
) -> None:
    """Load a model, write predictions for the rows of a file, and print what was found.

    Parameters
    ----------
    model_path : Path
        File of a model.
    source : Source
        File of rows, whose columns are those that the model was fitted to, if they have names.
    path : Path
        Folder for labels and memberships.
    file_format : {"csv", "parquet"}
    force : bool
        Whether results that are there may be replaced.
    memory : int or None
        Bytes that may be used; half of what is free if None.
    quiet : bool
        Whether to show no progress.
    """
    saved = _load(model_path)
    soft = isinstance(saved.model, BaseFuzzyClustering)
    tables = ("labels", "memberships") if soft else ("labels",)
    folder = OutputFolder(path, tuple(f"{name}.{file_format}" for name in tables), force)
    require_writers(folder.names[0])
    folder.check()
    with translate_errors(source.path):
        table = _matched(model_path, saved, source)
        progress = FitProgress(0.0, quiet)
        counts: list[Counts] = []
        with progress.shown():
            limit = default_limit() if memory is None else memory
            rows = _opened(table, saved.model, limit)

            def fill(stage: Path) -> None:
                paths = [stage / name for name in folder.names]
                write = _write_soft if soft else _write_labels
                counts.append(write(paths, saved.model, rows, table.row_name, progress))

            folder.fill(fill)
    _print(source.path, counts[0], folder, soft)


def _load(path: Path) -> SavedModel:
    try:
        saved = read_model(path)
    except (FileNotFoundError, ModelFileError) as error:
        raise UserError(f"{one_line(error)}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({one_line(error)}).") from error
    if not hasattr(saved.model, "predict"):
        raise UserError(
            f"{path} is a {type(saved.model).__name__}, which has no labels to predict; give the "
            "model of a clustering."
        )
    return saved


def _matched(model_path: Path, saved: SavedModel, source: Source) -> Table:
    """Columns of the model in the file: by name if it has names, otherwise by their number."""
    if saved.preparer is not None:
        used = tuple(each.column for each in saved.preparer.decisions_.used)
        chosen = replace(source, columns=used, model=str(model_path))
        chosen.check_columns()
        return chosen.prepared(saved.preparer.set_params(decimal=source.decimal))
    if saved.columns is not None:
        return replace(source, columns=tuple(saved.columns), model=str(model_path)).table()
    table = source.table()
    needed = saved.model.n_features_in_
    if len(table.names) != needed:
        raise UserError(
            f"{source.path} has {len(table.names)} columns to predict from, and {model_path} was "
            f"fitted to {needed}, without names; leave others out with --exclude."
        )
    return table


def _opened(table: Table, model: Any, limit: int) -> Stream:
    """Rows of a table, in chunks whose results fit into memory."""
    probe = table.open(None, False)
    n_clusters = _n_clusters(model)
    _, chunk_rows = chunk_sizes(
        limit,
        probe.row_bytes,
        probe.n_features,
        n_clusters,
        getattr(model, "n_active_", None) or n_clusters,
    )
    return table.open(chunk_rows, table.has_ids)


def _n_clusters(model: Any) -> int:
    """Number of clusters, which may have been found."""
    return int(getattr(model, "n_clusters_", model.n_clusters))


def _write_soft(
    paths: list[Path], model: Any, rows: Stream, row_name: str, progress: FitProgress
) -> Counts:
    """Labels, memberships and outlier scores."""
    results = streamed_results(model, rows, progress)
    return write_rows(paths, results, row_name, len(model.cluster_centers_))


def _write_labels(
    paths: list[Path], model: Any, rows: Stream, row_name: str, progress: FitProgress
) -> Counts:
    """Labels alone, of a model without memberships."""
    import pandas as pd

    sizes = np.zeros(_n_clusters(model), dtype=np.int64)
    progress.begin_writing(rows.n_rows)
    with appending(paths[0]) as add:
        for ids, labels in _labels(model, rows):
            add(pd.DataFrame({row_name: ids, "label": labels}))
            sizes += np.bincount(labels, minlength=len(sizes))
            progress.advance(int(sizes.sum()))
    return Counts(sizes.tolist(), 0, 0)


def _labels(model: Any, rows: Stream) -> Iterator[tuple[Any, Any]]:
    """Identifiers and labels of the rows, chunk by chunk."""
    end = 0
    with closing(rows.chunks()) as chunks:
        for chunk in chunks:
            begin, end = end, end + chunk.rows.shape[0]
            yield as_ids(chunk.ids, begin, end), model.predict(chunk.rows)


def _print(path: Path, counts: Counts, folder: OutputFolder, soft: bool) -> None:
    console = Console(markup=False, highlight=False, soft_wrap=True)
    inside = sum(counts.sizes)
    sure = counts.sure / inside if soft and inside else None
    results = {"cluster_sizes": list(counts.sizes), "outliers": counts.outliers, "sure": sure}
    console.print(f"{path}: {counts.rows} rows")
    console.print(f"Written to {folder.path}: {', '.join(folder.names)}")
    console.print(f"Found: {found(results)}")
