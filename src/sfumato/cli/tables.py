"""Tables in files: features read from them, results laid out for them.

Messages here reach the user of the command line as they are, so they name its options.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sfumato.exceptions import UserError, did_you_mean, one_line

if TYPE_CHECKING:
    import pandas as pd

RESERVED = ("cluster", "label", "membership", "outlier", "outlier_score")
"""Columns of our own in the results; an identifier of that name is written as ``id``."""

NOTHING_LEFT = (
    "{} has no numeric column left to cluster by; check --columns, --exclude and --separator."
)

UNNAMED = "Unnamed: 0"
"""What pandas calls a first column without a name."""


@dataclass(frozen=True)
class Table:
    """Rows of numbers, with the names of their features.

    Attributes
    ----------
    values : ndarray, memmap or csr_array of shape (n_rows, n_features)
    names : tuple of str
        One per feature.
    row_name : str
        Header of ``row_ids``.
    row_ids : sequence
        What identifies each row: a column of the file, or its number, counting from 0.
    ignored : tuple of str
        Columns left out because they hold no numbers.
    """

    values: Any
    names: tuple[str, ...]
    row_name: str
    row_ids: Sequence[Any] | NDArray[Any]
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A file, and which part of it to read.

    Parameters
    ----------
    path : Path
        A .csv, .parquet, .npy or .npz file.
    columns : tuple of str, default=()
        The only columns to use as features; all if empty. Columns of arrays are named x0, x1, ...
    exclude : tuple of str, default=()
        Columns not to use.
    ignore_text : bool, default=False
        Whether to leave out columns that hold no numbers, rather than to complain of them.
    id_column : str, optional
        Column that identifies the rows; it is no feature.
    key : str, optional
        Which array of an .npz file.
    separator : str, default=","
        Character between the columns of a .csv file.
    header : bool, default=True
        Whether the first line of a .csv file names the columns.
    """

    path: Path
    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_text: bool = False
    id_column: str | None = None
    key: str | None = None
    separator: str = ","
    header: bool = True

    def read(self) -> Table:
        """Features and row identifiers; an .npy file is mapped into memory, not loaded."""
        readers: dict[str, Callable[[Source], Any]] = {
            ".csv": _csv,
            ".parquet": _parquet,
            ".npy": _npy,
            ".npz": _npz,
        }
        reader = readers.get(self.path.suffix.lower())
        if reader is None:
            raise UserError(
                f"{self.path} is of no known format; give a file that ends in {', '.join(readers)}."
            )
        with self._reading():
            content = reader(self)
        if isinstance(content, np.ndarray) or sp.issparse(content):
            return _from_array(self, content)
        return _from_frame(self, content)

    def head(self, n_rows: int) -> pd.DataFrame:
        """The first rows of a .csv file, as they are when all of it is read."""
        with self._reading():
            return _csv(self, n_rows)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Whatever goes wrong with the file, as a UserError."""
        try:
            yield
        except FileNotFoundError as error:
            raise UserError(f"{self.path} does not exist; check the path.") from error
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, Warning) as error:
            kind = self.path.suffix[1:].lower()
            raise UserError(
                f"{self.path} cannot be read as {kind} ({one_line(error)}); check the file."
            ) from error

    def features(self, available: Sequence[str]) -> list[str]:
        """Names of the columns that were chosen as features, text or not."""
        asked = [*self.columns, *self.exclude, *([self.id_column] if self.id_column else [])]
        for name in asked:
            if name not in available:
                hint = did_you_mean(name, available) or _listed(available)
                raise UserError(f"{self.path} has no column {name!r}; {hint}")
        dropped = {*self.exclude, self.id_column}
        chosen = dict.fromkeys(self.columns or available)
        names = [name for name in chosen if name not in dropped]
        if not names:
            raise UserError(NOTHING_LEFT.format(self.path))
        return names

    def numeric(self, frame: pd.DataFrame) -> tuple[list[str], list[str]]:
        """Names of the features of a frame, and of columns left out since they hold no numbers."""
        from pandas.api.types import is_numeric_dtype

        names = self.features(list(frame.columns))
        text = [name for name in names if not is_numeric_dtype(frame[name].dtype)]
        if text and (self.columns or not self.ignore_text):
            leave_out = (
                "leave them out of --columns"
                if self.columns
                else "leave them out with --non-numeric ignore, or one by one with --exclude NAME"
            )
            shown = ", ".join(map(repr, text))
            raise UserError(f"{self.path} has columns that hold no numbers: {shown}; {leave_out}.")
        if len(text) == len(names):
            raise UserError(NOTHING_LEFT.format(self.path))
        return [name for name in names if name not in text], text

    @property
    def row_name(self) -> str:
        """Header of what identifies the rows."""
        name = self.id_column or "row"
        return "id" if name in RESERVED else name


def _listed(names: Sequence[str], limit: int = 12) -> str:
    shown = ", ".join(map(repr, names[:limit])) or "none"
    return f"its columns are {shown}" + (", ..." if len(names) > limit else ".")


def _csv(source: Source, n_rows: int | None = None) -> pd.DataFrame:
    """All rows, or the first ones."""
    import pandas as pd

    layout: Any = {"sep": source.separator, "index_col": False, "low_memory": False}
    first = pd.read_csv(source.path, header=None, nrows=1, dtype=str, na_filter=False, **layout)
    _check_first_line(source, list(first.iloc[0]))
    layout |= {"header": 0 if source.header else None, "nrows": n_rows}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame = pd.read_csv(source.path, **layout)
    if not source.header:
        frame.columns = _numbered(frame.shape[1])
    if source.id_column in frame.columns:
        # Identifiers are kept as they are written: 007 stays 007, NA stays NA.
        place = frame.columns.get_loc(source.id_column)
        written = pd.read_csv(source.path, usecols=[place], dtype=str, na_filter=False, **layout)
        frame[source.id_column] = written.iloc[:, 0]
    return frame


def _check_first_line(source: Source, names: list[str]) -> None:
    """Refuse to take data for names, or a column of row numbers for a feature."""
    if not source.header:
        return
    if all(map(_is_number, names)) and names != [str(column) for column in range(len(names))]:
        raise UserError(
            f"{source.path} begins with a line of numbers, not of names; say --no-header if that "
            "line is data, or name the columns."
        )
    if names[0] == "" and UNNAMED not in (*source.columns, *source.exclude, source.id_column):
        raise UserError(
            f"{source.path} has a first column without a name, perhaps row numbers; say "
            f"--exclude '{UNNAMED}', --id-column '{UNNAMED}', or name it."
        )


def _parquet(source: Source) -> pd.DataFrame:
    import pandas as pd
    import pyarrow  # noqa: F401 - pandas' own message about its absence names no extra

    frame = pd.read_parquet(source.path)
    frame.columns = frame.columns.map(str)
    return frame


def _npy(source: Source) -> NDArray[Any]:
    loaded: NDArray[Any] = np.load(source.path, mmap_mode="r", allow_pickle=False)
    return loaded


def _npz(source: Source) -> Any:
    with np.load(source.path, allow_pickle=False) as archive:
        names = list(archive.files)
        if source.key is None and {"format", "indptr"} <= set(names):
            return sp.csr_array(sp.load_npz(source.path))
        key = source.key
        if key is None and len(names) == 1:
            key = names[0]
        if key not in names:
            raise UserError(
                f"{source.path} holds the arrays {', '.join(names)}"
                + (f", not {key}" if key else "")
                + "; choose one with --key."
            )
        return archive[key]


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbered(count: int) -> list[str]:
    return [f"x{column}" for column in range(count)]


def _from_array(source: Source, values: Any) -> Table:
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise UserError(
            f"{source.path} holds an array of shape {values.shape} and type {values.dtype}; give "
            "real numbers in two dimensions, rows by features."
        )
    available = _numbered(values.shape[1])
    names = source.features(available)
    ids: Any = range(values.shape[0])
    if source.id_column:
        column = values[:, [available.index(source.id_column)]]
        ids = (column.toarray() if sp.issparse(column) else np.asarray(column)).ravel()
    if names != available:
        place = {name: column for column, name in enumerate(available)}
        values = values[:, [place[name] for name in names]]
    return Table(values, tuple(names), source.row_name, ids)


def _from_frame(source: Source, frame: pd.DataFrame) -> Table:
    names, text = source.numeric(frame)
    chosen = frame[names]
    single = all(dtype == np.float32 for dtype in chosen.dtypes)
    values = chosen.to_numpy(np.float32 if single else np.float64, na_value=np.nan)
    _require_finite(source, values, names)
    ids: Any = frame[source.id_column].array if source.id_column else range(len(frame))
    return Table(values, tuple(names), source.row_name, ids, tuple(text))


def _require_finite(source: Source, values: NDArray[Any], names: Sequence[str]) -> None:
    """Complain of the first missing value by the name of its column, which the fit cannot know."""
    for column, name in enumerate(names):
        bad = ~np.isfinite(values[:, column])
        if bad.any():
            row = int(np.argmax(bad))
            raise UserError(
                f"{source.path} holds {values[row, column]} in column {name!r}, row {row} counting "
                f"from 0; fill in or drop such rows, or leave the column out: --exclude {name}"
            )


def labels_frame(
    table: Table,
    labels: NDArray[Any],
    memberships: sp.csr_array,
    more: Mapping[str, NDArray[Any]],
) -> pd.DataFrame:
    """Each row's cluster, its membership there, and whatever more is known of it."""
    import pandas as pd

    largest = np.maximum.reduceat(memberships.data, memberships.indptr[:-1])
    own = {table.row_name: table.row_ids, "label": labels, "membership": largest}
    return pd.DataFrame(own | dict(more))


def memberships_frame(table: Table, memberships: sp.csr_array) -> pd.DataFrame:
    """Every positive membership on a line of its own."""
    import pandas as pd

    entries = memberships.tocoo()
    positive = entries.data > 0
    rows = entries.row[positive]
    ids = pd.Series(table.row_ids).take(rows).array
    return pd.DataFrame(
        {
            table.row_name: ids,
            "cluster": entries.col[positive],
            "membership": entries.data[positive],
        }
    )


def centers_frame(table: Table, centers: NDArray[Any]) -> pd.DataFrame:
    """Each cluster's center, by the names of the features."""
    import pandas as pd

    header = "cluster"
    while header in table.names:
        header += "_"
    frame = pd.DataFrame(centers, columns=list(table.names))
    frame.insert(0, header, range(len(centers)))
    return frame


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write as .parquet or .csv, after the path's ending; every number can be read back exactly."""
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, lineterminator="\n")
