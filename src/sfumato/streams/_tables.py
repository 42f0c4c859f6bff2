"""Tables: which columns are features, which one holds weights, and their way into rows."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.exceptions import StreamError
from sfumato.streams._base import Chunk, Location
from sfumato.streams._blocks import BufferRing, fill_rows
from sfumato.streams._checks import check_weights


@dataclass(frozen=True)
class ColumnSelection:
    """What the caller asked for: names of the features (None for all), of the weights, of ids."""

    columns: tuple[str, ...] | None = None
    weights: str | None = None
    ids: str | None = None

    @property
    def others(self) -> list[str]:
        """Columns that are asked for and are no features."""
        return [name for name in (self.weights, self.ids) if name is not None]

    def features(self, available: Sequence[str], source: str) -> tuple[str, ...]:
        """Names of the features of a table with these columns."""
        asked = [*(self.columns or ()), *self.others]
        present = Counter(available)
        for name in asked:
            if name not in present:
                nearest = difflib.get_close_matches(str(name), available, n=1, cutoff=0.4)
                hint = f"did you mean {nearest[0]!r}?" if nearest else listed(available)
                raise StreamError(f"{source} has no column {name!r}; {hint}")
        for other, option in ((self.weights, "weights="), (self.ids, "ids=")):
            if self.columns is not None and other in self.columns:
                raise StreamError(
                    f"the column {other!r} is asked for both in columns= and as {option}; it can "
                    "be one of them only."
                )
        chosen = [name for name in self.columns or available if name not in self.others]
        uses = Counter([*chosen, *self.others])
        for name in uses:
            if uses[name] > 1 or present[name] > 1:
                raise StreamError(
                    f"{source} has several columns {name!r}, or it was asked for twice; give every "
                    "column a name of its own, and ask for it once."
                )
        if not chosen:
            raise StreamError(f"{source} has no column left to use as a feature.")
        return tuple(chosen)


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Names for a message, not too many."""
    shown = ", ".join(map(repr, names[:limit])) or "none"
    return f"its columns are {shown}" + (", ..." if len(names) > limit else ".")


@dataclass(frozen=True)
class TableSchema:
    """How rows are made of a table.

    Attributes
    ----------
    features : tuple of str
        Columns that become features, in this order.
    weights : str or None
        Column that becomes the weights.
    dtype : dtype
        float32 if all features are float32, else float64.
    ids : str or None
        Column that identifies the rows; chunks carry it as it is.
    """

    features: tuple[str, ...]
    weights: str | None
    dtype: np.dtype[Any]
    ids: str | None = None

    @classmethod
    def of(cls, schema: Any, choice: ColumnSelection, source: str) -> TableSchema:
        """TableSchema for tables of an Arrow schema; raises if a chosen column holds no numbers."""
        import pyarrow as pa

        index = {name for name in (schema.pandas_metadata or {}).get("index_columns", ())
                 if isinstance(name, str)}  # fmt: skip
        asked = {*(choice.columns or ()), *choice.others}
        available = [name for name in schema.names if name not in index - asked]
        features = choice.features(available, source)
        types = {name: schema.field(name).type for name in (*features, choice.weights) if name}
        text = [name for name in types if not holds_numbers(types[name])]
        if text:
            shown = ", ".join(f"{name!r} ({types[name]})" for name in text)
            raise StreamError(
                f"{source} has columns that hold no numbers: {shown}; choose others with columns=."
            )
        single = all(types[name] == pa.float32() for name in features)
        dtype = np.dtype(np.float32 if single else np.float64)
        return cls(features, choice.weights, dtype, choice.ids)

    @property
    def numeric(self) -> list[str]:
        """Names of the columns that are read as numbers."""
        return [*self.features, *([self.weights] if self.weights is not None else [])]

    @property
    def columns(self) -> list[str]:
        """Names of all columns that are needed."""
        return [*self.numeric, *([self.ids] if self.ids is not None else [])]

    def gather(
        self, batches: Iterable[Any], n_rows: int, ring: BufferRing, source: str
    ) -> Iterator[Chunk]:
        """Chunks of ``n_rows`` rows each, but for the last one, whatever the batches' sizes."""
        first = filled = 0
        for batch in batches:
            start = 0
            while start < batch.num_rows:
                if filled == 0:
                    rows = ring.rows(n_rows, len(self.features), self.dtype)
                    weights = np.empty(n_rows if self.weights is not None else 0)
                    ids: list[Any] = []
                piece = batch.slice(start, n_rows - filled)
                stop = filled + piece.num_rows
                self._fill(piece, rows[filled:stop], weights[filled:stop], ids)
                start, filled = start + piece.num_rows, stop
                if filled == n_rows:
                    yield self._chunk(rows, weights, Location(source, first), ids)
                    first, filled = first + n_rows, 0
        if filled:
            yield self._chunk(rows[:filled], weights[:filled], Location(source, first), ids)

    def _fill(self, batch: Any, rows: NDArray[Any], weights: NDArray[Any], ids: list[Any]) -> None:
        fill_rows([numbers(batch.column(name)) for name in self.features], rows)
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
        if self.weights is None:
            return Chunk(rows, None, location, found)
        return Chunk(rows, check_weights(weights, len(rows), location), location, found)


def holds_numbers(arrow_type: Any) -> bool:
    """Whether the values of an Arrow type are numbers, or truth values."""
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
        or kinds.is_null(arrow_type)  # A column of which nothing is known yet: all NaN.
    )


def numbers(column: Any) -> NDArray[Any]:
    """Values of an Arrow column, without a copy where that is possible; missing ones are NaN."""
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
    """Raise StreamError, with the difference, if two files do not have the same features."""
    parts = []
    for file, own, other in ((path, names, set(first)), (first_path, first, set(names))):
        only = [name for name in own if name not in other]
        if only:
            parts.append(f"only {file} has {', '.join(map(repr, only))}")
    if parts:
        raise StreamError(
            f"{path} and {first_path} do not have the same columns: {'; '.join(parts)}. Choose "
            "common ones with columns=."
        )
