"""Examples that broke a property once are kept."""

from __future__ import annotations

from pathlib import Path

from tests.properties.conftest import TextDatabase


def test_examples_of_former_runs_stay_and_smaller_ones_replace_new_ones(tmp_path: Path) -> None:
    TextDatabase(tmp_path).save(b"property", b"\x01")
    again = TextDatabase(tmp_path)
    again.save(b"property", b"\x02")
    again.save(b"property", b"\x03")
    again.delete(b"property", b"\x01")
    again.delete(b"property", b"\x02")
    assert {*TextDatabase(tmp_path).fetch(b"property")} == {b"\x01", b"\x03"}
