"""The site shows code that runs, and documents every public name."""

import importlib.util
import pkgutil
import re
import runpy
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import sfumato

TOP = Path(__file__).parents[2]
GUIDE = sorted((TOP / "docs" / "guide").glob("*.md"))
EXAMPLES = sorted((TOP / "examples").glob("plot_*.py"))
OTHER_LIBRARIES = ("bertopic", "skfuzzy")


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference", TOP / "docs" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(path):
    """Code of a page, and the output that it shows below, if any."""
    shown = r"^```python\n(.*?)^```(?:\n+```text\n(.*?)^```)?"
    return re.findall(shown, path.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDE, ids=lambda path: path.stem)
def test_the_code_of_the_guide_runs(page, tmp_path, monkeypatch, capsys):
    """From the first block to the last, as a reader would; "..." in an output is anything."""
    parts = blocks(page)
    assert parts
    for library in OTHER_LIBRARIES:
        if any(re.search(rf"^(import|from) {library}\b", code, re.MULTILINE) for code, _ in parts):
            pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "guide"}
    for code, output in parts:
        capsys.readouterr()
        exec(compile(code, page.name, "exec"), names)
        expected = ".*".join(map(re.escape, output.split("...")))
        assert not output or re.fullmatch(expected, capsys.readouterr().out, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_without_warnings_and_draw(example, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        runpy.run_path(str(example), run_name="__main__")
    assert pyplot.get_fignums()
    pyplot.close("all")


def test_there_are_enough_examples():
    assert len(EXAMPLES) >= 12


def test_every_public_name_is_in_the_reference(reference):
    """All names of all public modules, found by walking the package."""
    documented = {name for section in reference.sections() for name in section.names}
    expected = {f"sfumato.{name}" for name in sfumato.__all__}
    modules = [info.name for info in pkgutil.iter_modules(sfumato.__path__)]
    for name in modules:
        if name.startswith("_") or name in ("cli", "paper"):  # Commands, no library.
            continue
        for public in getattr(import_module(f"sfumato.{name}"), "__all__", ()):
            if public not in sfumato.__all__:
                expected.add(f"sfumato.{name}.{public}")
    assert expected <= documented


def test_names_of_the_reference_exist(reference):
    for section in reference.sections():
        for full in section.names:
            module, _, name = full.rpartition(".")
            assert hasattr(import_module(module), name), full


def test_every_page_has_a_place(reference, tmp_path):
    """A page that is added to a folder is listed, with no list to keep."""
    for folder in ("api", "background", "guide", "project"):
        (tmp_path / "docs" / folder).mkdir(parents=True)
    for name in ("CHANGELOG", "CONTRIBUTING", "ARCHITECTURE"):
        (tmp_path / f"{name}.md").write_text("# A title\n[one](docs/novel.md), [two](CHANGELOG.md)")
    (tmp_path / "docs" / "novel.md").write_text("# New")
    (tmp_path / "docs" / "guide" / "novel.md").write_text("# New")
    reference.write(tmp_path / "docs")
    assert "../novel" in (tmp_path / "docs" / "background" / "index.rst").read_text()
    assert "   novel" in (tmp_path / "docs" / "guide" / "index.rst").read_text()
    moved = (tmp_path / "docs" / "project" / "contributing.md").read_text()
    assert "[one](../novel.md), [two](changelog.md)" in moved
