"""Results of estimators as they come, over many seeds; ``python -m benchmarks.stability``."""
