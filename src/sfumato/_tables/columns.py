"""What the columns of a table are: numbers, dates, yes and no, categories, or of no use."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._typing import Floats
from sfumato.exceptions import shown

MISSING = frozenset(
    ["", "na", "n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", "?", ".", "#n/a", "missing"]
)
"""Text that stands for a missing value, in lower case."""
YES = frozenset(["true", "yes", "y", "t"])
NO = frozenset(["false", "no", "n", "f"])
READABLE = 0.8
"""Share of the values that are there, from which on a column of text holds numbers or dates, and
others are typos. Chosen by hand."""
DISTINCT = 0.5
"""Share of different values from which on text identifies rows, or is free text. Chosen by hand."""
FEWEST_ROWS = 20
"""Rows from which on values that are all different identify rows. Chosen by hand: of fewer, every
column may differ."""
MOSTLY = 0.5
"""Share of missing values above which a column is left out: it would be mostly guesses."""
DAYS = (
    *("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%d-%b-%Y", "%d. %B %Y"),
    *("%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%d-%b-%y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
FORMATS = ("ISO8601", *(day + time for time in TIMES for day in DAYS))
"""Formats of dates, in the order in which they are preferred where several fit."""
COMPACT, COMPACT_RANGE = "%Y%m%d", (19_000_101, 21_001_231)
"""Format of dates that are whole numbers, and the least and largest of these."""
TRIED, TRIED_FIRST = 1000, 20
"""Values to which formats of dates are tried, and values of which a format must read one to be
tried to the others. Chosen by hand."""
DAY = 86_400e6
"""Microseconds of a day: unlike nanoseconds, they reach to any year that is written."""
FIRST_DAY, LAST_DAY = -106_751, 106_751
"""Days since 1970 between which dates are believed, those that pandas has in nanoseconds: from 1677
to 2262. Others stand for none, as 9999-12-31 does for contracts without an end."""
IDENTIFIER = re.compile(r"(?i:(^|[^a-z])(id|ids|uuid|guid|key|index)$)|[a-z](Id|ID)$")
"""Names of columns of numbers that identify rows, if all of them differ."""
CODE = re.compile(
    r"(?i:(^|[^a-z])(zip|plz|postcode|zipcode|(post|postal|zip).code|codes?|sku|phone)$)|[a-z]Code$"
)
"""Names of columns of whole numbers that are codes, of which the difference says nothing."""
PADDED = re.compile(r"0\d+")
"""Codes that are filled up with zeros, as 01067."""
PADDED_SHARE = 0.02
"""Share of codes with zeros in front, above which a column holds codes. Chosen by hand."""
SWAPPED = str.maketrans(".,", ",.")
"""Points for commas, and commas for points."""
MONEY = re.compile(r"[$€£¥%\s\u00a0]")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


class Found(NamedTuple):
    """What a column holds.

    Attributes
    ----------
    kind : str
        As in ``Decision``.
    reason : str
    values : ndarray
        Numbers, NaN where they are missing; text, None where it is missing.
    unreadable : float
        Share of values that are not of the kind.
    date_format : str
    """

    kind: str
    reason: str
    values: NDArray[Any]
    unreadable: float = 0.0
    date_format: str = ""


def text_of(series: Any) -> Any:
    """Values as text without spaces around it, None where they are missing."""
    import pandas as pd

    plain = series.astype(object)
    gone = plain.isna()
    text = plain.map(_written).astype(object)
    gone |= text.str.lower().isin(MISSING)
    found: Any = pd.Series(text.to_numpy(dtype=object), index=series.index).where(~gone, None)
    return found


def _written(value: Any) -> str:
    """A value as it is written: whole numbers without decimals, whatever their type."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def is_number(series: Any) -> bool:
    """Whether a column has a type of numbers, or of lengths of time."""
    from pandas.api.types import (
        is_bool_dtype,
        is_complex_dtype,
        is_numeric_dtype,
        is_timedelta64_dtype,
    )

    return is_timedelta64_dtype(series.dtype) or (
        is_numeric_dtype(series.dtype)
        and not is_bool_dtype(series.dtype)
        and not is_complex_dtype(series.dtype)
    )


