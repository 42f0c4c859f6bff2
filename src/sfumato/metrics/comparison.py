"""Agreement of two soft clusterings of the same rows.

Pairs of rows are counted from the table of shared memberships, ``U.T @ V``, as they are for hard
clusterings [1]_. The table adds up over rows, so a pass is enough. For hard memberships the
indices are the plain ones.

References
----------
.. [1] D. T. Anderson, J. C. Bezdek, M. Popescu, J. M. Keller, "Comparing fuzzy, probabilistic, and
   possibilistic partitions", IEEE Transactions on Fuzzy Systems 18, 2010.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato._distances import dense
from sfumato.metrics._inputs import _check_shares, row_blocks


class _Pairs(NamedTuple):
    """Pairs of rows: together in both clusterings, in the first alone, in the second alone, all."""

    both: float
    first: float
    second: float
    all: float


def fuzzy_rand(memberships: Any, others: Any) -> float:
    """Share of the pairs of rows on which two soft clusterings agree (Rand index).

    Parameters
    ----------
    memberships, others : array-like or sparse array of shape (n_samples, n_clusters)
        Shares of the clusters in each row. The numbers of clusters may differ. Rows of zeros in
        either, which are outliers, are left out.

    Returns
    -------
    index : float
        1 if hard clusterings agree up to the names of the clusters.

    Examples
    --------
    >>> from sfumato.metrics import fuzzy_rand
    >>> hard = [[1, 0], [1, 0], [0, 1]]
    >>> fuzzy_rand(hard, [[0, 1], [0, 1], [1, 0]])
    1.0
    """
    pairs = _pairs(memberships, others)
    return (pairs.all - pairs.first - pairs.second) / pairs.all


def fuzzy_jaccard(memberships: Any, others: Any) -> float:
    """Pairs together in both soft clusterings over those together in either (Jaccard index).

    Parameters
    ----------
    memberships, others : array-like or sparse array of shape (n_samples, n_clusters)
        As for :func:`fuzzy_rand`.

    Returns
    -------
    index : float

    Examples
    --------
    >>> from sfumato.metrics import fuzzy_jaccard
    >>> fuzzy_jaccard([[1, 0], [1, 0], [0, 1]], [[1, 0], [1, 0], [1, 0]])  # 1 of 3 pairs
    0.3333333333333333
    """
    pairs = _pairs(memberships, others)
    together = pairs.both + pairs.first + pairs.second
    return pairs.both / together if together > 0 else 1.0


def fuzzy_ari(memberships: Any, others: Any) -> float:
    """Rand index of two soft clusterings, corrected for chance (adjusted Rand index).

    Parameters
    ----------
    memberships, others : array-like or sparse array of shape (n_samples, n_clusters)
        As for :func:`fuzzy_rand`.

    Returns
    -------
    index : float
        1 if hard clusterings agree, 0 on average for independent ones.

    Examples
    --------
    >>> from sfumato.metrics import fuzzy_ari
    >>> hard = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> round(fuzzy_ari(hard, [[1, 0], [1, 0], [0.5, 0.5], [0, 1]]), 4)  # 4 / 11
    0.3636
    """
    pairs = _pairs(memberships, others)
    mine, its = pairs.both + pairs.first, pairs.both + pairs.second
    expected = mine * its / pairs.all
    most = (mine + its) / 2
    return (pairs.both - expected) / (most - expected) if most > expected else 1.0


def _pairs(memberships: Any, others: Any) -> _Pairs:
    """Pairs of rows, counted from the table of shared memberships."""
    first, second = _check_shares(memberships, 1), _check_shares(others, 1)
    if first.shape[0] != second.shape[0]:
        raise ValueError(
            f"memberships has shape {first.shape} and others has shape {second.shape}; give "
            "memberships of the same rows."
        )
    table = np.zeros((first.shape[1], second.shape[1]))
    count = 0
    for block in row_blocks(first.shape[0], max(table.shape)):
        mine, its = dense(first[block]), dense(second[block])
        kept = (mine.sum(axis=1) > 0) & (its.sum(axis=1) > 0)
        table += mine[kept].T @ its[kept]
        count += int(kept.sum())
    if count < 2:
        raise ValueError("memberships and others share fewer than two rows that are no outliers.")

    def together(masses: Any) -> float:
        return float((masses * (masses - 1)).sum()) / 2

    both = together(table)
    rows, columns = together(table.sum(axis=1)), together(table.sum(axis=0))
    return _Pairs(both, rows - both, columns - both, count * (count - 1) / 2)
