"""Small drawings as inline SVG: compact, the same for the same numbers, and without any style.

Colors and fonts come from the style sheet of the page, but for the colors of clusters.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sfumato._typing import Floats
from sfumato.plotting import cluster_colors, mixed

MAP_WIDTH, MAP_HEIGHT = 800, 560
"""Units of the map."""
SHADES = 4
"""Steps between the color of a cluster and that of its neighbor."""
SMALL_WIDTH, SMALL_HEIGHT = 96, 26
"""Units of a small histogram."""
CURVE_WIDTH, CURVE_HEIGHT = 480, 150
"""Units of a curve or a large histogram."""


def small_histogram(cluster: Floats, rest: Floats, color: str) -> Markup:
    """Two histograms over each other, each relative to its largest bar."""
    shapes = [_steps(values, SMALL_WIDTH, SMALL_HEIGHT) for values in (rest, cluster)]
    return Markup(
        '<svg class="hist" viewBox="0 0 {} {}" aria-hidden="true"><path class="rest" d="{}"/>'
        '<path d="{}" fill="{}"/></svg>'
    ).format(SMALL_WIDTH, SMALL_HEIGHT, *shapes, color)


def _steps(values: Floats, width: int, height: int) -> str:
    """Outline of bars, closed at the bottom."""
    top = values.max(initial=0.0)
    heights = np.zeros(len(values)) if top <= 0 else values / top * (height - 1)
    # A bar that is not empty is seen.
    heights = np.where((values > 0) & (heights < 1), 1, heights)
    tops = np.round(height - heights).astype(int)
    edges = np.round(np.linspace(0, width, len(values) + 1)).astype(int)
    parts, level = [f"M0 {height}"], height
    for y, right in zip(tops, edges[1:], strict=True):
        parts.append(f"H{right}" if y == level else f"V{y}H{right}")
        level = y
    merged = "".join(parts)
    return f"{merged}V{height}z"


def histogram(counts: NDArray[Any], marked: int | None = None, label: str = "") -> Markup:
    """Bars; those from ``marked`` on are of another color, with a line before them."""
    top = max(1.0, float(counts.max(initial=0)))
    width = CURVE_WIDTH / len(counts)
    bars = []
    for i, count in enumerate(counts):
        tall = 0.0 if not count else max(1.5, float(count) / top * (CURVE_HEIGHT - 4))
        name = "" if marked is None or i < marked else ' class="far"'
        bars.append(
            f'<rect{name} x="{i * width + 0.5:.1f}" y="{CURVE_HEIGHT - tall:.1f}" '
            f'width="{width - 1:.1f}" height="{tall:.1f}"><title>{int(count)} rows</title></rect>'
        )
    if marked is not None:
        x = marked * width
        bars.append(f'<path class="line" d="M{x:.1f} 0V{CURVE_HEIGHT}"/>')
    return _figure("bars", "".join(bars), label)


def curve(
    x: Sequence[float] | Floats,
    y: Floats,
    texts: Sequence[str],
    chosen: int | None,
    label: str,
) -> Markup:
    """Curve with a dot at each point, of which one may be chosen."""
    across, down = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = np.isfinite(down)
    if not known.any():
        return Markup("")
    low, high = down[known].min(), down[known].max()
    left = 10 + (CURVE_WIDTH - 20) * (across - across.min()) / (np.ptp(across) or 1)
    top = CURVE_HEIGHT - 12 - (CURVE_HEIGHT - 24) * (down - low) / ((high - low) or 1)
    line = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(left[known], top[known], strict=True))
    dots = "".join(
        Markup('<circle{} cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>').format(
            Markup(' class="chosen"') if i == chosen else "",
            left[i],
            top[i],
            7 if i == chosen else 3.5,
            texts[i],
        )
        for i in np.flatnonzero(known).tolist()
    )
    return _figure("curve", f'<path d="{line}"/>{dots}', label)


def _figure(kind: str, content: str, label: str) -> Markup:
    return Markup('<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        kind, CURVE_WIDTH, CURVE_HEIGHT, label, Markup(content)
    )


def map_points(points: Floats, low: Floats, high: Floats) -> NDArray[np.int64]:
    """Points on the map, as whole units; those beyond its frame lie on its border."""
    share = (points - low) / np.where(high > low, high - low, 1.0)
    share = np.clip(np.where(np.isfinite(share), share, 0.5), 0.0, 1.0)
    inner = np.array([MAP_WIDTH - 16, MAP_HEIGHT - 16])
    across = 8 + share * inner
    across[:, 1] = MAP_HEIGHT - across[:, 1]
    return np.round(across).astype(np.int64)


def cluster_map(
    points: NDArray[np.int64], memberships: Any, labels: NDArray[Any], outliers: NDArray[np.bool_]
) -> tuple[Markup, NDArray[np.intp]]:
    """Points in the colors of their memberships, and the order in which they are drawn.

    Points of one color are one path. Colors between two clusters have a few steps.
    """
    kinds = color_kinds(memberships, labels, outliers)
    order = np.lexsort((np.arange(len(kinds)), *kinds.T[::-1]))
    ordered = kinds[order]
    starts = np.flatnonzero(np.any(np.diff(ordered, axis=0, prepend=-9), axis=1))
    ends = [*starts[1:], len(order)]
    groups: dict[int, list[str]] = {}
    for begin, end in zip(starts, ends, strict=True):
        first, second, step = (int(v) for v in ordered[begin])
        drawn = "".join(f"M{x} {y}h0" for x, y in points[order[begin:end]])
        paint = (
            "" if first < 0 else f' stroke="{_shade(first, second, step, memberships.shape[1])}"'
        )
        groups.setdefault(first, []).append(f'<path{paint} d="{drawn}"/>')
        if first < 0:  # A smaller dot in the color of the ground makes a circle.
            groups[first].append(f'<path class="echo" d="{drawn}"/>')
    parts = []
    for first, paths in groups.items():
        name = "out" if first < 0 else "dots"
        parts.append(f'<g class="{name}" data-k="{first}">{"".join(paths)}</g>')
    return Markup("".join(parts)), order


def color_kinds(
    memberships: Any, labels: NDArray[Any], outliers: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Largest cluster of each row, the second one, and how far its color is towards that."""
    found = np.zeros((len(labels), 3), dtype=np.int64)
    for i in range(len(labels)):
        shares = memberships.data[memberships.indptr[i] : memberships.indptr[i + 1]]
        clusters = memberships.indices[memberships.indptr[i] : memberships.indptr[i + 1]]
        if outliers[i] or not len(shares):
            found[i] = -1, -1, 0
            continue
        order = np.argsort(-shares, kind="stable")[:2]
        first = clusters[order[0]]
        step = 0
        if len(order) > 1:
            both = shares[order].sum()
            step = round(SHADES * 2 * float(shares[order[1]] / both)) if both > 0 else 0
        found[i] = (first, clusters[order[1]], step) if step else (first, first, 0)
    return found


