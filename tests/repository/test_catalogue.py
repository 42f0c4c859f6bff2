"""Whatever is registered is in the catalogue, so that a new part is tested on its first day."""

import pytest

from sfumato import _engines as engines
from sfumato import losses, memberships
from tests import catalogue


@pytest.mark.parametrize(
    ("registered", "entries"),
    [
        (losses.LOSSES, catalogue.LOSSES),
        (memberships.MEMBERSHIPS, catalogue.MEMBERSHIPS),
    ],
    ids=["losses", "memberships"],
)
def test_every_registered_part_has_entries(registered, entries):
    assert set(registered.values()) == set(entries)
    for cls, parts in entries.items():
        assert parts, f"{cls.__name__} has no entry in tests/catalogue.py"
        assert all(type(part) is cls for part in parts)


def test_every_engine_is_tested():
    tested = {engines.ENGINES[name] for name in catalogue.ENGINES}
    assert tested == set(engines.ENGINES.values())


@catalogue.every_membership
def test_entries_are_resolved(membership):
    resolved = membership.resolve(catalogue.N_CLUSTERS)
    assert resolved.get_params() == membership.get_params()


def test_labels_are_unique():
    for parts in (catalogue.EVERY_LOSS, catalogue.EVERY_MEMBERSHIP):
        assert len({catalogue.label(part) for part in parts}) == len(parts)
