"""Checks of the parameters of estimators, and their state after a fit that failed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from sfumato._checks import require_integer
from sfumato._inspection import RangeSummary, check_range
from sfumato._typing import Floats
from sfumato.exceptions import ParameterError


def check_counts(estimator: Any) -> None:
    """Check the numbers among an estimator's parameters."""
    require_integer("n_clusters", estimator.n_clusters, least=1, advice="use e.g. 8")
    require_integer("max_iter", estimator.max_iter, least=1, advice="use e.g. 300")
    if not (isinstance(estimator.n_init, str) and estimator.n_init == "auto"):
        require_integer("n_init", estimator.n_init, least=1, advice="use e.g. 10, or 'auto'")
    if estimator.n_threads is not None:
        advice = "use None for all processors"
        require_integer("n_threads", estimator.n_threads, least=1, advice=advice)
    tol = estimator.tol
    if isinstance(tol, bool) or not isinstance(tol, Real) or not 0 <= float(tol) < 1:
        raise ParameterError(
            f"tol={tol!r} must be a number in [0, 1): the relative fall of the objective at which "
            "to stop; use e.g. 1e-7, or 0 to go on until it no longer falls.",
            "tol",
            tol,
        )
    check_decay(estimator.decay)


def check_decay(decay: Any) -> None:
    """Raise unless ``decay`` is a share of the past that ``partial_fit`` can forget."""
    if isinstance(decay, bool) or not isinstance(decay, Real) or not 0 <= float(decay) < 1:
        raise ValueError(
            f"decay={decay!r} must be a number in [0, 1): the share of the past that is forgotten "
            "with a batch; use e.g. 0.1 for a memory of about ten batches, or 0 to forget nothing."
        )


def check_centers(given: Any, n_clusters: int, data: Any, source: str) -> Floats:
    """Initial centers as a new float64 array of the right shape."""
    expected = n_clusters, data.n_features
    needed = f"it must be an array of shape (n_clusters, n_features) = {expected}"
    given = given.toarray() if sp.issparse(given) else given
    if given is None or np.isscalar(given):
        raise ValueError(f"{source} is {given!r}; {needed}.")
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        centers = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{source} is not an array of numbers ({error}); {needed}.") from error
    if centers.shape != expected:
        raise ValueError(f"{source} has shape {centers.shape}; {needed}.")
    if not np.isfinite(centers).all():
        row, column = np.argwhere(~np.isfinite(centers))[0]
        raise ValueError(
            f"{source} contains {centers[row, column]} at row {row}, column {column}; centers must "
            "be finite."
        )
    extent = RangeSummary(data.origin, centers.min(axis=0), centers.max(axis=0), len(centers))
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
