"""Membership rules: how a row is shared among its nearest centers.

A rule takes the losses of a row's nearest centers, nearest first, and returns the memberships that
minimize the row's term of the objective in closed form, together with that minimum. Only the
``n_nearest`` nearest centers matter, so that no array of size rows x clusters is needed.

Every class here has a compiled twin of the same name and parameters in ``native/membership.hpp``. A
rule without one works with ``engine="reference"``.
"""
# ruff: noqa: D102 (an overriding method has its docstring in the base class)

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral
from typing import ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from sfumato._checks import (
    Auto,
    is_auto,
    is_number,
    require_integer,
    require_number,
    resolve_part,
)
from sfumato._typing import Floats
from sfumato.exceptions import Given, Message, Option, ParameterError

DEFAULT_ACTIVE = 5
"""Memberships per row for ``n_active="auto"``. Chosen by hand: few enough to read, enough for a
point between several clusters."""
AUTO_GAMMA_ACTIVE = 2
"""Memberships of a typical row for ``gamma="auto"``; rows then have two or three on average. With
5, centers slide together: accuracies of 0.33, 0.45, 0.50, 0.36 on Yale, ORL, COIL20 and USPS,
against 0.37, 0.56, 0.69, 0.47."""


class Membership(BaseEstimator, ABC):
    """A rule that turns the losses of a row into memberships that sum to one.

    Attributes
    ----------
    tuned_by : {"dimension", "losses"} or None
        What a pilot fit measures for a parameter that is "auto": the intrinsic dimension of the
        clusters, passed to ``tuned_to_dimension``, or the losses of the rows, passed to
        ``tuned_to_losses``. None if ``resolve`` leaves no parameter "auto".

    Examples
    --------
    >>> from sfumato import Membership, Power
    >>> isinstance(Power(), Membership), Power().resolve(n_clusters=8).n_active
    (True, 5)
    """

    tuned_by: ClassVar[Literal["dimension", "losses"] | None] = None

    @abstractmethod
    def resolve(self, n_clusters: int) -> Self:
        """Rule with every parameter that depends on ``n_clusters`` alone made a number.

        Raises ValueError or TypeError if a parameter is out of range.
        """

    def tuned_to_dimension(self, dimension: float, degree: int) -> Self:
        """Rule for clusters of an intrinsic dimension, under a loss of a degree."""
        raise TypeError(f"{self} has no parameter that depends on the dimension of the clusters.")

    def tuned_to_losses(self, losses: Floats, weights: Floats) -> Self:
        """Rule for rows of some weights, and their losses of shape (n_rows, n_clusters)."""
        raise TypeError(f"{self} has no parameter that depends on the losses of the rows.")

    @property
    def is_resolved(self) -> bool:
        """Whether no parameter is "auto"."""
        return not any(is_auto(value) for value in self.get_params().values())

    @property
    def smooth(self) -> bool:
        """Whether the objective, with memberships minimized out, is smooth in the centers."""
        return True

    def fitted(self) -> dict[str, float | int | None]:
        """Fitted attributes of an estimator: NaN or None where the rule has no such parameter."""
        given = self.get_params()
        return {
            "n_active_": given.get("n_active"),
            "fuzzifier_": given.get("fuzzifier", float("nan")),
            "gamma_": float("nan") if given.get("gamma") is None else given["gamma"],
        }

    @abstractmethod
    def n_nearest(self, n_clusters: int) -> int:
        """Number of nearest centers on which the memberships depend."""

    @abstractmethod
    def n_entries(self, n_clusters: int) -> int | None:
        """Number of memberships stored per row; None if it varies with the row."""

    @abstractmethod
    def solve(self, losses: Floats) -> tuple[Floats, Floats]:
        """Memberships and objective of each row.

        Parameters
        ----------
        losses : ndarray of shape (n_rows, n_nearest)
            Losses of the nearest centers, ascending.

        Returns
        -------
        memberships : ndarray of shape (n_rows, n_nearest)
        objective : ndarray of shape (n_rows,)
        """

    @abstractmethod
    def phi(self, memberships: Floats) -> Floats:
        """Coefficient of the loss in the objective, as a function of the membership."""


class Hard(Membership):
    """Each row belongs to its nearest center alone, as in K-means.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import Hard
    >>> Hard().solve(np.array([[0.6]]))
    (array([[1.]]), array([0.6]))
    """

    @property
    def smooth(self) -> bool:
        return False  # The objective is a minimum over smooth functions.

    def resolve(self, n_clusters: int) -> Self:
        return self

    def n_nearest(self, n_clusters: int) -> int:
        return 1

    def n_entries(self, n_clusters: int) -> int:
        return 1

    def solve(self, losses: Floats) -> tuple[Floats, Floats]:
        return np.ones_like(losses), losses[:, 0]

    def phi(self, memberships: Floats) -> Floats:
        return memberships