def numbers_of(series: Any, decimal: str = ".") -> Floats:
    """Numbers of a column, NaN where there are none; text such as "$1,200" or "12 %" is read.

    Lengths of time are seconds.
    """
    import pandas as pd

    if pd.api.types.is_timedelta64_dtype(series.dtype):
        found = series.dt.total_seconds().to_numpy(dtype=np.float64)
    elif is_number(series):
        found = series.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        text = text_of(series)
        if decimal == ",":
            text = text.str.translate(SWAPPED)
        parsed = pd.to_numeric(text, errors="coerce")
        odd = parsed.isna() & text.notna()
        if odd.any():
            cleaned = text[odd].str.replace(MONEY, "", regex=True)
            grouped = cleaned.str.fullmatch(THOUSANDS).astype(bool)
            cleaned = cleaned.where(~grouped, cleaned.str.replace(",", "", regex=False))
            parsed = parsed.astype(np.float64)
            parsed[odd] = pd.to_numeric(cleaned, errors="coerce")
        found = parsed.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(found), found, np.nan)


def booleans_of(series: Any) -> Floats:
    """Zeros and ones of a column of yes and no, NaN where there is neither."""
    text = text_of(series).str.lower()
    found = np.full(len(series), np.nan)
    found[text.isin([*YES, "1"]).to_numpy()] = 1.0
    found[text.isin([*NO, "0"]).to_numpy()] = 0.0
    return found


def dates_of(series: Any, date_format: str) -> Floats:
    """Days since 1970 of dates in some format, NaN where there are none, or none to believe."""
    import pandas as pd

    if not pd.api.types.is_datetime64_any_dtype(series.dtype):
        series = text_of(series)
    form = date_format or "ISO8601"
    found = pd.to_datetime(series, errors="coerce", format=form, utc=True)
    days = found.dt.as_unit("us").astype(np.int64).to_numpy(dtype=np.float64) / DAY
    known = ~found.isna().to_numpy() & (days >= FIRST_DAY) & (days <= LAST_DAY)
    return np.where(known, days, np.nan)


def find_kind(series: Any, forced: str | None = None, decimal: str = ".") -> Found:
    """What a column holds; ``forced`` is a kind that the user has given."""
    if forced is not None:
        return _forced(series, forced, decimal)
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype

    if is_datetime64_any_dtype(series.dtype):
        return _useful(Found("date", "its type", dates_of(series, "")))
    if is_bool_dtype(series.dtype):
        return _useful(Found("boolean", "its type", booleans_of(series)))
    if is_number(series):
        return _of_numbers(series, Found("number", "its type", numbers_of(series)))
    text = text_of(series)
    there = text[text.notna()]
    if not len(there):
        return Found("empty", "no value is there", text.to_numpy())
    lower = set(there.str.lower().unique()[:20])
    if lower <= YES | NO and len(lower) > 1:
        return _useful(Found("boolean", "only yes and no", booleans_of(series)))
    return _of_text(series, text.to_numpy(), len(there), decimal)


def _of_text(series: Any, text: NDArray[Any], n_there: int, decimal: str) -> Found:
    """What a column of text holds."""
    numbers = numbers_of(series, decimal)
    share = np.count_nonzero(~np.isnan(numbers)) / n_there
    if share >= READABLE:
        reason = "all values are numbers" if share == 1 else "nearly all values are numbers"
        unreadable = (1 - share) * n_there / len(text)
        return _of_numbers(series, Found("number", reason, numbers, unreadable))
    best, days = _best_dates(series)
    share = np.count_nonzero(~np.isnan(days)) / n_there
    if share >= READABLE:
        how = "year first" if best == "ISO8601" else best
        unreadable = (1 - share) * n_there / len(text)
        return _useful(Found("date", f"dates, {how}", days, unreadable, best))
    return _useful(Found("category", "text", text))


