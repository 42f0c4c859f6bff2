"""Property: no file crashes the command, whatever its bytes.

The command ends with 0 or with 2 and one line, leaves nothing behind after a failure, and says the
same whether the file is read into memory or streamed.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.cli import cluster, memory
from sfumato.cli import main as cli
from tests.properties.conftest import searched
from tests.properties.files import FILES

WORDS = ["-k", "3", "--method", "fuzzy-c-means", "--n-init", "1", "--max-iter", "2", "--quiet"]


class Verdict(NamedTuple):
    """Exit code and lines on the error stream, without warnings about the clusters."""

    code: int
    lines: list[str]


@contextlib.contextmanager
def folder_with(name: str, content: bytes) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path(name).write_bytes(content)
        yield


def run(name: str, streamed: bool) -> Verdict:
    """Run the command in this process, and check what it prints and leaves."""
    printed, told = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(told),
        mock.patch.object(cluster, "_fits", return_value=not streamed),
        mock.patch.object(memory, "default_rows", return_value=16),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main(["cluster", name, *WORDS, "--output", "out"])
    code = int(ended.value.code or 0)
    lines = [line for line in told.getvalue().splitlines() if "sfumato: warning: " not in line]
    assert len(lines) == (code != 0), told.getvalue()
    assert code in (0, 2)
    if code:
        assert lines[0].startswith("sfumato: ")
        assert not printed.getvalue()
        assert [path.name for path in Path().iterdir()] == [name], "nothing is left"
    else:
        names = {f"{table}.csv" for table in ("labels", "memberships", "centers")}
        assert {path.name for path in Path("out").iterdir()} == names | {
            "summary.json",
            "model.sfumato",
            "report.html",
        }
        for path in Path("out").iterdir():
            path.unlink()
        Path("out").rmdir()
    return Verdict(code, lines)


@pytest.mark.parametrize("kind", FILES)
@searched
@given(data=st.data())
@pytest.mark.filterwarnings("default")  # As in a process, where they would be printed.
def test_no_file_crashes_the_command(kind: str, data: st.DataObject) -> None:
    content = data.draw(FILES[kind])
    name = f"rows.{kind}"
    with folder_with(name, content):
        whole, streamed = run(name, False), run(name, True)
    assert whole == streamed


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=2)
@given(data=st.data())
@pytest.mark.slow
def test_nor_a_process(kind: str, data: st.DataObject) -> None:
    content = data.draw(FILES[kind])
    name = f"rows.{kind}"
    with folder_with(name, content):
        command = [sys.executable, "-m", "sfumato", "cluster", name, *WORDS]
        found = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert found.returncode in (0, 2), found
        told = [line for line in found.stderr.splitlines() if "sfumato: warning: " not in line]
        assert len(told) == (found.returncode != 0), found.stderr
        assert not list(Path().glob(".*"))
