"""The record of a choice of a number of clusters: the number, its reason, and the other numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from sfumato._typing import Floats

SMALLER = ("davies_bouldin", "xie_beni")
"""Criteria of which a smaller value is better."""
STRONG = 0.8
"""Prediction strength from which on clusters are stable: the least that its authors recommend."""
CURVE_WIDTH, CURVE_HEIGHT = 320, 120
"""Pixels of the curve in the HTML representation. Chosen by hand."""


class Alternative(NamedTuple):
    """Another number of clusters that the data supports.

    Attributes
    ----------
    n_clusters : int
    reason : str
        Why it is worth a look.
    """

    n_clusters: int
    reason: str


@dataclass(frozen=True)
class Selection:
    """Number of clusters that was chosen, and why.

    Attributes
    ----------
    n_clusters : int
        Number that was chosen; 1 if no clusters were found.
    candidates : tuple of int
        Numbers that were compared.
    scores : dict of str to ndarray
        Values of each criterion, one for each candidate; NaN where it has none. "bic" is the
        Bayesian information criterion of as many components, as a log-likelihood. It is the one
        that decides; see :func:`sfumato.select_n_clusters`. The others are "bic_common_width",
        "gap", "prediction_strength", "silhouette", "fuzzy_silhouette", "calinski_harabasz",
        "davies_bouldin", "xie_beni" and "pbm", as in ``sfumato.metrics``.
    reason : str
        Why this number.
    alternatives : tuple of Alternative
        Other numbers that the data supports, each with its reason.

    Examples
    --------
    >>> from sfumato import select_n_clusters
    >>> from sfumato.datasets import make_blobs_with_outliers
    >>> X = make_blobs_with_outliers(500, n_clusters=4, random_state=0).data
    >>> selection = select_n_clusters(X)
    >>> selection.n_clusters
    4
    """

    n_clusters: int
    candidates: tuple[int, ...]
    scores: Mapping[str, Floats]
    reason: str
    alternatives: tuple[Alternative, ...] = ()

    @property
    def preferred(self) -> dict[str, int]:
        """Number of clusters that each criterion prefers: the one with its best value.

        For "prediction_strength", the largest number with at least 0.8.
        """
        found: dict[str, int] = {}
        for name, values in self.scores.items():
            if name == "prediction_strength":
                strong = [n for n, v in zip(self.candidates, values, strict=True) if v >= STRONG]
                found |= {name: max(strong)} if strong else {}
                continue
            signed = np.where(np.isfinite(values), values, np.nan)
            if not np.isnan(signed).all():
                signed = -signed if name in SMALLER else signed
                found[name] = self.candidates[int(np.nanargmax(signed))]
        return found

    def to_frame(self) -> Any:
        """Return the scores as a pandas frame, with one row for each candidate."""
        import pandas

        index = pandas.Index(self.candidates, name="n_clusters")
        return pandas.DataFrame(dict(self.scores), index=index)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, e.g. for JSON; undefined scores are None."""
        return {
            "n_clusters": self.n_clusters,
            "reason": self.reason,
            "candidates": list(self.candidates),
            "scores": {
                name: [float(v) if np.isfinite(v) else None for v in values]
                for name, values in self.scores.items()
            },
            "alternatives": [each._asdict() for each in self.alternatives],
            "preferred": dict(self.preferred),
        }

    def plot(self) -> Any:
        """Return a matplotlib figure of the criteria by the number of clusters."""
        return import_module("sfumato.plotting").SelectionDisplay.from_selection(self).figure_

    def __str__(self) -> str:
        lines = [self.reason]
        lines += [f"Or {each.n_clusters}: {each.reason}" for each in self.alternatives]
        return "\n".join(lines)

    def __repr__(self) -> str:
        others = [each.n_clusters for each in self.alternatives]
        return (
            f"Selection(n_clusters={self.n_clusters}, candidates={_range(self.candidates)}, "
            f"alternatives={others})"
        )

    def _repr_html_(self) -> str:
        paragraphs = "".join(f"<p>{escape(line)}</p>" for line in str(self).splitlines())
        return f"<div><strong>{self.n_clusters}</strong> clusters{self._curve()}{paragraphs}</div>"

    def _curve(self) -> str:
        """Curve of the deciding criterion, as SVG."""
        scores = np.asarray(self.scores.get("bic", ()))
        known = np.isfinite(scores)
        if known.sum() < 2:
            return ""
        numbers, scores = np.array(self.candidates)[known], scores[known]
        x = 8 + (CURVE_WIDTH - 16) * (numbers - numbers.min()) / np.ptp(numbers)
        y = (
            CURVE_HEIGHT
            - 16
            - (CURVE_HEIGHT - 24) * (scores - scores.min()) / (np.ptp(scores) or 1)
        )
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        marks = "".join(
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{4 if n == self.n_clusters else 2}">'
            f"<title>{n}: {s:.1f}</title></circle>"
            for a, b, n, s in zip(x, y, numbers, scores, strict=True)
        )
        return (
            f'<br><svg width="{CURVE_WIDTH}" height="{CURVE_HEIGHT}" role="img" '
            f'aria-label="criterion by number of clusters"><polyline points="{points}" '
            f'fill="none" stroke="currentColor"/>{marks}</svg>'
        )


def _range(numbers: tuple[int, ...]) -> str:
    """Consecutive numbers as a range."""
    if len(numbers) > 2 and numbers == tuple(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}..{numbers[-1]}"
    return str(list(numbers))
