"""The command ``sfumato``."""
