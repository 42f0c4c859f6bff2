"""Endless data: ``partial_fit`` learns from a batch at a time. No mathematics."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.callback import with_callbacks

from sfumato import _validation as validation
from sfumato._engines import make_engine
from sfumato._engines.base import OUTLIER, Engine, ResidentEngine
from sfumato._engines.chunked import ChunkedData
from sfumato._problem import Problem
from sfumato._solvers.online import OnlineState, learn
from sfumato._validation.batches import Batch
from sfumato.estimators._prediction import Prediction

OF_A_FIT = ("history_", "n_iter_", "outcome_")
"""What a fit tells of itself, and centers that have moved on do not have."""


class PartialFit(Prediction):
    """Learning from batches, for an estimator that can fit."""

    labels_: Any
    memberships_: Any
    objective_: float
    outlier_scores_: Any
    outliers_: Any
    _online: OnlineState

    @with_callbacks  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, forgetting: float = 0.0
    ) -> Self:
        """Learn from a batch of rows, beside what was learned before.

        The first batch is fitted as ``fit`` would, with the same seeds, and parameters that are
        "auto" are found from it; so it should be large enough to show all clusters. After ``fit``,
        learning goes on from its centers. Every later batch moves the centers, while the past pulls
        each of them back in proportion to the rows that it stands for.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or Stream
            The batch: whatever ``fit`` takes, of one row or more, except collections of dask. Each
            chunk of a stream is a batch, in order. Only the first batch must have ``n_clusters``
            different rows.
        y : None
            Ignored; for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; 3 is worth three copies, 0 leaves the row out.
        forgetting : float in [0, 1), default=0.0
            Share of the past that is forgotten with this batch. With 0 all rows count alike, and
            the centers tend to those of one fit to all of them; 0.1 is a memory of about ten
            batches, which follows clusters that move.

        Returns
        -------
        self : object
            ``labels_``, ``memberships_``, ``outlier_scores_``, ``outliers_`` and ``objective_`` are
            those of the last batch, at the centers after it; ``n_samples_seen_`` counts the rows of
            positive weight so far, those of ``fit`` included, ``n_batches_`` the batches.
            ``cluster_radii_`` is that of the last batches, of at least 2048 rows and 128 more per
            cluster. Parameters that were found, such as ``cap_``, stay. ``history_``, ``n_iter_``
            and ``outcome_`` tell of a fit, and go once a batch has moved its centers.

        Notes
        -----
        Memory and time depend on the batch alone. Centers minimize the objective of the batch plus
        a proximal term that pulls them to where they were, weighted by the past rows of each
        center: their number, times the weight that the loss gives at their mean distance. Three
        passes over the batch come close enough to that minimum. For blobs in 50 batches, the
        objective over all rows ends between a millionth and three percent above that of a fit to
        them, the more the clusters overlap.

        A center that never had a row, or of which less than a thousandth of the average is
        remembered where there is forgetting, and to which no row of the batch is nearest, moves to
        the row that is served worst.

        ``checkpoint`` is for ``fit``: to go on another day, pickle the estimator. Callbacks are
        told of the fit to the first batch only. If a batch is refused, or learning
        is interrupted, the estimator stays as it was.

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
        share = validation.check_forgetting(forgetting)
        before = self._forget()
        self.__dict__.update(before)
        try:
            for batch in validation.batches(self, X, sample_weight, "_online" in before):
                if "_online" in self.__dict__:
                    self._learn(batch, share)
                else:
                    self._fit(batch.rows, y, batch.weights, first_batch=True)
                    self._name_features(batch)
                self.n_batches_: int = getattr(self, "n_batches_", 0) + 1
                self.n_samples_seen_: int = self._online.n_rows
        except BaseException:
            self._forget()
            self.__dict__.update(before)
            raise
        return self

    def _learn(self, batch: Batch, forgetting: float) -> None:
        """Move the centers by a batch, and keep what it says of its rows."""
        dtype = self.cluster_centers_.dtype
        origin = self._online.centers.mean(axis=0)  # It follows the data where that drifts.
        data = validation.batch_data(self, batch, origin)
        problem = Problem(self.loss_, self.membership_)
        engine = make_engine(self.engine, data, problem, self.n_threads)
        assert isinstance(engine, ResidentEngine)
        self._online, found = learn(engine, self._online, forgetting, dtype)
        centers = self._online.centers
        self.cluster_centers_ = centers.astype(dtype)
        self.cluster_radii_ = self._online.window.radii(len(centers), self._limit(problem))
        self._origin = origin
        self.labels_, self.memberships_ = found.labels, found.memberships
        self.objective_ = found.objective
        self.outlier_scores_ = self._scores(engine)
        self.outliers_ = self.outlier_scores_ > OUTLIER
        for name in OF_A_FIT:
            self.__dict__.pop(name, None)

    def _name_features(self, batch: Batch) -> None:
        """Names of a stream, whose chunks have none."""
        if batch.names is not None:
            self.feature_names_in_ = np.array(batch.names, dtype=object)

    def _keep_online_state(self, engine: Engine, sample: ResidentEngine) -> None:
        """Keep what a fit to all rows leaves to later batches."""
        if isinstance(engine.data, ChunkedData):
            n_rows = int(engine.data.positives[-1])
        else:
            n_rows = int((engine.data.weights_or_ones() > 0).sum())
        self._online = OnlineState.of(sample, self._centers(), n_rows)

    @abstractmethod
    def _forget(self) -> dict[str, Any]:
        """Remove what a fit left, and return it."""

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any, first_batch: bool = False) -> None:
        """Fit, and keep what was found; messages are about a first batch, if it is one."""

    @abstractmethod
    def _limit(self, problem: Problem) -> float:
        """Distance of rows that say how far clusters reach."""
