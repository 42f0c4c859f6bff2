"""What the README shows must run, and what it links to must exist."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

TOP = Path(__file__).parents[2]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "docs/glossary.md"]


def examples():
    return re.findall(r"```python\n(.*?)```", (TOP / "README.md").read_text(), re.DOTALL)


PRINTED = [(0, "250\n[-1]\n"), (1, "(10, 64)"), (2, "[")]


@pytest.mark.parametrize(("number", "printed"), PRINTED)
def test_examples_run(number, printed, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = examples()[number]
    assert len(example.strip().splitlines()) <= 10
    exec(compile(example, "README.md", "exec"), {})
    assert printed in capsys.readouterr().out


def test_the_first_picture_is_of_the_code_beside_it(monkeypatch):
    """The script that draws it makes the same data and the same fit."""
    namespace = {}
    exec(compile(examples()[0], "README.md", "exec"), namespace)
    script = runpy.run_path(str(TOP / "examples" / "plot_outliers.py"))
    drawn = []

    def scatter(axes, X, labels, centers, title):
        drawn.append((X, labels, centers))

    monkeypatch.setitem(script["main"].__globals__, "scatter", scatter)
    monkeypatch.setitem(script["main"].__globals__, "save", lambda figure, path: None)
    script["main"](TOP / "docs" / "images" / "outliers.png")
    model = namespace["model"]
    for data, _, _ in drawn:
        np.testing.assert_array_equal(data, namespace["X"])
    _, labels, centers = drawn[-1]
    np.testing.assert_array_equal(centers, model.cluster_centers_)
    np.testing.assert_array_equal(labels, np.where(model.outliers_, -1, model.labels_))


def test_no_example_is_left_out():
    assert len(examples()) == len(PRINTED)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document):
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", (TOP / document).read_text())
    missing = [link for link in links if not (TOP / document).parent.joinpath(link).exists()]
    assert not missing
