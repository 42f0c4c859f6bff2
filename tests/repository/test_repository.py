"""Rules of the repository, as tests."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sfumato
from sfumato import losses, memberships
from sfumato._native import core
from sfumato.losses import LOSSES, Loss
from sfumato.memberships import MEMBERSHIPS, Membership

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
NATIVE = sorted((ROOT / "native").glob("*.?pp"))
OWN_FOLDERS = ("src", "native", "tests", "tools", "benchmarks", "docs", "examples", ".ci")

LONGEST_BODY, LONGEST_KERNEL, LONGEST_FILE = 40, 60, 400
LONG_FILES: dict[str, tuple[int, str]] = {}
"""Files that may be longer, with the limit and the reason."""
LONG_BODIES = {"NB_MODULE(": "a list of what Python sees, one line after the other"}
"""Functions that may be longer, by how they start, and the reason."""


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def own_files() -> Iterator[Path]:
    """Text files of the repository that were written, not made."""
    yield from (
        path for path in ROOT.glob("*.*") if path.suffix in (".md", ".toml", ".cff", ".txt")
    )
    yield from (ROOT / name for name in ("Makefile", ".gitignore"))
    for folder in OWN_FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix not in (".png", ".pyc", ".so", ".npz", ".sfumato"):
                yield path


# Imports.


@pytest.fixture(scope="module")
def check_imports() -> ModuleType:
    path = ROOT / "tools" / "check_imports.py"
    spec = importlib.util.spec_from_file_location("check_imports", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_imports_go_downwards_and_to_public_names(check_imports: ModuleType) -> None:
    assert check_imports.check(ROOT) == []


def test_every_room_has_a_layer(check_imports: ModuleType) -> None:
    modules = [check_imports.module_name(file, ROOT / "src" / "sfumato") for file in SOURCES]
    rooms = {check_imports.room_of(module) for module in modules}
    assert rooms == set(check_imports.LAYERS) - {"_cpu", "_core"}  # Compiled.
    lines = (ROOT / "tools" / "layers.toml").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 30


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("_data", "from sfumato import estimators", "'_data' must not import 'estimators'"),
        ("_data", "from sfumato.estimators import REFCMFS", "must not import 'estimators'"),
        ("_data", "from sfumato import REFCMFS", "'_data' must not import 'sfumato'"),
        ("_data", "import sfumato._solvers.descent", "must not import '_solvers.descent'"),
        ("_data", "from . import estimators", "must not import '.'"),
        ("_data", "def f():\n    import pandas", "must not import 'pandas'"),
        ("novel", "import numpy", "no layer in tools"),
        ("paper", "from sfumato._data import Data", "the private _data.Data"),
        ("_data", "from sklearn.utils._param_validation import Interval", "private name"),
        ("_data", "from scipy.sparse import _sparsetools", "private name"),
        ("_data", "import sklearn.cluster._kmeans", "private name"),
        (
            "_data",
            "import numpy as np\nnp.random.mtrand._rand",
            "private name np.random.mtrand._rand",
        ),
    ],
)
def test_the_check_of_imports_can_fail(
    check_imports: ModuleType, module: str, line: str, complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / "src" / "sfumato" / f"{module}.py"
    file.parent.mkdir(parents=True)
    file.write_text(line)
    found = check_imports.check(tmp_path)
    assert len(found) == 1
    assert complaint in found[0]


def test_circles_between_folders_are_refused(check_imports: ModuleType, tmp_path: Path) -> None:
    package = tmp_path / "src" / "sfumato"
    for room, other in (("_validation", "_outliers"), ("_outliers", "_validation")):
        (package / room).mkdir(parents=True)
        # Not in a circle of modules: each imports another module than the one that imports it.
        (package / room / "above.py").write_text(f"import sfumato.{other}.below\n")
        (package / room / "below.py").write_text("")
    assert "a circle of imports" in " ".join(check_imports.check(tmp_path))


def run(code: str, **options: Any) -> str:
    """Output of Python code, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


EXTRAS = ("click", "matplotlib", "pandas", "polars", "pyarrow", "rich")


