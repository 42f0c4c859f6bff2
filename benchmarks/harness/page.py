"""``docs/benchmarks.md``, made from the newest report of each benchmark."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from benchmarks.harness.report import Report, load, path_of

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PICTURE = "benchmarks.md", "images/benchmarks.png"
EARLIER = "Measured before the sections above, with earlier code; not in the picture."
"""Remark on a section that was not renewed."""
BEGIN = """# Benchmarks

Written by `make bench`, which runs `python -m benchmarks`; do not edit by hand. What is compared
was measured in turn, in one run, and what counts is the ratio: times on their own mean little on a
shared machine. `python -m benchmarks --quick` is a short form for daily use, and
`python -m benchmarks NAME --write` measures one benchmark again and renews this page.
"""
SOURCES = """## Data sets

- **yale**: P. N. Belhumeur, J. P. Hespanha, D. J. Kriegman, "Eigenfaces vs. Fisherfaces:
  recognition using class specific linear projection", IEEE TPAMI 19(7), 1997.
- **orl**: F. S. Samaria, A. C. Harter, "Parameterisation of a stochastic model for human face
  identification", IEEE Workshop on Applications of Computer Vision, 1994.
- **yaleb**: A. S. Georghiades, P. N. Belhumeur, D. J. Kriegman, "From few to many: illumination
  cone models for face recognition under variable lighting and pose", IEEE TPAMI 23(6), 2001;
  K. C. Lee, J. Ho, D. J. Kriegman, "Acquiring linear subspaces for face recognition under variable
  lighting", IEEE TPAMI 27(5), 2005.
- **yale, orl, yaleb** as 32 x 32 pictures: D. Cai, X. He, Y. Hu, J. Han, T. Huang, "Learning a
  spatially smooth subspace for face recognition", CVPR 2007.
- **coil20, coil100**: S. A. Nene, S. K. Nayar, H. Murase, "Columbia Object Image Library",
  Technical Reports CUCS-005-96 and CUCS-006-96, Columbia University, 1996.
- **usps**: J. J. Hull, "A database for handwritten text recognition research", IEEE TPAMI 16(5),
  1994.
"""


def newest(names: tuple[str, ...], with_quick: bool) -> list[Report]:
    """Last report of each benchmark that has one."""
    reports = []
    for name in names:
        paths = [path_of(name, quick) for quick in ([False, True] if with_quick else [False])]
        found = [path for path in paths if path.exists()]
        if found:
            reports.append(load(max(found, key=lambda path: path.stat().st_mtime)))
    return reports


def write_page(reports: list[Report]) -> None:
    """Write the page and its picture."""
    parts = [BEGIN]
    if importlib.util.find_spec("matplotlib") is None:
        print("No picture without matplotlib: pip install matplotlib", file=sys.stderr)
    else:
        from benchmarks.harness.plot import draw

        draw(reports, DOCS / PICTURE)
        parts.append(f"![Ratios against their limits, and growth]({PICTURE})\n")
    parts += [*settings(reports), *map(section, reports)]
    parts += earlier(DOCS / PAGE, [report.title for report in reports])
    parts.append(SOURCES)
    (DOCS / PAGE).write_text("\n".join(parts), encoding="utf-8")


def earlier(page: Path, titles: list[str]) -> list[str]:
    """Sections of the present page of which this machine has no report, as they are."""
    if not page.exists():
        return []
    renewed = {"Machine and versions", "Data sets", *titles}
    found = []
    for text in page.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, rest = text.partition("\n")
        if title.removesuffix(" (quick form)") not in renewed:
            told = rest if EARLIER in rest else f"\n{EARLIER}\n{rest}"
            found.append(f"## {title}\n{told.rstrip()}\n")
    return found


def settings(reports: list[Report]) -> list[str]:
    """Machine and versions: once, or as often as they differ."""
    found: list[tuple[dict[str, str], list[str]]] = []
    for report in reports:
        for setting, names in found:
            if setting == report.setting:
                names.append(report.name)
                break
        else:
            found.append((report.setting, [report.name]))
    parts = ["## Machine and versions\n"]
    for setting, names in found:
        if len(found) > 1:
            parts.append(f"Where {', '.join(names)} was measured:\n")
        rows = "\n".join(f"| {name} | {value} |" for name, value in setting.items())
        parts.append(f"| what | which |\n| --- | --- |\n{rows}\n")
    return parts


def section(report: Report) -> str:
    title = f"## {report.title}" + (" (quick form)" if report.quick else "")
    tables = [str(table) for table in report.tables]
    return "\n\n".join(filter(None, [title, report.how, *tables, report.verdicts()])) + "\n"
