"""REFCMFS and its variants with a capped and with a squared loss."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from sfumato._checks import Auto
from sfumato._init.base import Initializer
from sfumato.estimators._base import BaseFuzzyClustering
from sfumato.losses import L21, Capped, Loss, Squared
from sfumato.memberships import Membership, Power


class REFCMFS(BaseFuzzyClustering):
    """Robust and efficient fuzzy c-means with flexible sparsity.

    Each row belongs to its ``n_active`` nearest clusters and to no other; distances enter
    unsquared, so that a heavy tail does not drag the centers [1]_. The objective is
    ``sum_i sum_k h_ik * a_ik ** r``, over memberships ``a`` that sum to one in each row.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters; "auto" finds it, see :func:`select_n_clusters`.
    n_active : int or "auto", default="auto"
        Memberships per row, K~ in the paper; "auto" is ``min(5, n_clusters)``.
    fuzzifier : float or "auto", default="auto"
        Exponent r > 1 of the memberships. "auto" is ``1 + 1/D``, D being the intrinsic dimension of
        the clusters, estimated from the data and kept as ``intrinsic_dimension_``.
    init : str, array-like, Initializer or callable, default="auto"
        Initial centers; see :class:`FuzzyClustering`.
    n_init : int or "auto", default="auto"
        Number of starts, of which the one with the lowest objective is kept.
    max_iter : int, default=300
        Largest number of iterations of a start. Each is one step of all centers.
    tol : float, default=1e-6
        A start stops when the objective falls by no more than this share of its value.
    random_state : int, RandomState or None, default=None
        Seed; an int makes the result repeatable.
    n_threads : int or None, default=None
        Threads of a pass; None uses all processors.
    engine : {"auto", "native", "reference"}, default="auto"
        Compiled code, or NumPy.
    acceleration : {"auto", "lbfgs"} or None, default="auto"
        Quasi-Newton steps, or None for the plain iteration.
    decay : float, default=0.0
        Share of the past that ``partial_fit`` forgets with each batch, in [0, 1).
    checkpoint : path or None, default=None
        File from which ``fit`` resumes, and to which it writes its state.
    mark_outliers : bool, default=False
        Whether outliers get the label -1.

    Attributes
    ----------
    cluster_centers_, labels_, memberships_, objective_, n_iter_, history_, outcome_
        These and all others are as in :class:`FuzzyClustering`.

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
        n_clusters: int | Auto = 8,
        *,
        n_active: int | Auto = "auto",
        fuzzifier: float | Auto = "auto",
        init: str | ArrayLike | Initializer | Callable[..., Any] = "auto",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        n_threads: int | None = None,
        engine: str = "auto",
        acceleration: str | None = "auto",
        decay: float = 0.0,
        checkpoint: str | PathLike[str] | None = None,
        mark_outliers: bool = False,
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
            decay=decay,
            checkpoint=checkpoint,
            mark_outliers=mark_outliers,
        )
        self.n_active = n_active
        self.fuzzifier = fuzzifier

    def _parts(self) -> tuple[Loss, Membership]:
        return L21(), Power(self.n_active, self.fuzzifier)


