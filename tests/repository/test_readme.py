"""What the README shows must run, and what it links to must exist."""

import re
import runpy
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

TOP = Path(__file__).parents[2]
DOCUMENTS = [TOP / "README.md", TOP / "CONTRIBUTING.md", *sorted((TOP / "docs").rglob("*.md"))]
MADE = ("../api/", "../gallery/", "../project/changelog.md")
"""Pages that `make docs` makes; tools/check_site.py follows the links to them."""


def examples():
    return re.findall(r"```python\n(.*?)```", (TOP / "README.md").read_text(), re.DOTALL)


def test_the_example_runs_and_prints_what_it_says(capsys):
    (example,) = examples()
    assert len(example.strip().splitlines()) <= 10
    exec(compile(example, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert shown.startswith("5: ")
    assert "\n250\n" in shown
    assert shown.endswith("[-1]\n")


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_commands_run_one_after_the_other_in_an_empty_folder(page, tmp_path):
    commands = re.findall(r"^\$ (sfumato .*|cd .*)", (TOP / page).read_text(), re.MULTILINE)
    assert len(commands) >= 2
    folder = tmp_path
    for name, *words in map(shlex.split, commands):
        if name == "cd":
            folder = folder / words[0]
        else:
            subprocess.run([sys.executable, "-m", "sfumato", *words], cwd=folder, check=True)


def test_the_picture_is_of_the_code_beside_it(monkeypatch):
    """The script that draws it makes the same data and the same fit."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace = {}
    exec(compile(examples()[0], "README.md", "exec"), namespace)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        script = runpy.run_path(str(TOP / "examples" / "plot_outliers.py"))
    np.testing.assert_array_equal(script["X"], namespace["X"])
    np.testing.assert_array_equal(script["model"].outliers_, namespace["model"].outliers_)
    ours, theirs = script["model"].cluster_centers_, namespace["model"].cluster_centers_
    np.testing.assert_allclose(np.sort(ours, axis=0), np.sort(theirs, axis=0), rtol=1e-6)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(TOP)))
def test_links_lead_somewhere(path):
    links = re.findall(r"\]\((?![a-z]+:)([^)#\s]+)", path.read_text())
    missing = [link for link in links if not (path.parent / link).exists()]
    assert not [link for link in missing if not link.startswith(MADE)]
