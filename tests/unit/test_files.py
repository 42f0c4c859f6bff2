"""Files that appear whole or not at all."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from sfumato import files
from sfumato.exceptions import UserError
from sfumato.files import OutputFolder, undo_unfinished, write_atomically
from tests.injected import interrupt_at


def text(content):
    return lambda path: path.write_text(content)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else None


def killed(folder, statement):
    """Run a statement in a process of its own, in a folder; it kills itself by kill()."""
    code = (
        "import os, signal\n"
        "from pathlib import Path\n"
        "from sfumato.files import OutputFolder, write_atomically\n"
        "def kill(): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", code + statement]
    assert subprocess.run(command, cwd=folder, timeout=120).returncode == -signal.SIGKILL


class TestOutputFolder:
    def test_files_appear(self, tmp_path):
        folder = OutputFolder(tmp_path / "deep" / "out", ("a", "b"))
        folder.write({"a": text("1"), "b": text("2")})
        assert names_in(folder.path) == ["a", "b"]
        assert (folder.path / "b").read_text() == "2"

    def test_existing_files_are_kept_unless_forced(self, tmp_path):
        (tmp_path / "b").write_text("old")
        with pytest.raises(UserError, match=r"already holds b; .*--force"):
            OutputFolder(tmp_path, ("a", "b")).check()
        with pytest.raises(UserError, match=r"already holds b; .*--force"):
            OutputFolder(tmp_path, ("a", "b")).write({"a": text("1"), "b": text("2")})
        assert names_in(tmp_path) == ["b"]
        assert (tmp_path / "b").read_text() == "old"
        OutputFolder(tmp_path, ("a", "b"), force=True).write({"a": text("1"), "b": text("2")})
        assert (tmp_path / "b").read_text() == "2"

    def test_a_link_to_nowhere_counts_as_existing(self, tmp_path):
        (tmp_path / "a").symlink_to(tmp_path / "nowhere")
        with pytest.raises(UserError, match="already holds a"):
            OutputFolder(tmp_path, ("a",)).check()

    def test_a_file_that_comes_meanwhile_is_kept(self, tmp_path):
        def slow(path):
            path.write_text("ours")
            (tmp_path / "a").write_text("theirs")

        with pytest.raises(UserError, match="already holds a"):
            OutputFolder(tmp_path, ("a", "b")).write({"b": text("2"), "a": slow})
        assert names_in(tmp_path) == ["a"]
        assert (tmp_path / "a").read_text() == "theirs"

    def test_check_leaves_nothing(self, tmp_path):
        OutputFolder(tmp_path / "new", ("a",)).check()
        assert names_in(tmp_path) == []

    @pytest.mark.parametrize("error", [RuntimeError("bug"), KeyboardInterrupt()])
    @pytest.mark.parametrize("existing", [False, True])
    def test_failure_while_writing_leaves_nothing(self, tmp_path, error, existing):
        out = tmp_path / "deep" / "out"
        if existing:
            out.mkdir(parents=True)
            (out / "other").write_text("theirs")

        def half(path):
            path.write_text("half of")
            raise error

        with pytest.raises(type(error)):
            OutputFolder(out, ("a", "b")).write({"a": text("whole"), "b": half})
        assert names_in(out) == (["other"] if existing else None)
        assert existing or names_in(tmp_path) == []

    def test_failure_leaves_forced_files_as_they_were(self, tmp_path):
        (tmp_path / "a").write_text("old")

        def fail(path):
            raise OSError(28, "No space left on device")

        with pytest.raises(UserError, match=r"cannot be written to .*No space left.*nothing new"):
            OutputFolder(tmp_path, ("a", "b"), force=True).write({"a": text("new"), "b": fail})
        assert names_in(tmp_path) == ["a"]
        assert (tmp_path / "a").read_text() == "old"

    def test_failure_while_placing_removes_what_was_placed(self, tmp_path):
        (tmp_path / "b").mkdir()  # A file cannot replace a folder.
        with pytest.raises(UserError, match="cannot be written to"):
            OutputFolder(tmp_path, ("a", "b"), force=True).write({"a": text("1"), "b": text("2")})
        assert names_in(tmp_path) == ["b"]

    @pytest.mark.parametrize("force", [False, True])
    def test_ctrl_c_at_any_moment(self, tmp_path, monkeypatch, force):
        """All files or none, also of those that were there before."""
        monkeypatch.setattr(files, "LONGEST_WAIT", 0.01)
        out, before = tmp_path / "deep" / "out", (["a", "b"] if force else None)
        for moment in range(1, 10_000):
            if force:
                out.mkdir(parents=True, exist_ok=True)
                for name in "ab":
                    (out / name).write_text("old")
            folder = OutputFolder(out, ("a", "b"), force)
            done = not interrupt_at(
                moment, lambda f=folder: f.write({"a": text("1"), "b": text("2")})
            )
            found = names_in(out)
            assert found in (before, ["a", "b"]), moment
            if found is not None:
                assert {(out / name).read_text() for name in "ab"} in ({"1", "2"}, {"old"}), moment
                shutil.rmtree(tmp_path / "deep")
            elif not done:
                assert names_in(tmp_path) == [], moment
            if done:
                break
        assert moment > 100

    def test_what_a_killed_process_left_is_removed(self, tmp_path):
        write_half = (
            "OutputFolder(Path(), ('a',)).fill(lambda stage: (stage / 'a').touch() or kill())"
        )
        killed(tmp_path, write_half)
        assert len(names_in(tmp_path)) == 1
        OutputFolder(tmp_path, ("a",)).write({"a": text("1")})
        assert names_in(tmp_path) == ["a"]

    def test_two_at_once_keep_their_temporary_files(self, tmp_path):
        folder = OutputFolder(tmp_path, ("a", "b"), force=True)

        def other(path):
            folder.write({"a": text("3"), "b": text("4")})
            path.write_text("2")

        folder.write({"a": text("1"), "b": other})
        assert names_in(tmp_path) == ["a", "b"]
        assert (tmp_path / "a").read_text() + (tmp_path / "b").read_text() == "12"

    def test_a_process_that_is_told_to_end_undoes_what_it_writes(self, tmp_path):
        folder, seen = OutputFolder(tmp_path / "out", ("a",)), []

        def end(path):
            undo_unfinished()
            seen.append(names_in(tmp_path))
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            folder.write({"a": end})
        assert seen == [[]]

    def test_a_file_where_the_folder_should_be(self, tmp_path):
        (tmp_path / "out").write_text("")
        for path in (tmp_path / "out", tmp_path / "out" / "deeper"):
            with pytest.raises(UserError, match="is a file, not a folder"):
                OutputFolder(path, ("a",)).check()

    def test_a_folder_without_permission(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(UserError, match="may not be written to"):
            OutputFolder(tmp_path / "out", ("a",)).check()

    def test_files_have_the_usual_permissions(self, tmp_path):
        OutputFolder(tmp_path, ("a",)).write({"a": text("{}")})
        (tmp_path / "reference").write_text("")
        assert (tmp_path / "a").stat().st_mode == (tmp_path / "reference").stat().st_mode


def write(path, content, error=None, meanwhile=None, **options):
    """Write a file; while it is unfinished, call a function, or raise an error."""
    with write_atomically(path, **options) as unfinished:
        unfinished.write_text(content)
        if meanwhile is not None:
            meanwhile()
        if error is not None:
            raise error


class TestWriteAtomically:
    def test_the_file_appears_at_the_end(self, tmp_path):
        path = tmp_path / "a"
        seen = []
        write(path, "whole", meanwhile=lambda: seen.append(path.exists()))
        assert seen == [False]
        assert path.read_text() == "whole"
        assert names_in(tmp_path) == ["a"]

    @pytest.mark.parametrize("error", [OSError("disk"), KeyboardInterrupt()])
    def test_a_failing_block_leaves_the_former_file(self, tmp_path, error):
        path = tmp_path / "a"
        path.write_text("old")
        with pytest.raises(type(error)) as caught:
            write(path, "half", error, overwrite=True)
        assert caught.value is error, "errors of the block are not changed"
        assert names_in(tmp_path) == ["a"]
        assert path.read_text() == "old"

    def test_an_existing_file_is_kept_unless_overwritten(self, tmp_path):
        path = tmp_path / "a"
        path.write_text("old")
        with pytest.raises(FileExistsError, match="overwrite=True"):
            write(path, "new", meanwhile=lambda: pytest.fail("the check comes first"))
        write(path, "new", overwrite=True)
        assert path.read_text() == "new"

    def test_a_file_that_comes_meanwhile_is_kept(self, tmp_path):
        path = tmp_path / "a"
        with pytest.raises(FileExistsError):
            write(path, "ours", meanwhile=lambda: path.write_text("theirs"))
        assert names_in(tmp_path) == ["a"]
        assert path.read_text() == "theirs"

    def test_what_a_killed_process_left_is_removed(self, tmp_path):
        killed(tmp_path, "with write_atomically('a') as path: path.write_text('half'); kill()")
        (left,) = names_in(tmp_path)
        assert left.startswith(".sfumato-a-")
        write(tmp_path / "b", "of another file")
        assert names_in(tmp_path) == [left, "b"]
        write(tmp_path / "a", "new")
        assert names_in(tmp_path) == ["a", "b"]

    def test_two_at_once_write_files_of_their_own(self, tmp_path):
        path = tmp_path / "a"
        write(path, "one", meanwhile=lambda: write(path, "two", overwrite=True), overwrite=True)
        assert path.read_text() == "one", "the last one to end"
        assert names_in(tmp_path) == ["a"]

    def test_nothing_is_waited_for_within_an_unfinished_folder(self, tmp_path, monkeypatch):
        def waited(seconds):
            raise AssertionError("the folder is our own")

        monkeypatch.setattr(files.time, "sleep", waited)
        monkeypatch.setattr(files, "OWNED", set())  # An interrupt of its clean-up leaves a name.
        monkeypatch.chdir(tmp_path)
        folder = OutputFolder(Path("out"), ("a", "b"), False)
        folder.write({name: partial(write, content=name) for name in ("a", "b")})
        assert names_in(tmp_path / "out") == ["a", "b"]
        assert not files.OWNED

    def test_ctrl_c_at_any_moment(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files, "LONGEST_WAIT", 0.01)  # A lock may be left by an interrupt.
        path = tmp_path / "a"
        path.write_text("old")
        for moment in range(1, 10_000):
            if not interrupt_at(moment, lambda: write(path, "new", overwrite=True)):
                break
            assert names_in(tmp_path) == ["a"], moment
            assert path.read_text() in ("old", "new")
            path.write_text("old")
        assert moment > 30

    def test_a_full_disk_is_told_with_the_path(self, tmp_path, monkeypatch):
        def full(descriptor):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"No space left.*Make room") as caught:
            write(tmp_path / "a", "new")
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "a"))
        assert names_in(tmp_path) == []

    def test_a_folder_of_that_name(self, tmp_path):
        with pytest.raises(IsADirectoryError):
            write(tmp_path, "new", overwrite=True)


def test_a_system_without_locks(tmp_path):
    """As Windows, which has no module fcntl."""
    code = (
        "import sys; sys.modules['fcntl'] = None\n"
        "from pathlib import Path\n"
        "from sfumato.files import OutputFolder, try_lock, write_atomically\n"
        "with write_atomically('a.txt') as path: path.write_text('1')\n"
        "writers = {'b.txt': lambda path: path.write_text('2')}\n"
        "OutputFolder(Path('out'), tuple(writers)).write(writers)\n"
        "with open('c.txt', 'w') as file: assert try_lock(file.fileno())\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=120)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "c.txt", "out"]
    assert (tmp_path / "out" / "b.txt").read_text() == "2"
