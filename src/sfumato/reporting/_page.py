"""The page: one HTML file that asks for nothing, with a policy that forbids it to."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from sfumato.plotting import ConvergenceDisplay, OutlierScoreDisplay, SelectionDisplay
from sfumato.plotting._map import Projection, frame_of
from sfumato.reporting import _cards
from sfumato.reporting import _svg as svg
from sfumato.reporting import _words as words
from sfumato.reporting._facts import Facts

LIBRARIES = ("sfumato", "scikit-learn", "numpy", "scipy")
"""Libraries whose versions the page shows: results depend on them."""
LABELED = 60
"""Clusters up to which their numbers are written on the map."""
HOVERED = 4
"""Memberships that are shown of a point of the map."""


def page(facts: Facts, title: str, command: str | None) -> str:
    """The page as HTML."""
    style, script = (_resource(name) for name in ("style.css", "script.js"))
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    sizes = facts.sizes
    clusters = facts.description
    names = facts.cluster_names
    return environment.from_string(_resource("page.html")).render(
        title=words.clean(title, 120),
        policy=policy(style, script),
        style=Markup(style),
        script=Markup(script),
        answer=words.answer(clusters.n_rows, clusters.n_outliers, facts.tally.n_sure, sizes, names),
        n_clusters=len(sizes),
        n_rows=words.count(clusters.n_rows, "row"),
        n_features=facts.extent,
        selection=_selection(facts.model),
        map=_map(facts),
        cards=_cards.cards(facts),
        between=_cards.between(facts),
        outliers=_cards.outliers(facts),
        scores=_scores(facts),
        memberships=_memberships(facts),
        convergence=_convergence(facts.model),
        columns=_columns(facts.preparer),
        repeat=_repeat(facts, command),
        show_rows=facts.show_rows,
        images=facts.image_shape is not None,
        count=words.count,
        percent=words.percent,
        number=words.number,
    )


def policy(style: str, script: str) -> str:
    """Content security policy: the style and the script of the page, images in it, and no more."""
    return (
        "default-src 'none'; img-src data:; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _resource(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _selection(model: Any) -> dict[str, Any]:
    """Why this number of clusters."""
    chosen = getattr(model, "selection_", None)
    if chosen is None:
        return {"reason": "", "curve": "", "others": [], "criterion": ""}
    scaled = SelectionDisplay(chosen.candidates, chosen.scores, chosen.n_clusters).scaled()
    curve: Any = ""
    name = "bic" if "bic" in scaled else next(iter(scaled), "")
    if name and len(chosen.candidates) > 1:
        texts = [
            f"{words.count(k, 'cluster')}: {words.number(v)}"
            for k, v in zip(chosen.candidates, chosen.scores[name], strict=True)
        ]
        place = (
            chosen.candidates.index(chosen.n_clusters)
            if (chosen.n_clusters in chosen.candidates)
            else None
        )
        label = f"criterion by number of clusters; {chosen.n_clusters} was chosen"
        curve = svg.curve(chosen.candidates, scaled[name], texts, place, label)
    return {
        "reason": chosen.reason,
        "curve": curve,
        "criterion": {"bic": "BIC"}.get(name, name.replace("_", " ")),
        "low": min(chosen.candidates),
        "high": max(chosen.candidates),
        "others": [{"k": a.n_clusters, "reason": a.reason} for a in chosen.alternatives],
    }


def _map(facts: Facts) -> dict[str, Any]:
    """Drawing of the sample, and what is said of each of its points."""
    sample = facts.sample
    inside = np.flatnonzero(~sample.outliers)
    project = Projection(sample.rows[inside] if len(inside) else sample.rows)
    points = project(sample.rows)
    frame = frame_of(points, sample.outliers)
    placed = svg.map_points(points, *frame)
    drawing, order = svg.cluster_map(placed, sample.memberships, sample.labels, sample.outliers)
    centers = svg.map_points(project(facts.model.cluster_centers_.astype(np.float64)), *frame)
    n_clusters = len(centers)
    filled = facts.sizes > 0
    labels = svg.map_labels(centers) if n_clusters <= LABELED else Markup("")
    return {
        "drawing": drawing,
        "labels": labels,
        "box": f"0 0 {svg.MAP_WIDTH} {svg.MAP_HEIGHT}",
        "points": _json([_point(facts, int(i)) for i in order]),
        "n_points": len(order),
        "explained": project.explained,
        "legend": [
            {"k": k, "chip": svg.chip(color), "name": facts.cluster_names[k]}
            for k, color in enumerate(svg.colors_of(n_clusters))
            if filled[k]
        ],
        "n_outliers": int(sample.outliers.sum()),
    }


def _point(facts: Facts, i: int) -> list[Any]:
    """Row, score, and memberships in percent of a point, each with its cluster."""
    sample = facts.sample
    entries = slice(sample.memberships.indptr[i], sample.memberships.indptr[i + 1])
    clusters, shares = sample.memberships.indices[entries], sample.memberships.data[entries]
    top = np.argsort(-shares, kind="stable")[:HOVERED]
    number = int(sample.numbers[i])
    called = facts.row_name(number, None if sample.ids is None else sample.ids[i])
    line: list[Any] = [
        number if called == f"row {number}" else called,
        float(f"{sample.scores[i]:.2g}"),
    ]
    for j in top:
        whole = round(100 * float(shares[j]))
        if whole:
            line += [int(clusters[j]), whole]
    return line


def _json(value: Any) -> Markup:
    """JSON that ends no element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _scores(facts: Facts) -> Any:
    """Histogram of the outlier scores of the sample."""
    display = OutlierScoreDisplay(facts.sample.scores)
    counts, edges = display.histogram()
    marked = int(np.searchsorted(edges, display.threshold * (1 - 1e-9)))
    return {
        "drawing": svg.histogram(counts, marked, "rows of the sample by outlier score"),
        "low": words.number(edges[0]),
        "high": words.number(edges[-1]),
    }


