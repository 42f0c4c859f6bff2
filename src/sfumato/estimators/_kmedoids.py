"""K-medoids: clusters around rows of the data, by alternation from central rows.

The time grows with the square of the rows, the memory does not: distances between rows are added
up block by block. Equal rows are one row of their common weight, so that no two medoids coincide.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sfumato import _validation as validation
from sfumato._checks import require_integer
from sfumato._data import Data
from sfumato._typing import Floats
from sfumato.estimators._medoid_search import (
    Places,
    alternate,
    central_rows,
    distance_blocks,
    drawn_rows,
    nearest,
)

Indices = NDArray[np.integer]


class KMedoids(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    r"""Clusters around rows of the data, by the method of Park and Jun.

    A medoid is a row whose distances to the members of its cluster have the smallest sum. Rows go
    to their nearest medoid, and each cluster chooses its medoid anew, in turns, until the total of
    all distances no longer falls [1]_. Distances are Euclidean and not squared.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"park-jun", "random"} or array-like of shape (n_clusters,), default="park-jun"
        First medoids. "park-jun" takes the rows with the smallest seeding values: the central
        ones, without chance. "random" draws rows in proportion to their weights. An array
        holds indices of rows. No two of them are equal rows.
    max_iter : int, default=100
        Largest number of turns.
    random_state : int, RandomState or None, default=None
        Seed for ``init="random"``; an int makes the result repeatable.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (n_clusters,)
        Rows of the training data that are medoids; of equal rows the first with a weight.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The medoids themselves.
    labels_ : ndarray of shape (n_samples,)
        Nearest medoid of each row of the training data.
    inertia_ : float
        Sum of the distances to the nearest medoids, times the weights.
    n_iter_ : int
        Turns, with the last, which found nothing better.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Equal rows count as one row with the sum of their weights. Without that the seeds of Park and
    Jun may be copies of one row, and all but one of their clusters empty. Of sums and distances
    that are equal but for rounding, the row or cluster of the lowest index wins.

    A fit holds one copy of the rows in float64. Distances come from matrix products; dense rows are
    measured from the mean, and within a cluster from its medoid, so that few digits cancel.

    References
    ----------
    .. [1] H.-S. Park, C.-H. Jun, "A simple and fast algorithm for K-medoids clustering", Expert
       Systems with Applications 36, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import KMedoids
    >>> X = np.array([[0.0], [1.0], [3.0], [20.0], [21.0], [90.0]])
    >>> model = KMedoids(n_clusters=2).fit(X)
    >>> model.medoid_indices_
    array([4, 1])
    >>> model.inertia_
    73.0
    >>> model.predict([[9.0], [12.0]])
    array([1, 0], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str | ArrayLike = "park-jun",
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the medoids.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            float32 gives float32 medoids; distances are computed in float64.
        y : None
            Ignored; for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; 3 is worth three copies, 0 leaves the row out.

        Returns
        -------
        self : object
        """
        with validation.restored_on_failure(self):
            self._fit(X, sample_weight)
        return self

    def _fit(self, X: Any, sample_weight: Any) -> None:
        require_integer("n_clusters", self.n_clusters, least=1, advice="use e.g. 8")
        require_integer("max_iter", self.max_iter, least=1, advice="use e.g. 100")
        data = validation.check_fit_data(self, X, sample_weight)
        validation.check_enough_rows(data, self.n_clusters)
        places = Places.of(data)
        found, turns, settled = alternate(places.data, self._seeds(places), self.max_iter)
        self.medoid_indices_ = places.first[found.medoids]
        self.cluster_centers_ = data.dense(self.medoid_indices_).astype(data.dtype)
        self._origin = data.origin
        self._n_features_out = self.n_clusters
        self.n_iter_ = turns
        self.labels_, distances = nearest(data, self._centers(data))
        self.inertia_ = float(data.weights_or_ones() @ distances)
        if not settled:
            warnings.warn(
                f"{type(self).__name__}: Stopped at `max_iter` before the total settled; raise "
                f"max_iter={self.max_iter}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _seeds(self, places: Places) -> Indices:
        """First medoids, as indices of distinct rows."""
        if not isinstance(self.init, str):
            return _given_rows(self.init, self.n_clusters, places.where)
        if self.init == "park-jun":
            return central_rows(places.data, self.n_clusters)
        if self.init == "random":
            rng = check_random_state(self.random_state)
            return drawn_rows(places.data, self.n_clusters, rng)
        raise ValueError(
            f"init={self.init!r} is not known; use 'park-jun', 'random' or an array of row indices."
        )

    def _centers(self, data: Data) -> Any:
        """Medoids in the storage of the data, measured from its origin."""
        centers = self.cluster_centers_.astype(np.float64)
        return sp.csr_array(centers) if data.is_sparse else centers - data.origin

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit, and return the nearest medoid of each row.

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
        return self.fit(X, y, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Nearest medoid of each row; the lowest index wins a tie.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        data = validation.check_new_data(self, X, None, self._origin)
        return nearest(data, self._centers(data))[0]

    def transform(self, X: Any) -> Floats:
        """Distances to the medoids.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        data = validation.check_new_data(self, X, None, self._origin)
        distances = np.empty((data.n_rows, len(self.cluster_centers_)), dtype=data.dtype)
        for block, part in distance_blocks(data, self._centers(data)):
            distances[block] = part
        return distances

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator can do."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _given_rows(init: Any, n_clusters: int, where: Indices) -> Indices:
    """First medoids that a user chose by their rows; ``where`` says which distinct row each is."""
    needed = f"use 'park-jun', 'random' or {n_clusters} indices of different rows"
    try:
        rows = np.asarray(init)
    except ValueError as error:
        raise ValueError(f"init is not an array ({error}); {needed}.") from error
    if rows.shape != (n_clusters,) or rows.dtype.kind not in "iu":
        raise ValueError(f"init has shape {rows.shape} and dtype {rows.dtype}; {needed}.")
    for row in rows:
        if not 0 <= row < len(where):
            raise ValueError(f"init holds {row}, but rows are 0 to {len(where) - 1}; {needed}.")
        if where[row] < 0:
            raise ValueError(f"init holds {row}, a row of weight 0, which is left out; {needed}.")
    chosen = where[rows]
    repeated = np.flatnonzero(np.bincount(chosen) > 1)
    if len(repeated):
        equal = rows[chosen == repeated[0]].tolist()
        raise ValueError(f"init holds {equal}, which are equal rows; {needed}.")
    return chosen
