"""Errors of the library. Each says what was given, what is wrong and what to do."""

from __future__ import annotations


class UserError(Exception):
    """What was asked of a command cannot be done."""


class StreamError(ValueError):
    """The data is not as it should be; the message names the file, the row and the column."""


def one_line(error: BaseException | str) -> str:
    """Text of an error without line breaks, and without its final period."""
    return " ".join(str(error).split()).removesuffix(".") or type(error).__name__
