"""Initial centers: greedy seeding, robust seeding, an automatic cap."""

from __future__ import annotations

from sfumato._checks import resolve_name
from sfumato._init.base import Initializer, KMeansPlusPlus, RandomRows
from sfumato._init.robust import RobustSeeds
from sfumato._problem import Problem

INITIALIZERS: dict[str, type[Initializer]] = {
    "k-means++": KMeansPlusPlus,
    "random": RandomRows,
    "robust": RobustSeeds,
}
"""Initializers by the names that estimators take."""


def resolve_initializer(name: str, problem: Problem) -> Initializer:
    """Initializer of that name; "auto" is robust for a bounded loss, otherwise k-means++."""
    automatic = RobustSeeds if problem.loss.bounded else KMeansPlusPlus
    initializer: type[Initializer] = resolve_name("init", name, {"auto": automatic, **INITIALIZERS})
    return initializer()
