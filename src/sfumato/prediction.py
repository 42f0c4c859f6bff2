"""What a fitted model says of rows: labels, memberships, distances, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sfumato import registry, validation
from sfumato.engines.base import Engine
from sfumato.engines.threads import effective_threads
from sfumato.problem import Loss, Membership, Problem
from sfumato.solve.reaches import outlier_scores

Floats = NDArray[np.floating]

OUTLIER = 1.0
"""Outlier score above which a row belongs to no cluster: beyond the reach of all."""


class Prediction:
    """Methods of a model that has centers, parts and the reaches of its clusters."""

    engine: str
    n_threads: int | None
    cluster_centers_: Floats
    cluster_reaches_: Floats
    loss_: Loss
    membership_: Membership
    _origin: Floats

    def _centers(self) -> Floats:
        centers: Floats = self.cluster_centers_.astype(np.float64)
        return centers

    def _engine_for(self, X: Any, sample_weight: Any = None) -> Engine:
        """Engine for new data, with the parts of the fit."""
        check_is_fitted(self)
        data = validation.check_new_data(self, X, sample_weight, self._origin)
        problem = Problem(self.loss_, self.membership_)
        engine_class = registry.resolve_name("engine", self.engine, registry.ENGINES)
        engine: Engine = engine_class(data, problem, effective_threads(self.n_threads))
        return engine

    def _scores(self, engine: Engine) -> Floats:
        return outlier_scores(engine, self._centers(), self.cluster_reaches_)

    def predict(self, X: Any, *, mark_outliers: bool = False) -> NDArray[np.int32]:
        """Nearest center of each row; the lowest index wins a tie.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        mark_outliers : bool, default=False
            Whether outliers get the label -1, as from DBSCAN, instead of their nearest center.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        engine = self._engine_for(X)
        labels = engine.assign(self._centers(), memberships=False).labels
        if mark_outliers:
            labels[self._scores(engine) > OUTLIER] = -1
        return labels

    def score_outliers(self, X: Any) -> Floats:
        """How far out each row is: 1 is the edge of a cluster, and more is beyond.

        The distance to a center over the reach of that cluster, so that clusters of different
        widths compare; of all clusters the smallest.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._scores(self._engine_for(X))

    def predict_membership(self, X: Any) -> sp.csr_array:
        """Memberships of each row, sparse.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        memberships : csr_array of shape (n_samples, n_clusters)
            ``n_active`` entries a row (fewer or more where ``gamma`` decides), summing to one.
        """
        memberships = self._engine_for(X).assign(self._centers()).memberships
        assert memberships is not None
        return memberships

    def predict_proba(self, X: Any) -> Floats:
        """Memberships of each row as a dense array; see ``predict_membership`` for a sparse one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        memberships : ndarray of shape (n_samples, n_clusters)
            Rows sum to one.
        """
        dense: Floats = self.predict_membership(X).toarray()
        return dense

    def transform(self, X: Any) -> Floats:
        """Distances to the centers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        return self._engine_for(X).distances(self._centers())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the objective, so that larger is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
        """
        engine = self._engine_for(X, sample_weight)
        return -engine.assign(self._centers(), memberships=False).objective