def _shade(first: int, second: int, step: int, n_clusters: int) -> str:
    """Color between those of two clusters; the last step is the middle."""
    share = step / SHADES / 2
    weights = np.zeros((1, n_clusters))
    weights[0, first] += 1 - share
    weights[0, second] += share
    return "#{:02x}{:02x}{:02x}".format(*np.round(255 * mixed(weights)[0]).astype(int))


def map_labels(centers: NDArray[np.int64]) -> Markup:
    """Numbers of the clusters at their centers."""
    return Markup("").join(
        Markup('<text x="{}" y="{}">{}</text>').format(x, y, k) for k, (x, y) in enumerate(centers)
    )


def chip(color: str) -> Markup:
    """A dot in the color of a cluster."""
    return Markup(
        '<svg class="chip" viewBox="0 0 10 10" aria-hidden="true">'
        '<circle cx="5" cy="5" r="5" fill="{}"/></svg>'
    ).format(color)


def share_bar(share: float, color: str) -> Markup:
    """A bar whose length is a share."""
    return Markup(
        '<svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="all" width="100" height="6"/><rect width="{:.1f}" height="6" fill="{}"/>'
        "</svg>"
    ).format(100 * min(1.0, max(0.0, share)), color)


def picture(values: Floats, low: float, high: float) -> str:
    """Image of shape (height, width) or (height, width, 3) as a data URL; larger gray is darker."""
    scaled = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)
    pixels = np.round(255 * (scaled if values.ndim == 3 else 1 - scaled)).astype(np.uint8)
    height, width = pixels.shape[:2]
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    kind = 2 if values.ndim == 3 else 0
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def colors_of(n_clusters: int) -> list[str]:
    """Colors of the clusters."""
    return cluster_colors(n_clusters)
