"""Methods of ``sfumato cluster``, by their names on the command line.

Estimators are imported when one is made: ``--help`` needs the names alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato.exceptions import UserError, did_you_mean

if TYPE_CHECKING:
    from sfumato.estimators._base import BaseFuzzyClustering

PARAMETERS = (
    "n_clusters",
    "n_active",
    "fuzzifier",
    "cap",
    "gamma",
    "n_init",
    "max_iter",
    "tol",
    "random_state",
    "n_threads",
    "checkpoint",
)
"""Parameters of the estimators that are options of the command, of the same names."""


def option_of(parameter: str) -> str:
    """Option of the command for a parameter of that name."""
    return f"--{parameter.replace('_', '-')}"


class Method(NamedTuple):
    """An estimator, by its name in ``sfumato.estimators``, and parameters that make the method."""

    estimator: str
    fixed: Mapping[str, Any] = MappingProxyType({})


METHODS = {
    "capped-refcmfs": Method("CappedREFCMFS"),
    "refcmfs": Method("REFCMFS"),
    "sim-refcmfs": Method("SimREFCMFS"),
    "rsfkm": Method("RSFKM"),
    "fuzzy-c-means": Method("FuzzyCMeans"),
    "k-means": Method("FuzzyClustering", {"loss": "squared", "membership": "hard"}),
}
"""Methods by their names; the first is the default."""

DEFAULT = next(iter(METHODS))


def check_name(name: str) -> str:
    """Name of a method, in lower case; raises ValueError with all names if it is unknown."""
    known = name.lower()
    if known in METHODS:
        return known
    hint = did_you_mean(name, METHODS)
    names = ", ".join(METHODS)
    raise ValueError(f"{name!r} is no method; use one of {names}{'; ' if hint else ''}{hint}")


def name_of(model: BaseFuzzyClustering) -> str:
    """Name of the method of an estimator."""
    return next(n for n, method in METHODS.items() if method.estimator == type(model).__name__)


def make_model(name: str, given: Mapping[str, Any]) -> BaseFuzzyClustering:
    """Estimator of a method.

    Parameters
    ----------
    name : str
        One of ``METHODS``.
    given : mapping of str to object
        Values of ``PARAMETERS``; None where an option was not given.

    Raises
    ------
    UserError
        If a parameter is given that the method does not have.
    """
    from sfumato import estimators

    values = {key: given[key] for key in PARAMETERS if given.get(key) is not None}
    values.setdefault("n_clusters", "auto")
    for key in values.keys() - parameters_of(name):
        having = [other for other in METHODS if key in parameters_of(other)]
        raise UserError(
            f"{option_of(key)} is no option of --method {name}; leave it out, or choose "
            f"--method {' or '.join(having)}."
        )
    method = METHODS[name]
    model: BaseFuzzyClustering = getattr(estimators, method.estimator)(**values, **method.fixed)
    return model


def parameters_of(name: str) -> set[str]:
    """Parameters of a method that may be given."""
    from sfumato import estimators

    method = METHODS[name]
    estimator = getattr(estimators, method.estimator)
    return set(estimator().get_params(deep=False)) - set(method.fixed)