@pytest.mark.slow
def test_the_package_imports_none_of_its_extras() -> None:
    # scikit-learn itself imports pandas where it finds it, so only what comes on top counts.
    code = f"""
import sys
import joblib, numpy, scipy.sparse, sklearn.base, sklearn.utils.validation
try:
    import sklearn.callback
except ModuleNotFoundError:  # Before 1.9.
    pass
before = set(sys.modules)
from sfumato import *
new = {{name.split(".")[0] for name in set(sys.modules) - before}}
assert "sfumato" in new
print(sorted(new & set({EXTRAS})))
"""
    assert run(code) == "[]\n"


@pytest.mark.slow
def test_the_package_works_without_its_extras() -> None:
    code = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS}))  # None makes their import fail.
import sfumato
print(sfumato.REFCMFS(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]]).predict([[0.5]]).shape)
"""
    assert run(code) == "(1,)\n"


@pytest.mark.slow
def test_the_package_imports_nothing_private() -> None:
    code = """
import builtins
original, private = builtins.__import__, []
def recording(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    if importer.split(".")[0] == "sfumato" and name.split(".")[0] != "sfumato":
        full = name.split(".") + list(fromlist or ())
        if any(p.startswith("_") and not p.startswith("__") for p in full):
            private.append((importer, name, fromlist))
    return original(name, globals, locals, fromlist, level)
builtins.__import__ = recording
from sfumato import *
print(private)
"""
    assert run(code) == "[]\n"


# Twins.


@pytest.mark.parametrize(
    ("module", "base", "header"),
    [(losses, Loss, "loss.hpp"), (memberships, Membership, "membership.hpp")],
    ids=["losses", "memberships"],
)
def test_every_part_has_a_twin(module: ModuleType, base: type, header: str) -> None:
    text = (ROOT / "native" / header).read_text()
    parts = [
        cls
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, base) and cls is not base and cls.__module__ == module.__name__
    ]
    assert set(parts) == set({**LOSSES, **MEMBERSHIPS}.values()) & set(parts)
    assert len(parts) >= 3
    for cls in parts:
        assert re.search(rf"^(struct|class) {cls.__name__}\b", text, re.MULTILINE), cls
        assert inspect.isclass(getattr(core, cls.__name__))


# Sizes.


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function's body, without its docstring."""
    statements = function.body
    if ast.get_docstring(function, clean=False) is not None:
        statements = statements[1:]
    if not statements:
        return 0
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1


def native_bodies(text: str) -> Iterator[tuple[str, int]]:
    """First line and number of body lines of the functions of a C++ file."""
    code = re.sub(r"//[^\n]*", "", text)
    # A body opens after a parameter list; a statement starts after ; { } or a directive.
    for opening in re.finditer(r"\)(?: const| noexcept| override)*\s*\{\n", code):
        start = max(code.rfind(mark, 0, opening.start()) for mark in (";", "{", "}", "\n#")) + 1
        statement = code[start : opening.start()].strip()
        if re.match(r"(if|else|for|while|switch|do|namespace)\b", statement):
            continue
        depth, end = 1, opening.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        yield statement, code.count("\n", opening.end(), end)


PYTHON = [*SOURCES, *sorted((ROOT / "tools").glob("*.py")), *(ROOT / "benchmarks").rglob("*.py")]


@pytest.mark.parametrize("file", PYTHON, ids=relative)
def test_functions_are_short(file: Path) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = {f.name: body_lines(f) for f in functions if body_lines(f) > LONGEST_BODY}
    assert not long


@pytest.mark.parametrize("file", NATIVE, ids=relative)
def test_kernels_are_short(file: Path) -> None:
    bodies = list(native_bodies(file.read_text()))
    assert bodies or ") {\n" not in file.read_text(), "no function was recognized"
    long = [line for line, length in bodies if length > LONGEST_KERNEL]
    assert [line for line in long if not line.startswith(tuple(LONG_BODIES))] == []


TESTS = sorted((ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("file", [*PYTHON, *NATIVE, *TESTS], ids=relative)
def test_files_are_short(file: Path) -> None:
    limit, _ = LONG_FILES.get(relative(file), (LONGEST_FILE, ""))
    assert len(file.read_text(encoding="utf-8").splitlines()) <= limit


def test_exceptions_are_needed() -> None:
    for name in LONG_FILES:
        assert len((ROOT / name).read_text().splitlines()) > LONGEST_FILE, f"{name} needs none"


# Texts.


def test_the_map_names_every_module_and_fits_on_two_pages() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\w+", text[text.index("## The tree") : text.index("## Statistics")]))
    headers = [path for path in NATIVE if path.suffix == ".hpp"]
    missing = {path.stem for path in [*SOURCES, *headers]} - named
    assert missing == set()
    assert len(text.splitlines()) <= 120


def test_no_paths_of_a_machine() -> None:
    homes = ["home", "root", "work", "Users", "tmp"]
    pattern = re.compile(r"(?<![\w.$}>])/(" + "|".join(homes) + r")/\w|[A-Z]:\\\\?\w")
    assert pattern.search(f"open('/{homes[0]}/ann/data.csv')")
    assert not pattern.search("https://example.org/root/of/it")
    found = [
        f"{relative(path)}: {line.strip()}"
        for path in own_files()
        for line in path.read_text(encoding="utf-8").splitlines()
        if pattern.search(line)
    ]
    assert found == []


def python_examples(path: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def test_the_readme_has_an_example_of_ten_lines() -> None:
    examples = python_examples(ROOT / "README.md")
    assert examples
    assert len(examples[0].splitlines()) <= 12


@pytest.mark.slow
def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    for example in python_examples(ROOT / "README.md"):
        shown = run(example, cwd=tmp_path)
        assert shown.strip()


def modules() -> list[str]:
    found = pkgutil.walk_packages(sfumato.__path__, "sfumato.")
    names = [info.name for info in found if not info.name.startswith("sfumato._")]
    assert "sfumato.losses" in names
    return ["sfumato", *names]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", sfumato.__all__)
def test_every_public_name_has_a_docstring_with_an_example(name: str) -> None:
    documented = doctest.DocTestFinder(recurse=False).find(getattr(sfumato, name), name)
    assert any(test.examples for test in documented)


@pytest.mark.parametrize(
    "name", [n for n in sfumato.__all__ if hasattr(getattr(sfumato, n), "fit")]
)
def test_every_parameter_is_documented(name: str) -> None:
    cls = getattr(sfumato, name)
    section = inspect.getdoc(cls).split("Attributes\n")[0]
    for parameter in list(inspect.signature(cls).parameters):
        assert re.search(rf"^(.*, )?{parameter}(,.*| :.*)?$", section, re.MULTILINE), parameter


def test_public_names_are_sorted_and_exist() -> None:
    assert all(hasattr(sfumato, name) for name in sfumato.__all__)
    assert len(set(sfumato.__all__)) == len(sfumato.__all__)


def test_every_benchmark_can_be_called_by_name() -> None:
    files = [path for path in (ROOT / "benchmarks").glob("*.py") if path.stem[0] != "_"]
    assert files
    for path in files:
        functions = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)]
        found = {function.name: [a.arg for a in function.args.args] for function in functions}
        assert found.get("run") == ["quick"], f"{path.name} needs run(quick)"


def test_the_oldest_versions_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = [*project["dependencies"]]
    for extra in ("cli", "plot", "io", "zarr", "dask", "onnx", "reproduce", "test"):
        required += project["optional-dependencies"][extra]
    stated = dict(re.findall(r"^([\w-]+)(?:\[.*\])?>=([\d.]+)", "\n".join(required), re.MULTILINE))
    text = (ROOT / "tools" / "oldest.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w-]+)==([\d.]+)$", text, re.MULTILINE))
    assert pinned.pop("pyparsing"), "a dependency of matplotlib"
    for name, version in pinned.items():
        least = stated[name].split(".")
        assert version.split(".")[: len(least)] == least, name
    assert {"numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "dask", "onnx"} <= pinned.keys()


def test_the_conda_recipe_asks_for_what_the_command_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    recipe = (ROOT / "tools" / "conda" / "recipe.yaml").read_text()
    asked = re.search(r"^  run:\n(.*?)^tests:", recipe, re.MULTILINE | re.DOTALL)
    assert asked
    found = set(re.findall(r"- ([\w-]+) >=([\d.]+)", asked[1]))
    needed = [*project["dependencies"], *extras["cli"], *extras["plot"]]
    expected = {tuple(each.split(">=")) for each in needed}
    renamed = {("matplotlib-base" if n == "matplotlib" else n, v) for n, v in expected}
    assert found == renamed | {("python", project["requires-python"].removeprefix(">="))}
