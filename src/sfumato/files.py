"""Files that appear whole or not at all, and replace nothing unless told to."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.exceptions import UserError, one_line


@dataclass(frozen=True)
class Folder:
    """A folder where some files are to appear, whole or not at all.

    Parameters
    ----------
    path : Path
        The folder; made if it does not exist.
    names : tuple of str
        Names of the files.
    force : bool, default=False
        Whether files of these names may be replaced.
    """

    path: Path
    names: tuple[str, ...]
    force: bool = False

    def check(self) -> None:
        """Raise UserError if the files could not be written here; leaves nothing behind."""
        existing = self.path.absolute()
        while not existing.exists():
            existing = existing.parent
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
        """Let each writer write its file, then put all of them in place.

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
        """Let a function write all files into a folder beside, then put them in place.

        Parameters
        ----------
        function : callable
            Takes the path of an empty folder, and leaves files of some of the names there.
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
            _sync(self.path)
        except BaseException as error:
            _undo(stage, placed, made)
            if isinstance(error, OSError):
                raise UserError(
                    f"{self.path} cannot be written to ({one_line(error)}); nothing new was left "
                    "there. Make room, or give another --output."
                ) from error
            raise


def _sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _undo(stage: Path | None, placed: Sequence[Path], made: Sequence[Path]) -> None:
    """Remove what an unfinished write left: temporary files, new files, new folders."""
    for path in placed:
        path.unlink(missing_ok=True)
    if stage is not None:
        shutil.rmtree(stage, ignore_errors=True)
    with suppress(OSError):  # Somebody else's files are in it by now.
        for folder in made:
            folder.rmdir()
