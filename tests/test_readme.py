"""What the README shows must run, and what it links to must exist."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "docs/glossary.md"]


def test_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", (TOP / "README.md").read_text(), re.DOTALL)
    assert len(example.strip().splitlines()) <= 10
    exec(compile(example, "README.md", "exec"), {})
    assert "(10, 64)" in capsys.readouterr().out


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document):
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", (TOP / document).read_text())
    missing = [link for link in links if not (TOP / document).parent.joinpath(link).exists()]
    assert not missing
