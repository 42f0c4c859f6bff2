"""Other members of the family: a quadratic penalty, or memberships in all clusters."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from sfumato._checks import Auto
from sfumato.estimators._preset import Preset
from sfumato.losses import Loss, Squared
from sfumato.memberships import Membership, Power, Simplex


class RSFKM(Preset):
    """Robust and sparse fuzzy k-means.

    Unsquared or capped distances, and a quadratic penalty on the memberships whose strength decides
    how many of them are nonzero [1]_. Memberships are found exactly, by sorting.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    loss : {"l21", "capped"} or Loss, default="l21"
        First or second form of the method; ``Capped(cap=...)`` sets the cap, which otherwise the
        data chooses.
    gamma : float or "auto", default="auto"
        Strength of the penalty, in the units of the loss. "auto" chooses it once, from the data,
        such that rows have two or three memberships; kept as ``gamma_``.
    init, n_init, max_iter, tol, random_state, n_threads, engine, acceleration, checkpoint
        As in :class:`FuzzyClustering`.

    Attributes
    ----------
    cluster_centers_, labels_, memberships_, objective_, n_iter_, history_, outcome_
        As in :class:`FuzzyClustering`, with all others.

    References
    ----------
    .. [1] J. Xu, J. Han, K. Xiong, F. Nie, "Robust and sparse fuzzy k-means clustering",
       IJCAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import RSFKM
    >>> X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> model = RSFKM(n_clusters=2, gamma=0.5, random_state=0).fit(X)
    >>> model.memberships_.nnz
    6
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        loss: str | Loss = "l21",
        gamma: float | Auto = "auto",
        init: str | ArrayLike | Callable[..., Any] = "auto",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-7,
        random_state: Any = None,
        n_threads: int | None = None,
        engine: str = "auto",
        acceleration: str | None = "auto",
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_threads=n_threads,
            engine=engine,
            acceleration=acceleration,
            checkpoint=checkpoint,
        )
        self.loss = loss
        self.gamma = gamma

    def _parts(self) -> tuple[str | Loss, Membership]:
        return self.loss, Simplex(gamma=self.gamma)


class FuzzyCMeans(Preset):
    """Fuzzy c-means: squared distances, and every row belongs to every cluster.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    fuzzifier : float or "auto", default=2.0
        Exponent r > 1 of the memberships; "auto" matches it to the dimension of the clusters, which
        keeps the centers from coinciding in high dimension.
    init, n_init, max_iter, tol, random_state, n_threads, engine, acceleration, checkpoint
        As in :class:`FuzzyClustering`.

    Attributes
    ----------
    cluster_centers_, labels_, memberships_, objective_, n_iter_, history_, outcome_
        As in :class:`FuzzyClustering`, with all others.

    References
    ----------
    .. [1] J. C. Bezdek, "Pattern recognition with fuzzy objective function algorithms", 1981.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import FuzzyCMeans
    >>> X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> model = FuzzyCMeans(n_clusters=2, random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_.ravel()).round(2)
    array([0.1, 9.1])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fuzzifier: float | Auto = 2.0,
        init: str | ArrayLike | Callable[..., Any] = "auto",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-7,
        random_state: Any = None,
        n_threads: int | None = None,
        engine: str = "auto",
        acceleration: str | None = "auto",
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_threads=n_threads,
            engine=engine,
            acceleration=acceleration,
            checkpoint=checkpoint,
        )
        self.fuzzifier = fuzzifier

    def _parts(self) -> tuple[Loss, Membership]:
        return Squared(), Power(self.n_clusters, self.fuzzifier)
