"""Published files of the image sets: downloaded from a server on this machine, and converted."""

from __future__ import annotations

import io
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imsave
from numpy.testing import assert_array_equal
from scipy.io import savemat

from sfumato.datasets import download, load, originals
from sfumato.datasets.catalog import CATALOG, DataSet
from sfumato.datasets.originals import ORIGINALS, Original


class Server:
    """A server on the loopback interface; ``plan`` says how it treats each request."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.plan: list[str] = []
        self.ranges: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        how = self.plan.pop(0) if self.plan else "whole"
        self.ranges.append(request.headers.get("Range"))
        content = self.files.get(request.path)
        if content is None or how.isdigit():
            request.send_error(int(how) if how.isdigit() else 404)
            return
        begin = int(re.findall(r"\d+", self.ranges[-1])[0]) if self.ranges[-1] else 0
        if how == "deaf":  # A server that ignores ranges.
            begin = 0
        if begin >= len(content):
            request.send_error(416)
            return
        request.send_response(206 if begin else 200)
        request.send_header("Content-Length", str(len(content) - begin))
        request.end_headers()
        end = begin + (len(content) - begin) // 2 if how == "break" else len(content)
        request.wfile.write(content[begin:end])

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server()
    monkeypatch.setattr(originals, "GITHUB", made.url)
    monkeypatch.setattr(originals, "COLUMBIA", made.url)
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    yield made
    made.close()


def images(n_samples: int = 165) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, size=(n_samples, 32, 32), dtype=np.uint8)


CLASSES = np.repeat(np.arange(15), 11)


def matlab(names: tuple[str, str] = ("fea", "gnd"), scale: float = 1, turned: bool = True) -> bytes:
    """A MATLAB file of Yale's form: column-major images, classes from 1 on in a column."""
    rows = images().transpose(0, 2, 1) if turned else images()
    buffer = io.BytesIO()
    X = rows.reshape(165, -1).astype(float) / scale
    savemat(buffer, {names[0]: X, names[1]: CLASSES[:, None] + 1})
    return buffer.getvalue()


