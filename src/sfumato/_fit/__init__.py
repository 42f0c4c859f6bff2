"""A fit, from checked data to a solution: automatic parameters, starts, checkpoints."""
