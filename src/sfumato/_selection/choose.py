"""The rule that chooses a number of clusters.

1. On a sample of bounded size, mixtures of components and outliers are fitted, for every number of
   components until the Bayesian information criterion (BIC) has clearly fallen. All components are
   Gaussians, or have heavier or lighter tails, or are longer along one axis.
2. The smallest number is taken whose BIC is within ``EVIDENCE`` of the highest.
3. Components without a valley of the density between them are one cluster.
4. Where clusters have several components, the rows are whitened by the covariance within clusters,
   and all of this is repeated: where columns are correlated within clusters, one round component
   for each then describes the density better [2]_, and BIC says so.

Other criteria are computed for comparison. Where they prefer another number, the reason says so.

References
----------
.. [2] H. P. Friedman, J. Rubin, "On some invariant criteria for grouping data", JASA 1967.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato._distances import squared_distances
from sfumato._engines.base import Engine
from sfumato._native import single_blas_thread
from sfumato._selection import indices
from sfumato._selection.components import Expectation
from sfumato._selection.indices import ClusterSums, Extent
from sfumato._selection.path import Path
from sfumato._selection.record import Alternative, Selection
from sfumato._selection.resampling import (
    gap,
    log_dispersion,
    prediction_strengths,
    uniform_dispersions,
)
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
WHITENINGS = 2
"""Times that rows are whitened, at most. Chosen by hand: if two clusters were one, the covariance
of the first time is too wide."""
TINY = 0.02
"""Rows of a cluster over those of the mean one, below which it counts as outliers. Chosen by hand:
typos and values that were filled in make groups of some 10 of 4096 rows."""
OUTLIERS_NAMED = 0.01
"""Share of outliers from which on the reason names it. Chosen by hand."""
REFERENCES = 3
"""Uniform references of the gap statistic. Chosen by hand."""
NAMES = {
    "bic_common_width": "BIC with a common width",
    "gap": "the gap statistic",
    "prediction_strength": "prediction strength",
    "silhouette": "the silhouette",
    "fuzzy_silhouette": "the fuzzy silhouette",
    "calinski_harabasz": "Calinski-Harabasz",
    "davies_bouldin": "Davies-Bouldin",
    "xie_beni": "Xie-Beni",
    "pbm": "PBM",
}
"""Criteria beside BIC, as the reason names them."""
FROM_ONE = ("bic_common_width", "gap", "prediction_strength")
"""Criteria beside BIC that can prefer one cluster."""


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
    parted = _best_parts(rows, rng, most, 1 if candidates is None else candidates[-1])
    path, seen, found = parted.path, parted.seen, parted.n_clusters
    rows, count = path.rows, seen.components.size
    if candidates is None:
        last = max(found, count) + BEYOND
        candidates = [n for n in range(1, last + 1) if n in path.scores or n == found]
    chosen = min(candidates, key=lambda n: (abs(n - found), n))
    selection = Selection(
        chosen,
        tuple(int(n) for n in candidates),
        _criteria(path, candidates, seen, rng),
        _reason(found, chosen, seen, rows, path),
    )
    preferred = selection.preferred
    return replace(
        selection,
        reason=selection.reason + _disagreement(preferred, chosen),
        alternatives=tuple(_alternatives(chosen, found, count, path, candidates, preferred)),
    )


class Parts(NamedTuple):
    """Components of the density, and which of them are one cluster.

    Attributes
    ----------
    path : Path
    seen : Expectation
        Rows under the components that were chosen.
    clusters : ndarray of shape (n_components,)
        Cluster of each component; -1 for those that are none.
    """

    path: Path
    seen: Expectation
    clusters: NDArray[np.intp]

    @classmethod
    def of(cls, path: Path) -> Parts:
        """Parts of the smallest number of components that is about as likely as the best."""
        least = path.scores[path.best] - EVIDENCE
        seen = path.seen(min(n for n in path.scores if path.scores[n] >= least))
        return cls(path, seen, _without_tiny(cluster_of_components(path.rows, seen), seen))

    @property
    def n_clusters(self) -> int:
        """Number of clusters: not more than different rows."""
        return min(self.n_groups, self.path.rows.different)

    @property
    def n_groups(self) -> int:
        """Number of groups of components, at least one."""
        return max(1, int(self.clusters.max(initial=0)) + 1)

    @property
    def uneven(self) -> bool:
        """Whether there are clusters, some of which have several components."""
        return 1 < self.n_groups < self.seen.components.size

    def covariance(self) -> Floats:
        """Pooled covariance of the rows within clusters."""
        rows = self.path.rows
        labels = np.append(self.clusters, [-1, -1])[self.seen.posteriors.argmax(axis=1)]
        found, total = np.zeros((rows.n_columns, rows.n_columns)), 0.0
        for cluster in range(self.n_groups):
            values, weights = rows.values[labels == cluster], rows.weights[labels == cluster]
            if len(values):
                values = values - np.average(values, axis=0, weights=weights)
                found += (weights * values.T) @ values
                total += float(weights.sum())
        return found / max(total, 1.0)


def _without_tiny(clusters: NDArray[np.intp], seen: Expectation) -> NDArray[np.intp]:
    """Clusters of components, but -1 for those that are tiny beside the others."""
    if clusters.max(initial=-1) < 1:
        return clusters
    masses = np.bincount(clusters + 1, seen.masses[: len(clusters)])[1:]
    kept = masses >= TINY * masses.mean()
    numbers = np.where(kept, np.cumsum(kept) - 1, -1)
    return np.append(numbers, -1)[clusters]


def _best_parts(rows: Rows, rng: np.random.RandomState, most: int, least: int) -> Parts:
    """Parts of the rows as they are, or whitened, whichever are likelier."""
    best = last = Parts.of(Path(rows, rng, most).walk(least))
    unlike = best.uneven and rows.n_columns > 1
    for _ in range(WHITENINGS):
        covariance = last.covariance()
        if not unlike or not covariance.any():
            break
        path = Path(last.path.rows.whitened(covariance), rng, most).walk(least)
        before, last = last, Parts.of(path)
        if path.scores[path.best] > best.path.scores[best.path.best]:
            best = last
        # Other clusters have another covariance.
        unlike = 1 < last.n_groups != before.n_groups
    return best


def _of_equal_rows(candidates: Sequence[int] | None) -> Selection:
    """Record for rows that are all the same."""
    known = (1,) if candidates is None else tuple(int(n) for n in candidates)
    scores = {name: np.full(len(known), np.nan) for name in ("bic", *NAMES)}
    return Selection(known[0], known, scores, f"{known[0]}: all rows are the same.")


def _criteria(
    path: Path, candidates: Sequence[int], best: Expectation, rng: np.random.RandomState
) -> dict[str, Floats]:
    """Values of all criteria, for each candidate.

    Rows that are outliers under the best components are left out, but by BIC.
    """
    weights = path.rows.weights
    beyond = best.posteriors[:, best.components.size :].sum(axis=1) >= weights / 2
    inliers = np.ones_like(beyond) if beyond.all() else ~beyond
    values = path.rows.values[inliers]
    found = {name: np.full(len(candidates), np.nan) for name in ("bic", *NAMES)}
    places = [place for place, n in enumerate(candidates) if n in path.found]
    for place in places:
        count = candidates[place]
        found["bic"][place] = path.scores[count]
        for name, value in _indices(path.rows, path.seen(count), inliers).items():
            found[name][place] = value
    places = [place for place in places if candidates[place] <= len(values)]
    if places and np.ptp(values, axis=0).any():
        counts = [candidates[place] for place in places]
        found["gap"][places] = _gap_statistics(path, counts, inliers, rng)
        found["prediction_strength"][places] = prediction_strengths(values, counts, rng)
    return found


def _gap_statistics(
    path: Path, counts: list[int], inliers: NDArray[np.bool_], rng: np.random.RandomState
) -> list[float]:
    """Gap statistic of each number, against uniform rows in the box of those that are inliers."""
    values, weights = path.rows.values[inliers], path.rows.weights[inliers]
    total = float(weights.sum())
    extent = Extent.of(values)
    references = uniform_dispersions(extent, counts, len(values), REFERENCES, rng)
    found = []
    for count, logs in zip(counts, references.T, strict=True):
        squares = squared_distances(values, path.found[count].centers).min(axis=1)
        found.append(gap(log_dispersion(float(weights @ squares), total, count), logs).value)
    return found


def _indices(rows: Rows, seen: Expectation, inliers: NDArray[np.bool_]) -> dict[str, float]:
    """Indices of the components as clusters of some rows; those of one component have few."""
    size, centers = seen.components.size, seen.components.centers
    squares = squared_distances(rows.values, centers)
    sums = ClusterSums.of(np.sqrt(squares), rows.weights, inliers, indices.clearness(squares))
    found = {"bic_common_width": indices.bic(sums, rows.n_columns, -rows.box, common=True)}
    if size < 2:
        return found
    values, weights = rows.values[inliers], rows.weights[inliers]
    middle = np.average(values, axis=0, weights=weights)
    spread = float(weights @ np.linalg.norm(values - middle, axis=1))
    return found | {
        "silhouette": indices.silhouette(sums),
        "fuzzy_silhouette": indices.fuzzy_silhouette(sums),
        "calinski_harabasz": indices.calinski_harabasz(sums, centers),
        "davies_bouldin": indices.davies_bouldin(sums, centers),
        "xie_beni": indices.xie_beni(sums, centers),
        "pbm": indices.pbm(sums, centers, spread),
    }


def _reason(found: int, chosen: int, seen: Expectation, rows: Rows, path: Path) -> str:
    """Why this number, in words."""
    components = seen.components
    count = components.size
    kind = "round " if components.axes is None else "long "
    if found == 1:
        text = "1: no clusters were found"
        if count > 1:
            text += f"; the {count} {kind}components of the density have no valley between them"
        text += "."
    elif found == rows.different < count:
        text = f"{found}: there are no more different rows."
    elif found < count:
        text = (
            f"{found}: {count} {kind}components describe the density best, and {found} groups of "
            "them are parted by valleys; clusters are bent or uneven."
        )
    else:
        text = f"{found}: as many {kind}components describe the density best"
        text += f" (BIC{_gains(path, count)}), and there is a valley between any two."
    if np.isfinite(components.shape) and count:
        text += f" Clusters have heavy tails (Student-t, {components.shape:g} degrees)."
    if components.power > 1 and count:
        text += " Clusters have light tails, as uniform ones."
    if rows.cost:
        text += " Columns are correlated within clusters: rows were whitened."
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
    """Criteria that prefer another number; only those that can prefer 1 speak against it."""
    names = [name for name in NAMES if name in preferred and (chosen > 1 or name in FROM_ONE)]
    others = [f"{NAMES[name]} {preferred[name]}" for name in names if preferred[name] != chosen]
    if not others:
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
        others.setdefault(count, "components of the density; some have no valley between.")
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
