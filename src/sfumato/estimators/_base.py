"""Base class of the family: fit and partial_fit for any loss and membership rule."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClusterMixin
from sklearn.utils import ClassifierTags

from sfumato import _validation as validation
from sfumato._checks import Auto, check_flag, check_random_state, is_auto, is_number, resolve_name
from sfumato._data import Data
from sfumato._engines import ENGINES, is_lazy, make_engine, outputs
from sfumato._engines.base import Engine, ResidentEngine
from sfumato._engines.chunked import ChunkedData
from sfumato._fit.callbacks import CallbackSupportMixin, with_callbacks
from sfumato._fit.diagnostics import outcome_of, raise_warnings, warn_of_batch
from sfumato._fit.fit import FitResult, fit
from sfumato._init import make_initializer
from sfumato._init.base import Initializer
from sfumato._mixture import Background, Mixture
from sfumato._origin import central_point, medians
from sfumato._outliers import limited_radii, radii_of, sample_rows, tails_of, weighted_median
from sfumato._problem import Assignment, Problem
from sfumato._selection.choose import choose
from sfumato._selection.record import Selection
from sfumato._solvers.history import History
from sfumato._solvers.online import AssignedSample, OnlineState, learn
from sfumato._typing import Floats
from sfumato._validation.batches import Batch
from sfumato.estimators._documentation import DocumentedEstimator
from sfumato.estimators._predictions import Predictions
from sfumato.estimators._state import CopiedState
from sfumato.exceptions import ParameterError
from sfumato.losses import Loss, Squared, resolve_loss
from sfumato.memberships import Hard, Membership, resolve_membership


class SampledRows(NamedTuple):
    """Sample of the rows of a fit, assigned to its centers with distances and memberships."""

    engine: ResidentEngine
    seen: Assignment

    @classmethod
    def of(cls, engine: Engine, centers: Floats) -> SampledRows:
        """Sample of the rows of an engine."""
        sample = engine.fixed_sample(sample_rows(len(centers)))
        return cls(sample, sample.assign(centers, distances=True))

    @property
    def weights(self) -> Floats:
        """Weight of each row."""
        return self.engine.data.weights_or_ones()

    def radii(self, limit: float) -> Floats:
        """Radius of each cluster, from rows nearer than the limit."""
        n_clusters = self.seen.memberships.shape[1]
        return radii_of(self.seen.distances, self.seen.labels, self.weights, n_clusters, limit)

    def mixture(self, centers: Floats, radii: Floats) -> Mixture:
        """Density of the rows, for centers and radii of clusters."""
        distances = np.asarray(self.seen.distances, dtype=np.float64)
        masses = np.bincount(self.seen.labels, self.weights, len(centers)).astype(np.float64)
        middle = central_point(centers, masses, weighted_median(distances, self.weights))
        far = self.engine.distances(middle[None])[:, 0].astype(np.float64)
        background = Background.around(middle, far, self.weights)
        return Mixture.of(distances, self.seen.labels, self.weights, radii, background)


class BaseFuzzyClustering(
    Predictions, ClusterMixin, CallbackSupportMixin, CopiedState, DocumentedEstimator
):
    """Estimator for any loss and membership rule; a subclass chooses them in ``_parts``."""

    def __init__(
        self,
        n_clusters: int | Auto,
        *,
        init: str | ArrayLike | Initializer | Callable[..., Any],
        n_init: int | str,
        max_iter: int,
        tol: float,
        random_state: Any,
        n_threads: int | None,
        engine: str,
        acceleration: str | None,
        decay: float,
        checkpoint: str | PathLike[str] | None,
        mark_outliers: bool,
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
        self.decay = decay
        self.checkpoint = checkpoint
        self.mark_outliers = mark_outliers

    def _parts(self) -> tuple[str | Loss, str | Membership]:
        """Loss and membership rule, as names or objects."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), Stream or dask collection
            Array, list, pandas or polars frame, memory map, CSR or CSC. float32 is computed in
            float32 (in float64 while wide data is projected), everything else in float64.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; 3 is worth three copies, 0 leaves the row out.

        Returns
        -------
        self : object
            If the fit fails, it is as it was before.

        Notes
        -----
        After a fit to a stream or dask collection, ``labels_``, ``memberships_``,
        ``probabilities_``, ``outlier_scores_`` and ``outliers_`` are lazy and refer to the data.
        Pickles and copies of the estimator leave them out: use ``predict``, ``predict_membership``
        and ``score_outliers``.
        """
        with validation.restored_on_failure(self):
            self._fit(X, y, sample_weight)
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, mark_outliers: bool | None = None
    ) -> Any:
        """Fit, and return the nearest center of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
        mark_outliers : bool or None, default=None
            Whether outliers get the label -1; None is the parameter ``mark_outliers`` of the
            estimator, by which ``labels_`` goes in any case.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        marked = self._marks(mark_outliers)
        self.fit(X, y, sample_weight=sample_weight)
        same = marked == self.mark_outliers
        return self.labels_ if same else self.predict(X, mark_outliers=marked)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows, beside what was learned before.

        The first batch is fitted as by ``fit``, and parameters that are "auto" are found from it,
        so it should be large enough to show all clusters. After ``fit``, learning goes on from its
        centers. If it fails, the estimator stays as it was.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or Stream
            Batch of any size, the first with at least ``n_clusters`` different rows. Each chunk of
            a stream is a batch.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : object
            ``cluster_radii_`` is estimated from the last batches, of at least 2048 rows and 128
            more per cluster, and at most ``cap_``. Parameters that were found, such as ``cap_``,
            stay.

        Notes
        -----
        Memory and time depend on the batch alone. Three passes over it approximately minimize its
        objective plus a proximal term, which pulls each center to its former place and is weighted
        by the number of its past rows. For blobs in 50 batches, the objective over all rows ends
        between a millionth and three percent above that of a fit to them, the more the clusters
        overlap. A center with no rows in the batch and almost no remembered rows moves to the row
        with the largest loss. A center that a batch would move to the place of another one stays,
        and one that moves farther than to the next center does so with a ``MovedCentersWarning``.

        ``checkpoint`` is for ``fit`` only; pickle the estimator to continue later. Callbacks are
        called in the fit to the first batch only.

        Examples
        --------
        >>> import numpy as np
        >>> from sfumato import REFCMFS
        >>> rng = np.random.default_rng(0)
        >>> model = REFCMFS(n_clusters=2, random_state=0)
        >>> for _ in range(20):
        ...     batch = rng.normal(size=(100, 1)) + rng.choice([1, 9], size=(100, 1))
        ...     model = model.partial_fit(batch)
        >>> np.sort(model.cluster_centers_.ravel()).round()
        array([1., 9.])
        >>> model.n_samples_seen_
        2000
        """
        with validation.restored_on_failure(self):
            validation.check_counts(self)
            for batch in validation.batches(self, X, sample_weight, hasattr(self, "_online_")):
                if hasattr(self, "_online_"):
                    self._learn(batch)
                else:
                    self._fit(batch.rows, y, batch.weights, first_batch=True)
                    if batch.names is not None:
                        self.feature_names_in_ = np.array(batch.names, dtype=object)
                self.n_batches_ += 1
        return self

    @with_callbacks  # type: ignore[untyped-decorator] # scikit-learn has no types
    def _fit(self, X: Any, y: Any, sample_weight: Any, first_batch: bool = False) -> None:
        """Fit to all rows, and set all fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # Of an earlier fit.
        validation.check_counts(self)
        loss, membership = (resolve_loss(self._parts()[0]), self._parts()[1])
        auto = is_auto(self.n_clusters)
        resolve_membership(membership, validation.most_clusters(self), limited=auto)
        resolve_name("engine", self.engine, ENGINES)
        check_flag("mark_outliers", self.mark_outliers)
        checkpoint = None if first_batch else self.checkpoint
        data = validation.fit_input(self, X, sample_weight, checksum=checkpoint is not None)
        self.selection_ = self._select(data) if auto else None
        # It may be one of NumPy's, which overflow.
        n_clusters = int(self.n_clusters if self.selection_ is None else self.selection_.n_clusters)
        self.n_clusters_ = n_clusters
        problem = Problem(loss, resolve_membership(membership, n_clusters, limited=auto))
        count = validation.check_first_batch if first_batch else validation.count_rows
        n_distinct = count(data, n_clusters)
        self._cutoff_given_ = problem.loss.is_resolved
        given = {"X": X, "y": y}
        if sample_weight is not None:
            given["metadata"] = {"sample_weight": sample_weight}
        start = make_initializer(self.init, X, data, problem, n_clusters)
        result = fit(self, data, problem, start, given, self._attributes, checkpoint)
        self._remember(result, n_distinct)
        raise_warnings(self, self.outcome_.warnings)

    def _select(self, data: Data | ChunkedData) -> Selection:
        """Number of clusters of the data, with its reason. It does not use up random numbers."""
        if not (isinstance(self.init, str | Initializer) or callable(self.init)):
            message = (
                "init is an array of centers, and n_clusters='auto' looks for their number; give "
                "n_clusters, or init='auto'."
            )
            raise ParameterError(message, "init", self.init)
        engine = make_engine(self.engine, data, Problem(Squared(), Hard()), self.n_threads)
        check_random_state(self.random_state)
        seed = int(self.random_state) if is_number(self.random_state, Integral) else 0
        return choose(engine, np.random.RandomState(seed))

    def _attributes(
        self, engine: Engine, centers: Floats, seen: SampledRows | None = None
    ) -> dict[str, Any]:
        """Attributes that predictions need, from a sample of the rows."""
        sampled = seen or SampledRows.of(engine, centers)
        limit = self._radius_limit(engine.problem.loss)
        radii = limited_radii(sampled.radii(limit), engine.problem.loss)
        return {
            "cluster_centers_": centers.astype(engine.dtype),
            "cluster_radii_": radii,
            "loss_": engine.problem.loss,
            "membership_": engine.problem.membership,
            "n_features_in_": engine.n_features,
            "_origin_": engine.origin,
            "_mixture_": sampled.mixture(centers, radii),
            "_tails_": tails_of(
                sampled.seen.distances, sampled.seen.labels, sampled.weights, radii
            ),
        }

    def _radius_limit(self, loss: Loss) -> float:
        """Distance from which on rows do not count for the radii; inf if the cutoff was given."""
        return np.inf if self._cutoff_given_ else loss.cutoff

    def _remember(self, result: FitResult, n_distinct: int) -> None:
        """Set the attributes of a fit; ``n_distinct`` rows differ, up to ``n_clusters``."""
        solution, engine = result.solution, result.engine
        problem = engine.problem
        sampled = SampledRows.of(engine, solution.centers)
        found = self._attributes(engine, solution.centers, sampled) | problem.membership.fitted()
        self.__dict__.update(found)
        self.cap_ = problem.loss.cutoff
        self.intrinsic_dimension_ = result.dimension
        self.history_ = History(solution.history)
        self.n_iter_ = max(1, len(solution.history) - 1)
        names = getattr(self, "feature_names_in_", None)
        self.stability_ = result.stability
        self.outcome_: Any = outcome_of(result, *sampled, n_distinct, names)
        self.n_samples_seen_ = result.n_rows
        self.n_batches_ = 0
        self._online_: AssignedSample | OnlineState = AssignedSample(sampled.seen, sampled.weights)
        self._describe(engine, engine.assign(self._centers()))

    def _describe(self, engine: Engine, assignment: Assignment) -> None:
        """Set the attributes of the rows that were learned last."""
        self.objective_ = assignment.objective
        self.outlier_scores_ = engine.map(self._scores_output())
        self.outliers_ = self.outlier_scores_ > outputs.OUTLIER
        self.labels_, self.memberships_ = assignment.labels, assignment.memberships
        if is_lazy(self.memberships_):
            self.labels_ = engine.map(self._labels_output(self.mark_outliers))
            self.memberships_ = engine.map(self._memberships_output())
            sure = outputs.Probabilities(self._centers(), self.cluster_radii_)
            self.probabilities_ = engine.map(sure)
            return
        if self.mark_outliers:
            self.labels_ = np.where(self.outliers_, np.int32(-1), self.labels_)
        if self.loss_.bounded:
            self.memberships_ = outputs.without_entries(self.memberships_, self.outliers_)
        self.probabilities_ = outputs.largest_entries(self.memberships_)
        self.probabilities_[self.outliers_] = 0

    def _learn(self, batch: Batch) -> None:
        """Move the centers by a batch that is not the first, and set the attributes after it."""
        state = self._online_state()
        origin = medians(state.centers, state.past.count)  # It follows data that drifts.
        data = validation.batch_data(self, batch, origin)
        problem = Problem(self.loss_, self.membership_)
        engine = make_engine(self.engine, data, problem, self.n_threads)
        assert isinstance(engine, ResidentEngine)
        dtype = self.cluster_centers_.dtype
        learned = learn(engine, state, float(self.decay), dtype)
        self._online_ = learned.state
        centers, window = self._online_.centers, self._online_.window
        self.cluster_centers_ = centers.astype(dtype)
        radii = window.radii(len(centers), self._radius_limit(self.loss_))
        self.cluster_radii_ = limited_radii(radii, self.loss_)
        seen = (window.distances, window.labels, window.weights, self.cluster_radii_)
        self._mixture_ = Mixture.of(*seen, self._mixture_.background)
        self._tails_ = tails_of(*seen)
        self._origin_ = origin
        self.history_, self.n_iter_, self.outcome_ = History(), 0, None
        self.n_samples_seen_ += int(np.count_nonzero(data.weights_or_ones()))
        self._describe(engine, learned.assignment)
        warn_of_batch(self, learned.held, learned.far)

    def _online_state(self) -> OnlineState:
        """State of ``partial_fit``; after ``fit`` it is made from the sample for the radii."""
        if isinstance(self._online_, OnlineState):
            return self._online_
        problem = Problem(self.loss_, self.membership_)
        return OnlineState.of(self._online_, self._centers(), problem, self.n_samples_seen_)

    def __getstate__(self) -> dict[str, Any]:
        """State to pickle: without lazy results, and without the sample that refers to the data."""
        state = super().__getstate__()
        return {**state, "_online_": self._online_state()} if "_online_" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # Without it, scikit-learn's check of sparse input fails on any clusterer that has
        # ``predict_proba``. The type of the estimator remains "clusterer".
        tags.classifier_tags = ClassifierTags()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
