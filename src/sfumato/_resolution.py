"""Resolution of columns of repeated values, such as counts, and values that many rows have."""

from __future__ import annotations

import numpy as np

from sfumato._typing import Floats

COMMON = 0.9
"""Share of the rows whose values are the common ones of a column of repeated values. Chosen by
hand: missing values may be filled by others."""

SPIKE, SPIKE_RATIO = 0.1, 5.0
"""Share of one value, and its ratio to that of the next commonest, above which a column has a
spike. Chosen by hand: of counts and ratings, the commonest values are about equally common."""


def has_spike(column: Floats) -> bool:
    """Whether one value is much commoner than others, as zero among fees that few ever paid."""
    _, counts = np.unique(column, return_counts=True)
    second, first = np.sort(np.append(counts, 0))[-2:]
    return bool(first > SPIKE * counts.sum() and first > SPIKE_RATIO * second)


def steps_of(column: Floats, weights: Floats) -> Floats:
    """Resolution at each value of a column: the mean distance to the common values beside it.

    Common values are those of nearly all rows. At other values, which may be anything, it is the
    median of the distances of common ones.

    Parameters
    ----------
    column : ndarray of shape (n_rows,)
        At least two different values.
    weights : ndarray of shape (n_rows,)
        Numbers of rows that each stands for.

    Returns
    -------
    steps : ndarray of shape (n_rows,)
    """
    different, places = np.unique(column, return_inverse=True)
    counts = np.bincount(places, weights)
    order = np.argsort(-counts, kind="stable")
    covered = np.cumsum(counts[order]) - counts[order] < COMMON * counts.sum()
    common = np.sort(order[covered])
    if len(common) < 3:
        return np.full(len(column), np.median(np.diff(different)))
    gaps = np.diff(different[common])
    steps = np.full(len(different), np.median(gaps))
    steps[common] = (np.append(gaps, gaps[-1]) + np.insert(gaps, 0, gaps[0])) / 2
    found: Floats = steps[places]
    return found
