"""Downloads of single files: verified, resumed where they broke off, with progress."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

TIMEOUT = 30.0
"""Seconds that a server may be silent. Chosen by hand."""
PAUSES = (1.0, 4.0)
"""Seconds before each further attempt. Chosen by hand."""
BLOCK = 1 << 18
"""Bytes that are read at a time. Chosen by hand."""
MOST_BYTES = 1 << 28
"""Bytes of a file, at most: twice those of the largest one, the pictures of COIL-100."""


def download(url: str, part: Path, digest: str | None) -> None:
    """Download a file; what is there already, from an attempt that broke off, is not repeated.

    Parameters
    ----------
    url : str
    part : Path
        The file. After a failure it holds what was received, for the next call.
    digest : str or None
        Its SHA-256, if it is known; a file with another one is removed.

    Raises
    ------
    OSError
        If the file cannot be had, also after further attempts.
    ValueError
        If it is not the expected one.
    """
    for pause in (*PAUSES, None):
        try:
            _receive(url, part)
            break
        except (OSError, HTTPException) as error:
            if pause is None or not _may_pass(error):
                raise
            time.sleep(pause)
    if digest is not None:
        found = sha256(part.read_bytes()).hexdigest()
        if found != digest:
            part.unlink()
            raise ValueError(f"{url} has the SHA-256 {found}; expected is {digest}")


def _may_pass(error: Exception) -> bool:
    """Whether another attempt may succeed: not without a network, nor for a refused address."""
    if isinstance(error, HTTPError):
        return not 400 <= error.code < 500
    return not (isinstance(error, URLError) and isinstance(error.reason, socket.gaierror))


def _receive(url: str, part: Path) -> None:
    """Append to a file what it lacks."""
    done = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "sfumato", "Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
    try:
        with urlopen(Request(url, headers=headers), timeout=TIMEOUT) as answer:
            resumed = done > 0 and answer.status == 206
            length = answer.headers.get("Content-Length")
            done = done if resumed else 0
            total = None if length is None else done + int(length)
            with part.open("ab" if resumed else "wb") as file:
                for block in _blocks(answer, url, done, total):
                    file.write(block)
    except HTTPError as error:
        if error.code != 416 or not done:  # 416: nothing is left to be sent.
            raise


def _blocks(answer: object, url: str, done: int, total: int | None) -> Iterator[bytes]:
    """Blocks of an answer, until it is complete."""
    progress = _Progress(url, total)
    try:
        while block := answer.read(BLOCK):  # type: ignore[attr-defined] # of urllib, without types
            done += len(block)
            if done > MOST_BYTES:
                raise ValueError(f"{url} sends more than {MOST_BYTES} bytes")
            yield block
            progress.show(done)
    finally:
        progress.end()
    if total is not None and done < total:
        raise OSError(f"the connection broke off after {done} of {total} bytes")


class _Progress:
    """A line on the error stream, if it is a terminal."""

    def __init__(self, url: str, total: int | None) -> None:
        self.name = url.rsplit("/", 1)[-1]
        self.total = "" if total is None else f" of {total / 1e6:.1f}"
        self.shown = False

    def show(self, done: int) -> None:
        if sys.stderr.isatty():
            self.shown = True
            print(f"\r{self.name}: {done / 1e6:.1f}{self.total} MB ", end="", file=sys.stderr)

    def end(self) -> None:
        if self.shown:
            print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)
