"""Robust, sparse, soft clustering.

Each point belongs to a few clusters, outliers move little, and it costs what K-means costs.
"""

from importlib.metadata import version

from sfumato.estimators import FuzzyClustering
from sfumato.landmarks import LandmarkSpectralClustering, LandmarkSpectralEmbedding
from sfumato.medoids import KMedoids
from sfumato.presets import REFCMFS, RSFKM, CappedREFCMFS, FuzzyCMeans, SimREFCMFS
from sfumato.problem import L21, Capped, Hard, Power, Simplex, Squared
from sfumato.solve.solution import IterationRecord, Outcome
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
