"""A table of made customers, as companies have them: text, dates, gaps and typos."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

__all__ = ["make_customers"]

MISSING = 0.03
"""Share of the values that are missing."""
TYPOS = 0.002
"""Share of the incomes and ages that are typos."""
CHANNELS = ("shop", "web", "phone")
REGIONS = ("north", "east", "south", "west")


class Segment(NamedTuple):
    """A kind of customers: its share, means and spreads of numbers, and shares of the channels."""

    name: str
    share: float
    age: tuple[float, float]
    income: tuple[float, float]
    orders: float
    basket: tuple[float, float]
    channels: tuple[float, float, float]
    years: tuple[float, float]


SEGMENTS = (
    Segment("families", 0.36, (41, 4), (52_000, 0.1), 26, (85, 0.15), (0.7, 0.25, 0.05), (6, 1)),
    Segment("students", 0.26, (23, 2), (14_000, 0.1), 9, (24, 0.15), (0.05, 0.93, 0.02), (2, 0.5)),
    Segment("retired", 0.19, (71, 4), (29_000, 0.1), 14, (40, 0.15), (0.55, 0.05, 0.4), (14, 1.5)),
    Segment("busy", 0.13, (35, 3), (88_000, 0.1), 48, (52, 0.15), (0.05, 0.9, 0.05), (4, 1)),
    Segment("collectors", 0.06, (54, 4), (64_000, 0.1), 4, (420, 0.15), (0.2, 0.2, 0.6), (9, 1)),
)
"""Segments of unequal sizes. Made up."""


def make_customers(n_samples: int = 2000, *, random_state: int = 0) -> Bunch:
    """Make a table of customers in five segments, with text, a date, gaps and typos.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of customers.
    random_state : int, default=0
        Seed.

    Returns
    -------
    customers : Bunch
        ``frame``, a pandas frame of 8 columns; ``target``, the segment of each row; and
        ``target_names``, the names of the segments.

    Examples
    --------
    >>> from sfumato.datasets import make_customers
    >>> made = make_customers(100)
    >>> made.frame.columns.tolist()
    ['customer', 'age', 'income', 'orders', 'basket', 'channel', 'region', 'since']
    >>> made.target_names
    ['families', 'students', 'retired', 'busy', 'collectors']
    """
    import pandas as pd

    rng = np.random.default_rng(random_state)
    shares = np.array([segment.share for segment in SEGMENTS])
    counts = np.floor(shares * n_samples).astype(int)
    counts[0] += n_samples - counts.sum()
    target = rng.permutation(np.repeat(np.arange(len(SEGMENTS)), counts))
    columns: dict[str, Any] = _numbers(target, rng)
    for name in ("age", "income"):
        typos = rng.random(n_samples) < TYPOS
        columns[name][typos] *= rng.choice([100, 1000], size=int(typos.sum()))
    chances = np.array([segment.channels for segment in SEGMENTS])[target]
    picks = (rng.random(n_samples)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    columns["channel"] = np.array(CHANNELS, dtype=object)[np.minimum(picks, 2)]
    columns["region"] = rng.choice(np.array(REGIONS, dtype=object), size=n_samples)
    years = np.array([segment.years for segment in SEGMENTS])[target]
    days = 365 * rng.normal(years[:, 0], years[:, 1])
    columns["since"] = pd.Timestamp("2026-06-30") - pd.to_timedelta(np.round(days), unit="D")
    frame = pd.DataFrame(columns)
    for name in frame.columns:
        frame.loc[rng.random(n_samples) < MISSING, name] = None
    frame.insert(0, "customer", [f"C{number:06d}" for number in range(n_samples)])
    return Bunch(frame=frame, target=target, target_names=[s.name for s in SEGMENTS])


def _numbers(target: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Columns of numbers."""
    ages, incomes, baskets = (
        np.array([getattr(segment, name) for segment in SEGMENTS])[target]
        for name in ("age", "income", "basket")
    )
    orders = np.array([segment.orders for segment in SEGMENTS])[target]
    return {
        "age": np.round(np.maximum(18, rng.normal(ages[:, 0], ages[:, 1]))),
        "income": np.round(incomes[:, 0] * np.exp(rng.normal(0, incomes[:, 1])), -2),
        "orders": rng.poisson(orders).astype(np.float64),
        "basket": np.round(baskets[:, 0] * np.exp(rng.normal(0, baskets[:, 1])), 2),
    }