class CappedREFCMFS(BaseFuzzyClustering):
    """REFCMFS with a capped loss, whose centers outliers cannot move.

    A row farther from all centers than ``cap`` costs the cap, moves no center, and has no
    memberships. A row within the cap of some center has its ``n_active`` nearest clusters as
    members; those beyond the cap cost the same, and the nearest are taken all the same. Under an
    unbounded loss, such as that of :class:`REFCMFS`, outliers end up with centers of their own.
    With robust seeds and an automatic cap, 30 % of the rows may be outliers, unless these form
    clusters themselves.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters; "auto" finds it, see :func:`select_n_clusters`.
    cap : float or "auto", default="auto"
        Distance from which on the loss is constant. "auto" lies just beyond the radius of the
        widest cluster. Of many caps and seeds, on a sample of bounded size, the one is taken under
        which clusters and outliers are the most likely; it is kept as ``cap_``. It is infinite
        where clusters have fewer than 8 rows on average.
    n_active : int or "auto", default="auto"
        Memberships per row; "auto" is ``min(5, n_clusters)``.
    fuzzifier : float or "auto", default="auto"
        Exponent r > 1 of the memberships. "auto" is ``1 + 1/D``, D being the intrinsic dimension of
        the clusters, estimated from the data and kept as ``intrinsic_dimension_``. It is smaller
        where a small cluster would otherwise be lost beside a large one.
    init : str, array-like, Initializer or callable, default="auto"
        Initial centers; see :class:`FuzzyClustering`.
    n_init : int or "auto", default="auto"
        Number of starts, of which the one with the lowest objective is kept.
    max_iter : int, default=300
        Largest number of iterations of a start. Each is one step of all centers.
    tol : float, default=1e-6
        A start stops when the objective falls by no more than this share of its value.
    random_state : int, RandomState or None, default=None
        Seed; an int makes the result repeatable.
    n_threads : int or None, default=None
        Threads of a pass; None uses all processors.
    engine : {"auto", "native", "reference"}, default="auto"
        Compiled code, or NumPy.
    acceleration : {"auto", "lbfgs"} or None, default="auto"
        Quasi-Newton steps, or None for the plain iteration.
    decay : float, default=0.0
        Share of the past that ``partial_fit`` forgets with each batch, in [0, 1).
    checkpoint : path or None, default=None
        File from which ``fit`` resumes, and to which it writes its state.
    mark_outliers : bool, default=False
        Whether outliers get the label -1.

    Attributes
    ----------
    outliers_ : ndarray of shape (n_samples,), bool
        Rows of the training data that belong to no cluster: they lie farther from every center than
        the radius of its cluster, their score exceeds 1, and their row of ``memberships_`` is
        empty. ``labels_`` has their nearest center, or -1 with ``mark_outliers=True``.
    cap_ : float
        Cap that was used.
    cluster_radii_ : ndarray of shape (n_clusters,)
        Radius of each cluster, at most ``cap_``.
    cluster_centers_, labels_, memberships_, objective_, n_iter_, history_, outcome_
        These and all others are as in :class:`FuzzyClustering`.

    Notes
    -----
    While the centers are sought, a row beyond the cap of all clusters has memberships like any
    other, since a constant cost moves nothing. It is after the fit that outliers lose them, in
    ``memberships_``, ``predict_membership`` and ``predict_proba``.

    Outliers that form a group nearly as large as a cluster are given a center. Where no row lies
    beyond the cap, and clusters are not well separated, starts are drawn as by :class:`REFCMFS`,
    and the fit is nearly the same; see ``docs/restarts.md``, and ``docs/robustness.md`` for
    measurements.

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
        n_clusters: int | Auto = 8,
        *,
        cap: float | Auto = "auto",
        n_active: int | Auto = "auto",
        fuzzifier: float | Auto = "auto",
        init: str | ArrayLike | Initializer | Callable[..., Any] = "auto",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        n_threads: int | None = None,
        engine: str = "auto",
        acceleration: str | None = "auto",
        decay: float = 0.0,
        checkpoint: str | PathLike[str] | None = None,
        mark_outliers: bool = False,
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
            decay=decay,
            checkpoint=checkpoint,
            mark_outliers=mark_outliers,
        )
        self.cap = cap
        self.n_active = n_active
        self.fuzzifier = fuzzifier

    def _parts(self) -> tuple[Loss, Membership]:
        return Capped(self.cap), Power(self.n_active, self.fuzzifier)


class SimREFCMFS(BaseFuzzyClustering):
    """REFCMFS with squared distances: sparse, and not robust.

    The paper's simplified variant [1]_. With ``n_active=1`` it is K-means, with
    ``n_active=n_clusters`` fuzzy c-means.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters; "auto" finds it, see :func:`select_n_clusters`.
    n_active : int or "auto", default="auto"
        Memberships per row, K~ in the paper; "auto" is ``min(5, n_clusters)``.
    fuzzifier : float or "auto", default="auto"
        Exponent r > 1 of the memberships. "auto" is ``1 + 2/D``, D being the intrinsic dimension of
        the clusters, estimated from the data and kept as ``intrinsic_dimension_``.
    init : str, array-like, Initializer or callable, default="auto"
        Initial centers; see :class:`FuzzyClustering`.
    n_init : int or "auto", default="auto"
        Number of starts, of which the one with the lowest objective is kept.
    max_iter : int, default=300
        Largest number of iterations of a start. Each is one step of all centers.
    tol : float, default=1e-6
        A start stops when the objective falls by no more than this share of its value.
    random_state : int, RandomState or None, default=None
        Seed; an int makes the result repeatable.
    n_threads : int or None, default=None
        Threads of a pass; None uses all processors.
    engine : {"auto", "native", "reference"}, default="auto"
        Compiled code, or NumPy.
    acceleration : {"auto", "lbfgs"} or None, default="auto"
        Quasi-Newton steps, or None for the plain iteration.
    decay : float, default=0.0
        Share of the past that ``partial_fit`` forgets with each batch, in [0, 1).
    checkpoint : path or None, default=None
        File from which ``fit`` resumes, and to which it writes its state.
    mark_outliers : bool, default=False
        Whether outliers get the label -1.

    Attributes
    ----------
    cluster_centers_, labels_, memberships_, objective_, n_iter_, history_, outcome_
        These and all others are as in :class:`FuzzyClustering`.

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
        n_clusters: int | Auto = 8,
        *,
        n_active: int | Auto = "auto",
        fuzzifier: float | Auto = "auto",
        init: str | ArrayLike | Initializer | Callable[..., Any] = "auto",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        n_threads: int | None = None,
        engine: str = "auto",
        acceleration: str | None = "auto",
        decay: float = 0.0,
        checkpoint: str | PathLike[str] | None = None,
        mark_outliers: bool = False,
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
            decay=decay,
            checkpoint=checkpoint,
            mark_outliers=mark_outliers,
        )
        self.n_active = n_active
        self.fuzzifier = fuzzifier

    def _parts(self) -> tuple[Loss, Membership]:
        return Squared(), Power(self.n_active, self.fuzzifier)
