"""Predictions of a fitted estimator of the family, for new data in memory or in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sfumato import _validation as validation
from sfumato._checks import check_flag
from sfumato._engines import is_chunked, make_engine, outputs
from sfumato._engines.base import Engine, ResidentEngine
from sfumato._engines.tails import Tails
from sfumato._mixture import LogDensity, Mixture, OutlierProbability
from sfumato._problem import Problem
from sfumato._typing import Floats
from sfumato.estimators._explanation import OutlierExplanation
from sfumato.losses import Loss
from sfumato.memberships import Membership


class _Distances(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Transformer to distances, whose results scikit-learn wraps as ``set_output`` says."""

    def transform(self, X: Any) -> Any:
        return self._distances(X)

    def _distances(self, X: Any) -> Any:
        raise NotImplementedError


class Predictions(_Distances, auto_wrap_output_keys=None):  # type: ignore[call-arg] # no types
    """Labels, memberships, distances and scores of rows, from the attributes of a fit."""

    cluster_centers_: Floats
    cluster_radii_: Floats
    loss_: Loss
    membership_: Membership
    engine: str
    n_threads: int | None
    _origin_: Floats
    mark_outliers: bool
    _mixture_: Mixture
    _tails_: Tails | None

    def predict(self, X: Any, *, mark_outliers: bool | None = None) -> Any:
        """Nearest center of each row, also of outliers; the lowest index wins a tie.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        mark_outliers : bool or None, default=None
            Whether outliers, whose score exceeds 1, get the label -1, as from DBSCAN; None is the
            parameter ``mark_outliers`` of the estimator.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        marked = self._marks(mark_outliers)
        return self._engine_for(X).map(self._labels_output(marked))

    def predict_membership(self, X: Any) -> Any:
        """Memberships of each row, sparse.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        memberships : csr_array of shape (n_samples, n_clusters)
            ``n_active`` entries a row (fewer or more where ``gamma`` decides), summing to one.
            Under a bounded loss, as that of :class:`CappedREFCMFS`, outliers have no entries.
        """
        return self._engine_for(X).map(self._memberships_output())

    def predict_proba(self, X: Any) -> Any:
        """Memberships of each row as a dense array; see ``predict_membership`` for a sparse one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        memberships : ndarray of shape (n_samples, n_clusters)
            Rows sum to one. Under a bounded loss, as that of :class:`CappedREFCMFS`, rows of
            outliers are zero: they belong to no cluster.
        """
        return self._engine_for(X).map(self._memberships_output(outputs.DenseMemberships))

    def transform(self, X: Any) -> Any:
        """Distances to the centers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Or a frame, as ``set_output`` says. Of a stream or dask collection, a lazy array.
        """
        return self._distances(X) if is_chunked(X) else super().transform(X)

    def _distances(self, X: Any) -> Any:
        return self._engine_for(X).map(outputs.Distances(self._centers()))

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Fit, and return the distances to the centers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.
        **options : dict
            Passed to ``fit``, such as ``sample_weight``.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            As from ``transform``.
        """
        fitted: Any = self
        return fitted.fit(X, y, **options).transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-likelihood of the rows, so that larger is better; see ``score_samples``.

        It can be compared for other numbers of clusters, fuzzifiers, ``n_active`` and caps, on rows
        that were not fitted: ``GridSearchCV`` does so. ``objective`` cannot.

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
        engine = self._engine_for(X, sample_weight, inspect=True)
        return engine.mean(LogDensity(self._centers(), self._mixture_))

    def score_samples(self, X: Any) -> Any:
        """Log-likelihood of each row.

        The density is that of a mixture: a spherical Gaussian for each cluster, around its center,
        with the width and the share of the rows that are not outliers, and a component with heavy
        tails around the middle of all rows, with the share of the outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,)
        """
        return self._engine_for(X).map(LogDensity(self._centers(), self._mixture_))

    def objective(self, X: Any, sample_weight: Any = None) -> float:
        """Objective of the fit for other rows; the smaller, the better.

        Values for other numbers of clusters, fuzzifiers, ``n_active`` or caps are those of other
        problems, and do not compare; see ``score``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        objective : float
        """
        engine = self._engine_for(X, sample_weight, inspect=True)
        return engine.assign(self._centers(), memberships=False).objective

    def score_outliers(self, X: Any) -> Any:
        """Outlier score: the larger, the rarer are rows like this one.

        Rows with a score above 1 are outliers: they lie beyond the radius of every cluster, and
        under a bounded loss they have no memberships. Among outliers, and among all other rows, the
        score follows from a density with heavy tails: one Student-t distribution for each cluster,
        weighted by its share of the rows. So the rows of a small cluster far from all others score
        high, though it is dense. Scores of outliers grow like the distance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._engine_for(X).map(self._scores_output())

    def outlier_probability(self, X: Any) -> Any:
        """Probability that each row is an outlier, under the mixture of ``score_samples``.

        It is the posterior of the component of outliers. Its mean over the rows is near the share
        of outliers; somewhat below it, where many lie within clusters. It is not the rule behind
        ``outliers_``: a row just beyond the radius of a cluster may have a small probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        probability : ndarray of shape (n_samples,)
            Between 0 and 1.
        """
        return self._engine_for(X).map(OutlierProbability(self._centers(), self._mixture_))

    def explain_outlier(self, x: Any) -> OutlierExplanation | list[OutlierExplanation]:
        """Nearest cluster of a row, and the features by which the row differs from it.

        Parameters
        ----------
        x : array-like of shape (n_features,), or array-like or sparse matrix of several rows

        Returns
        -------
        explanation : OutlierExplanation or list of them
            One for a row of shape (n_features,), a list for several rows.
        """
        check_is_fitted(self)
        if is_chunked(x):
            raise TypeError("x is a stream or dask collection; explain_outlier takes some rows.")
        single = not sp.issparse(x) and np.ndim(x) == 1
        named = single and hasattr(x, "index") and hasattr(x, "to_frame")  # From a pandas frame.
        rows = x.to_frame().T if named else [x] if single else x
        engine = self._engine_for(rows)
        assert isinstance(engine, ResidentEngine)
        scores, labels = engine.map(self._scores_output()), engine.map(self._labels_output(False))
        names = getattr(self, "feature_names_in_", None)
        centers = self._centers()
        values = engine.data.dense(slice(None))
        made = [
            OutlierExplanation.of(row, centers[label], int(label), float(score), names)
            for row, label, score in zip(values, labels, scores, strict=True)
        ]
        return made[0] if single else made

    def _marks(self, mark_outliers: bool | None) -> bool:
        """Whether to mark outliers: as given, or as the estimator does."""
        given = self.mark_outliers if mark_outliers is None else mark_outliers
        return check_flag("mark_outliers", given)

    def _scores_output(self) -> outputs.Scores:
        return outputs.Scores(self._centers(), self.cluster_radii_, self._tails_)

    def _labels_output(self, marked: bool) -> outputs.Labels:
        return outputs.Labels(self._centers(), self.cluster_radii_ if marked else None)

    def _memberships_output(
        self, kind: type[outputs.Memberships] = outputs.Memberships
    ) -> outputs.Memberships:
        """Memberships to report. Under a bounded loss outliers have none."""
        return kind(self._centers(), self.cluster_radii_ if self.loss_.bounded else None)

    def _centers(self) -> Floats:
        return self.cluster_centers_.astype(np.float64)

    def _engine_for(self, X: Any, sample_weight: Any = None, inspect: bool = False) -> Engine:
        """Engine on new data; with ``inspect``, a pass checks the values of chunked data first."""
        check_is_fitted(self)
        validation.check_threads(self.n_threads)
        data = validation.new_input(self, X, sample_weight, self._origin_, inspect)
        problem = Problem(self.loss_, self.membership_)
        return make_engine(self.engine, data, problem, self.n_threads)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)  # For the names of the columns of ``transform``.
