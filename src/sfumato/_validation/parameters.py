"""Checks of the parameters of estimators, and their state after a fit that failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from sfumato._checks import is_auto, is_number, number_of, require_integer
from sfumato._data import sparse_problem
from sfumato._inspection import RangeSummary, check_range
from sfumato._typing import Floats
from sfumato.exceptions import Given, Message, ParameterError, one_line, shown

MOST_THREADS = 1 << 20
"""Threads that can be asked for; more than any machine has."""
MOST_CLUSTERS = 80
"""Clusters that are looked for with ``n_clusters="auto"``. Chosen by hand; in the sample on which
numbers are compared, a cluster has 50 rows then."""


def check_counts(estimator: Any) -> None:
    """Check the numbers among an estimator's parameters."""
    if not is_auto(estimator.n_clusters):
        advice = "use e.g. 8, or 'auto'"
        require_integer("n_clusters", estimator.n_clusters, least=1, advice=advice)
    require_integer("max_iter", estimator.max_iter, least=1, advice="use e.g. 300")
    if not is_auto(estimator.n_init):
        require_integer("n_init", estimator.n_init, least=1, advice="use e.g. 10, or 'auto'")
    check_threads(estimator.n_threads)
    meaning = (
        "the relative fall of the objective at which to stop; use e.g. 1e-6, or 0 to go on until "
        "it no longer falls"
    )
    _require_share("tol", estimator.tol, meaning)
    meaning = (
        "the share of the past that is forgotten with a batch; use e.g. 0.1 for a memory of about "
        "ten batches, or 0 to forget nothing"
    )
    _require_share("decay", estimator.decay, meaning)


def check_threads(n_threads: Any) -> None:
    """Check a number of threads."""
    if n_threads is not None:
        advice = "use None for all processors"
        require_integer("n_threads", n_threads, least=1, most=MOST_THREADS, advice=advice)


def most_clusters(estimator: Any) -> int:
    """Number of clusters, or the largest that may be found if it is "auto"."""
    return MOST_CLUSTERS if is_auto(estimator.n_clusters) else int(estimator.n_clusters)


def _require_share(name: str, value: Any, meaning: str) -> None:
    """Raise unless ``value`` is a number in [0, 1)."""
    if not is_number(value, Real) or not 0 <= number_of(value) < 1:
        message = Message(Given(name, value), f" must be a number in [0, 1): {meaning}.")
        raise ParameterError(message, name, value)


def check_centers(given: Any, n_clusters: int, data: Any, source: str) -> Floats:
    """Initial centers as a new float64 array of the right shape."""
    expected = n_clusters, data.n_features
    needed = f"it must be an array of shape (n_clusters, n_features) = {expected}"
    problem = sparse_problem(given)
    if problem is not None:
        raise ParameterError(f"{source} {problem}.", "init", given)
    given = given.toarray() if sp.issparse(given) else given
    if given is None or np.isscalar(given):
        raise ParameterError(f"{source} is {shown(given)}; {needed}.", "init", given)
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        centers = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"{source} is not an array of numbers ({one_line(error)}); {needed}."
        raise ParameterError(message, "init", given) from error
    if centers.shape != expected:
        raise ParameterError(f"{source} has shape {centers.shape}; {needed}.", "init", given)
    if not np.isfinite(centers).all():
        row, column = np.argwhere(~np.isfinite(centers))[0]
        raise ParameterError(
            f"{source} contains {centers[row, column]} at row {row}, column {column}; centers must "
            "be finite.",
            "init",
            given,
        )
    extent = RangeSummary(centers.min(axis=0), centers.max(axis=0))
    check_range(extent, data.origin, data.dtype, source=source)
    return centers


@contextmanager
def restored_on_failure(estimator: Any) -> Iterator[None]:
    """Put an estimator back into its former state if a fit raises anything."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
