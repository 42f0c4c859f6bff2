"""Downloads of data sets from simulated sources: rows, files, warnings and errors."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from hashlib import sha256
from http.client import IncompleteRead
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from sfumato.datasets import download, load, originals
from sfumato.datasets.catalog import CATALOG, DataSet
from sfumato.datasets.images import SOURCES

FUNCTIONS = {"usps": "fetch_openml", "orl": "fetch_olivetti_faces"}
STAND_INS = {"usps": "usps-openml.npz", "orl": "orl-olivetti.npz"}

every_source = pytest.mark.parametrize("name", ["usps", "orl"])


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The cache of a user who has no data; temporary files are seen too."""
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    # Published files cannot be had: no server listens at this port.
    monkeypatch.setattr(originals, "GITHUB", "http://127.0.0.1:9")
    monkeypatch.setattr(download, "PAUSES", ())
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    return tmp_path / "cache" / "sfumato"


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Let a source answer in a made-up way; returns the list of the calls to come."""

    def serving(name: str, answer: Callable[[], Bunch]) -> list[str]:
        calls: list[str] = []

        def fetch(*, data_home: str, **options: Any) -> Bunch:
            calls.append(name)
            Path(data_home, "what a fetcher keeps").write_text("rows")
            assert options == OPTIONS[name]
            return answer()

        monkeypatch.setattr(sklearn.datasets, FUNCTIONS[name], fetch)
        return calls

    return serving


OPTIONS = {
    "usps": {"data_id": 41082, "as_frame": False, "parser": "liac-arff"},
    "orl": {"shuffle": False},
}


def thousandths() -> np.ndarray:
    """Gray values of digits, in thousandths of -1 to 1."""
    values = np.full((9298, 256), -1000)
    values[:2001, :8] = np.arange(-1000, 1001)[:, None]  # Each of them, and little to compress.
    values[0, :3] = [-1000, 0, 1000]
    return values


def digits() -> np.ndarray:
    return np.repeat(np.arange(10), SOURCES["usps"].class_sizes)[::-1]


def usps(dtype: type = np.float64) -> Bunch:
    """USPS with the form of OpenML's: classes are the texts 1 to 10."""
    names = np.array([str(digit + 1) for digit in digits()], dtype=object)
    return Bunch(data=(thousandths() / 1000).astype(dtype), target=names)


def brightness() -> np.ndarray:
    return np.random.default_rng(0).integers(1, 255, size=(400, 32, 32))


def orl() -> Bunch:
    """Faces with the form of scikit-learn's: of each 2x2 block the mean is known."""
    offsets = np.tile([[1, -1], [-1, 1]], (32, 32))
    images = ((brightness().repeat(2, axis=1).repeat(2, axis=2) + offsets) / 255).astype("f4")
    return Bunch(images=images, data=images.reshape(400, -1), target=np.repeat(np.arange(40), 10))


ANSWERS: dict[str, Callable[[], Bunch]] = {"usps": usps, "orl": orl}


