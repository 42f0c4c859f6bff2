"""Tables of results of ``sfumato cluster`` and ``predict``, written a slice of rows at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato._description import SURE
from sfumato._engines.outputs import OUTLIER
from sfumato._engines.stream import compute_together
from sfumato._tables.preparer import TablePreparer
from sfumato.cli.memory import size_text
from sfumato.cli.progress import FitProgress
from sfumato.cli.report import Counts
from sfumato.exceptions import UserError
from sfumato.files import OutputFolder, nearest_existing
from sfumato.streams import Stream
from sfumato.streams._csv_head import is_number
from sfumato.streams._writing import RowGroupWriter

if TYPE_CHECKING:
    import pandas as pd

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""Characters at the beginning of a text that a spreadsheet may take for a formula."""
GROUP_ROWS = 1 << 16
"""Rows of a row group of a Parquet file, at least, chosen by hand: fewer than ``LazyArray`` writes,
since they count towards --memory."""

SHORTEST_MEMBERSHIP = 3
"""Characters of a membership in a .csv file, at least: 1.0."""


class RowResults(NamedTuple):
    """Results of consecutive rows.

    Attributes
    ----------
    ids : sequence
        Identifiers of the rows: an ndarray, or a pandas Series.
    labels : ndarray of shape (n_rows,)
    memberships : csr_array of shape (n_rows, n_clusters)
    scores : ndarray of shape (n_rows,)
        Outlier scores.
    """

    ids: Any
    labels: NDArray[Any]
    memberships: sp.csr_array
    scores: NDArray[Any]

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """Whether each row is an outlier."""
        return self.scores > OUTLIER

    @property
    def largest(self) -> NDArray[Any]:
        """Largest membership of each row; 0 for a row without any."""
        entries = self.memberships
        found = np.zeros(entries.shape[0], entries.dtype)
        filled = np.flatnonzero(np.diff(entries.indptr))
        if len(filled):
            found[filled] = np.maximum.reduceat(entries.data, entries.indptr[filled])
        return found


def as_ids(given: Any, begin: int, end: int) -> Any:
    """Identifiers of the rows ``begin`` to ``end`` for a frame; their numbers if none are given."""
    if given is None:
        return np.arange(begin, end)
    if isinstance(given, np.ndarray):
        return given
    import pandas as pd

    return given.to_pandas(types_mapper=pd.ArrowDtype)  # The same type in every slice.


def labels_frame(row_name: str, results: RowResults) -> pd.DataFrame:
    """Label of each row, its membership there, and its outlier score."""
    import pandas as pd

    return pd.DataFrame(
        {
            row_name: results.ids,
            "label": results.labels,
            "membership": results.largest,
            "outlier": results.outliers,
            "outlier_score": results.scores,
        }
    )


def memberships_frame(row_name: str, results: RowResults) -> pd.DataFrame:
    """Positive memberships, one per line."""
    import pandas as pd

    entries = results.memberships.tocoo()
    positive = entries.data > 0
    return pd.DataFrame(
        {
            row_name: pd.Series(results.ids).take(entries.row[positive]).array,
            "cluster": entries.col[positive],
            "membership": entries.data[positive],
        }
    )


def centers_frame(
    names: Sequence[str], centers: NDArray[Any], preparer: TablePreparer | None = None
) -> pd.DataFrame:
    """Centers of the clusters, one per line, a column per feature, in the units of the table."""
    import pandas as pd

    header = "cluster"
    while header in names:
        header += "_"
    frame = pd.DataFrame(centers, columns=list(names))
    if preparer is not None:
        units = preparer.to_units(centers)
        frame = pd.DataFrame(units, columns=list(names), dtype=np.float64)
        for place, feature in enumerate(preparer.features_):
            if feature.kind == "date":
                days = pd.to_datetime(np.round(units[:, place]), unit="D")
                frame.isetitem(place, days.strftime("%Y-%m-%d"))
    frame.insert(0, header, range(len(centers)))
    return frame


def require_writers(name: str, report: bool = False) -> None:
    """Import what writing results will need, so that nothing is found missing after the work."""
    import pandas  # noqa: F401

    if report:
        import jinja2  # noqa: F401

    if name.endswith(".parquet"):
        import pyarrow  # noqa: F401


