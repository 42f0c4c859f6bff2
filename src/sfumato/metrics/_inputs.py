"""Checks and conversion of the arguments of the indices."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from sfumato._checks import is_number, number_of
from sfumato._data import check_sparse
from sfumato._typing import Floats
from sfumato.exceptions import brief, shown

Rows: TypeAlias = Any
"""An ndarray or a csr_array, which has no type hints."""

ROUNDING = 1e-5
"""Largest difference of a row's sum of memberships from one. Chosen by hand: float32 rounding
stays far below it, a wrong axis or scale far above."""
NUMBERS = 1_000_000
"""Doubles in the largest temporary array, 8 MB. Chosen by hand."""


def check_memberships(memberships: Any, least: int = 1) -> Rows:
    """Memberships of the rows that have some: doubles, dense or sparse without duplicates.

    Rows of zeros are outliers, which belong to no cluster, and are left out.

    Raises
    ------
    ValueError
        If there are fewer than ``least`` clusters, if a membership is negative, if those of a row
        sum neither to one nor to zero, or if no row has any.
    """
    return _of_members(_check_shares(memberships, least))[0]


def check_pair(X: Any, memberships: Any, least: int = 1) -> tuple[Rows, Rows]:
    """Rows of data and their memberships, both without rows of zero memberships.

    See ``check_memberships`` and ``check_rows``.
    """
    checked = _check_shares(memberships, least)
    X = check_rows(X, checked)
    checked, members = _of_members(checked)
    return (X if members.all() else X[members]), checked


def _of_members(memberships: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """Rows that are not zero, and which they are."""
    members = np.asarray(memberships.sum(axis=1)) > 0
    if not members.any():
        raise ValueError(
            "memberships is zero everywhere, so that no row belongs to a cluster; give the "
            "memberships of at least one row that is not an outlier."
        )
    return (memberships if members.all() else memberships[members]), members


def _check_shares(memberships: Any, least: int) -> Rows:
    """Memberships of all rows, outliers included."""
    checked = _checked(memberships, "memberships", accept_sparse="csr", dtype=np.float64)
    if sp.issparse(checked):
        checked = sp.csr_array(checked, copy=not checked.has_canonical_format)
        checked.sum_duplicates()
    if checked.shape[1] < least:
        raise ValueError(
            f"memberships has shape {checked.shape}; this index compares clusters, so use at least "
            f"{least} columns."
        )
    if checked.min() < 0:
        raise ValueError(
            f"memberships has negative values, down to {checked.min():g}; give shares of the "
            "clusters in each row, at least 0."
        )
    _require_shares(checked)
    return checked


def _require_shares(memberships: Rows) -> None:
    """Raise unless every row sums to one, or is zero."""
    sums = np.asarray(memberships.sum(axis=1))
    wrong = np.where(sums == 0, 0, np.abs(sums - 1))
    if wrong.max() <= ROUNDING:
        return
    worst = int(wrong.argmax())
    columns = np.abs(memberships.sum(axis=0) - 1)
    # Other libraries keep clusters in rows.
    advice = (
        "its columns do: give its transpose"
        if columns.max() <= ROUNDING
        else "divide each row by its sum"
    )
    raise ValueError(
        f"memberships has rows that do not sum to one, as row {worst}, which sums to "
        f"{memberships[[worst]].sum():g}; {advice}."
    )


def check_rows(X: Any, memberships: Rows) -> Rows:
    """Rows of data, one for each row of memberships; float32 stays what it is."""
    X = _checked(X, "X", accept_sparse="csr", dtype=(np.float64, np.float32))
    if X.shape[0] != memberships.shape[0]:
        raise ValueError(
            f"X has shape {X.shape} and memberships has shape {memberships.shape}; give "
            "memberships for each of the rows of X."
        )
    return sp.csr_array(X) if sp.issparse(X) else X


def check_centers(centers: Any, X: Rows, memberships: Rows) -> Floats:
    """Centers as an array of doubles, one for each column of memberships."""
    centers = _checked(centers, "centers", dtype=np.float64)
    expected = memberships.shape[1], X.shape[1]
    if centers.shape != expected:
        raise ValueError(
            f"centers has shape {centers.shape}, but X has {X.shape[1]} columns and memberships "
            f"{memberships.shape[1]}; give one center for each column of memberships, shape "
            f"{expected}."
        )
    return centers


def _checked(values: Any, name: str, **options: Any) -> Rows:
    """Array of numbers; errors name it, and take one line."""
    check_sparse(values, name)
    try:
        return check_array(values, input_name=name, **options)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} cannot be used: {brief(error)}.") from error


def row_blocks(n_rows: int, n_numbers: int) -> Iterator[slice]:
    """Slices of rows such that a block with ``n_numbers`` a row stays small."""
    step = max(1, NUMBERS // n_numbers)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def require_exponent(alpha: Any) -> None:
    """Raise unless ``alpha`` is a finite number of at least 0."""
    if not is_number(alpha, Real):
        raise TypeError(f"alpha={shown(alpha)} is not a number; use 1.")
    if not 0 <= number_of(alpha) < inf:
        raise ValueError(f"alpha={shown(alpha)} must be finite and at least 0; use 1.")
