"""What the library says of a fit, in the words of the command line."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from sfumato.cli.summary import in_options
from sfumato.cli.tables import Source
from sfumato.exceptions import UserError, one_line


@contextmanager
def telling(source: Source, model: Any, memory: int | None = None) -> Iterator[None]:
    """Errors of the library become errors of the user, and warnings take one line each.

    Parameters
    ----------
    source : Source
        The data; messages speak of it instead of ``X``.
    model : estimator
    memory : int, optional
        What was given as --memory, if anything was.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # The summary says it.
        warnings.showwarning = _show  # Put back by catch_warnings.
        try:
            yield
        except FileNotFoundError as error:
            raise UserError(f"{one_line(error)}.") from error
        except ValueError as error:
            text = re.sub(r"^(Input )?X\b", str(source.path), one_line(error))
            if model.checkpoint is not None and "is of another fit" in text and memory is None:
                text += "; whether and how data is streamed depends on --memory: say it each time"
            raise UserError(f"{in_options(text)}.") from error


def _show(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"sfumato: {in_options(one_line(str(message)))}.", file=sys.stderr)
