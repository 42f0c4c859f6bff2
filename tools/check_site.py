"""Check a built site: every internal link, every public name, and two clicks to every answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import sfumato

QUESTIONS = (
    "which-estimator",
    "number-of-clusters",
    "outliers",
    "larger-than-memory",
    "reproducible",
    "from-kmeans",
    "from-hdbscan",
    "from-scikit-fuzzy",
    "bertopic",
    "production",
)
"""Pages of the user guide that a newcomer must find."""
LEAST_EXAMPLES = 12


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag links to, and its names."""
        values = {key: value for key, value in attrs if value}
        self.anchors |= {values[key] for key in ("id", "name") if key in values}
        name = "href" if tag in ("a", "link") else "src"
        if name in values:
            self.links.append(values[name])


def broken_links(top: Path) -> Iterator[str]:
    """Internal links of all pages that lead nowhere."""
    found = (path for path in top.rglob("*.html") if "_static" not in path.parts)
    pages = {path.resolve(): Page(path) for path in found}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{path.relative_to(top.resolve())}: {link}"
            elif target in pages and unquote(parts.fragment) not in {"", *pages[target].anchors}:
                yield f"{path.relative_to(top.resolve())}: {link}, no such anchor"


def missing_names(top: Path) -> Iterator[str]:
    """Public names without an entry in the reference."""
    anchors: set[str] = set()
    for path in (top / "api").rglob("*.html"):
        anchors |= Page(path).anchors
    names = [f"sfumato.{name}" for name in sfumato.__all__]
    for module in sorted(path.stem for path in (top / "api").glob("*.html")):
        if module not in ("index", "models"):
            public = getattr(import_module(f"sfumato.{module}"), "__all__", ())
            names += [f"sfumato.{module}.{name}" for name in public if name not in sfumato.__all__]
    return (f"{name} is not documented" for name in names if name not in anchors)


def far_answers(top: Path) -> Iterator[str]:
    """Questions that are more than two clicks from the first page."""
    first = {link.split("#")[0] for link in Page(top / "index.html").links}
    second = set(first)
    for link in first:
        path = top / link
        if link.endswith(".html") and path.exists():
            near = {urlsplit(each).path for each in Page(path).links}
            second |= {str(Path(link).parent / each) for each in near}
    for question in QUESTIONS:
        if f"guide/{question}.html" not in second:
            yield f"guide/{question}.html is more than two clicks from the first page"


def poor_gallery(top: Path) -> Iterator[str]:
    """Examples without a picture, too few of them, or pages of programs that draw nothing."""
    examples = list((top / "gallery").glob("plot_*.html"))
    known = {"index.html", "sg_execution_times.html", *(path.name for path in examples)}
    for name in sorted({path.name for path in (top / "gallery").glob("*.html")} - known):
        yield f"gallery/{name} is no example with a picture"
    if len(examples) < LEAST_EXAMPLES:
        yield f"{len(examples)} examples, fewer than {LEAST_EXAMPLES}"
    for path in examples:
        if not any("sphx_glr_" in link for link in Page(path).links):
            yield f"{path.name} has no picture"


def main() -> None:
    """Print what is wrong with the site in a folder."""
    top = Path(sys.argv[1])
    checks = (broken_links, missing_names, far_answers, poor_gallery)
    faults = [fault for check in checks for fault in check(top)]
    print("\n".join(faults) or f"{len(list(top.rglob('*.html')))} pages, all links lead somewhere")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
