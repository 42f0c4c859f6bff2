"""Robust, sparse, soft clustering.

Each point belongs to a few clusters, outliers move little, and it costs what K-means costs.
"""

from importlib.metadata import version

from sfumato._solvers.descent import IterationRecord, Outcome
from sfumato.estimators import REFCMFS, RSFKM, CappedREFCMFS, FuzzyCMeans, SimREFCMFS
from sfumato.estimators._base import FuzzyClustering
from sfumato.estimators._kmedoids import KMedoids
from sfumato.estimators._landmarks import LandmarkSpectralClustering, LandmarkSpectralEmbedding
from sfumato.losses import L21, Capped, Squared
from sfumato.memberships import Hard, Power, Simplex
from sfumato.streams import stream

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
    "IterationRecord",
    "KMedoids",
    "LandmarkSpectralClustering",
    "LandmarkSpectralEmbedding",
    "Outcome",
    "Power",
    "SimREFCMFS",
    "Simplex",
    "Squared",
    "stream",
]
