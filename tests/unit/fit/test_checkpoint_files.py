"""Files of checkpoints: those of other fits, damaged ones, places for none, and full disks."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from sfumato import Capped, CappedREFCMFS, FuzzyClustering, FuzzyCMeans, Power
from sfumato._fit import checkpoint as checkpoints
from sfumato.streams import stream
from tests.catalogue import csr
from tests.interrupted import (
    KINDS,
    WEIGHTS,
    Sweeps,
    X,
    assert_same,
    counted_sweeps,
    fitted,
)


@pytest.fixture
def sweeps(monkeypatch: pytest.MonkeyPatch) -> Sweeps:
    return counted_sweeps(monkeypatch)


# Files of other fits.

BASE = FuzzyClustering(4, loss=Capped(3.0), membership=Power(2, 1.3), random_state=0, n_init=1)


def changed(rows: Any, row: int) -> Any:
    """Rows of which one value is another one."""
    other = rows.copy()
    other[row, -1] += 1e-9
    return other


def as_stream(rows: Any, chunk_rows: int = 50) -> Any:
    return stream(rows, chunk_rows=chunk_rows)


OTHERS: dict[str, tuple[Callable[[], Any], str]] = {
    "n_clusters": (lambda: (clone(BASE).set_params(n_clusters=5), X, None), "`n_clusters` was 4"),
    "random_state": (
        lambda: (clone(BASE).set_params(random_state=1), X, None),
        "dom_state` was",
    ),
    "no seed": (lambda: (clone(BASE).set_params(random_state=None), X, None), "and is None"),
    "cap": (lambda: (clone(BASE).set_params(loss__cap=2.5), X, None), r"cap` was 3\.0 and is 2\.5"),
    "loss": (lambda: (clone(BASE).set_params(loss="l21"), X, None), "`loss` was 'Capped'"),
    "tol": (lambda: (clone(BASE).set_params(tol=1e-3), X, None), "`tol` was 1e-06 and is 0.001"),
    "first value": (lambda: (BASE, changed(X, 0), None), "checksum of the data"),
    "last value": (lambda: (BASE, changed(X, -1), None), "checksum of the data"),
    "order": (lambda: (BASE, X[::-1], None), "checksum of the data"),
    "rows": (lambda: (BASE, X[:-1], None), "number of rows was 120 and is 119"),
    "columns": (lambda: (BASE, X[:, :2], None), "number of features was 3 and is 2"),
    "weights": (lambda: (BASE, X, WEIGHTS), "checksum of the data"),
    "dtype": (lambda: (BASE, X.astype(np.float32), None), "precision was 'float64' and is 'float3"),
    "CSR": (lambda: (BASE, csr(X), None), "storage was 'dense' and is 'CSR'"),
    "stream": (lambda: (BASE, as_stream(X), None), "storage was 'dense' and is 'dense, in chunks'"),
    "init": (
        lambda: (clone(BASE).set_params(init=X[:4]), X, None),
        "`init` was 'auto' and is 'a",
    ),
    "class": (lambda: (CappedREFCMFS(4, random_state=0), X, None), "estimator was 'FuzzyClusterin"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_fit_is_refused(other: str, tmp_path: Path) -> None:
    path = tmp_path / "state"
    first = fitted(BASE, X, checkpoint=path)
    content = path.read_bytes()
    make, words = OTHERS[other]
    estimator, rows, weights = make()
    with pytest.raises(ValueError, match=words) as caught:
        fitted(estimator, rows, weights, checkpoint=path)
    for advice in (str(path), "Give the same data and parameters", "another path", "remove"):
        assert advice in str(caught.value)
    assert path.read_bytes() == content
    assert_same(fitted(BASE, X, checkpoint=path), first)


OTHER_STREAMS: dict[str, tuple[Callable[[], Any], Any, str]] = {
    "first value": (lambda: as_stream(changed(X, 0)), None, "checksum of the data"),
    "value in the middle": (lambda: as_stream(changed(X, 60)), None, "checksum of the data"),
    "last value": (lambda: as_stream(changed(X, -1)), None, "checksum of the data"),
    "swapped chunks": (lambda: stream([X[50:100], X[:50], X[100:]]), None, "checksum of the data"),
    "weights": (lambda: as_stream(X), WEIGHTS, "checksum of the data"),
    "chunks": (
        lambda: as_stream(X, 30),
        None,
        "chunks was '3 .*' and is '4 .*`chunk_rows`",
    ),
    "as many chunks": (lambda: as_stream(X, 45), None, "chunks was '.* 50 .*' and is '.* 45 "),
    "at hand": (lambda: X, None, "storage was 'dense, in chunks' and is 'dense'"),
    "CSR": (lambda: as_stream(csr(X)), None, "storage"),
}


@pytest.mark.parametrize("other", OTHER_STREAMS)
def test_another_stream_is_refused(other: str, tmp_path: Path) -> None:
    path = tmp_path / "state"
    fitted(BASE, as_stream(X), checkpoint=path)
    make, weights, words = OTHER_STREAMS[other]
    with pytest.raises(ValueError, match=words):
        fitted(BASE, make(), weights, checkpoint=path)


def test_other_initial_centers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    kinds: list[Callable[[Any], Any]] = [np.array, np.ndarray.tolist, pd.DataFrame, sp.csr_array]
    for make in kinds:
        fitted(BASE, X, checkpoint=path, init=make(X[:4]))
        with pytest.raises(ValueError, match="`init` was 'array of shape"):
            fitted(BASE, X, checkpoint=path, init=make(X[1:5]))
        path.unlink()


def test_numbers_of_numpy_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "state"
    fitted(BASE, X, checkpoint=path, n_clusters=np.int64(4), loss=Capped(np.float32(3)))
    for other in ({"n_clusters": np.int64(5)}, {"loss": Capped(np.float32(2))}):
        parameters = {"n_clusters": np.int64(4), "loss": Capped(np.float32(3)), **other}
        with pytest.raises(ValueError, match=r"was .* and is"):
            fitted(BASE, X, checkpoint=path, **parameters)


def test_what_does_not_change_the_result_may_change(sweeps: Sweeps, tmp_path: Path) -> None:
    path = tmp_path / "state"
    whole: list[Any] = []
    total = sweeps.during(lambda: whole.append(fitted(BASE, X)))
    sweeps.interrupt(lambda: fitted(BASE, X, checkpoint=path, n_threads=2), total - 2)
    path = path.rename(tmp_path / "moved")
    assert_same(fitted(BASE, X, checkpoint=str(path), n_threads=1), whole[0])


# Files that are no checkpoints, and places for none.


def no_checkpoints(folder: Path) -> dict[str, bytes]:
    """Content of files that a user might name by mistake."""
    np.save(folder / "rows.npy", X)
    np.savez(folder / "other.npz", rows=X)
    np.savez(folder / "list.npz", header=np.frombuffer(b"[1]", np.uint8))
    np.savez(folder / "empty.npz", header=np.frombuffer(b"{}", np.uint8))
    np.savez(folder / "objects.npz", header=np.array([None]))
    part = json.dumps({"format": checkpoints.FORMAT, "identity": 3}).encode()
    np.savez(folder / "part.npz", header=np.frombuffer(part, np.uint8))
    names = ("rows.npy", "other.npz", "list.npz", "empty.npz", "objects.npz", "part.npz")
    files = {name: (folder / name).read_bytes() for name in names}
    return {**files, "nothing": b"", "text": b"a,b\n1,2\n", "zeros": bytes(1000)}


def test_files_that_are_no_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "state"
    for name, content in no_checkpoints(tmp_path).items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match="no checkpoint of sfumato, or is damaged") as caught:
            fitted(BASE, X, checkpoint=path)
        assert "remove it, or give another path" in str(caught.value), name
        assert path.read_bytes() == content, "a file of something else must not be lost"


def test_damaged_files(tmp_path: Path) -> None:
    """Wherever bytes are cut off or changed: refused, or of no importance, but never wrong."""
    path = tmp_path / "state"
    first = fitted(BASE, X, checkpoint=path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for size in rng.integers(len(content), size=10):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match="or is damaged"):
            fitted(BASE, X, checkpoint=path)
    refused = 0
    for place in rng.integers(len(content), size=60):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        with suppress(ValueError):  # Of what kind, is for the files that are cut off.
            assert_same(fitted(BASE, X, checkpoint=path), first)
            refused -= 1
        refused += 1
    assert refused > 30


def test_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    fitted(BASE, X, checkpoint=path)
    monkeypatch.setattr(checkpoints, "FORMAT", checkpoints.FORMAT + 1)
    with pytest.raises(ValueError, match="another version of sfumato; remove it"):
        fitted(BASE, X, checkpoint=path)


@pytest.mark.parametrize(("name", "words"), [(".", "is a folder"), ("no/state", "cannot be writ")])
def test_places_for_no_file(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        fitted(BASE, X, checkpoint=tmp_path / name)
    assert "give the path of a file in a folder that exists" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


# Writing.


def full_disk(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("kind", ["native", "stream"])
def test_a_full_disk_does_not_end_the_fit(
    kind: str, sweeps: Sweeps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = KINDS[kind][0]()
    path = tmp_path / "state"
    whole: list[Any] = []
    total = sweeps.during(lambda: whole.append(fitted(BASE, rows)))
    sweeps.interrupt(lambda: fitted(BASE, rows, checkpoint=path), total - 4)
    content = path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints.os, "fsync", full_disk)
        with pytest.warns(RuntimeWarning, match="No space left.*the fit goes on") as caught:
            assert_same(fitted(BASE, rows, checkpoint=path), whole[0])
    assert all(str(path) in str(warning.message) for warning in caught)
    assert [found.name for found in tmp_path.iterdir()] == ["state"]
    assert path.read_bytes() == content
    assert sweeps.during(lambda: fitted(BASE, rows, checkpoint=path)) < total
    assert_same(fitted(BASE, rows, checkpoint=path), whole[0])


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_nothing_partial_is_left_whatever_interrupts_writing(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise error

    monkeypatch.setattr(checkpoints.os, "fsync", interrupt)
    with pytest.raises(error):
        fitted(BASE, X, checkpoint=tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_remains_of_a_killed_writer_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / ".sfumato-state-1").write_bytes(b"half")
    first = fitted(BASE, X, checkpoint=tmp_path / "state")
    assert [found.name for found in tmp_path.iterdir()] == ["state"]
    assert_same(fitted(BASE, X, checkpoint=tmp_path / "state"), first)


def test_estimators_without_a_checkpoint_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    FuzzyCMeans(4, random_state=0).fit(X)
    assert list(tmp_path.iterdir()) == []