def streamed_results(model: Any, rows: Stream, progress: FitProgress) -> Iterator[RowResults]:
    """Results of the rows of a stream, computed in one pass."""
    lazy = [model.predict(rows), model.predict_membership(rows), model.score_outliers(rows)]
    progress.begin_writing(rows.n_rows)
    end = 0
    with closing(compute_together(lazy)) as chunks:
        for chunk, values in chunks:
            begin, end = end, end + chunk.rows.shape[0]
            yield RowResults(as_ids(chunk.ids, begin, end), *values)
            progress.advance(end)
    progress.end(end)


def write_rows(
    paths: Sequence[Path], results: Iterable[RowResults], row_name: str, n_clusters: int
) -> Counts:
    """Write labels and memberships to two files, and count rows.

    Parameters
    ----------
    paths : sequence of 2 Path
        Files for labels and memberships; each .csv or .parquet.
    results : iterable of RowResults
    row_name : str
        Header of the identifiers.
    n_clusters : int
    """
    sizes, n_outliers, n_sure = np.zeros(n_clusters, dtype=np.int64), 0, 0
    with ExitStack() as stack:
        add_labels, add_memberships = (stack.enter_context(appending(path)) for path in paths)
        for rows in results:
            inside = ~rows.outliers
            sizes += np.bincount(rows.labels[inside], minlength=n_clusters)
            n_outliers += int(np.count_nonzero(rows.outliers))
            n_sure += int(np.count_nonzero(inside & (rows.largest >= SURE)))
            add_labels(labels_frame(row_name, rows))
            add_memberships(memberships_frame(row_name, rows))
    return Counts(sizes.tolist(), n_outliers, n_sure)


def write_centers(
    path: Path,
    names: Sequence[str],
    centers: NDArray[Any],
    preparer: TablePreparer | None = None,
) -> None:
    """Write the centers of the clusters, for features of some names, to a file."""
    with appending(path) as add:
        add(centers_frame(names, centers, preparer))


@contextmanager
def appending(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Function that appends frames to a .csv or .parquet file, by the ending of its path.

    Every number can be read back exactly.
    """
    if path.suffix == ".parquet":
        import pyarrow as pa

        writer = RowGroupWriter(path, GROUP_ROWS)

        def add_group(frame: pd.DataFrame) -> None:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            writer.add(table.replace_schema_metadata(None))

        try:
            yield add_group
            writer.close()
        finally:
            writer.abandon()
        return
    with path.open("w", encoding="utf-8", newline="") as file:

        def add_lines(frame: pd.DataFrame) -> None:
            frame = without_formulas(frame)
            frame.to_csv(file, index=False, header=file.tell() == 0, lineterminator="\n")

        yield add_lines


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Frame whose text no spreadsheet takes for a formula: an apostrophe comes before it.

    Names of columns are text too. Text that is a number, such as an identifier of -5, stays.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    found = frame.set_axis([harmless(str(name)) for name in frame.columns], axis=1)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if not is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype):
            text = column.astype(object).map(lambda v: harmless(v) if isinstance(v, str) else v)
            found.isetitem(place, text)
    return found


def harmless(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(FORMULAS) and not is_number(text) else text


def check_space(folder: OutputFolder, n_rows: int | None, has_ids: bool) -> None:
    """Raise UserError before a long fit if the results certainly do not fit on the disk.

    The bound counts the shortest possible lines of .csv files, with one membership per row, and
    nothing for Parquet, which may be compressed to almost nothing.
    """
    if n_rows is None or folder.names[0].endswith(".parquet"):
        return
    digits = 1 if has_ids else len(str(n_rows)) - 1
    line = digits + len(",0,\n") + SHORTEST_MEMBERSHIP
    existing = nearest_existing(folder.path)
    free = shutil.disk_usage(existing).free
    if 2 * n_rows * line > free:
        raise UserError(
            f"{existing} has room for {size_text(free)}, and labels and memberships of {n_rows} "
            f"rows take more than {size_text(2 * n_rows * line)} as .csv; make room, give another "
            "--output, or --format parquet."
        )
