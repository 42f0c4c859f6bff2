"""What the README shows must run, and what it links to must exist."""

import re
from pathlib import Path

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


def test_no_example_is_left_out():
    assert len(examples()) == len(PRINTED)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document):
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", (TOP / document).read_text())
    missing = [link for link in links if not (TOP / document).parent.joinpath(link).exists()]
    assert not missing
