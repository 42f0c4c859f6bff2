"""Estimators: the family of a loss and a membership rule, medoids, and landmark methods."""

from sfumato.estimators._fuzzy import RSFKM, FuzzyClustering, FuzzyCMeans
from sfumato.estimators._kmedoids import KMedoids
from sfumato.estimators._landmarks import LandmarkSpectralClustering, LandmarkSpectralEmbedding
from sfumato.estimators._refcmfs import REFCMFS, CappedREFCMFS, SimREFCMFS

__all__ = [
    "REFCMFS",
    "RSFKM",
    "CappedREFCMFS",
    "FuzzyCMeans",
    "FuzzyClustering",
    "KMedoids",
    "LandmarkSpectralClustering",
    "LandmarkSpectralEmbedding",
    "SimREFCMFS",
]
