"""Robust, sparse, soft clustering.

Each point belongs to a few clusters, outliers move little, and it costs what K-means costs.
"""

from importlib.metadata import version

from sfumato._init.base import Initializer
from sfumato._solvers.descent import IterationRecord, Outcome
from sfumato.estimators import (
    REFCMFS,
    RSFKM,
    CappedREFCMFS,
    FuzzyClustering,
    FuzzyCMeans,
    KMedoids,
    LandmarkSpectralClustering,
    LandmarkSpectralEmbedding,
    SimREFCMFS,
)
from sfumato.losses import L21, Capped, Loss, Squared
from sfumato.memberships import Hard, Membership, Power, Simplex
from sfumato.streams import LazyArray, Stream, stream

__version__ = version("sfumato")

__all__ = [
    "L21",
    "REFCMFS",
    "RSFKM",
    "Capped",
    "CappedREFCMFS",
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
    "Power",
    "SimREFCMFS",
    "Simplex",
    "Squared",
    "Stream",
    "stream",
]
