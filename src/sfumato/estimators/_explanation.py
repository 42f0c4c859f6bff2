"""Why a row is an outlier: its nearest cluster, and the features that set it apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato._typing import Floats

SHOWN = 5
"""Features in the text of an explanation. Chosen by hand."""


@dataclass(frozen=True, repr=False)
class OutlierExplanation:
    """Nearest cluster of a row, and the features by which the row differs from its center.

    Attributes
    ----------
    cluster : int
        Nearest center.
    score : float
        Outlier score; above 1 the row is an outlier.
    features : tuple of str or int
        All features, by names if the data of the fit had some, else by index: first those that
        contribute most.
    contributions : ndarray of shape (n_features,)
        Share of each of these features in the squared distance to the center; they sum to one, and
        are zero for a row on the center.
    values, expected : ndarray of shape (n_features,)
        Values of the row, and of the center, in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import CappedREFCMFS
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = CappedREFCMFS(1, random_state=0).fit(X)
    >>> explanation = model.explain_outlier([0.1, 9.0, -2.0])
    >>> explanation.features
    (1, 2, 0)
    >>> explanation.contributions.round(2)
    array([0.95, 0.05, 0.  ])
    """

    cluster: int
    score: float
    features: tuple[str | int, ...]
    contributions: Floats
    values: Floats
    expected: Floats

    @classmethod
    def of(
        cls,
        row: Floats,
        center: Floats,
        cluster: int,
        score: float,
        names: Sequence[str] | None = None,
    ) -> OutlierExplanation:
        """Explanation of a row by its nearest center; the first of equal features comes first."""
        away = np.abs(row - center)
        largest = away.max(initial=0.0)
        squares = (away / largest) ** 2 if largest > 0 else away
        total = squares.sum()
        shares = squares / total if total > 0 else squares
        order = np.argsort(-shares, kind="stable")
        features = tuple(order.tolist() if names is None else (str(names[j]) for j in order))
        return cls(cluster, score, features, shares[order], row[order], center[order])

    def __repr__(self) -> str:
        outlier = "an outlier" if self.score > 1 else "no outlier"
        lines = [f"{outlier}, score {self.score:.3g}; the nearest cluster is {self.cluster}"]
        several = zip(self.features, self.contributions, self.values, self.expected, strict=True)
        for feature, share, value, expected in list(several)[:SHOWN]:
            name = f"feature {feature}" if isinstance(feature, int) else feature
            lines.append(f"  {share:4.0%}  {name}: {value:.4g}; the center has {expected:.4g}")
        rest = len(self.features) - SHOWN
        if rest > 0:
            lines.append(f"  {self.contributions[SHOWN:].sum():4.0%}  {rest} other features")
        return "\n".join(lines)