@pytest.fixture
def publish(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Let a file be that of Yale, and its rows those of the catalog."""

    def publishing(content: bytes) -> None:
        X = images().reshape(165, 1024)
        digest = sha256(X.tobytes() + CLASSES.astype("<i8").tobytes()).hexdigest()
        facts = DataSet(**(vars(CATALOG["yale"]) | {"sha256": digest}))
        monkeypatch.setitem(CATALOG, "yale", facts)
        original = Original("a/b/c/Yale_32x32.mat", sha256(content).hexdigest())
        monkeypatch.setitem(ORIGINALS, "yale", original)
        server.files["/a/b/c/Yale_32x32.mat"] = content

    return publishing


def loaded(tmp_path: Path) -> None:
    found = load("yale", data_home=tmp_path / "home")
    assert_array_equal(found.data, images().reshape(165, 1024), strict=True)
    assert_array_equal(found.target, CLASSES, strict=True)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["yale.npz"]


# Downloads.


def test_a_file_is_downloaded_once(server: Server, publish: Any, tmp_path: Path) -> None:
    publish(matlab())
    loaded(tmp_path)
    loaded(tmp_path)
    assert server.ranges == [None]


def test_it_goes_on_where_it_broke_off(server: Server, publish: Any, tmp_path: Path) -> None:
    content = matlab()
    publish(content)
    server.plan = ["break", "500", "break"]
    with pytest.raises(OSError, match=r"the connection broke off after \d+ of \d+ bytes"):
        load("yale", data_home=tmp_path / "home")
    (part,) = (tmp_path / "home").iterdir()
    assert part.name == "Yale_32x32.mat.part"
    assert 0.7 * len(content) < part.stat().st_size < len(content)
    loaded(tmp_path)
    begins = [None if each is None else int(re.findall(r"\d+", each)[0]) for each in server.ranges]
    half, most = len(content) // 2, part_size(content)
    assert begins == [None, half, half, most]


def part_size(content: bytes) -> int:
    half = len(content) // 2
    return half + (len(content) - half) // 2


@pytest.mark.parametrize("plan", [["break", "deaf"], ["503", "503", "whole"]])
def test_servers_without_ranges_and_busy_ones(
    server: Server, publish: Any, tmp_path: Path, plan: list[str]
) -> None:
    publish(matlab())
    server.plan = list(plan)
    loaded(tmp_path)


def test_a_complete_part_is_not_sent_again(server: Server, publish: Any, tmp_path: Path) -> None:
    publish(matlab())
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "Yale_32x32.mat.part").write_bytes(matlab())
    loaded(tmp_path)
    assert len(server.ranges) == 1


def test_another_file_is_refused_before_it_is_parsed(
    server: Server, publish: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(matlab())
    server.files["/a/b/c/Yale_32x32.mat"] = matlab(scale=2)
    monkeypatch.setattr(originals, "convert", lambda *_: pytest.fail("it was parsed"))
    with pytest.raises(OSError, match="has the SHA-256"):
        load("yale", data_home=tmp_path / "home")
    assert list((tmp_path / "home").iterdir()) == [], "and not resumed from"


def test_a_missing_file_is_not_asked_for_again(
    server: Server, publish: Any, tmp_path: Path
) -> None:
    publish(matlab())
    server.files.clear()
    with pytest.raises(OSError, match="HTTP Error 404") as raised:
        load("yale", data_home=tmp_path / "home")
    assert len(server.ranges) == 1
    for words in ("yale.npz", "or Yale_32x32.mat from http", str(tmp_path / "home")):
        assert words in str(raised.value)


def test_a_file_without_end_is_left(
    server: Server, publish: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(matlab())
    monkeypatch.setattr(download, "MOST_BYTES", 1000)
    with pytest.raises(OSError, match="sends more than 1000 bytes"):
        load("yale", data_home=tmp_path / "home")


def test_progress_is_shown_on_a_terminal(
    server: Server, publish: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    publish(matlab())
    loaded(tmp_path)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    load("yale", data_home=tmp_path / "other")
    assert re.search(r"\rYale_32x32.mat: [\d.]+ of [\d.]+ MB", capsys.readouterr().err)


# Files of the user.


@pytest.mark.parametrize("name", ["yale.mat", "Yale_32x32.mat"])
@pytest.mark.parametrize("names", [("fea", "gnd"), ("X", "Y")])
@pytest.mark.parametrize(("scale", "turned"), [(1, True), (255, True), (1, False), (255, False)])
def test_a_file_that_the_user_has(
    server: Server,
    publish: Any,
    tmp_path: Path,
    name: str,
    names: tuple[str, str],
    scale: float,
    turned: bool,
) -> None:
    publish(matlab())
    (tmp_path / name).write_bytes(matlab(names, scale, turned))
    found = load("yale", data_home=tmp_path)
    assert_array_equal(found.data, images().reshape(165, 1024), strict=True)
    assert_array_equal(found.target, CLASSES, strict=True)
    assert server.ranges == [], "nothing is downloaded"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"MATLAB 5.0 MAT-file" + bytes(300), "is no MATLAB file"),
        (b"", "is no MATLAB file"),
        (matlab(("a", "b")), "with rows and classes, as fea and gnd or X and Y"),
        (matlab(scale=3), "holds other data than expected"),
    ],
)
def test_other_files_of_the_user_are_refused(
    publish: Any, tmp_path: Path, content: bytes, words: str
) -> None:
    publish(matlab())
    (tmp_path / "yale.mat").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        load("yale", data_home=tmp_path)


@pytest.mark.parametrize("name", ["orl", "yale", "coil20", "yaleb"])
def test_the_sets_come_back_from_matlab_files(
    name: str, tmp_path: Path, common_file: Callable[[str], Path]
) -> None:
    X, y = load(name, data_home=common_file(name).parent, return_X_y=True)
    height, width = CATALOG[name].image_shape
    turned = X.reshape(-1, height, width).transpose(0, 2, 1).reshape(len(X), -1)
    savemat(tmp_path / f"{name}.mat", {"fea": turned, "gnd": y[:, None] + 1})
    found, classes = load(name, data_home=tmp_path, return_X_y=True)
    assert_array_equal(found, X, strict=True)
    assert_array_equal(classes, y, strict=True)


# Pictures of COIL-100.


@pytest.mark.parametrize("kind", ["png", "ppm"])
def test_pictures_become_rows(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, size=(4, 128, 128, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("coil-100/convertGroupppm2png.pl", "#")
        for number in (3, 0, 2, 1):
            name = f"coil-100/obj{number // 2 + 1}__{5 * (number % 2)}.{kind}"
            archive.writestr(name, encoded(pictures[number], kind))
    gray = pictures @ np.array([0.299, 0.587, 0.114])
    blocks = np.array(
        [[[block(each, i, j).mean() for j in range(32)] for i in range(32)] for each in gray]
    )
    expected = np.rint(blocks).astype(np.uint8).reshape(4, 1024)
    classes = np.array([0, 0, 1, 1])
    digest = sha256(expected.tobytes() + classes.astype("<i8").tobytes()).hexdigest()
    changed = {"n_samples": 4, "n_classes": 2, "sha256": digest}
    monkeypatch.setitem(CATALOG, "coil100", DataSet(**(vars(CATALOG["coil100"]) | changed)))
    server.files["/coil-100.zip"] = buffer.getvalue()
    found = load("coil100", data_home=tmp_path)
    assert_array_equal(found.data, expected, strict=True)
    assert_array_equal(found.target, classes, strict=True)
    server.files["/coil-100.zip"] = empty_zip()
    with pytest.raises(OSError, match="has 0 pictures; expected are 4"):
        load("coil100", data_home=tmp_path / "other")


def encoded(picture: np.ndarray, kind: str) -> bytes:
    if kind == "ppm":
        return b"P6\n# made here\n128 128\n255\n" + picture.tobytes()
    buffer = io.BytesIO()
    imsave(buffer, picture, format="png")
    return buffer.getvalue()


def block(gray: np.ndarray, i: int, j: int) -> np.ndarray:
    return gray[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]


def empty_zip() -> bytes:
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    return buffer.getvalue()


def test_every_address_is_complete() -> None:
    for name, original in ORIGINALS.items():
        assert original.address.startswith("https://")
        assert (original.sha256 is None) == (name == "coil100")
        if original.sha256 is not None:
            assert re.search(r"/[0-9a-f]{40}/.*\.mat$", original.address), "a fixed commit"
            assert re.fullmatch("[0-9a-f]{64}", original.sha256)
