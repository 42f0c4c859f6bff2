"""ClusterOutlierDetector: the outlier scores of a clustering, as a detector of scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from sfumato import _validation as validation
from sfumato._checks import Auto, is_auto, is_number, number_of
from sfumato._engines import is_chunked
from sfumato._engines.base import Evaluation, Output
from sfumato._engines.outputs import Beyond, Rarity
from sfumato._engines.tails import Tails
from sfumato._init.base import Initializer
from sfumato._outliers import limited_radii, sample_rows, weighted_median
from sfumato._typing import Floats
from sfumato.estimators._documentation import DocumentedEstimator
from sfumato.estimators._explanation import OutlierExplanation
from sfumato.estimators._fuzzy import FuzzyClustering
from sfumato.exceptions import Given, Message, ParameterError
from sfumato.losses import Loss

ROUNDING = 1e-9
"""Share of the weight by which the share of outliers may be missed for rounding alone."""
AUTO_SHARE = 0.01
"""Share of the rows of Gaussian clusters that are outliers if ``contamination="auto"``. Chosen by
hand."""
WIDEST = 5.0
"""Radius of a cluster over the median one, up to which its rows are no outliers if
``contamination="auto"``. Chosen by hand: without a limit, 10 % of the rows far from all clusters in
two dimensions got wide clusters of their own, and 38 % of them were marked; now 81 %, and no more
of clusters of widths 1:5."""


@dataclass(frozen=True)
class Decisions(Output):
    """Minus the rarity of rows, less an offset: negative for outliers."""

    tails: Tails
    offset: float

    name = "decision"

    def of(self, rows: Evaluation) -> Floats:
        rarity = Rarity(self.centers, self.tails).of(rows)
        found: Floats = -rarity - rarity.dtype.type(self.offset)
        return found


@dataclass(frozen=True)
class Marks(Decisions):
    """-1 for outliers, 1 for all other rows."""

    name = "mark"

    def of(self, rows: Evaluation) -> Any:
        return np.where(super().of(rows) < 0, -1, 1)

    def dtype(self, precision: np.dtype[np.floating]) -> np.dtype[Any]:
        return np.dtype(np.int64)


class ClusterOutlierDetector(OutlierMixin, DocumentedEstimator):
    """Outlier detection by the density of clusters.

    Rows are clustered, and scored by a density with heavy tails around the centers: a Student-t
    distribution for each cluster, weighted by its share of the rows. Rows of small clusters far
    from all others score high, however dense. Columns should have the same units; standardize them
    if they do not.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters; "auto" finds it, see :func:`select_n_clusters`, which takes longer, and
        on real data does not detect more.
    contamination : float or "auto", default="auto"
        Share of outliers in the training data, in (0, 0.5]: that many of the rarest rows are
        outliers. "auto" is the share of the rows that lie farther from every center than 99 in 100
        rows of a Gaussian cluster would: about 1 % of clean rows. Of clusters five times as wide as
        the others, which are those of outliers, only the middle counts.
    loss : {"l21", "capped"} or Loss, default="l21"
        Loss of the clustering. "capped" takes longer, and finds the clusters among many far
        outliers, which under "l21" may get centers of their own.
    init : str, array-like, Initializer or callable, default="auto"
        Initial centers; see :class:`FuzzyClustering`.
    n_init : int or "auto", default=1
        Number of starts of the clustering.
    max_iter : int, default=300
        Largest number of iterations of a start.
    tol : float, default=1e-4
        A start stops when the objective falls by no more than this share of its value.
    random_state : int, RandomState or None, default=None
        Seed; an int makes the result repeatable.
    n_threads : int or None, default=None
        Threads of a pass; None uses all processors.
    engine : {"auto", "native", "reference"}, default="auto"
        Compiled code, or NumPy.
    decay : float, default=0.0
        Share of the past that ``partial_fit`` forgets with each batch, in [0, 1).

    Attributes
    ----------
    clustering_ : FuzzyClustering
        The fitted clustering, with hard memberships.
    offset_ : float
        Rows with ``score_samples`` below it are outliers.
    contamination_ : float
        Share of outliers that was given or found.
    n_iter_ : int
        Number of iterations of the clustering.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; exists only if ``X`` had names.

    See Also
    --------
    CappedREFCMFS : Clusters and outliers at once.

    Notes
    -----
    ``docs/anomalies.md`` compares it with other detectors on real data.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import ClusterOutlierDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 9, [[30.0, -4.0]]])
    >>> detector = ClusterOutlierDetector(n_clusters=2, random_state=0).fit(X)
    >>> detector.predict([[0.0, 1.0], [4.0, 20.0]])
    array([ 1, -1])
    >>> int(detector.score_samples(X).argmin())
    400
    """

    def __init__(
        self,
        n_clusters: int | Auto = 8,
        *,
        contamination: float | Auto = "auto",
        loss: str | Loss = "l21",
        init: str | ArrayLike | Initializer | Callable[..., Any] = "auto",
        n_init: int | str = 1,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        n_threads: int | None = None,
        engine: str = "auto",
        decay: float = 0.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.contamination = contamination
        self.loss = loss
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_threads = n_threads
        self.engine = engine
        self.decay = decay

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows, and find the threshold of outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), Stream or dask collection
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; 3 is worth three copies, 0 leaves the row out.

        Returns
        -------
        self : object
            If the fit fails, it is as it was before.
        """
        with validation.restored_on_failure(self):
            self._check_contamination()
            self._remember(self._clustering().fit(X, sample_weight=sample_weight))
            self._set_offset(X, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows, beside what was learned before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or Stream
            Batch of any size, the first with at least ``n_clusters`` different rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : object
            ``offset_`` and ``contamination_`` are those of the last batch.
        """
        with validation.restored_on_failure(self):
            self._check_contamination()
            known = getattr(self, "clustering_", None)
            clustering = self._clustering() if known is None else known
            self._remember(clustering.partial_fit(X, sample_weight=sample_weight))
            self._set_offset(X, sample_weight)
        return self

    def score_samples(self, X: Any) -> Any:
        """Minus the rarity of each row: the lower, the rarer are rows like it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            At most -1, and falling like minus the distance far away from all clusters. Of a stream
            or dask collection, a lazy array.
        """
        return self._map(Decisions, X, 0.0)

    def decision_function(self, X: Any) -> Any:
        """``score_samples(X) - offset_``: negative for outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        decisions : ndarray of shape (n_samples,)
        """
        return self._map(Decisions, X)

    def predict(self, X: Any) -> Any:
        """-1 for outliers, 1 for all other rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        marks : ndarray of shape (n_samples,)
        """
        return self._map(Marks, X)

    def explain_outlier(self, x: Any) -> OutlierExplanation | list[OutlierExplanation]:
        """Nearest cluster of a row, and the features by which the row differs from it.

        Parameters
        ----------
        x : array-like of shape (n_features,), or array-like or sparse matrix of several rows

        Returns
        -------
        explanation : OutlierExplanation or list of them
            One for a row of shape (n_features,), a list for several rows. The score is
            ``score_samples`` over ``offset_``: above 1 for rows that are marked.
        """
        check_is_fitted(self)
        found = self.clustering_.explain_outlier(x)
        if isinstance(found, list):
            scores = np.asarray(self.score_samples(x)) / self.offset_
            pairs = zip(found, scores, strict=True)
            return [replace(each, score=float(score)) for each, score in pairs]
        row = x.to_frame().T if hasattr(x, "to_frame") else [x]
        return replace(found, score=float(self.score_samples(row)[0] / self.offset_))

    def _clustering(self) -> FuzzyClustering:
        shared = {name: value for name, value in self.get_params(False).items() if name in SHARED}
        return FuzzyClustering(membership="hard", **shared)

    def _remember(self, clustering: FuzzyClustering) -> None:
        self.__dict__.pop("feature_names_in_", None)
        self.clustering_ = clustering
        self.n_iter_ = clustering.n_iter_
        self.n_features_in_ = clustering.n_features_in_
        if hasattr(clustering, "feature_names_in_"):
            self.feature_names_in_ = clustering.feature_names_in_

    def _check_contamination(self) -> None:
        given = self.contamination
        if is_auto(given) or (is_number(given, Real) and 0 < number_of(given) <= 0.5):
            return
        message = Message(
            Given("contamination", given),
            " is no share of outliers; use 'auto', or a number above 0 and at most 0.5.",
        )
        raise ParameterError(message, "contamination", given)

    def _set_offset(self, X: Any, sample_weight: Any) -> None:
        """Share of outliers, and the threshold that follows; of chunks, from a sample."""
        model = self.clustering_
        assert model._tails_ is not None
        engine = model._engine_for(X, sample_weight, inspect=True)
        centers = model._centers()
        if is_chunked(X):
            engine = engine.fixed_sample(sample_rows(len(centers)))
        weights = engine.data.weights_or_ones()
        share = float(number_of(self.contamination)) if not is_auto(self.contamination) else None
        if share is None:
            limit, window = model._radius_limit(model.loss_), model._online_state().window
            radii = limited_radii(window.radii(len(centers), limit, AUTO_SHARE), model.loss_)
            radii = _without_wide(radii, model._tails_.shares)
            share = float(np.average(engine.map(Beyond(centers, radii)), weights=weights))
        scores = engine.map(Decisions(centers, model._tails_, 0.0))
        self.contamination_ = min(share, 0.5)
        self.offset_ = lower_quantile(scores, weights, self.contamination_)

    def _map(self, kind: type[Decisions], X: Any, offset: float | None = None) -> Any:
        check_is_fitted(self)
        model = self.clustering_
        assert model._tails_ is not None
        threshold = self.offset_ if offset is None else offset
        return model._engine_for(X).map(kind(model._centers(), model._tails_, threshold))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _without_wide(radii: Floats, shares: Floats) -> Floats:
    """Radii at most ``WIDEST`` times the median one by shares: the widest clusters are outliers."""
    known = np.isfinite(radii)
    if not known.any():
        return radii
    return np.minimum(radii, WIDEST * weighted_median(radii[known], shares[known]))


SHARED = (
    "n_clusters",
    "loss",
    "init",
    "n_init",
    "max_iter",
    "tol",
    "random_state",
    "n_threads",
    "engine",
    "decay",
)
"""Parameters of the detector that are those of its clustering."""


def lower_quantile(values: NDArray[Any], weights: Floats, share: float) -> float:
    """Smallest value with more than a share of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    masses = np.cumsum(weights[order])
    place = np.searchsorted(masses, (share + ROUNDING) * masses[-1], side="right")
    return float(values[order][min(place, len(order) - 1)])
