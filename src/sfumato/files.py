"""Files that appear whole or not at all, and replace others only on request."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.exceptions import UserError, one_line

__all__ = ["OutputFolder", "nearest_existing", "write_atomically"]


@contextmanager
def write_atomically(
    path: str | os.PathLike[str], *, overwrite: bool = False, partial: str | None = None
) -> Iterator[Path]:
    """Write a file that appears under its name only when it is complete and on disk.

    A context manager: its value is the path of an empty file in the same folder. When the block
    ends, that file takes the name ``path``. If the block raises, it is removed, and a former file
    ``path`` stays as it was.

    Parameters
    ----------
    path : path-like
        The file, in a folder that exists.
    overwrite : bool, default=False
        Whether a file of that name may be replaced.
    partial : str, optional
        Name of the unfinished file; random by default. With a name, what a killed process left is
        replaced by the next one; but two processes must not write at the same time.

    Yields
    ------
    unfinished : Path
        Where to write.

    Raises
    ------
    FileExistsError
        If there is such a file and it may not be replaced, before or after the block.
    IsADirectoryError
        If ``path`` is a folder.
    OSError
        If the file cannot be made, flushed to disk or renamed. Errors of the block are not changed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sfumato.files import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers.txt")
    ...     with write_atomically(path) as unfinished:
    ...         _ = unfinished.write_text("1 2 3")
    ...     print(path.read_text())
    1 2 3
    """
    path = Path(path)
    folder = path.absolute().parent
    unfinished = folder / (partial or f".sfumato-{secrets.token_hex(8)}.part")
    _check_free(path, overwrite)
    try:
        with naming(path):
            unfinished.open("wb" if partial else "xb").close()
        yield unfinished
        with naming(path):
            _sync(unfinished)
        _check_free(path, overwrite)  # Again: a file may have come in the meantime.
        with naming(path):
            unfinished.replace(path)
        _sync_folder(folder)
    finally:
        with suppress(OSError):  # The first error counts.
            unfinished.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Raise any OSError again with the name of the file that was to be written, and advice."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno or errno.EIO,
            f"cannot be written ({one_line(error)}); nothing was left there. Make room, or give "
            "another path",
            str(path),
        ) from error


def _check_free(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; give the path of a file", str(path))
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(
            errno.EEXIST, "exists already; give another path, or overwrite=True", str(path)
        )


def nearest_existing(path: Path) -> Path:
    """Return the path itself, or its nearest parent that exists; absolute.

    Examples
    --------
    >>> from pathlib import Path
    >>> from sfumato.files import nearest_existing
    >>> nearest_existing(Path("no such folder") / "results") == Path().absolute()
    True
    """
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    return existing


@dataclass(frozen=True)
class OutputFolder:
    """A folder for the results of a command: several files that appear together or not at all.

    Parameters
    ----------
    path : Path
        The folder; made if it does not exist.
    names : tuple of str
        Names of the files.
    force : bool, default=False
        Whether files of these names may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sfumato.files import OutputFolder
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = OutputFolder(Path(place, "out"), ("a.txt",))
    ...     folder.write({"a.txt": lambda path: path.write_text("1")})
    ...     print((folder.path / "a.txt").read_text())
    1
    """

    path: Path
    names: tuple[str, ...]
    force: bool = False

    def check(self) -> None:
        """Raise UserError if the files cannot be written here; makes no file or folder."""
        existing = nearest_existing(self.path)
        if not existing.is_dir():
            raise UserError(f"{existing} is a file, not a folder; give another --output.")
        if not os.access(existing, os.W_OK | os.X_OK):
            raise UserError(f"{existing} may not be written to; give another --output.")
        taken = [name for name in self.names if os.path.lexists(self.path / name)]
        if taken and not self.force:
            raise UserError(
                f"{self.path} already holds {', '.join(taken)}; give another --output, or --force "
                "to replace them."
            )

    def write(self, writers: Mapping[str, Callable[[Path], object]]) -> None:
        """Write each file by a function of its own, then put all of them in place.

        Parameters
        ----------
        writers : mapping of str to callable
            For each name, in this order, a function that writes to the path it is given.
        """

        def fill(stage: Path) -> None:
            for name, write in writers.items():
                write(stage / name)

        self.fill(fill)

    def fill(self, function: Callable[[Path], object]) -> None:
        """Write all files by one function into a temporary folder, then put them in place.

        Parameters
        ----------
        function : callable
            Takes the path of an empty folder, and writes files of some of the names into it.
        """
        self.check()
        made = [p for p in (self.path, *self.path.parents) if not p.exists()]
        placed: list[Path] = []
        stage: Path | None = None
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            stage = Path(tempfile.mkdtemp(prefix=".sfumato-", dir=self.path))
            function(stage)
            written = [name for name in self.names if (stage / name).exists()]
            for name in written:
                _sync(stage / name)
            self.check()  # Again: a file may have come while these were made.
            for name in written:
                target = self.path / name
                if not target.exists():
                    placed.append(target)
                (stage / name).replace(target)
            stage.rmdir()
            _sync_folder(self.path)
        except BaseException as error:
            _undo(stage, placed, made)
            if isinstance(error, OSError):
                raise UserError(
                    f"{self.path} cannot be written to ({one_line(error)}); nothing new was left "
                    "there. Make room, or give another --output."
                ) from error
            raise


def _sync(path: Path, flags: int = os.O_RDWR) -> None:
    """Wait until a file is on disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    """Wait until the entries of a folder are on disk, where the system can do that."""
    with suppress(OSError):
        _sync(path, os.O_RDONLY)


def _undo(stage: Path | None, placed: Sequence[Path], made: Sequence[Path]) -> None:
    """Remove what an unfinished write left: temporary files, new files, new folders."""
    for path in placed:
        path.unlink(missing_ok=True)
    if stage is not None:
        shutil.rmtree(stage, ignore_errors=True)
    with suppress(OSError):  # Other files are in it by now.
        for folder in made:
            folder.rmdir()
