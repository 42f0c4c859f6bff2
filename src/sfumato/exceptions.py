"""Errors and warnings of the library. A message says what was given, what is wrong, what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from sfumato._warnings import (
        ClusteringWarning,
        CoincidentCentersWarning,
        CollapseWarning,
        DominantFeatureWarning,
        EmptyClusterWarning,
        FewRowsWarning,
        FuzzifierRangeWarning,
        MovedCentersWarning,
        NotConvergedWarning,
        UnitNormWarning,
        UnstableFitWarning,
    )

__all__ = [
    "ClusteringWarning",
    "CoincidentCentersWarning",
    "CollapseWarning",
    "DominantFeatureWarning",
    "EmptyClusterWarning",
    "FewRowsWarning",
    "FuzzifierRangeWarning",
    "Given",
    "Message",
    "ModelFileError",
    "MovedCentersWarning",
    "NotConvergedWarning",
    "Option",
    "ParameterError",
    "ParameterTypeError",
    "StreamError",
    "UnitNormWarning",
    "UnstableFitWarning",
    "UserError",
]

SIMILARITY = 0.4
"""Ratio of ``difflib`` from which a known name is suggested, between 0 and 1; chosen by hand. The
default of ``difflib``, 0.6, misses typing errors in names of three or four letters."""

MOST_SHOWN = 79
"""Characters of a value in a message. Chosen by hand."""
MOST_QUOTED = 300
"""Characters of another error in a message. Chosen by hand."""


def __getattr__(name: str) -> Any:
    """Import the categories of warnings at their first use; scikit-learn comes with them."""
    if name not in __all__:
        raise AttributeError(f"module 'sfumato.exceptions' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module("sfumato._warnings"), name)
    return found


class UserError(Exception):
    """A command cannot do what its options ask for.

    The command line prints the message without a traceback, and exits with code 2.

    Examples
    --------
    >>> from pathlib import Path
    >>> from sfumato.exceptions import UserError
    >>> from sfumato.files import OutputFolder
    >>> try:
    ...     OutputFolder(Path(__file__), ("labels.csv",)).check()
    ... except UserError as error:
    ...     print("is a file, not a folder" in str(error))
    True
    """


class NoValue(Enum):
    """Mark of an option that is named without a value; None is a value."""

    NO_VALUE = "no value"


class Option(NamedTuple):
    """A parameter or keyword argument in a message, which commands write as an option.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object, optional
        Value to give, in full; without it, the message only names the parameter.

    Examples
    --------
    >>> from sfumato.exceptions import Option
    >>> print(Option("columns"), Option("separator", ";"))
    `columns` separator=';'
    """

    name: str
    value: Any = NoValue.NO_VALUE

    def __str__(self) -> str:
        return f"`{self.name}`" if self.value is NoValue.NO_VALUE else f"{self.name}={self.text}"

    @property
    def text(self) -> str:
        """The value as text."""
        return repr(self.value)


class Given(Option):
    """A parameter in a message, with the value that it was given; a long one is shortened.

    Examples
    --------
    >>> from sfumato.exceptions import Given
    >>> print(Given("n_clusters", 0))
    n_clusters=0
    """

    @property
    def text(self) -> str:
        """The value as text."""
        return shown(self.value)


class Message(str):
    """Text that knows which of its words are names of parameters.

    Parameters
    ----------
    *parts : str or Option
        The text, in parts; the parts of a message become parts of this one.

    Attributes
    ----------
    parts : tuple of str or Option

    Examples
    --------
    >>> from sfumato.exceptions import Given, Message
    >>> message = Message("/data/tol/a.csv: ", Given("tol", 2), " is too large.")
    >>> print(message)
    /data/tol/a.csv: tol=2 is too large.
    >>> message.written(lambda option: f"--{option.name} {option.value}")
    '/data/tol/a.csv: --tol 2 is too large.'
    """

    parts: tuple[str | Option, ...]

    def __new__(cls, *parts: str | Option) -> Self:
        """Join the parts."""
        message = super().__new__(cls, "".join(map(str, parts)))
        own = ((p.parts if isinstance(p, Message) else (p,)) for p in parts)
        message.parts = tuple(part for group in own for part in group)
        return message

    def __getnewargs__(self) -> Any:  # From which pickle and copies make it.
        return self.parts

    def written(self, write: Callable[[Option], str]) -> str:
        """Text in which options are written by a function."""
        return "".join(write(p) if isinstance(p, Option) else p for p in self.parts)


def message_of(error: BaseException) -> Message:
    """Message of an error or a warning, with the options that it knows of."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, Message) else Message(str(error))


