"""What a fitted model says of rows: labels, memberships, distances, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sfumato import _validation as validation
from sfumato._engines import make_engine
from sfumato._engines.base import DenseMemberships, Distances, Engine, Labels, Memberships, Scores
from sfumato._problem import Problem
from sfumato._typing import Floats
from sfumato.losses import Loss
from sfumato.memberships import Membership


class Prediction:
    """Methods of a model that has centers, parts and the radii of its clusters."""

    engine: str
    n_threads: int | None
    cluster_centers_: Floats
    cluster_radii_: Floats
    loss_: Loss
    membership_: Membership
    _origin: Floats

    def _centers(self) -> Floats:
        centers: Floats = self.cluster_centers_.astype(np.float64)
        return centers

    def _engine_for(self, X: Any, sample_weight: Any = None, look: bool = False) -> Engine:
        """Engine for new data, with the parts of the fit; data in pieces is looked at if wanted."""
        check_is_fitted(self)
        data = validation.new_input(self, X, sample_weight, self._origin, look)
        problem = Problem(self.loss_, self.membership_)
        return make_engine(self.engine, data, problem, self.n_threads)

    def _scores(self, engine: Engine) -> Any:
        return engine.map(Scores(self._centers(), self.cluster_radii_))

    def predict(self, X: Any, *, mark_outliers: bool = False) -> Any:
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
        units = self.cluster_radii_ if mark_outliers else None
        return engine.map(Labels(self._centers(), units))

    def score_outliers(self, X: Any) -> Any:
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

    def predict_membership(self, X: Any) -> Any:
        """Memberships of each row, sparse.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        memberships : csr_array of shape (n_samples, n_clusters)
            ``n_active`` entries a row (fewer or more where ``gamma`` decides), summing to one.
        """
        return self._engine_for(X).map(Memberships(self._centers()))

    def predict_proba(self, X: Any) -> Any:
        """Memberships of each row as a dense array; see ``predict_membership`` for a sparse one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        memberships : ndarray of shape (n_samples, n_clusters)
            Rows sum to one.
        """
        return self._engine_for(X).map(DenseMemberships(self._centers()))

    def transform(self, X: Any) -> Any:
        """Distances to the centers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        return self._engine_for(X).map(Distances(self._centers()))

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
        engine = self._engine_for(X, sample_weight, look=True)
        return -engine.assign(self._centers(), memberships=False).objective
