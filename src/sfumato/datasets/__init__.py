"""Data to cluster: made up, with known clusters and outliers, or well-known sets of images."""

from sfumato.datasets.blobs import OUTLIERS, make_blobs_with_outliers
from sfumato.datasets.files import load

__all__ = ["OUTLIERS", "load", "make_blobs_with_outliers"]
