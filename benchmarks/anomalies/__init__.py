"""Detectors of outliers on real data, compared; see ``__main__``."""
