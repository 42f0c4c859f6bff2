"""Checks of the parameters of parts: what was given, what is wrong, what to do."""

from __future__ import annotations

from math import isinf
from numbers import Integral, Real
from typing import Any, Literal

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
