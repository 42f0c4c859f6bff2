"""Losses: how much a row's distance to a center costs.

A loss is written as a function of the *squared* distance ``t = h**2``, because that is what a pass
computes. ``weight`` is the derivative of ``value`` with respect to ``t``: it is the weight of
a row in the re-weighted mean that moves a center.

Every class here has a compiled twin of the same name and parameters in ``native/loss.hpp``. A loss
without one works with ``engine="reference"``.
"""
# ruff: noqa: D102 (an overriding method has its docstring in the base class)

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from sfumato._checks import Auto, is_auto, require_number, resolve_part
from sfumato._typing import Floats


class Loss(BaseEstimator, ABC):
    """A loss ``rho`` of the distance, nondecreasing, with ``rho(0) = 0``.

    A subclass defines ``value`` and ``weight``; a bounded one also ``cutoff`` and ``with_cutoff``.
    A cutoff parameter of "auto" is then found by the fit, and ``init="auto"`` seeds robustly.

    Attributes
    ----------
    kink : float
        Slope ``rho'(0+)`` at distance zero. Where it is positive, a row that coincides with a
        center resists its moving with this force (the Vardi-Zhang step).
    degree : int
        Power of the distance that the loss grows with near zero: 1 or 2.
    bounded : bool
        Whether rows beyond a ``cutoff`` have no weight, so that outliers move no center.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import FuzzyClustering, Loss
    >>> class Cauchy(Loss):
    ...     kink, degree = 0.0, 2
    ...
    ...     def value(self, sq_dist):
    ...         return np.log1p(sq_dist)
    ...
    ...     def weight(self, sq_dist):
    ...         return 1 / (1 + sq_dist)
    >>> X = [[0.0], [0.2], [5.0], [5.2]]
    >>> model = FuzzyClustering(2, loss=Cauchy(), engine="reference", random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_.ravel()).round(1)
    array([0.1, 5.1])
    """

    kink: ClassVar[float]
    degree: ClassVar[int]
    bounded: ClassVar[bool] = False

    @property
    def cutoff(self) -> float:
        """Distance from which on the weight is zero; infinite if there is none, or it is "auto"."""
        return float("inf")

    @property
    def is_resolved(self) -> bool:
        """Whether no parameter is "auto"."""
        return not any(is_auto(value) for value in self.get_params().values())

    def with_cutoff(self, cutoff: float) -> Self:
        """Return the same loss with another cutoff; only for bounded losses.

        A fit sets an infinite one where the rows are too few to tell a scale.
        """
        raise TypeError(f"{self} is not bounded: it has no cutoff to set.")

    @abstractmethod
    def value(self, sq_dist: Floats) -> Floats:
        """Loss at the given squared distances."""

    @abstractmethod
    def weight(self, sq_dist: Floats) -> Floats:
        """Derivative of the loss by the squared distance; 0 at distance 0 if there is a kink."""

    def check(self) -> None:
        """Raise ValueError or TypeError if a parameter is out of range."""


class Squared(Loss):
    """Squared distance, ``rho(h) = h**2``: the loss of K-means and fuzzy c-means.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import Squared
    >>> Squared().value(np.array([0.0, 4.0]))
    array([0., 4.])
    """

    kink = 0.0
    degree = 2

    def value(self, sq_dist: Floats) -> Floats:
        return sq_dist

    def weight(self, sq_dist: Floats) -> Floats:
        return np.ones_like(sq_dist)


class L21(Loss):
    """Distance, ``rho(h) = h``: the L2,1 norm of the residuals.

    A far row pulls a center with the same force as a near one, so that a heavy tail does not
    drag it. With one cluster the center is the geometric median.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import L21
    >>> L21().value(np.array([0.0, 4.0]))
    array([0., 2.])
    """

    kink = 1.0
    degree = 1

    def value(self, sq_dist: Floats) -> Floats:
        return np.sqrt(sq_dist)

    def weight(self, sq_dist: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(sq_dist > 0, 0.5 / np.sqrt(sq_dist), 0.0)


class Capped(Loss):
    """Distance up to a cap, ``rho(h) = min(h, cap)``: beyond the cap a row moves no center.

    Parameters
    ----------
    cap : float or "auto", default="auto"
        Distance, in the units of the data, from which on a row costs no more and moves no center.
        Infinity gives :class:`L21`. "auto" is found by the fit, just beyond the radius of the
        widest cluster, and kept as ``cap_``; see :class:`CappedREFCMFS`.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import Capped
    >>> Capped(cap=1.5).value(np.array([1.0, 4.0]))
    array([1. , 1.5])
    """

    kink = 1.0
    degree = 1
    bounded = True

    def __init__(self, cap: float | Auto = "auto") -> None:
        self.cap = cap

    @property
    def cutoff(self) -> float:
        return float("inf") if is_auto(self.cap) else float(self.cap)

    def with_cutoff(self, cutoff: float) -> Self:
        return type(self)(cap=cutoff)

    def value(self, sq_dist: Floats) -> Floats:
        return np.minimum(np.sqrt(sq_dist), float(self.cap))

    def weight(self, sq_dist: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            moves = (sq_dist > 0) & (np.sqrt(sq_dist) < float(self.cap))
            return np.where(moves, 0.5 / np.sqrt(sq_dist), 0.0)

    def check(self) -> None:
        if not is_auto(self.cap):
            advice = "give a distance in the data's units, or 'auto'"
            require_number("cap", self.cap, above=0, advice=advice)


LOSSES: dict[str, type[Loss]] = {"squared": Squared, "l21": L21, "capped": Capped}
"""Losses by the names that estimators take."""


def resolve_loss(part: str | Loss) -> Loss:
    """Loss of that name, or a copy of the given one, with its parameters checked."""
    loss: Loss = resolve_part("loss", part, LOSSES, Loss)
    loss.check()
    return loss
