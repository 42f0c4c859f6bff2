"""Files of well-known data sets: where they are looked for, and which are refused."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from sfumato.datasets import load
from sfumato.datasets.catalog import CATALOG, DataSet
from sfumato.datasets.images import SOURCES

NAMES = ["orl", "yale", "yaleb", "coil20", "coil100", "usps"]
TINY = "tiny"

every_name = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home without data, no variable that names any, and no network."""
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "platform", "linux")
    for function in ("fetch_openml", "fetch_olivetti_faces"):
        monkeypatch.setattr(sklearn.datasets, function, unreachable)
    return tmp_path


def unreachable(**options: Any) -> Bunch:
    raise URLError("no route to host")


def tiny_arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(12, dtype=np.uint8).reshape(3, 4), np.array([0, 1, 1])


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> DataSet:
    """A set of three images in the catalog, so that tests can make its file."""
    X, y = tiny_arrays()
    facts = DataSet(
        title="Tiny images",
        n_samples=3,
        n_classes=2,
        image_shape=(2, 2),
        dtype="uint8",
        sha256=sha256(X.tobytes() + y.astype("<i8").tobytes()).hexdigest(),
        about="Twelve pixels.",
        home="https://example.org/tiny",
        citation="A. Author, 2000.",
    )
    monkeypatch.setitem(CATALOG, TINY, facts)
    return facts


def put(folder: Path, name: str = f"{TINY}.npz", **changed: Any) -> Path:
    X, y = tiny_arrays()
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / name, **({"X": X, "y": y} | changed))
    return folder / name


# The files themselves.


@every_name
def test_the_common_files_are_accepted(name: str, common_file: Callable[[str], Path]) -> None:
    found = load(name, data_home=common_file(name).parent)
    facts = CATALOG[name]
    assert found.data.shape == facts.shape
    assert found.data.dtype == facts.dtype
    assert found.target.dtype == np.int64
    assert_array_equal(np.unique(found.target), np.arange(facts.n_classes))
    assert found.data[0].reshape(found.image_shape).size == facts.shape[1]
    if name in SOURCES:
        assert tuple(np.bincount(found.target)) == SOURCES[name].class_sizes


def test_the_catalog_has_the_sets_of_the_paper() -> None:
    assert list(CATALOG) == NAMES
    assert len({facts.sha256 for facts in CATALOG.values()}) == len(NAMES)
    for facts in CATALOG.values():
        assert re.fullmatch("[0-9a-f]{64}", facts.sha256)
    for name, source in SOURCES.items():
        assert sum(source.class_sizes) == CATALOG[name].n_samples
        assert len(source.class_sizes) == CATALOG[name].n_classes


def test_a_bunch_or_two_arrays(tiny: DataSet, tmp_path: Path) -> None:
    put(tmp_path)
    found = load(TINY, data_home=tmp_path)
    assert set(found) == {"data", "target", "image_shape", "DESCR"}
    assert found.image_shape == (2, 2)
    for words in (tiny.title, tiny.about, tiny.home, tiny.citation, "3 gray images of 2x2 pixels"):
        assert words in found.DESCR
    X, y = load(TINY, data_home=tmp_path, return_X_y=True)
    for array, expected in zip((X, y, found.data, found.target), tiny_arrays() * 2, strict=True):
        assert_array_equal(array, expected, strict=True)
        assert array.flags.writeable


@pytest.mark.parametrize(
    "stored",
    [
        lambda X, y: {"X": np.asfortranarray(X), "y": y},
        lambda X, y: {"X": X, "y": y.astype(">i8")},
        lambda X, y: {"X": X, "y": y.astype(np.uint8)},
    ],
    ids=["columns first", "other order of bytes", "other integers"],
)
def test_the_way_a_file_stores_numbers_does_not_matter(
    tiny: DataSet, tmp_path: Path, stored: Callable[..., dict[str, Any]]
) -> None:
    put(tmp_path, **stored(*tiny_arrays()))
    X, y = load(TINY, data_home=tmp_path, return_X_y=True)
    assert_array_equal(X, tiny_arrays()[0], strict=True)
    assert_array_equal(y, tiny_arrays()[1], strict=True)


