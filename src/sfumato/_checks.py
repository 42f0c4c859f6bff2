"""Checks of the parameters of parts: what was given, what is wrong, what to do."""

from __future__ import annotations

import difflib
from math import isinf
from numbers import Integral, Real
from typing import Any, Literal

from sklearn.base import clone

Auto = Literal["auto"]


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the library; an array compared with a name is not."""
    return isinstance(value, str) and value == "auto"


def require_number(
    name: str, value: Any, *, above: float, advice: str, finite: bool = False
) -> None:
    """Raise unless ``value`` is a real number larger than ``above``, and finite if need be."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} is not a number; {advice}.")
    if not float(value) > above:
        raise ValueError(f"{name}={value!r} must be larger than {above:g}; {advice}.")
    if finite and isinf(value):
        raise ValueError(f"{name}={value!r} must be finite; {advice}.")


def require_integer(name: str, value: Any, *, least: int, advice: str) -> None:
    """Raise unless ``value`` is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} is not an integer; {advice}.")
    if int(value) < least:
        raise ValueError(f"{name}={value!r} must be at least {least}; {advice}.")


def resolve_name(kind: str, name: str, known: dict[str, Any]) -> Any:
    """Value of a name; the error for an unknown one suggests the most similar known name."""
    if not isinstance(name, str):
        raise TypeError(f"{kind}={name!r} is not a name; use one of {sorted(known)}.")
    if name in known:
        return known[name]
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    raise ValueError(f"{kind}={name!r} is not known; use one of {sorted(known)}.{hint}")


def resolve_part(kind: str, part: Any, known: dict[str, Any], base: type) -> Any:
    """Instance of the class of that name, or a copy of the given instance of ``base``.

    A copy, so that a fitted model does not change when its parameters do.
    """
    if isinstance(part, str):
        return resolve_name(kind, part, known)()
    if isinstance(part, base):
        return clone(part)
    raise TypeError(
        f"{kind}={part!r} is neither a name nor a part; use one of {sorted(known)}, or an instance "
        f"of {', '.join(sorted(c.__name__ for c in known.values()))}."
    )
