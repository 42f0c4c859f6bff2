"""Names and parts: the only place where a string becomes an object."""

from __future__ import annotations

import difflib
from typing import Any

from sklearn.base import clone

from sfumato._data import Data
from sfumato._engines.base import Engine, ResidentEngine
from sfumato._engines.chunked import ChunkedData, ChunkedEngine
from sfumato._engines.native import NativeEngine
from sfumato._engines.reference import ReferenceEngine
from sfumato._init.base import Initializer, KMeansPlusPlus, RandomRows
from sfumato._init.robust import RobustSeeds
from sfumato._native import effective_threads
from sfumato._problem import Problem
from sfumato._solvers.acceleration import LBFGS, Acceleration, PlainSteps
from sfumato.losses import L21, Capped, Loss, Squared
from sfumato.memberships import Hard, Membership, Power, Simplex

LOSSES: dict[str, type[Loss]] = {"squared": Squared, "l21": L21, "capped": Capped}
MEMBERSHIPS: dict[str, type[Membership]] = {"hard": Hard, "power": Power, "simplex": Simplex}
INITIALIZERS: dict[str, type[Initializer]] = {
    "k-means++": KMeansPlusPlus,
    "random": RandomRows,
    "robust": RobustSeeds,
}
ENGINES: dict[str, type[ResidentEngine]] = {
    "auto": NativeEngine,
    "native": NativeEngine,
    "reference": ReferenceEngine,
}
ACCELERATIONS: dict[str, type[Acceleration]] = {"lbfgs": LBFGS}


def make_engine(
    name: str, data: Data | ChunkedData, problem: Problem, n_threads: int | None
) -> Engine:
    """Engine of that name on the data; on data in pieces, it passes over each of them."""
    inner: type[ResidentEngine] = resolve_name("engine", name, ENGINES)
    if isinstance(data, ChunkedData):
        return ChunkedEngine(data, problem, data.runner.threads(n_threads), inner)
    return inner(data, problem, effective_threads(n_threads))


def resolve_loss(part: str | Loss) -> Loss:
    """Loss of that name, or the given one, with its parameters checked."""
    loss = _resolve("loss", part, LOSSES, Loss)
    loss.check()
    return loss


def resolve_membership(part: str | Membership, n_clusters: int) -> Membership:
    """Membership rule of that name, or the given one, for that many clusters."""
    rule: Membership = _resolve("membership", part, MEMBERSHIPS, Membership)
    return rule.resolve(n_clusters)


def resolve_initializer(name: str, problem: Problem) -> Initializer:
    """Initializer of that name; "auto" is what suits the loss."""
    automatic = RobustSeeds if isinstance(problem.loss, Capped) else KMeansPlusPlus
    initializer: type[Initializer] = resolve_name("init", name, {"auto": automatic, **INITIALIZERS})
    return initializer()


def resolve_acceleration(name: str | None, problem: Problem) -> Acceleration:
    """Acceleration of that name, new for every start; "auto" is what suits the problem."""
    if name is None:
        return PlainSteps()
    automatic = LBFGS if problem.membership.smooth else PlainSteps
    accelerate: type[Acceleration] = resolve_name(
        "acceleration", name, {"auto": automatic, **ACCELERATIONS}
    )
    return accelerate()


def resolve_name(kind: str, name: str, known: dict[str, Any]) -> Any:
    """Value of a name; an unknown one is answered with the nearest that is known."""
    if not isinstance(name, str):
        raise TypeError(f"{kind}={name!r} is not a name; use one of {sorted(known)}.")
    if name in known:
        return known[name]
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    raise ValueError(f"{kind}={name!r} is not known; use one of {sorted(known)}.{hint}")


def _resolve(kind: str, part: Any, known: dict[str, Any], base: type) -> Any:
    if isinstance(part, str):
        return resolve_name(kind, part, known)()
    if isinstance(part, base):
        return clone(part)  # A fitted model must not change when its parameters do.
    raise TypeError(
        f"{kind}={part!r} is neither a name nor a part; use one of {sorted(known)}, or an instance "
        f"of {', '.join(sorted(c.__name__ for c in known.values()))}."
    )