def contents(folder: Path) -> list[str]:
    """Files below a folder, by their names."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def make_common(monkeypatch: pytest.MonkeyPatch, X: np.ndarray, y: np.ndarray) -> None:
    """Let these rows be those of the common file of usps."""
    digest = sha256(X.tobytes() + y.astype("<i8").tobytes()).hexdigest()
    facts = DataSet(**(vars(CATALOG["usps"]) | {"sha256": digest}))
    monkeypatch.setitem(CATALOG, "usps", facts)


# What becomes of the rows.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_digits_that_are_the_same_bytes_are_the_common_file(
    serve: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    cache: Path,
    dtype: type,
) -> None:
    X = ((thousandths() + 1000) / 2000).astype(np.float32)
    make_common(monkeypatch, X, digits())
    calls = serve("usps", lambda: usps(dtype))
    for _ in range(2):  # No warning, and the second time from the cache.
        found = load("usps")
        assert_array_equal(found.data, X, strict=True)
        assert_array_equal(found.target, digits(), strict=True)
    assert calls == ["usps"]
    assert contents(tmp_path) == ["usps.npz"]
    assert (cache / "usps.npz").is_file()


def test_the_original_digits_become_the_common_file(
    serve: Callable[..., list[str]], tmp_path: Path, common_file: Callable[[str], Path]
) -> None:
    X, y = load("usps", data_home=common_file("usps").parent, return_X_y=True)
    original = np.round(2 * X.astype(np.float64) - 1, 3)
    serve("usps", lambda: Bunch(data=original, target=(y + 1).astype(str).astype(object)))
    assert_array_equal(load("usps").data, X, strict=True)
    assert contents(tmp_path) == ["usps.npz"]


def test_the_background_is_zero_and_ink_one(serve: Callable[..., list[str]]) -> None:
    serve("usps", usps)
    with pytest.warns(UserWarning, match="stand-in"):
        X, y = load("usps", return_X_y=True)
    assert_array_equal(X[0, :3], np.array([0, 0.5, 1], dtype=np.float32), strict=True)
    assert y[0] == 9
    assert y[-1] == 0


def test_faces_are_means_of_blocks(serve: Callable[..., list[str]]) -> None:
    serve("orl", orl)
    with pytest.warns(UserWarning, match="averaged from 64x64 pixels"):
        found = load("orl")
    assert_array_equal(found.data.reshape(400, 32, 32), brightness().astype(np.uint8), strict=True)
    assert_array_equal(found.target, np.repeat(np.arange(40), 10), strict=True)


@every_source
def test_a_stand_in_is_never_taken_for_the_common_file(
    serve: Callable[..., list[str]], tmp_path: Path, cache: Path, name: str
) -> None:
    calls = serve(name, ANSWERS[name])
    for _ in range(2):
        with pytest.warns(UserWarning, match=f"'{name}' is a stand-in from") as warned:
            found = load(name)
        assert warned[0].filename == __file__, "the warning shows the line of the caller"
        assert "is a stand-in from" in found.DESCR
    assert calls == [name], "the second time it comes from the cache"
    assert contents(tmp_path) == [STAND_INS[name]]
    assert (cache / STAND_INS[name]).is_file()


def test_a_common_file_anywhere_comes_before_a_stand_in(
    serve: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    serve("usps", usps)
    with pytest.warns(UserWarning, match="stand-in"):
        load("usps", data_home=tmp_path / "first")
    assert contents(tmp_path) == [STAND_INS["usps"]]
    X = np.zeros((9298, 256), dtype=np.float32)
    make_common(monkeypatch, X, digits())
    cache.mkdir(parents=True)
    np.savez_compressed(cache / "usps.npz", X=X, y=digits())
    assert not load("usps", data_home=tmp_path / "first").data.any()


@every_source
def test_a_download_is_kept_where_the_user_says(
    serve: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    # Not in the folder of the variable, which may be shared and is often not ours to write to.
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path / "variable"))
    serve(name, ANSWERS[name])
    with pytest.warns(UserWarning, match="stand-in"):
        load(name, data_home=tmp_path / "mine")
    assert contents(tmp_path / "mine") == contents(tmp_path) == [STAND_INS[name]]


# What goes wrong.


@every_source
@pytest.mark.parametrize(
    "error", [URLError("no route to host"), IncompleteRead(b""), ValueError("bad checksum")]
)
def test_without_a_network_nothing_is_left(
    serve: Callable[..., list[str]], tmp_path: Path, cache: Path, name: str, error: Exception
) -> None:
    def fail() -> Bunch:
        raise error

    serve(name, fail)
    with pytest.raises(OSError, match=f"from {SOURCES[name].place} failed") as raised:
        load(name)
    said = str(raised.value)
    for words in (type(error).__name__, str(error), f"no file {name}.npz", CATALOG[name].form):
        assert words in said
    assert str(cache) in said
    assert contents(tmp_path) == []


def shorter(answer: Bunch) -> Bunch:
    return Bunch(**{key: value[:-1] for key, value in answer.items()})


def one_class(answer: Bunch) -> Bunch:
    return answer | {"target": answer["target"][:1].repeat(len(answer["target"]))}


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("usps", shorter, "X of shape (9297, 256) and dtype float32"),
        ("orl", shorter, "X of shape (399, 1024) and dtype uint8"),
        ("usps", one_class, "(9298,) rows of the classes [9]; expected are (1553, 1269, 929"),
        ("orl", one_class, "(400,) rows of the classes [0]"),
        ("usps", lambda a: a | {"data": 3 * a["data"]}, "has values from -1.0 to 2.0; expected"),
        ("usps", lambda a: a | {"data": np.nan * a["data"]}, "has values from nan to nan"),
        (
            "usps",
            lambda a: a | {"target": np.array([int(t) - 1 for t in a["target"]])},
            "of the classes [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8]",
        ),
    ],
)
def test_a_source_that_sends_something_else_is_refused(
    serve: Callable[..., list[str]],
    tmp_path: Path,
    name: str,
    change: Callable[[Bunch], dict[str, Any]],
    words: str,
) -> None:
    serve(name, lambda: Bunch(**change(ANSWERS[name]())))
    with pytest.raises(ValueError, match=re.escape(words)) as raised:
        load(name)
    assert f"What {SOURCES[name].place} sent for '{name}' has" in str(raised.value)
    assert contents(tmp_path) == []


@every_source
def test_a_stand_in_that_was_changed_is_refused(name: str, cache: Path) -> None:
    cache.mkdir(parents=True)
    np.savez(cache / STAND_INS[name], X=np.zeros((2, 2), np.uint8), y=np.zeros(2, int))
    with pytest.raises(ValueError, match=re.escape(str(cache / STAND_INS[name]))):
        load(name)


def test_a_copy_is_written_whole_or_not_at_all(
    serve: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(handle: Any, **arrays: np.ndarray) -> None:
        handle.write(b"PK")
        assert [name.split(".")[-1] for name in contents(tmp_path)] == ["part"]
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    serve("orl", orl)
    with (
        pytest.warns(UserWarning, match="stand-in"),
        pytest.warns(UserWarning, match=r"cannot be kept as .* \(no space left on device\)"),
    ):
        found = load("orl")
    assert found.data.shape == (400, 1024), "the rows are there all the same"
    assert contents(tmp_path) == []


def test_an_interrupt_leaves_nothing(
    serve: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(handle: Any, **arrays: np.ndarray) -> None:
        handle.write(b"PK")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    serve("orl", orl)
    with pytest.raises(KeyboardInterrupt):
        load("orl")
    assert contents(tmp_path) == []
