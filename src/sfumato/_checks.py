"""Checks of parameters. The errors say what was given, what is wrong and what to do."""

from __future__ import annotations

from math import isinf
from numbers import Integral, Real
from typing import Any, Literal

from sklearn.base import clone

from sfumato.exceptions import ParameterError, ParameterTypeError, did_you_mean

Auto = Literal["auto"]


def is_auto(value: Any) -> bool:
    """Whether the value is the word "auto"; safe for arrays, which compare elementwise."""
    return isinstance(value, str) and value == "auto"


def require_number(
    name: str, value: Any, *, above: float, advice: str, finite: bool = False
) -> None:
    """Raise unless ``value`` is a real number larger than ``above``, and finite if required."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterTypeError(f"{name}={value!r} is not a number; {advice}.", name, value)
    if not float(value) > above:
        message = f"{name}={value!r} must be larger than {above:g}; {advice}."
        raise ParameterError(message, name, value)
    if finite and isinf(value):
        raise ParameterError(f"{name}={value!r} must be finite; {advice}.", name, value)


def require_integer(name: str, value: Any, *, least: int, advice: str) -> None:
    """Raise unless ``value`` is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterTypeError(f"{name}={value!r} is not an integer; {advice}.", name, value)
    if int(value) < least:
        message = f"{name}={value!r} must be at least {least}; {advice}."
        raise ParameterError(message, name, value)


def resolve_name(kind: str, name: Any, known: dict[str, Any]) -> Any:
    """Value of a name; the error for an unknown one suggests the most similar known name."""
    if not isinstance(name, str):
        message = f"{kind}={name!r} is not a name; use one of {sorted(known)}."
        raise ParameterTypeError(message, kind, name)
    if name in known:
        return known[name]
    hint = did_you_mean(name, known).replace("did", " Did", 1)
    message = f"{kind}={name!r} is not known; use one of {sorted(known)}.{hint}"
    raise ParameterError(message, kind, name)


def resolve_part(kind: str, part: Any, known: dict[str, Any], base: type) -> Any:
    """Instance of the class of that name, or a copy of the given instance of ``base``.

    A copy, so that a fitted model does not change when its parameters do.
    """
    if isinstance(part, str):
        return resolve_name(kind, part, known)()
    if isinstance(part, base):
        return clone(part)
    raise ParameterTypeError(
        f"{kind}={part!r} is neither a name nor a part; use one of {sorted(known)}, or an instance "
        f"of {', '.join(sorted(c.__name__ for c in known.values()))}.",
        kind,
        part,
    )