class StreamError(ValueError):
    """Data of a stream cannot be read or used.

    The message names the file, the row and the column, as far as they are known.

    Parameters
    ----------
    *parts : str or Option
        The message, in parts.

    Examples
    --------
    >>> from sfumato import stream
    >>> from sfumato.exceptions import StreamError
    >>> try:
    ...     stream([])
    ... except StreamError as error:
    ...     print(error)
    the iterable gave no chunk; give one that yields arrays or tables of rows.
    """

    def __init__(self, *parts: str | Option) -> None:
        super().__init__(Message(*parts))


class ModelFileError(ValueError):
    """A file is not a model of this library, is damaged, or is of a later format.

    Examples
    --------
    >>> import sfumato
    >>> from sfumato.exceptions import ModelFileError
    >>> try:
    ...     sfumato.load(__file__)
    ... except ModelFileError as error:
    ...     print("is no model file of sfumato" in str(error))
    True
    """


class ParameterError(ValueError):
    """A parameter has a value that is not allowed.

    Parameters
    ----------
    message : str or Message
        What was given, what is wrong and what to do. A Message knows where it names parameters, so
        that commands can write them as options.
    name : str
        Name of the parameter.
    value : object, default=None
        Value that was given.

    Attributes
    ----------
    name : str
    value : object

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> from sfumato.exceptions import ParameterError
    >>> try:
    ...     REFCMFS(n_clusters=0).fit([[0.0], [1.0]])
    ... except ParameterError as error:
    ...     print(error.name, error.value)
    n_clusters 0
    """

    # Only the message is in ``args``; the default of ``name`` is for pickle, which sets it later.
    def __init__(self, message: str, name: str = "", value: Any = None) -> None:
        super().__init__(message)
        self.name, self.value = name, value


class ParameterTypeError(ParameterError, TypeError):
    """A parameter has a value of a type that is not allowed.

    Both a ValueError and a TypeError, like scikit-learn's ``InvalidParameterError``.

    Examples
    --------
    >>> from sfumato import REFCMFS
    >>> try:
    ...     REFCMFS(n_clusters="8").fit([[0.0], [1.0]])
    ... except TypeError as error:
    ...     print(error)
    n_clusters='8' is not an integer; use e.g. 8, or 'auto'.
    """


def one_line(error: BaseException | str) -> str:
    """Text of an error without line breaks, and without its final period."""
    return " ".join(str(error).split()).removesuffix(".") or type(error).__name__


def brief(error: BaseException) -> str:
    """Text of another library's error in one line, and not at length."""
    text = one_line(error)
    half = MOST_QUOTED // 2  # What is wrong is at the beginning, what to do at the end.
    return text if len(text) <= MOST_QUOTED else f"{text[:half]} ... {text[-half:]}"


def shown(value: object) -> str:
    """Value of a parameter as a message shows it: in one line, and not at length.

    >>> shown("a" * 1000)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'"
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # Of a class that cannot show itself.
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 4] + "..." + text[-1]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Question with the most similar known name, whatever its case; empty if none is similar.

    >>> did_you_mean("nativ", ["native", "reference"])
    "did you mean 'native'?"
    """
    lower = {word.lower(): word for word in known}
    nearest = get_close_matches(str(name).lower(), lower, n=1, cutoff=SIMILARITY)
    return f"did you mean {lower[nearest[0]]!r}?" if nearest else ""
