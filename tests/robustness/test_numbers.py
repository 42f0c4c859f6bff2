"""The table of ``docs/robustness.md`` has every number of robust seeding, with its value."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

from sfumato._solvers.descent import Stopping

MODULES = (
    "_init.base",
    "_init.short_fits",
    "_solvers.exchange",
    "_init.dimension",
    "_init.first_cap",
    "_init.clean",
    "_init.likelihood",
    "_init.search",
    "_init.robust",
    "_outliers",
    "_fit.auto",
)
PAGE = Path(__file__).parents[2] / "docs" / "robustness.md"
HEADING = "## The numbers behind robust seeding"


def table():
    """Written value of each number, by module and name."""
    section = PAGE.read_text(encoding="utf-8").partition(HEADING)[2]
    cells = [line.split(" | ") for line in section.splitlines() if line.startswith("| `_")]
    return {(row[0].strip("| `"), row[1].strip("`")): row[2:] for row in cells}


def constants(module):
    """Names in capital letters that a module assigns, tuples taken apart."""
    tree = ast.parse(inspect.getsource(module))
    targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
    names = [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return [name for name in names if name.isupper()]


def written(value):
    """A value as it stands in the table."""
    if isinstance(value, Stopping):
        return f"{value.max_iter}, {value.tol:g}"
    if isinstance(value, tuple):
        return ", ".join(f"{number:g}" for number in value)
    return str(value) if isinstance(value, int) else f"{value:.6g}"


@pytest.mark.parametrize("name", MODULES)
def test_every_number_is_in_the_table_with_its_value(name):
    module = importlib.import_module(f"sfumato.{name}")
    found = {constant: cells for (room, constant), cells in table().items() if room == name}
    assert sorted(found) == sorted(constants(module))
    for constant, (value, *others) in found.items():
        assert value == written(getattr(module, constant)), constant
        assert len(others) == 3
        assert all(others), constant


def test_one_name_one_number():
    names = [constant for _, constant in table()]
    assert len(names) == len(set(names)) > 40
    assert {room for room, _ in table()} == set(MODULES)
