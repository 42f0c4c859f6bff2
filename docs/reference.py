"""Pages of the reference: one per public module, with every public name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import sfumato


class Section(NamedTuple):
    """A page of the reference."""

    name: str
    """File name, without extension."""
    title: str
    text: str
    names: tuple[str, ...]
    """Full names of what it documents."""


TITLES = {
    "estimators": "Estimators",
    "losses": "Losses",
    "memberships": "Membership rules",
    "selection": "Number of clusters",
    "streams": "Streams",
    "metrics": "Metrics",
    "datasets": "Data sets",
    "plotting": "Plots",
    "reporting": "Reports",
    "exceptions": "Errors and warnings",
    "files": "Files",
}
"""Titles and order of the pages of modules; other modules follow, under their own names."""


def public_modules() -> list[str]:
    """Names of the public modules, without the package."""
    found = [name for name in dir(sfumato) if isinstance(getattr(sfumato, name), ModuleType)]
    public = {name for name in found if not name.startswith("_")}
    return [*TITLES, *sorted(public - set(TITLES))]


def public_names(module: ModuleType) -> list[str]:
    """Classes, functions and constants that a module offers."""
    listed = getattr(module, "__all__", None)
    return sorted(listed if listed is not None else _defined(module), key=str.lower)


def _defined(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__:
            yield name


def sections() -> list[Section]:
    """All pages. A name stands on the page of its module, or on the last one."""
    pages, seen = [], set()
    for name in public_modules():
        module = import_module(f"sfumato.{name}")
        names = public_names(module)
        full = tuple(
            f"sfumato.{n}" if n in sfumato.__all__ else f"sfumato.{name}.{n}"
            for n in names
            if n not in seen
        )
        seen |= set(names) & set(sfumato.__all__)
        text = inspect.cleandoc(module.__doc__ or "").split("\n\n")[0]
        pages.append(Section(name, TITLES.get(name, name), text, full))
    rest = tuple(f"sfumato.{name}" for name in sfumato.__all__ if name not in seen)
    text = "Saving and loading fitted models, records of a fit, and parts to write your own."
    pages.insert(1, Section("models", "Models and records", text, rest))
    return pages


PAGE = """\
{title}
{line}

{text}

.. autosummary::
   :toctree: generated
   :nosignatures:

{names}
"""


FOLDERS = {
    "guide": (
        "User guide",
        "One page for each question.",
        [
            "which-estimator",
            "number-of-clusters",
            "outliers",
            "larger-than-memory",
            "reproducible",
            "production",
            "from-kmeans",
            "from-hdbscan",
            "from-scikit-fuzzy",
            "bertopic",
        ],
    ),
    "project": (
        "Project",
        "What has changed, how to cite, and how to work on it.",
        ["changelog", "cite", "contributing", "architecture"],
    ),
}
"""Title, text and first pages of the folders; other pages follow in alphabetical order."""
TOP_PAGES = {
    "CHANGELOG": "changelog",
    "CONTRIBUTING": "contributing",
    "ARCHITECTURE": "architecture",
}
"""Pages at the top of the repository, and their names on the site."""
INDEX = """\
{title}
{line}

{text}

.. toctree::
   :maxdepth: {depth}

{pages}
"""


def write(source: Path) -> None:
    """Write the reference, and lists of the pages in each folder."""
    for section in sections():
        names = "\n".join(f"   ~{name}" for name in section.names)
        line = "=" * len(section.title)
        text = PAGE.format(title=section.title, line=line, text=section.text, names=names)
        _replace(source / "api" / f"{section.name}.rst", text)
    text = "Every public name, by module."
    _index(source / "api", "API", text, [section.name for section in sections()], depth=2)
    for name, page in TOP_PAGES.items():
        _replace(source / "project" / f"{page}.md", _moved(source.parent / f"{name}.md"))
    for folder, (title, text, first) in FOLDERS.items():
        found = sorted(path.stem for path in (source / folder).glob("*.md"))
        _index(source / folder, title, text, [*first, *sorted(set(found) - set(first))])
    text = "How it works, what was measured, and where it misses its goals."
    pages = [f"../{path.stem}" for path in sorted(source.glob("*.md")) if path.stem != "index"]
    _index(source / "background", "Background", text, pages)


def _moved(path: Path) -> str:
    """Text of a page at the top of the repository, with links from the folder of the project."""
    text = re.sub(r"\]\(docs/", "](../", path.read_text(encoding="utf-8"))
    text = text.replace("](examples/", "](../../examples/")
    for name, page in TOP_PAGES.items():
        text = text.replace(f"]({name}.md", f"]({page}.md")
    return text


def _index(folder: Path, title: str, text: str, pages: list[str], depth: int = 1) -> None:
    listed = "\n".join(f"   {page}" for page in pages)
    line = "=" * len(title)
    text = INDEX.format(title=title, line=line, text=text, depth=depth, pages=listed)
    _replace(folder / "index.rst", text)


def _replace(path: Path, text: str) -> None:
    """Write a file if its text has changed, so that only changed pages are made anew."""
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
