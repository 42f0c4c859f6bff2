"""Published methods as choices of parts, with their citations, and one method of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse as sp
from numpy.typing import ArrayLike

from sfumato.estimators import BaseFuzzyClustering
from sfumato.problem import L21, Capped, Loss, Membership, Power, Simplex, Squared
from sfumato.problem.checks import Auto


class Preset(BaseFuzzyClustering):
    """A method with a name: its parts are fixed, their parameters are its own."""

    def membership(self, X: Any) -> sp.csr_array:
        """Memberships of each row, sparse; another name for ``predict_membership``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        memberships : csr_array of shape (n_samples, n_clusters)
        """
        return self.predict_membership(X)


class REFCMFS(Preset):
    """Robust and efficient fuzzy c-means with flexible sparsity.

    Each row belongs to its ``n_active`` nearest clusters and to no other; distances enter
    unsquared, so that a heavy tail does not drag the centers [1]_. The objective is
    ``sum_i sum_k h_ik * a_ik ** r``, over memberships ``a`` that sum to one in each row.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_active : int or "auto", default="auto"
        Memberships per row, K~ in the paper; "auto" is ``min(5, n_clusters)``.
    fuzzifier : float or "auto", default="auto"
        Exponent r > 1 of the memberships. "auto" is ``1 + 1/D``, D being the intrinsic dimension of
        the clusters, estimated from the data and kept as ``intrinsic_dimension_``.
    init, n_init, max_iter, tol, random_state, n_threads, engine, acceleration
        As in :class:`FuzzyClustering`.

    Attributes
    ----------
    cluster_centers_, labels_, memberships_, objective_, n_iter_, history_, outcome_
        As in :class:`FuzzyClustering`, with all others.

    Notes
    -----
    The centers follow from ``a ** r`` weights; the paper prints ``a``, which its own
    proof of descent contradicts. Centers that lie on rows are moved by the step of Vardi and
    Zhang; without it the iteration freezes on its seeds.

    References
    ----------
    .. [1] J. Xu, J. Han, M. Xu, F. Nie, X. Li, "Robust and efficient fuzzy c-means clustering
       constrained on flexible sparsity".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sfumato import REFCMFS
    >>> X = load_iris().data
    >>> model = REFCMFS(n_clusters=3, n_active=2, random_state=0).fit(X)
    >>> model.memberships_.shape, model.memberships_.nnz
    ((150, 3), 300)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_active: int | Auto = "auto",
        fuzzifier: float | Auto = "auto",
        init: str | ArrayLike | Callable[..., Any] = "auto",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-7,
        random_state: Any = None,
        n_threads: int | None = None,
        engine: str = "auto",
        acceleration: str | None = "auto",
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
        )
        self.n_active = n_active
        self.fuzzifier = fuzzifier

    def _parts(self) -> tuple[Loss, Membership]:
        return L21(), Power(self.n_active, self.fuzzifier)


class CappedREFCMFS(Preset):
    """REFCMFS that outliers cannot move, and that says which rows they are.

    :class:`REFCMFS` with a bounded loss: a row costs no more than ``cap`` and moves no center from
    there on, however far it is. An unbounded loss, the distance itself included, ends by giving
    outliers centers of their own. With seeds that outliers do not attract, and a cap that the data
    chooses, 30 % of the rows may be anything that does not gather in large clumps.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    cap : float or "auto", default="auto"
        Distance from which on a row costs no more. "auto" lies just beyond the reach of the widest
        cluster: it is found on a sample of bounded size, scales with the data, needs no share of
        outliers, and is kept as ``cap_``. It is infinite where clusters have fewer than 8 rows on
        average, too few to tell.
    n_active : int or "auto", default="auto"
        Memberships per row; "auto" is ``min(5, n_clusters)``.
    fuzzifier : float or "auto", default="auto"
        Exponent r > 1 of the memberships. "auto" is ``1 + 1/D``, D being the intrinsic dimension of
        the clusters, estimated from rows within the cap and kept as ``intrinsic_dimension_``.
    init, n_init, max_iter, tol, random_state, n_threads, engine, acceleration
        As in :class:`FuzzyClustering`.

    Attributes
    ----------
    outliers_, outlier_scores_, cluster_reaches_, cap_
        Which rows of the training data belong to no cluster, how far out they are, how far the
        clusters reach, and the cap.
    cluster_centers_, labels_, memberships_, objective_, n_iter_, history_, outcome_
        As in :class:`FuzzyClustering`, with all others.

    Notes
    -----
    A clump of outliers nearly as large as a cluster is a cluster, and is given a center. What was
    measured is in ``docs/robustness.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import CappedREFCMFS
    >>> rng = np.random.default_rng(2)
    >>> X = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 9, [[300.0, -40.0]]])
    >>> model = CappedREFCMFS(n_clusters=2, random_state=0).fit(X)
    >>> np.flatnonzero(model.outliers_)
    array([200])
    >>> model.predict([[50.0, 50.0]], mark_outliers=True)
    array([-1], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        cap: float | Auto = "auto",
        n_active: int | Auto = "auto",
        fuzzifier: float | Auto = "auto",
        init: str | ArrayLike | Callable[..., Any] = "auto",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-7,
        random_state: Any = None,
        n_threads: int | None = None,
        engine: str = "auto",
        acceleration: str | None = "auto",
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
        )
        self.cap = cap
        self.n_active = n_active
        self.fuzzifier = fuzzifier

    def _parts(self) -> tuple[Loss, Membership]:
        return Capped(self.cap), Power(self.n_active, self.fuzzifier)


class SimREFCMFS(Preset):
    """REFCMFS with squared distances: sparse, and not robust.

    The paper's simplified variant [1]_. With ``n_active=1`` it is K-means, with
    ``n_active=n_clusters`` fuzzy c-means.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_active : int or "auto", default="auto"
        Memberships per row, K~ in the paper; "auto" is ``min(5, n_clusters)``.
    fuzzifier : float or "auto", default="auto"
        Exponent r > 1 of the memberships. "auto" is ``1 + 2/D``, D being the intrinsic dimension of
        the clusters, estimated from the data and kept as ``intrinsic_dimension_``.
    init, n_init, max_iter, tol, random_state, n_threads, engine, acceleration
        As in :class:`FuzzyClustering`.

    Attributes
    ----------
    cluster_centers_, labels_, memberships_, objective_, n_iter_, history_, outcome_
        As in :class:`FuzzyClustering`, with all others.

    References
    ----------
    .. [1] J. Xu, J. Han, M. Xu, F. Nie, X. Li, "Robust and efficient fuzzy c-means clustering
       constrained on flexible sparsity".

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import SimREFCMFS
    >>> X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    >>> model = SimREFCMFS(n_clusters=2, n_active=1, random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_.ravel()).round(3)
    array([0.1, 9.1])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_active: int | Auto = "auto",
        fuzzifier: float | Auto = "auto",
        init: str | ArrayLike | Callable[..., Any] = "auto",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-7,
        random_state: Any = None,
        n_threads: int | None = None,
        engine: str = "auto",
        acceleration: str | None = "auto",
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
        )
        self.n_active = n_active
        self.fuzzifier = fuzzifier

    def _parts(self) -> tuple[Loss, Membership]:
        return Squared(), Power(self.n_active, self.fuzzifier)


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
    init, n_init, max_iter, tol, random_state, n_threads, engine, acceleration
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
    init, n_init, max_iter, tol, random_state, n_threads, engine, acceleration
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
        )
        self.fuzzifier = fuzzifier

    def _parts(self) -> tuple[Loss, Membership]:
        return Squared(), Power(self.n_clusters, self.fuzzifier)
