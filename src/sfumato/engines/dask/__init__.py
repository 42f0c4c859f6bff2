"""Pieces from dask: blocks of an array or partitions of a frame, wherever they are."""

from sfumato.engines.dask.runner import DaskRunner

__all__ = ["DaskRunner"]