class Power(Membership):
    r"""Memberships to the power of the fuzzifier, over the nearest ``n_active`` centers.

    For losses :math:`\rho_k` and fuzzifier :math:`r`,
    :math:`a_k = \rho_k^{1/(1-r)} / \sum_s \rho_s^{1/(1-r)}`, and the row's objective is
    :math:`(\sum_s \rho_s^{1/(1-r)})^{1-r}`, sums running over the ``n_active`` nearest centers.

    Parameters
    ----------
    n_active : int or "auto", default="auto"
        Number of memberships per row. "auto" is ``min(5, n_clusters)``; ``n_clusters`` gives the
        dense memberships of fuzzy c-means, 1 gives hard ones.
    fuzzifier : float or "auto", default="auto"
        Exponent larger than 1; memberships get harder as it approaches 1. "auto" matches it to
        the intrinsic dimension of the clusters, which is estimated from the data.

    Notes
    -----
    A row that coincides with centers belongs to them alone, in equal shares.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import Power
    >>> memberships, objective = Power(n_active=3, fuzzifier=2.0).solve(np.array([[1.0, 2.0, 4.0]]))
    >>> memberships.round(3)
    array([[0.571, 0.286, 0.143]])
    """

    tuned_by = "dimension"

    def __init__(self, n_active: int | Auto = "auto", fuzzifier: float | Auto = "auto") -> None:
        self.n_active = n_active
        self.fuzzifier = fuzzifier

    @property
    def smooth(self) -> bool:
        return self.n_active != 1  # One membership per row is hard.

    def resolve(self, n_clusters: int) -> Self:
        if not is_auto(self.fuzzifier):
            advice = "use e.g. 1.1, or 1.001 for nearly hard memberships"
            require_number("fuzzifier", self.fuzzifier, above=1, advice=advice, finite=True)
        return type(self)(resolve_n_active(self.n_active, n_clusters), self.fuzzifier)

    def tuned_to_dimension(self, dimension: float, degree: int) -> Self:
        """Rule with fuzzifier ``1 + degree / dimension``; derived in ``_init/dimension.py``."""
        return type(self)(self.n_active, 1 + degree / dimension)

    def n_nearest(self, n_clusters: int) -> int:
        return int(self.n_active)

    def n_entries(self, n_clusters: int) -> int:
        return int(self.n_active)

    def solve(self, losses: Floats) -> tuple[Floats, Floats]:
        r = float(self.fuzzifier)
        # Ratios to the smallest loss of the row lie in 0..1: no fuzzifier over- or underflows.
        smallest = losses[:, :1]
        with np.errstate(invalid="ignore"):
            ratios = np.where(smallest > 0, smallest / losses, losses == 0)
        shares = ratios ** (1 / (r - 1))
        total = shares.sum(axis=1, keepdims=True)
        return shares / total, (smallest * total ** (1 - r))[:, 0]

    def phi(self, memberships: Floats) -> Floats:
        return memberships ** float(self.fuzzifier)


class Simplex(Membership):
    r"""Euclidean projection onto the simplex: memberships with a quadratic penalty.

    A row's memberships minimize :math:`\sum_k \rho_k a_k + \gamma \|a\|^2` on the simplex
    [1]_: :math:`a` is the projection of :math:`-\rho / 2\gamma`, found exactly by sorting.

    Parameters
    ----------
    gamma : float, "auto" or None, default=None
        Strength of the penalty, in the units of the loss; the larger, the softer. "auto" chooses
        it once, from the data, such that rows have two or three memberships on average. None
        leaves it to ``n_active``.
    n_active : int, "auto" or None, default=None
        Give each row its own gamma: the largest with ``n_active`` nonzero memberships,
        :math:`a_k \propto \rho_{(K+1)} - \rho_k`. For ``n_active = n_clusters`` there is
        no largest; twice the smallest is taken, which leaves the farthest center half an equal
        share. None and ``gamma=None`` together mean "auto": ``min(5, n_clusters)``.

    Notes
    -----
    With ``gamma`` the objective never rises during a fit. With ``n_active`` each row's gamma
    changes with the centers, no function is being minimized, and the reported objective may rise
    slightly.

    References
    ----------
    .. [1] J. Xu, J. Han, K. Xiong, F. Nie, "Robust and sparse fuzzy k-means clustering",
       IJCAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import Simplex
    >>> memberships, objective = Simplex(n_active=2).solve(np.array([[1.0, 2.0, 4.0]]))
    >>> memberships
    array([[0.6, 0.4, 0. ]])
    """

    tuned_by = "losses"

    def __init__(
        self, gamma: float | Auto | None = None, n_active: int | Auto | None = None
    ) -> None:
        self.gamma = gamma
        self.n_active = n_active

    @property
    def smooth(self) -> bool:
        return self.gamma is not None  # A gamma per row leaves no function to minimize.

    def resolve(self, n_clusters: int) -> Self:
        if self.gamma is not None and self.n_active is not None:
            gamma = Given("gamma", self.gamma)
            message = Message(
                gamma,
                " and ",
                Given("n_active", self.n_active),
                " exclude one another in Simplex; give one of them, and leave the other None.",
            )
            raise ParameterError(message, *gamma)
        if self.gamma is None:
            n_active = "auto" if self.n_active is None else self.n_active
            return type(self)(None, resolve_n_active(n_active, n_clusters))
        if not is_auto(self.gamma):
            advice = "use e.g. 1.0 in the units of the loss, or 'auto'"
            require_number("gamma", self.gamma, above=0, advice=advice, finite=True)
        return self

    def tuned_to_losses(self, losses: Floats, weights: Floats) -> Self:
        """Set gamma to the mean of those that give each row ``AUTO_GAMMA_ACTIVE`` memberships."""
        n_active = min(AUTO_GAMMA_ACTIVE, losses.shape[1])
        nearest = np.sort(losses, axis=1)[:, : n_active + 1]
        gamma = float(np.average(row_gamma(nearest, n_active), weights=weights))
        return type(self)(gamma if gamma > 0 else 1.0, self.n_active)

    def n_nearest(self, n_clusters: int) -> int:
        # The closed form for a given n_active needs one more.
        return n_clusters if self.n_active is None else min(int(self.n_active) + 1, n_clusters)

    def n_entries(self, n_clusters: int) -> int | None:
        return None if self.n_active is None else int(self.n_active)

    def solve(self, losses: Floats) -> tuple[Floats, Floats]:
        most = losses.shape[1] if self.n_active is None else int(self.n_active)
        if self.gamma is None:
            gamma = row_gamma(losses, most)
        else:
            gamma = np.full(len(losses), float(self.gamma))
        memberships = project(losses, gamma, most)
        penalty = gamma * (memberships**2).sum(axis=1)
        return memberships, (losses * memberships).sum(axis=1) + penalty

    def phi(self, memberships: Floats) -> Floats:
        return memberships


