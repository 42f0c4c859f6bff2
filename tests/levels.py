"""Results of the compiled core at each instruction-set level of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato import _cpu

ROOT = Path(__file__).resolve().parents[1]
LEVELS: list[str] = list(_cpu.levels())


def at_level(level: str, module: str, folder: Path) -> dict[str, NDArray]:
    """What ``results()`` of a test module returns in a process that uses the given level.

    A process loads the core once, so that each level needs one of its own.
    """
    file = folder / f"{level}.npz"
    code = (
        f"import numpy; from {module} import results; from sfumato._native import core; "
        f"assert core.__name__ == 'sfumato._core_{level}', core; "
        f"numpy.savez({str(file)!r}, **results())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"SFUMATO_LEVEL": level},
    )
    assert done.returncode == 0, done.stderr
    with np.load(file) as arrays:
        return dict(arrays)
