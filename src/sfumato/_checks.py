"""Checks of parameters and weights. Errors say what was given, what is wrong and what to do."""

from __future__ import annotations

from math import isinf
from numbers import Integral, Real
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state as sklearn_random_state

from sfumato._typing import Floats
from sfumato.exceptions import (
    Given,
    Message,
    ParameterError,
    ParameterTypeError,
    brief,
    did_you_mean,
)

Auto = Literal["auto"]


def is_auto(value: Any) -> bool:
    """Whether the value is the word "auto"; safe for arrays, which compare elementwise."""
    return isinstance(value, str) and value == "auto"


def is_number(value: Any, kind: type) -> bool:
    """Whether this is a number of that kind; NumPy counts lengths of time among the integers."""
    return isinstance(value, kind) and not isinstance(value, bool | np.timedelta64)


def number_of(value: Any) -> float:
    """Number as a float; those beyond its range are infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def require_number(
    name: str, value: Any, *, above: float, advice: str, finite: bool = False
) -> None:
    """Raise unless ``value`` is a real number larger than ``above``, and finite if ``finite``."""
    given = Given(name, value)
    if not is_number(value, Real):
        message = Message(given, " is not a number; ", advice, ".")
        raise ParameterTypeError(message, name, value)
    if not number_of(value) > above:
        message = Message(given, f" must be larger than {above:g}; ", advice, ".")
        raise ParameterError(message, name, value)
    if finite and isinf(number_of(value)):
        raise ParameterError(Message(given, " must be finite; ", advice, "."), name, value)


def require_integer(
    name: str, value: Any, *, least: int, most: int | None = None, advice: str
) -> None:
    """Raise unless ``value`` is an integer of at least ``least``, and at most ``most`` if given."""
    given = Given(name, value)
    if not is_number(value, Integral):
        message = Message(given, " is not an integer; ", advice, ".")
        raise ParameterTypeError(message, name, value)
    if int(value) < least:
        message = Message(given, f" must be at least {least}; ", advice, ".")
        raise ParameterError(message, name, value)
    if most is not None and int(value) > most:
        message = Message(given, f" must be at most {most}; ", advice, ".")
        raise ParameterError(message, name, value)


def check_flag(name: str, value: Any) -> bool:
    """Value of a parameter that is true or false."""
    if isinstance(value, bool | np.bool_) or (is_number(value, Integral) and value in (0, 1)):
        return bool(value)
    message = Message(Given(name, value), " is neither true nor false; use True or False.")
    raise ParameterTypeError(message, name, value)


def check_random_state(value: Any) -> np.random.RandomState:
    """Random generator for the parameter ``random_state``."""
    try:
        found: np.random.RandomState = sklearn_random_state(value)
    except (TypeError, ValueError) as error:
        message = Message(
            Given("random_state", value),
            " is not a seed; use an integer from 0 to 4294967295, a numpy.random.RandomState, or "
            "None for other results in every call.",
        )
        raise ParameterTypeError(message, "random_state", value) from error
    return found


def resolve_name(kind: str, name: Any, known: dict[str, Any]) -> Any:
    """Value of a name; the error for an unknown one suggests the most similar known name."""
    if not isinstance(name, str):
        message = Message(Given(kind, name), f" is not a name; use one of {sorted(known)}.")
        raise ParameterTypeError(message, kind, name)
    if name in known:
        return known[name]
    hint = did_you_mean(name, known).replace("did", " Did", 1)
    message = Message(Given(kind, name), f" is not known; use one of {sorted(known)}.{hint}")
    raise ParameterError(message, kind, name)


def resolve_part(kind: str, part: Any, known: dict[str, Any], base: type) -> Any:
    """Instance of the class of that name, or a copy of the given instance of ``base``.

    A copy, so that a fitted model does not change when its parameters do.
    """
    if isinstance(part, str):
        return resolve_name(kind, part, known)()
    if isinstance(part, base):
        return clone(part)
    message = Message(
        Given(kind, part),
        f" is neither a name nor a part; use one of {sorted(known)}, or an instance of "
        f"{', '.join(sorted(c.__name__ for c in known.values()))}.",
    )
    raise ParameterTypeError(message, kind, part)


def check_weights(
    values: Any,
    n_rows: int | None,
    *,
    name: str = "sample_weight",
    first_row: int = 0,
    error: type[ValueError] = ValueError,
) -> NDArray[np.float64]:
    """Weights as a float64 array: real numbers, one per row, finite and not negative.

    Parameters
    ----------
    values : array-like of shape (n_rows,), or number
        A number means equal weights.
    n_rows : int or None
        None if it is not known yet; a number then stays an array of no dimension.
    name : str, default="sample_weight"
        What the weights are called in messages.
    first_row : int, default=0
        Number of the first row in messages.
    error : type, default=ValueError
        Exception to raise.
    """
    shape = "" if n_rows is None else f", shape ({n_rows},)"
    try:
        given = np.asarray(values)
    except (TypeError, ValueError) as cause:
        raise error(
            f"{name} is a {type(values).__name__} that makes no array ({brief(cause)}); give one "
            f"weight per row{shape}."
        ) from cause
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        weights = np.asarray(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as cause:
        raise error(
            f"{name} is not an array of numbers but of {given.dtype} ({brief(cause)}); give "
            f"one weight per row{shape}."
        ) from cause
    if weights.ndim == 0 and n_rows is not None:
        weights = np.full(n_rows, float(weights))
    if weights.ndim > 1 or (n_rows is not None and len(weights) != n_rows):
        raise_wrong_length(weights.shape, n_rows, name, error)
    bad = first_bad_weight(weights)
    if bad is not None:
        raise_bad_weight(weights.flat[bad], f"row {first_row + bad}", name, error)
    return weights


def first_bad_weight(weights: Floats) -> int | None:
    """Row of the first weight that is negative, infinite or NaN; None if there is none."""
    good = (weights >= 0) & (weights < np.inf)
    return None if good.all() else int(np.argmin(good))


def raise_bad_weight(
    value: float, where: str, name: str = "sample_weight", error: type[ValueError] = ValueError
) -> NoReturn:
    """Raise about a weight that is negative, infinite or NaN."""
    raise error(
        f"{name} holds {value:g} at {where}; use finite weights >= 0, and 0 to leave a row out."
    )


def raise_wrong_length(
    given: tuple[int, ...],
    n_rows: int | str | None,
    name: str = "sample_weight",
    error: type[ValueError] = ValueError,
) -> NoReturn:
    """Raise about weights of another shape than one per row."""
    shape = f", shape ({n_rows},)" if isinstance(n_rows, int) else ""
    rows = "" if n_rows is None else f", but there are {n_rows} rows"
    raise error(f"{name} has shape {given}{rows}; give one weight per row{shape}.")
