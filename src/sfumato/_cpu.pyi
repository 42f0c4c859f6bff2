"""Which instruction-set levels this machine has."""

def levels() -> list[str]:
    """Names of the levels that can run here, best first."""
