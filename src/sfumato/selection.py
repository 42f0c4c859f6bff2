"""How many clusters there are: :func:`sfumato.select_n_clusters`."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from sfumato import _validation as validation
from sfumato._checks import check_random_state, is_number
from sfumato._engines import make_engine
from sfumato._problem import Problem
from sfumato._selection.choose import choose
from sfumato._selection.record import Selection
from sfumato.estimators import CappedREFCMFS
from sfumato.estimators._base import BaseFuzzyClustering
from sfumato.exceptions import ParameterError, ParameterTypeError, shown
from sfumato.losses import Squared
from sfumato.memberships import Hard

__all__ = ["Selection", "select_n_clusters"]


def select_n_clusters(
    X: Any,
    estimator: BaseFuzzyClustering | None = None,
    candidates: Sequence[int] | None = None,
    sample_weight: Any = None,
    random_state: Any = None,
) -> Selection:
    """Find the number of clusters, outliers or not, with its reasons.

    On a sample of at most 4096 rows, mixtures of components and outliers are fitted, for every
    number of components until the Bayesian information criterion (BIC) has clearly fallen. All are
    Gaussians, or all have heavier or lighter tails, or all are longer along one axis. Outliers have
    laws of their own: uniform over the bounding box, or with the heavy tails of a Cauchy
    distribution, which may be rarer in the middle, where the clusters are; a component that is less
    than three times as dense is outliers, too. The smallest number of components is taken whose BIC
    is within 3 of the highest, on the scale of a log-likelihood. Components without a valley of the
    density between them are one cluster: so a cluster may be bent or uneven. "1: no clusters were
    found" is an answer.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), Stream or dask collection
        As for ``fit``. A stream is read twice.
    estimator : estimator, optional
        Estimator of this library that will be fitted: its ``engine``, ``n_threads`` and, unless
        ``random_state`` is given, ``random_state`` are used. By default, :class:`CappedREFCMFS`.
    candidates : sequence of int, optional
        Numbers to choose from. If the number that is found is not among them, the nearest is
        chosen. By default, all from 1 to 80.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; 3 is worth three copies, 0 leaves the row out.
    random_state : int, RandomState or None, default=None
        Seed of the sample and of the search; None is like 0, so that every call gives the same.

    Returns
    -------
    selection : Selection
        The number, the criteria for all candidates, the reason in words, and other numbers that
        the data supports.

    See Also
    --------
    CappedREFCMFS : With ``n_clusters="auto"``, the number is found in this way by ``fit``.

    Notes
    -----
    Only the sample counts, so clusters of less than some 0.3 % of many rows are not found. With
    more than 50 columns, rows are projected onto 50 robust principal axes. The other criteria,
    such as the gap statistic, are for comparison. See ``docs/how-many-clusters.md`` for
    measurements.

    References
    ----------
    .. [1] C. Fraley, A. E. Raftery, "Model-based clustering, discriminant analysis, and density
       estimation", JASA 2002.
    .. [2] C. Hennig, "Methods for merging Gaussian mixture components", Advances in Data Analysis
       and Classification 2010.

    Examples
    --------
    >>> from sfumato import select_n_clusters
    >>> from sfumato.datasets import make_blobs_with_outliers
    >>> X = make_blobs_with_outliers(1000, n_clusters=5, contamination=0.2, random_state=0).data
    >>> select_n_clusters(X).n_clusters
    5
    """
    model: Any = CappedREFCMFS() if estimator is None else estimator
    if not isinstance(model, BaseFuzzyClustering):
        message = (
            f"estimator={shown(estimator)} is no estimator of this family; use e.g. "
            "CappedREFCMFS(), or None."
        )
        raise ParameterTypeError(message, "estimator", estimator)
    numbers = None if candidates is None else _check_candidates(candidates)
    rng = _check_seed(model.random_state if random_state is None else random_state)
    model = clone(model).set_params(n_clusters=1 if numbers is None else numbers[-1])
    validation.check_counts(model)
    data = validation.fit_input(model, X, sample_weight)
    if numbers is not None and numbers[-1] > data.n_rows:
        message = (
            f"candidates has {numbers[-1]}, and X has {data.n_rows} rows; give numbers of at most "
            f"{data.n_rows}."
        )
        raise ParameterError(message, "candidates", candidates)
    engine = make_engine(model.engine, data, Problem(Squared(), Hard()), model.n_threads)
    return choose(engine, rng, numbers)


def _check_candidates(candidates: Sequence[int]) -> list[int]:
    """Candidates as ascending integers."""
    advice = "give numbers of clusters of at least 1, e.g. range(1, 31), or None"
    try:
        given = list(candidates)
    except TypeError as error:
        message = f"candidates={shown(candidates)} is not a sequence; {advice}."
        raise ParameterTypeError(message, "candidates", candidates) from error
    if not given or any(not is_number(n, Integral) or int(n) < 1 for n in given):
        raise ParameterError(f"candidates={shown(candidates)}; {advice}.", "candidates", candidates)
    return sorted({int(n) for n in given})


def _check_seed(random_state: Any) -> np.random.RandomState:
    """Random numbers; the same in every call if there is no seed."""
    return check_random_state(0 if random_state is None else random_state)
