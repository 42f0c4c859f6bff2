"""Files of the paper's data sets, for tests that change the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.catalogue import data_file


@pytest.fixture(scope="session")
def common_file() -> Callable[[str], Path]:
    """``data_file`` with SFUMATO_DATA as it was before a test removed it."""
    folder = os.environ.get("SFUMATO_DATA", "")

    def find(name: str) -> Path:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SFUMATO_DATA", folder)
            return data_file(name)

    return find