def resolve_n_active(n_active: int | Auto, n_clusters: int) -> int:
    """Number of active centers: the default for "auto", otherwise the checked number."""
    if is_auto(n_active):
        return min(DEFAULT_ACTIVE, n_clusters)
    most = Given("n_clusters", n_clusters)
    advice = Message("use 1 <= ", Option("n_active"), " <= ", most, ", or 'auto'")
    require_integer("n_active", n_active, least=1, advice=advice)
    if int(n_active) > n_clusters:
        message = Message(Given("n_active", n_active), " exceeds ", most, "; ", advice, ".")
        raise ParameterError(message, "n_active", n_active)
    return int(n_active)


def row_gamma(losses: Floats, n_active: int) -> Floats:
    """Gamma of each row that leaves exactly ``n_active`` memberships; see :class:`Simplex`.

    ``losses`` holds the nearest ``n_active + 1`` losses, or all if there are no more.
    """
    nearest = losses[:, :n_active]
    if losses.shape[1] > n_active:
        return (n_active * losses[:, n_active] - nearest.sum(axis=1)) / 2
    return n_active * nearest[:, -1] - nearest.sum(axis=1)


def project(losses: Floats, gamma: Floats, most: int) -> Floats:
    """Projection of ``-losses / (2 gamma)`` onto the simplex, for ascending losses.

    Positive are the first ``m`` memberships, for the largest ``m``, at most ``most``, with
    ``2 gamma + sum of the first m losses > m * loss_m``. Ties at gamma = 0 are shared equally.
    """
    rank = np.arange(1, losses.shape[1] + 1)
    # Relative to the smallest loss: the projection does not change, and nothing cancels.
    excess = losses - losses[:, :1]
    threshold = (2 * gamma[:, None] + excess.cumsum(axis=1)) / rank
    positive = ((excess < threshold) | (excess == 0)) & (rank <= most)
    count = positive.sum(axis=1)
    level = np.take_along_axis(threshold, count[:, None] - 1, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        soft = np.where(positive, level - excess, 0) / (2 * gamma[:, None])
    degenerate = ~np.isfinite(soft).all(axis=1) | (soft.sum(axis=1) == 0)
    soft[degenerate] = positive[degenerate] / count[degenerate, None]
    return soft / soft.sum(axis=1, keepdims=True)


MEMBERSHIPS: dict[str, type[Membership]] = {"hard": Hard, "power": Power, "simplex": Simplex}
"""Membership rules by the names that estimators take."""


def resolve_membership(
    part: str | Membership, n_clusters: int, limited: bool = False
) -> Membership:
    """Rule of that name, or a copy of the given one, for that many clusters.

    ``limited``: whether a larger ``n_active`` is lowered to ``n_clusters``.
    """
    rule: Membership = resolve_part("membership", part, MEMBERSHIPS, Membership)
    n_active = rule.get_params(deep=False).get("n_active")
    if limited and is_number(n_active, Integral) and int(n_active) > n_clusters:
        rule = rule.set_params(n_active=n_clusters)
    return rule.resolve(n_clusters)
