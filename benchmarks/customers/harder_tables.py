"""Ten generators of harder tables of customers, each written in another way.

Segments are unequal, columns correlated or not, spreads alike or not, laws normal, log-normal,
gamma, Poisson, beta, exponential and Student's; one value in a hundred of the two columns of text
is misspelled, dates are written in four ways, 3 % of the values are missing, and each column of
numbers has typos of three kinds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

Columns = dict[str, Any]
Rng = np.random.Generator
SHARES = (0.40, 0.25, 0.18, 0.12, 0.05)
TYPOS = (1e6, 9999, -1, 999, -99999, "12,O", "??")
CITIES = ("Madrid", "Sevilla", "Valencia", "Bilbao", "Malaga", "Zaragoza", "Murcia")
PLANS = ("bronze", "silver", "gold", "platinum")
DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d %b %Y", "%m/%d/%Y")


def make_table(seed: int, n_rows: int) -> tuple[pd.DataFrame, Any, Columns]:
    """Return a table, the segment of each row, and the numbers without gaps and typos."""
    rng = np.random.default_rng([2026, seed])
    segment = rng.choice(5, n_rows, p=rng.permutation(SHARES))
    clean = GENERATORS[seed % len(GENERATORS)](segment, rng)
    columns = dict(clean)
    for name, levels in (("city", CITIES), ("plan", PLANS)):
        columns[name] = misspelled(_words(levels[: rng.integers(2, 8)], segment, rng), rng)
    days = rng.integers(0, 2500, n_rows)
    if seed % 2:
        days = rng.normal(rng.uniform(0, 2500, 5)[segment], 150).astype(int)
    joined = pd.Timestamp("2016-06-01") + pd.to_timedelta(days, unit="D")
    columns["joined"] = joined.strftime(DATES[seed % len(DATES)])
    table = pd.DataFrame(columns).astype(object)[list(rng.permutation(list(columns)))]
    table = table.mask(rng.random(table.shape) < 0.03)
    for name in clean:
        for typo in rng.choice(np.array(TYPOS, dtype=object), 3, replace=False):
            rows = rng.choice(n_rows, rng.integers(5, 40) * n_rows // 20_000 + 1, replace=False)
            table.loc[rows, name] = typo
    number = rng.permutation(n_rows) + 5000
    table.insert(0, "CustomerID", number if seed % 3 else [f"K{each:07d}" for each in number])
    return table, segment, clean


def _words(levels: tuple[str, ...], segment: Any, rng: Rng) -> Any:
    """Words whose shares depend on the segment, weakly or strongly."""
    shares = rng.dirichlet(np.full(len(levels), rng.choice([0.4, 2, 20])), 5)
    drawn = (rng.random(len(segment))[:, None] > shares.cumsum(axis=1)[segment]).sum(axis=1)
    return np.array(levels, dtype=object)[np.minimum(drawn, len(levels) - 1)]


def misspelled(words: Any, rng: Rng) -> Any:
    """Words of which one in a hundred is in capitals, lacks a letter, or has a space behind it."""
    found = words.copy()
    for row in np.flatnonzero(rng.random(len(words)) < 0.01):
        word, place = words[row], rng.integers(1, len(words[row]))
        found[row] = (word.upper(), word[:place] + word[place + 1 :], word + " ")[rng.integers(3)]
    return found


def _near(segment: Any, middles: Any, widths: Any, rng: Rng) -> Any:
    """Normal numbers around a middle of each segment."""
    middle, width = np.asarray(middles, dtype=float), np.broadcast_to(widths, 5)
    return rng.normal(middle[segment], width[segment])


def _correlated(segment: Any, rng: Rng) -> Columns:
    """Scores that share a factor."""
    middles = np.array([[0, 6, 12, 0, 6], [6, 0, 6, 12, 12], [0, 12, 0, 6, 12], [12, 6, 0, 0, 6.0]])
    shared = 0.8 * rng.normal(size=len(segment))
    made = [_near(segment, rng.permutation(row), 1, rng) + shared for row in middles]
    return {f"score_{i}": (50 + 10 * each).round(1) for i, each in enumerate(made)}


def _retail(segment: Any, rng: Rng) -> Columns:
    recency = np.array([20, 15, 6, 30, 60])[segment]
    return {
        "Age": _near(segment, [24, 35, 47, 58, 70], 4, rng).round(),
        "Income": np.exp(_near(segment, np.log([18e3, 45e3, 7e4, 52e3, 28e3]), 0.2, rng)).round(-2),
        "Orders": rng.poisson(np.array([4, 12, 25, 8, 2])[segment]),
        "Basket": rng.gamma(9, np.array([20, 45, 80, 150, 30])[segment] / 9).round(2),
        "Recency": rng.exponential(recency).round(),
    }


def _telephone(segment: Any, rng: Rng) -> Columns:
    return {
        "minutes": _near(segment, [120, 400, 800, 300, 60], 25, rng).round(),
        "data_gb": rng.gamma(9, np.array([1, 4, 12, 30, 0.3])[segment] / 9).round(2),
        "bill": _near(segment, [15, 35, 60, 85, 5], 4, rng).round(2),
        "service_calls": rng.poisson(np.array([1, 2, 4, 7, 1])[segment]),
        "tenure": rng.uniform(0, 72, len(segment)).round(),
    }


def _bank(segment: Any, rng: Rng) -> Columns:
    balances, widths = [500, 3000, 9000, 20_000, -800], [200, 700, 1500, 2500, 250]
    return {
        "balance": _near(segment, balances, widths, rng).round(2),
        "salary": np.exp(_near(segment, [7, 7.6, 8.1, 8.8, 7.2], 0.15, rng)).round(2),
        "credit_score": _near(segment, [620, 690, 740, 790, 540], 20, rng).round(),
        "products": rng.poisson(np.array([1, 2, 3, 5, 1])[segment]),
        "age": _near(segment, [26, 38, 49, 60, 33], 5, rng).round(),
        "zodiac": rng.normal(size=len(segment)).round(3),
    }


def _counts(segment: Any, rng: Rng) -> Columns:
    """Counts alone, and a column of noise."""
    levels = np.array(
        [[2, 10, 30, 5], [8, 30, 5, 12], [20, 4, 12, 40], [40, 60, 60, 20], [1, 1, 3, 90]]
    )
    counts = rng.poisson(levels[segment])
    made = dict(zip(["web", "store", "phone", "mail"], counts.T, strict=True))
    return made | {"luck": rng.normal(size=len(segment)).round(4)}


def _few(segment: Any, rng: Rng) -> Columns:
    """Three columns that tell segments apart, and two of noise."""
    return {
        "metric_a": _near(segment, rng.permutation(5) * 8, 1, rng).round(3),
        "metric_b": _near(segment, rng.permutation(5) * 7, 1.2, rng).round(3),
        "metric_c": _near(segment, rng.permutation([0, 0, 6, 6, 12]), 1, rng).round(3),
        "noise_a": rng.uniform(0, 100, len(segment)).round(1),
        "noise_b": rng.exponential(5, len(segment)).round(2),
    }


def _shares(segment: Any, rng: Rng) -> Columns:
    """Shares, and numbers with heavy tails."""
    rates = np.array([[0.1, 0.3, 0.5, 0.7, 0.9], [0.5, 0.2, 0.8, 0.3, 0.6]])[:, segment]
    size = len(segment)
    return {
        "open_rate": rng.beta(40 * rates[0], 40 * (1 - rates[0])).round(3),
        "click_rate": rng.beta(30 * rates[1], 30 * (1 - rates[1])).round(3),
        "nps": (np.array([0, 8, 3, -6, 14])[segment] + rng.standard_t(5, size)).round(1),
        "margin": (np.array([10, 0, 5, 20, 15])[segment] + 1.5 * rng.standard_t(6, size)).round(2),
        "growth": _near(segment, [0, 5, 10, 5, 0], 1.3, rng).round(2),
    }


def _many(segment: Any, rng: Rng) -> Columns:
    """Nine columns, each of which tells little."""
    made = [_near(segment, rng.normal(0, 2.2, 5), 1, rng) for _ in range(9)]
    return {
        f"kpi{i}": np.exp(1 + 0.3 * each).round(3) if i % 3 else (1000 + 100 * each).round()
        for i, each in enumerate(made)
    }


def _uneven(segment: Any, rng: Rng) -> Columns:
    """Segments three times as wide as others."""
    widths = rng.uniform(0.5, 1.5, size=(5, 5))
    made = [_near(segment, 4.5 * rng.permutation(5), each, rng) for each in widths]
    return {
        "euros": (500 + 60 * made[0]).round(2),
        "points": (80 + 8 * made[1]).round(),
        "km": np.exp(3 + 0.2 * made[2]).round(1),
        "stars": (3 + 0.3 * made[3]).round(1),
        "clicks": (400 + 25 * made[4]).round(),
    }


def _long(segment: Any, rng: Rng) -> Columns:
    """Segments that are long, each in another direction."""
    middles = 7.0 * np.column_stack([rng.permutation(5) for _ in range(4)])
    maps = np.eye(4) + 0.35 * rng.normal(size=(5, 4, 4))
    rows = middles[segment] + np.einsum(
        "ni,nij->nj", rng.normal(size=(len(segment), 4)), maps[segment]
    )
    return {name: (100 + 20 * each).round(2) for name, each in zip("wxyz", rows.T, strict=True)}


GENERATORS = (
    _correlated,
    _retail,
    _telephone,
    _bank,
    _counts,
    _few,
    _shares,
    _many,
    _uneven,
    _long,
)
