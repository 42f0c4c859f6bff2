"""Files that appear whole or not at all, and replace others only on request.

What is unfinished has a temporary name, and is locked by the process that writes it. It is removed
when the write fails or the process is told to end; what a killed process left is removed by the
next write to the same place. Where the system cannot lock a folder, as on Windows, what a killed
process left stays.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.exceptions import UserError, one_line

fcntl: Any
try:
    import fcntl
except ModuleNotFoundError:  # Windows.
    fcntl = None

__all__ = ["OutputFolder", "nearest_existing", "write_atomically"]

STAGE = ".sfumato-"
"""First characters of the names of temporary folders and files."""

LONGEST_WAIT = 10.0
"""Seconds to wait for the lock of a folder; chosen by hand."""
OWNED: set[Path] = set()
"""Temporary files and folders that this process has locked: no lock is waited for in them."""

_unfinished: dict[object, Callable[[], None]] = {}
"""For each write that is under way, a function that undoes it."""


def undo_unfinished() -> None:
    """Undo all writes that are under way: for a process that is about to end."""
    for undo in list(_unfinished.values()):
        undo()


@contextmanager
def _undone_on_failure(undo: Callable[[], None]) -> Iterator[None]:
    """Call a function if the block raises, or if the process is told to end in it."""
    key = object()
    try:
        _unfinished[key] = undo
        yield
    except BaseException:
        undo()
        raise
    finally:
        _unfinished.pop(key, None)


@contextmanager
def write_atomically(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
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
    _check_free(path, overwrite)
    prefix = f"{STAGE}{path.name}-"
    unfinished = folder / f"{prefix}{secrets.token_hex(8)}.part"
    with _undone_on_failure(partial(_remove, unfinished)), ExitStack() as owned:
        with naming(path):
            owned.enter_context(_owning(unfinished, prefix, Path.touch))
        yield unfinished
        with naming(path):
            _sync(unfinished)
        _check_free(path, overwrite)  # Again: a file may have come in the meantime.
        with naming(path):
            unfinished.replace(path)
        _sync_folder(folder)


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
        stage = self.path / f"{STAGE}{secrets.token_hex(8)}"
        made = [p for p in (self.path, *self.path.parents) if not p.exists()]
        placement = _Placement(self.path, stage, made)
        try:
            with _undone_on_failure(placement.undo), ExitStack() as owned:
                self.path.mkdir(parents=True, exist_ok=True)
                owned.enter_context(_owning(stage, STAGE, Path.mkdir))
                function(stage)
                written = [name for name in self.names if (stage / name).exists()]
                for name in written:
                    _sync(stage / name)
                with _locked(self.path):  # Two processes must not mix their files.
                    self.check()  # Again: a file may have come while these were made.
                    placement.place(written)
                _remove(stage)
                _sync_folder(self.path)
        except OSError as error:
            raise UserError(
                f"{self.path} cannot be written to ({one_line(error)}); nothing new was left "
                "there. Make room, or give another --output."
            ) from error


@dataclass
class _Placement:
    """Files of a temporary folder that take their places, all of them or none.

    Attributes
    ----------
    folder, stage : Path
        Where the files go, and where they are.
    made : list of Path
        Folders that were made for them, the innermost first.
    """

    folder: Path
    stage: Path
    made: list[Path]
    _placed: list[str] = field(default_factory=list)
    _done: bool = False

    def place(self, names: list[str]) -> None:
        """Move files to their places; former ones are kept until all are there."""
        for name in names:
            if os.path.lexists(self.folder / name):
                _keep(self.folder / name, self._former(name))
        for name in names:
            self._placed.append(name)
            (self.stage / name).replace(self.folder / name)
        self._done = True

    def undo(self) -> None:
        """Remove new files and folders, and put former files back, unless all are in place."""
        for name in () if self._done else self._placed:
            with suppress(OSError):
                if os.path.lexists(self._former(name)):
                    self._former(name).replace(self.folder / name)
                elif not os.path.lexists(self.stage / name):
                    (self.folder / name).unlink(missing_ok=True)
        _remove(self.stage)
        for folder in self.made:
            with suppress(OSError):  # It was not made yet, or other files are in it by now.
                folder.rmdir()

    def _former(self, name: str) -> Path:
        return self.stage / f"{name}.former"


def _keep(path: Path, copy: Path) -> None:
    """Keep a file under a second name."""
    try:
        os.link(path, copy, follow_symlinks=False)
    except OSError:  # A file system without links, or a folder, which cannot be copied either.
        shutil.copy2(path, copy, follow_symlinks=False)


@contextmanager
def _owning(path: Path, prefix: str, make: Callable[[Path], None]) -> Iterator[None]:
    """Make a temporary file or folder, locked until the block ends; remove abandoned ones.

    Parameters
    ----------
    path : Path
    prefix : str
        First characters of the names of those that are removed, if no process has them locked.
    make : callable
        Makes the path.
    """
    with ExitStack() as owned:
        with nullcontext() if path.absolute().parent in OWNED else _locked(path.parent):
            for other in path.parent.iterdir():
                if other.name.startswith(prefix) and _is_abandoned(other):
                    _remove(other)
            make(path)
            owned.enter_context(_locked(path))
            owned.callback(OWNED.discard, path.absolute())
            OWNED.add(path.absolute())
        yield


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file or folder, on systems that have locks.

    Locks of folders are held for a moment. One that is not free for long was left by an interrupt
    in this process; the block is then run without it.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        deadline = time.monotonic() + LONGEST_WAIT
        while not try_lock(descriptor) and time.monotonic() < deadline:
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Take the lock of an open file if it is free; True also where there are no locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)  # Others: there are no locks.
    return True


def _is_abandoned(path: Path) -> bool:
    """Whether no process has a temporary file or folder locked."""
    if fcntl is None:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # It is in use, or there are no locks.
        return False
    finally:
        os.close(descriptor)
    return True


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it exists and can be removed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


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
