"""Thin scikit-learn classes: parameters and fit. No mathematics.

``BaseFuzzyClustering`` knows how to fit any loss with any membership rule. ``FuzzyClustering``
lets the user choose both; the published methods in ``presets.py`` are fixed choices.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags

from sfumato import _validation as validation
from sfumato._checks import is_auto, resolve_name
from sfumato._engines import ENGINES
from sfumato._engines.base import OUTLIER, Engine
from sfumato._engines.runners import is_lazy
from sfumato._fit.fit import Fit
from sfumato._init import resolve_initializer
from sfumato._init.base import CalledCenters, GivenCenters, Initializer
from sfumato._outliers import cluster_radii, sample_rows
from sfumato._problem import Problem
from sfumato._solvers.descent import Outcome, Solution
from sfumato._typing import Floats
from sfumato.estimators._online import PartialFit
from sfumato.losses import Capped, Loss, resolve_loss
from sfumato.memberships import Membership, Power, Simplex, resolve_membership


class BaseFuzzyClustering(
    PartialFit,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    CallbackSupportMixin,
    BaseEstimator,
):
    """Fit, predict and score for any loss and membership rule."""

    def __init__(
        self,
        n_clusters: int,
        *,
        init: str | ArrayLike | Callable[..., Any],
        n_init: int | str,
        max_iter: int,
        tol: float,
        random_state: Any,
        n_threads: int | None,
        engine: str,
        acceleration: str | None,
        checkpoint: str | PathLike[str] | None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_threads = n_threads
        self.engine = engine
        self.acceleration = acceleration
        self.checkpoint = checkpoint

    @abstractmethod
    def _parts(self) -> tuple[str | Loss, str | Membership]:
        """Loss and membership rule, as names or objects."""

    @with_callbacks  # type: ignore[untyped-decorator] # scikit-learn has no types
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Array, list, pandas or polars frame, memory map, CSR or CSC. float32 is computed in
            float32 (in float64 while wide data is solved in its span), everything else in float64.
        y : None
            Ignored; for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; 3 is worth three copies, 0 leaves the row out.

        Returns
        -------
        self : object
        """
        before = self._forget()
        try:
            self._fit(X, y, sample_weight)
        except BaseException:
            # Nothing half-fitted is left behind, whatever went wrong and wherever.
            self._forget()
            self.__dict__.update(before)
            raise
        return self

    def _forget(self) -> dict[str, Any]:
        """Remove what a fit left, and return it; another fit may leave fewer attributes."""
        private = ("_online", "_n_features_out", "_origin")
        fitted = [name for name in self.__dict__ if name.endswith("_") or name in private]
        return {name: self.__dict__.pop(name) for name in fitted}

    def _fit(self, X: Any, y: Any, sample_weight: Any, first_batch: bool = False) -> None:
        validation.check_counts(self)
        loss, membership = self._parts()
        problem = Problem(resolve_loss(loss), resolve_membership(membership, self.n_clusters))
        resolve_name("engine", self.engine, ENGINES)
        checkpoint = None if first_batch else self.checkpoint
        data = validation.fit_input(self, X, sample_weight, checksum=checkpoint is not None)
        check = validation.check_first_batch if first_batch else validation.check_enough
        check(data, self.n_clusters)
        fit = Fit(self, data, problem, self._initializer(X, data, problem), checkpoint)
        given = {"X": X, "y": y}
        if sample_weight is not None:
            given["metadata"] = {"sample_weight": sample_weight}
        best = fit.best(given, lambda centers: self._attributes(centers, fit.engine))
        self._remember(best, fit.engine, fit.dimension)

    def _initializer(self, X: Any, data: Any, problem: Problem) -> Initializer:
        """Object that proposes initial centers."""
        if isinstance(self.init, str):
            return resolve_initializer(self.init, problem)
        if isinstance(self.init, Initializer):
            return clone(self.init)
        if callable(self.init):
            return CalledCenters(
                self.init,
                X,
                lambda made: validation.check_centers(made, self.n_clusters, data, "init(X, ...)"),
            )
        return GivenCenters(validation.check_centers(self.init, self.n_clusters, data, "init"))

    def _attributes(
        self, centers: Floats, engine: Engine, sample: Engine | None = None
    ) -> dict[str, Any]:
        """Attributes that predict, transform and score need; of a sample, if there is one."""
        limit = self._limit(engine.problem)
        return {
            "cluster_centers_": centers.astype(engine.dtype),
            "loss_": engine.problem.loss,
            "membership_": engine.problem.membership,
            "cluster_radii_": cluster_radii(sample or engine, centers, limit),
            "n_features_in_": engine.n_features,
            "_origin": engine.origin,
            "_n_features_out": len(centers),
        }

    def _limit(self, problem: Problem) -> float:
        """Distance of rows that say how far clusters reach: a cap of the data's own choice."""
        given = resolve_loss(self._parts()[0])
        chosen = is_auto(getattr(given, "cap", None))
        return float(getattr(problem.loss, "cap", np.inf)) if chosen else np.inf

    def _remember(self, solution: Solution, engine: Engine, dimension: int | None) -> None:
        """Keep what the fit found."""
        sample = engine.fixed_sample(sample_rows(len(solution.centers)))
        self.__dict__.update(self._attributes(solution.centers, engine, sample))
        self._keep_online_state(engine, sample)
        assignment = engine.assign(self._centers())
        self.labels_ = assignment.labels
        self.memberships_ = assignment.memberships
        self.objective_ = assignment.objective
        self.outlier_scores_ = self._scores(engine)
        self.outliers_ = self.outlier_scores_ > OUTLIER
        self.history_ = solution.history
        self.n_iter_ = len(solution.history)
        self.outcome_ = solution.outcome
        if isinstance(self.loss_, Capped):
            self.cap_ = float(self.loss_.cap)
        rule = self.membership_
        if isinstance(rule, Power | Simplex) and rule.n_active is not None:
            self.n_active_ = rule.n_active
        if isinstance(rule, Power):
            self.fuzzifier_ = rule.fuzzifier
        if isinstance(rule, Simplex) and rule.gamma is not None:
            self.gamma_ = rule.gamma
        if dimension is not None:
            self.intrinsic_dimension_ = dimension
        if solution.outcome is Outcome.OUT_OF_ITERATIONS:
            warnings.warn(
                f"{type(self).__name__}: {solution.outcome}", ConvergenceWarning, stacklevel=5
            )

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit, and return the nearest center of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        labels: NDArray[np.int32] = self.fit(X, y, sample_weight=sample_weight).labels_
        return labels

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: no lazy results, which would take the data, or its files, along."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if not is_lazy(value)}

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator can do."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # Without it, scikit-learn's check of sparse input fails on any clusterer that has
        # ``predict_proba``. The type of the estimator remains "clusterer".
        tags.classifier_tags = ClassifierTags()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FuzzyClustering(BaseFuzzyClustering):
    """Clustering by any loss and any membership rule.

    The general estimator: :class:`REFCMFS`, :class:`SimREFCMFS`, :class:`RSFKM` and
    :class:`FuzzyCMeans` are choices of its parts, and every other combination works too.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    loss : {"l21", "squared", "capped"} or Loss, default="l21"
        What a distance costs; see :class:`L21`, :class:`Squared`, :class:`Capped`.
    membership : {"power", "hard", "simplex"} or Membership, default="power"
        How a row divides itself; see :class:`Power`, :class:`Hard`, :class:`Simplex`.
    init : {"auto", "k-means++", "robust", "random"}, array-like or callable, default="auto"
        Initial centers. "k-means++" draws rows greedily in proportion to the loss, "random" draws
        distinct rows; "robust" seeds in a way that outliers do not attract, whatever the loss;
        "auto" is "robust" for a capped loss, otherwise "k-means++". An array has shape
        (n_clusters, n_features). A callable is called as ``init(X, n_clusters, random_state=rng)``
        and returns such an array.
    n_init : int or "auto", default="auto"
        Number of starts, of which the one with the lowest objective is kept. All of a given number
        run to the end. "auto" races 10 starts: the best 4 after 5 iterations and the best 2 after
        10 go on. Where ``init`` is an array, there is 1. Where it is "robust", "auto" races 6, of
        which 3 go on after 5 iterations and 2 after 10; there are fewer, whatever the number, if
        seeds come out the same three times; and where an automatic cap leaves out nothing, starts
        may be those of "k-means++".
    max_iter : int, default=300
        Largest number of iterations of a start.
    tol : float, default=1e-7
        Stop when the objective falls by no more than this share of its value.
    random_state : int, RandomState or None, default=None
        Seed; an int makes the result repeatable.
    n_threads : int or None, default=None
        Threads of a pass; None uses all processors. The result is the same bits for any number.
    engine : {"auto", "native", "reference"}, default="auto"
        Who passes over the data: compiled code, or the NumPy specification of it.
    acceleration : {"auto", "lbfgs"} or None, default="auto"
        How passes are saved: quasi-Newton steps, each kept only if it lowers the objective, or None
        for the plain iteration. "auto" takes "lbfgs" where memberships are soft, and the plain
        iteration for hard ones and for ``Simplex(n_active)``.
    checkpoint : path or None, default=None
        File in which the state of the fit is kept, so that the same call goes on where a fit was
        killed, and ends with the same bits. It is written after passes, once a second at most. That
        of other data or parameters is refused.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers.
    labels_ : ndarray of shape (n_samples,)
        Nearest center of each row of the training data.
    memberships_ : csr_array of shape (n_samples, n_clusters)
        Memberships of the training data.
    objective_ : float
        Objective at ``cluster_centers_``.
    n_iter_ : int
        Iterations of the start that was kept.
    history_ : tuple of IterationRecord
        Objective, seconds, largest shift of a center and repaired clusters, per iteration.
    outcome_ : Outcome
        Why it stopped; ``str(outcome_)`` says what to do.
    outlier_scores_ : ndarray of shape (n_samples,)
        Distance of each row of the training data to a center, over the reach of that cluster; of
        all clusters the smallest. Rows beyond 1 are outliers.
    outliers_ : ndarray of shape (n_samples,), bool
        Which these are. Of Gaussian clusters of a hundred rows or more, one row in 740 is among
        them by chance, give or take a factor of 2; of small ones more.
    cluster_radii_ : ndarray of shape (n_clusters,)
        How far each cluster reaches, in the units of the data, whatever lies beyond; NaN for one of
        fewer than 5 rows, which keeps nobody from being an outlier.
    cap_ : float
        Cap of the loss that was used, where it has one.
    loss_, membership_ : Loss, Membership
        Parts with every parameter a number.
    n_active_, fuzzifier_, gamma_ : int, float, float
        Parameters of the membership rule that were used, where it has them.
    intrinsic_dimension_ : int
        Estimated dimension of the clusters, where the fuzzifier was "auto".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` had names.

    Notes
    -----
    Memberships of new rows come from ``predict_membership``; the presets also call it
    ``membership``, which here is the name of a parameter.

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
        n_clusters: int = 8,
        *,
        loss: str | Loss = "l21",
        membership: str | Membership = "power",
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
        self.membership = membership

    def _parts(self) -> tuple[str | Loss, str | Membership]:
        return self.loss, self.membership
