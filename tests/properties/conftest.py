"""Profiles of hypothesis: a short one in ``make test``, and as long as asked in ``make fuzz``.

``make fuzz`` runs rounds of ``FUZZ_EXAMPLES`` new examples per property until ``FUZZ_MINUTES`` are
over. What breaks a property is printed, and kept in ``tests/properties/found``, which every later
run replays first; commit it together with the cure, and it stays. The short profile is the same in
every run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.database import ExampleDatabase, ReadOnlyDatabase

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))
"""Examples of a property in a round of ``make fuzz``; none in ``make test``."""
SHORT = 60
"""Examples of a property in ``make test``: some seconds."""


class TextDatabase(ExampleDatabase):
    """Examples in text files: one file per property, one example in hexadecimal digits per line.

    An example that was there before stays, also after its cure: hypothesis would delete what breaks
    nothing any more.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._new: set[tuple[bytes, bytes]] = set()

    def _file(self, key: bytes) -> Path:
        return self._folder / f"{blake2b(key, digest_size=8).hexdigest()}.txt"

    def fetch(self, key: bytes) -> Iterator[bytes]:
        file = self._file(key)
        yield from map(bytes.fromhex, file.read_text().split() if file.exists() else ())

    def save(self, key: bytes, value: bytes) -> None:
        known = {*self.fetch(key)}
        if value not in known:
            self._new.add((key, value))
            self._write(key, known | {value})

    def delete(self, key: bytes, value: bytes) -> None:
        if (key, value) in self._new:
            self._write(key, {*self.fetch(key)} - {value})

    def _write(self, key: bytes, values: set[bytes]) -> None:
        if key.endswith((b".secondary", b".pareto")):
            return  # Larger examples of the same failures.
        self._folder.mkdir(exist_ok=True)
        self._file(key).write_text("".join(f"{each.hex()}\n" for each in sorted(values)))


FOUND = TextDatabase(Path(__file__).parent / "found")

UNHURRIED = {
    "deadline": None,  # Machines differ.
    "print_blob": True,
    "suppress_health_check": list(HealthCheck),
}
settings.register_profile(
    "short",
    max_examples=SHORT,
    database=ReadOnlyDatabase(FOUND),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    **UNHURRIED,
)
settings.register_profile("fuzz", max_examples=max(1, EXAMPLES), database=FOUND, **UNHURRIED)
settings.load_profile("fuzz" if EXAMPLES else "short")


def searched(test):
    """Decorate a property, so that it searches among the same examples in every short run."""
    if EXAMPLES:
        return test
    return settings(settings.get_profile("short"))(seed(0)(test))  # A seed alone replays nothing.
