"""FuzzyClustering, with any loss and membership rule, RSFKM and fuzzy c-means."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from sfumato._checks import Auto
from sfumato._init.base import Initializer
from sfumato._validation import most_clusters
from sfumato.estimators._base import BaseFuzzyClustering
from sfumato.losses import Loss, Squared
from sfumato.memberships import Membership, Power, Simplex


class FuzzyClustering(BaseFuzzyClustering):
    """Clustering with any loss and any membership rule.

    :class:`REFCMFS`, :class:`CappedREFCMFS`, :class:`SimREFCMFS`, :class:`RSFKM` and
    :class:`FuzzyCMeans` are special cases with parameters of their own.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters. If fewer rows are distinct, each of them is a cluster, other centers
        repeat them, and there is a warning.
    loss : {"l21", "squared", "capped"} or Loss, default="l21"
        Loss of a distance; see :class:`L21`, :class:`Squared`, :class:`Capped`.
    membership : {"power", "hard", "simplex"} or Membership, default="power"
        Rule from losses to memberships; see :class:`Power`, :class:`Hard`, :class:`Simplex`.
    init : str, array-like, Initializer or callable, default="auto"
        Initial centers. "k-means++" draws rows greedily in proportion to the loss, "random" draws
        distinct rows, "robust" draws rows such that outliers are avoided, for any loss. "auto" is
        "robust" for a bounded loss, otherwise "k-means++". An array has shape
        (n_clusters, n_features). A callable is called as ``init(X, n_clusters, random_state=rng)``
        and returns such an array. See :class:`Initializer` to write your own.
    n_init : int or "auto", default="auto"
        Number of starts, of which the one with the lowest objective is kept. All of a given number
        run to the end, on all rows. "auto" compares starts on a sample, improves the best one on
        larger samples, and ends with one descent on all rows; fewer than 8000 rows, or 200 per
        cluster, are their own sample. Starts are compared until two find the same clusters, or by
        successive halving of 10. Where ``init`` is an array, there is 1. Where it is "robust",
        there are 6 to compare, or 1, for any ``n_init``, if independent searches for seeds agree;
        and where no row lies beyond an automatic cap, seeds may be those of "k-means++".
    max_iter : int, default=300
        Largest number of iterations of a start. Each is one step of all centers.
    tol : float, default=1e-6
        A start stops when the objective falls by no more than this share of its value.
    random_state : int, RandomState or None, default=None
        Seed; an int makes the result repeatable.
    n_threads : int or None, default=None
        Threads of a pass; None uses all processors. The result has the same bits for any number.
    engine : {"auto", "native", "reference"}, default="auto"
        "native" is compiled code, "reference" its specification in NumPy; "auto" is "native".
    acceleration : {"auto", "lbfgs"} or None, default="auto"
        "lbfgs" are quasi-Newton steps, each kept only if it lowers the objective; None is the plain
        iteration. "auto" is "lbfgs" where memberships are soft, and the plain iteration for hard
        ones and for ``Simplex(n_active)``.
    decay : float, default=0.0
        Share of the past that ``partial_fit`` forgets with each batch, in [0, 1). With 0 all rows
        count alike, and the centers tend to those of one fit to all of them; 0.1 is a memory of
        about ten batches, which follows clusters that move.
    checkpoint : path or None, default=None
        File to which ``fit`` writes its state, at most once a second, so that the same call resumes
        a fit that was killed and ends with the same bits. A file of other data or parameters is
        refused.
    mark_outliers : bool, default=False
        Whether ``labels_``, ``fit_predict`` and ``predict`` give -1 for outliers, as HDBSCAN does;
        otherwise they give the nearest center.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers.
    labels_ : ndarray of shape (n_samples,)
        Nearest center of each row of the training data, also of outliers, unless ``mark_outliers``.
        This and the next five attributes are those of the last batch after ``partial_fit``.
    memberships_ : csr_array of shape (n_samples, n_clusters)
        Memberships of the training data; those of a row sum to one. Under a bounded loss, such as
        :class:`Capped`, the rows of ``outliers_`` have no entries: they belong to no cluster. Under
        any other loss they have memberships like all rows.
    probabilities_ : ndarray of shape (n_samples,)
        Largest membership of each row of the training data; 0 for outliers, as from HDBSCAN.
    objective_ : float
        Objective at ``cluster_centers_``.
    outlier_scores_ : ndarray of shape (n_samples,)
        Outlier score of each row of the training data, which grows as rows like it become rare;
        see ``score_outliers``.
    outliers_ : ndarray of shape (n_samples,), bool
        Rows with a score above 1: farther from every center than the radius of its cluster. Under a
        bounded loss, these include all rows beyond the cap of every center. Of Gaussian clusters of
        50 rows or more, one row in 740 is among them by chance, give or take a factor of 2; of
        smaller ones fewer. Of clusters with heavy tails (Student-t, 5 degrees), 1 to 2 % are.
    cluster_radii_ : ndarray of shape (n_clusters,)
        Robust radius of each cluster, in the units of the data, at most ``cap_``. It is ``cap_`` if
        a cluster has fewer than 5 rows; where that is infinite, NaN, and scores leave it out.
    history_ : tuple of IterationRecord
        Objective, seconds, largest shift of a center and repaired clusters of the start that was
        kept. The first record is at the initial centers, and one follows after each iteration.
        Empty after ``partial_fit`` has moved the centers of a fit.
    n_iter_ : int
        Number of iterations, which is the number of steps of the centers, counted as at least 1.
    outcome_ : Outcome or None
        Why the iteration stopped, ``outcome_.reason``, and the warnings about the result,
        ``outcome_.warnings``; ``str(outcome_)`` has both, with advice. None after ``partial_fit``
        has moved the centers of a fit.
    stability_ : float or None
        Agreement of the best two independent searches for clusters, the adjusted Rand index of
        their labels: 1 if they are the same. With ``n_init="auto"``, also with clusters that would
        have a lower total loss under hard memberships. None if there was one start. Below 0.9
        there is a warning.
    loss_, membership_ : Loss, Membership
        Loss and membership rule with every parameter a number.
    cap_ : float
        Distance from which on rows move no center; inf if the loss is not bounded. It is one number
        for all clusters, while ``cluster_radii_``, which is never larger, says where each ends.
    n_active_ : int or None
        Memberships per row; None if the rule does not fix it.
    fuzzifier_ : float
        Exponent of the memberships; NaN if the rule has none.
    gamma_ : float
        Strength of the quadratic penalty; NaN if the rule has none.
    intrinsic_dimension_ : float or None
        Estimated dimension of the clusters; None if no parameter needed it.
    n_samples_seen_ : int
        Number of rows of positive weight, over all batches.
    n_batches_ : int
        Number of batches of ``partial_fit`` since the last ``fit``.
    n_clusters_ : int
        Number of clusters.
    selection_ : Selection or None
        Why this number, and what others the data supports; None if ``n_clusters`` was given.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; exists only if ``X`` had names.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import Capped, FuzzyClustering, Power
    >>> X = np.array([[0.0], [0.2], [0.3], [5.0], [5.1], [5.3], [80.0]])
    >>> model = FuzzyClustering(2, loss=Capped(cap=2.0), membership=Power(2, 1.5), random_state=0)
    >>> np.sort(model.fit(X).cluster_centers_.ravel()).round(1)
    array([0.2, 5.1])
    """

    def __init__(
        self,
        n_clusters: int | Auto = 8,
        *,
        loss: str | Loss = "l21",
        membership: str | Membership = "power",
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
        self.loss = loss
        self.membership = membership

    def _parts(self) -> tuple[str | Loss, str | Membership]:
        return self.loss, self.membership


class RSFKM(BaseFuzzyClustering):
    """Robust and sparse fuzzy k-means.

    Unsquared or capped distances, and a quadratic penalty on the memberships whose strength decides
    how many of them are nonzero [1]_. Memberships are found exactly, by sorting.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters; "auto" finds it, see :func:`select_n_clusters`.
    loss : {"l21", "capped"} or Loss, default="l21"
        First or second form of the method; ``Capped(cap=...)`` sets the cap, which otherwise the
        data chooses.
    gamma : float or "auto", default="auto"
        Strength of the penalty, in the units of the loss. "auto" chooses it once, from the data,
        such that rows have two or three memberships; kept as ``gamma_``.
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
        n_clusters: int | Auto = 8,
        *,
        loss: str | Loss = "l21",
        gamma: float | Auto = "auto",
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
        self.loss = loss
        self.gamma = gamma

    def _parts(self) -> tuple[str | Loss, Membership]:
        return self.loss, Simplex(gamma=self.gamma)


class FuzzyCMeans(BaseFuzzyClustering):
    """Fuzzy c-means: squared distances, and every row belongs to every cluster.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters; "auto" finds it, see :func:`select_n_clusters`.
    fuzzifier : float or "auto", default=2.0
        Exponent r > 1 of the memberships; "auto" matches it to the dimension of the clusters, which
        keeps the centers from coinciding in high dimension.
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
        n_clusters: int | Auto = 8,
        *,
        fuzzifier: float | Auto = 2.0,
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
        self.fuzzifier = fuzzifier

    def _parts(self) -> tuple[Loss, Membership]:
        return Squared(), Power(most_clusters(self), self.fuzzifier)
