"""Data larger than memory, and larger than one machine."""
