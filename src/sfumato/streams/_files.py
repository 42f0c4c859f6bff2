"""Streams that read files, and notice when a file changes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sfumato.exceptions import StreamError, one_line
from sfumato.streams._base import Chunk, Stream
from sfumato.streams._blocks import BufferRing


class FileSignature(NamedTuple):
    """What a file looks like from outside; another one means that the file was changed."""

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> FileSignature:
        """FileSignature of a file as it is now."""
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


def check_signature(path: Path, expected: FileSignature) -> None:
    """Raise StreamError if a file is not what it was when its stamp was taken."""
    try:
        now = FileSignature.of(path)
    except OSError as error:
        raise StreamError(
            f"{path} changed while it was being read: it is gone or cannot be reached "
            f"({error.strerror}); put it back and start again, or work on a copy."
        ) from error
    if now == expected:
        return
    if now.size != expected.size:
        what = f"it had {expected.size} bytes, and has {now.size} now"
    elif now.inode != expected.inode:
        what = "another file has taken its place"
    else:
        what = "it was written to"
    raise StreamError(
        f"{path} changed while it was being read: {what}; start again, or work on a copy."
    )


class FileStream(Stream):
    """Rows of one file after the other.

    Parameters
    ----------
    paths : sequence of Path
        The files, at least one.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self.source = str(paths[0])
        if len(paths) > 1:
            self.source = f"{paths[0]} and {len(paths) - 1} more"
        self._signatures = tuple(map(FileSignature.of, self.paths))

    def _check_unchanged(self) -> None:
        for path, stamp in zip(self.paths, self._signatures, strict=True):
            check_signature(path, stamp)

    def _read(self) -> Iterator[Chunk]:
        ring = BufferRing()
        for index, (path, stamp) in enumerate(zip(self.paths, self._signatures, strict=True)):
            check_signature(path, stamp)
            try:
                yield from self._read_file(index, ring)
            except Exception as error:
                # A file that was changed is to blame for whatever reading it led to.
                check_signature(path, stamp)
                if isinstance(error, OSError):
                    raise StreamError(
                        f"{path} cannot be read ({one_line(error)}); check the disk, and the "
                        "file with another program."
                    ) from error
                raise
            check_signature(path, stamp)

    @abstractmethod
    def _read_file(self, index: int, ring: BufferRing) -> Iterator[Chunk]:
        """Chunks of one file, by its number in ``paths``, in buffers of the ring."""
