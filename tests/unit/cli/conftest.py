"""What all tests of the command share."""

import pytest

from sfumato.cli import progress


@pytest.fixture(autouse=True)
def no_lines_of_progress(monkeypatch):
    """Runs in this process print none, however long a busy machine takes for them."""
    monkeypatch.setattr(progress, "PAUSE", 3600.0)
    monkeypatch.setattr(progress, "LONGEST_PAUSE", 3600.0)