def _memberships(facts: Facts) -> dict[str, Any]:
    """How clear memberships are."""
    inside = facts.description.n_rows - facts.description.n_outliers
    return {
        "drawing": svg.histogram(facts.tally.histogram, None, "rows by largest membership"),
        "sure": words.percent(facts.tally.n_sure / inside) if inside else words.NOTHING,
        "inside": words.count(inside, "row"),
        "n_active": getattr(facts.model, "n_active_", None),
        "fuzzifier": getattr(facts.model, "fuzzifier_", float("nan")),
    }


def _convergence(model: Any) -> dict[str, Any]:
    """Curve of the objective, and the outcome with its warnings."""
    history = getattr(model, "history_", ())
    display = ConvergenceDisplay({"objective": [record.objective for record in history]})
    iterations, excess = display.excess("objective")
    texts = [f"iteration {int(i)}: {e:.2g}" for i, e in zip(iterations, excess, strict=True)]
    drawing: Any = ""
    if len(excess) > 1:
        label = "objective above its final value, by iteration, on a logarithmic scale"
        drawing = svg.curve(iterations, np.log10(excess), texts, None, label)
    outcome = model.outcome_
    return {
        "drawing": drawing,
        "n_iter": words.count(len(history) - 1, "iteration") if len(history) > 1 else "",
        "low": f"{excess.min():.1g}" if len(excess) else "",
        "high": f"{excess.max():.1g}" if len(excess) else "",
        "reason": "" if outcome is None else str(outcome.reason).replace("`", ""),
        "stability": None if outcome is None else outcome.stability,
        "warnings": [] if outcome is None else [str(w.message) for w in outcome.warnings],
    }


def _columns(preparer: Any) -> list[dict[str, str]]:
    """What was done with each column of a table."""
    if preparer is None:
        return []
    return [
        {
            "column": words.clean(each.column, words.LONGEST_NAME),
            "kind": each.kind,
            "action": words.clean(each.action),
            "reason": words.clean(each.reason),
            "missing": words.percent(each.missing) if each.missing else "",
        }
        for each in preparer.decisions_
    ]


def _repeat(facts: Facts, command: str | None) -> dict[str, Any]:
    """How to compute this again."""
    model = facts.model
    seed = getattr(model, "random_state", None)
    versions = {"Python": platform.python_version()} | {n: version(n) for n in LIBRARIES}
    code = f"{model!r}.fit(X)" if command is None else command
    return {
        "code": code,
        "is_command": command is not None,
        "versions": versions,
        "seed": "none was given, so that results may differ" if seed is None else repr(seed),
        "checksum": f"{facts.tally.checksum:016x}",
    }
