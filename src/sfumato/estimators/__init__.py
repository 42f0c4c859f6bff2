"""Estimators: the family of a loss and a membership rule, a detector of outliers, and others."""

from sfumato.estimators._detector import ClusterOutlierDetector
from sfumato.estimators._fuzzy import RSFKM, FuzzyClustering, FuzzyCMeans
from sfumato.estimators._kmedoids import KMedoids
from sfumato.estimators._landmarks import LandmarkSpectralClustering, LandmarkSpectralEmbedding
from sfumato.estimators._refcmfs import REFCMFS, CappedREFCMFS, SimREFCMFS

__all__ = [
    "REFCMFS",
    "RSFKM",
    "CappedREFCMFS",
    "ClusterOutlierDetector",
    "FuzzyCMeans",
    "FuzzyClustering",
    "KMedoids",
    "LandmarkSpectralClustering",
    "LandmarkSpectralEmbedding",
    "SimREFCMFS",
]
