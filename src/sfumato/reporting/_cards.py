"""The parts of the page that list things: cards of clusters, rows between them, outliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._typing import Floats
from sfumato.reporting import _svg as svg
from sfumato.reporting import _words as words
from sfumato.reporting._facts import Facts, Trait, outlier_reasons
from sfumato.reporting._tally import Picked

MOST_TRAITS, LEAST_TRAITS, ALL_TRAITS = 6, 3, 450
"""Features of a card, at most and at least, and of all cards together: a page of 100 clusters stays
below 500 kB."""
NEIGHBORS = 3
"""Neighbors of a card, at most."""
LEAST_OVERLAP = 0.005
"""Mean membership of the rows of a cluster in a neighbor, from which on it is named."""
BINS = 16
"""Bars of a small histogram."""
FEW_VALUES = 12
"""Different values up to which each has a bar of its own."""
FEWEST_ROWS = 5
"""Rows of a cluster in the sample from which on there are histograms; those of fewer rows would
show values of single rows."""


def cards(facts: Facts) -> list[dict[str, Any]]:
    """A card for each cluster."""
    n_clusters = len(facts.sizes)
    most = int(np.clip(ALL_TRAITS // n_clusters, LEAST_TRAITS, MOST_TRAITS))
    if facts.image_shape is not None:
        most = 0
    colors = svg.colors_of(n_clusters)
    bins = Bins(facts)
    frame = facts.description.clusters
    found = []
    for k in range(n_clusters):
        share = float(frame["share"][k])
        found.append(
            {
                "k": k,
                "name": facts.cluster_names[k],
                "size": facts.sizes[k],
                "share": words.percent(share),
                "bar": svg.share_bar(share, colors[k]),
                "chip": svg.chip(colors[k]),
                "shared": _finite(frame["shared"][k]),
                "radius": _finite(frame["radius"][k]),
                "traits": [_trait(facts, bins, k, t, colors[k]) for t in facts.ranked[k][:most]],
                "neighbors": neighbors(facts.description.overlap, k),
                "typical": _typical(facts, k),
                "image": _center_image(facts, k),
            }
        )
    return found


def _finite(value: Any) -> float:
    return float(value) if np.isfinite(value) else 0.0


def neighbors(overlap: Any, k: int) -> list[dict[str, Any]]:
    """Clusters that share most with a cluster, with the mean membership of its rows there."""
    entries = slice(overlap.indptr[k], overlap.indptr[k + 1])
    clusters, shares = overlap.indices[entries], overlap.data[entries]
    kept = (clusters != k) & (shares >= LEAST_OVERLAP)
    clusters, shares = clusters[kept], shares[kept]
    # Rounded, so that the order in which chunks were added changes none of equal shares.
    order = np.lexsort((clusters, -np.round(shares, 9)))[:NEIGHBORS]
    return [{"k": int(clusters[i]), "share": words.percent(float(shares[i]))} for i in order]


class Bins:
    """Histograms of single features over the sample, computed when they are needed."""

    def __init__(self, facts: Facts) -> None:
        sample = facts.sample
        inside = np.flatnonzero(~sample.outliers)
        self.labels: NDArray[Any] = sample.labels[inside]
        self.rows = sample.rows[inside]
        self.sizes = np.bincount(self.labels, minlength=len(facts.sizes))
        self.counts: dict[int, Floats] = {}

    def of(self, column: int) -> Floats:
        """Rows of each cluster in each bin of a feature."""
        if column not in self.counts:
            picked = self.rows[:, [column]]
            values = picked.toarray() if hasattr(picked, "toarray") else picked
            places, n_bins = _places(np.asarray(values, dtype=np.float64).ravel())
            flat = np.bincount(self.labels * n_bins + places, minlength=len(self.sizes) * n_bins)
            self.counts[column] = flat.reshape(len(self.sizes), n_bins).astype(np.float64)
        return self.counts[column]


def _places(values: Floats) -> tuple[NDArray[np.intp], int]:
    """Bin of each value: one for each of a few values, otherwise of equal width; ends are open."""
    distinct = np.unique(values)
    if len(distinct) <= FEW_VALUES:
        return np.searchsorted(distinct, values), max(1, len(distinct))
    low, high = np.quantile(values, [0.01, 0.99])
    if not high > low:
        low, high = distinct[0], distinct[-1]
    share = (values - low) / (high - low)
    return np.clip((BINS * share).astype(np.intp), 0, BINS - 1), BINS


def _trait(facts: Facts, bins: Bins, k: int, trait: Trait, color: str) -> dict[str, Any]:
    drawing: Any = ""
    if bins.sizes[k] >= FEWEST_ROWS or facts.show_rows:
        counts = bins.of(trait.column)
        rest = counts.sum(axis=0) - counts[k]
        drawing = svg.small_histogram(counts[k], rest, color)
    category = facts.categories[trait.column]
    return {
        "name": facts.names[trait.column],
        "category": category,
        "drawing": drawing,
        "mean": facts.value(trait.column, trait.mean),
        "rest": facts.value(trait.column, trait.rest),
        "difference": words.signed(trait.difference),
    }


def _typical(facts: Facts, k: int) -> list[dict[str, Any]]:
    """Rows nearest to the center of a cluster."""
    picked = facts.tally.typical
    names = facts.names_of(picked)
    found = []
    for i in np.flatnonzero(picked.groups == k):
        line: dict[str, Any] = {"name": names[i], "values": [], "image": ""}
        if facts.show_rows and facts.image_shape is not None:
            line["image"] = _image(facts, picked.rows[i])
        elif facts.show_rows:
            line["values"] = _values(facts, picked.rows[i], [t.column for t in facts.ranked[k][:3]])
        found.append(line)
    return found


def _values(facts: Facts, row: Floats, columns: list[int]) -> list[dict[str, str]]:
    values = facts.in_units(row[None])[0]
    return [{"name": facts.feature(j), "value": facts.value(j, values[j])} for j in columns]


def _center_image(facts: Facts, k: int) -> str:
    return "" if facts.image_shape is None else _image(facts, facts.model.cluster_centers_[k])


def _image(facts: Facts, values: Floats) -> str:
    centers = facts.model.cluster_centers_
    return svg.picture(facts.image(values), float(centers.min()), float(centers.max()))


def between(facts: Facts) -> list[dict[str, Any]]:
    """Rows whose two largest memberships differ least."""
    picked = facts.tally.between
    names = facts.names_of(picked)
    found = []
    for i in range(len(names)):
        shares = _shares(picked, i)[:4]
        line = {"name": names[i], "shares": shares, "values": [], "image": ""}
        if facts.show_rows and facts.image_shape is not None:
            line["image"] = _image(facts, picked.rows[i])
        elif facts.show_rows:
            columns = [t.column for t in facts.ranked[shares[0]["k"]][:3]]
            line["values"] = _values(facts, picked.rows[i], columns)
        found.append(line)
    return found


def _shares(picked: Picked, i: int) -> list[dict[str, Any]]:
    """Memberships of a row, the largest first."""
    entries = slice(picked.memberships.indptr[i], picked.memberships.indptr[i + 1])
    clusters, shares = picked.memberships.indices[entries], picked.memberships.data[entries]
    order = np.argsort(-shares, kind="stable")
    return [
        {"k": int(clusters[j]), "share": words.percent(float(shares[j]))}
        for j in order
        if shares[j] > 0
    ]


def outliers(facts: Facts) -> list[dict[str, Any]]:
    """Outliers of the largest scores, with the features that made them so."""
    picked = facts.tally.outlying
    names = facts.names_of(picked)
    found = []
    for i in range(len(names)):
        cluster = int(picked.labels[i])
        reasons = []
        if facts.image_shape is None:
            why = outlier_reasons(facts.model, picked.rows[i], cluster, picked.scores[i])
            reasons = [_reason(facts, each) for each in why]
        shown = facts.show_rows and facts.image_shape is not None
        found.append(
            {
                "name": names[i],
                "score": words.score(picked.scores[i]),
                "cluster": cluster,
                "reasons": reasons,
                "image": _image(facts, picked.rows[i]) if shown else "",
            }
        )
    return found


def _in_units(facts: Facts, column: int, value: float) -> float:
    """A value of a feature in its units."""
    row = np.zeros((1, len(facts.names)))
    row[0, column] = value
    return float(facts.in_units(row)[0, column])


def _reason(facts: Facts, reason: Any) -> dict[str, Any]:
    """A reason in words; values only if rows may be shown."""
    value, center = (_in_units(facts, reason.column, v) for v in (reason.value, reason.center))
    return {
        "name": facts.names[reason.column],
        "category": facts.categories[reason.column],
        "direction": "above" if reason.value > reason.center else "below",
        "value": facts.value(reason.column, value) if facts.show_rows else "",
        "center": facts.value(reason.column, center),
    }
