"""Columns of a frame become numbers, as decisions say, by transformers of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from sfumato._tables.columns import booleans_of, dates_of, numbers_of, text_of
from sfumato._tables.decide import read_numbers
from sfumato._tables.decisions import Decision
from sfumato._typing import Floats
from sfumato.exceptions import shown


def as_frame(X: Any) -> Any:
    """Table as a pandas frame, whose columns are named by text."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            'pandas is not installed, which TablePreparer needs; run: pip install "sfumato[io]"'
        ) from error
    if not isinstance(X, pd.DataFrame):
        if hasattr(X, "to_pandas"):
            X = X.to_pandas()
        else:
            rows = _checked_array(X)
            X = pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])
    frame = X.set_axis([str(name) for name in X.columns], axis=1)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"X has several columns {shown(twice)}; give each a name of its own.")
    if not len(frame):
        raise ValueError("X holds no rows; give at least one.")
    return frame


def _checked_array(X: Any) -> NDArray[Any]:
    """Array of rows and columns, of any type but complex numbers."""
    if sp.issparse(X):
        raise TypeError("X is sparse, which is not supported; give a frame, or X.toarray().")
    rows = np.asarray(X)
    if rows.ndim != 2:
        raise ValueError(
            f"X has shape {rows.shape}; give a table of rows and columns. Reshape your data, by "
            "reshape(-1, 1) if it is one column."
        )
    if np.iscomplexobj(rows):
        raise ValueError("Complex data not supported: X has complex numbers; give real ones.")
    if rows.shape[1] == 0:
        raise ValueError(
            f"X has 0 feature(s) (shape={rows.shape}) while a minimum of 1 is required."
        )
    return rows


def values_of(decision: Decision, series: Any, decimal: str) -> NDArray[Any]:
    """Values of a column: numbers before they are scaled, or text."""
    if decision.kind == "category":
        found: NDArray[Any] = text_of(series).to_numpy(dtype=object)
        return found
    if decision.kind == "boolean":
        return booleans_of(series)
    if decision.kind == "date":
        return read_numbers(decision, dates_of(series, decision.date_format))
    return read_numbers(decision, numbers_of(series, decimal))


def column_transformer(used: list[Decision]) -> ColumnTransformer:
    """Transformer of the columns, by their places; all that it needs is in the decisions.

    Not by their names: scikit-learn drops null characters at the end of a name.
    """
    import pandas as pd

    plain = [place for place, each in enumerate(used) if not each.is_category]
    coded = [place for place, each in enumerate(used) if each.is_category]
    affine = {
        "centers": np.array([used[place].center for place in plain]),
        "scales": np.array([used[place].scale for place in plain]),
    }
    parts: list[Any] = []
    if plain:
        parts.append(("numbers", FunctionTransformer(_scale, kw_args=affine), plain))
    for place in coded:
        levels = [np.array(used[place].levels, dtype=object)]
        encoder = OneHotEncoder(categories=levels, handle_unknown="ignore", sparse_output=False)
        parts.append((f"category{place}", encoder, [place]))
    made = ColumnTransformer(
        parts,
        sparse_threshold=0,
        transformer_weights={f"category{place}": used[place].weight for place in coded},
    )
    row = {p: [each.levels[0] if each.is_category else 0.0] for p, each in enumerate(used)}
    return made.fit(pd.DataFrame(row))


def _scale(numbers: Any, centers: Floats, scales: Floats) -> Floats:
    found: Floats = (np.asarray(numbers, dtype=np.float64) - centers) / scales
    return found
