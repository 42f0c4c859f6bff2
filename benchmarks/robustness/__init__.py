"""Ours and other clusterings on contaminated data; ``python -m benchmarks.robustness``."""
