"""Data to cluster: synthetic with known clusters and outliers, or well-known sets of images."""

from sfumato.datasets.customers import make_customers
from sfumato.datasets.images import load
from sfumato.datasets.synthetic import OUTLIERS, make_blobs_with_outliers

__all__ = ["OUTLIERS", "load", "make_blobs_with_outliers", "make_customers"]
