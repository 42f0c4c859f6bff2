"""Sources that change between passes or during one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.streams import StreamError, stream
from tests.unit.streams import made

ROWS = np.random.default_rng(0).normal(size=(20, 3))


def one_file(source: Any) -> Path:
    """A file of a source that consists of one or several."""
    if isinstance(source, list):
        return Path(source[-1])
    if source.is_dir():
        return max(p for p in source.rglob("[!._]*") if p.is_file() and p.suffix != ".txt")
    return Path(source)


def touch(path: Path) -> None:
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1))


def replace(path: Path) -> None:
    """Another file with the same content, size and time."""
    shutil.copy2(path, path.with_name("other"))
    path.with_name("other").replace(path)


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"7")


def shrink(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


CHANGES = {"touch": touch, "replace": replace, "grow": grow, "shrink": shrink, "gone": os.unlink}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", made.FILES)
def test_a_file_that_changed_between_passes_is_named(
    kind: str, change: str, tmp_path: Path
) -> None:
    source = made.FILES[kind](ROWS, tmp_path)
    found = stream(source)
    made.read(found)
    CHANGES[change](one_file(source))
    with pytest.raises(StreamError, match="changed while it was being read") as caught:
        next(found.chunks())
    assert str(one_file(source)) in str(caught.value) or change == "gone"
    assert "start again, or work on a copy" in str(caught.value)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", made.FILES)
def test_a_file_that_changes_during_a_pass_is_named(kind: str, change: str, tmp_path: Path) -> None:
    source = made.FILES[kind](ROWS, tmp_path)
    found = stream(source, chunk_rows=2)
    passing = found.chunks()
    next(passing)
    CHANGES[change](one_file(source))
    with pytest.raises(StreamError, match="changed while it was being read"):
        list(passing)
    assert (found.n_rows is None) == kind.startswith("csv")


def test_a_file_that_is_emptied_while_it_is_read_does_not_end_the_process(tmp_path: Path) -> None:
    rows = np.zeros((100_000, 4))
    np.save(tmp_path / "rows.npy", rows)
    passing = stream(tmp_path / "rows.npy", chunk_rows=1000).chunks()
    next(passing)
    os.truncate(tmp_path / "rows.npy", 200)
    with pytest.raises(StreamError, match=r"it had 3200128 bytes, and has 200 now"):
        list(passing)


def test_a_new_chunk_of_a_zarr_array_is_a_change(tmp_path: Path) -> None:
    path = made.save_zarr(ROWS, tmp_path)
    found = stream(path)
    (path / "c" / "9").mkdir()
    (path / "c" / "9" / "0").write_bytes(b"1")
    with pytest.raises(StreamError, match="is new"):
        made.read(found)


class Fickle:
    """Chunks that are others in the second pass."""

    def __init__(self, *passes: list[int]) -> None:
        # The first look at an iterable, when its stream is made, is no pass.
        self.passes = [passes[0], *passes]

    def __iter__(self) -> Any:
        return iter([np.zeros((size, 2)) for size in self.passes.pop(0)])


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ([3, 5, 2], "chunk 1 of the iterable had 4 rows in the first pass, but 5 in a later one"),
        ([3, 4], "had 3 chunks in the first pass, but ended after 2 in a later one"),
        ([3, 4, 2, 1], r"had 3 chunks in the first pass, but has more .*chunk 3 of the iterable"),
        ([], "ended after 0"),
    ],
)
def test_another_number_of_rows_in_a_later_pass(second: list[int], message: str) -> None:
    found = stream(Fickle([3, 4, 2], second))
    assert made.read(found).shape == (9, 2)
    assert found.n_rows == 9
    with pytest.raises(StreamError, match=message):
        made.read(found)


def test_empty_chunks_may_come_and_go() -> None:
    found = stream(Fickle([3, 4], [3, 0, 4]))
    assert made.read(found).shape == made.read(found).shape == (7, 2)


def test_a_pass_that_was_left_is_compared_with_nothing() -> None:
    found = stream(Fickle([3, 4], [5, 5]))
    for _ in found.chunks():
        break
    assert found.n_rows is None
    assert made.read(found).shape == (10, 2)