def _of_numbers(series: Any, found: Found) -> Found:
    """Numbers, or dates that are written as whole numbers: 20260630."""
    low, high = COMPACT_RANGE
    inside = (found.values >= low) & (found.values <= high)
    n_there = np.count_nonzero(~np.isnan(found.values))
    if n_there >= FEWEST_ROWS and np.count_nonzero(inside) >= READABLE * n_there:
        days = dates_of(series, COMPACT)
        share = np.count_nonzero(~np.isnan(days)) / n_there
        if share >= READABLE:
            unreadable = found.unreadable + max(0.0, 1 - share) * n_there / len(days)
            how = "dates, year, month and day as one number"
            return _useful(Found("date", how, days, unreadable, COMPACT))
    reason = _is_code(series, found.values)
    if reason:
        return _useful(Found("category", reason, text_of(series).to_numpy()))
    return _useful(found, str(series.name))


def _is_code(series: Any, numbers: Floats) -> str:
    """Why whole numbers are codes; empty if they are numbers."""
    if CODE.search(str(series.name)) and not (numbers[~np.isnan(numbers)] % 1).any():
        return "codes, by the name"
    if is_number(series):
        return ""
    text = text_of(series).dropna()
    padded = text.str.fullmatch(PADDED).astype(bool)
    return "codes, filled up with zeros" if padded.mean() > PADDED_SHARE else ""


def _best_dates(series: Any) -> tuple[str, Floats]:
    """The format that reads most dates, and their days; judged by the first values."""
    first = series.dropna().iloc[:TRIED]
    few = first.iloc[:TRIED_FIRST]
    forms = [f for f in (*FORMATS, COMPACT) if not np.isnan(dates_of(few, f)).all()] or [FORMATS[0]]
    counts = [np.count_nonzero(~np.isnan(dates_of(first, form))) for form in forms]
    best = forms[int(np.argmax(counts))]
    if not any(counts):
        return best, np.full(len(series), np.nan)
    return best, dates_of(series, best)


def _forced(series: Any, kind: str, decimal: str) -> Found:
    """A column that is of the kind that the user has given."""
    if kind == "category":
        return Found(kind, "as you said", text_of(series).to_numpy())
    if kind == "date":
        best, values = _best_dates(series)
    else:
        best, values = "", numbers_of(series, decimal)
    there = text_of(series).notna().to_numpy()
    if np.isnan(values).all():
        raise ValueError(
            f"column {shown(series.name)} holds no {kind} that can be read; do not name it as one."
        )
    unreadable = float(np.mean(there & np.isnan(values)))
    return Found(kind, "as you said", values, unreadable, best)


def _useful(found: Found, name: str = "") -> Found:
    """The same, or why a column is of no use."""
    import pandas as pd

    there = pd.Series(found.values).dropna()
    n_rows, n_different = len(found.values), there.nunique()
    if not len(there):
        return found._replace(kind="empty", reason="no value is there")
    if n_different == 1:
        return found._replace(
            kind="constant", reason=f"all values are {shown(_written(there.iloc[0]))}"
        )
    if 1 - len(there) / n_rows > MOSTLY:
        gone = f"{100 * (1 - len(there) / n_rows):.0f} % of the values are missing"
        return found._replace(kind="left out", reason=gone)
    if len(there) < FEWEST_ROWS:
        return found
    if found.kind == "category" and n_different > DISTINCT * len(there):
        what = "all" if n_different == len(there) else f"{n_different} of {len(there)}"
        return found._replace(kind="identifier", reason=f"text, {what} values are different")
    if found.kind == "number" and n_different == len(there) and not (there % 1).any():
        if np.ptp(there) < 2 * len(there):
            return found._replace(kind="identifier", reason="whole numbers, one after the other")
        if IDENTIFIER.search(name):
            return found._replace(kind="identifier", reason="its name, and all numbers differ")
    return found
