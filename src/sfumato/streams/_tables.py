"""Tables: column selection, columns without numbers, table schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.exceptions import Option, StreamError, did_you_mean
from sfumato.streams._base import Chunk, Location
from sfumato.streams._rows import BufferRing, check_weights, transpose_columns


@dataclass(frozen=True)
class ColumnSelection:
    """Column selection.

    Attributes
    ----------
    columns : tuple of str or None
        Names of the features; None for all columns.
    weights, ids : str or None
        Names of the columns of weights and of identifiers.
    exclude : tuple of str
        Names of columns that are not used.
    """

    columns: tuple[str, ...] | None = None
    weights: str | None = None
    ids: str | None = None
    exclude: tuple[str, ...] = ()

    @property
    def others(self) -> list[str]:
        """Selected columns that are no features."""
        return [name for name in (self.weights, self.ids) if name is not None]

    def features(self, available: Sequence[str], source: str) -> tuple[str, ...]:
        """Names of the features of a table with these columns."""
        asked = [*(self.columns or ()), *self.others, *self.exclude]
        present = Counter(available)
        check_known(source, asked, available)
        uses = {"weights": [self.weights], "ids": [self.ids], "exclude": self.exclude}
        for option, names in uses.items():
            for other in {*names} & {*(self.columns or ())}:
                raise StreamError(
                    f"the column {other!r} is asked for both in ", Option("columns"), " and as ",
                    Option(option), "; it can be one of them only.",
                )  # fmt: skip
        unused = {*self.others, *self.exclude}
        chosen = [name for name in self.columns or available if name not in unused]
        counts = Counter([*chosen, *self.others])
        for name in counts:
            if counts[name] > 1 or present[name] > 1:
                raise StreamError(
                    f"{source} has several columns {name!r}, or it was asked for twice; give every "
                    "column a name of its own, and ask for it once."
                )
        if not chosen:
            raise StreamError(f"{source} has no column left to use as a feature.")
        return tuple(chosen)


def check_known(source: str, asked: Iterable[str], available: Sequence[str]) -> None:
    """Raise StreamError if a table has no column of one of these names."""
    for name in asked:
        if name not in available:
            hint = did_you_mean(str(name), available) or _listed(available)
            raise StreamError(f"{source} has no column {name!r}; {hint}")


def _listed(names: Sequence[str], limit: int = 12) -> str:
    """Names for a message, at most ``limit``."""
    shown = ", ".join(map(repr, names[:limit])) or "none"
    return f"its columns are {shown}" + (", ..." if len(names) > limit else ".")


DECIMALS = {",": "comma", ".": "point"}
"""Characters before the decimals of a number, and their names in messages."""


class Example(NamedTuple):
    """What a column holds that is no number.

    Attributes
    ----------
    shown : str
        The first value with its line, or the type of the column.
    kind : {"text", "date", "decimal comma", "decimal point"}
        The last two are numbers in another format than that of the file.
    """

    shown: str
    kind: str = "text"


@dataclass(frozen=True)
class TableColumns:
    """Columns of a file.

    Attributes
    ----------
    names : tuple of str
        All columns, except an index that pandas stored.
    text : dict of str to Example
        Columns that hold no numbers.
    mixed : tuple of str
        Columns of a CSV file that hold both numbers and text in its first rows.
    unnamed : bool
        Whether the first column of a CSV file has no name.
    index : tuple of str
        Columns of a Parquet file that pandas stored as index; features only by name.
    """

    names: tuple[str, ...]
    text: dict[str, Example]
    mixed: tuple[str, ...] = ()
    unnamed: bool = False
    index: tuple[str, ...] = ()

    @classmethod
    def of(cls, schema: Any) -> TableColumns:
        """Columns of an Arrow schema."""
        index = _index(schema)
        names = tuple(name for name in schema.names if name not in index)
        return cls(names, _not_numeric(schema), index=tuple(index))


def _not_numeric(schema: Any) -> dict[str, Example]:
    """Columns of an Arrow schema that hold no numbers."""
    from pyarrow import types

    return {
        field.name: Example(str(field.type), "date" if types.is_temporal(field.type) else "text")
        for field in schema
        if not holds_numbers(field.type)
    }


def _index(schema: Any) -> set[str]:
    """Columns of an Arrow schema that pandas stored as index."""
    stored = (schema.pandas_metadata or {}).get("index_columns", ())
    return {name for name in stored if isinstance(name, str)}


def check_numeric(
    source: str, text: Mapping[str, Example], leave_out: Sequence[str | Option] = ()
) -> None:
    """Raise StreamError if selected columns hold no numbers.

    Parameters
    ----------
    source : str
        Name of the table, for the message.
    text : mapping of str to Example
        The columns, and what they hold.
    leave_out : sequence of str or Option, default=()
        How to leave the columns out; by default with the keyword arguments of ``stream``.
    """
    if not text:
        return
    shown = ", ".join(f"{name!r} ({example.shown})" for name, example in text.items())
    kinds = {example.kind for example in text.values()}
    advice: list[str | Option] = []
    for mark, word in DECIMALS.items():
        if f"decimal {word}" in kinds:
            advice += ["give ", Option("decimal", mark), f" for numbers with decimal {word}s, "]
    if "date" in kinds:
        advice += ["convert dates to numbers, "]
    if advice:
        advice += ["or "]
    advice += leave_out or ["leave them out with ", Option("exclude", list(text))]
    raise StreamError(f"{source} has columns that hold no numbers: {shown}; ", *advice, ".")


@dataclass(frozen=True)
class TableSchema:
    """Table schema of a stream: which columns become features, weights and ids.

    Attributes
    ----------
    features : tuple of str
        Columns that become features, in this order.
    weights : str or None
        Column that becomes the weights.
    dtype : dtype
        float32 if all features are float32, else float64.
    ids : str or None
        Column that identifies the rows; it keeps its type.
    """

    features: tuple[str, ...]
    weights: str | None
    dtype: np.dtype[Any]
    ids: str | None = None

    @classmethod
    def of(cls, schema: Any, choice: ColumnSelection, source: str) -> TableSchema:
        """TableSchema of a selection; raises if a column is unknown or holds no numbers."""
        import pyarrow as pa

        hidden = _index(schema) - {*(choice.columns or ()), *choice.others, *choice.exclude}
        available = [name for name in schema.names if name not in hidden]
        features = choice.features(available, source)
        text = _not_numeric(schema)
        needed = [*features, *([choice.weights] if choice.weights is not None else [])]
        check_numeric(source, {name: text[name] for name in needed if name in text})
        single = all(schema.field(name).type == pa.float32() for name in features)
        dtype = np.dtype(np.float32 if single else np.float64)
        return cls(features, choice.weights, dtype, choice.ids)

    @property
    def numeric(self) -> list[str]:
        """Names of the columns that are read as numbers."""
        return [*self.features, *([self.weights] if self.weights is not None else [])]

    @property
    def columns(self) -> list[str]:
        """Names of all columns that are read."""
        return [*self.numeric, *([self.ids] if self.ids is not None else [])]

    def gather(
        self, batches: Iterable[Any], n_rows: int, ring: BufferRing, source: str
    ) -> Iterator[Chunk]:
        """Yield chunks of ``n_rows`` rows, the last one smaller, from batches of any size."""
        first = filled = 0
        for batch in batches:
            start = 0
            while start < batch.num_rows:
                if filled == 0:
                    rows = ring.rows(n_rows, len(self.features), self.dtype)
                    weights = np.empty(n_rows if self.weights is not None else 0)
                    ids: list[Any] = []
                part = batch.slice(start, n_rows - filled)
                stop = filled + part.num_rows
                self._fill(part, rows[filled:stop], weights[filled:stop], ids)
                start, filled = start + part.num_rows, stop
                if filled == n_rows:
                    yield self._chunk(rows, weights, Location(source, first), ids)
                    first, filled = first + n_rows, 0
        if filled:
            yield self._chunk(rows[:filled], weights[:filled], Location(source, first), ids)

    def _fill(self, batch: Any, rows: NDArray[Any], weights: NDArray[Any], ids: list[Any]) -> None:
        transpose_columns([numbers(batch.column(name)) for name in self.features], rows)
        if self.weights is not None:
            weights[:] = numbers(batch.column(self.weights))
        if self.ids is not None:
            column = batch.column(self.ids)
            ids += getattr(column, "chunks", [column])

    def _chunk(
        self, rows: NDArray[Any], weights: NDArray[Any], location: Location, ids: list[Any]
    ) -> Chunk:
        import pyarrow as pa

        found = None if self.ids is None else pa.chunked_array(ids)
        checked = None
        if self.weights is not None:
            checked = check_weights(weights, len(rows), location.source, location.first_row)
        return Chunk(rows=rows, weights=checked, location=location, ids=found)


def holds_numbers(arrow_type: Any) -> bool:
    """Whether the values of an Arrow type are numbers or booleans."""
    import pyarrow as pa

    if isinstance(arrow_type, pa.BaseExtensionType):
        return holds_numbers(arrow_type.storage_type)
    if isinstance(arrow_type, pa.DictionaryType):
        return holds_numbers(arrow_type.value_type)
    kinds = pa.types
    return bool(
        kinds.is_integer(arrow_type)
        or kinds.is_floating(arrow_type)
        or kinds.is_decimal(arrow_type)
        or kinds.is_boolean(arrow_type)
        or kinds.is_null(arrow_type)  # All values are missing.
    )


def numbers(column: Any) -> NDArray[Any]:
    """Values of an Arrow column as an ndarray, not copied if possible; missing ones are NaN."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):
        return numbers(column.storage)
    if isinstance(column, pa.DictionaryArray):
        return numbers(column.dictionary_decode())
    plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if column.null_count or not plain:
        column = column.cast(pa.float64(), safe=False)  # Digits beyond those of doubles are lost.
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found


def check_same_columns(
    path: Path, names: Sequence[str], first_path: Path, first: Sequence[str]
) -> None:
    """Raise StreamError, with the difference, if two files have different features."""
    parts = []
    for file, own, other in ((path, names, set(first)), (first_path, first, set(names))):
        only = [name for name in own if name not in other]
        if only:
            parts.append(f"only {file} has {', '.join(map(repr, only))}")
    if parts:
        raise StreamError(
            f"{path} and {first_path} do not have the same columns: {'; '.join(parts)}. Choose "
            "common ones with ",
            Option("columns"),
            ".",
        )
