"""Initial centers: greedy seeding, robust seeding, an automatic cap."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from sfumato._checks import resolve_name
from sfumato._init.base import (
    CalledCenters,
    GivenCenters,
    Initializer,
    KMeansPlusPlus,
    RandomRows,
)
from sfumato._init.robust import RobustSeeds
from sfumato._problem import Problem
from sfumato._validation import check_centers
from sfumato.exceptions import ParameterTypeError

INITIALIZERS: dict[str, type[Initializer]] = {
    "k-means++": KMeansPlusPlus,
    "random": RandomRows,
    "robust": RobustSeeds,
}
"""Initializers by the names that estimators take."""


def make_initializer(
    init: str | ArrayLike | Initializer | Callable[..., Any],
    X: Any,
    data: Any,
    problem: Problem,
    n_clusters: int,
) -> Initializer:
    """Initializer for the parameter ``init``: a name, an initializer, an array, or a function.

    "auto" is robust for a bounded loss, otherwise k-means++.
    """
    if isinstance(init, str):
        automatic = RobustSeeds if problem.loss.bounded else KMeansPlusPlus
        made: Initializer = resolve_name("init", init, {"auto": automatic, **INITIALIZERS})()
        return made
    if isinstance(init, Initializer):
        return clone(init)
    if isinstance(init, type) and issubclass(init, Initializer):
        message = f"init={init.__name__} is a class; give an instance of it: {init.__name__}()."
        raise ParameterTypeError(message, "init", init)
    check = partial(check_centers, n_clusters=n_clusters, data=data)
    if callable(init):
        return CalledCenters(init, X, partial(check, source="init(X, ...)"))
    return GivenCenters(check(init, source="init"))
