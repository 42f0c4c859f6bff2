"""Fail on imports that go upwards, and on private names of other libraries.

Run as ``python tools/check_imports.py`` from the root of the repository.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "sfumato"

LAYERS = tomllib.loads((ROOT / "tools" / "layers.toml").read_text(encoding="utf-8"))
ALLOWED: dict[str, set[str]] = {name: set(below) for name, below in LAYERS["allowed"].items()}
"""Which modules of the package each may import, from the lowest to the highest."""
OPTIONAL: dict[str, set[str]] = {name: set(by) for name, by in LAYERS["optional"].items()}
"""Libraries from the extras, and the modules that may import them."""


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
            if isinstance(root, ast.Name) and aliases.get(root.id, PACKAGE) != PACKAGE:
                yield node.lineno, ast.unparse(node)


def target(found: Import) -> str | None:
    """Module of the package that an import reaches, without the package's name; None if none."""
    if found.module.startswith("."):
        return found.module  # Relative imports are in no table.
    if found.module.split(".")[0] != PACKAGE:
        return None
    inner = found.module.removeprefix(PACKAGE).removeprefix(".")
    candidate = f"{inner}.{found.name}".strip(".")
    return candidate if candidate in set(ALLOWED).union(*ALLOWED.values()) else inner


def check_layers(module: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Imports of a module of the package that its row of the tables does not allow."""
    if module not in ALLOWED:
        yield 1, f"{module!r} has no row in tools/layers.toml; add one"
        return
    for found in imports(tree):
        inner = target(found)
        if inner is not None and inner not in ALLOWED[module]:
            yield found.line, f"{module or PACKAGE!r} must not import {inner or PACKAGE!r}"
        library = found.module.split(".")[0]
        if module not in OPTIONAL.get(library, {module}):
            yield found.line, f"{module or PACKAGE!r} must not import {library!r}"


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
    return complaints


if __name__ == "__main__":
    violations = check(ROOT)
    print("\n".join(violations) or "Imports go downwards, to public names only.")
    sys.exit(bool(violations))
