"""Fail on imports that go upwards, and on private names of other libraries.

Run as ``python tools/check_imports.py`` from the root of the repository.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "sfumato"

TABLE = tomllib.loads((ROOT / "tools" / "layers.toml").read_text(encoding="utf-8"))
LAYERS: dict[str, int] = {
    room: number for number, rooms in enumerate(TABLE["layers"]) for room in rooms
}
"""Layer of each room, counted from the lowest. A room is a folder or a module of the package."""
OPTIONAL: dict[str, set[str]] = {room: set(names) for room, names in TABLE["optional"].items()}
"""Libraries of the extras that each room may import."""
EXTRAS = set().union(*OPTIONAL.values())
PUBLIC_ONLY = ("paper",)
"""Rooms that use the library as its users do, by public names alone."""


class Import(NamedTuple):
    """An imported name: ``from module import name``; no name for ``import module``."""

    line: int
    module: str
    name: str


def imports(tree: ast.AST) -> Iterator[Import]:
    """Every import of a file, also those within functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (Import(node.lineno, module, alias.name) for alias in node.names)


def is_private(name: str) -> bool:
    """Whether a part of a dotted name has a leading underscore, and is not a magic name."""
    return any(p.startswith("_") and not p.endswith("__") for p in name.split("."))


DOCUMENTED = {"os._exit"}
"""Names with an underscore that are public all the same."""


def private_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Private names of other libraries: imported, or reached through an imported module."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {(a.asname or a.name.split(".")[0]): a.name for a in node.names}
    for found in imports(tree):
        full = f"{found.module}.{found.name}".strip(".")
        if found.module.split(".")[0] not in (PACKAGE, "__future__") and is_private(full):
            yield found.line, full
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root: ast.expr = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            theirs = isinstance(root, ast.Name) and aliases.get(root.id, PACKAGE) != PACKAGE
            if theirs and ast.unparse(node) not in DOCUMENTED:
                yield node.lineno, ast.unparse(node)


def room_of(module: str) -> str:
    """Room of a module of the package: its first part; empty for the package itself."""
    return module.split(".")[0]


def target(found: Import) -> str | None:
    """Module of the package that an import reaches, without the package's name; None if none."""
    if found.module.startswith("."):
        return found.module  # Relative imports reach no room.
    if found.module.split(".")[0] != PACKAGE:
        return None
    inner = found.module.removeprefix(PACKAGE).removeprefix(".")
    return found.name if not inner and found.name in LAYERS else inner


def check_layers(module: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Imports of a module of the package that go upwards, or to what its room may not use."""
    room = room_of(module)
    if room not in LAYERS:
        yield 1, f"{room!r} has no layer in tools/layers.toml; add it to one"
        return
    for found in imports(tree):
        inner = target(found)
        if inner is not None and LAYERS.get(room_of(inner), len(LAYERS)) > LAYERS[room]:
            yield found.line, f"{module or PACKAGE!r} must not import {inner or PACKAGE!r}"
        elif inner is not None and room in PUBLIC_ONLY and is_private(f"{inner}.{found.name}"):
            yield found.line, f"{module!r} must not import the private {inner}.{found.name}"
        library = found.module.split(".")[0]
        if library in EXTRAS - OPTIONAL.get(room, set()):
            yield found.line, f"{module or PACKAGE!r} must not import {library!r}"


def find_circle(edges: dict[str, set[str]]) -> list[str]:
    """Rooms, or modules, that import each other in a circle; empty if there are none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return [name or PACKAGE for name in error.args[1]]
    return []


def check_circles(package: Path) -> Iterator[str]:
    """Circles among the rooms of a package, and among its modules."""
    files = {module_name(file, package): file for file in package.rglob("*.py")}
    modules: dict[str, set[str]] = {name: set() for name in files}
    for name, file in files.items():
        for found in imports(ast.parse(file.read_text(encoding="utf-8"))):
            inner = target(found)
            if inner is not None:
                leaf = f"{inner}.{found.name}".strip(".")
                modules[name].add(leaf if leaf in files else inner)
    for inside in modules:
        modules[inside].discard(inside)
    rooms: dict[str, set[str]] = {}
    for name, below in modules.items():
        rooms.setdefault(room_of(name), set()).update(
            room_of(other) for other in below if room_of(other) != room_of(name)
        )
    for edges in (rooms, modules):
        circle = find_circle(edges)
        if circle:
            yield f"{package.name}: a circle of imports: {' > '.join(circle)}"


def module_name(file: Path, package: Path) -> str:
    """Dotted name of a file within the package; empty for the package itself."""
    parts = list(file.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def check(root: Path) -> list[str]:
    """Every violation in the repository at ``root``, as ``file:line: what``."""
    package = root / "src" / PACKAGE
    folders = ["src", "tests", "benchmarks", "tools", "examples"]
    complaints = []
    for file in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found = [(line, f"private name {name}") for line, name in private_names(tree)]
        if package in file.parents:
            found += check_layers(module_name(file, package), tree)
        complaints += [f"{file.relative_to(root)}:{line}: {what}" for line, what in found]
    return complaints + list(check_circles(package))


if __name__ == "__main__":
    violations = check(ROOT)
    print("\n".join(violations) or "Imports go downwards, to public names only.")
    sys.exit(bool(violations))
