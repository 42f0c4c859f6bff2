"""Scales of columns of numbers: their spread among rows that are near to each other.

A column that tells clusters apart has a wide spread over all rows. Divided by it, such a column
would count less than one of noise, and clusters would be hidden [1]_. So columns are divided by an
estimate of their spread within clusters, found without knowing them: that of the nearest pairs of
rows, in the metric that these spreads define [2]_.

References
----------
.. [1] R. Gnanadesikan, J. R. Kettenring, S. L. Tsao, "Weighting and selection of variables for
   cluster analysis", Journal of Classification 1995.
.. [2] D. Art, R. Gnanadesikan, J. R. Kettenring, "Data-based metrics for cluster analysis",
   Utilitas Mathematica 1982.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

from sfumato._resolution import has_spike, steps_of
from sfumato._typing import Floats

LOG_SLOPE, ROOT_SLOPE = 0.75, 0.3
"""Slopes of the logarithm of the spread over that of the level from which on numbers are replaced
by logarithms, or by square roots. Halfway between the powers that keep the spread level: 1 for
logarithms, 1/2 for roots (of counts), 0 for the numbers themselves; a little less for 0."""
LEAST_RANGE = 1.5
"""Ratio of the 95 % quantile to the 5 % one, below which numbers stay: nothing would change."""
LEVELS, LEVEL_NEIGHBORS = 10, 0.03
"""Groups of rows by their level, and share of the rows that are neighbors. Chosen by hand."""
ANSCOMBE = 3 / 8
"""What is added to counts before roots are taken: so the spread of small ones is level too."""
ABSURD, MOST_ABSURD = 1.5, 0.01
"""Distance from the middle 90 % of the numbers, in lengths of that range, beyond which a number is
absurd, and the share of such numbers from which on they are believed: they may be a cluster.
Chosen by hand: of normal numbers, the bound is 6.6 standard deviations away."""
NEAR = 0.1
"""Share of all pairs of rows that count as near. Chosen by hand: of 5 equal clusters, one pair in
five is within a cluster."""
ROUNDS = 15
"""Iterations of the scales. Chosen by hand: the last change is below 1 %."""
PAIRED_ROWS, PAIRED_NUMBERS = 600, 10**7
"""Rows of which all pairs are taken, at most, and differences of all pairs. Chosen by hand."""
LEAST_SCALE = 0.1
"""Scale over the standard deviation of all rows, at least. Chosen by hand: clusters ten times
farther apart than they are wide need no larger weight."""
TRIMMED = (0.01, 0.99)
"""Quantiles to which numbers are cut before their standard deviation is taken. Chosen by hand."""


def find_powers(columns: Floats, rng: np.random.Generator) -> list[str]:
    """Return "log", "sqrt", "asinh" or "" for each column, which levels its spread [3]_.

    The spread is that among neighbors, found by ranks, which no power changes. Numbers on both
    sides of zero, as balances of accounts, get "asinh": logarithms on each side.

    References
    ----------
    .. [3] J. W. Tukey, "Exploratory data analysis", 1977: plots of spread versus level.
    """
    rows = _complete(columns, rng)
    if len(rows) < 10 * LEVELS:
        return [""] * columns.shape[1]
    ranks = np.argsort(np.argsort(rows, axis=0), axis=0) / len(rows)
    count = max(5, int(LEVEL_NEIGHBORS * len(rows)))
    neighbors = np.argpartition(cdist(ranks, ranks, "sqeuclidean"), count, axis=1)[:, : count + 1]
    found = []
    for place, column in enumerate(columns.T):
        there = column[~np.isnan(column)]
        low, high = np.quantile(there, (0.05, 0.95))
        positive = np.quantile(there, MOST_ABSURD) >= 0
        if positive and high <= LEAST_RANGE * low:
            found.append("")
            continue
        slope = _slope(rows[:, place], neighbors)
        power = "log" if slope > LOG_SLOPE else "sqrt" if slope > ROOT_SLOPE else ""
        found.append(power if positive or not power else "asinh")
    return found


def _slope(column: Floats, neighbors: NDArray[np.intp]) -> float:
    """Slope of the logarithm of the spread among neighbors over that of their distance from 0."""
    near = column[neighbors]
    levels, spreads = np.abs(near.mean(axis=1)), near.std(axis=1)
    known = (levels > 0) & (spreads > 0)
    if known.sum() < 10 * LEVELS:
        return 0.0
    levels, spreads = np.log(levels[known]), np.log(spreads[known])
    groups = np.array_split(np.argsort(levels), LEVELS)
    points = np.array([[np.median(levels[g]), np.median(spreads[g])] for g in groups])
    x, y = points.T - points.mean(axis=0)[:, None]
    return float(x @ y / (x @ x)) if x.any() else 0.0


def shift_of(values: Floats, power: str) -> float:
    """What is added before logarithms or roots are taken; before "asinh" it is what divides.

    3/8 to whole numbers before roots [4]_, otherwise half of the median if there are zeros. So
    zeros, and the steps of small counts, are not far apart: few zeros would be a cluster. Half of
    the median distance from zero is where "asinh" goes over from numbers to logarithms.

    References
    ----------
    .. [4] F. J. Anscombe, "The transformation of Poisson, binomial and negative-binomial data",
       Biometrika 1948.
    """
    if power == "sqrt" and not (values % 1).any():
        return ANSCOMBE
    if power == "asinh":
        return 0.5 * float(np.median(np.abs(values[values != 0])))
    zeros = np.quantile(values, 0.01) <= 0
    return 0.5 * float(np.median(values[values > 0])) if zeros else 0.0


def find_bounds(values: Floats) -> tuple[float, float]:
    """Bounds beyond which numbers are absurd; infinite if there would be many."""
    values = values[~np.isnan(values)]
    low, high = np.quantile(values, (0.05, 0.95))
    low, high = low - ABSURD * (high - low), high + ABSURD * (high - low)
    if not high > low or np.mean((values < low) | (values > high)) >= MOST_ABSURD:
        return -np.inf, np.inf
    return float(low), float(high)


def trimmed_deviation(values: Floats) -> float:
    """Standard deviation of numbers that are cut to their quantiles; of all, if that is zero."""
    there = values[~np.isnan(values)]
    cut = float(np.std(np.clip(there, *np.quantile(there, TRIMMED))))
    return cut or float(np.std(there)) or 1.0


def near_spreads(columns: Floats, rng: np.random.Generator) -> Floats:
    """Spread of each column among near rows, as a standard deviation.

    Columns of repeated values get a jitter of their resolution, without which most near rows would
    not differ. A column that has a spike gets its standard deviation.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Numbers; NaN where they are missing.
    rng : numpy.random.Generator
    """
    total = np.array([trimmed_deviation(column) for column in columns.T])
    usual = np.array([not has_spike(column[~np.isnan(column)]) for column in columns.T], dtype=bool)
    found = total.copy()
    if usual.any():
        rows = _complete(columns[:, usual] / total[usual], rng)
        found[usual] *= np.maximum(_nearest_pairs(rows), LEAST_SCALE)
    return found


def _complete(columns: Floats, rng: np.random.Generator) -> Floats:
    """Some rows without missing values, jittered; medians are filled in where most rows miss some.

    Values beyond the trimming are cut: a few far ones would have all the spread.
    """
    low, high = np.nanquantile(columns, TRIMMED, axis=0)
    columns = np.clip(columns, low, high)
    whole = ~np.isnan(columns).any(axis=1)
    if whole.sum() < min(len(columns), PAIRED_ROWS) / 2:
        columns = np.where(np.isnan(columns), np.nanmedian(columns, axis=0), columns)
    else:
        columns = columns[whole]
    most = min(PAIRED_ROWS, int(np.sqrt(2 * PAIRED_NUMBERS / columns.shape[1])))
    steps = np.column_stack([_steps(column) for column in columns.T])
    chosen = rng.permutation(len(columns))[:most]
    jitter = rng.uniform(-0.5, 0.5, size=(len(chosen), columns.shape[1]))
    found: Floats = columns[chosen] + steps[chosen] * jitter
    return found


def _steps(column: Floats) -> Floats:
    """Resolution at each value of a column of repeated values; 0 if most values are different.

    That of small counts, or of their roots and logarithms, is not that of large ones.
    """
    different = len(np.unique(column))
    if different < 2 or different > len(column) / 2:
        return np.zeros(len(column))
    return steps_of(column, np.ones(len(column)))


def _nearest_pairs(rows: Floats) -> Floats:
    """Standard deviation of each column, from the pairs that are nearest by these deviations."""
    if len(rows) < 3:
        return np.ones(rows.shape[1])
    first, second = np.triu_indices(len(rows), 1)
    count = max(2, int(NEAR * len(first)))
    variances = np.ones(rows.shape[1])
    for _ in range(ROUNDS):
        distances = pdist(rows / np.sqrt(variances), "sqeuclidean")
        near = np.argpartition(distances, count - 1)[:count]
        squares = (rows[first[near]] - rows[second[near]]) ** 2
        variances = np.maximum(squares.mean(axis=0) / 2, LEAST_SCALE**2 / 4)
    return np.sqrt(variances)
