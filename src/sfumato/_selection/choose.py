"""The rule that chooses a number of clusters.

1. On a sample of bounded size, mixtures of round components and outliers are fitted, for every
   number of components until the Bayesian information criterion (BIC) has clearly fallen.
2. The smallest number is taken whose BIC is within ``EVIDENCE`` of the highest.
3. Components without a valley of the density between them are one cluster.

Other criteria are computed for comparison. Where they prefer another number, the reason says so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato._engines.base import Engine
from sfumato._native import single_blas_thread
from sfumato._selection import indices
from sfumato._selection.components import Expectation
from sfumato._selection.path import Path
from sfumato._selection.record import Alternative, Selection
from sfumato._selection.rows import Rows
from sfumato._selection.valleys import cluster_of_components
from sfumato._typing import Floats
from sfumato._validation import MOST_CLUSTERS

EVIDENCE = 3.0
"""Difference of log-likelihoods above which the evidence is strong [1]_.

References
----------
.. [1] R. E. Kass, A. E. Raftery, "Bayes factors", JASA 1995.
"""
BEYOND = 5
"""Numbers of clusters listed beyond the chosen one and the best number of components, at least.
Chosen by hand."""
OUTLIERS_NAMED = 0.01
"""Share of outliers from which on the reason names it. Chosen by hand."""
NAMES = {
    "silhouette": "the silhouette",
    "calinski_harabasz": "Calinski-Harabasz",
    "davies_bouldin": "Davies-Bouldin",
    "xie_beni": "Xie-Beni",
    "pbm": "PBM",
}
"""Criteria beside BIC, as the reason names them."""
SMALLER = ("davies_bouldin", "xie_beni")
"""Criteria of which a smaller value is better."""


def choose(
    engine: Engine,
    rng: np.random.RandomState,
    candidates: Sequence[int] | None = None,
) -> Selection:
    """Choose a number of clusters for the rows of an engine.

    Parameters
    ----------
    engine : Engine
    rng : numpy.random.RandomState
    candidates : sequence of int, optional
        Numbers to choose from, ascending.
    """
    with single_blas_thread():  # Several would add in another order.
        rows = Rows.drawn(engine, rng)
        return _of_equal_rows(candidates) if rows is None else _choose(rows, rng, candidates)


def _choose(
    rows: Rows,
    rng: np.random.RandomState,
    candidates: Sequence[int] | None,
) -> Selection:
    """Choose a number of clusters for some rows."""
    most = MOST_CLUSTERS if candidates is None else max(MOST_CLUSTERS, candidates[-1])
    path = Path(rows, rng, most).walk(1 if candidates is None else candidates[-1])
    count = min(n for n in path.scores if path.scores[n] >= path.scores[path.best] - EVIDENCE)
    seen = path.seen(count)
    found = 1 if count < 2 else max(1, int(cluster_of_components(rows, seen).max()) + 1)
    if candidates is None:
        last = max(found, count) + BEYOND
        candidates = [n for n in range(1, last + 1) if n in path.scores or n == found]
    chosen = min(candidates, key=lambda n: (abs(n - found), n))
    scores = _scores(path, candidates, seen)
    preferred = _preferred(scores, candidates)
    reason = _reason(found, chosen, seen, rows, path)
    return Selection(
        chosen,
        tuple(int(n) for n in candidates),
        scores,
        reason + _disagreement(preferred, chosen),
        tuple(_alternatives(chosen, found, count, path, candidates, preferred)),
    )


def _of_equal_rows(candidates: Sequence[int] | None) -> Selection:
    """Record for rows that are all the same."""
    known = (1,) if candidates is None else tuple(int(n) for n in candidates)
    scores = {name: np.full(len(known), np.nan) for name in ("bic", *NAMES)}
    return Selection(known[0], known, scores, f"{known[0]}: all rows are the same.")


def _scores(path: Path, candidates: Sequence[int], best: Expectation) -> dict[str, Floats]:
    """Values of all criteria, for each candidate.

    Indices leave out the rows that are outliers under the best components.
    """
    weights = path.rows.weights
    beyond = best.posteriors[:, best.components.size :].sum(axis=1) >= weights / 2
    inliers = np.ones_like(beyond) if beyond.all() else ~beyond
    found = {name: np.full(len(candidates), np.nan) for name in ("bic", *NAMES)}
    for place, count in enumerate(candidates):
        if count not in path.found:
            continue
        found["bic"][place] = path.scores[count]
        if count > 1:
            for name, value in _indices(path.rows, path.seen(count), inliers).items():
                found[name][place] = value
    return found


def _indices(rows: Rows, seen: Expectation, inliers: NDArray[np.bool_]) -> dict[str, float]:
    """Indices of the components as clusters of some rows."""
    weights, centers = rows.weights[inliers], seen.components.centers
    sums = indices.ClusterSums.of(np.sqrt(seen.squares[inliers]), weights)
    values = rows.values[inliers]
    middle = np.average(values, axis=0, weights=weights)
    spread = float(weights @ np.linalg.norm(values - middle, axis=1))
    return {
        "silhouette": indices.silhouette(sums),
        "calinski_harabasz": indices.calinski_harabasz(sums, centers),
        "davies_bouldin": indices.davies_bouldin(sums, centers),
        "xie_beni": indices.xie_beni(sums, centers),
        "pbm": indices.pbm(sums, centers, spread),
    }


def _preferred(scores: dict[str, Floats], candidates: Sequence[int]) -> dict[str, int]:
    """Best candidate of each criterion beside BIC."""
    found = {}
    for name in NAMES:
        values = -scores[name] if name in SMALLER else scores[name]
        if np.isfinite(values).any():
            found[name] = int(candidates[int(np.nanargmax(values))])
    return found


def _reason(found: int, chosen: int, seen: Expectation, rows: Rows, path: Path) -> str:
    """Why this number, in words."""
    count = seen.components.size
    if found == 1:
        text = "1: no clusters were found"
        if count > 1:
            text += f"; the {count} round components of the density have no valley between them"
        text += "."
    elif found < count:
        text = (
            f"{found}: {count} round components describe the density best, and {found} groups of "
            "them are parted by valleys; clusters are long, bent or uneven."
        )
    else:
        text = f"{found}: as many round components describe the density best"
        text += f" (BIC{_gains(path, count)}), and there is a valley between any two."
    if np.isfinite(seen.components.shape) and count:
        text += f" Clusters have heavy tails (Student-t, {seen.components.shape:g} degrees)."
    outliers = float(seen.posteriors[:, count:].sum()) / rows.total
    if count and outliers >= OUTLIERS_NAMED:
        text += f" About {outliers:.0%} of the rows are outliers."
    if chosen != found:
        text = f"{chosen}: the candidate nearest to {found}. {text}"
    return text


def _gains(path: Path, count: int) -> str:
    """How much the criterion is above that of the neighbors."""
    near = [n for n in (count - 1, count + 1) if n in path.scores]
    gains = [f"{path.scores[count] - path.scores[n]:.1f} above {n}" for n in near]
    return ": " + ", ".join(gains) if gains else ""


def _disagreement(preferred: dict[str, int], chosen: int) -> str:
    """Criteria that prefer another number; none of them can prefer 1."""
    others = [f"{NAMES[name]} {n}" for name, n in preferred.items() if n != chosen]
    if not others or chosen == 1:
        return ""
    return f" Other criteria disagree: {', '.join(others)}."


def _alternatives(
    chosen: int,
    found: int,
    count: int,
    path: Path,
    candidates: Sequence[int],
    preferred: dict[str, int],
) -> list[Alternative]:
    """Other numbers that the data supports, ascending."""
    others: dict[int, str] = {}
    if found != chosen:
        others[found] = "what the rule finds without candidates."
    if count > found and count > 1:
        others.setdefault(count, "round components of the density; some have no valley between.")
    for n in candidates:
        gap = path.scores[path.best] - path.scores.get(n, -np.inf)
        if n > 1 and gap < EVIDENCE and n != chosen:
            others.setdefault(n, f"nearly as likely: BIC is {gap:.1f} below the highest.")
    best = preferred.get("silhouette")
    if best is not None and best != chosen and found > 1:
        kind = "coarser" if best < chosen else "finer"
        others.setdefault(best, f"{kind}: the silhouette is highest.")
    others.pop(chosen, None)
    return [Alternative(n, others[n]) for n in sorted(others)]
