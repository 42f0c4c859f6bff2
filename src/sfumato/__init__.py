"""Robust, sparse, soft clustering.

Each point belongs to a few clusters, with memberships that sum to one, and outliers move little.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato._description import Description, describe
    from sfumato._fit.diagnostics import Outcome
    from sfumato._init.base import Initializer
    from sfumato._onnx import to_onnx
    from sfumato._persistence import load, save
    from sfumato._selection.record import Selection
    from sfumato._solvers.descent import IterationRecord, StopReason
    from sfumato._tables.preparer import TablePreparer
    from sfumato.estimators import (
        REFCMFS,
        RSFKM,
        CappedREFCMFS,
        ClusterOutlierDetector,
        FuzzyClustering,
        FuzzyCMeans,
        KMedoids,
        LandmarkSpectralClustering,
        LandmarkSpectralEmbedding,
        SimREFCMFS,
    )
    from sfumato.estimators._explanation import OutlierExplanation
    from sfumato.losses import L21, Capped, Loss, Squared
    from sfumato.memberships import Hard, Membership, Power, Simplex
    from sfumato.reporting import report
    from sfumato.selection import select_n_clusters
    from sfumato.streams import LazyArray, Stream, stream

__version__: str

__all__ = [
    "L21",
    "REFCMFS",
    "RSFKM",
    "Capped",
    "CappedREFCMFS",
    "ClusterOutlierDetector",
    "Description",
    "FuzzyCMeans",
    "FuzzyClustering",
    "Hard",
    "Initializer",
    "IterationRecord",
    "KMedoids",
    "LandmarkSpectralClustering",
    "LandmarkSpectralEmbedding",
    "LazyArray",
    "Loss",
    "Membership",
    "Outcome",
    "OutlierExplanation",
    "Power",
    "Selection",
    "SimREFCMFS",
    "Simplex",
    "Squared",
    "StopReason",
    "Stream",
    "TablePreparer",
    "describe",
    "load",
    "report",
    "save",
    "select_n_clusters",
    "stream",
    "to_onnx",
]

_HOMES = {
    **dict.fromkeys(("L21", "Capped", "Loss", "Squared"), "losses"),
    **dict.fromkeys(("Hard", "Membership", "Power", "Simplex"), "memberships"),
    **dict.fromkeys(("LazyArray", "Stream", "stream"), "streams"),
    **dict.fromkeys(("IterationRecord", "StopReason"), "_solvers.descent"),
    **dict.fromkeys(("Description", "describe"), "_description"),
    **dict.fromkeys(("load", "save"), "_persistence"),
    "report": "reporting",
    "TablePreparer": "_tables.preparer",
    "to_onnx": "_onnx",
    "Outcome": "_fit.diagnostics",
    "OutlierExplanation": "estimators._explanation",
    "Selection": "_selection.record",
    "select_n_clusters": "selection",
    "Initializer": "_init.base",
}
"""Modules of the public names that are no estimators."""
_MODULES = (
    "datasets",
    "estimators",
    "exceptions",
    "files",
    "losses",
    "memberships",
    "metrics",
    "plotting",
    "reporting",
    "selection",
    "streams",
)


def __getattr__(name: str) -> Any:
    """Import a public name or module at its first use, so that ``sfumato --help`` is quick."""
    if name == "__version__":
        return import_module("importlib.metadata").version("sfumato")
    if name in _MODULES:
        return import_module(f"sfumato.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    found = getattr(import_module(f"sfumato.{_HOMES.get(name, 'estimators')}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
