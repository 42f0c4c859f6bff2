"""Preparation of the tables of ``sfumato cluster``: a sample of the rows, however they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._tables.decide import row_keys, sample_size
from sfumato._tables.preparer import TablePreparer
from sfumato.exceptions import StreamError
from sfumato.streams._prepared import PreparedStream


def fitted(preparer: TablePreparer, source: PreparedStream) -> TablePreparer:
    """Fit a preparer to a sample of the rows of a table, the same for chunks of any size."""
    sample = _sample(source)
    if sample is None:
        raise StreamError(f"{source.source} holds no rows; give at least one.")
    return preparer.fit(sample)


def _sample(source: PreparedStream) -> Any:
    """Arrow table of the rows with the smallest keys, in their order; None without rows."""
    import pyarrow as pa

    kept, keys = None, np.empty(0, dtype=np.uint64)
    end = 0
    for table in source.tables():
        begin, end = end, end + table.num_rows
        keys = np.concatenate([keys, row_keys(begin, end)])
        kept = table if kept is None else pa.concat_tables([kept, table])
        count = sample_size(table.num_columns)
        if len(keys) > count:
            chosen = np.sort(np.argpartition(keys, count - 1)[:count])
            keys, kept = keys[chosen], kept.take(pa.array(chosen))
    return kept
