"""What is imported when: each in a fresh process."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["cluster", "--help"], ["reproduce", "--help"]]
)
def test_help_imports_click_alone(words):
    code = (
        "import atexit, sys\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'rich', 'sfumato._engines'}\n"
        "atexit.register(lambda: print(heavy & set(sys.modules), file=sys.stderr))\n"
        "from sfumato.cli.main import main\n"
        "main(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", code, *words]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.stdout
    assert found.stderr == "set()\n"


@pytest.mark.slow
def test_import_of_the_library_is_light():
    """scikit-learn brings pandas and rich itself where they are installed; we add nothing."""
    code = (
        "import sys, sklearn.base\n"
        "from contextlib import suppress\n"
        "with suppress(ModuleNotFoundError):  import sklearn.callback\n"  # From 1.9 on.
        "before = set(sys.modules)\n"
        "from sfumato import *\n"
        "heavy = {'click', 'rich', 'pandas', 'pyarrow', 'matplotlib'}\n"
        "print(heavy & (set(sys.modules) - before))\n"
        "print([name for name in ('sfumato.cli', 'sfumato.plotting') if name in sys.modules])\n"
        "print(REFCMFS.__name__, stream.__name__)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "set()\n[]\nREFCMFS stream\n"


def test_public_names_and_modules_are_attributes():
    code = (
        "import sfumato\n"
        "assert set(sfumato.__all__) < set(dir(sfumato))\n"
        "print(sfumato.losses.Capped is sfumato.Capped, sfumato.metrics.nmi.__name__)\n"
        "print(hasattr(sfumato, 'nothing'))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "True nmi\nFalse\n"
