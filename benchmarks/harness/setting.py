"""Setting of a measurement: the machine, and the versions of all that was timed."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sfumato._native import core, effective_threads

PACKAGES = ("sfumato", "numpy", "scipy", "scikit-learn", "scikit-fuzzy", "fuzzy-c-means")


def setting(others: tuple[str, ...] = ()) -> dict[str, str]:
    """Names and values, in the order of the page; ``others`` replace the usual peers."""
    level = core.__name__.rpartition("_core_")[2]
    return {
        "processor": field_of("/proc/cpuinfo", "model name"),
        "processors": f"{os.cpu_count()}, of which a pass uses {effective_threads(None)}",
        "memory": f"{int(field_of('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.0f} GB",
        "system": f"{platform.system()} {platform.machine()}",
        "compiled level": level,
        "Python": platform.python_version(),
        **{package: installed(package) for package in (*PACKAGES[:4], *(others or PACKAGES[4:]))},
    }


def field_of(path: str, field: str) -> str:
    """Value of the first line of a kernel's table that begins with the field."""
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return "unknown"


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
