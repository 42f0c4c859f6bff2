"""Limits of what can be computed with, and the words for what lies beyond."""

from __future__ import annotations

import numpy as np

from sfumato._survey import RangeSummary, or_float64
from sfumato._typing import Floats


def check_overflow(
    source: str, survey: RangeSummary, origin: Floats, dtype: np.dtype[np.floating]
) -> None:
    """Raise if squared distances would overflow; two points may lie on opposite sides."""
    error = survey.too_far(source, origin, dtype)
    if error is not None:
        raise error


def check_underflow(survey: RangeSummary, dtype: np.dtype[np.floating]) -> None:
    """Raise if squared distances between different rows would underflow."""
    spread = survey.spread()
    limits = np.finfo(dtype)
    limit = float(np.sqrt(limits.tiny / limits.eps))
    if 0 < spread < limit:
        raise ValueError(
            f"X spreads over only {spread:.3g}, so that squared distances underflow {dtype.name} "
            f"(the limit is {limit:.3g}); rescale it, e.g. X / {spread:.1g}" + or_float64(dtype)
        )


def check_total(largest: float, n_rows: int) -> None:
    """Raise if sums over weighted rows would leave the range of numbers."""
    limits = np.finfo(np.float64)
    if not np.sqrt(limits.tiny) < largest <= np.sqrt(limits.max) / n_rows:
        raise ValueError(
            f"sample_weight goes up to {largest:.3g}, so that sums over the rows over- or "
            f"underflow; rescale it, e.g. sample_weight / {largest:.1g}: only ratios matter to "
            "the centers."
        )