def test_floats_of_the_other_order_of_bytes(
    tiny: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = tiny_arrays()
    little = X.astype("<f4")
    digest = sha256(little.tobytes() + y.astype("<i8").tobytes()).hexdigest()
    facts = DataSet(**(vars(tiny) | {"dtype": "float32", "sha256": digest}))
    monkeypatch.setitem(CATALOG, TINY, facts)
    put(tmp_path, X=X.astype(">f4"))
    found = load(TINY, data_home=tmp_path, return_X_y=True)[0]
    assert_array_equal(found, little, strict=True)


# Where files are looked for.


def test_folders_are_searched_in_order(
    tiny: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, variable, cache = tmp_path / "named", tmp_path / "variable", tmp_path / "xdg"
    monkeypatch.setenv("SFUMATO_DATA", str(variable))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    order = [named, variable, cache / "sfumato"]
    broken = [put(folder, X=np.zeros(3)) for folder in order]
    # The first file found is the one complained about, however many there are.
    for folder, file in zip(order, broken, strict=True):
        with pytest.raises(ValueError, match=re.escape(str(file))):
            load(TINY, data_home=named)
        put(folder)
        assert load(TINY, data_home=named).data.shape == (3, 4)
        file.unlink()
    with pytest.raises(FileNotFoundError, match=re.escape(", ".join(map(str, order)))):
        load(TINY, data_home=named)


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_variable_names_no_folder(
    tiny: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: str | None
) -> None:
    if empty is not None:
        monkeypatch.setenv("SFUMATO_DATA", empty)
    monkeypatch.chdir(tmp_path)
    put(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(TINY)


def test_a_tilde_is_the_home(tiny: DataSet, tmp_path: Path) -> None:
    put(tmp_path / "home" / "sets")
    assert load(TINY, data_home="~/sets").data.shape == (3, 4)


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {}, "home/.cache/sfumato"),
        ("linux", {"XDG_CACHE_HOME": "{}/xdg"}, "xdg/sfumato"),
        ("linux", {"XDG_CACHE_HOME": ""}, "home/.cache/sfumato"),
        ("linux", {"XDG_CACHE_HOME": "not/absolute"}, "home/.cache/sfumato"),
        ("darwin", {"XDG_CACHE_HOME": "{}/xdg"}, "home/Library/Caches/sfumato"),
        ("win32", {"LOCALAPPDATA": "{}/local"}, "local/sfumato"),
        ("win32", {"LOCALAPPDATA": ""}, "home/AppData/Local/sfumato"),
    ],
)
def test_the_cache_is_where_the_system_has_it(
    tiny: DataSet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    variables: dict[str, str],
    folder: str,
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    put(tmp_path / folder)
    assert load(TINY).data.shape == (3, 4)


# Files that are refused.


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"X": np.zeros((3, 5), np.uint8)}, "X of shape (3, 5) and dtype uint8"),
        ({"X": np.zeros((4, 4), np.uint8)}, "X of shape (4, 4) and dtype uint8"),
        ({"X": np.zeros((3, 4))}, "X of shape (3, 4) and dtype float64"),
        ({"y": np.zeros(4, int)}, "y of shape (4,) and dtype int64"),
        ({"y": np.zeros(3)}, "y of shape (3,) and dtype float64"),
        ({"y": np.array(["a", "b", "b"])}, "y of shape (3,) and dtype <U1"),
    ],
    ids=str,
)
def test_another_form_is_refused(
    tiny: DataSet, tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    file = put(tmp_path, **changed)
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        load(TINY, data_home=tmp_path)
    assert str(error.value).startswith(str(file))
    assert "expected are X of shape (3, 4) and dtype uint8, and y of shape (3,)" in str(error.value)
    assert "classes 0 to 1" in str(error.value)


@pytest.mark.parametrize("changed", ["X", "y"])
def test_one_other_number_is_noticed(tiny: DataSet, tmp_path: Path, changed: str) -> None:
    arrays = dict(zip("Xy", tiny_arrays(), strict=True))
    arrays[changed].flat[-1] = 0
    put(tmp_path, **arrays)
    found = sha256(arrays["X"].tobytes() + arrays["y"].astype("<i8").tobytes()).hexdigest()
    with pytest.raises(ValueError, match=f"arrays is {found}, expected {tiny.sha256}"):
        load(TINY, data_home=tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"no arrays", b"PK\x03\x04 half of a file", "one array", "other names", "objects"],
    ids=str,
)
def test_a_file_that_cannot_be_read_is_named(
    tiny: DataSet, tmp_path: Path, content: bytes | str
) -> None:
    file = put(tmp_path)
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content == "one array":
        with file.open("wb") as handle:
            np.save(handle, tiny_arrays()[0])
    elif content == "other names":
        np.savez(file, data=tiny_arrays()[0], y=tiny_arrays()[1])
    else:
        np.savez(file, X=np.array([{}]), y=tiny_arrays()[1])
    with pytest.raises(ValueError, match="does not hold two arrays X and y") as error:
        load(TINY, data_home=tmp_path)
    assert str(error.value).startswith(str(file))


def test_a_damaged_file_is_named(tiny: DataSet, tmp_path: Path) -> None:
    file = put(tmp_path)
    content = bytearray(file.read_bytes())
    content[80:120] = bytes(40)
    file.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=re.escape(str(file))):
        load(TINY, data_home=tmp_path)


# Sets that are not there.


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("coil2O", "name='coil2O' is not a known data set; did you mean 'coil20'? The sets are"),
        ("ORL", "name='ORL' is not a known data set; did you mean 'orl'?"),
        ("mnist", "name='mnist' is not a known data set; use one of 'orl', 'yale', 'yaleb',"),
        (None, "name=None is not a known data set; use one of"),
        (["orl"], "name=['orl'] is not a known data set"),
    ],
    ids=str,
)
def test_unknown_names_get_a_suggestion(name: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        load(name)


@pytest.mark.parametrize("name", ["yale", "yaleb", "coil20", "coil100"])
def test_without_a_download_the_error_says_what_to_put_where(name: str, tmp_path: Path) -> None:
    facts = CATALOG[name]
    with pytest.raises(FileNotFoundError, match=f"no file {name}.npz, and download_if") as error:
        load(name, data_home=tmp_path, download_if_missing=False)
    said = str(error.value)
    for words in (facts.form, facts.sha256, str(tmp_path), facts.home, facts.citation):
        assert words in said
    assert str(facts.shape) in facts.form


@pytest.mark.parametrize("name", ["usps", "orl"])
def test_nothing_is_fetched_if_not_wanted(name: str) -> None:
    with pytest.raises(FileNotFoundError, match="download_if_missing=False; put one with"):
        load(name, download_if_missing=False)
