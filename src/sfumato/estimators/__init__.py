"""Estimators: scikit-learn classes, each a choice of a loss and a membership rule."""

from sfumato.estimators._base import FuzzyClustering
from sfumato.estimators._fuzzy import RSFKM, FuzzyCMeans
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
